package rulestest

import (
	"math/rand/v2"
	"strings"
	"testing"

	"kirin/rules"
)

// benchGames are the games with the depth of a perft of about a second.
var benchGames = []struct {
	name, settings string
	depth          int
	nodes          uint64
}{
	{"shogi", "default", 4, 719731},
	{"minishogi", "default", 6, 8276188},
	{"torishogi", "default", 5, 2179749},
	{"chushogi", "preset=lishogi", 3, 48315},
}

// sample returns positions of random games, each with its history.
func sample(b testing.TB, v *rules.Variant, n int) []*rules.Position {
	rng := rand.New(rand.NewPCG(1, 2))
	var out []*rules.Position
	for len(out) < n {
		p := v.Start()
		for range 120 {
			moves := p.AppendMoves(nil)
			if p.Outcome(len(moves)).Result != rules.Ongoing {
				break
			}
			if p.Ply()%7 == 6 {
				out = append(out, p.Clone())
			}
			p.Do(moves[rng.IntN(len(moves))])
		}
	}
	return out[:n]
}

func BenchmarkPerft(b *testing.B) {
	for _, g := range benchGames {
		b.Run(g.name, func(b *testing.B) {
			p := load(b, g.name, g.settings).Start()
			for b.Loop() {
				if n := Perft(p, g.depth); n != g.nodes {
					b.Fatalf("%d nodes, want %d", n, g.nodes)
				}
			}
			b.ReportMetric(float64(g.nodes)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mnodes/s")
		})
	}
}

func BenchmarkAppendMoves(b *testing.B) {
	for _, g := range benchGames {
		b.Run(g.name, func(b *testing.B) {
			ps := sample(b, load(b, g.name, strings.Split(g.settings, ",")...), 200)
			buf := make([]rules.Move, 0, 1024)
			moves, i := 0, 0
			for b.Loop() {
				buf = ps[i%len(ps)].AppendMoves(buf[:0])
				moves += len(buf)
				i++
			}
			b.ReportMetric(float64(moves)/float64(i), "moves/op")
		})
	}
}

func BenchmarkCountMoves(b *testing.B) {
	for _, g := range benchGames {
		b.Run(g.name, func(b *testing.B) {
			ps := sample(b, load(b, g.name, strings.Split(g.settings, ",")...), 200)
			i := 0
			for b.Loop() {
				ps[i%len(ps)].CountMoves()
				i++
			}
		})
	}
}

func BenchmarkDoUndo(b *testing.B) {
	for _, g := range benchGames {
		b.Run(g.name, func(b *testing.B) {
			ps := sample(b, load(b, g.name, strings.Split(g.settings, ",")...), 50)
			lists := make([][]rules.Move, len(ps))
			for i, p := range ps {
				lists[i] = p.AppendMoves(nil)
			}
			n := 0
			for b.Loop() {
				for i, p := range ps {
					for _, m := range lists[i] {
						p.Do(m)
						p.Undo()
					}
					n += len(lists[i])
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/move")
		})
	}
}

func BenchmarkGivesCheck(b *testing.B) {
	for _, g := range benchGames {
		b.Run(g.name, func(b *testing.B) {
			ps := sample(b, load(b, g.name, strings.Split(g.settings, ",")...), 50)
			lists := make([][]rules.Move, len(ps))
			for i, p := range ps {
				lists[i] = p.AppendMoves(nil)
			}
			n := 0
			for b.Loop() {
				for i, p := range ps {
					for _, m := range lists[i] {
						p.GivesCheck(m)
					}
					n += len(lists[i])
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/move")
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, g := range benchGames {
		b.Run(g.name, func(b *testing.B) {
			for b.Loop() {
				load(b, g.name)
			}
		})
	}
}
