package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"kirin/configs"
	"kirin/dataset"
	"kirin/network"
	"kirin/network/encode"
	"kirin/network/eval"
	"kirin/network/kernel"
	"kirin/rules"
	"kirin/selfplay"

	"github.com/spf13/cobra"
)

// endingsFlags are the flags of bench endings.
type endingsFlags struct {
	games  []string
	count  int
	sims   int
	spec   string
	seed   uint64
	asJSON bool
}

// endingsRow is one line of bench endings.
type endingsRow struct {
	Game      string         `json:"game"`
	MateNodes int            `json:"mate_nodes"`
	Games     int            `json:"games"`
	Ended     float64        `json:"ended_share"` // before the limit of plies
	Plies     float64        `json:"plies"`       // of a game, on average
	Reasons   map[string]int `json:"reasons"`
}

func newBenchEndings() *cobra.Command {
	var f endingsFlags
	cmd := &cobra.Command{
		Use:   "endings",
		Short: "Measure how many games of an untrained net end before the limit of plies",
		Long: `Endings plays self-play games with an untrained net, with the settings of the
game's preset but few simulations, without and with the mate search, and counts
how they end. A game that only the limit of plies ends teaches hardly anything.`,
		Example: "  kirin bench endings --variant torishogi,shogi --games 200",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.games, "variant", []string{"torishogi", "shogi"}, "games")
	fl.IntVar(&f.count, "games", 200, "games of each kind")
	fl.IntVar(&f.sims, "sims", 8, "simulations before each move")
	fl.StringVar(&f.spec, "spec", "2x16", "size of the net")
	fl.Uint64Var(&f.seed, "seed", 1, "of the net and the games")
	fl.BoolVar(&f.asJSON, "json", false, "print one JSON object a line")
	return cmd
}

func (f *endingsFlags) run(cmd *cobra.Command) error {
	if f.count < 1 || f.sims < 1 {
		return fmt.Errorf("--games and --sims are at least 1")
	}
	spec, err := network.ParseSpec(f.spec)
	if err != nil {
		return fmt.Errorf("--spec: %w", err)
	}
	out := cmd.OutOrStdout()
	if !f.asJSON {
		fmt.Fprintf(out, "untrained net %s, %d simulations, %d games each\n", f.spec, f.sims, f.count)
	}
	for _, game := range f.games {
		cfg, err := configs.Load(game)
		if err != nil {
			return err
		}
		for _, nodes := range []int{0, cfg.Selfplay.MateNodes} {
			row, err := f.play(cmd, cfg, spec, nodes)
			if err != nil {
				return err
			}
			if f.asJSON {
				err = writeJSON(out, row)
			} else {
				_, err = fmt.Fprintf(out, "%-10s mate search of %4d positions: %5.1f %% end before the limit, %.0f plies on average; %s\n",
					row.Game, row.MateNodes, 100*row.Ended, row.Plies, byReason(row.Reasons))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// byReason lists the reasons, the most frequent first.
func byReason(reasons map[string]int) string {
	names := slices.SortedFunc(maps.Keys(reasons), func(a, b string) int {
		if d := reasons[b] - reasons[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, reasons[name])
	}
	return strings.Join(names, ", ")
}

// play plays the games of one row.
func (f *endingsFlags) play(cmd *cobra.Command, cfg *configs.Run, spec network.Spec, nodes int) (endingsRow, error) {
	v, err := cfg.Load()
	if err != nil {
		return endingsRow{}, err
	}
	enc, err := encode.New(v)
	if err != nil {
		return endingsRow{}, err
	}
	w, err := network.Init(spec, enc, rand.New(rand.NewPCG(f.seed, 0x696e6974))) // "init"
	if err != nil {
		return endingsRow{}, err
	}
	net, err := network.NewOn(w, kernel.Best())
	if err != nil {
		return endingsRow{}, err
	}
	wc := selfplay.Config{Variant: v, Options: cfg.Selfplay.Options, Search: cfg.Search}
	wc.Options.MateNodes = nodes
	wc.Options.PlayOutMates = 0
	wc.Search.Simulations = f.sims
	p := newProgress(cmd.ErrOrStderr())
	defer p.finish()
	e := &endings{
		left: f.count, seed: f.seed, eval: eval.New(net, wc.Options.Games),
		row: endingsRow{Game: v.Name(), MateNodes: nodes, Games: f.count, Reasons: map[string]int{}},
		tell: func(done int) {
			p.show(fmt.Sprintf("%s, mate search of %d: %d of %d games", v.Name(), nodes, done, f.count))
		},
	}
	if err := selfplay.NewWorker(wc).Run(cmd.Context(), e, e); err != nil {
		return endingsRow{}, err
	}
	e.row.Ended /= float64(f.count)
	e.row.Plies /= float64(f.count)
	return e.row, nil
}

// endings is the Source and Sink of the games of one row.
type endings struct {
	left int
	next int64
	done int
	seed uint64
	eval selfplay.Evaluator
	row  endingsRow
	tell func(done int)
}

func (e *endings) Next(context.Context) (selfplay.Assignment, bool) {
	if e.left == 0 {
		return selfplay.Assignment{}, false
	}
	e.left--
	e.next++
	return selfplay.Assignment{Number: e.next - 1, Seed: mix(e.seed, uint64(e.next-1)), Eval: e.eval}, true
}

func (e *endings) Append(g *dataset.Game) error {
	e.done++
	e.row.Plies += float64(len(g.Plies))
	e.row.Reasons[g.Outcome.Reason.String()]++
	if !g.Truncated && g.Outcome.Reason != rules.PlyLimit {
		e.row.Ended++
	}
	e.tell(e.done)
	return nil
}
