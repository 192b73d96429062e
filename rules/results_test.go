package rules_test

import (
	"slices"
	"strings"
	"testing"

	"kirin/rules"
)

const (
	shogiStart = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"
	miniStart  = "rbsgk/4p/5/P4/KGSBR b - 1"
	toriStart  = "rpckcpl/3f3/sssssss/2s1S2/SSSSSSS/3F3/LPCKCPR b - 1"

	// rookChecks is a cycle of four plies in which Black's rook checks with each move, from perpetual.
	perpetual  = "5k3/9/9/9/9/9/9/4R4/K8 b - 1"
	rookChecks = "5h4h 4a5a 4h5h 5a4a "

	// Black to move declares with the points in the name.
	declare24 = "4K4/9/9/9/9/9/9/9/4k4 b 2R2B4G4s4n4l18p 1"
	declare23 = "4K4/9/9/9/9/9/9/9/4k4 b 2R2B3Gg4s4n4l18p 1"
	declare31 = "4K4/9/9/9/9/9/9/9/4k4 b 2R2B4G4S3Nn4l18p 1"
)

func wantOutcome(t *testing.T, p *rules.Position, want string) {
	t.Helper()
	if got := outcome(p).String(); got != want {
		t.Errorf("%s: %s, want %s", p.SFEN(), got, want)
	}
}

func wantDeclared(t *testing.T, p *rules.Position, want string) {
	t.Helper()
	got := "not allowed"
	if o, ok := p.Declare(); ok {
		got = o.String()
	}
	if got != want {
		t.Errorf("%s: declaring gives %s, want %s", p.SFEN(), got, want)
	}
}

func wantLegal(t *testing.T, p *rules.Position, move string, want bool) {
	t.Helper()
	if _, err := p.ParseMove(move); (err == nil) != want {
		t.Errorf("%s: %s gives %v, want legal %t", p.SFEN(), move, err, want)
	}
}

