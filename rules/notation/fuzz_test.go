package notation

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"kirin/rules"
	"kirin/rules/rulestest/corpus"
)

// fuzzPositions are positions of all games in which move texts are read.
func fuzzPositions(t testing.TB) []*rules.Position {
	var out []*rules.Position
	for _, name := range rules.Names() {
		v := loadGame(t, name)
		g := randomGame(v, "", rand.New(rand.NewPCG(31, 32)), 70)
		out = append(out, v.Start())
		p, err := g.Position(len(g.Moves))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return append(out, position(t, loadGame(t, "chushogi"), "k11/12/12/12/5p6/5p6/4+ON6/5+H6/5+H6/12/12/11K b - 1"))
}

func fuzzMoves(f *testing.F, write func(*rules.Position, rules.Move) string, read func(*rules.Position, string) (rules.Move, error)) {
	positions := fuzzPositions(f)
	for i, p := range positions {
		for j, m := range p.AppendMoves(nil) {
			if j%7 == 0 {
				f.Add(uint8(i), write(p, m))
			}
		}
	}
	corpus.Add(f)
	f.Fuzz(func(t *testing.T, i uint8, s string) {
		p := positions[int(i)%len(positions)]
		m, err := read(p, s)
		if err != nil {
			return
		}
		text := write(p, m)
		back, err := read(p, text)
		if err != nil || back != m && !(back.IsPass() && m.IsPass()) {
			t.Errorf("%q is read as %s, written %q and read as %s, %v", s, p.FormatMove(m), text, p.FormatMove(back), err)
		}
	})
}

func FuzzParseWestern(f *testing.F) {
	for _, s := range []string{"", "--", "Ln7g--", "+", "P-", "P*5e+", "x!", "Lnx!", "K-5a-5b-5c", "P-76"} {
		f.Add(uint8(0), s)
	}
	fuzzMoves(f, Western, ParseWestern)
}

func FuzzParseJapanese(f *testing.F) {
	for _, s := range []string{"", "▲", "同", "▲同　歩", "７六歩打成", "７六・７五", "居喰い", "じっと", "５六金右左直上（", "１２十二歩", "76歩(77)"} {
		f.Add(uint8(0), s)
	}
	fuzzMoves(f, Japanese, ParseJapanese)
}

// fuzzSeeds are whole files of every game.
func fuzzSeeds(f *testing.F, write func(*Game) ([]byte, error)) {
	for _, name := range rules.Names() {
		v := loadGame(f, name)
		rng := rand.New(rand.NewPCG(33, 34))
		for _, start := range startsOf(v, rng)[:2] {
			g := randomGame(v, start, rng, 30)
			g.Names = [2]string{"a", "乙"}
			g.addComment(3, "x\ny")
			g.addEval(4, 55)
			if data, err := write(g); err == nil {
				f.Add(data)
			}
		}
	}
}

// rewrite writes a game that was read and reads it again: nothing may change.
func rewrite(t *testing.T, g *Game, data []byte, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("what was read cannot be written: %v", err)
	}
	back, err := Read(data, g.Variant)
	if err != nil {
		t.Fatalf("what was written cannot be read: %v\n%s", err, data)
	}
	if back.StartSFEN() != g.StartSFEN() || len(back.Moves) != len(g.Moves) || back.Outcome != g.Outcome {
		t.Fatalf("%s %d moves %s became %s %d moves %s\n%s", g.StartSFEN(), len(g.Moves), g.Outcome,
			back.StartSFEN(), len(back.Moves), back.Outcome, data)
	}
	for i := range g.Moves {
		if g.Moves[i] != back.Moves[i] {
			t.Fatalf("ply %d changed", i+1)
		}
	}
}

func asKIF(set Charset) func(*Game) ([]byte, error) {
	return func(g *Game) ([]byte, error) {
		var b bytes.Buffer
		err := g.WriteKIF(&b, set)
		return b.Bytes(), err
	}
}

func asCSA(g *Game) ([]byte, error) {
	var b bytes.Buffer
	err := g.WriteCSA(&b)
	return b.Bytes(), err
}

func FuzzReadKIF(f *testing.F) {
	fuzzSeeds(f, asKIF(UTF8))
	fuzzSeeds(f, asKIF(ShiftJIS))
	for _, s := range []string{
		"", "手合割：平手\n▲７六歩△３四歩\nまで2手で後手の勝ち\n", "手合割：\n   1 7六歩兵 （←7七）   (00:01/00:00:01)\n   2 投了\n",
		"|・|\n", "1 投了", "手合割：香落ち\n上手番\n   1 ３四歩(33)   ( 0:03/00:00:03)+\n*c\n&b\n\n変化：1手\n   1 ８四歩(83)\n",
	} {
		f.Add([]byte(s))
	}
	corpus.Add(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := ReadKIF(data, nil)
		if err != nil {
			return
		}
		out, err := asKIF(UTF8)(g)
		rewrite(t, g, out, err)
	})
}

func FuzzReadCSA(f *testing.F) {
	fuzzSeeds(f, asCSA)
	for _, s := range []string{
		"", "V2\nPI82HI22KA\n-\n-3334FU,T1\n+7776FU,T2\n%TORYO\n/\nV2\n", "P1 *  *  *  * -OU *  *  *  * \nP+59OU\nP-00AL\n+\n", "'*c\n'** 12 +7776FU\n", "+7776FU",
	} {
		f.Add([]byte(s))
	}
	corpus.Add(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := ReadCSA(data, nil)
		if err != nil {
			return
		}
		out, err := asCSA(g)
		rewrite(t, g, out, err)
	})
}

func FuzzRead(f *testing.F) {
	fuzzSeeds(f, func(g *Game) ([]byte, error) {
		s, err := g.USI()
		return []byte(s), err
	})
	fuzzSeeds(f, func(g *Game) ([]byte, error) {
		s, err := g.MoveList()
		return []byte(s), err
	})
	v := loadGame(f, "torishogi")
	corpus.Add(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, v := range []*rules.Variant{nil, v} {
			g, err := Read(data, v)
			if err != nil {
				continue
			}
			line, err := g.USI()
			if err == nil && strings.Contains(line, "sfen") {
				rewrite(t, g, []byte(line), forgetOutcome(g))
			}
		}
	})
}

// forgetOutcome takes the outcome away that a USI line cannot keep.
func forgetOutcome(g *Game) error {
	p, err := g.Position(len(g.Moves))
	if err == nil {
		g.Outcome = finalOutcome(p)
	}
	return err
}
