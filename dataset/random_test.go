package dataset

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"kirin/rules"
)

// loadGame loads a variant or fails.
func loadGame(t testing.TB, name string, settings ...string) *rules.Variant {
	t.Helper()
	v, err := rules.Load(name, settings...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// randomGame plays random moves, at most limit, and makes up search results. The same number gives the same game.
func randomGame(v *rules.Variant, number int64, limit int) *Game {
	rng := rand.New(rand.NewPCG(uint64(number), 77))
	pos := v.Start()
	g := &Game{
		Variant: v.Name(), Rules: v.Rules(), Start: pos.SFEN(), Seed: rng.Uint64(), Number: number,
		Net: strings.Repeat("0123456789abcdef", 4), Step: 1200, Config: "c0ffee", Version: "0.1.0", Kernel: "go", Worker: "w0",
	}
	var moves []rules.Move
	var policy []float32
	for {
		moves = pos.AppendMoves(moves[:0])
		g.Outcome = pos.Outcome(len(moves))
		if g.Outcome.Result != rules.Ongoing {
			break
		}
		if len(g.Plies) == limit {
			g.Outcome, g.Truncated = rules.Outcome{Result: rules.Draw, Reason: rules.PlyLimit}, true
			break
		}
		p := Ply{Move: moves[rng.IntN(len(moves))], Visits: uint32(rng.IntN(64)), Flags: Full | Noise}
		win, draw := rng.Float32(), rng.Float32()/4
		p.Value = rules.Value{Win: win * (1 - draw), Draw: draw, Loss: (1 - win) * (1 - draw)}
		if rng.IntN(4) == 0 {
			p.Flags = Cheap
		} else {
			policy = policy[:0]
			sum := float32(0)
			for range moves {
				x := rng.Float32()
				x *= x * x
				policy = append(policy, x)
				sum += x
			}
			for i := range policy {
				policy[i] /= sum
			}
			p.Target = PackPolicy(nil, moves, policy)
		}
		g.Plies = append(g.Plies, p)
		pos.Do(p.Move)
	}
	g.SetID()
	return g
}

// randomGames returns n games numbered from first.
func randomGames(v *rules.Variant, first int64, n, limit int) []*Game {
	games := make([]*Game, n)
	for i := range games {
		games[i] = randomGame(v, first+int64(i), limit)
	}
	return games
}

// eachVariant runs f as a subtest for every game.
func eachVariant(t *testing.T, f func(t *testing.T, v *rules.Variant)) {
	for _, name := range rules.Names() {
		t.Run(name, func(t *testing.T) { f(t, loadGame(t, name)) })
	}
}

func ids(games []*Game) string {
	var b strings.Builder
	for _, g := range games {
		fmt.Fprintf(&b, "%v\n", g.ID)
	}
	return b.String()
}
