package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"kirin/dataset"
	"kirin/metrics"
	"kirin/network"
	"kirin/network/encode"
	"kirin/network/kernel"
	"kirin/network/train"
	"kirin/rules"
)

// pollEvery is how often the trainer looks for new games.
const pollEvery = 500 * time.Millisecond

// pollGames is about how many games it takes in at a time.
const pollGames = 256

// learner is the training side of a run: games in, weights out.
type learner struct {
	run     *runDir
	store   *dataset.Store
	window  *dataset.Window
	feed    *dataset.Feed
	trainer *train.Trainer
	set     *kernel.Set
	enc     *encode.Encoder
	balance *balance
	metrics *metrics.Metrics
	crew    *crew // counts the work of lockstep's workers
	say     func(format string, a ...any)
	source  *rand.PCG
	rng     *rand.Rand
	samples []dataset.Sample
	seen    func(g *dataset.Game) // each game that enters the window for the first time
	// published is told of each new net; may be nil.
	published func(pointer) error

	state    loopState
	before   time.Duration // CPU time of earlier starts
	saved    int           // step of the last checkpoint
	reached  int64         // games that seen was told of: after a rewind they come again
	over     bool          // the games take more than data.max_disk
	bad      int           // non-finite steps in a row
	steps    int           // target of --steps, 0 for no end
	shown    map[string]float64
	status   loopStatus
	lookedAt int // step at which the losses on new games were last measured
}

// loopStatus is what other goroutines may read of the loop.
type loopStatus struct {
	step, games, samples  atomic.Int64
	policyLoss, valueLoss atomic.Uint64 // bits of a float64
	rating                atomic.Pointer[metrics.Rating]
	firstStep             int   // at this start
	firstGames            int64 // at this start
}

// tell publishes the loop's figures.
func (l *learner) tell() {
	l.status.step.Store(int64(l.state.Step))
	l.status.games.Store(l.state.Games)
	l.status.samples.Store(l.state.Samples)
	l.status.policyLoss.Store(math.Float64bits(l.shown["policy"]))
	l.status.valueLoss.Store(math.Float64bits(l.shown["value"]))
}

// newLearner opens the training side and restores the newest checkpoint that
// is whole. from names weights to start a fresh run with, or is empty.
func newLearner(r *runDir, store *dataset.Store, set *kernel.Set, m *metrics.Metrics, from string, say func(string, ...any)) (*learner, error) {
	enc, err := encode.New(r.variant)
	if err != nil {
		return nil, err
	}
	spec, err := network.ParseSpec(r.cfg.Net.Spec)
	if err != nil {
		return nil, err
	}
	l := &learner{
		run: r, store: store, set: set, enc: enc, metrics: m, say: say,
		feed:    store.Feed(),
		source:  rand.NewPCG(r.cfg.Seed, 0x73616d706c65), // "sample"
		samples: make([]dataset.Sample, r.cfg.Train.BatchSize),
		shown:   map[string]float64{},
	}
	l.rng = rand.New(l.source)
	if l.window, err = dataset.NewWindow(r.variant, r.cfg.Window); err != nil {
		return nil, err
	}
	first, err := l.firstWeights(spec, from)
	if err != nil {
		return nil, err
	}
	if l.trainer, err = train.NewOn(first, r.cfg.Train, set); err != nil {
		return nil, err
	}
	l.trainer.Account(func(work func()) {
		clock := m.Clock(metrics.PartTrain)
		defer clock.Stop()
		work()
	})
	restored, err := l.restore()
	if err != nil {
		return nil, err
	}
	if !restored {
		if l.state.Random, err = l.source.MarshalBinary(); err != nil {
			return nil, err
		}
		if err := l.save(true); err != nil {
			return nil, err
		}
	} else if err := errors.Join(l.republish(), l.writeProgress()); err != nil {
		return nil, err
	}
	l.before = time.Duration(l.state.CPU * float64(time.Second))
	l.balance = newBalance(r.cfg.Loop.SamplesPerPosition, slack(r.cfg))
	l.balance.set(l.state.Played, l.state.Samples)
	m.SetStep(int64(l.state.Step))
	l.status.firstStep, l.status.firstGames, l.reached = l.state.Step, l.state.Games, l.state.Games
	l.tell()
	return l, nil
}

