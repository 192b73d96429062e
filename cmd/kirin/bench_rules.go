package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"

	"kirin/rules"
	"kirin/rules/rulestest"

	"github.com/spf13/cobra"
)

// rulesRow is one line of bench rules: a game beside one other program, if any.
type rulesRow struct {
	Game        string  `json:"game"`
	Depth       int     `json:"depth"`
	Nodes       uint64  `json:"nodes"`
	Speed       float64 `json:"nodes_per_cpu_second"`
	Peer        string  `json:"peer,omitempty"`
	PeerSpeed   float64 `json:"peer_nodes_per_cpu_second,omitempty"`
	Ratio       float64 `json:"ratio,omitempty"`
	AppendMoves float64 `json:"append_moves_ns"`
	DoUndo      float64 `json:"do_undo_ns"`
}

// perftGames are the games with the depth of a perft of about a second.
var perftGames = []struct {
	game, settings string
	depth          int
}{
	{"shogi", "", 5}, {"minishogi", "", 6}, {"torishogi", "", 5}, {"chushogi", "preset=lishogi", 4},
}

func newBenchRules() *cobra.Command {
	var games []string
	var rounds, shallower int
	var peers, asJSON bool
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "Measure the move generators by perft",
		Long: `Rules counts perft nodes per CPU-second in each game, and measures the legal moves
of positions of random games and making and taking back a move. The programs
that are installed count the same in the same rounds: Fairy-Stockfish (shogi and
minishogi; its WebAssembly build, found by node in NODE_PATH, tori shogi), Sjaak
II, and shogiops (chu shogi, one ply less). Their start-up is not counted. Their
counts may differ: some list mates by a dropped pawn, or count a move once for
each way to write it.`,
		Example: "  kirin bench rules --variant shogi --rounds 5 --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rounds < 1 || shallower < 0 {
				return fmt.Errorf("--rounds: %d is below 1, or --shallower negative", rounds)
			}
			for _, game := range games {
				if !slices.Contains(rules.Names(), game) {
					return fmt.Errorf("--variant: there is no game %q; there are %s", game, strings.Join(rules.Names(), ", "))
				}
			}
			if !asJSON {
				fmt.Fprintln(cmd.OutOrStdout(), machine())
			}
			for _, g := range perftGames {
				if !slices.Contains(games, g.game) {
					continue
				}
				rows, err := benchPerft(cmd.Context(), g.game, g.settings, max(g.depth-shallower, 1), rounds, peers)
				if err != nil {
					return err
				}
				for _, row := range rows {
					if err := row.write(cmd.OutOrStdout(), asJSON); err != nil {
						return err
					}
				}
			}
			return nil
		},
	}
	cmd.Flags().StringSliceVar(&games, "variant", rules.Names(), "games")
	cmd.Flags().IntVar(&rounds, "rounds", 5, "rounds, of which the median counts")
	cmd.Flags().IntVar(&shallower, "shallower", 0, "plies less than usual, for a quick look")
	cmd.Flags().BoolVar(&peers, "peers", true, "measure other programs too, if they are installed")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

func (r rulesRow) write(w io.Writer, asJSON bool) error {
	if asJSON {
		return writeJSON(w, r)
	}
	peer := ""
	if r.Peer != "" {
		peer = fmt.Sprintf("   %s %.2f M   ratio %.1f", r.Peer, r.PeerSpeed/1e6, r.Ratio)
	}
	_, err := fmt.Fprintf(w, "%-10s depth %d %10d nodes  %6.1f M nodes per CPU-second  AppendMoves %5.0f ns  Do/Undo %4.0f ns%s\n",
		r.Game, r.Depth, r.Nodes, r.Speed/1e6, r.AppendMoves, r.DoUndo, peer)
	return err
}

// benchPerft measures one game, round by round in turn with the peers.
func benchPerft(ctx context.Context, game, settings string, depth, rounds int, withPeers bool) ([]rulesRow, error) {
	row := rulesRow{Game: game, Depth: depth}
	var list []string
	if settings != "" {
		list = []string{settings}
	}
	v, err := rules.Load(game, list...)
	if err != nil {
		return nil, err
	}
	var peers []perftPeer
	if withPeers {
		peers = perftPeers(ctx, game)
	}
	var ours, appends, undos []float64
	theirs := make([][]float64, len(peers))
	for range rounds {
		p := v.Start()
		seconds := cpuOf(func() { row.Nodes = rulestest.Perft(p, depth) })
		ours = append(ours, float64(row.Nodes)/seconds)
		a, u := benchMoves(v)
		appends, undos = append(appends, a), append(undos, u)
		for i, peer := range peers {
			nodes, seconds, err := peer.count(ctx, max(depth-peer.shorter, 1))
			if err != nil {
				return nil, err
			}
			theirs[i] = append(theirs[i], nodes/seconds)
		}
	}
	row.Speed, row.AppendMoves, row.DoUndo = median(ours), median(appends), median(undos)
	if len(peers) == 0 {
		return []rulesRow{row}, nil
	}
	rows := make([]rulesRow, len(peers))
	for i, peer := range peers {
		rows[i] = row
		rows[i].Peer, rows[i].PeerSpeed = peer.name, median(theirs[i])
		rows[i].Ratio = row.Speed / rows[i].PeerSpeed
	}
	return rows, nil
}

// benchMoves returns the nanoseconds of AppendMoves and of Do with Undo in
// positions of random games.
func benchMoves(v *rules.Variant) (appendMoves, doUndo float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	positions, moves := make([]*rules.Position, 100), make([][]rules.Move, 100)
	done := 0
	for i := range positions {
		positions[i] = randomPosition(v, rng, 100)
		moves[i] = positions[i].AppendMoves(nil)
		done += len(moves[i])
	}
	const times = 50
	buf := make([]rules.Move, 0, v.MaxMoves())
	generate := cpuOf(func() {
		for range times {
			for _, p := range positions {
				buf = p.AppendMoves(buf[:0])
			}
		}
	})
	play := cpuOf(func() {
		for range times {
			for i, p := range positions {
				for _, m := range moves[i] {
					p.Do(m)
					p.Undo()
				}
			}
		}
	})
	return generate * 1e9 / float64(times*len(positions)), play * 1e9 / float64(times*done)
}
