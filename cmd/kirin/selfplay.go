package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"kirin/dataset"
	"kirin/metrics"
	"kirin/network/encode"
	"kirin/rules"
	"kirin/selfplay/fleet"

	"github.com/spf13/cobra"
)

// selfplayFlags are the flags of selfplay.
type selfplayFlags struct {
	dir      string
	duration time.Duration
	games    int64
	name     string
	workers  int
	address  string
	join     string
	queue    string
	quota    dataset.Bytes
}

func newSelfplay() *cobra.Command {
	var f selfplayFlags
	cmd := &cobra.Command{
		Use:   "selfplay",
		Short: "Play training games into a run's folder, without a trainer",
		Long: `Selfplay is the players of "kirin train" alone: it plays with the newest net of
the run and writes games for the trainer ("kirin learn" or "kirin train") to
read. Any number of these processes may work on one folder.

With --join it plays for a trainer on another machine, which was started with
--listen: it fetches configuration and weights and sends its games. What the
trainer does not have yet is kept in the worker's folder, and goes with the next
start if need be. See docs/fleet.md.`,
		Example: "  kirin selfplay --dir runs/minishogi --for 1h\n  kirin selfplay --join nats://desk:5475 --name laptop",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.ErrOrStderr())
		},
	}
	fl := cmd.Flags()
	fl.Var((*given)(&f.dir), "dir", "folder of the run")
	fl.DurationVar(&f.duration, "for", 0, "stop after this time (0: no limit)")
	fl.Int64Var(&f.games, "games", 0, "stop after this many games (0: no limit)")
	fl.StringVar(&f.name, "name", "", "name of these players among all that write into the folder (default p and the process's number, with --join a name that the worker's folder keeps)")
	fl.IntVar(&f.workers, "workers", -1, "playing goroutines, 0 for one per core (default: the run's setting)")
	untold(cmd, "workers")
	fl.StringVar(&f.address, "web", "", "host:port for /metrics (default: none)")
	fl.Var((*given)(&f.join), "join", "play for a trainer on another machine: its URL (nats://HOST:PORT), or the file of an invitation")
	fl.Var((*given)(&f.queue), "queue", "with --join: name of the run's queue, where several share a NATS cluster (default "+fleet.DefaultQueue+")")
	f.quota = 256 << 20
	fl.Var((*amount)(&f.quota), "quota", "with --join: most that finished games may take here before play pauses")
	return cmd
}

func (f *selfplayFlags) run(ctx context.Context, stderr io.Writer) error {
	if f.duration < 0 || f.games < 0 {
		return errors.New("--for and --games cannot be negative")
	}
	if f.join != "" {
		return f.joinRun(ctx, stderr)
	}
	if f.dir == "" {
		return errors.New("give --dir, the folder of a run, or --join, the trainer to play for")
	}
	r, err := openRun(f.dir)
	if err != nil {
		return err
	}
	if r.cfg.Schedule == "lockstep" {
		return fmt.Errorf("%s: the lockstep schedule plays and trains in one process: use kirin train", r.dir)
	}
	if f.workers != -1 {
		r.cfg.Selfplay.Workers = f.workers
		if err := checkConfig(r.cfg); err != nil {
			return fmt.Errorf("--workers: %w", err)
		}
	}
	if f.name == "" {
		f.name = fmt.Sprintf("p%d", os.Getpid())
	}
	if err := dataset.CheckWorker(f.name + "w00a"); err != nil {
		return fmt.Errorf("--name: %w", err)
	}
	p := newProgress(stderr)
	set, m, store, err := r.begin(p)
	if err != nil {
		return err
	}
	closeWeb, err := f.serveMetrics(m, p)
	if err != nil {
		return err
	}
	defer closeWeb()
	ctx, cancel := f.bounded(ctx)
	defer cancel()
	crew := &crew{}
	mon := newMonitor(m, crew)
	balance := newBalance(r.cfg.Loop.SamplesPerPosition, slack(r.cfg))
	if progress, err := r.readProgress(); err == nil {
		crew.raise(progress.Games)
	}
	go balance.follow(ctx, r, crew.raise)
	enc, err := encode.New(r.variant)
	if err != nil {
		return err
	}
	seed, err := r.sessionSeed()
	if err != nil {
		return err
	}
	server := newNetServer(r, r.variant, set, enc, p.say)
	err = crew.start(ctx, r, crewConfig{
		games: folders(store, m), seed: seed, metrics: m, server: server, balance: balance, limit: f.games, prefix: f.name, onFault: cancel,
		finished: mon.finished,
		watch:    func(*dataset.Game, *rules.Position) {},
	})
	if err != nil {
		return err
	}
	p.say("playing %s for %s as %s, kernel set %s", r.variant.Name(), r.dir, f.name, set.Name())
	return f.watch(ctx, cancel, m, mon, crew, p, func(rates) {})
}

// bounded ends ctx after --for.
func (f *selfplayFlags) bounded(ctx context.Context) (context.Context, func()) {
	if f.duration > 0 {
		return context.WithTimeout(ctx, f.duration)
	}
	return context.WithCancel(ctx)
}

// serveMetrics serves /metrics where --web says.
func (f *selfplayFlags) serveMetrics(m *metrics.Metrics, p *progress) (func(), error) {
	if f.address == "" {
		return func() {}, nil
	}
	url, closeWeb, err := serveMetrics(f.address, m)
	if err != nil {
		return nil, err
	}
	p.say("metrics %s/metrics", url)
	return closeWeb, nil
}

// watch shows the progress until the players have ended.
func (f *selfplayFlags) watch(ctx context.Context, cancel func(), m *metrics.Metrics, mon *monitor, crew *crew, p *progress, tick func(rates)) error {
	ended := make(chan error, 1)
	go func() { ended <- crew.wait(); cancel() }()
	began := time.Now()
	mon.follow(ctx, func(time.Time) {
		q := mon.measure(0)
		tick(q)
		line := fmt.Sprintf("games %s  %s plies/s  %.1f games/s", count(float64(mon.finishedGames())), count(q.plies), q.games)
		for _, w := range m.Waits() {
			line += fmt.Sprintf("  [%s waits: %s]", w.Part, w.Reason)
			break
		}
		if f.duration > 0 {
			line += "  " + span(max(f.duration-time.Since(began), 0)) + " left"
		}
		p.show(line)
	})
	err := <-ended
	p.finish()
	if err == nil {
		p.say("%d games played", mon.finishedGames())
	}
	return err
}
