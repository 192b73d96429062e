package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"kirin/mcts/endgame"
	"kirin/rules"

	"github.com/spf13/cobra"
)

// endgameFlags are the flags of bench endgame.
type endgameFlags struct {
	game    gameFlags
	o       endgame.Options
	count   int
	workers int
	seed    uint64
	file    string
	asJSON  bool
}

func newBenchEndgame() *cobra.Command {
	f := endgameFlags{o: endgame.DefaultOptions()}
	cmd := &cobra.Command{
		Use:   "endgame",
		Short: "Compare the search with endgames whose value is known",
		Long: `Endgame searches random endgames (minishogi, shogi), or those of a file of mates
(kind endgame), with equal priors and even values in place of a net: by the tree
alone, whose proofs are replayed against every defence, and with a short mate
search at the leaves. A plain search of every move says which random endgames are
won or lost within --within plies. It counts proofs and chosen moves that are
wrong; the exit status is 1 if a proof is.`,
		Example: "  kirin bench endgame --count 10000 --within 9\n  kirin bench endgame --variant torishogi --file torishogi.tsv",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.game.add(cmd)
	fl := cmd.Flags()
	fl.IntVar(&f.count, "count", 200, "random endgames")
	fl.IntVar(&f.o.Within, "within", f.o.Within, "plies of the plain search")
	fl.Int64Var(&f.o.Nodes, "nodes", f.o.Nodes, "positions of the plain search; ten times as many to confirm a move")
	fl.IntVar(&f.o.Simulations, "sims", f.o.Simulations, "simulations of each search")
	fl.IntVar(&f.o.MostSimulations, "most-sims", f.o.MostSimulations, fmt.Sprintf("simulations up to which a search whose move is not seen to keep the value is tried again, each time with %d times as many", endgame.Factor))
	fl.Uint64Var(&f.seed, "seed", 5, "of the random endgames")
	fl.IntVar(&f.workers, "workers", 1, "endgames searched at the same time")
	fl.Var((*given)(&f.file), "file", "file of endgames instead of random ones")
	fl.BoolVar(&f.asJSON, "json", false, "print one JSON object")
	return cmd
}

func (f *endgameFlags) run(cmd *cobra.Command) error {
	v, err := f.game.load()
	if err != nil {
		return err
	}
	if err := f.o.Validate(); err != nil {
		return err
	}
	if f.count < 1 || f.workers < 1 {
		return fmt.Errorf("--count and --workers are at least 1")
	}
	p := newProgress(cmd.ErrOrStderr())
	var t endgame.Tally
	if f.file != "" {
		t, err = f.rows(v, p)
	} else {
		t, err = f.random(cmd.Context(), v, p)
	}
	p.finish()
	if err != nil {
		return err
	}
	return tellFound(cmd.OutOrStdout(), f.asJSON, t, t.Wrong, func(out io.Writer) error { return f.print(out, t) })
}

func (f *endgameFlags) print(out io.Writer, t endgame.Tally) error {
	fmt.Fprintf(out, "%d endgames; by the tree alone with %d simulations %d are proven, %d wrongly\n", t.Endgames, f.o.Simulations, t.Proofs, t.Wrong)
	fmt.Fprintf(out, "value known: %d, won %d; proven by the tree alone %d, with the mate search %d\n", t.Solved, t.Wins, t.Proven, t.Mated)
	if t.Repeated > 0 {
		fmt.Fprintf(out, "nobody wins by force, but proven by a rule of repetition: %d\n", t.Repeated)
	}
	sims := f.o.Simulations
	for _, n := range t.Kept {
		if n > 0 {
			fmt.Fprintf(out, "the move chosen with %d simulations keeps the value: %d\n", sims, n)
		}
		sims *= endgame.Factor
	}
	_, err := fmt.Fprintf(out, "not confirmed to keep it: %d; does not keep it: %d\n", t.Open, t.Missed)
	return err
}

// checker returns a checker that tells what it finds.
func (f *endgameFlags) checker(v *rules.Variant, p *progress) *endgame.Checker {
	c := endgame.NewChecker(v, f.o)
	c.Tell = func(text string) { p.say("%s", text) }
	return c
}

func (f *endgameFlags) rows(v *rules.Variant, p *progress) (endgame.Tally, error) {
	in, err := os.Open(f.file)
	if err != nil {
		return endgame.Tally{}, fmt.Errorf("--file: %w", err)
	}
	c := f.checker(v, p)
	err = c.File(in, f.file)
	return c.Tally, errors.Join(err, in.Close())
}

func (f *endgameFlags) random(ctx context.Context, v *rules.Variant, p *progress) (endgame.Tally, error) {
	var total endgame.Tally
	began := time.Now()
	err := spread(ctx, f.workers, f.count, func() (func(n uint64) error, func()) {
		c := f.checker(v, p)
		collect := func() {
			total.Add(c.Tally)
			c.Tally = endgame.Tally{}
			p.show(fmt.Sprintf("%d of %d endgames, %d solved, %d proven, %d wrong, %d moves open, %d missed  %s left",
				total.Endgames, f.count, total.Solved, total.Proofs, total.Wrong, total.Open, total.Missed, span(left(began, total.Endgames, f.count))))
		}
		return func(n uint64) error { return c.Random(f.seed, n) }, collect
	})
	return total, err
}
