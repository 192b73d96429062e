package rules_test

import (
	"strings"
	"testing"

	"kirin/rules"
)

func TestAnSFENThatMakesNoGameIsRefusedWithItsFault(t *testing.T) {
	for _, c := range []struct{ name, sfen, want string }{
		{"shogi", "", "1 fields"},
		{"shogi", shogiStart + " x", "5 fields"},
		{"shogi", "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1 b - 1", "8 ranks instead of 9"},
		{"shogi", "lnsgkgsnl/1r5b1/pppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1", "rank c has more than 9 squares"},
		{"shogi", "lnsgkgsnl/1r5b1/pppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1", "rank c has 8 squares"},
		{"shogi", "lnsgkgsnl/1r5b1/ppppppppp/9/45/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1", `rank e: "45" is no number`},
		{"shogi", "lnsgkgsnl/1r5b1/ppppppppp/9/09/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1", `rank e: "09" is no number`},
		{"shogi", "lnsgkgsnl/1r5b1/ppppppppp/9/4+G4/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1", `"+G" is no piece of shogi`},
		{"shogi", "lnsgkgsnl/1r5b1/ppppppppp/9/4x4/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1", `"x" is no piece of shogi`},
		{"shogi", strings.Replace(shogiStart, " b ", " s ", 1), `side to move "s"`},
		{"shogi", strings.Replace(shogiStart, " - ", "  ", 1), "the hands are empty"},
		{"shogi", "4k4/9/9/9/9/9/9/9/4K4 b 2 1", "a piece is missing after"},
		{"shogi", "4k4/9/9/9/9/9/9/9/4K4 b 1P 1", `"1" is no number of pieces`},
		{"shogi", "4k4/9/9/9/9/9/9/9/4K4 b 99P 1", `"99" is no number of pieces`},
		{"shogi", "4k4/9/9/9/9/9/9/9/4K4 b PGP 1", `"P" appears twice`},
		{"shogi", "4k4/9/9/9/9/9/9/9/4K4 b K 1", `"K" cannot be in hand`},
		{"shogi", "4k4/9/9/9/9/9/9/9/4K4 b 19P 1", "19 pieces P, at most 18"},
		{"shogi", "4k4/9/9/9/9/9/9/9/4K4 b 3R 1", "3 pieces R, at most 2"},
		{"shogi", strings.TrimSuffix(shogiStart, "1") + "0", `move number "0"`},
		{"shogi", strings.TrimSuffix(shogiStart, "1") + "x", `move number "x"`},
		{"shogi", "9/9/9/9/9/9/9/9/4K4 b - 1", "gote has no king"},
		{"shogi", "4k4/9/9/9/9/9/9/9/4KK3 b - 1", "sente has 2 pieces K"},
		{"shogi", "4k4/4R4/9/9/9/9/9/9/4K4 b - 1", "sente is to move and could take the king"},
		{"minishogi", "4k/5/5/5/4K b 3R 1", ""},
		{"minishogi", "4k/5/5/5/4K b 5R 1", "5 pieces R, at most 4"},
		{"torishogi", "3k3/7/7/7/7/7/7 b - 1", "sente has no phoenix"},
		{"chushogi", "k11/12/12/12/12/12/12/12/12/12/12/11K b 1m 1", "ban square"},
		{"chushogi", "k11/12/12/12/12/12/12/12/12/12/12/11K b P 1", "ban square"},
		{"chushogi", "k11/12/12/12/12/12/12/12/12/12/12/11K b -!5e 1", "square 5e cannot be marked"},
		{"chushogi", "kk10/12/12/12/12/12/12/12/12/12/12/11K b - 1", "gote has 2 pieces K"},
		{"chushogi", "k11/12/12/13/12/12/12/12/12/12/12/11K b - 1", `rank d: "13" is no number`},
	} {
		_, err := load(t, c.name).ParseSFEN(c.sfen)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.sfen, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.sfen, err, c.want)
		}
	}
}