// firstWeights are the weights at step 0.
func (l *learner) firstWeights(spec network.Spec, from string) (*network.Weights, error) {
	if from == "" {
		return blankWeights(l.run, spec, l.enc)
	}
	return weightsFrom(from, l.run.variant, spec, l.enc)
}

// weightsFrom are the weights at step 0 of a run that starts with --from.
func weightsFrom(from string, v *rules.Variant, spec network.Spec, enc *encode.Encoder) (*network.Weights, error) {
	w, _, err := readNet(from, v.Name())
	if err != nil {
		return nil, fmt.Errorf("--from: %w", err)
	}
	if err := fits(w, v, enc); err != nil {
		return nil, fmt.Errorf("--from %s: %w", from, err)
	}
	if w.Form != network.NewForm(spec, enc) {
		return nil, fmt.Errorf("--from %s: its net is %s, the configuration asks for %s: add --set net.spec=%s", from, w.Form.Spec, spec, w.Form.Spec)
	}
	return w, nil // as they are: their sum becomes the parent of the run's nets
}

// blankWeights are a run's weights before any training.
func blankWeights(r *runDir, spec network.Spec, enc *encode.Encoder) (*network.Weights, error) {
	w, err := network.Init(spec, enc, rand.New(rand.NewPCG(r.cfg.Seed, 0x696e6974))) // "init"
	if err != nil {
		return nil, err
	}
	w.Meta.Version = version
	return w, nil
}

// restore goes back to the newest whole checkpoint; false when there is none.
// Damaged ones are named and left out.
func (l *learner) restore() (bool, error) {
	all, err := l.run.checkpoints()
	if err != nil {
		return false, err
	}
	var faults []error
	var damaged []int
	for _, step := range all {
		s, err := l.run.loadCheckpoint(l.trainer, step)
		if err == nil {
			err = l.adopt(s)
		}
		if err == nil {
			l.saved = step
			for i, f := range faults {
				l.say("checkpoint of step %d put aside, going back to step %d: %v", damaged[i], step, f)
				if err := l.run.putAside(damaged[i]); err != nil {
					return false, err
				}
			}
			return true, nil
		}
		faults, damaged = append(faults, err), append(damaged, step)
	}
	if len(faults) > 0 {
		return false, fmt.Errorf("none of the %d checkpoints of %s can be read (%w); to begin again from the newest weights use another --dir with --from %s", len(faults), l.run.dir, faults[0], l.run.dir)
	}
	return false, nil
}

// adopt puts sampler, feed and window into the state of a checkpoint.
func (l *learner) adopt(s loopState) error {
	if err := l.source.UnmarshalBinary(s.Random); err != nil {
		return err
	}
	l.state = s
	if len(s.Feed) > 0 {
		if err := l.feed.Restore(s.Feed); err != nil {
			return err
		}
	}
	var err error
	if l.window, err = dataset.NewWindow(l.run.variant, l.run.cfg.Window); err != nil {
		return err
	}
	if len(s.Window) > 0 {
		if err := l.window.Restore(s.Window, l.store); err != nil {
			if !errors.Is(err, dataset.ErrMissing) || l.run.cfg.Schedule == "lockstep" {
				return err
			}
			l.say("the window lacks games: %v", err)
		}
	}
	return nil
}

// republish writes the checkpoint's net again if weights/latest is not it:
// the program may have died between the two.
func (l *learner) republish() error {
	w := l.averaged()
	sum, err := w.Sum()
	if err != nil {
		return err
	}
	if p, err := l.run.latest(); err == nil && p.step == l.state.Step && p.sum == sum {
		if _, err := l.run.readNet(p); err == nil {
			return nil
		}
	}
	_, err = l.run.publish(w, l.state.Step)
	return err
}

