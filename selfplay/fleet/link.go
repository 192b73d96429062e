package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"kirin/dataset"
	"kirin/metrics"
)

// LinkConfig is what a worker's side needs.
type LinkConfig struct {
	// URL is where the queue is (nats://HOST:PORT, several with commas), or the
	// trainer's HTTP side (http://HOST:PORT) for a guest. An invitation brings
	// its own.
	URL        string
	Invitation *Invitation // nil: the trainer wants no keys
	Queue      string      // DefaultQueue unless set, or the invitation's
	Name       string      // of this worker, or the invitation's
	Dir        string      // for the outbox and for weights
	Quota      int64       // bytes of the outbox
	Codec      *dataset.Codec
	// Check tells whether this program may play for a trainer; it is asked again
	// whenever the trainer may have changed.
	Check   func(*Welcome) error
	Metrics *metrics.Metrics
	Say     func(format string, a ...any)
}

// Link is a worker's side. Its methods may be called from several goroutines.
type Link struct {
	c      LinkConfig
	way    way
	outbox *Outbox
	store  *weights
	kick   chan struct{} // look at the state now

	mu      sync.Mutex
	welcome Welcome
	state   State
	ready   State // the newest whose weights are here
	beat    Beat
	fault   error // why the worker must end
	ended   chan struct{}
	wg      sync.WaitGroup
}

// way is how a worker reaches the trainer.
type way interface {
	// fetch reads one of the bucket's texts.
	fetch(ctx context.Context, key string) ([]byte, error)
	// publish returns when the queue has the game. What can never succeed wraps
	// errHopeless.
	publish(ctx context.Context, record []byte) error
	beat(Beat)
	senders() int
	close()
}

var (
	errHopeless = errors.New("the trainer does not want this game")
	// ErrRefused is wrapped when the trainer does not let this worker in.
	ErrRefused = errors.New("the trainer refuses this worker")
)

// How often a worker looks for a new net without having been told, and shows
// that it lives; each by chance up to half more or less.
const (
	pollEvery    = 30 * time.Second
	beatEvery    = 15 * time.Second
	welcomeEvery = 4 // polls
	fetchLimit   = 10 * time.Second
	backoffMost  = 15 * time.Second
	patienceMost = 2 * time.Minute
)

// maxGames is more than any run has.
const maxGames = 1 << 48

// Join finds the trainer, and waits for it as long as ctx lives. Run must be
// called next.
func Join(ctx context.Context, c LinkConfig) (*Link, error) {
	if inv := c.Invitation; inv != nil {
		c.Name, c.Queue = inv.Name, inv.Queue
	}
	if c.Queue == "" {
		c.Queue = DefaultQueue
	}
	if err := errors.Join(CheckName(c.Name), CheckQueue(c.Queue)); err != nil {
		return nil, err
	}
	l := &Link{c: c, kick: make(chan struct{}, 1), ended: make(chan struct{})}
	var err error
	if l.outbox, err = OpenOutbox(filepath.Join(c.Dir, "outbox"), c.Codec, c.Quota); err != nil {
		return nil, err
	}
	if n := l.outbox.Damaged(); n > 0 {
		c.Say("%d finished games of an earlier start are damaged and lost (%s)", n, l.outbox.dir)
	}
	if err := l.connect(); err != nil {
		return nil, errors.Join(err, l.outbox.Close())
	}
	if err := l.greet(ctx); err != nil {
		l.way.close()
		return nil, errors.Join(err, l.outbox.Close())
	}
	if l.store, err = l.openWeights(); err != nil {
		l.way.close()
		return nil, errors.Join(err, l.outbox.Close())
	}
	return l, nil
}

func (l *Link) connect() error {
	address := l.c.URL
	if inv := l.c.Invitation; inv != nil {
		if address = inv.URL; address == "" {
			address = inv.Web
		}
	}
	var err error
	if strings.HasPrefix(address, "http://") || strings.HasPrefix(address, "https://") {
		l.way, err = newWebWay(address, l.c)
	} else {
		l.way, err = newQueueWay(address, l)
	}
	return err
}

