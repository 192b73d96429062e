package fleet

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// committer stands between workers and the embedded queue, which flushes the
// disk for each message: it puts the games that arrive during one flush into
// the queue together, as a batch with one flush, and answers each worker when
// that is done. Workers see no difference to a stream, but that their headers
// are dropped.
type committer struct {
	names Names
	nc    *nats.Conn
	sub   *nats.Subscription
	stop  context.CancelFunc
	wg    sync.WaitGroup
}

const (
	commitGames = 256      // in a batch
	commitBytes = 16 << 20 // in a batch
	commitAlone = 1 << 20  // a game of so many bytes is not put into a batch
	commitWait  = 5 * time.Second
	// What waits for the disk at most; workers send again what finds no room.
	commitQueueGames = 1 << 16
	commitQueueBytes = 64 << 20
)

// Headers of JetStream's atomic batches.
const (
	headerBatch    = "Nats-Batch-Id"
	headerSequence = "Nats-Batch-Sequence"
	headerCommit   = "Nats-Batch-Commit"
)

func startCommitter(s *Server, n Names) (*committer, error) {
	c := &committer{names: n}
	o := append([]nats.Option{
		nats.Name("kirin committer"), nats.MaxReconnects(-1), nats.ReconnectWait(200 * time.Millisecond), nats.ReconnectBufSize(-1),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}, s.options()...)
	var err error
	if c.nc, err = nats.Connect("", o...); err != nil {
		return nil, fmt.Errorf("connect to the embedded queue: %w", err)
	}
	if c.sub, err = c.nc.SubscribeSync(n.games("*")); err == nil {
		err = c.sub.SetPendingLimits(commitQueueGames, commitQueueBytes)
	}
	if err != nil {
		c.nc.Close()
		return nil, fmt.Errorf("listen to games: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	c.wg.Go(func() { c.run(ctx) })
	return c, nil
}

func (c *committer) close() {
	c.stop()
	c.wg.Wait()
	c.nc.Close()
}

func (c *committer) run(ctx context.Context) {
	for ctx.Err() == nil {
		m, err := c.sub.NextMsgWithContext(ctx)
		if err != nil {
			if !errors.Is(err, nats.ErrSlowConsumer) && !pause(ctx, 100*time.Millisecond) {
				return
			}
			continue
		}
		batch, size := []*nats.Msg{m}, len(m.Data)
		for len(batch) < commitGames && size < commitBytes {
			if m, err = c.sub.NextMsg(0); err != nil {
				break // nothing more waits now
			}
			batch, size = append(batch, m), size+len(m.Data)
		}
		c.store(ctx, batch)
	}
}

// store puts games into the queue and answers their senders.
func (c *committer) store(ctx context.Context, batch []*nats.Msg) {
	var together []*nats.Msg
	for _, m := range batch {
		if len(m.Data) < commitAlone {
			together = append(together, m)
		} else if c.one(ctx, m) != nil {
			break // the queue does not answer, and this has been said
		}
	}
	if len(together) == 1 {
		c.one(ctx, together[0])
		return
	}
	if len(together) == 0 || c.all(ctx, together) == nil {
		return
	}
	// One game that the queue does not take, because it is full for that worker,
	// spoils a whole batch: each worker's games by themselves then.
	byKey := map[string][]*nats.Msg{}
	var keys []string
	for _, m := range together {
		if byKey[m.Subject] == nil {
			keys = append(keys, m.Subject)
		}
		byKey[m.Subject] = append(byKey[m.Subject], m)
	}
	var dead error
	for _, k := range keys {
		if len(keys) > 1 && len(byKey[k]) > 1 && dead == nil && c.all(ctx, byKey[k]) == nil {
			continue
		}
		for _, m := range byKey[k] {
			if dead != nil {
				c.refuse(m, dead)
				continue
			}
			dead = c.one(ctx, m)
		}
	}
}

func (c *committer) queued(m *nats.Msg) string {
	return c.names.queued(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:])
}

// one stores one game and passes the queue's answer on. An error says that
// there was none.
func (c *committer) one(ctx context.Context, m *nats.Msg) error {
	ctx, cancel := context.WithTimeout(ctx, commitWait)
	defer cancel()
	answer, err := c.nc.RequestWithContext(ctx, c.queued(m), m.Data)
	if err != nil {
		c.refuse(m, err)
		return err
	}
	c.answer(m, answer.Data)
	return nil
}

// refuse answers in the queue's place.
func (c *committer) refuse(m *nats.Msg, why error) {
	text, err := json.Marshal(pubAck{Error: &jetstream.APIError{Code: 503, Description: "the queue does not answer: " + why.Error()}})
	if err == nil {
		c.answer(m, text)
	}
}

func (c *committer) answer(m *nats.Msg, text []byte) {
	if m.Reply != "" {
		c.nc.Publish(m.Reply, text) // who hears nothing sends again
	}
}

// pubAck is JetStream's answer to a message.
type pubAck struct {
	Stream string              `json:"stream"`
	Seq    uint64              `json:"seq"`
	Error  *jetstream.APIError `json:"error,omitempty"`
}

// all stores games as one batch: after an error none of them has been
// answered, and none is stored unless the error is that the answer was lost.
func (c *committer) all(ctx context.Context, batch []*nats.Msg) error {
	ctx, cancel := context.WithTimeout(ctx, commitWait)
	defer cancel()
	name := make([]byte, 16)
	rand.Read(name)
	id := hex.EncodeToString(name)
	var reply *nats.Msg
	for i, m := range batch {
		out := nats.NewMsg(c.queued(m))
		out.Data = m.Data
		out.Header.Set(headerBatch, id)
		out.Header.Set(headerSequence, strconv.Itoa(i+1))
		var err error
		if i < len(batch)-1 {
			err = c.nc.PublishMsg(out)
		} else {
			out.Header.Set(headerCommit, "1")
			reply, err = c.nc.RequestMsgWithContext(ctx, out)
		}
		if err != nil {
			return err
		}
	}
	var ack pubAck
	if err := json.Unmarshal(reply.Data, &ack); err != nil {
		return err
	}
	if ack.Error != nil {
		return ack.Error
	}
	first := ack.Seq - uint64(len(batch)) + 1
	for i, m := range batch {
		text, err := json.Marshal(pubAck{Stream: ack.Stream, Seq: first + uint64(i)})
		if err != nil {
			return err
		}
		c.answer(m, text)
	}
	return nil
}
