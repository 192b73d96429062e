package fleet

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
)

// queueWay reaches the trainer through the queue.
type queueWay struct {
	names   Names
	key     string
	address string
	nc      *nats.Conn
	js      jetstream.JetStream
	failed  atomic.Value // text: why the first connection failed, where that is known
}

func newQueueWay(address string, l *Link) (*queueWay, error) {
	q := &queueWay{names: Names{l.c.Queue}, key: l.c.Name, address: address}
	o := []nats.Option{
		nats.Name("kirin worker " + l.c.Name), nats.CustomInboxPrefix(inbox(l.c.Name)),
		nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true), nats.ReconnectWait(500 * time.Millisecond),
		nats.ReconnectJitter(time.Second, 2*time.Second), nats.Timeout(5 * time.Second), nats.ReconnectBufSize(-1),
		nats.PingInterval(10 * time.Second), nats.MaxPingsOutstanding(2),
		nats.ClosedHandler(func(nc *nats.Conn) {
			if err := nc.LastError(); errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) {
				l.fail(fmt.Errorf("%w: its key is unknown or was revoked; ask the owner of the run for an invitation", ErrRefused))
			}
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) {
			if !errors.Is(err, nats.ErrNoServers) {
				q.failed.Store(err.Error())
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrPermissionViolation) {
				l.fail(fmt.Errorf("%w: the queue does not give it the rights of a worker (%v); give it those of docs/fleet.md, or check --queue and --name", ErrRefused, err))
			}
		}),
	}
	if inv := l.c.Invitation; inv != nil {
		config, err := inv.clientTLS()
		if err != nil {
			return nil, err
		}
		pair, err := nkeys.FromSeed([]byte(inv.Seed))
		if err != nil {
			return nil, fmt.Errorf("the invitation's key: %w", err)
		}
		public, err := pair.PublicKey()
		if err != nil {
			return nil, fmt.Errorf("the invitation's key: %w", err)
		}
		o = append(o, nats.Secure(config), nats.Nkey(public, pair.Sign))
	}
	var err error
	if q.nc, err = nats.Connect(address, o...); err != nil {
		if errors.Is(err, nats.ErrAuthorization) {
			return nil, fmt.Errorf("%w: its key is unknown or was revoked; ask the owner of the run for an invitation", ErrRefused)
		}
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	if q.js, err = jetstream.New(q.nc); err == nil {
		_, err = q.nc.Subscribe(q.names.state(), func(m *nats.Msg) { l.told(m.Data) })
	}
	if err != nil {
		q.nc.Close()
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	return q, nil
}

func (q *queueWay) fetch(ctx context.Context, key string) ([]byte, error) {
	m, err := q.nc.RequestWithContext(ctx, q.names.direct(key), nil)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return nil, errors.New("the queue is there, but no trainer has set it up yet")
	case errors.Is(err, nats.ErrReconnectBufExceeded): // nats' word for being without a connection
		if why, ok := q.failed.Load().(string); ok {
			return nil, fmt.Errorf("no connection to %s: %s", q.address, why)
		}
		return nil, fmt.Errorf("no connection to %s", q.address)
	case err != nil:
		return nil, fmt.Errorf("the queue does not answer: %w", err)
	case m.Header.Get("Status") != "":
		return nil, fmt.Errorf("the trainer has not told its %s yet", key)
	}
	return m.Data, nil
}

func (q *queueWay) publish(ctx context.Context, record []byte) error {
	_, err := q.js.PublishMsg(ctx, &nats.Msg{Subject: q.names.games(q.key), Data: record})
	var api *jetstream.APIError
	if errors.Is(err, nats.ErrMaxPayload) || errors.As(err, &api) && api.ErrorCode == codeTooLarge {
		return fmt.Errorf("%w: %w", errHopeless, err)
	}
	return err
}

// codeTooLarge is JetStream's error for a message above the stream's limit.
const codeTooLarge = jetstream.ErrorCode(10054)

func (q *queueWay) beat(b Beat) {
	if text, err := json.Marshal(b); err == nil {
		q.nc.Publish(q.names.beat(q.key), text) // the next one comes soon
	}
}

func (q *queueWay) senders() int { return 16 }
func (q *queueWay) close()       { q.nc.Close() }

// webWay reaches the trainer through its HTTP side.
type webWay struct {
	base   string
	client *http.Client
	header http.Header
}

func newWebWay(base string, c LinkConfig) (*webWay, error) {
	client, header, err := webClient(c)
	if err != nil {
		return nil, err
	}
	return &webWay{strings.TrimSuffix(base, "/"), client, header}, nil
}

// webClient makes the client and the headers of a worker's requests.
func webClient(c LinkConfig) (*http.Client, http.Header, error) {
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: 20 * time.Second,
		IdleConnTimeout: time.Minute, MaxIdleConnsPerHost: 4,
	}
	header := http.Header{"X-Kirin-Worker": {c.Name}}
	if inv := c.Invitation; inv != nil {
		var err error
		if t.TLSClientConfig, err = inv.clientTLS(); err != nil {
			return nil, nil, err
		}
		t.TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(4)
		header.Set("Authorization", "Bearer "+inv.Token)
	}
	return &http.Client{Transport: t}, header, nil
}

func (w *webWay) do(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, w.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header = w.header.Clone()
	a, err := w.client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("the trainer does not answer: %w", err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(io.LimitReader(a.Body, maxText+1))
	if err != nil {
		return nil, fmt.Errorf("the trainer does not answer: %w", err)
	}
	if a.StatusCode/100 == 2 {
		return text, nil
	}
	var why answer
	if json.Unmarshal(text, &why) != nil || why.Error == "" {
		why.Error = a.Status
	}
	switch a.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, fmt.Errorf("%w: %s", ErrRefused, clip(why.Error))
	case http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
		return nil, fmt.Errorf("%w: %s", errHopeless, clip(why.Error))
	}
	return nil, fmt.Errorf("the trainer says: %s", clip(why.Error))
}

func (w *webWay) fetch(ctx context.Context, key string) ([]byte, error) {
	return w.do(ctx, http.MethodGet, "/fleet/v1/"+key, nil)
}

func (w *webWay) publish(ctx context.Context, record []byte) error {
	_, err := w.do(ctx, http.MethodPost, "/fleet/v1/games", record)
	return err
}

func (w *webWay) beat(Beat)    {} // its games show that it lives
func (w *webWay) senders() int { return 4 }
func (w *webWay) close()       { w.client.CloseIdleConnections() }
