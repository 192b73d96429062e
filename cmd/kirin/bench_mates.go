package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"kirin/mcts/mate"
	"kirin/rules"

	"github.com/spf13/cobra"
)

// matesFlags are the flags of bench mates.
type matesFlags struct {
	game    gameFlags
	o       mate.SampleOptions
	count   int
	workers int
	seed    uint64
	asJSON  bool
}

func newBenchMates() *cobra.Command {
	f := matesFlags{o: mate.DefaultSampleOptions()}
	cmd := &cobra.Command{
		Use:   "mates",
		Short: "Compare the mate search with a plain one on positions from games",
		Long: `Mates samples positions from games of random moves, in which the side to move can
give check, and looks for a mate by checks in each, with a plain search and with the
mate search. Each mate is played out against every defence. It counts by length what is found with --few positions
(mates of up to 5 plies) or --many (longer ones); the exit status is 1 if an
answer is wrong. In chu shogi, where the mate is the capture of the last royal,
add --set bare_king=off: the plain search counts wins by that rule too.`,
		Example: "  kirin bench mates --variant shogi --count 1000 --seed 7",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.game.add(cmd)
	fl := cmd.Flags()
	fl.IntVar(&f.count, "count", 1000, "positions")
	fl.IntVar(&f.o.Most, "plies", f.o.Most, "longest mate looked for")
	fl.Int64Var(&f.o.Few, "few", f.o.Few, "positions the mate search may look at for a mate of up to 5 plies")
	fl.Int64Var(&f.o.Many, "many", f.o.Many, "positions for longer ones, and where there is no mate")
	fl.Int64Var(&f.o.Plain, "plain", f.o.Plain, "moves the plain search may try for a position")
	fl.Uint64Var(&f.seed, "seed", 7, "of the games")
	fl.IntVar(&f.workers, "workers", 1, "positions looked at at the same time")
	fl.BoolVar(&f.asJSON, "json", false, "print one JSON object")
	return cmd
}

func (f *matesFlags) run(cmd *cobra.Command) error {
	v, err := f.game.load()
	if err != nil {
		return err
	}
	if err := f.o.Validate(); err != nil {
		return err
	}
	if f.count < 1 || f.workers < 1 {
		return errors.New("--count and --workers are at least 1")
	}
	p := newProgress(cmd.ErrOrStderr())
	r, err := f.sample(cmd.Context(), v, p)
	p.finish()
	if err != nil {
		return err
	}
	return tellFound(cmd.OutOrStdout(), f.asJSON, r, r.Wrong, func(out io.Writer) error { return f.print(out, r) })
}

func (f *matesFlags) print(out io.Writer, r mate.SampleReport) error {
	fmt.Fprintf(out, "%d positions, %d wrong\n", r.Positions, r.Wrong)
	for _, t := range r.Tallies {
		fmt.Fprintf(out, "mate in %d: %d, found %d\n", t.Plies, t.Mates, t.Found)
	}
	_, err := fmt.Fprintf(out, "no mate: %d, refuted %d; undecided: %d\n", r.None, r.Refuted, r.Open)
	return err
}

func (f *matesFlags) sample(ctx context.Context, v *rules.Variant, p *progress) (mate.SampleReport, error) {
	var total mate.SampleReport
	began := time.Now()
	err := spread(ctx, f.workers, f.count, func() (func(n uint64) error, func()) {
		x := mate.NewSampler(v, f.o)
		x.Tell = func(text string) { p.say("%s", text) }
		collect := func() {
			total.Add(x.Report)
			x.Report = mate.SampleReport{}
			p.show(fmt.Sprintf("%d of %d positions, %d wrong  %s left", total.Positions, f.count, total.Wrong, span(left(began, total.Positions, f.count))))
		}
		return func(n uint64) error { return x.Sample(f.seed, n) }, collect
	})
	return total, err
}