// averaged is the net to play with.
func (l *learner) averaged() *network.Weights {
	w := l.trainer.Averaged()
	w.Meta.Step, w.Meta.Version = int64(l.state.Step), version
	return w
}

// take moves new games into the window and returns those that have positions to
// learn from, for lookAt.
func (l *learner) take(games []*dataset.Game) (fresh []*dataset.CompactGame) {
	for _, g := range games {
		added, err := l.window.Add(g)
		if err != nil {
			l.say("game %s left out: %v", g.ID, err)
			continue
		}
		if !added {
			l.metrics.Window.DuplicateGames.Inc()
			continue
		}
		n := g.Positions()
		if n > 0 {
			fresh = append(fresh, l.window.Game(l.window.Games()-1))
		}
		l.state.Played += int64(n)
		l.state.Games++
		l.balance.addPlayed(n)
		if l.state.Games > l.reached {
			l.reached = l.state.Games
			if l.seen != nil {
				l.seen(g)
			}
		}
	}
	l.tell()
	return fresh
}

// catchUp takes in every game that is stored and has not been read.
func (l *learner) catchUp() error {
	for more := true; more; {
		batch, err := l.feed.Poll(pollGames)
		if err := errors.Join(err, l.lookAt(l.take(batch.Games))); err != nil {
			return err
		}
		more = batch.More
	}
	return nil
}

// step draws a batch and trains on it.
func (l *learner) step() error {
	n := len(l.samples)
	if err := l.window.Sample(l.rng, l.samples); err != nil {
		return fmt.Errorf("step %d: %w", l.state.Step+1, err)
	}
	if err := l.trainer.Fill(l.samples); err != nil {
		return fmt.Errorf("step %d: %w", l.state.Step+1, err)
	}
	stats, err := l.trainer.Step()
	if err != nil {
		return fmt.Errorf("step %d: %w", l.state.Step+1, err)
	}
	l.state.Samples += int64(n)
	l.balance.addSamples(n)
	if stats.NonFinite {
		l.bad++
		l.metrics.Train.DroppedSteps.Inc()
		l.say("step %d dropped: its loss or gradient is not finite", l.state.Step+1)
		if l.bad >= l.run.cfg.Loop.BadSteps {
			return l.rewind()
		}
		return nil
	}
	l.bad = 0
	l.state.Step++
	l.metrics.Stepped(int64(l.state.Step), n)
	l.observe(stats)
	l.tell()
	return nil
}

// rewind restores the last checkpoint after several bad steps. The sampler
// goes on from where it is, or the same batches would come again.
func (l *learner) rewind() error {
	before := l.state
	random, err := l.source.MarshalBinary()
	if err != nil {
		return err
	}
	ok, err := l.restore()
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("training diverged before the first checkpoint: lower train.learning_rate")
	}
	if err := l.source.UnmarshalBinary(random); err != nil {
		return err
	}
	l.state.Samples = before.Samples
	l.balance.reset(l.state.Played, l.state.Samples)
	l.bad = 0
	l.metrics.Train.Restored.Inc()
	l.metrics.SetStep(int64(l.state.Step))
	l.say("checkpoint of step %d restored after %d bad steps", l.state.Step, l.run.cfg.Loop.BadSteps)
	return nil
}

// cpu is the CPU time that the run has taken, all starts together, rating games
// left out.
func (l *learner) cpu() time.Duration { return l.before + l.metrics.Spent() }

