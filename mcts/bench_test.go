package mcts

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"kirin/rules"
)

// midgame plays random moves from the start.
func midgame(v *rules.Variant, rng *rand.Rand, plies int) *rules.Position {
	p := v.Start()
	for range plies {
		moves := p.AppendMoves(nil)
		if p.Outcome(len(moves)).Result != rules.Ongoing {
			return v.Start()
		}
		p.Do(moves[rng.IntN(len(moves))])
	}
	return p
}

// positions returns n positions of random games.
func positions(tb testing.TB, game string, n int) []*rules.Position {
	tb.Helper()
	v, err := rules.Load(game)
	if err != nil {
		tb.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	out := make([]*rules.Position, n)
	for i := range out {
		out[i] = midgame(v, rng, rng.IntN(100))
	}
	return out
}

// BenchmarkSearch measures simulations with an evaluator that costs nothing: what
// the tree and the rules cost.
func BenchmarkSearch(b *testing.B) {
	for _, game := range rules.Names() {
		for _, algorithm := range []string{Gumbel, PUCT} {
			for _, sims := range []int{32, 800} {
				b.Run(fmt.Sprintf("%s/%s/%d", game, algorithm, sims), func(b *testing.B) {
					ps := positions(b, game, 40)
					o := options(algorithm)
					o.Simulations = sims
					tree := NewTree(o, ps[0].Variant().MaxMoves())
					logits := make([]float32, ps[0].Variant().MaxMoves())
					rng := rand.New(rand.NewPCG(3, 4))
					for i := range logits {
						logits[i] = float32(rng.NormFloat64())
					}
					run := func(p *rules.Position) {
						tree.Reset(p, sims, rng)
						for {
							leaf, moves, ok := tree.Next(p)
							if !ok {
								return
							}
							tree.Unwind(p)
							tree.Expand(leaf, logits[:len(moves)], rules.Value{Win: 0.4, Draw: 0.2, Loss: 0.4})
						}
					}
					for _, p := range ps {
						run(p)
					}
					b.ReportAllocs()
					n := 0
					for i := 0; b.Loop(); i++ {
						run(ps[i%len(ps)])
						n += tree.Started()
					}
					b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "sims/s")
				})
			}
		}
	}
}

func TestSearchOfTheRealGamesDoesNotAllocate(t *testing.T) {
	for _, game := range rules.Names() {
		ps := positions(t, game, 10)
		tree := NewTree(DefaultOptions(), ps[0].Variant().MaxMoves())
		logits := make([]float32, ps[0].Variant().MaxMoves())
		run := func() {
			for _, p := range ps {
				tree.Reset(p, 64, nil)
				for {
					leaf, moves, ok := tree.Next(p)
					if !ok {
						break
					}
					tree.Unwind(p)
					tree.Expand(leaf, logits[:len(moves)], rules.Value{Draw: 1})
				}
			}
		}
		run()
		if n := testing.AllocsPerRun(3, run); n != 0 {
			t.Errorf("%s: %v allocations", game, n)
		}
	}
}
