package main

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestTheTrainerMayUseEachPositionSoOften(t *testing.T) {
	b := newBalance(4, 100)
	if b.mayTrain(1) {
		t.Error("there are samples before there are positions")
	}
	b.addPlayed(10)
	if !b.mayTrain(40) || b.mayTrain(41) {
		t.Error("ten positions give forty samples")
	}
	b.addSamples(40)
	if b.mayTrain(1) {
		t.Error("all samples are drawn")
	}
}

func TestPlayersAreHeldOneAfterTheOtherUntilTheTrainerCatchesUp(t *testing.T) {
	b := newBalance(2, 100)
	held := func(i int) bool {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		waited, worked := 0, 0
		err := b.holdPlayer(ctx, patience(i, 2), func() { waited++ }, func() { worked++ })
		if waited > 1 || worked > waited {
			t.Errorf("player %d: %d waits, %d ends of a wait", i, waited, worked)
		}
		return errors.Is(err, context.DeadlineExceeded)
	}
	for _, c := range []struct {
		played        int
		first, second bool
	}{{100, false, false}, {20, true, false}, {60, true, true}} {
		b.addPlayed(c.played)
		if a, z := held(0), held(1); a != c.first || z != c.second {
			t.Errorf("after %d more positions the players are held: %v %v", c.played, a, z)
		}
	}
	done := make(chan error, 1)
	go func() { done <- b.holdPlayer(t.Context(), patience(0, 2), func() {}, func() {}) }()
	b.addSamples(200)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
