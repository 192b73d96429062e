package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"kirin/dataset"
	"kirin/dataset/whole"
	"kirin/metrics"

	"github.com/nats-io/nats.go"
)

// Worker is what the trainer knows about one worker.
type Worker struct {
	Name        string           `json:"name"`
	Seen        time.Time        `json:"seen"`
	Games       int64            `json:"games"` // stored since the trainer's start
	Rate        float64          `json:"rate"`  // games a second, as it says itself or as they arrive
	Step        int64            `json:"step"`  // of the net in use
	Version     string           `json:"version"`
	Kernel      string           `json:"kernel"`
	Outbox      int              `json:"outbox"`
	Waiting     string           `json:"waiting,omitempty"`
	Refused     map[string]int64 `json:"refused,omitempty"`
	Last        string           `json:"last_refusal,omitempty"`
	Quarantined string           `json:"quarantined,omitempty"`
}

// Status is the trainer's side in figures: status.json in the run's fleet
// folder.
type Status struct {
	Time        time.Time        `json:"time"`
	Queue       string           `json:"queue"` // where it listens
	Web         string           `json:"web"`
	State       State            `json:"state"`
	Backlog     int64            `json:"backlog_games"`
	Bytes       int64            `json:"backlog_bytes"`
	Open        int64            `json:"unacknowledged"`
	Redelivered int64            `json:"redelivered"`
	Connections int              `json:"connections"`
	Staleness   float64          `json:"staleness_steps"`
	Refused     map[string]int64 `json:"refused"`
	Workers     []Worker         `json:"workers"`
}

// ReadStatus reads the status that a trainer wrote last.
func ReadStatus(dir string) (*Status, error) {
	b, err := os.ReadFile(filepath.Join(dir, "status.json"))
	if err != nil {
		return nil, err
	}
	s := &Status{}
	return s, json.Unmarshal(b, s)
}

// roster remembers the workers. It is bounded: of a crowd the first are listed.
type roster struct {
	mu        sync.Mutex
	workers   map[string]*Worker
	refusals  map[string]int64
	redone    int64
	staleness float64
	last      Status
}

const (
	maxRoster  = 100_000
	maxListed  = 2000
	aliveFor   = 2 * time.Minute
	statusWait = 5 * time.Second
)

func newRoster() *roster {
	return &roster{workers: map[string]*Worker{}, refusals: map[string]int64{}}
}

// of returns a worker, nil when there are too many. The caller holds the lock.
func (r *roster) of(key string) *Worker {
	w := r.workers[key]
	if w == nil {
		if len(r.workers) >= maxRoster {
			return nil
		}
		w = &Worker{Name: key}
		r.workers[key] = w
	}
	w.Seen = time.Now()
	return w
}

func (r *roster) size() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.workers)
}

func (r *roster) redelivered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.redone++
}

func (r *roster) stored(key string, g *dataset.Game, newest int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.staleness += 0.02 * (float64(max(newest-g.Step, 0)) - r.staleness)
	if w := r.of(key); w != nil {
		w.Games++
		w.Step, w.Version, w.Kernel = max(w.Step, g.Step), g.Version, g.Kernel
	}
}

func (r *roster) refused(key string, no *refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refusals[no.reason]++
	// Being turned away is no sign of life, and makes nobody a worker.
	if w := r.workers[key]; w != nil {
		if w.Refused == nil {
			w.Refused = map[string]int64{}
		}
		w.Refused[no.reason]++
		w.Last = clip(no.Error())
	}
}

// beat takes a worker's sign of life.
func (in *Intake) beat(m *nats.Msg) {
	key := m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
	var b Beat
	if len(m.Data) > 4096 || CheckName(key) != nil || json.Unmarshal(m.Data, &b) != nil {
		in.Refused(key, RefusedGarbage, errors.New("not a sign of life"))
		return
	}
	in.roster.mu.Lock()
	defer in.roster.mu.Unlock()
	if w := in.roster.of(key); w != nil {
		w.Rate, w.Step, w.Version, w.Kernel, w.Outbox, w.Waiting = b.Rate, b.Step, clip(b.Version), clip(b.Kernel), b.Outbox, clip(b.Waiting)
	}
}

