package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"

	"kirin/mcts"
	"kirin/rules"

	"github.com/spf13/cobra"
)

// searchRow is one line of bench search.
type searchRow struct {
	Game      string  `json:"game"`
	Algorithm string  `json:"algorithm"`
	Speed     float64 `json:"simulations_per_cpu_second"`
	Allocs    float64 `json:"allocs_per_simulation"`
}

func newBenchSearch() *cobra.Command {
	var games []string
	var rounds, searches int
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "search",
		Short:   "Measure the tree search with an evaluator that costs nothing",
		Example: "  kirin bench search --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rounds < 1 || searches < 1 {
				return fmt.Errorf("--rounds and --searches are at least 1")
			}
			if !asJSON {
				fmt.Fprintln(cmd.OutOrStdout(), machine())
			}
			for _, game := range games {
				v, err := rules.Load(game)
				if err != nil {
					return err
				}
				for _, algorithm := range []string{mcts.Gumbel, mcts.PUCT} {
					row := benchSearch(v, algorithm, rounds, searches)
					if asJSON {
						err = writeJSON(cmd.OutOrStdout(), row)
					} else {
						_, err = fmt.Fprintf(cmd.OutOrStdout(), "%-10s %-7s %9.0f simulations per CPU-second, %.4f allocations each\n", row.Game, strings.ToLower(row.Algorithm), row.Speed, row.Allocs)
					}
					if err != nil {
						return err
					}
				}
			}
			return nil
		},
	}
	cmd.Flags().StringSliceVar(&games, "variant", rules.Names(), "games")
	cmd.Flags().IntVar(&rounds, "rounds", 5, "rounds, of which the median counts")
	cmd.Flags().IntVar(&searches, "searches", 400, "searches in a round")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

// benchSearch searches positions of random games with the self-play settings.
func benchSearch(v *rules.Variant, algorithm string, rounds, searches int) searchRow {
	rng := rand.New(rand.NewPCG(1, 2))
	var positions []*rules.Position
	for range 40 {
		positions = append(positions, randomPosition(v, rng, 60))
	}
	o := mcts.DefaultOptions()
	o.Algorithm = algorithm
	tree := mcts.NewTree(o, v.MaxMoves())
	logits := make([]float32, v.MaxMoves())
	for i := range logits {
		logits[i] = float32(rng.NormFloat64())
	}
	sims := 0
	search := func(p *rules.Position) {
		tree.Reset(p, o.Simulations, rng)
		for {
			leaf, moves, ok := tree.Next(p)
			if !ok {
				break
			}
			tree.Unwind(p)
			tree.Expand(leaf, logits[:len(moves)], rules.Value{Win: 0.4, Draw: 0.2, Loss: 0.4})
		}
		sims += tree.Started()
	}
	speeds, allocs := make([]float64, 0, rounds), make([]float64, 0, rounds) // so that nothing but the search could allocate
	round := func() {
		for i := range searches {
			search(positions[i%len(positions)])
		}
	}
	round() // grows what has to grow
	var before, after runtime.MemStats
	for range rounds {
		sims = 0
		runtime.ReadMemStats(&before)
		seconds := cpuOf(round)
		runtime.ReadMemStats(&after)
		speeds = append(speeds, float64(sims)/seconds)
		allocs = append(allocs, float64(after.Mallocs-before.Mallocs)/float64(max(sims, 1)))
	}
	// A longer line than any before makes a stack grow once more, in one round or another.
	return searchRow{v.Name(), algorithm, median(speeds), median(allocs)}
}
