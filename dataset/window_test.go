package dataset

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"kirin/rules"
)

func newWindow(t testing.TB, v *rules.Variant, change func(*WindowOptions)) *Window {
	t.Helper()
	o := DefaultWindowOptions()
	if change != nil {
		change(&o)
	}
	w, err := NewWindow(v, o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestSamplesGiveBackPositionTargetAndResult(t *testing.T) {
	eachVariant(t, func(t *testing.T, v *rules.Variant) {
		w := newWindow(t, v, nil)
		games := map[ID]*Game{}
		for _, g := range randomGames(v, 0, 5, 150) {
			games[g.ID] = g
			if ok, err := w.Add(g); !ok || err != nil {
				t.Fatal(ok, err)
			}
			if ok, err := w.Add(g); ok || err != nil {
				t.Fatalf("added twice: %v %v", ok, err)
			}
		}
		got, want := v.Start(), v.Start()
		var moves []rules.Move
		samples := make([]Sample, 300)
		if err := w.Sample(rand.New(rand.NewPCG(1, 2)), samples); err != nil {
			t.Fatal(err)
		}
		for _, s := range samples {
			g := games[s.Game.ID()]
			want.CopyFrom(v.Start())
			for i := range g.Plies[:s.Ply] {
				want.Do(g.Plies[i].Move)
			}
			s.Replay(got)
			if got.CacheKey() != want.CacheKey() || got.SFEN() != want.SFEN() || got.Side() != s.Side() {
				t.Fatalf("ply %d: replayed %s, want %s", s.Ply, got.SFEN(), want.SFEN())
			}
			moves = got.AppendMoves(moves[:0])
			if s.LegalMoves() != len(moves) {
				t.Fatalf("%d legal moves, want %d", s.LegalMoves(), len(moves))
			}
			ply := &g.Plies[s.Ply]
			checkTarget(t, s, moves, ply)
			if s.Outcome() != g.Outcome.Value(got.Side()) || s.Move() != ply.Move || s.PliesLeft() != len(g.Plies)-s.Ply {
				t.Fatal("outcome, move or plies left differ")
			}
			if weight := s.ValueWeight(); weight == 1 == g.Truncated {
				t.Fatalf("value weight %v of a game with truncated %v", weight, g.Truncated)
			}
			value, ok := s.RootValue()
			if !ok || math.Abs(float64(value.Win-ply.Value.Win)) > 2e-5 || math.Abs(float64(value.Loss-ply.Value.Loss)) > 2e-5 {
				t.Fatalf("root value %v, want %v", value, ply.Value)
			}
			if s.Flags() != ply.Flags {
				t.Fatalf("flags %v, want %v", s.Flags(), ply.Flags)
			}
		}
	})
}

func checkTarget(t *testing.T, s Sample, moves []rules.Move, ply *Ply) {
	t.Helper()
	target := make([]float32, len(moves))
	s.Target(target)
	weights := map[rules.Move]float64{}
	total := 0.0
	for _, mw := range ply.Target {
		weights[mw.Move] = float64(mw.Weight)
		total += float64(mw.Weight)
	}
	for i, m := range moves {
		if math.Abs(float64(target[i])-weights[m]/total) > 1e-6 {
			t.Fatalf("target of %v is %v, want %v", m, target[i], weights[m]/total)
		}
	}
}

func TestWindowFollowsItsGrowthLaw(t *testing.T) {
	v := loadGame(t, "minishogi")
	w := newWindow(t, v, func(o *WindowOptions) { o.MinPositions = 200 })
	for i, g := range randomGames(v, 0, 200, 60) {
		if _, err := w.Add(g); err != nil {
			t.Fatal(err)
		}
		size, longest := w.o.Size(w.Added()), int64(60)
		if w.Positions() < min(size, w.Added()) || w.Positions() >= size+longest {
			t.Fatalf("after %d games, %d positions: the window holds %d, the law says %d", i+1, w.Added(), w.Positions(), size)
		}
	}
	if w.Games() == 200 || w.Added() <= w.Positions() {
		t.Fatal("nothing left the window")
	}
	o := WindowOptions{MinPositions: 250000, Exponent: 0.75, Scale: 0.4}
	if got := o.Size(250000); got != 250000 {
		t.Errorf("size(c) = %d", got)
	}
	if got := o.Size(500_000_000); got < 39_500_000 || got > 40_500_000 {
		t.Errorf("size(500 million) = %d", got)
	}
}

func TestWindowStaysWithinItsMemory(t *testing.T) {
	v := loadGame(t, "minishogi")
	w := newWindow(t, v, func(o *WindowOptions) { o.MinPositions, o.MaxBytes = 1e9, 1<<20 })
	for _, g := range randomGames(v, 0, 600, 100) {
		if _, err := w.Add(g); err != nil {
			t.Fatal(err)
		}
		if w.Bytes() > 1<<20 {
			t.Fatalf("%d bytes", w.Bytes())
		}
	}
	total := int64(0)
	for i := range w.Games() {
		total += w.Game(i).bytes() + perGame
	}
	if total != w.Bytes() || total < 1<<19 {
		t.Errorf("%d bytes counted, %d held", w.Bytes(), total)
	}
}

// A window has its first memory from the start: games take it over, and the sum stays.
func TestGamesTakeOverWhatTheWindowReserved(t *testing.T) {
	eachVariant(t, func(t *testing.T, v *rules.Variant) {
		w := newWindow(t, v, func(o *WindowOptions) { o.MaxBytes = 16 * 5 * reserveBlock })
		if len(w.reserve) != 5 {
			t.Fatalf("%d blocks", len(w.reserve))
		}
		blocks := map[int]bool{}
		for _, g := range randomGames(v, 0, 1000, 150) {
			if _, err := w.Add(g); err != nil {
				t.Fatal(err)
			}
			blocks[len(w.reserve)] = true
			sum := int64(len(w.reserve))*reserveBlock + w.Bytes()
			if sum < 5*reserveBlock || len(w.reserve) > 0 && sum > 6*reserveBlock+reserveBlock/2 {
				t.Fatalf("%d blocks and %d bytes", len(w.reserve), w.Bytes())
			}
			if len(w.reserve) == 0 {
				break
			}
		}
		if len(blocks) < 6 {
			t.Errorf("saw only %v blocks", blocks)
		}
	})
}

func TestPositionsTakeLessThan400BytesInEveryVariant(t *testing.T) {
	eachVariant(t, func(t *testing.T, v *rules.Variant) {
		w := newWindow(t, v, nil)
		for _, g := range randomGames(v, 0, 4, 300) {
			if _, err := w.Add(g); err != nil {
				t.Fatal(err)
			}
		}
		per := float64(w.Bytes()) / float64(w.Positions())
		t.Logf("%.0f bytes a position", per)
		if per > 400 {
			t.Errorf("%.0f bytes a position", per)
		}
	})
}

func TestSamplingIsUniformOverPositions(t *testing.T) {
	v := loadGame(t, "minishogi")
	w := newWindow(t, v, func(o *WindowOptions) { o.MinPositions = 100 })
	for _, g := range randomGames(v, 0, 30, 40) {
		if _, err := w.Add(g); err != nil {
			t.Fatal(err)
		}
	}
	type place struct {
		g   *CompactGame
		ply int
	}
	counts := map[place]int{}
	samples := make([]Sample, 400*w.Positions())
	if err := w.Sample(rand.New(rand.NewPCG(3, 4)), samples); err != nil {
		t.Fatal(err)
	}
	for _, s := range samples {
		counts[place{s.Game, s.Ply}]++
	}
	if int64(len(counts)) != w.Positions() {
		t.Fatalf("%d of %d positions were drawn", len(counts), w.Positions())
	}
	for p, n := range counts {
		if n < 280 || n > 520 { // mean 400, standard deviation 20
			t.Errorf("ply %d was drawn %d times instead of 400", p.ply, n)
		}
	}
}

func TestWindowRefusesWhatDoesNotReplay(t *testing.T) {
	v := loadGame(t, "minishogi")
	w := newWindow(t, v, nil)
	refuse := func(name string, want error, change func(g *Game)) {
		t.Helper()
		g := randomGame(v, 3, 400)
		change(g)
		if ok, err := w.Add(g); ok || !errors.Is(err, want) {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
		if err := Replayable(v, g); !errors.Is(err, want) {
			t.Errorf("%s: replayable: %v", name, err)
		}
	}
	refuse("illegal move", rules.ErrIllegalMove, func(g *Game) { g.Plies[4].Move = g.Plies[3].Move })
	refuse("illegal target", rules.ErrIllegalMove, func(g *Game) { g.Plies[4].Target = g.Plies[3].Target[:1] })
	refuse("cut short", ErrDamaged, func(g *Game) { g.Plies = g.Plies[:len(g.Plies)-1] })
	refuse("forged result", ErrDamaged, func(g *Game) { g.Outcome.Result = rules.Draw })
	refuse("other rules", ErrWrongGame, func(g *Game) { g.Rules = "repetition=draw" })
	if err := Replayable(v, randomGame(v, 3, 400)); err != nil {
		t.Error(err)
	}
	if w.Games() != 0 || w.Added() != 0 {
		t.Error("refused games count")
	}
	if err := w.Sample(rand.New(rand.NewPCG(1, 1)), make([]Sample, 1)); !errors.Is(err, ErrEmpty) {
		t.Errorf("sampling from nothing: %v", err)
	}
}

func TestSamplingDoesNotAllocate(t *testing.T) {
	v := loadGame(t, "minishogi")
	w := newWindow(t, v, nil)
	for _, g := range randomGames(v, 0, 20, 100) {
		if _, err := w.Add(g); err != nil {
			t.Fatal(err)
		}
	}
	rng, pos := rand.New(rand.NewPCG(1, 1)), v.Start()
	samples, target := make([]Sample, 64), make([]float32, v.MaxMoves())
	draw := func() {
		if err := w.Sample(rng, samples); err != nil {
			t.Fatal(err)
		}
		for _, s := range samples {
			s.Replay(pos)
			s.Target(target[:s.LegalMoves()])
		}
	}
	draw()
	if n := testing.AllocsPerRun(20, draw); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkSampleAndReplay(b *testing.B) {
	for _, name := range rules.Names() {
		b.Run(name, func(b *testing.B) {
			v := loadGame(b, name)
			w := newWindow(b, v, nil)
			for _, g := range randomGames(v, 0, 8, 300) {
				if _, err := w.Add(g); err != nil {
					b.Fatal(err)
				}
			}
			rng, pos, s := rand.New(rand.NewPCG(1, 1)), v.Start(), make([]Sample, 1)
			target := make([]float32, v.MaxMoves())
			b.ReportAllocs()
			for b.Loop() {
				if err := w.Sample(rng, s); err != nil {
					b.Fatal(err)
				}
				s[0].Replay(pos)
				s[0].Target(target[:s[0].LegalMoves()])
			}
		})
	}
}

func BenchmarkWindowAdd(b *testing.B) {
	for _, name := range rules.Names() {
		b.Run(name, func(b *testing.B) {
			v := loadGame(b, name)
			games := randomGames(v, 0, 8, 300)
			plies := 0
			for b.Loop() {
				w := newWindow(b, v, nil)
				for _, g := range games {
					if _, err := w.Add(g); err != nil {
						b.Fatal(err)
					}
					plies += len(g.Plies)
				}
			}
			b.ReportMetric(float64(plies)/b.Elapsed().Seconds(), "plies/s")
		})
	}
}