// clip shortens what a stranger writes.
func clip(s string) string { return s[:min(len(s), 200)] }

// measure brings the metrics and the status file up to date.
func (in *Intake) measure(ctx context.Context) {
	r, f := in.roster, &in.c.Metrics.Fleet
	in.loadRefusals()
	r.mu.Lock()
	alive := 0
	for _, w := range r.workers {
		if time.Since(w.Seen) < aliveFor {
			alive++
		}
	}
	stale := r.staleness
	due := time.Since(r.last.Time) >= statusWait
	r.mu.Unlock()
	f.Workers.Set(float64(alive))
	f.Staleness.Set(stale)
	f.Unacknowledged.Set(float64(len(in.open)))
	f.Quarantined.Set(float64(len(in.aside.List())))
	if in.c.Server != nil {
		f.Connections.Set(float64(in.c.Server.Connections()))
	}
	if !due {
		return
	}
	try, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if info, err := in.stream.Info(try); err == nil {
		r.mu.Lock()
		r.last.Backlog, r.last.Bytes = int64(info.State.Msgs), int64(info.State.Bytes)
		r.mu.Unlock()
		f.BacklogGames.Set(float64(info.State.Msgs))
		f.BacklogBytes.Set(float64(info.State.Bytes))
		f.Wanted.Set(float64(in.wanted(alive, info.State.Msgs)))
	}
	in.writeStatus()
}

// wanted is the number of workers that would keep the trainer busy: fewer when
// games pile up, more when the trainer waits for games.
func (in *Intake) wanted(alive int, backlog uint64) int {
	if backlog > uint64(in.c.Options.MaxOpen) {
		return max(alive*4/5, 1)
	}
	for _, w := range in.c.Metrics.Waits() {
		if w.Part == "train" && (w.Reason == metrics.WaitPositions || w.Reason == metrics.WaitGames) {
			return alive*5/4 + 1
		}
	}
	return max(alive, 1)
}

// loadRefusals counts what the embedded queue itself has turned away.
func (in *Intake) loadRefusals() {
	if in.c.Server == nil {
		return
	}
	for _, reason := range in.c.Server.takeRefusals() {
		in.c.Metrics.FleetRefused(reason)
		in.roster.mu.Lock()
		in.roster.refusals[reason]++
		in.roster.mu.Unlock()
	}
}

// Status is the trainer's side in figures, a few seconds old at most.
func (in *Intake) Status() Status {
	in.roster.mu.Lock()
	defer in.roster.mu.Unlock()
	return in.roster.last
}

// status gathers the figures; the intake's own goroutine calls it.
func (in *Intake) status() Status {
	r := in.roster
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.last
	s.Time, s.State, s.Open, s.Staleness = time.Now(), in.State(), int64(len(in.open)), r.staleness
	s.Web, s.Queue = in.c.Welcome.Web, in.c.URL
	if in.c.Server != nil {
		s.Queue, s.Connections = in.c.Server.Address(), in.c.Server.Connections()
	}
	s.Refused, s.Redelivered = maps.Clone(r.refusals), r.redone
	s.Workers = nil
	aside := in.aside.List()
	for _, name := range slices.Sorted(maps.Keys(r.workers)) {
		w := *r.workers[name]
		w.Refused = maps.Clone(w.Refused)
		w.Quarantined = aside[name]
		if s.Workers = append(s.Workers, w); len(s.Workers) >= maxListed {
			break
		}
	}
	return s
}

// writeStatus writes status.json. A full disk leaves the old one.
func (in *Intake) writeStatus() {
	s := in.status()
	in.roster.mu.Lock()
	in.roster.last = s
	in.roster.mu.Unlock()
	b, err := json.MarshalIndent(s, "", "  ")
	if err == nil {
		err = whole.WriteFile(filepath.Join(in.c.Dir, "status.json"), append(b, '\n'))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && in.c.Patient != nil && !in.c.Patient(err) {
		in.c.Say("the fleet's status cannot be written: %v", err)
	}
}