func TestShogiResults(t *testing.T) {
	v := load(t, "shogi")
	const shuffle = "2h3h 8b7b 3h2h 7b8b "
	t.Run("R01 fourfold without checks is a draw", func(t *testing.T) {
		wantOutcome(t, play(t, v, shogiStart, strings.Repeat(shuffle, 3)), "draw by repetition")
	})
	t.Run("R02 who checks with every move of the cycle loses", func(t *testing.T) {
		wantOutcome(t, play(t, v, perpetual, strings.Repeat(rookChecks, 3)), "gote by perpetual_check")
	})
	t.Run("R03 one move without check makes it a draw", func(t *testing.T) {
		wantOutcome(t, play(t, v, perpetual, strings.Repeat("5h4h 4a5a 4h3h 5a4b 3h5h 4b4a ", 3)), "draw by repetition")
	})
	t.Run("R04 the third occurrence does not end the game", func(t *testing.T) {
		p := play(t, v, shogiStart, strings.Repeat(shuffle, 2))
		wantOutcome(t, p, "ongoing")
		if p.Occurrences() != 3 {
			t.Errorf("occurs %d times, want 3", p.Occurrences())
		}
	})
	t.Run("R05 other hands make another position", func(t *testing.T) {
		a, b := parse(t, v, "4k4/9/9/9/9/9/9/9/4K4 b 2P 1"), parse(t, v, "4k4/9/9/9/9/9/9/9/4K4 b Pp 1")
		if a.Key() == b.Key() {
			t.Error("the keys are equal")
		}
	})
	t.Run("R06 24 to 30 is a draw", func(t *testing.T) { wantDeclared(t, parse(t, v, declare24), "draw by declaration") })
	t.Run("R07 the declarer with 23 loses", func(t *testing.T) { wantDeclared(t, parse(t, v, declare23), "gote by declaration") })
	t.Run("R08 31 to 23 wins", func(t *testing.T) {
		wantDeclared(t, parse(t, v, declare31), "sente by declaration")
		wantOutcome(t, parse(t, v, declare31), "sente by declaration")
	})
	t.Run("R09 no declaration in check", func(t *testing.T) {
		p := parse(t, v, "4K4/4p4/9/9/9/9/9/9/4k4 b 2R2B4G4S3Nn4l17p 1")
		wantDeclared(t, p, "sente by declaration")
		p = parse(t, v, "4K4/4l4/9/9/9/9/9/9/4k4 b 2R2B4G4S3Nn3l18p 1")
		wantDeclared(t, p, "sente by declaration")
		p = parse(t, v, "4K3r/9/9/9/9/9/9/9/4k4 b R2B4G4S3Nn4l18p 1")
		wantDeclared(t, p, "not allowed")
	})
	t.Run("R10 no declaration while the other king is outside", func(t *testing.T) {
		wantDeclared(t, parse(t, v, "4K4/9/9/9/9/4k4/9/9/9 b 2R2B4G4S3Nn4l18p 1"), "not allowed")
	})
	t.Run("R11 the ply limit without both kings entered is a draw", func(t *testing.T) {
		wantOutcome(t, play(t, load(t, "shogi", "max_plies=4"), shogiStart, shuffle), "draw by ply_limit")
	})
	t.Run("R12 at the ply limit with both kings entered points decide", func(t *testing.T) {
		short := load(t, "shogi", "max_plies=2", "nyugyoku_auto=off")
		wantOutcome(t, play(t, short, declare31, "5a4a 5i4i"), "sente by ply_limit")
		wantOutcome(t, play(t, short, declare24, "5a4a 5i4i"), "draw by ply_limit")
	})
	t.Run("R13 mate at the ply limit wins", func(t *testing.T) {
		wantOutcome(t, play(t, load(t, "shogi", "max_plies=1"), "8k/9/6NG1/9/9/9/9/9/4K4 b G 1", "G*1b"), "sente by checkmate")
	})
	t.Run("R14 no legal move without check loses", func(t *testing.T) {
		wantOutcome(t, parse(t, v, "k8/9/1GN6/9/9/9/9/9/4K4 w - 1"), "sente by no_moves")
	})
	t.Run("R15 promoted rook 5, tokin 1, hands count", func(t *testing.T) {
		p := parse(t, v, "4k4/9/9/9/3+R5/4+P4/9/9/4K4 b BG 1")
		if got := p.Points(rules.Sente); got != 12 {
			t.Errorf("%d points, want 12", got)
		}
	})
}

func TestMinishogiResults(t *testing.T) {
	const shuffle = "4e4d 2a2b 4d4e 2b2a "
	t.Run("R16 at the fourth occurrence the first player loses", func(t *testing.T) {
		wantOutcome(t, play(t, load(t, "minishogi"), miniStart, strings.Repeat(shuffle, 3)), "gote by repetition")
		wantOutcome(t, play(t, load(t, "minishogi", "repetition=draw"), miniStart, strings.Repeat(shuffle, 3)), "draw by repetition")
	})
	t.Run("R17 but a perpetual checker loses first", func(t *testing.T) {
		p := play(t, load(t, "minishogi"), "k4/2r2/5/5/2K2 b - 1", strings.Repeat("3e2e 3b2b 2e3e 2b3b ", 3))
		wantOutcome(t, p, "sente by perpetual_check")
	})
}

