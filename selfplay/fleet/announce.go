package fleet

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

// announcer keeps the bucket in step with the run and tells the workers about
// a new net.
type announcer struct {
	in   *Intake
	kick chan struct{}

	mu     sync.Mutex
	state  State
	stored State // in the bucket
	told   State
	toldAt time.Time
}

// How often progress without a new net is told to all workers: more of them
// hear it less often.
const (
	tellEvery     = 5 * time.Second
	tellPerWorker = 500 * time.Microsecond
)

func newAnnouncer(in *Intake) *announcer {
	return &announcer{in: in, kick: make(chan struct{}, 1)}
}

// Announce says how far the run is. A new net is told to the workers at once,
// progress now and then.
func (in *Intake) Announce(s State) {
	a := in.news
	a.mu.Lock()
	a.state = s
	a.mu.Unlock()
	select {
	case a.kick <- struct{}{}:
	default:
	}
}

// State is what was announced last.
func (in *Intake) State() State {
	in.news.mu.Lock()
	defer in.news.mu.Unlock()
	return in.news.state
}

// Welcome is what new workers are told.
func (in *Intake) Welcome() Welcome { return in.c.Welcome }

func (a *announcer) step() int64 { return a.in.State().Step }

// put writes both texts into the bucket.
func (a *announcer) put(ctx context.Context) error {
	b, err := json.Marshal(a.in.c.Welcome)
	if err != nil {
		return err
	}
	if _, err := a.in.kv.Put(ctx, keyWelcome, b); err != nil {
		return err
	}
	return a.putState(ctx, a.in.State())
}

func (a *announcer) putState(ctx context.Context, s State) error {
	if s.Net == "" {
		return nil
	}
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if _, err := a.in.kv.Put(ctx, keyState, b); err != nil {
		return err
	}
	a.mu.Lock()
	a.stored = s
	a.mu.Unlock()
	return nil
}

func (a *announcer) run(ctx context.Context) {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.kick:
		case <-t.C:
		}
		a.tell(ctx)
	}
}

// tell brings bucket and workers up to date. What fails is tried again a
// second later.
func (a *announcer) tell(ctx context.Context) {
	a.mu.Lock()
	s, stored, told, at := a.state, a.stored, a.told, a.toldAt
	a.mu.Unlock()
	every := tellEvery + time.Duration(a.in.roster.size())*tellPerWorker
	if s.Net == "" || s.Net == told.Net && (s == told || time.Since(at) < every) && s.Net == stored.Net {
		return
	}
	if s != stored {
		try, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := a.putState(try, s)
		cancel()
		if err != nil {
			return
		}
	}
	b, err := json.Marshal(s)
	if err != nil || a.in.nc.Publish(a.in.c.Names.state(), b) != nil {
		return
	}
	a.mu.Lock()
	a.told, a.toldAt = s, time.Now()
	a.mu.Unlock()
}
