package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"kirin/configs"
	"kirin/dataset/whole"
)

// balance couples self-play and trainer by one number: samples drawn for each
// new position. Whoever is ahead waits, so the CPU goes to the other.
type balance struct {
	ratio float64 // samples per position
	slack float64 // positions the players may be ahead

	mu      sync.Mutex
	played  int64 // positions that finished games hold
	samples int64 // drawn by the trainer
	changed chan struct{}
}

// slack is how many positions the players may be ahead: what the trainer needs
// for two nets.
func slack(c *configs.Run) float64 {
	perNet := float64(c.Loop.PublishSteps*c.Train.BatchSize) / c.Loop.SamplesPerPosition
	return max(2*perNet, float64(c.Loop.FirstPositions))
}

func newBalance(ratio float64, slack float64) *balance {
	return &balance{ratio: ratio, slack: slack, changed: make(chan struct{})}
}

func (b *balance) signal() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// addPlayed counts positions of a finished game.
func (b *balance) addPlayed(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.played += int64(n)
	b.signal()
}

// set replaces both counts, at the start or from another process.
func (b *balance) set(played, samples int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.played, b.samples = max(b.played, played), max(b.samples, samples)
	b.signal()
}

// reset sets both counts to those of a checkpoint that was gone back to.
func (b *balance) reset(played, samples int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.played, b.samples = played, samples
	b.signal()
}

// counts returns both counts.
func (b *balance) counts() (played, samples int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.played, b.samples
}

// addSamples counts samples drawn.
func (b *balance) addSamples(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.samples += int64(n)
	b.signal()
}

// patience is how far ahead, in units of the slack, player i of n is held: one
// after the other, so that the cores that a lone trainer would leave idle
// between its parallel parts stay busy.
func patience(i, n int) float64 { return 0.5 + float64(i+1)/float64(n) }

// holdPlayer blocks while the players are ahead by more than patience times the
// slack. waiting and working are called when a wait begins and ends.
func (b *balance) holdPlayer(ctx context.Context, patience float64, waiting, working func()) error {
	held := false
	for {
		b.mu.Lock()
		over := float64(b.played)-float64(b.samples)/b.ratio > b.slack*patience
		changed := b.changed
		b.mu.Unlock()
		if !over {
			if held {
				working()
			}
			return nil
		}
		if !held {
			held = true
			waiting()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// mayTrain tells whether the trainer may draw n more samples.
func (b *balance) mayTrain(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return float64(b.samples+int64(n)) <= b.ratio*float64(b.played)
}

// progressRecord is progress.json: what the trainer has used so far, for
// players in other processes.
type progressRecord struct {
	Step    int   `json:"step"`
	Samples int64 `json:"samples"`
	Played  int64 `json:"positions"`
	Games   int64 `json:"games"`
}

func (r *runDir) writeProgress(p progressRecord) error {
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return whole.WriteFile(r.path("progress.json"), append(b, '\n'))
}

func (r *runDir) readProgress() (progressRecord, error) {
	var p progressRecord
	b, err := os.ReadFile(r.path("progress.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(b, &p); err != nil {
		return p, fmt.Errorf("%s: damaged: %w; the trainer writes it anew", r.path("progress.json"), err)
	}
	return p, nil
}

// follow reads progress.json every second, for players without a trainer in
// their own process; games is told how many games the run has.
func (b *balance) follow(ctx context.Context, r *runDir, games func(int64)) {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		if p, err := r.readProgress(); err == nil {
			b.set(p.Played, p.Samples)
			games(p.Games)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}
