package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"kirin/configs"
	"kirin/dataset"
	"kirin/metrics"
	"kirin/network"
	"kirin/network/eval"
	"kirin/network/kernel"
	"kirin/network/train"
	"kirin/selfplay"

	"github.com/spf13/cobra"
)

// jobRow is one line of bench job.
type jobRow struct {
	Preset  string  `json:"preset"`
	Spec    string  `json:"spec"`
	Net     string  `json:"net"` // kernel set, or "gorgonia" for its own operations
	Plies   float64 `json:"plies_per_cpu_second"`
	Cached  float64 `json:"cached_share"` // positions answered from the evaluator's cache
	Samples float64 `json:"samples_per_cpu_second"`
	Job     float64 `json:"positions_per_cpu_second"` // played, and learned from as often as the preset says
	Gain    float64 `json:"gain"`                     // of Job to the first line
}

// jobSide is one way to compute the net.
type jobSide struct {
	name   string
	worker *selfplay.Worker
	fresh  func() selfplay.Evaluator // with an empty cache, at the start of a round
	eval   selfplay.Evaluator
	steps  func() (cpu, wall float64, err error)
	close  func() error

	start    float64 // process seconds at the start of the round
	plies0   int64   // plies of earlier rounds
	plies    []float64
	samples  []float64
	enough   int64 // plies that a round has at least
	seconds  float64
	assigned int64
}

var errRoundOver = errors.New("round over")

