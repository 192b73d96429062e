package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"kirin/network"
	"kirin/network/encode"
	"kirin/network/kernel"
	"kirin/rules"
)

// netServer hands the newest net to the players of this process. All of them
// share the packed weights.
type netServer struct {
	nets    netSource
	variant *rules.Variant
	set     *kernel.Set
	enc     *encode.Encoder
	say     func(format string, a ...any)

	mu   sync.Mutex
	at   time.Time // when weights/latest was last read
	now  pointer
	net  *network.Net
	uses map[*network.Net]int // players that use a net
	idle []*network.Net       // not in use; their memory serves the next nets
	said string               // why the newest net is not the one in use
}

func newNetServer(nets netSource, v *rules.Variant, set *kernel.Set, enc *encode.Encoder, say func(format string, a ...any)) *netServer {
	return &netServer{nets: nets, variant: v, set: set, enc: enc, say: say, uses: map[*network.Net]int{}}
}

// keptNets is how many nets have memory from the start, and keep it: while games
// of one net end, those of the next begin, and some games take longer than a net
// is the newest, the more so the better it plays.
const keptNets = 3

// netSource is where nets come from: a run's folder, or a trainer on another
// machine.
type netSource interface {
	// latest names the newest net; fs.ErrNotExist when there is none yet.
	latest() (pointer, error)
	readNet(pointer) (*network.Weights, error)
}

// take returns the newest net of the source, which is asked at most every
// 200 ms. If it is another one than the player has, whose sum is had, the player
// gives it back by release.
func (s *netServer) take(had string) (*network.Net, pointer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, p, err := s.newest()
	if err == nil && p.sum != had {
		s.uses[n]++
	}
	return n, p, err
}

// release tells that a player has no game with a net that it took any more.
func (s *netServer) release(n *network.Net) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.uses[n]--; s.uses[n] == 0 {
		delete(s.uses, n)
		if n != s.net {
			s.rest(n)
		}
	}
}

// rest keeps the memory of a net that nobody uses for a later one.
func (s *netServer) rest(n *network.Net) {
	if len(s.uses)+len(s.idle) < keptNets {
		s.idle = append(s.idle, n)
	}
}

func (s *netServer) newest() (*network.Net, pointer, error) {
	if s.net != nil && time.Since(s.at) < 200*time.Millisecond {
		return s.net, s.now, nil
	}
	p, err := s.nets.latest()
	if err == nil && (s.net == nil || p != s.now) {
		var w *network.Weights
		if w, err = s.nets.readNet(p); err == nil {
			err = s.adopt(w, p)
		}
	}
	s.at = time.Now()
	if err != nil && s.net == nil {
		return nil, pointer{}, err
	}
	why := ""
	if err != nil { // the net in use stays until a better one can be read
		if why = err.Error(); why != s.said && !errors.Is(err, context.Canceled) {
			s.say("the net of step %d stays in use: %v", s.now.step, err)
		}
	}
	s.said = why
	return s.net, s.now, nil
}

func (s *netServer) adopt(w *network.Weights, p pointer) error {
	if err := fits(w, s.variant, s.enc); err != nil {
		return fmt.Errorf("net of step %d: %w", p.step, err)
	}
	n, err := s.load(w)
	if err != nil {
		return fmt.Errorf("net of step %d: %w", p.step, err)
	}
	old := s.net
	s.net, s.now = n, p
	if old != nil && s.uses[old] == 0 {
		s.rest(old)
	}
	return nil
}

// load packs weights into the memory of an idle net, or into new memory.
func (s *netServer) load(w *network.Weights) (*network.Net, error) {
	for s.net == nil && len(s.idle) < keptNets {
		n, err := network.NewOn(w, s.set)
		if err != nil {
			return nil, err
		}
		s.idle = append(s.idle, n)
	}
	last := len(s.idle) - 1
	if last < 0 || s.idle[last].Form() != w.Form {
		s.idle = nil
		return network.NewOn(w, s.set)
	}
	n := s.idle[last]
	err := n.Reload(w)
	if err == nil {
		s.idle = s.idle[:last]
	}
	return n, err
}