// save writes a checkpoint and, with it, the net for the players.
func (l *learner) save(publish bool) error {
	var err error
	if l.state.Random, err = l.source.MarshalBinary(); err != nil {
		return err
	}
	l.state.Feed, l.state.Window, l.state.CPU = l.feed.State(), l.window.Cursor(), l.cpu().Seconds()
	if err := l.run.saveCheckpoint(l.trainer, l.state); err != nil {
		return err
	}
	l.saved = l.state.Step
	l.metrics.Train.CheckpointStep.Set(float64(l.state.Step))
	if publish {
		p, err := l.run.publish(l.averaged(), l.state.Step)
		if err == nil && l.published != nil {
			err = l.published(p)
		}
		if err != nil {
			return err
		}
		if err := l.run.thinWeights(l.run.cfg.Loop.KeepWeights); err != nil {
			return err
		}
	}
	return l.writeProgress()
}

// writeProgress tells players in other processes how far the trainer is.
func (l *learner) writeProgress() error {
	return l.run.writeProgress(progressRecord{Step: l.state.Step, Samples: l.state.Samples, Played: l.state.Played, Games: l.state.Games})
}

// saveWhenPossible saves, and waits while there is no room.
func (l *learner) saveWhenPossible(ctx context.Context, publish bool) error {
	clock := l.metrics.Clock(metrics.PartStorage)
	defer clock.Stop()
	for {
		err := l.save(publish)
		if err == nil {
			l.metrics.Working("train")
			return nil
		}
		if !waitable(err) {
			return err
		}
		l.metrics.Wait("train", waitReason(err), err.Error())
		if !sleep(ctx, retryEvery) {
			return err
		}
	}
}

// due tells whether this step ends with a checkpoint and with a new net.
func (l *learner) due() (checkpoint, publish bool) {
	c := l.run.cfg.Loop
	publish = l.state.Step%c.PublishSteps == 0
	return publish || l.state.Step%c.CheckpointSteps == 0, publish
}

// free runs the free schedule until ctx ends or the wanted step is reached.
func (l *learner) free(ctx context.Context) error {
	polled := time.Time{}
	for ctx.Err() == nil && (l.steps == 0 || l.state.Step < l.steps) {
		if time.Since(polled) >= pollEvery {
			clock := l.metrics.Clock(metrics.PartStorage)
			batch, err := l.feed.Poll(pollGames)
			fresh := l.take(batch.Games)
			clock.Stop()
			if err := errors.Join(err, l.lookAt(fresh)); err != nil {
				return err
			}
			if !batch.More {
				polled = time.Now()
			}
		}
		n := len(l.samples)
		switch {
		case l.window.Added() < int64(l.run.cfg.Loop.FirstPositions) || l.window.Positions() == 0:
			// Counted are those ever added: the window keeps fewer when it is small.
			l.metrics.Wait("train", metrics.WaitGames, fmt.Sprintf("%d of the %d positions that the first step needs have been played", l.window.Added(), l.run.cfg.Loop.FirstPositions))
		case !l.balance.mayTrain(n):
			l.metrics.Wait("train", metrics.WaitPositions, "every position has been used often enough; self-play goes on")
		default:
			l.metrics.Working("train")
			if err := l.step(); err != nil {
				return err
			}
			if checkpoint, publish := l.due(); checkpoint && l.bad == 0 {
				if err := l.saveWhenPossible(ctx, publish); err != nil {
					return err
				}
				l.keepStore()
			}
			continue
		}
		sleep(ctx, pollEvery/5)
	}
	return nil
}

// keepStore removes the oldest games beyond data.max_disk.
func (l *learner) keepStore() {
	kept, err := l.store.Retain(l.window, l.feed)
	if err != nil {
		l.say("old games stay on disk: %v", err)
	}
	if over := kept.Over > 0; over != l.over {
		if l.over = over; over {
			l.say("the games take %.0f MB more than data.max_disk: the window holds them, or they have not been read yet", math.Ceil(float64(kept.Over)/(1<<20)))
		}
	}
	l.metrics.Dataset.Removed.Add(float64(kept.Deleted))
}

// waitable tells errors that go away when room is made from those that do not.
func waitable(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) || errors.Is(err, os.ErrPermission)
}

func waitReason(err error) string {
	if errors.Is(err, os.ErrPermission) {
		return "no permission to write"
	}
	return metrics.WaitDiskFull
}