func newBenchJob() *cobra.Command {
	f := netFlags{threads: 1}
	var preset string
	var settings []string
	var withStock bool
	cmd := &cobra.Command{
		Use:   "job",
		Short: "Measure self-play and training with the kernels and without",
		Long: `Job plays with the self-play settings of a preset and takes training steps with
its batches, on one thread: with Gorgonia's own operations, which is what the net
would cost without kernels, and with kernel sets, in the same rounds. Nets have
random weights. Positions per CPU-second are those played and then learned from as
often as loop.samples_per_position says. Gorgonia's side has no cache of answers and
leaves the loss of the plies left out.`,
		Example: "  kirin bench job --config minishogi",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := configs.Load(preset, settings...)
			if err != nil {
				return err
			}
			f.spec = cfg.Net.Spec
			_, sets, err := f.plan()
			if err != nil {
				return err
			}
			before := runtime.GOMAXPROCS(1)
			defer runtime.GOMAXPROCS(before)
			rows, err := f.job(cmd.Context(), cfg, preset, sets, withStock)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if !f.asJSON {
				fmt.Fprintln(out, machine())
			}
			for _, r := range rows {
				if f.asJSON {
					err = writeJSON(out, r)
				} else {
					_, err = fmt.Fprintf(out, "%-10s %s %-8s %8.1f plies (%2.0f%% of positions cached), %8.1f samples, %8.1f positions played and learned per CPU-second  %6.1f times\n",
						r.Preset, r.Spec, r.Net, r.Plies, 100*r.Cached, r.Samples, r.Job, r.Gain)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&preset, "config", "minishogi", "preset or configuration file")
	cmd.Flags().StringSliceVar(&settings, "set", nil, "settings of the configuration to change: key=value")
	cmd.Flags().StringSliceVar(&f.kernels, "kernel", kernelsFromPlain(), "kernel sets")
	cmd.Flags().IntVar(&f.rounds, "rounds", 5, "rounds, of which the median counts")
	cmd.Flags().Float64Var(&f.seconds, "seconds", 3, "CPU seconds of each part of a round, at least two plies a game and one step")
	cmd.Flags().BoolVar(&withStock, "stock", true, "measure Gorgonia's own operations too")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON object a line")
	return cmd
}

// kernelsFromPlain lists the kernel sets of this machine, the slowest first.
func kernelsFromPlain() []string {
	names := kernel.Sets()
	o := make([]string, len(names))
	for i, n := range names {
		o[len(names)-1-i] = n
	}
	return o
}

// job measures all sides.
func (f *netFlags) job(ctx context.Context, cfg *configs.Run, preset string, sets []*kernel.Set, withStock bool) (rows []jobRow, err error) {
	spec, err := network.ParseSpec(cfg.Net.Spec)
	if err != nil {
		return nil, err
	}
	weights, enc, err := randomNet(cfg.Variant, spec)
	if err != nil {
		return nil, err
	}
	var sides []*jobSide
	defer func() {
		for _, s := range sides {
			err = errors.Join(err, s.close())
		}
	}()
	batch := train.NewBatch(cfg.Train.BatchSize, enc.Size())
	fillRandomly(batch, enc, cfg.Train.BatchSize)
	if withStock {
		s := &jobSide{name: "gorgonia"}
		e, err := newStockEvaluator(weights, enc, cfg.Selfplay.Games)
		if err != nil {
			return nil, err
		}
		s.fresh = func() selfplay.Evaluator { return e.empty() }
		t, err := newStockTrainer(weights, batch)
		if err != nil {
			return nil, err
		}
		s.steps, s.close = func() (float64, float64, error) { return t.steps(f.seconds) }, t.close
		sides = append(sides, s)
	}
	for _, set := range sets {
		net, err := network.NewOn(weights, set)
		if err != nil {
			return nil, err
		}
		t, err := train.NewOn(weights, cfg.Train, set)
		if err != nil {
			return nil, err
		}
		fillRandomly(t.Batch(), enc, cfg.Train.BatchSize)
		sides = append(sides, &jobSide{name: set.Name(), close: t.Close,
			fresh: func() selfplay.Evaluator { return eval.New(net, cfg.Selfplay.Games) },
			steps: func() (float64, float64, error) { return f.steps(t, cfg.Train.BatchSize) }})
	}
	for _, s := range sides {
		s.seconds, s.enough = f.seconds, int64(2*cfg.Selfplay.Games)
		s.worker = selfplay.NewWorker(selfplay.Config{Variant: enc.Variant(), Options: cfg.Selfplay.Options, Search: cfg.Search, Gate: s.gate})
	}
	for range f.rounds {
		for _, s := range sides {
			if err := s.round(ctx); err != nil {
				return nil, fmt.Errorf("bench job, %s: %w", s.name, err)
			}
		}
	}
	for _, s := range sides {
		r := jobRow{Preset: preset, Spec: cfg.Net.Spec, Net: s.name, Plies: median(s.plies), Samples: median(s.samples)}
		r.Job = 1 / (1/r.Plies + cfg.Loop.SamplesPerPosition/r.Samples)
		if e, ok := s.eval.(*eval.Evaluator); ok {
			r.Cached = float64(e.Hits()) / float64(max(1, e.Hits()+e.Evaluated()))
		}
		rows = append(rows, r)
		rows[len(rows)-1].Gain = r.Job / rows[0].Job
	}
	return rows, nil
}

// round plays and learns for a while.
func (s *jobSide) round(ctx context.Context) error {
	s.plies0, s.start, s.assigned = s.worker.Stats.Plies.Load(), metrics.ProcessSeconds(), 0
	s.eval = s.fresh()
	if err := s.worker.Run(ctx, s, s); err != errRoundOver {
		return err
	}
	s.plies = append(s.plies, float64(s.worker.Stats.Plies.Load()-s.plies0)/(metrics.ProcessSeconds()-s.start))
	samples, _, err := s.steps()
	s.samples = append(s.samples, samples)
	return err
}

// gate ends the round of play.
func (s *jobSide) gate(context.Context) error {
	if metrics.ProcessSeconds()-s.start >= s.seconds && s.worker.Stats.Plies.Load()-s.plies0 >= s.enough {
		return errRoundOver
	}
	return nil
}

// Next implements selfplay.Source: games without end.
func (s *jobSide) Next(context.Context) (selfplay.Assignment, bool) {
	s.assigned++
	return selfplay.Assignment{Number: s.assigned, Seed: mix(1, uint64(s.assigned)), Net: s.name, Eval: s.eval}, true
}

// Append implements selfplay.Sink: games are not kept.
func (s *jobSide) Append(*dataset.Game) error { return nil }
