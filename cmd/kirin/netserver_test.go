package main

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"kirin/configs"
	"kirin/dataset"
	"kirin/network"
	"kirin/network/encode"
	"kirin/network/eval"
	"kirin/network/kernel"
	"kirin/rules"
	"kirin/selfplay"
)

// freshNets is a source whose newest net is that of step, and has its number as sum.
type freshNets struct {
	step int
	enc  *encode.Encoder
}

func (f *freshNets) latest() (pointer, error) {
	return pointer{step: f.step, sum: fmt.Sprint(f.step)}, nil
}

func (f *freshNets) readNet(p pointer) (*network.Weights, error) {
	w, err := network.Init(network.Spec{Blocks: 1, Channels: 16}, f.enc, rand.New(rand.NewPCG(uint64(p.step), 1)))
	if err == nil {
		w.Meta.Step = int64(p.step)
	}
	return w, err
}

// minishogi loads the game and its encoder.
func minishogi(t *testing.T) (*rules.Variant, *encode.Encoder) {
	t.Helper()
	v, err := rules.Load("minishogi")
	if err != nil {
		t.Fatal(err)
	}
	enc, err := encode.New(v)
	if err != nil {
		t.Fatal(err)
	}
	return v, enc
}

func TestMemoryOfNetsThatNoGameUsesServesTheNextOnes(t *testing.T) {
	v, enc := minishogi(t)
	nets := &freshNets{enc: enc}
	s := newNetServer(nets, v, kernel.Best(), enc, t.Logf)
	had := [2]string{}
	var inUse [2][]*network.Net
	take := func(player int) *network.Net {
		t.Helper()
		s.at = time.Time{}
		n, p, err := s.take(had[player])
		if err != nil || int(n.Meta().Step) != nets.step {
			t.Fatalf("the net of step %d for %d: %v", n.Meta().Step, nets.step, err)
		}
		if p.sum != had[player] {
			had[player] = p.sum
			inUse[player] = append(inUse[player], n)
		}
		return n
	}
	release := func(player int) {
		s.release(inUse[player][0])
		inUse[player] = inUse[player][1:]
	}
	seen := map[*network.Net]int{}
	for nets.step = 1; nets.step < 40; nets.step++ {
		for player := range 2 {
			n := take(player)
			take(player) // another game with the same net
			for other := range 2 {
				for _, older := range inUse[other] {
					if older == n && n.Meta().Step != int64(nets.step) {
						t.Fatalf("step %d: a net in use was overwritten", nets.step)
					}
				}
			}
			seen[n]++
		}
		// Each player has games of the net before for a while, player 1 of two.
		for player := range 2 {
			for len(inUse[player]) > 1+player {
				release(player)
			}
		}
		want := int64(nets.step)
		for player := range 2 {
			for i, n := range inUse[player] {
				if got := n.Meta().Step; got != want-int64(len(inUse[player])-1-i) {
					t.Fatalf("after step %d player %d has a net of step %d at place %d", nets.step, player, got, i)
				}
			}
		}
		if kept := len(s.uses) + len(s.idle); kept > keptNets {
			t.Fatalf("step %d: %d nets are kept", nets.step, kept)
		}
	}
	if len(seen) > keptNets {
		t.Errorf("%d nets were made", len(seen))
	}
	for player := range 2 {
		for len(inUse[player]) > 0 {
			release(player)
		}
	}
	if len(s.uses) != 0 {
		t.Errorf("%d nets are still in use", len(s.uses))
	}
}

// TestEveryGameIsAnsweredByItsOwnNet lets players that share one server begin and
// end games while new nets come: each game's answers are those of the net that it
// began with, though the memory of nets is used again.
func TestEveryGameIsAnsweredByItsOwnNet(t *testing.T) {
	cfg, err := configs.Load("")
	if err != nil {
		t.Fatal(err)
	}
	const players, games, last = 2, 2, 60
	first, _, _ := aPlayer(t, &runDir{cfg: cfg})
	s := first.server
	nets := s.nets.(*freshNets)
	var positions []*rules.Position // many, so that the net is asked, and no cache
	for p := s.variant.Start(); len(positions) < 40; {
		moves := p.AppendMoves(nil)
		if p.Outcome(len(moves)).Result != rules.Ongoing {
			break
		}
		positions = append(positions, p.Clone())
		p.Do(moves[len(positions)%len(moves)])
	}
	answer := func(e selfplay.Evaluator, i int) (rules.Value, error) {
		p, value := positions[i].Clone(), rules.Value{}
		moves := p.AppendMoves(nil)
		e.Add(p, moves, make([]float32, len(moves)), &value)
		return value, e.Flush()
	}
	want := map[string][]rules.Value{}
	for step := range last + 1 {
		w, err := nets.readNet(pointer{step: step})
		if err != nil {
			t.Fatal(err)
		}
		n, err := network.NewOn(w, s.set)
		if err != nil {
			t.Fatal(err)
		}
		e := eval.New(n, 1)
		for i := range positions {
			v, err := answer(e, i)
			if err != nil || step > 0 && v == want[fmt.Sprint(step-1)][i] {
				t.Fatalf("step %d answers as the one before, %v", step, err)
			}
			want[fmt.Sprint(step)] = append(want[fmt.Sprint(step)], v)
		}
	}
	var wg sync.WaitGroup
	for i := range players {
		one, _, _ := aPlayer(t, &runDir{cfg: cfg})
		one.server = s
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 5))
			running := make([]selfplay.Assignment, games)
			for {
				a := &running[rng.IntN(games)]
				if a.Eval != nil {
					at := rng.IntN(len(positions))
					if got, err := answer(a.Eval, at); err != nil || got != want[a.Net][at] {
						t.Errorf("a game of the net of step %s gets other answers, %v", a.Net, err)
						return
					}
					if rng.IntN(3) > 0 {
						continue
					}
					if err := one.Append(&dataset.Game{Net: a.Net}); err != nil {
						t.Error(err)
						return
					}
				}
				s.mu.Lock()
				over := nets.step == last
				if !over {
					nets.step += rng.IntN(2)
				}
				s.at = time.Time{} // the source is asked again
				s.mu.Unlock()
				if over {
					return
				}
				*a, _ = one.Next(t.Context())
			}
		})
	}
	wg.Wait()
}
