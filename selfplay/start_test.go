package selfplay

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kirin/dataset"
	"kirin/rules"
)

func starts(t *testing.T, game string, o Options) *Starts {
	t.Helper()
	v, err := rules.Load(game)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewStarts(v, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStartsComeInTheSharesAskedFor(t *testing.T) {
	file := filepath.Join(t.TempDir(), "starts.sfen")
	const lone = "rpckcpl/3f3/sssssss/2s1S2/SSSSSSS/3F3/LPCKCPR b - 7"
	if err := os.WriteFile(file, []byte("# a comment\n\nsfen "+lone+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	o := DefaultOptions()
	o.HandicapShare, o.StartFile, o.StartShare = 0.25, file, 0.25
	s := starts(t, "torishogi", o)
	seen := map[string]int{}
	for seed := range uint64(4000) {
		sfen := "even"
		if p := s.Pick(seed); p != nil {
			sfen = p.SFEN()
		}
		seen[sfen]++
	}
	if len(seen) != 6 {
		t.Errorf("%d starts, want the even one, four handicaps and one of the file: %v", len(seen), seen)
	}
	if n := seen["even"]; n < 1800 || n > 2200 {
		t.Errorf("%d of 4000 games are even", n)
	}
	if n := seen[lone]; n < 850 || n > 1150 {
		t.Errorf("%d of 4000 games start from the file", n)
	}
}

func TestBadStartsAreNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "starts.sfen")
	v, err := rules.Load("minishogi")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"":                               "holds no position",
		"# nothing\n":                    "holds no position",
		"rbsgk/4p/5/P4/KGSBR b - 1\nx y": ":2: bad SFEN",
		"4k/4G/4G/5/4K w - 1":            ":1: the game is over",
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		o := DefaultOptions()
		o.StartFile, o.StartShare = file, 0.5
		if _, err := NewStarts(v, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, want %q", text, err, want)
		}
	}
	o := DefaultOptions()
	o.HandicapShare = 0.5
	if _, err := NewStarts(v, o); err == nil || !strings.Contains(err.Error(), "has no handicaps") {
		t.Errorf("handicaps of minishogi: %v", err)
	}
	o.HandicapShare, o.StartFile, o.StartShare = 0, "none.sfen", 0.5
	if _, err := NewStarts(v, o); err == nil {
		t.Error("a missing file is accepted")
	}
}

func FuzzReadStarts(f *testing.F) {
	f.Add("rbsgk/4p/5/P4/KGSBR b - 1\n# x\nsfen 4k/5/5/5/K4 w G 3\n")
	f.Add("4k/4G/4G/5/4K w - 1")
	v, err := rules.Load("minishogi")
	if err != nil {
		f.Fatal(err)
	}
	file := filepath.Join(f.TempDir(), "starts.sfen")
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		sfens, err := readStarts(v, file)
		if err == nil && len(sfens) == 0 {
			t.Error("neither positions nor an error")
		}
		for _, s := range sfens {
			if _, err := v.ParseSFEN(s); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestSidePositionsLeaveTheirGameByAnotherMove(t *testing.T) {
	cfg := testConfig(t, 4)
	games := play(t, cfg, 0, 39)
	o := cfg.Options
	o.SideShare = 1
	s := starts(t, "minishogi", o)
	if s.Pick(1) != nil {
		t.Error("a side position before any game")
	}
	found := 0
	for n := range int64(40) {
		g := games[n]
		sfen := sidePosition(cfg.Variant, g)
		s.Add(g)
		if sfen == "" {
			continue
		}
		found++
		p, err := cfg.Variant.ParseSFEN(g.Start)
		if err != nil {
			t.Fatal(err)
		}
		on := []string{p.SFEN()}
		left := false
		for _, ply := range g.Plies {
			for _, m := range p.AppendMoves(nil) {
				p.Do(m)
				left = left || m != ply.Move && p.SFEN() == sfen
				p.Undo()
			}
			p.Do(ply.Move)
			on = append(on, p.SFEN())
		}
		if !left || slices.Contains(on, sfen) {
			t.Errorf("game %d: %s is no side position", n, sfen)
		}
		if q, err := cfg.Variant.ParseSFEN(sfen); err != nil || q.Side() != rules.Sente {
			t.Errorf("%s: %v", sfen, err)
		}
	}
	if found < 20 {
		t.Errorf("%d side positions of 40 games", found)
	}
	// The same games give the same choices, in whatever order they were added.
	again := starts(t, "minishogi", o)
	for _, n := range rand.New(rand.NewPCG(1, 1)).Perm(40) {
		again.Add(games[int64(n)])
	}
	for seed := range uint64(50) {
		if a, b := s.Pick(seed), again.Pick(seed); a == nil || b == nil || a.SFEN() != b.SFEN() {
			t.Fatalf("seed %d gives another start", seed)
		}
	}
	// Only the newest games count.
	old := s.Pick(7).SFEN()
	for n := range int64(SideGames) {
		g := *games[0]
		g.Number, g.Plies = n+100, g.Plies[:1]
		s.Add(&g)
	}
	if p := s.Pick(7); p != nil {
		t.Errorf("%s is still there, as is %s", old, p.SFEN())
	}
}

// constant answers every position with the same value for sente.
type constant struct {
	hashEvaluator
	sente float32
}

func (e *constant) Add(p *rules.Position, moves []rules.Move, logits []float32, v *rules.Value) {
	e.hashEvaluator.Add(p, moves, logits, v)
	win := e.sente
	if p.Side() == rules.Gote {
		win = 1 - win
	}
	e.pending = append(e.pending, func() { *v = rules.Value{Win: win, Loss: 1 - win} })
}

func playWith(t *testing.T, cfg Config, e Evaluator, last int64) (map[int64]*dataset.Game, *Stats) {
	t.Helper()
	sink := &collector{}
	w := NewWorker(cfg)
	if err := w.Run(context.Background(), &numbers{0, last, e}, sink); err != nil {
		t.Fatal(err)
	}
	return sink.games, &w.Stats
}

func TestHopelessSidesResignExceptInGamesPlayedThrough(t *testing.T) {
	cfg := testConfig(t, 4)
	cfg.Options.MateNodes, cfg.Options.PlayOutMates = 0, 0
	cfg.Options.ResignBelow, cfg.Options.ResignMoves, cfg.Options.ResignPlayOut = 0.1, 2, 0.3
	games, stats := playWith(t, cfg, &constant{sente: 0.02}, 59)
	resigned, wrong := 0, int64(0)
	for n, g := range games {
		if g.Outcome.Reason == rules.Resignation {
			resigned++
			if g.Outcome.Result != rules.GoteWins {
				t.Errorf("game %d: %v", n, g.Outcome)
			}
			if len(g.Plies) > 12 {
				t.Errorf("game %d was resigned after %d plies", n, len(g.Plies))
			}
		} else if g.Outcome.Result != rules.GoteWins {
			wrong++
		}
		if err := dataset.Replayable(cfg.Variant, g); err != nil {
			t.Error(err)
		}
	}
	if resigned < 30 || resigned > 55 {
		t.Errorf("%d of 60 games were resigned", resigned)
	}
	// Games that ended by a quick win were not played through.
	if c, f := stats.ResignChecked.Load(), stats.ResignFalse.Load(); c == 0 || c > int64(60-resigned) || f > c || f > wrong {
		t.Errorf("%d games checked, %d wrong; %d resigned, %d not won by gote", c, f, resigned, wrong)
	}
	cfg.Options.ResignPlayOut = 0
	if _, stats := playWith(t, cfg, &constant{sente: 0.02}, 9); stats.ResignChecked.Load() != 0 {
		t.Error("games were played through")
	}
}

func TestDecidedGamesAreSearchedLessAndLearnedLess(t *testing.T) {
	cfg := testConfig(t, 4)
	cfg.Options.MateNodes, cfg.Options.OpeningShare = 0, 0
	cfg.Search.Simulations = 64
	cfg.Options.DecidedAbove, cfg.Options.DecidedSimulations, cfg.Options.DecidedShare = 0.8, 4, 0.1
	count := func(sente float32) (plies, small, targets int) {
		games, _ := playWith(t, cfg, &constant{sente: sente}, 19)
		for _, g := range games {
			for i := range g.Plies {
				p := &g.Plies[i]
				plies++
				if p.Visits < 40 && p.Flags&dataset.Proven == 0 {
					small++
				}
				if len(p.Target) > 0 {
					targets++
				}
				if (len(p.Target) > 0) != (p.Flags&dataset.Full != 0) {
					t.Fatal("targets and full searches differ")
				}
			}
		}
		return plies, small, targets
	}
	plies, small, targets := count(0.5)
	if small > 0 || targets != plies {
		t.Errorf("even games: %d of %d plies searched less, %d targets", small, plies, targets)
	}
	plies, small, targets = count(0.99)
	if small < plies/3 || targets > plies*4/5 {
		t.Errorf("decided games: %d of %d plies searched less, %d targets", small, plies, targets)
	}
}

func TestOpeningsFollowTheNetsPolicyByTemperature(t *testing.T) {
	first := func(temperature float64) int {
		cfg := testConfig(t, 4)
		cfg.Options.OpeningShare, cfg.Options.OpeningPlies, cfg.Options.OpeningTemperature = 1, 8, temperature
		seen := map[rules.Move]int{}
		random := 0
		for n, g := range play(t, cfg, 0, 59) {
			if err := dataset.Replayable(cfg.Variant, g); err != nil {
				t.Error(err)
			}
			for i := range g.Plies {
				if g.Plies[i].Flags&dataset.Random == 0 {
					break
				}
				random++
				if i == 0 {
					seen[g.Plies[0].Move]++
				}
			}
			alone := play(t, testConfigWith(cfg, 1), n, n)[n]
			if len(alone.Plies) != len(g.Plies) {
				t.Errorf("game %d differs when it is played alone", n)
			}
		}
		if random < 100 {
			t.Errorf("%d random plies", random)
		}
		return len(seen)
	}
	if cold, hot := first(0.001), first(50); cold != 1 || hot < 6 {
		t.Errorf("%d first moves at a low temperature, %d at a high one", cold, hot)
	}
}

func testConfigWith(cfg Config, games int) Config {
	cfg.Options.Games = games
	return cfg
}
