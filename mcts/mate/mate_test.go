package mate

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kirin/rules"
)

var games = []string{"shogi", "minishogi", "torishogi", "chushogi"}

func load(t testing.TB, name string, settings ...string) *rules.Variant {
	t.Helper()
	v, err := rules.Load(name, settings...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestKnownMatesAreFoundAndNoOthers(t *testing.T) {
	for _, game := range games {
		t.Run(game, func(t *testing.T) {
			t.Parallel()
			r, err := CheckFile(t.Context(), filepath.Join("testdata", game+".tsv"), load(t, game), 100_000)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range r.Mistakes {
				t.Error(m)
			}
			for _, c := range r.Tallies {
				if c.NotFound > 0 && c.Kind != "none" {
					t.Errorf("%s %s: %d not found", c.Kind, c.Plies, c.NotFound)
				}
			}
		})
	}
}

// rows returns the positions of testdata with the kind and at most plies plies.
func rows(t testing.TB, v *rules.Variant, kind string, most string) []*rules.Position {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", v.Name()+".tsv"))
	if err != nil {
		t.Fatal(err)
	}
	var out []*rules.Position
	for _, line := range strings.Split(string(b), "\n")[1:] {
		f := strings.Split(line, "\t")
		if len(f) < 4 || f[1] != kind || f[2] > most {
			continue
		}
		p, err := v.ParseSFEN(f[0])
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

// TestProofsStandAgainstEveryDefence plays the solver's first move and every
// defence, again and again, until the game is over.
func TestProofsStandAgainstEveryDefence(t *testing.T) {
	for _, game := range games {
		v := load(t, game)
		kind := kindOf(game)
		s := New(Options{Nodes: 100_000, TableBytes: 1 << 20, MaxPly: 9})
		for _, p := range rows(t, v, kind, "5") {
			before := p.SFEN()
			r := s.Solve(p)
			if r.Status != Mate || len(r.PV) != r.Plies || p.SFEN() != before || p.Ply() != 0 {
				t.Fatalf("%s: %+v, afterwards %s", before, r, p.SFEN())
			}
			attacker := p.Side()
			var attack func(plies int)
			attack = func(plies int) {
				r := s.Within(p, plies, 100_000)
				if r.Status != Mate {
					t.Fatalf("%s after %d plies of %s: %v", p.SFEN(), p.Ply(), before, r.Status)
				}
				moves := p.AppendMoves(nil)
				if !slices.Contains(moves, r.PV[0]) {
					t.Fatalf("%s: illegal move", p.SFEN())
				}
				p.Do(r.PV[0])
				replies := p.AppendMoves(nil)
				if out := p.Outcome(len(replies)); out.Result != rules.Ongoing {
					if out.Result != rules.Winner(attacker) {
						t.Fatalf("%s: %v", p.SFEN(), out)
					}
				} else {
					for _, m := range replies {
						p.Do(m)
						attack(r.Plies - 2)
						p.Undo()
					}
				}
				p.Undo()
			}
			attack(r.Plies)
		}
	}
}

func TestTheSolverAgreesWithAPlainSearch(t *testing.T) {
	for _, c := range []struct {
		game         string
		count, plies int
	}{{"shogi", 250, 3}, {"minishogi", 250, 5}, {"torishogi", 250, 3}, {"chushogi", 60, 3}} {
		t.Run(c.game, func(t *testing.T) {
			t.Parallel()
			settings := []string{}
			if c.game == "chushogi" {
				settings = append(settings, "bare_king=off")
			}
			v := load(t, c.game, settings...)
			rng := rand.New(rand.NewPCG(1, uint64(c.plies)))
			s := New(Options{Nodes: 1 << 40, TableBytes: 1 << 20, MaxPly: c.plies})
			mates, twin := 0, plainSearch{}
			for range c.count {
				p := playout(v, rng)
				if p == nil {
					continue
				}
				// From the position alone: the twin knows no history.
				p, err := v.ParseSFEN(p.SFEN())
				if err != nil {
					continue
				}
				r := s.Solve(p)
				length, _ := twin.mate(p, c.plies, math.MaxInt64)
				if r.Status == Unknown || (r.Status == Mate) != (length > 0) || r.Status == Mate && r.Plies != length {
					t.Errorf("%s: %v in %d, the plain search says %d", p.SFEN(), r.Status, r.Plies, length)
				}
				if length > 0 {
					mates++
				}
			}
			if mates < c.count/50 {
				t.Errorf("only %d of %d positions have a mate", mates, c.count)
			}
		})
	}
}

func TestAnAnswerDependsOnThePositionAlone(t *testing.T) {
	v := load(t, "minishogi")
	ps := rows(t, v, "tsume", "7")
	o := Options{Nodes: 50_000, TableBytes: 1 << 20, MaxPly: 9}
	old := New(o)
	for _, p := range ps {
		old.Solve(p)
	}
	for _, p := range ps {
		a, b := New(o).Solve(p), old.Solve(p)
		if a.Nodes != b.Nodes || a.Plies != b.Plies || !slices.Equal(a.PV, b.PV) {
			t.Errorf("%s: %+v and %+v", p.SFEN(), a, b)
		}
	}
}

func TestATinyTableGivesTheSameMates(t *testing.T) {
	v := load(t, "shogi")
	s := New(Options{Nodes: 1_000_000, TableBytes: 1 << 12, MaxPly: 7})
	big := New(Options{Nodes: 1_000_000, TableBytes: 1 << 22, MaxPly: 7})
	for _, p := range rows(t, v, "tsume", "5") {
		a, b := s.Solve(p), big.Solve(p)
		if a.Status != Mate || a.Plies != b.Plies || len(a.PV) != a.Plies {
			t.Errorf("%s: %+v, with a large table %+v", p.SFEN(), a, b)
		}
	}
}

func TestSolveDoesNotAllocate(t *testing.T) {
	for _, game := range games {
		v := load(t, game)
		kind := kindOf(game)
		s := New(Options{Nodes: 20_000, TableBytes: 1 << 20, MaxPly: 9})
		ps := rows(t, v, kind, "7")
		run := func() {
			for _, p := range ps {
				s.SolveAll(p)
			}
		}
		run()
		if n := testing.AllocsPerRun(1, run); n != 0 {
			t.Errorf("%s: %v allocations", game, n)
		}
	}
}

func TestAllFirstMovesAreThoseKnown(t *testing.T) {
	for _, game := range games[:3] {
		v := load(t, game)
		b, err := os.ReadFile(filepath.Join("testdata", game+".tsv"))
		if err != nil {
			t.Fatal(err)
		}
		s := New(DefaultOptions())
		for _, line := range strings.Split(string(b), "\n")[1:] {
			f := strings.Split(line, "\t")
			if len(f) < 4 || f[1] != "tsume" || f[2] > "7" {
				continue
			}
			p, err := v.ParseSFEN(f[0])
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range s.SolveAll(p).First {
				got = append(got, p.FormatMove(m))
			}
			want := strings.Fields(f[3])
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%s: first moves %v, want %v", f[0], got, want)
			}
		}
	}
}

func TestAMateThatTheRulesForbidIsNotGiven(t *testing.T) {
	// Every mate in three whose first move can be taken back: the position after it
	// is made to occur three times before, so that the fourth would end the game.
	tried := 0
	for _, game := range []string{"shogi", "minishogi"} {
		v := load(t, game, "repetition=draw")
		s := New(DefaultOptions())
		for _, p := range rows(t, v, "tsume", "9") {
			r := s.SolveAll(p)
			if r.Status != Mate || r.Plies == 1 || len(r.First) != 1 {
				continue
			}
			loop := cycle(p, r.First[0])
			if loop == nil {
				continue
			}
			tried++
			for range 3 {
				for _, m := range loop {
					p.Do(m)
				}
			}
			if got := s.Within(p, r.Plies, 1_000_000); got.Status == Mate {
				t.Errorf("%s: %s again, for the fourth time", p.SFEN(), p.FormatMove(got.PV[0]))
			}
		}
	}
	if tried == 0 {
		t.Error("no position has such a cycle")
	}
}

// cycle returns four moves, first m, that lead back to p.
func cycle(p *rules.Position, m rules.Move) []rules.Move {
	key := p.Key()
	var found []rules.Move
	var walk func(path []rules.Move)
	walk = func(path []rules.Move) {
		if len(path) == 4 {
			if p.Key() == key && found == nil {
				found = slices.Clone(path)
			}
			return
		}
		for _, n := range p.AppendMoves(nil) {
			if len(path) == 0 && n != m || n.IsDrop() || p.At(n.To()) != rules.NoPiece {
				continue
			}
			p.Do(n)
			walk(append(path, n))
			p.Undo()
		}
	}
	walk(nil)
	return found
}

func TestAMateBeyondThePlyLimitIsNotGiven(t *testing.T) {
	v := load(t, "minishogi", "max_plies=2")
	p := rows(t, v, "tsume", "3")[10]
	if r := New(DefaultOptions()).Solve(p); r.Status == Mate && r.Plies > 2 {
		t.Errorf("%s: mate in %d with two plies left", p.SFEN(), r.Plies)
	}
}

func TestNoMateWithoutChecksIsFinal(t *testing.T) {
	v := load(t, "shogi")
	if r := New(DefaultOptions()).Solve(v.Start()); r.Status != NoMate || r.Plies != 0 || r.Nodes != 1 {
		t.Errorf("start position: %+v", r)
	}
}

func TestTheBoundsAreKept(t *testing.T) {
	v := load(t, "shogi")
	for _, p := range rows(t, v, "none", "9") {
		s := New(Options{Nodes: 300, TableBytes: 1 << 16, MaxPly: 39})
		r := s.Solve(p)
		if r.Nodes > 300+700 || r.Status == Mate && r.Plies <= 9 {
			t.Errorf("%s: %+v", p.SFEN(), r)
		}
		s = New(DefaultOptions())
		s.Interrupt = func() bool { return s.nodes > 500 }
		if r := s.Solve(p); r.Nodes > 2000 {
			t.Errorf("%s: interrupted after 500 positions, %+v", p.SFEN(), r)
		}
	}
}

func TestValidateReportsEveryFault(t *testing.T) {
	if err := DefaultOptions().Validate(); err != nil {
		t.Error(err)
	}
	err := Options{MaxPly: 500}.Validate()
	for _, key := range []string{"nodes: ", "table_bytes: ", "max_ply: "} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%q is not reported in %v", key, err)
		}
	}
}

func TestEndgamesAgreeWithAPlainSearch(t *testing.T) {
	v := load(t, "minishogi")
	e := NewEndgame(1_000_000)
	for _, sfen := range []string{
		"4k/5/4K/5/5 b G 1", "k4/5/K4/5/5 b G 1", "4k/5/2K2/5/5 w G 1", "k4/5/K1S2/5/5 b GP 1",
	} {
		p, err := v.ParseSFEN(sfen)
		if err != nil {
			t.Fatal(err)
		}
		end, err := e.Solve(p, 5)
		if err != nil {
			t.Fatal(err)
		}
		want, known := plain(p, 5)
		if known && (!end.Known || end.Plies != want) || !known && end.Known && !end.Never && end.Plies >= -5 && end.Plies <= 5 {
			t.Errorf("%s: %+v, the plain search says %d %v", sfen, end, want, known)
		}
	}
}

// plain is a full search of depth plies: the length of a win or, negative, a loss.
func plain(p *rules.Position, depth int) (plies int, known bool) {
	moves := p.AppendBoardMoves(nil)
	if len(moves) == 0 {
		return 0, true
	}
	if depth == 0 {
		return 0, false
	}
	win, loss, lost := 0, 0, true
	for _, m := range moves {
		p.Do(m)
		n, ok := plain(p, depth-1)
		p.Undo()
		switch {
		case ok && n <= 0:
			if win == 0 || 1-n < win {
				win = 1 - n
			}
		case ok:
			loss = max(loss, n+1)
		default:
			lost = false
		}
	}
	switch {
	case win > 0:
		return win, true
	case lost:
		return -loss, true
	}
	return 0, false
}

// BenchmarkRoot is what the mate search costs at the roots of a game: positions of
// random play, mates in one and three, 300 positions at most.
func BenchmarkRoot(b *testing.B) {
	for _, game := range games {
		b.Run(game, func(b *testing.B) {
			v := load(b, game)
			rng := rand.New(rand.NewPCG(1, 2))
			var ps []*rules.Position
			for range 200 {
				if p := playout(v, rng); p != nil {
					ps = append(ps, p)
				}
			}
			s := New(Options{Nodes: 300, TableBytes: 1 << 18, MaxPly: 3})
			mates := 0
			for i := 0; b.Loop(); i++ {
				if s.Solve(ps[i%len(ps)]).Status == Mate {
					mates++
				}
			}
			b.ReportMetric(float64(mates)/float64(b.N), "mates/op")
		})
	}
}

// kindOf is the kind of rows that a game's file of forced mates has.
func kindOf(game string) string {
	if game == "chushogi" {
		return "royal"
	}
	return "tsume"
}
