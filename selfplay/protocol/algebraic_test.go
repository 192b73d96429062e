package protocol

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"kirin/rules"
)

func TestAlgebraicMovesOfRandomGamesComeBack(t *testing.T) {
	for _, name := range rules.Names() {
		v := load(t, name)
		rng := rand.New(rand.NewPCG(1, 2))
		for range 5 {
			p := v.Start()
			for p.Ply() < 200 {
				moves := p.AppendMoves(nil)
				if len(moves) == 0 {
					break
				}
				seen := map[string]bool{}
				for _, m := range moves {
					text := FormatAlgebraic(v, m)
					got, err := ParseAlgebraic(p, text)
					if err != nil || got != m && !(m.IsPass() && got.IsPass()) {
						t.Fatalf("%s %s: %s comes back as %s, %v", name, p.SFEN(), text, p.FormatMove(got), err)
					}
					if seen[text] && !m.IsPass() {
						t.Fatalf("%s %s: two moves are written %s", name, p.SFEN(), text)
					}
					seen[text] = true
				}
				p.Do(moves[rng.IntN(len(moves))])
			}
		}
	}
}

func TestAlgebraicWritingIsThatOfXBoard(t *testing.T) {
	mini, tori := load(t, "minishogi"), load(t, "torishogi")
	for _, c := range []struct {
		v               *rules.Variant
		sfen, usi, text string
	}{
		{mini, "rbsgk/4p/5/P4/KGSBR b - 1", "3e3d", "c1c2"},
		{mini, "4k/5/P4/5/K4 b - 1", "5c5b", "a3a4"},
		{mini, "4k/P4/5/5/K4 b - 1", "5b5a+", "a4a5+"},
		{mini, "4k/5/5/5/K4 b S 1", "S*2c", "S@d3"},
		{tori, "rpckcpl/3f3/sssssss/2s1S2/SSSSSSS/3F3/LPCKCPR b - 1", "3d3c", "e4e5"},
	} {
		p, err := c.v.ParseSFEN(c.sfen)
		if err != nil {
			t.Fatal(err)
		}
		m, err := p.ParseMove(c.usi)
		if err != nil {
			t.Fatal(err)
		}
		if got := FormatAlgebraic(c.v, m); got != c.text {
			t.Errorf("%s is written %s, want %s", c.usi, got, c.text)
		}
	}
	p, _ := mini.ParseSFEN("4k/P4/5/5/K4 b - 1")
	if m, err := ParseAlgebraic(p, "a4a5"); err != nil || !m.Promotes() {
		t.Errorf("a forced promotion may be left out: %v, %v", p.FormatMove(m), err)
	}
	p, _ = mini.ParseSFEN("4k/S4/5/5/K4 b - 1")
	if m, err := ParseAlgebraic(p, "a4a5="); err != nil || m.Promotes() {
		t.Errorf("= declines: %v, %v", p.FormatMove(m), err)
	}
}

func TestChuMovesAreWrittenInSteps(t *testing.T) {
	if !slices.Contains(rules.Names(), "chushogi") {
		t.Fatal("no chu shogi")
	}
	v := load(t, "chushogi")
	p, err := v.ParseSFEN("k11/12/12/12/12/5p6/5N6/12/12/12/12/11K b - 1")
	if err != nil {
		t.Fatal(err)
	}
	for text, usi := range map[string]string{
		"f6f8":      "7g7e",   // leap
		"f6f7,f7f8": "7g7f7e", // capture in passing
		"f6f7,f7f6": "7g7f7g", // igui
		"f6e6,e6e7": "7g8f",   // through an empty square: a plain move
		"@@@@":      "7g8f7g",
		"f6e6,e6f6": "7g8g7g", // out and back: a pass
	} {
		got, err := ParseAlgebraic(p, text)
		want, err2 := p.ParseMove(usi)
		if err != nil || err2 != nil || got != want {
			t.Errorf("%s: %s, %v; %s, %v", text, p.FormatMove(got), err, usi, err2)
		}
	}
	if _, err := ParseAlgebraic(p, "f6f7,f8f9"); err == nil {
		t.Error("steps that do not join are accepted")
	}
	if _, err := ParseAlgebraic(p, "a12a11"); err == nil || !errors.Is(err, rules.ErrIllegalMove) {
		t.Errorf("the opponent's king moves: %v", err)
	}
}

func FuzzParseAlgebraic(f *testing.F) {
	for _, s := range []string{"c1c2", "S@d3", "a4a5+", "a4a5=", "@@@@", "f6f7,f7f6", "l12a1", "", "P*", "@", "a99999999999999999999"} {
		f.Add(s)
	}
	var positions []*rules.Position
	for _, name := range rules.Names() {
		positions = append(positions, load(f, name).Start())
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, p := range positions {
			m, err := ParseAlgebraic(p, s)
			if err == nil && !slices.Contains(p.AppendMoves(nil), m) {
				t.Errorf("%q gives an illegal move", s)
			}
		}
	})
}

func TestFENHasHandsInBrackets(t *testing.T) {
	p, err := load(t, "minishogi").ParseSFEN("2k2/5/5/5/2K2 w R2s 7")
	if err != nil {
		t.Fatal(err)
	}
	if got := FormatFEN(p); got != "2k2/5/5/5/2K2[Rss] b 0 7" {
		t.Errorf("%q", got)
	}
}
