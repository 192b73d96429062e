package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"kirin/configs"
	"kirin/dataset"
	"kirin/metrics"
	"kirin/network"
	"kirin/network/encode"
	"kirin/network/kernel"
	"kirin/rules"

	"github.com/spf13/cobra"
)

// budgetEvery is how often the CPU time is compared with its limit.
const budgetEvery = 20 * time.Millisecond

// loopFlags are the flags of train and learn.
type loopFlags struct {
	runFlags
	duration time.Duration
	cpu      time.Duration
	games    int64
	steps    int
	from     string
	fleet    hostFlags
	asJSON   bool
}

func newTrain() *cobra.Command {
	var f loopFlags
	cmd := &cobra.Command{
		Use:   "train",
		Short: "Learn by self-play: workers, trainer and dashboard in one process",
		Long: `Train plays games against itself on all cores, trains a net on them, rates the
net against fixed opponents and serves a page that shows all of it. It prints the
address, after the word dashboard.

Everything is in the run's folder (runs/PRESET, or --dir). Stop at any time with
Ctrl-C, or lose power: the same command goes on where it was. Without --for,
--cpu, --games or --steps it trains until it is stopped.`,
		Example: `  kirin train --for 10m
  kirin train --config minishogi --dir runs/big --set net.spec=6x96
  kirin train --from runs/minishogi@latest --dir runs/second`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), true)
		},
	}
	f.add(cmd)
	cmd.Flags().Int64Var(&f.games, "games", 0, "stop when the run holds this many games (0: no limit)")
	cmd.Flags().DurationVar(&f.cpu, "cpu", 0, "stop when play and training have taken this much CPU time, all starts of the run together (0: no limit)")
	return cmd
}

func newLearn() *cobra.Command {
	var f loopFlags
	cmd := &cobra.Command{
		Use:   "learn",
		Short: "Train on games that other processes play into the same folder",
		Long: `Learn is the trainer of "kirin train" without its players: it reads the games
that "kirin selfplay" processes write into the run's folder, and publishes the
nets they play with. One trainer works on a run at a time.`,
		Example: "  kirin learn --dir runs/minishogi &\n  kirin selfplay --dir runs/minishogi",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), false)
		},
	}
	f.add(cmd)
	return cmd
}

func (f *loopFlags) add(cmd *cobra.Command) {
	f.runFlags.add(cmd)
	f.fleet.add(cmd)
	cmd.Flags().DurationVar(&f.duration, "for", 0, "stop after this time, for example 10m or 8h (0: no limit)")
	cmd.Flags().IntVar(&f.steps, "steps", 0, "stop at this training step of the run (0: no limit)")
	cmd.Flags().StringVar(&f.from, "from", "", "start a new run from these weights: FILE, RUN or RUN@latest, RUN@first, RUN@STEP, shipped")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON object at the end")
}

// run trains and says at the end what the run has come to.
func (f *loopFlags) run(ctx context.Context, stdout, stderr io.Writer, play bool) error {
	p := newProgress(stderr)
	r, l, err := f.train(ctx, p, play)
	if err != nil {
		return err
	}
	return f.farewell(stdout, p, r, l)
}

// checkFrom looks at --from before the run's folder is made, since a folder that
// stayed behind would refuse the corrected command. A run that has begun from
// these very weights goes on, so that the same command may be given again.
func (f *loopFlags) checkFrom() error {
	r := &runDir{dir: f.folder()}
	cfg, err := configs.Read(r.path("config.yaml"))
	if errors.Is(err, fs.ErrNotExist) {
		cfg, err = f.load()
	}
	if err != nil {
		return err
	}
	if cfg.Loop.CheapStart {
		return errors.New("loop.cheap_start plays the first games without the net, and --from brings one that can play: leave one of them out")
	}
	v, err := cfg.Load()
	if err != nil {
		return err
	}
	enc, err := encode.New(v)
	if err != nil {
		return err
	}
	spec, err := network.ParseSpec(cfg.Net.Spec)
	if err != nil {
		return err
	}
	begun, err := steps(r.path("weights"), weightsSuffix)
	if err != nil {
		return err
	}
	w, unfit := weightsFrom(f.from, v, spec, enc)
	if len(begun) == 0 {
		return unfit
	}
	if unfit == nil {
		first, err := network.ReadWeights(r.weightsFile(begun[0]))
		if err == nil && first.Meta.Step == 0 && slices.Equal(first.Params, w.Params) {
			return nil
		}
	}
	return fmt.Errorf("--from starts a new run, but %s exists: leave --from out to go on with it, or use another --dir", r.dir)
}

