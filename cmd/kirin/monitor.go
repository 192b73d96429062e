package main

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"kirin/dataset"
	"kirin/metrics"
	"kirin/network/train"
	"kirin/rules"
	"kirin/selfplay"
)

// recentGames is how many finished games the page offers and the run's health
// is judged by.
const recentGames = 200

// monitor watches a run: it turns what workers and trainer count into metrics,
// writes the history and keeps the recent games.
type monitor struct {
	metrics *metrics.Metrics
	crew    *crew

	mu      sync.Mutex
	games   []*dataset.Game // ring of finished games
	next    int             // games put into the ring
	total   int64           // games of the run
	logged  int64           // those that the curves count already
	plies   int64
	counted map[*selfplay.Worker]counts
	started time.Time
	rates   rates
}

// counts is what was read from a worker so far.
type counts struct {
	games, plies, sims, evals, batches, full, cheap, proven, mates, noMates, unknown, mateNodes, leafMates int64
	decided, resignChecked, resignFalse                                                                    int64
}

// rates are speeds over the last seconds.
type rates struct {
	at                            time.Time
	games, plies, samples         float64 // per second
	lastGames, lastPlies, lastSmp int64
}

func newMonitor(m *metrics.Metrics, c *crew) *monitor {
	return &monitor{metrics: m, crew: c, counted: map[*selfplay.Worker]counts{}, started: time.Now()}
}

// finished takes a finished game. Of a run that was killed it takes those once
// more that came after the last checkpoint: the curves had them before.
func (o *monitor) finished(g *dataset.Game) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.total >= o.logged {
		o.metrics.GameOver(g.Outcome.Result.String(), g.Outcome.Reason.String(), len(g.Plies))
	}
	if len(o.games) < recentGames {
		o.games = append(o.games, g)
	} else {
		o.games[o.next%recentGames] = g
	}
	o.next++
	o.total++
}

// collect adds what the workers have counted since the last call.
func (o *monitor) collect() {
	o.crew.mu.Lock()
	left := o.crew.left
	workers := slices.Concat(o.crew.workers, left)
	o.crew.left = nil
	o.crew.mu.Unlock()
	m := o.metrics
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, w := range workers {
		s, was := &w.Stats, o.counted[w]
		now := counts{
			s.Games.Load(), s.Plies.Load(), s.Simulations.Load(), s.Evaluations.Load(), s.Batches.Load(), s.FullSearches.Load(),
			s.CheapSearches.Load(), s.ProvenRoots.Load(), s.Mates.Load(), s.NoMates.Load(), s.UnknownMates.Load(), s.MateNodes.Load(), s.LeafMates.Load(),
			s.DecidedPlies.Load(), s.ResignChecked.Load(), s.ResignFalse.Load(),
		}
		m.Selfplay.Plies.Add(float64(now.plies - was.plies))
		m.Search.Simulations.Add(float64(now.sims - was.sims))
		m.Network.Positions.Add(float64(now.evals - was.evals))
		m.Network.Batches.Add(float64(now.batches - was.batches))
		m.Selfplay.FullSearches.Add(float64(now.full - was.full))
		m.Selfplay.CheapSearches.Add(float64(now.cheap - was.cheap))
		m.Selfplay.DecidedPlies.Add(float64(now.decided - was.decided))
		m.Selfplay.ResignationsChecked.Add(float64(now.resignChecked - was.resignChecked))
		m.Selfplay.ResignationsFalse.Add(float64(now.resignFalse - was.resignFalse))
		m.Search.ProvenRoots.Add(float64(now.proven - was.proven))
		m.Mate.Mates.Add(float64(now.mates - was.mates))
		m.Mate.Leaves.Add(float64(now.leafMates - was.leafMates))
		m.Mate.NoMates.Add(float64(now.noMates - was.noMates))
		m.Mate.Unknown.Add(float64(now.unknown - was.unknown))
		m.Mate.Nodes.Add(float64(now.mateNodes - was.mateNodes))
		o.plies += now.plies - was.plies
		o.counted[w] = now
	}
	for _, w := range left {
		delete(o.counted, w)
	}
}

