package fleet

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// WebConfig is what the HTTP side needs.
type WebConfig struct {
	Address string // HOST:PORT; port 0 takes any free one
	Intake  *Intake
	Keys    *Keys
	TLS     *tls.Config // nil: plain HTTP, everyone may read and send
	Options Options
	// File returns the file of a net, by its sha256.
	File func(sum string) (string, error)
}

// Web serves weights to all workers, and takes the games of guests.
type Web struct {
	c    WebConfig
	l    net.Listener
	http *http.Server
	done chan struct{}

	mu    sync.Mutex
	rates map[string]*rate
}

// Limits for clients.
const (
	webHeaders  = 10 * time.Second
	webBody     = time.Minute // for a request's body
	webIdle     = 2 * time.Minute
	webConns    = 1 << 15
	slowest     = 32 << 10         // bytes a second that a download must make, or it is cut off
	publishWait = 10 * time.Second // for the queue to take a guest's game
)

// NewWeb opens the port; Serve begins to answer. The intake may be set between
// the two.
func NewWeb(c WebConfig) (*Web, error) {
	l, err := net.Listen("tcp", c.Address)
	if err != nil {
		return nil, fmt.Errorf("--http: %w", err)
	}
	return &Web{c: c, l: l, done: make(chan struct{}), rates: map[string]*rate{}}, nil
}

// Address is where it listens.
func (w *Web) Address() string { return w.l.Addr().String() }

// Serve answers for an intake, in the background.
func (w *Web) Serve(in *Intake) {
	w.c.Intake = in
	w.http = &http.Server{ // which writes to its TLS configuration, that the queue reads too
		Handler: w.handler(), TLSConfig: w.c.TLS.Clone(), ReadHeaderTimeout: webHeaders, ReadTimeout: webBody, IdleTimeout: webIdle,
		MaxHeaderBytes: 16 << 10, ErrorLog: log.New(io.Discard, "", 0), // what strangers send is no news
	}
	go func() {
		defer close(w.done)
		l := &bounded{Listener: w.l, slots: make(chan struct{}, webConns)}
		if w.c.TLS != nil {
			w.http.ServeTLS(l, "", "")
		} else {
			w.http.Serve(l)
		}
	}()
}

// Close stops answering.
func (w *Web) Close() error {
	if w.http == nil {
		return w.l.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := w.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = w.http.Close()
	}
	<-w.done
	return err
}

func (w *Web) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /fleet/v1/welcome", func(rw http.ResponseWriter, r *http.Request) { w.text(rw, r, w.c.Intake.Welcome()) })
	mux.HandleFunc("GET /fleet/v1/state", func(rw http.ResponseWriter, r *http.Request) { w.text(rw, r, w.c.Intake.State()) })
	mux.HandleFunc("GET /fleet/v1/weights/{sum}", w.weights)
	mux.HandleFunc("POST /fleet/v1/games", w.game)
	return mux
}

// who finds the key of a request. Without keys the name is taken as it is.
func (w *Web) who(rw http.ResponseWriter, r *http.Request) (Key, bool) {
	if w.c.TLS == nil {
		name := r.Header.Get("X-Kirin-Worker")
		if name == "" {
			name = "guest"
		}
		if CheckName(name) != nil {
			w.say(rw, http.StatusBadRequest, RefusedUnknownKey, "X-Kirin-Worker is not a name")
			return Key{}, false
		}
		return Key{Name: name}, true
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	key, found := w.c.Keys.byToken(token)
	switch {
	case !ok || !found:
		w.c.Intake.Refused("", RefusedUnknownKey, errors.New("no key has this token"))
		w.say(rw, http.StatusUnauthorized, RefusedUnknownKey, "no key has this token: ask the owner of the run for an invitation")
		return key, false
	case key.Revoked:
		w.c.Intake.Refused(key.Name, RefusedRevokedKey, errors.New("revoked"))
		w.say(rw, http.StatusForbidden, RefusedRevokedKey, "this key was revoked: ask the owner of the run for a new invitation")
		return key, false
	}
	return key, true
}

// answer is what a request that is turned away gets.
type answer struct {
	Reason string `json:"reason"`
	Error  string `json:"error"`
}

func (w *Web) say(rw http.ResponseWriter, code int, reason, sentence string) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(code)
	json.NewEncoder(rw).Encode(answer{reason, sentence})
}