// train is the loop: it opens the run, starts the parts and waits for the end.
func (f *loopFlags) train(ctx context.Context, p *progress, play bool) (r *runDir, l *learner, err error) {
	if f.duration < 0 || f.cpu < 0 || f.games < 0 || f.steps < 0 {
		return nil, nil, fmt.Errorf("--for, --cpu, --games and --steps cannot be negative")
	}
	if err := f.fleet.check(); err != nil {
		return nil, nil, err
	}
	if f.from != "" {
		if err := f.checkFrom(); err != nil {
			return nil, nil, err
		}
	}
	r, err = f.open(true)
	if err != nil {
		return nil, nil, err
	}
	unlock, err := r.lock()
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	set, m, store, err := r.begin(p)
	if err != nil {
		return nil, nil, err
	}
	crew := &crew{}
	mon := newMonitor(m, crew)
	web, err := serve(r, m, mon, store)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, web.close()) }()
	if web.url != "" {
		p.say("dashboard %s   metrics %s/metrics", web.url, web.url)
	}
	l, err = newLearner(r, store, set, m, f.from, p.say)
	if err != nil {
		return nil, nil, err
	}
	l.crew, l.steps, l.seen = crew, f.steps, mon.finished
	mon.total = l.state.Games
	if p, ok := web.history.Last(); ok {
		mon.logged = p.Games
	}
	if r.cfg.Schedule == "free" {
		if err := l.catchUp(); err != nil {
			return nil, nil, err
		}
	}
	p.say("%s %s: %s, net %s, kernel set %s, schedule %s", map[bool]string{true: "new run", false: "continuing"}[r.fresh], r.dir, r.variant.Name(), r.cfg.Net.Spec, set.Name(), r.cfg.Schedule)
	if !r.fresh {
		p.say("at step %d with %d games", l.state.Step, l.state.Games)
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if f.duration > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, f.duration)
		defer stop()
	}
	if f.cpu > 0 {
		go func(l *learner) { // l itself is nil after an error
			for l.cpu() < f.cpu && sleep(ctx, budgetEvery) {
			}
			cancel()
		}(l)
	}
	fleet, err := f.fleet.start(ctx, r, l, cancel)
	if err != nil {
		return nil, nil, err
	}
	follower := make(chan struct{})
	began := time.Now()
	watchCtx, stopWatch := context.WithCancel(context.Background())
	go func() {
		defer close(follower)
		mon.follow(watchCtx, func(now time.Time) {
			games := l.status.games.Load()
			if f.games > 0 && games >= f.games {
				cancel()
			}
			crew.raise(games)
			web.record(now, l)
			if web.server != nil {
				web.server.SetProgress(f.progress(began, l))
			}
			p.show(mon.line(l, f.left(began, l)))
		})
	}()
	err = f.loop(ctx, cancel, r, l, joint{store, set, crew, web, fleet, play})
	stopWatch()
	<-follower
	web.point(time.Now(), l)
	if err != nil {
		return nil, nil, err
	}
	return r, l, nil
}

// joint holds the open parts of a run that loop joins.
type joint struct {
	store *dataset.Store
	set   *kernel.Set
	crew  *crew
	web   *web
	fleet *host
	play  bool
}

// loop runs trainer, players and rating games until ctx ends or the goal is
// reached, then saves.
func (f *loopFlags) loop(ctx context.Context, cancel func(), r *runDir, l *learner, o joint) error {
	watch := func(g *dataset.Game, p *rules.Position) { o.web.board.show(g, p) }
	rt, err := newRater(r, l, o.set, &o.web.ratings)
	if err != nil {
		return errors.Join(err, o.fleet.stop())
	}
	var rating error
	rated := make(chan struct{})
	go func() {
		defer close(rated)
		if rt != nil {
			if rating = rt.play(ctx); rating != nil {
				l.say("no more rating games: %v", rating)
			}
		}
	}()
	if r.cfg.Schedule == "lockstep" {
		if !o.play {
			err = fmt.Errorf("the lockstep schedule plays and trains in one process: use kirin train")
		} else {
			err = l.lockstep(ctx, watch)
		}
	} else {
		if o.play {
			var seed uint64
			if seed, err = r.sessionSeed(); err == nil {
				server := newNetServer(r, r.variant, o.set, l.enc, l.say)
				o.crew.raise(l.state.Games)
				err = o.crew.start(ctx, r, crewConfig{games: folders(o.store, l.metrics), seed: seed, metrics: l.metrics, server: server, balance: l.balance, onFault: cancel, watch: watch})
			}
		}
		if err == nil {
			err = l.free(ctx)
		}
	}
	cancel()
	err = errors.Join(ignoreCancel(err), o.crew.wait(), o.fleet.stop())
	<-rated
	err = errors.Join(err, rating)
	unread := l.state.Games
	if err == nil && r.cfg.Schedule == "free" {
		err = l.catchUp()
	}
	if l.bad == 0 && (l.state.Step > l.saved || l.state.Games > unread || l.cpu().Seconds() > l.state.CPU+1) {
		err = errors.Join(err, l.save(true))
	}
	if waitable(err) {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return fmt.Errorf("stopped without room to write (%s); finished games are safe, training goes on from step %d: make room and start again", first, l.saved)
	}
	return err
}