func TestAnIllegalMoveIsExplained(t *testing.T) {
	for _, c := range []struct{ name, sfen, move, want string }{
		{"shogi", shogiStart, "7g7e", "the pawn does not reach 7e"},
		{"shogi", shogiStart, "5e5d", "there is no piece on 5e"},
		{"shogi", shogiStart, "3c3d", "the piece on 3c is the opponent's"},
		{"shogi", shogiStart, "5i6i", "an own piece stands on 6i"},
		{"shogi", shogiStart, "P*5e", "no pawn in hand"},
		{"shogi", shogiStart, "7g7f+", "it may not promote with this move"},
		{"shogi", "k8/9/4G4/9/9/9/9/9/4K4 b - 1", "5c5b+", "the gold does not promote"},
		{"shogi", "k8/4P4/9/9/9/9/9/9/4K4 b - 1", "5b5a", "it has to promote"},
		{"shogi", "4k4/9/9/9/9/9/4P4/9/4K4 b P 1", "P*5e", "too many unpromoted pawns on that file"},
		{"shogi", "4k4/9/9/9/9/9/4P4/9/4K4 b P 1", "P*4a", "the piece could never move from there"},
		{"shogi", "4k4/9/9/9/9/9/4P4/9/4K4 b P 1", "P*5i", "the square is occupied"},
		{"shogi", "8k/9/6NG1/9/9/9/9/9/4K4 b P 1", "P*1b", "a pawn may not be dropped to give mate"},
		{"shogi", "4k4/9/9/4r4/9/9/9/4S4/4K4 b - 1", "5h4g", ""},
		{"shogi", "4k4/9/9/9/4r4/9/9/4S4/4K4 b - 1", "5h4g", "the king would be left attacked"},
		{"chushogi", "k11/12/12/12/12/4PPP5/4PNP5/4PPP5/12/12/12/11K b - 1", "7g7f7g", "the first step ends on an own piece"},
		{"chushogi", "k11/12/12/12/12/12/5+D6/12/12/12/12/11K b - 1", "7g8f6f", "no piece there makes these two steps"},
		{"chushogi", "12/12/12/12/3n8/12/5N6/5P6/7b4/12/12/12 w - 1", "9e7g", "the rules for lions forbid it"},
		{"chushogi", "12/12/12/12/3n8/12/5N6/5P6/7b4/12/12/12 w - 1", "9e9e", "it does not move"},
		{"shogi", shogiStart, "hello", "not a move of shogi"},
		{"shogi", shogiStart, "p*5e", "not a move of shogi"},
		{"shogi", shogiStart, "7g7f7e+", "not a move of shogi"},
		{"shogi", shogiStart, "10a1a", "not a move of shogi"},
	} {
		_, err := parse(t, load(t, c.name), c.sfen).ParseMove(c.move)
		if c.want == "" && err == nil {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %q", c.sfen, c.move, err, c.want)
		}
	}
}

func TestEveryWritingOfALionMoveIsRead(t *testing.T) {
	v := load(t, "chushogi")
	p := parse(t, v, "k11/12/12/12/12/12/5N6/12/12/12/12/11K b - 1")
	for _, s := range []string{"7g7f7g", "7g6f7g", "7g6g7g", "7g6h7g", "7g7h7g", "7g8h7g", "7g8g7g", "7g8f7g"} {
		m, err := p.ParseMove(s)
		if err != nil || !m.IsPass() || p.FormatMove(m) != "7g7f7g" {
			t.Errorf("%s is read as %s (%v)", s, p.FormatMove(m), err)
		}
	}
	for _, s := range []string{"7g7e", "7g7f7e", "7g6f7e", "7g8f7e"} {
		m, err := p.ParseMove(s)
		if err != nil || p.FormatMove(m) != "7g7e" {
			t.Errorf("%s is read as %s (%v)", s, p.FormatMove(m), err)
		}
	}
	if n := len(p.AppendMoves(nil)); n != 28 {
		t.Errorf("a lone lion and a cornered king have %d moves, want 25 + 3", n)
	}
	// Two pieces that could pass have one pass between them.
	p = parse(t, v, "k11/12/12/12/12/12/5N6/12/5+H6/12/12/11K b - 1")
	a, errA := p.ParseMove("7g7f7g")
	b, errB := p.ParseMove("7i7h7i")
	if errA != nil || errB != nil || a != b {
		t.Errorf("the passes are %x (%v) and %x (%v)", a, errA, b, errB)
	}
}

func TestLonePiecesOfChuHaveTheirMoves(t *testing.T) {
	v := load(t, "chushogi", "preset=lishogi")
	for sfen, want := range map[string]int{
		"kg10/12/12/12/12/12/5N6/12/12/12/12/11K b - 1":  28,
		"kg10/12/12/12/12/12/5+H6/12/12/12/12/11K b - 1": 43,
		"kg10/12/12/12/12/12/5+D6/12/12/12/12/11K b - 1": 40,
	} {
		if n := parse(t, v, sfen).CountMoves(); n != want {
			t.Errorf("%s: %d moves, want %d", sfen, n, want)
		}
	}
}

func TestToriHandicapsHaveTheirMoves(t *testing.T) {
	v := load(t, "torishogi")
	want := map[string]int{"even": 17, "left_quail": 16, "falcon": 18, "two_pieces": 17, "three_pieces": 16}
	for _, s := range v.Starts() {
		p := parse(t, v, s.SFEN)
		if n := p.CountMoves(); n != want[s.Name] {
			t.Errorf("%s: %d moves, want %d", s.Name, n, want[s.Name])
		}
		if (p.FirstPlayer() == rules.Gote) != (s.Name != "even") {
			t.Errorf("%s: %s moves first", s.Name, p.FirstPlayer())
		}
	}
}