// greet fetches welcome and state; a trainer that does not answer is waited
// for, one that does not fit is an error.
func (l *Link) greet(ctx context.Context) error {
	for said := map[string]bool{}; ; {
		err := l.readWelcome(ctx)
		if err == nil {
			err = l.readState(ctx)
		}
		if err == nil {
			l.c.Metrics.Working(part)
			return nil
		}
		if errors.Is(err, ErrUpdate) || errors.Is(err, ErrRefused) {
			return err
		}
		if f := l.Fault(); f != nil {
			return f
		}
		l.c.Metrics.Wait(part, metrics.WaitFleet, err.Error())
		if !said[err.Error()] {
			l.c.Say("waiting for the trainer: %v", err)
			said[err.Error()] = true
		}
		if !pause(ctx, time.Second) {
			return ctx.Err()
		}
	}
}

func (l *Link) read(ctx context.Context, key string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	b, err := l.way.fetch(ctx, key)
	if err != nil {
		return err
	}
	if len(b) > maxText {
		return fmt.Errorf("the trainer's %s has %d bytes", key, len(b))
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("the trainer's %s cannot be read: %w", key, err)
	}
	return nil
}

func (l *Link) readWelcome(ctx context.Context) error {
	var w Welcome
	if err := l.read(ctx, keyWelcome, &w); err != nil {
		return err
	}
	if err := l.c.Check(&w); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.welcome = w
	return nil
}

func (l *Link) readState(ctx context.Context) error {
	var s State
	if err := l.read(ctx, keyState, &s); err != nil {
		return err
	}
	return l.take(s)
}

// take adopts a state. What a stranger could have broadcast must at least look
// right; the weights themselves are checked by their hash.
func (l *Link) take(s State) error {
	if err := CheckSum(s.Net); err != nil {
		return fmt.Errorf("the trainer's state: %w", err)
	}
	if s.Games < 0 || s.Games > maxGames {
		return fmt.Errorf("the trainer's state: it has %d games", s.Games)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = s
	return nil
}

// Welcome is what the trainer says of the run.
func (l *Link) Welcome() Welcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.welcome
}

// State is the newest that this worker has heard.
func (l *Link) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// Weights returns the file of the newest net that is here and its state. While
// there is none it fetches one; later nets are fetched in the background, and
// nobody waits for them.
func (l *Link) Weights(ctx context.Context) (string, State, error) {
	l.mu.Lock()
	s, ready := l.state, l.ready
	l.mu.Unlock()
	if ready.Net != "" {
		file := l.store.path(ready.Net)
		if _, err := os.Stat(file); err == nil { // else it was damaged and removed
			return file, ready, nil
		}
	}
	file, err := l.fetch(ctx, s)
	return file, s, err
}

// fetch makes sure that the weights of a state are here.
func (l *Link) fetch(ctx context.Context, s State) (string, error) {
	file, err := l.store.get(ctx, s.Net)
	if err == nil {
		l.mu.Lock()
		l.ready = s
		l.mu.Unlock()
	}
	return file, err
}

// Append stores a finished game on disk and sends it. It blocks while the
// outbox is full.
func (l *Link) Append(ctx context.Context, g *dataset.Game) error {
	return l.outbox.Append(ctx, g, func(err error) { l.c.Metrics.Wait(part, metrics.WaitOutbox, err.Error()) })
}

// Tell sets what the next signs of life say.
func (l *Link) Tell(b Beat) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.beat = b
}

// Fault is why this worker must end: it does not fit the trainer any more, or
// its key was revoked. What it has finished stays in its outbox.
func (l *Link) Fault() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault
}

// Ended is closed when Fault is not nil.
func (l *Link) Ended() <-chan struct{} { return l.ended }

func (l *Link) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault == nil {
		l.fault = err
		close(l.ended)
	}
}

// Run sends games and follows the trainer until ctx ends.
func (l *Link) Run(ctx context.Context) {
	for range l.way.senders() {
		l.wg.Go(func() { l.send(ctx) })
	}
	l.wg.Go(func() { l.follow(ctx) })
	l.wg.Go(func() { l.live(ctx) })
}

// Close waits for the goroutines of Run, whose ctx has ended, and closes the
// outbox. Games that were not sent stay there for the next start.
func (l *Link) Close() error {
	l.wg.Wait()
	l.way.close()
	l.c.Metrics.Working(part)
	return l.outbox.Close()
}

// Drained waits until every finished game is with the queue.
func (l *Link) Drained(ctx context.Context) bool { return l.outbox.Drained(ctx) }

// Pending is the number of finished games that the queue does not have.
func (l *Link) Pending() int {
	n, _ := l.outbox.Size()
	return n
}