// left says how much of the work remains, when an end was given.
func (f *loopFlags) left(began time.Time, l *learner) string {
	switch {
	case f.duration > 0:
		return span(max(f.duration-time.Since(began), 0)) + " left"
	case f.cpu > 0:
		return span(min(l.cpu(), f.cpu)) + " of " + span(f.cpu) + " CPU time"
	case f.steps > 0:
		done, todo := int(l.status.step.Load())-l.status.firstStep, f.steps-int(l.status.step.Load())
		return remaining(began, float64(done), float64(todo))
	case f.games > 0:
		done, todo := l.status.games.Load()-l.status.firstGames, f.games-l.status.games.Load()
		return remaining(began, float64(done), float64(todo))
	}
	return span(time.Since(began))
}

// progress is how far the work has come, for the page.
func (f *loopFlags) progress(began time.Time, l *learner) metrics.Progress {
	var p metrics.Progress
	passed := time.Since(began)
	switch {
	case f.duration > 0:
		p.Done = passed.Seconds() / f.duration.Seconds()
	case f.cpu > 0:
		p.Done = float64(l.cpu()-l.before) / float64(max(f.cpu-l.before, 1))
	case f.steps > 0:
		p.Done = float64(int(l.status.step.Load())-l.status.firstStep) / float64(max(f.steps-l.status.firstStep, 1))
	case f.games > 0:
		p.Done = float64(l.status.games.Load()-l.status.firstGames) / float64(max(f.games-l.status.firstGames, 1))
	}
	p.Done = min(p.Done, 1)
	if p.Done > 0 {
		p.Left = time.Duration(float64(passed) * (1 - p.Done) / p.Done)
	}
	return p
}

// remaining extrapolates from what was done so far.
func remaining(began time.Time, done, todo float64) string {
	if done <= 0 || todo <= 0 {
		return ""
	}
	return span(time.Duration(float64(time.Since(began))*todo/done)) + " left"
}

// kernelSet finds the set a configuration names.
func kernelSet(name string) (*kernel.Set, error) {
	if name == "" || name == "auto" {
		return kernel.Best(), nil
	}
	set, err := kernel.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("kernel: %w", err)
	}
	return set, nil
}

// begin opens what every program that works on a run needs.
func (r *runDir) begin(p *progress) (*kernel.Set, *metrics.Metrics, *dataset.Store, error) {
	m := metrics.New()
	set, err := r.prepare(m)
	if err != nil {
		return nil, nil, nil, err
	}
	m.SetRun(filepath.Base(r.dir), r.variant.Name(), r.variant.Rules(), r.cfg.Net.Spec)
	store, err := openStore(r, m, p.say)
	return set, m, store, err
}

// prepare sets up what every process that plays or trains shares.
func (r *runDir) prepare(m *metrics.Metrics) (*kernel.Set, error) {
	// Nearly all that lives is numbers, which the collector need not look into,
	// and little is thrown away: it may run often, and the memory stays near what
	// is in use.
	debug.SetGCPercent(5)
	set, err := kernelSet(r.cfg.Kernel)
	if err != nil {
		return nil, err
	}
	m.SetBuild(version, revision(), set.Name())
	return set, nil
}

// openStore opens the run's games and reports what had to be put aside.
func openStore(r *runDir, m *metrics.Metrics, say func(string, ...any)) (*dataset.Store, error) {
	o := r.cfg.Data
	o.OnDamage = func(d dataset.Damage) {
		m.Dataset.Quarantined.Inc()
		say("put aside: %s", d)
	}
	store, err := dataset.OpenStore(r.path("games"), o)
	if err != nil {
		return nil, err
	}
	rec, err := store.Recover()
	if err != nil {
		return nil, err
	}
	if rec.Games > 0 {
		say("%d games of an earlier start brought into shards", rec.Games)
	}
	return store, nil
}

// farewell says what the run has come to and how to go on.
func (f *loopFlags) farewell(stdout io.Writer, p *progress, r *runDir, l *learner) error {
	p.finish()
	rating := l.status.rating.Load()
	if f.asJSON {
		return json.NewEncoder(stdout).Encode(struct {
			Run    string          `json:"run"`
			Step   int             `json:"step"`
			Games  int64           `json:"games"`
			CPU    float64         `json:"cpu_seconds"`
			Rating *metrics.Rating `json:"rating,omitempty"`
		}{r.dir, l.state.Step, l.state.Games, l.cpu().Seconds(), rating})
	}
	p.say("stopped at step %d with %d games after %s of CPU time", l.state.Step, l.state.Games, span(l.cpu()))
	if rating != nil {
		p.say("%s is rated %+.0f [%+.0f, %+.0f]; random play stands at 0", rating.Name, rating.Elo, rating.Low, rating.High)
	}
	p.say("go on:   kirin train --dir %s", r.dir)
	p.say("measure: kirin match --variant %s --a net:%s@latest --b material", r.variant.Name(), r.dir)
	p.say("look:    kirin watch %s", r.dir)
	return nil
}