func (w *Web) text(rw http.ResponseWriter, r *http.Request, v any) {
	if _, ok := w.who(rw, r); !ok {
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	rw.Header().Set("Cache-Control", "no-cache")
	json.NewEncoder(rw).Encode(v)
}

// weights serves a net: the name is its content, so it never changes.
func (w *Web) weights(rw http.ResponseWriter, r *http.Request) {
	key, ok := w.who(rw, r)
	if !ok {
		return
	}
	sum := r.PathValue("sum")
	if err := CheckSum(sum); err != nil {
		w.say(rw, http.StatusBadRequest, RefusedUnknownNet, err.Error())
		return
	}
	name, err := w.c.File(sum)
	var f *os.File
	if err == nil {
		f, err = os.Open(name)
	}
	var info os.FileInfo
	if err == nil {
		defer f.Close()
		info, err = f.Stat()
	}
	if err != nil {
		w.say(rw, http.StatusNotFound, RefusedUnknownNet, "the run does not hold these weights any more")
		return
	}
	rw.Header().Set("ETag", `"`+sum+`"`)
	rw.Header().Set("Content-Type", "application/octet-stream")
	rw.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	patience := webIdle + time.Duration(info.Size()/slowest)*time.Second
	deadline := time.Now().Add(patience)
	http.NewResponseController(rw).SetWriteDeadline(deadline)
	sent := &counting{ResponseWriter: rw}
	http.ServeContent(sent, r, "", time.Time{}, f)
	w.c.Intake.c.Metrics.Fleet.WeightsSent.Add(float64(sent.n))
	if sent.err != nil && time.Now().After(deadline) {
		w.c.Intake.Refused(key.Name, RefusedSlow, fmt.Errorf("%d bytes of weights in %v", sent.n, patience))
	}
}

// counting counts what was sent.
type counting struct {
	http.ResponseWriter
	n   int64
	err error
}

func (c *counting) Write(b []byte) (int, error) {
	n, err := c.ResponseWriter.Write(b)
	c.n += int64(n)
	if err != nil {
		c.err = err
	}
	return n, err
}

// game takes a record. It is looked at here already, so that a guest learns at
// once what is wrong with it.
func (w *Web) game(rw http.ResponseWriter, r *http.Request) {
	key, ok := w.who(rw, r)
	if !ok {
		return
	}
	in := w.c.Intake
	turn := func(code int, no *refusal) {
		in.Refused(key.Name, no.reason, no.err)
		w.say(rw, code, no.reason, no.err.Error())
	}
	if key.Guest && !w.allowed(key.Name) {
		rw.Header().Set("Retry-After", "30")
		turn(http.StatusTooManyRequests, refuse(RefusedRate, "more than %g games a minute", w.c.Options.GuestGames))
		return
	}
	record, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, MaxRecord))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		turn(http.StatusRequestEntityTooLarge, refuse(RefusedOversized, "a game of more than %d bytes", MaxRecord))
		return
	case err != nil:
		turn(http.StatusBadRequest, refuse(RefusedTruncated, "the game did not arrive whole"))
		return
	}
	v := in.c.Judge.judge(key.Name, record)
	if v.no != nil {
		turn(http.StatusUnprocessableEntity, v.no)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), publishWait)
	defer cancel()
	if err := in.Publish(ctx, key.Name, record, v.game.ID.String()); err != nil {
		rw.Header().Set("Retry-After", "10")
		w.say(rw, http.StatusServiceUnavailable, "queue", fmt.Sprintf("the queue does not take it now: %v", err))
		return
	}
	rw.WriteHeader(http.StatusAccepted)
}

// rate is a bucket of games that a guest may still send.
type rate struct {
	left float64
	at   time.Time
}

func (w *Web) allowed(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	perSecond, burst := w.c.Options.GuestGames/60, max(w.c.Options.GuestGames/6, 8)
	now := time.Now()
	b := w.rates[name]
	if b == nil {
		b = &rate{left: burst, at: now}
		w.rates[name] = b
	}
	b.left = min(burst, b.left+now.Sub(b.at).Seconds()*perSecond)
	b.at = now
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}

// bounded lets at most cap(slots) connections be open; a further one is closed
// at once.
type bounded struct {
	net.Listener
	slots chan struct{}
}

func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case b.slots <- struct{}{}:
			return &boundConn{Conn: c, free: sync.OnceFunc(func() { <-b.slots })}, nil
		default:
			c.Close()
		}
	}
}

type boundConn struct {
	net.Conn
	free func()
}

func (c *boundConn) Close() error {
	c.free()
	return c.Conn.Close()
}