func TestToriResults(t *testing.T) {
	v := load(t, "torishogi")
	const shuffle = "5g5f 3a3b 5f5g 3b3a "
	const eagleChecks = "4e3e 1c2c 3e4e 2c1c "
	const eagle = "7/7/6k/7/3+F3/7/K6 b - 1"
	t.Run("R18 making the third occurrence is illegal", func(t *testing.T) {
		p := play(t, v, toriStart, shuffle+"5g5f 3a3b 5f5g")
		wantLegal(t, p, "3b3a", false)
		wantLegal(t, play(t, v, toriStart, "5g5f 3a3b 5f5g"), "3b3a", true)
	})
	t.Run("R19 except to answer a check, then the next check is", func(t *testing.T) {
		p := play(t, v, eagle, eagleChecks+eagleChecks)
		if p.Occurrences() != 3 {
			t.Errorf("occurs %d times, want 3", p.Occurrences())
		}
		wantOutcome(t, p, "ongoing")
		wantLegal(t, p, "4e3e", false)
	})
	t.Run("R20 attacked and without move loses", func(t *testing.T) {
		wantOutcome(t, play(t, v, "6k/7/5PF/7/7/7/3K3 b C 1", "C*1b"), "sente by checkmate")
	})
	t.Run("R21 a captured goose is a swallow in hand", func(t *testing.T) {
		p := play(t, v, "3k3/7/7/3+s3/3S3/7/3K3 b - 1", "4e4d")
		if s := p.SFEN(); !strings.Contains(s, " w S 2") {
			t.Error(s)
		}
	})
	t.Run("R22 a swallow dropped in the zone promotes with its next move", func(t *testing.T) {
		p := play(t, v, "6k/7/7/7/7/7/3K3 b S 1", "S*4b 1a1b")
		wantLegal(t, p, "4b4a", false)
		wantLegal(t, p, "4b4a+", true)
	})
	t.Run("fourfold_mover_loses", func(t *testing.T) {
		p := play(t, load(t, "torishogi", "repetition=fourfold_mover_loses"), toriStart, strings.Repeat(shuffle, 3))
		wantOutcome(t, p, "sente by repetition")
	})
	t.Run("draw4", func(t *testing.T) {
		p := play(t, load(t, "torishogi", "repetition=draw4"), eagle, strings.Repeat(eagleChecks, 3))
		wantOutcome(t, p, "draw by repetition")
	})
	t.Run("royal_capture", func(t *testing.T) {
		w := load(t, "torishogi", "end=royal_capture")
		p := play(t, w, "3k3/7/7/7/7/7/K2R3 b - 1", "7g7f 4a5a 4g4b 5a4b")
		wantOutcome(t, p, "ongoing")
		wantOutcome(t, play(t, w, "3k3/7/7/7/7/7/K2R3 b - 1", "7g7f 4a4b 4g4b"), "sente by royal_captured")
	})
	t.Run("without another move the side that may not repeat loses", func(t *testing.T) {
		p := play(t, v, toriStart, shuffle+"5g5f 3a3b 5f5g")
		wantOutcome(t, p, "ongoing")
		if o := p.Outcome(0); o.String() != "sente by repetition" {
			t.Error(o)
		}
	})
}

