package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"kirin/dataset"
	"kirin/metrics"
	"kirin/network"
	"kirin/rules"
	"kirin/selfplay"
)

// lockstep runs the lockstep schedule: generation g plays games
// [g*lockstep_games, (g+1)*lockstep_games) with the net of step
// g*lockstep_steps, then trains lockstep_steps steps on all games so far. Every
// number is fixed, so the whole run is a function of its configuration, however
// often it is interrupted and whatever the number of workers.
func (l *learner) lockstep(ctx context.Context, watch func(*dataset.Game, *rules.Position)) error {
	c := l.run.cfg.Loop
	starts, err := l.run.starts()
	if err != nil {
		return err
	}
	if err := l.recall(starts); err != nil {
		return err
	}
	for ctx.Err() == nil && (l.steps == 0 || l.state.Step < l.steps) {
		generation := l.state.Step / c.LockstepSteps
		upTo := int64(generation+1) * int64(c.LockstepGames)
		if l.state.Games < upTo {
			l.metrics.Wait("train", metrics.WaitGeneration, fmt.Sprintf("generation %d is being played", generation))
			if err := l.playGeneration(ctx, upTo, starts, watch); err != nil {
				return err
			}
			if ctx.Err() != nil {
				return nil
			}
			if err := l.readGeneration(upTo, starts); err != nil {
				return err
			}
			l.metrics.Working("train")
		}
		if err := l.step(); err != nil {
			return err
		}
		publish := l.state.Step%c.LockstepSteps == 0
		if l.bad == 0 && (publish || l.state.Step%c.CheckpointSteps == 0) {
			if err := l.saveWhenPossible(ctx, publish); err != nil {
				return err
			}
		}
	}
	return nil
}

// readGeneration feeds the games below upTo to the window and to starts, in the
// order of their numbers.
func (l *learner) readGeneration(upTo int64, starts *selfplay.Starts) error {
	fresh, err := l.takeGeneration(upTo, starts)
	if err != nil {
		return err
	}
	return l.lookAt(fresh)
}

func (l *learner) takeGeneration(upTo int64, starts *selfplay.Starts) (fresh []*dataset.CompactGame, err error) {
	clock := l.metrics.Clock(metrics.PartStorage)
	defer clock.Stop()
	feed := l.store.OrderedFeed(l.state.Games)
	for l.state.Games < upTo {
		batch, err := feed.Poll(int(upTo - l.state.Games))
		if err != nil {
			return nil, err
		}
		if len(batch.Games) == 0 {
			return nil, fmt.Errorf("game %d is missing from %s although it was played: run kirin check --dir %s", l.state.Games, l.run.path("games"), l.run.dir)
		}
		for _, g := range batch.Games {
			starts.Add(g)
		}
		fresh = append(fresh, l.take(batch.Games)...)
	}
	return fresh, nil
}

// playGeneration plays those games below upTo that are not stored yet.
func (l *learner) playGeneration(ctx context.Context, upTo int64, starts *selfplay.Starts, watch func(*dataset.Game, *rules.Position)) error {
	stored, err := l.store.Numbers()
	if err != nil {
		return err
	}
	var missing []int64
	for n := l.state.Games; n < upTo; n++ {
		if !stored[n] {
			missing = append(missing, n)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	ptr, err := l.run.latest()
	if err != nil {
		return err
	}
	w, err := l.run.readNet(ptr)
	if err != nil {
		return err
	}
	net, err := network.NewOn(w, l.set)
	if err != nil {
		return err
	}
	l.metrics.Selfplay.NetStep.Set(float64(ptr.step))
	workers := l.run.cfg.Selfplay.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	l.metrics.Selfplay.Workers.Set(float64(workers))
	queue := &numbered{seed: l.run.cfg.Seed, numbers: missing, net: ptr, starts: starts}
	var wg sync.WaitGroup
	faults := make([]error, workers)
	for i := range workers {
		wg.Go(func() { faults[i] = l.playSome(ctx, i, queue, net, watch) })
	}
	wg.Wait()
	return errors.Join(faults...)
}

// playSome is one worker of a generation.
func (l *learner) playSome(ctx context.Context, i int, queue *numbered, net *network.Net, watch func(*dataset.Game, *rules.Position)) error {
	clock := l.metrics.Clock(metrics.PartSearch)
	defer clock.Stop()
	name := fmt.Sprintf("lockstep%02d", i)
	writer, err := l.store.Writer(name)
	if err != nil {
		return err
	}
	cfg := workerConfig(l.run, l.set, name)
	cfg.Enter = func(ph selfplay.Phase) { clock.Enter(parts[ph]) }
	if i == 0 {
		cfg.Watch = watch
	}
	w := selfplay.NewWorker(cfg)
	l.crew.join(w)
	defer l.crew.leave(w)
	src := &numberedSource{queue: queue, eval: l.run.evaluator(net, l.run.cfg.Selfplay.Games)}
	sink := &patientSink{ctx: ctx, name: name, metrics: l.metrics, writer: writer}
	err = ignoreCancel(w.Run(ctx, src, sink))
	return errors.Join(err, writer.Close())
}

// numbered hands out the numbers of a generation's games.
type numbered struct {
	seed    uint64
	numbers []int64
	next    atomic.Int64
	net     pointer
	starts  *selfplay.Starts
}

// numberedSource gives one worker its games.
type numberedSource struct {
	queue *numbered
	eval  selfplay.Evaluator
}

func (s *numberedSource) Next(context.Context) (selfplay.Assignment, bool) {
	q := s.queue
	i := q.next.Add(1) - 1
	if i >= int64(len(q.numbers)) {
		return selfplay.Assignment{}, false
	}
	n := q.numbers[i]
	seed := mix(q.seed, uint64(n))
	return selfplay.Assignment{Number: n, Seed: seed, Start: q.starts.Pick(seed), Net: q.net.sum, Step: int64(q.net.step), Eval: s.eval}, true
}
