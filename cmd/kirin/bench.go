package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"

	"kirin/mcts"
	"kirin/metrics"
	"kirin/rules"
	"kirin/rules/rulestest"

	"github.com/spf13/cobra"
)

func newBench() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure speeds, beside other programs where they are installed",
		Long: `Bench measures CPU time, several rounds in turn with the other program, and gives
the median. A figure says something on this machine only; a ratio says more.`,
		Example: "  kirin bench rules\n  kirin bench search --json",
	}
	cmd.AddCommand(newBenchRules(), newBenchSearch())
	return cmd
}

// rulesRow is one line of bench rules.
type rulesRow struct {
	Game      string  `json:"game"`
	Depth     int     `json:"depth"`
	Nodes     uint64  `json:"nodes"`
	Speed     float64 `json:"nodes_per_cpu_second"`
	Peer      string  `json:"peer,omitempty"`
	PeerSpeed float64 `json:"peer_nodes_per_cpu_second,omitempty"`
	Ratio     float64 `json:"ratio,omitempty"`
}

// perftGames are the games with the depth of a perft of about a second.
var perftGames = []struct {
	game, settings string
	depth          int
}{
	{"shogi", "", 5}, {"minishogi", "", 6}, {"torishogi", "", 5}, {"chushogi", "preset=lishogi", 4},
}

func newBenchRules() *cobra.Command {
	var rounds, shallower int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "Measure the move generators by perft",
		Long: `Rules counts perft nodes per CPU-second in each game. Where Fairy-Stockfish is
installed it counts the same in the same run (shogi and minishogi; its counts
include mates by a dropped pawn, so they differ slightly).`,
		Example: "  kirin bench rules --rounds 5 --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rounds < 1 || shallower < 0 {
				return fmt.Errorf("--rounds: %d is below 1, or --shallower negative", rounds)
			}
			for _, g := range perftGames {
				row, err := benchPerft(cmd.Context(), g.game, g.settings, max(g.depth-shallower, 1), rounds)
				if err != nil {
					return err
				}
				if err := row.write(cmd.OutOrStdout(), asJSON); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&rounds, "rounds", 3, "rounds, of which the median counts")
	cmd.Flags().IntVar(&shallower, "shallower", 0, "plies less than usual, for a quick look")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a game")
	return cmd
}

func (r rulesRow) write(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	peer := ""
	if r.Peer != "" {
		peer = fmt.Sprintf("   %s %6.1f M   ratio %.1f", r.Peer, r.PeerSpeed/1e6, r.Ratio)
	}
	_, err := fmt.Fprintf(w, "%-10s depth %d %10d nodes  %6.1f M nodes per CPU-second%s\n", r.Game, r.Depth, r.Nodes, r.Speed/1e6, peer)
	return err
}

// benchPerft measures one game, round by round in turn with the peer.
func benchPerft(ctx context.Context, game, settings string, depth, rounds int) (rulesRow, error) {
	row := rulesRow{Game: game, Depth: depth}
	var list []string
	if settings != "" {
		list = []string{settings}
	}
	v, err := rules.Load(game, list...)
	if err != nil {
		return row, err
	}
	peer := perftPeer(game)
	var ours, theirs []float64
	for range rounds {
		p := v.Start()
		seconds := cpuOf(func() { row.Nodes = rulestest.Perft(p, depth) })
		ours = append(ours, float64(row.Nodes)/seconds)
		if peer != "" {
			speed, err := peerPerft(ctx, peer, game, depth)
			if err != nil {
				return row, err
			}
			theirs = append(theirs, speed)
		}
	}
	row.Speed = median(ours)
	if peer != "" {
		row.Peer, row.PeerSpeed = "fairy-stockfish", median(theirs)
		row.Ratio = row.Speed / row.PeerSpeed
	}
	return row, nil
}

// cpuOf is the CPU time of f in seconds.
func cpuOf(f func()) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := metrics.ThreadSeconds()
	f()
	return max(metrics.ThreadSeconds()-start, 1e-9)
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// searchRow is one line of bench search.
type searchRow struct {
	Game      string  `json:"game"`
	Algorithm string  `json:"algorithm"`
	Speed     float64 `json:"simulations_per_cpu_second"`
	Allocs    float64 `json:"allocs_per_simulation"`
}

func newBenchSearch() *cobra.Command {
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
			for _, game := range rules.Names() {
				v, err := rules.Load(game)
				if err != nil {
					return err
				}
				for _, algorithm := range []string{mcts.Gumbel, mcts.PUCT} {
					row := benchSearch(v, algorithm, rounds, searches)
					if asJSON {
						err = json.NewEncoder(cmd.OutOrStdout()).Encode(row)
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
	cmd.Flags().IntVar(&rounds, "rounds", 3, "rounds, of which the median counts")
	cmd.Flags().IntVar(&searches, "searches", 400, "searches in a round")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

// benchSearch searches positions of random games with the self-play settings.
func benchSearch(v *rules.Variant, algorithm string, rounds, searches int) searchRow {
	rng := rand.New(rand.NewPCG(1, 2))
	var positions []*rules.Position
	for range 40 {
		p := v.Start()
		for range rng.IntN(60) {
			moves := p.AppendMoves(nil)
			if p.Outcome(len(moves)).Result != rules.Ongoing {
				p = v.Start()
				break
			}
			p.Do(moves[rng.IntN(len(moves))])
		}
		positions = append(positions, p)
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
	for _, p := range positions {
		search(p) // grows what has to grow
	}
	var speeds []float64
	var before, after runtime.MemStats
	total := 0
	runtime.ReadMemStats(&before)
	for range rounds {
		sims = 0
		seconds := cpuOf(func() {
			for i := range searches {
				search(positions[i%len(positions)])
			}
		})
		total += sims
		speeds = append(speeds, float64(sims)/seconds)
	}
	runtime.ReadMemStats(&after)
	return searchRow{v.Name(), algorithm, median(speeds), float64(after.Mallocs-before.Mallocs) / float64(max(total, 1))}
}