func TestChuResults(t *testing.T) {
	v := load(t, "chushogi")
	t.Run("R23 with a prince the game goes on without the king", func(t *testing.T) {
		wantOutcome(t, play(t, v, "k10+e/12/12/12/12/12/12/12/12/12/12/R5GGG2K b - 1", "12l12a"), "ongoing")
	})
	t.Run("R24 an elephant is no royal", func(t *testing.T) {
		wantOutcome(t, play(t, v, "k10e/12/12/12/12/12/12/12/12/12/12/R5GGG2K b - 1", "12l12a"), "sente by royal_captured")
	})
	t.Run("R25 a lion takes king and prince in one move", func(t *testing.T) {
		wantOutcome(t, play(t, v, "12/12/12/12/5k6/5+e6/5N6/12/12/12/g10g/11K b - 1", "7g7f7e"), "sente by royal_captured")
	})
	t.Run("R26 gold against gold is drawn by repetition", func(t *testing.T) {
		p := play(t, v, "kg10/12/12/12/12/12/12/12/12/12/12/10GK b - 1", strings.Repeat("2l2k 11a11b 2k2l 11b11a ", 3))
		wantOutcome(t, p, "draw by repetition")
	})
	t.Run("R27 taking the last other piece wins", func(t *testing.T) {
		const sfen = "12/12/12/12/6k5/4g7/4G7/6K5/12/12/12/12 b - 1"
		for _, preset := range []string{"japanese", "jcsa", "lishogi"} {
			wantOutcome(t, play(t, load(t, "chushogi", "preset="+preset), sfen, "8g8f"), "sente by bare_king")
		}
		wantOutcome(t, play(t, load(t, "chushogi", "bare_king=off"), sfen, "8g8f"), "ongoing")
	})
	t.Run("R28 king and pawn against king goes on until it promotes", func(t *testing.T) {
		p := play(t, v, "k11/12/12/12/5P6/12/12/12/12/12/12/11K b - 1", "7e7d 12a12b")
		wantOutcome(t, p, "ongoing")
		wantOutcome(t, play(t, v, "k11/12/12/12/5P6/12/12/12/12/12/12/11K b - 1", "7e7d+"), "sente by bare_king")
	})
	t.Run("lishogi counts neither pawns nor pieces that can never move", func(t *testing.T) {
		w := load(t, "chushogi", "preset=lishogi")
		wantOutcome(t, parse(t, w, "k11/12/12/12/12/12/12/12/12/12/6PPI3/11K b - 1"), "ongoing")
		wantOutcome(t, parse(t, w, "k11/12/12/12/12/12/12/12/12/12/6PPG3/11K b - 1"), "sente by bare_king")
		wantOutcome(t, parse(t, w, "k11/12/12/12/12/12/12/12/12/12/6PGG3/4ppl4K w - 1"), "sente by bare_king")
		wantOutcome(t, parse(t, w, "12/12/12/5kG5/12/12/12/12/12/12/6P5/11K b - 1"), "ongoing")
		wantOutcome(t, parse(t, w, "12/12/12/5kG5/12/12/12/12/12/12/6G5/11K b - 1"), "sente by bare_king")
		wantOutcome(t, parse(t, w, "12/12/12/5kK5/12/12/12/12/12/12/6G5/12 b - 1"), "ongoing")
		wantOutcome(t, parse(t, w, "k11/12/12/12/12/12/12/12/12/12/6GG4/10+EK b - 1"), "ongoing")
		wantOutcome(t, parse(t, w, "12/12/12/5kK5/12/12/12/12/12/12/12/12 b - 1"), "ongoing")
	})
	t.Run("instant_with_reply lets the bare side bare back", func(t *testing.T) {
		w := load(t, "chushogi", "preset=western")
		wantOutcome(t, parse(t, w, "12/12/12/5kG5/12/12/12/12/12/12/12/11K w - 1"), "ongoing")
		wantOutcome(t, parse(t, w, "12/12/12/5k1G4/12/12/12/12/12/12/12/11K w - 1"), "sente by bare_king")
		wantOutcome(t, parse(t, w, "12/12/12/5kG5/12/12/12/12/12/12/12/11K b - 1"), "sente by bare_king")
	})
	t.Run("mate_or_capture ends the game a move earlier", func(t *testing.T) {
		w := load(t, "chushogi", "preset=jcsa")
		wantOutcome(t, parse(t, w, "k1K9/12/R11/1R10/12/12/12/12/12/12/12/12 w - 1"), "sente by checkmate")
		wantOutcome(t, parse(t, w, "k2K8/12/R11/12/12/12/12/12/12/12/2R9/12 w - 1"), "ongoing")
		wantOutcome(t, parse(t, v, "k1K9/12/R11/1R10/12/12/12/12/12/12/12/12 w - 1"), "ongoing")
	})
	t.Run("R29 king against king is a draw", func(t *testing.T) {
		wantOutcome(t, parse(t, v, "k11/12/12/12/12/12/12/12/12/12/12/11K b - 1"), "draw by bare_king")
	})
	t.Run("R30 no move at all loses", func(t *testing.T) {
		wantOutcome(t, parse(t, v, "PP9k"+strings.Repeat("/PP10", 10)+"/KP10 b - 1"), "gote by no_moves")
	})
	t.Run("R31 the ban lasts one move", func(t *testing.T) {
		p := play(t, v, "k4r5B/12/12/12/5N5r/5G6/12/12/12/12/12/K11 w 1a 2", "12a12b 12l12k")
		wantLegal(t, p, "7a7e", true)
	})
	t.Run("R32 no ban after a lion took a lion", func(t *testing.T) {
		p := play(t, v, "k11/12/12/12/12/4n7/12/4N7/12/12/12/11K b - 1", "8h8f")
		if p.BanSquare() != rules.NoSquare {
			t.Error(p.SFEN())
		}
		p = play(t, v, "k4r5n/12/12/12/5N5r/5GB5/12/12/12/12/12/K11 b - 1", "6f1a")
		if got := v.SquareString(p.BanSquare()); got != "1a" {
			t.Errorf("after a bishop took a lion on 1a the ban square is %s", got)
		}
	})
	t.Run("R33 both pass with lions until it is a draw", func(t *testing.T) {
		p := play(t, v, "k11/12/5n6/12/12/12/12/12/12/5N6/12/11K b - 1", strings.Repeat("7j7i7j 7c7d7c ", 3))
		wantOutcome(t, p, "draw by repetition")
	})
}