// measure updates the speeds shown in the progress line.
func (o *monitor) measure(samples int64) rates {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	r := &o.rates
	if r.at.IsZero() {
		r.at, r.lastSmp = now, samples
		return *r
	}
	dt := now.Sub(r.at).Seconds()
	if dt < 0.5 {
		return *r
	}
	// A mean that forgets over about ten seconds.
	keep := math.Exp(-dt / 10)
	mean := func(old *float64, n, last int64) { *old = keep**old + (1-keep)*float64(n-last)/dt }
	if r.plies == 0 && r.games == 0 && r.samples == 0 {
		keep = 0
	}
	mean(&r.games, o.total, r.lastGames)
	mean(&r.plies, o.plies, r.lastPlies)
	mean(&r.samples, samples, r.lastSmp)
	r.at, r.lastGames, r.lastPlies, r.lastSmp = now, o.total, o.plies, samples
	return *r
}

// health derives the gauges that show whether the recent games are sound.
func (o *monitor) health() {
	o.mu.Lock()
	games := append([]*dataset.Game(nil), o.games...)
	o.mu.Unlock()
	if len(games) == 0 {
		return
	}
	first := map[rules.Move]int{}
	var repetitions, score, entropy, targets float64
	var expected, actual, number [10]float64
	for _, g := range games {
		if len(g.Plies) > 0 {
			first[g.Plies[0].Move]++
		}
		if g.Outcome.Reason == rules.Repetition || g.Outcome.Reason == rules.PerpetualCheck {
			repetitions++
		}
		side := firstToMove(g)
		score += float64(g.Outcome.Value(side).Score())
		for i := range g.Plies {
			p := &g.Plies[i]
			if len(p.Target) > 0 {
				entropy += targetEntropy(p.Target)
				targets++
				v := float64(p.Value.Score())
				b := min(int(v*10), 9)
				expected[b] += v
				actual[b] += float64(g.Outcome.Value(side).Score())
				number[b]++
			}
			side = side.Other()
		}
	}
	n := float64(len(games))
	most := 0
	for _, c := range first {
		most = max(most, c)
	}
	s := &o.metrics.Selfplay
	s.FirstMove.Set(float64(most) / n)
	s.Repetition.Set(repetitions / n)
	s.FirstPlayerScore.Set(score / n)
	if targets > 0 {
		s.TargetEntropy.Set(entropy / targets)
		fault := 0.0
		for b := range number {
			fault += math.Abs(expected[b] - actual[b])
		}
		s.ValueError.Set(fault / targets)
	}
}

// firstToMove is the side that begins a game: gote in most handicap games, and in
// what starts from some positions. It is the second word of an SFEN.
func firstToMove(g *dataset.Game) rules.Side {
	if words := strings.Fields(g.Start); len(words) > 1 && words[1] == "w" {
		return rules.Gote
	}
	return rules.Sente
}

// targetEntropy is the entropy of a policy target in nats.
func targetEntropy(t []dataset.MoveWeight) float64 {
	sum, h := 0.0, 0.0
	for _, w := range t {
		sum += float64(w.Weight)
	}
	for _, w := range t {
		p := float64(w.Weight) / sum
		h -= p * math.Log(p)
	}
	return h
}

// smooth keeps a mean of a figure that forgets: keep is the share of the old.
func (l *learner) smooth(name string, x, keep float64) float64 {
	if old, ok := l.shown[name]; ok {
		x = keep*old + (1-keep)*x
	}
	l.shown[name] = x
	return x
}

// freshEvery is the least number of steps between two looks at new games: they
// cost about a third of a step.
const freshEvery = 20

// lookAt measures the losses on games that have just come and that no step has
// learned from yet.
func (l *learner) lookAt(games []*dataset.CompactGame) error {
	if l.state.Step == 0 || l.state.Step < l.lookedAt+freshEvery {
		return nil
	}
	var all []dataset.Sample
	for _, g := range games {
		for i := range g.Positions() {
			all = append(all, g.Position(i))
		}
	}
	if len(all) == 0 {
		return nil
	}
	// Evenly spaced, so that it draws nothing from the sampler's random source.
	n := min(len(all), len(l.samples))
	for i := range n {
		all[i] = all[i*len(all)/n]
	}
	s, err := l.trainer.Evaluate(all[:n])
	if err != nil {
		return fmt.Errorf("losses on new games: %w", err)
	}
	l.lookedAt = l.state.Step
	if s.Finite() {
		keep := 1 - 0.3*float64(n)/float64(len(l.samples))
		fresh := l.metrics.Train.FreshLoss
		fresh.WithLabelValues("policy").Set(l.smooth("fresh policy", s.Policy, keep))
		fresh.WithLabelValues("value").Set(l.smooth("fresh value", s.Value, keep))
		fresh.WithLabelValues("plies_left").Set(l.smooth("fresh plies", s.Plies, keep))
	}
	return nil
}

