package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"time"

	"kirin/metrics"
	"kirin/network"
	"kirin/network/encode"
	"kirin/network/kernel"
	"kirin/network/train"

	"github.com/spf13/cobra"
)

// trainRow is one line of bench train.
type trainRow struct {
	Game      string  `json:"game"`
	Spec      string  `json:"spec"`
	Kernel    string  `json:"kernel"`
	Batch     int     `json:"batch"`
	Threads   int     `json:"threads"`
	Speed     float64 `json:"samples_per_cpu_second"`
	Wall      float64 `json:"samples_per_second"`
	Peer      string  `json:"peer,omitempty"`
	PeerSpeed float64 `json:"peer_samples_per_cpu_second,omitempty"`
	Ratio     float64 `json:"ratio,omitempty"`
}

func newBenchTrain() *cobra.Command {
	var f netFlags
	var batch int
	cmd := &cobra.Command{
		Use:   "train",
		Short: "Measure the training step, beside torch where it is installed",
		Long: `Train repeats whole training steps (forward, backward, clipping, AdamW and, here
only, the moving average) on a batch of random positions. Where a python3 has
torch, the same net is trained there in the same rounds on as many threads.`,
		Example: "  kirin bench train --variant chushogi --spec 4x64 --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			spec, sets, err := f.plan()
			if err != nil {
				return err
			}
			if !f.asJSON {
				fmt.Fprintln(cmd.OutOrStdout(), machine())
			}
			python := ""
			if f.peers {
				python = torchPython(cmd.Context())
			}
			before := runtime.GOMAXPROCS(f.threads)
			defer runtime.GOMAXPROCS(before)
			for _, game := range f.games {
				if err := f.train(cmd.Context(), cmd.OutOrStdout(), game, spec, sets, batch, python); err != nil {
					return err
				}
			}
			return nil
		},
	}
	f.add(cmd)
	cmd.Flags().IntVar(&batch, "batch", 256, "samples of a step")
	return cmd
}

// train measures one game.
func (f *netFlags) train(ctx context.Context, out io.Writer, game string, spec network.Spec, sets []*kernel.Set, batch int, python string) error {
	weights, enc, err := randomNet(game, spec)
	if err != nil {
		return err
	}
	o := train.DefaultOptions()
	o.BatchSize, o.Slices = batch, min(o.Slices, batch)
	o.WarmupSteps, o.LearningRate = 1, 1e-5
	trainers := make([]*train.Trainer, len(sets))
	for i, set := range sets {
		t, err := train.NewOn(weights, o, set)
		if err != nil {
			return err
		}
		defer t.Close()
		fillRandomly(t.Batch(), enc, batch)
		trainers[i] = t
	}
	ours, wall := make([][]float64, len(sets)), make([][]float64, len(sets))
	var theirs []float64
	for range f.rounds {
		for i, t := range trainers {
			cpu, clock, err := f.steps(t, batch)
			if err != nil {
				return err
			}
			ours[i], wall[i] = append(ours[i], cpu), append(wall[i], clock)
		}
		if python != "" {
			speed, err := torchSpeed(ctx, python, weights.Form, batch, f.threads, f.seconds)
			if err != nil {
				return err
			}
			theirs = append(theirs, speed)
		}
	}
	for i, set := range sets {
		row := trainRow{Game: game, Spec: spec.String(), Kernel: set.Name(), Batch: batch, Threads: f.threads, Speed: median(ours[i]), Wall: median(wall[i])}
		if python != "" {
			row.Peer, row.PeerSpeed = "torch", median(theirs)
			row.Ratio = row.Speed / row.PeerSpeed
		}
		if err := row.write(out, f.asJSON); err != nil {
			return err
		}
	}
	return nil
}

func (r trainRow) write(w io.Writer, asJSON bool) error {
	if asJSON {
		return writeJSON(w, r)
	}
	peer := ""
	if r.Peer != "" {
		peer = fmt.Sprintf("   %s %.0f   ratio %.2f", r.Peer, r.PeerSpeed, r.Ratio)
	}
	_, err := fmt.Fprintf(w, "%-10s %s %-6s batch %d threads %d  %7.0f samples per CPU-second  %7.0f a second%s\n",
		r.Game, r.Spec, r.Kernel, r.Batch, r.Threads, r.Speed, r.Wall, peer)
	return err
}

// steps takes training steps for a while, the first not counted; it returns the
// samples per CPU-second of the whole process and per second.
func (f *netFlags) steps(t *train.Trainer, batch int) (cpu, wall float64, err error) {
	if _, err := t.Step(); err != nil {
		return 0, 0, err
	}
	start, clock, done := metrics.ProcessSeconds(), time.Now(), 0
	for spent := 0.0; spent < f.seconds; spent = metrics.ProcessSeconds() - start {
		s, err := t.Step()
		if err != nil {
			return 0, 0, err
		}
		if s.NonFinite {
			return 0, 0, fmt.Errorf("bench train: the loss of step %d is not finite", s.Step)
		}
		done += batch
	}
	return float64(done) / (metrics.ProcessSeconds() - start), float64(done) / time.Since(clock).Seconds(), nil
}

// fillRandomly makes a batch of n positions of random games with random targets.
func fillRandomly(b *train.Batch, enc *encode.Encoder, n int) {
	r := randomRequest(enc, n)
	rng := rand.New(rand.NewPCG(4, 5))
	b.N, b.Offsets, b.Index = n, r.Offsets, r.Index
	copy(b.Planes, r.Planes)
	b.Target = make([]float32, len(b.Index))
	clear(b.WDL)
	for i := range n {
		targets := b.Target[b.Offsets[i]:b.Offsets[i+1]]
		sum := float32(0)
		for j := range targets {
			targets[j] = rng.Float32() + 0.01
			sum += targets[j]
		}
		for j := range targets {
			targets[j] /= sum
		}
		b.WDL[3*i+rng.IntN(3)] = 1
		b.ValueWeight[i], b.PliesLeft[i], b.PliesWeight[i], b.Weight[i] = 1, float32(rng.IntN(100)), 1, 1
	}
}
