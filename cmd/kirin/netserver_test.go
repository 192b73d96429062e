package main

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"kirin/network"
	"kirin/network/encode"
	"kirin/network/kernel"
	"kirin/rules"
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

func TestMemoryOfNetsThatNoGameUsesServesTheNextOnes(t *testing.T) {
	v, err := rules.Load("minishogi")
	if err != nil {
		t.Fatal(err)
	}
	enc, err := encode.New(v)
	if err != nil {
		t.Fatal(err)
	}
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