// observe shows a step's figures.
func (l *learner) observe(s train.Stats) {
	t := &l.metrics.Train
	keep := 0.95 // the page shows a mean over about twenty steps
	for _, h := range []struct {
		name string
		loss float64
		used bool
	}{
		{"policy", s.Policy, true}, {"value", s.Value, true}, {"plies_left", s.Plies, true}, {"total", s.Total, true},
		{"soft", s.Soft, l.run.cfg.Train.SoftWeight > 0}, {"reply", s.Reply, l.run.cfg.Train.ReplyWeight > 0},
	} {
		if h.used {
			t.Loss.WithLabelValues(h.name).Set(l.smooth(h.name, h.loss, keep))
		}
	}
	t.PolicyAccuracy.Set(l.smooth("accuracy", s.Accuracy, keep))
	t.GradientNorm.Set(s.GradNorm)
	t.LargestActivation.Set(s.Largest)
	t.LearningRate.Set(s.Rate)
	l.metrics.Selfplay.PolicyEntropy.Set(s.Entropy)
	if l.state.Played > 0 {
		t.SamplesPerPosition.Set(float64(l.state.Samples) / float64(l.state.Played))
	}
	t.SamplesTarget.Set(l.run.cfg.Loop.SamplesPerPosition)
	w := &l.metrics.Window
	w.Games.Set(float64(l.window.Games()))
	w.Positions.Set(float64(l.window.Positions()))
	w.LimitPositions.Set(float64(l.run.cfg.Window.Size(l.window.Added())))
	w.Bytes.Set(float64(l.window.Bytes()))
	w.DuplicatePositions.Set(l.window.Repeated())
	age := 0.0
	for _, x := range l.samples {
		age += float64(int64(l.state.Step) - x.Game.Step())
	}
	t.Staleness.Set(age / float64(max(len(l.samples), 1)))
}

// line is the progress of a run in one line.
func (o *monitor) line(l *learner, left string) string {
	r := o.measure(l.status.samples.Load())
	s := fmt.Sprintf("games %s  %s plies/s  %s samples/s  step %d",
		count(float64(l.status.games.Load())), count(r.plies), count(r.samples), l.status.step.Load())
	if p := math.Float64frombits(l.status.policyLoss.Load()); p > 0 {
		s += fmt.Sprintf("  policy loss %.3f  value loss %.3f", p, math.Float64frombits(l.status.valueLoss.Load()))
	}
	if e := l.status.rating.Load(); e != nil {
		s += fmt.Sprintf("  rating %+.0f±%.0f", e.Elo, (e.High-e.Low)/2)
	}
	for _, w := range o.metrics.Waits() {
		s += fmt.Sprintf("  [%s waits: %s]", w.Part, w.Reason)
		break
	}
	if left != "" {
		s += "  " + left
	}
	return s
}

// tidyEvery is how often memory that nothing uses goes back to the system:
// checkpoints, shards and rating games leave much behind at times, and what one
// of them has left would otherwise stay for as long as the run. A collection
// takes a hundredth of a second.
const tidyEvery = 20 * time.Second

// follow keeps metrics, history and progress line up to date until ctx ends.
func (o *monitor) follow(ctx context.Context, tick func(now time.Time)) {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	tidied := time.Now()
	for {
		o.collect()
		tick(time.Now())
		if time.Since(tidied) >= tidyEvery {
			debug.FreeOSMemory()
			tidied = time.Now()
		}
		select {
		case <-ctx.Done():
			o.collect()
			o.health()
			return
		case <-t.C:
		}
	}
}

// finishedGames is the number of games taken by finished, and those of earlier
// starts.
func (o *monitor) finishedGames() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.total
}