func TestRepetitionIsIllegalUnderNoRepeat(t *testing.T) {
	p := play(t, load(t, "chushogi", "preset=western"), "kg10/12/12/12/12/12/12/12/12/12/12/10GK b - 1", "2l2k 11a11b 2k2l")
	wantLegal(t, p, "11b11a", false)
	wantLegal(t, p, "11b11c", true)
}

func TestWhoAttacksWithEveryMoveLosesUnderFourfoldAttack(t *testing.T) {
	const sfen = "1k10/12/12/12/12/12/R11/4r7/12/12/12/11K b - 1"
	const chase = "12g12h 8h8g 12h12g 8g8h "
	const quiet = "12g11g 8h7h 11g12g 7h8h "
	for _, c := range []struct{ preset, moves, want string }{
		{"lishogi", chase, "gote by repetition"},
		{"lishogi", quiet, "draw by repetition"},
		{"japanese", chase, "draw by repetition"},
	} {
		wantOutcome(t, play(t, load(t, "chushogi", "preset="+c.preset), sfen, strings.Repeat(c.moves, 3)), c.want)
	}
}

func TestThe27PointDeclaration(t *testing.T) {
	v := load(t, "shogi", "nyugyoku=27")
	const in = "4K4/+P+P+P+P+P+P+P+P+P/4G4/9/9/4k4/9/9/9 b 2R2BG 1" // 10 pieces, 10 + 21 points
	wantDeclared(t, parse(t, v, in), "sente by declaration")
	wantOutcome(t, parse(t, v, in), "sente by declaration")
	wantDeclared(t, parse(t, v, strings.Replace(in, "2R2BG", "RBG", 1)), "gote by declaration")
	wantOutcome(t, parse(t, v, strings.Replace(in, "2R2BG", "RBG", 1)), "ongoing")
	wantDeclared(t, parse(t, load(t, "shogi", "nyugyoku=off"), in), "not allowed")
	wantOutcome(t, parse(t, load(t, "shogi", "nyugyoku_auto=win_or_draw"), declare24), "draw by declaration")
	wantOutcome(t, parse(t, load(t, "shogi"), declare24), "ongoing")
}

func TestTheCacheKeyKnowsWhatTheKeyDoesNot(t *testing.T) {
	v := load(t, "torishogi", "max_plies=0")
	const shuffle = "5g5f 3a3b 5f5g 3b3a "
	a, b := play(t, v, toriStart, shuffle+"5g5f 3a3b 5f5g"), play(t, v, toriStart, "5g5f 3a3b 5f5g")
	if a.Key() != b.Key() || a.CacheKey() == b.CacheKey() || len(a.AppendMoves(nil)) == len(b.AppendMoves(nil)) {
		t.Error("a position in which a move is barred has the cache key of one in which it is not")
	}
	mini := load(t, "minishogi", "max_plies=0")
	c := play(t, mini, miniStart, "5d5c")
	d := parse(t, mini, c.SFEN())
	if c.Key() != d.Key() || c.CacheKey() == d.CacheKey() {
		t.Error("the first player is not in the cache key")
	}
}

func TestEveryReasonHasItsName(t *testing.T) {
	var names []string
	for r := rules.None; r <= rules.IllegalMove; r++ {
		got, err := rules.ParseReason(r.String())
		if err != nil || got != r {
			t.Errorf("%s is read as %s (%v)", r, got, err)
		}
		names = append(names, r.String())
	}
	if _, err := rules.ParseReason("boredom"); err == nil || slices.Contains(names, "boredom") {
		t.Error("boredom is accepted")
	}
}