// send hands games over, one after the other.
func (l *Link) send(ctx context.Context) {
	backoff, patience := 100*time.Millisecond, fetchLimit
	for {
		letter, record, err := l.outbox.next(ctx)
		if ctx.Err() != nil {
			if letter != nil {
				l.outbox.back(letter)
			}
			return
		}
		if err != nil {
			l.fail(err)
			return
		}
		start := time.Now()
		try, cancel := context.WithTimeout(ctx, patience)
		err = l.way.publish(try, record)
		cancel()
		switch {
		case err == nil:
			l.c.Metrics.FleetSent(time.Since(start))
			l.c.Metrics.Working(part)
			backoff, patience = 100*time.Millisecond, fetchLimit
		case errors.Is(err, errHopeless):
			l.c.Metrics.FleetRefused("by_trainer")
			name := "a game"
			if g, err := l.c.Codec.Decode(record); err == nil {
				name = fmt.Sprintf("game %v", g.ID)
			}
			l.c.Say("%s is dropped: %v", name, err)
		default:
			if errors.Is(err, ErrRefused) {
				l.fail(err)
			}
			l.outbox.back(letter)
			l.c.Metrics.Wait(part, metrics.WaitFleet, fmt.Sprintf("games wait here: %v", err))
			if !pause(ctx, jitter(backoff)) {
				return
			}
			backoff = min(2*backoff, backoffMost)
			if errors.Is(err, context.DeadlineExceeded) {
				// The queue may have the game and be late to say so: sent again soon,
				// it would only be more work for it.
				patience = min(2*patience, patienceMost)
			}
			continue
		}
		if err := l.outbox.sent(letter); err != nil {
			l.fail(err)
			return
		}
	}
}

// jitter spreads the workers in time.
func jitter(d time.Duration) time.Duration {
	return d/2 + time.Duration(rand.Int64N(int64(d)+1))
}

// follow looks for a new state now and then, and when it is told of one
// fetches the weights, so that they are there when the next game begins.
func (l *Link) follow(ctx context.Context) {
	t := time.NewTimer(jitter(pollEvery))
	defer t.Stop()
	for polls := 1; ; {
		s := l.State()
		if _, err := l.fetch(ctx, s); err != nil && ctx.Err() == nil {
			l.c.Metrics.Wait("weights", metrics.WaitFleet, err.Error())
			t.Reset(jitter(5 * time.Second))
		} else {
			l.c.Metrics.Working("weights")
			l.store.keep(s.Net)
		}
		select {
		case <-ctx.Done():
			return
		case <-l.kick:
			continue
		case <-t.C:
		}
		t.Reset(jitter(pollEvery))
		l.readState(ctx) // a trainer that does not answer is asked again
		if polls++; polls%welcomeEvery == 0 {
			if err := l.readWelcome(ctx); errors.Is(err, ErrUpdate) {
				l.fail(err)
			}
		}
	}
}

// told takes a broadcast state.
func (l *Link) told(b []byte) {
	var s State
	if len(b) > maxText || json.Unmarshal(b, &s) != nil || l.take(s) != nil {
		return // a new one comes with the next poll
	}
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

// live shows the trainer that this worker is there.
func (l *Link) live(ctx context.Context) {
	for {
		l.mu.Lock()
		b := l.beat
		l.mu.Unlock()
		games, bytes := l.outbox.Size()
		b.Outbox = games
		l.c.Metrics.Fleet.OutboxGames.Set(float64(games))
		l.c.Metrics.Fleet.OutboxBytes.Set(float64(bytes))
		for _, w := range l.c.Metrics.Waits() {
			b.Waiting = w.Part + ": " + w.Reason
			break
		}
		l.way.beat(b)
		if !pause(ctx, jitter(beatEvery)) {
			return
		}
	}
}

// webBase is where weights are fetched from.
func (l *Link) webBase() (string, error) {
	if inv := l.c.Invitation; inv != nil {
		return inv.Web, nil
	}
	if strings.HasPrefix(l.c.URL, "http") {
		return l.c.URL, nil
	}
	u, err := url.Parse(l.welcome.Web)
	if err != nil {
		return "", fmt.Errorf("the trainer's address for weights, %q: %w", l.welcome.Web, err)
	}
	if u.Hostname() == "" {
		first, _, _ := strings.Cut(l.c.URL, ",")
		if !strings.Contains(first, "://") {
			first = "nats://" + first
		}
		q, err := url.Parse(first)
		if err != nil {
			return "", fmt.Errorf("--join %s: %w", l.c.URL, err)
		}
		host := q.Hostname()
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		u.Host = host + ":" + u.Port()
	}
	return u.String(), nil
}
