package fleet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"kirin/dataset"
)

// Verification is what playing a game again has shown.
type Verification struct {
	Same       bool
	Impossible bool   // another kernel set, version or settings: there is nothing to compare
	Why        string // a sentence, when it is not the same
}

// checks plays games again, one at a time, beside the intake.
type checks struct {
	verify func(context.Context, *dataset.Game) (Verification, error)
	todo   chan *message
	wg     sync.WaitGroup

	mu   sync.Mutex
	held map[dataset.ID]struct{}
	done []*checked
}

type checked struct {
	*message
	found Verification
	err   error
}

// maxChecks is the number of games that may wait to be played again.
const maxChecks = 64

func newChecks(verify func(context.Context, *dataset.Game) (Verification, error)) *checks {
	return &checks{verify: verify, todo: make(chan *message, maxChecks), held: map[dataset.ID]struct{}{}}
}

func (c *checks) start(ctx context.Context) {
	if c.verify == nil {
		return
	}
	c.wg.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case m := <-c.todo:
				found, err := c.verify(ctx, m.game)
				if ctx.Err() != nil {
					return // the game is delivered again: it was not refuted, there was no time
				}
				c.mu.Lock()
				c.done = append(c.done, &checked{m, found, err})
				c.mu.Unlock()
			}
		}
	})
}

func (c *checks) wait() { c.wg.Wait() }

// offer hands a game over; false: there is no room.
func (c *checks) offer(m *message) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case c.todo <- m:
		c.held[m.game.ID] = struct{}{}
		return true
	default:
		return false
	}
}

// holds tells whether a game is being played again.
func (c *checks) holds(id dataset.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.held[id]
	return ok
}

// finished returns the games that have been played again, with the finding as
// part of their verdict.
func (c *checks) finished() []*message {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []*message
	for _, d := range c.done {
		delete(c.held, d.game.ID)
		d.message.found = d
		d.message.twice = false
		out = append(out, d.message)
	}
	c.done = nil
	return out
}

// verified decides what playing a game again has to do with it. True: it may
// be stored now.
func (in *Intake) verified(m *message) (bool, error) {
	key, _ := in.c.Keys.byName(m.key)
	if f := m.found; f != nil {
		switch {
		case f.err != nil || f.found.Impossible:
			in.c.Metrics.FleetVerified("impossible")
		case f.found.Same:
			in.c.Metrics.FleetVerified("same")
			return true, nil
		default:
			in.c.Metrics.FleetVerified("different")
			in.c.Say("worker %s is quarantined: game %v: %s", m.key, m.game.ID, f.found.Why)
			if err := in.aside.Add(m.key, fmt.Sprintf("game %v: %s", m.game.ID, f.found.Why)); err != nil && !in.patient(err) {
				return false, err
			}
			return false, in.putAside(m, refuse(RefusedMismatch, "%s", f.found.Why))
		}
		// Where this machine cannot play as the worker's does, or has the net no
		// more, nothing speaks against the game: without it the wins that only a
		// tree finds would be missing wherever the processors differ. Of a guest,
		// and of a game that cannot be played at all, it is not taken.
		if m.again && (f.err != nil || key.Guest) {
			why := f.found.Why
			if f.err != nil {
				why = f.err.Error()
			}
			in.refused(m, refuse(RefusedUnproven, "its result could neither be proven nor played again: %s", why))
			return false, nil
		}
		return true, nil
	}
	if in.checks.holds(m.game.ID) {
		return false, nil // delivered again meanwhile: the first delivery is acknowledged
	}
	share := in.c.Options.VerifyWorker
	if key.Guest {
		share = in.c.Options.VerifyGuest
	}
	if in.c.Verify == nil {
		if m.again {
			in.refused(m, refuse(RefusedUnproven, "its result could not be proven"))
			return false, nil
		}
		return true, nil
	}
	if !m.again && rand.Float64() >= share {
		return true, nil
	}
	if in.checks.offer(m) {
		return false, nil
	}
	if m.again {
		in.nc.Publish(m.reply, fmt.Appendf(nil, `-NAK {"delay": %d}`, 30*time.Second))
		return false, nil
	}
	return true, nil
}

// putAside keeps a game for inspection, in a journal of its worker's, instead
// of storing it.
func (in *Intake) putAside(m *message, r *refusal) error {
	if err := in.aside.keep(m.key, m.data); err != nil && !in.patient(err) {
		return err
	}
	in.refused(m, r)
	return nil
}

// patient tells errors that go away when room is made.
func (in *Intake) patient(err error) bool { return in.c.Patient != nil && in.c.Patient(err) }
