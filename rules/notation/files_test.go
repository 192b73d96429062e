package notation

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kirin/rules"
)

// decorate gives g names, comments, evaluations and an outcome as files may hold them.
func decorate(g *Game, rng *rand.Rand, p *rules.Position) {
	g.Names = [2]string{"山田 太郎", "Kirin 4x64"}
	g.Date, g.Event, g.Place = "2026/11/30 04:10:00", "第1回 テスト", "here"
	for i := range len(g.Moves) + 1 {
		if rng.IntN(9) == 0 {
			g.addComment(i, "一行目 first")
			if rng.IntN(2) == 0 {
				g.addComment(i, "* 二行目")
			}
		}
		if rng.IntN(3) == 0 {
			g.addEval(i, rng.IntN(4001)-2000)
		}
	}
	if g.Outcome.Result == rules.Ongoing && rng.IntN(4) > 0 {
		g.Outcome = []rules.Outcome{
			{Result: rules.Winner(p.Side().Other()), Reason: rules.Resignation},
			{Result: rules.Winner(p.Side().Other()), Reason: rules.Time},
			{Result: rules.Winner(p.Side()), Reason: rules.MateProven},
			{Result: rules.Winner(p.Side()), Reason: rules.Declaration},
			{Result: rules.Draw, Reason: rules.Adjudicated},
			{Result: rules.Draw, Reason: rules.PlyLimit},
		}[rng.IntN(6)]
	}
}

// sameGame compares games as files keep them: evaluations to a hundredth of a pawn.
func sameGame(t *testing.T, got, want *Game) {
	t.Helper()
	if got.Variant.Hash() != want.Variant.Hash() || got.StartSFEN() != want.StartSFEN() {
		t.Fatalf("%s %s %s, want %s %s %s", got.Variant.Name(), got.Variant.Rules(), got.StartSFEN(),
			want.Variant.Name(), want.Variant.Rules(), want.StartSFEN())
	}
	type plain struct {
		Moves              []rules.Move
		Outcome            rules.Outcome
		Names              [2]string
		Date, Event, Place string
		Comments           []string
		Evals              []string
		Tags               []Tag
	}
	flat := func(g *Game) plain {
		p := plain{g.Moves, g.Outcome, g.Names, g.Date, g.Event, g.Place, g.Comments, nil, g.Tags}
		for _, e := range g.Evals {
			s := "-"
			if !math.IsNaN(e) {
				s = fmt.Sprint(Centipawns(e))
			}
			p.Evals = append(p.Evals, s)
		}
		return p
	}
	if d := cmp.Diff(flat(want), flat(got)); d != "" {
		t.Fatalf("(-want +got)\n%s", d)
	}
}

// startsOf returns start positions of every kind: even, handicaps and positions from the middle of games.
func startsOf(v *rules.Variant, rng *rand.Rand) []string {
	starts := []string{""}
	for _, s := range v.Starts()[1:] {
		starts = append(starts, s.SFEN)
	}
	for range 4 {
		g := randomGame(v, "", rng, 60+rng.IntN(40))
		p, err := g.Position(len(g.Moves))
		if err != nil {
			panic(err)
		}
		if finalOutcome(p).Result == rules.Ongoing {
			starts = append(starts, p.SFEN())
		}
	}
	return starts
}

func TestGamesReadBackFromKIF(t *testing.T) {
	for _, name := range rules.Names() {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(9, 10))
			settings := [][]string{{"default"}, {"max_plies=0"}}
			if name == "chushogi" {
				settings = append(settings, []string{"preset=lishogi"}, []string{"preset=western"})
			}
			for i, start := range startsOf(loadGame(t, name), rng) {
				v := loadGame(t, name, settings[i%len(settings)]...)
				g := randomGame(v, start, rng, 150)
				decorate(g, rng, mustPosition(t, g, len(g.Moves)))
				g.Tags = []Tag{{"戦型", "不明"}}
				for _, set := range []Charset{UTF8, UTF8Mark, ShiftJIS} {
					var b bytes.Buffer
					if err := g.WriteKIF(&b, set); err != nil {
						t.Fatal(err)
					}
					got, err := ReadKIF(b.Bytes(), nil)
					if err != nil {
						t.Fatalf("%v\n%s", err, b.String())
					}
					sameGame(t, got, g)
					if f := Detect(b.Bytes()); f != FormatKIF {
						t.Fatalf("detected as %q", f)
					}
					var again bytes.Buffer
					if err := got.WriteKIF(&again, set); err != nil || again.String() != b.String() {
						t.Fatalf("written again it differs (%v)", err)
					}
				}
			}
		})
	}
}

func TestGamesReadBackFromCSA(t *testing.T) {
	v := loadGame(t, "shogi")
	rng := rand.New(rand.NewPCG(11, 12))
	for _, start := range startsOf(v, rng) {
		g := randomGame(v, start, rng, 200)
		decorate(g, rng, mustPosition(t, g, len(g.Moves)))
		g.Tags = []Tag{{"TIME_LIMIT", "00:25+00"}}
		var b bytes.Buffer
		if err := g.WriteCSA(&b); err != nil {
			t.Fatal(err)
		}
		got, err := ReadCSA(b.Bytes(), nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, b.String())
		}
		sameGame(t, got, g)
		if f := Detect(b.Bytes()); f != FormatCSA {
			t.Fatalf("detected as %q", f)
		}
	}
	if err := (&Game{Variant: loadGame(t, "minishogi")}).WriteCSA(&bytes.Buffer{}); !errors.Is(err, errCSAGame) {
		t.Errorf("minishogi as CSA: %v", err)
	}
}

func TestGamesReadBackFromUSIAndMoveLists(t *testing.T) {
	for _, name := range rules.Names() {
		v := loadGame(t, name)
		rng := rand.New(rand.NewPCG(13, 14))
		for _, start := range startsOf(v, rng) {
			g := randomGame(v, start, rng, 120)
			line, err := g.USI()
			if err != nil {
				t.Fatal(err)
			}
			got, err := Read([]byte(line+"\n"), v)
			if err != nil {
				t.Fatal(err)
			}
			sameGame(t, got, g)
			list, err := g.MoveList()
			if err != nil {
				t.Fatal(err)
			}
			got, err = ReadMoveList(v, start, list)
			if err != nil {
				t.Fatalf("%v\n%s", err, list)
			}
			if name != "chushogi" { // a list may name another piece for a pass
				sameGame(t, got, g)
			}
		}
	}
}

func TestUSILinesMayHaveAResult(t *testing.T) {
	g, err := Read([]byte("position startpos moves 7g7f\tsente\tresignation\n"), nil)
	if err != nil || g.Outcome != (rules.Outcome{Result: rules.SenteWins, Reason: rules.Resignation}) {
		t.Errorf("%v, %v", g, err)
	}
	if _, err := Read([]byte("position startpos moves 7g7f\tnobody\tresignation\n"), nil); err == nil {
		t.Error("an unknown result is read")
	}
}

func TestMoveListsAreNumberedByPairs(t *testing.T) {
	v := loadGame(t, "torishogi")
	g, err := ReadMoveList(v, "", "1. Swx3c SWx5e 2. Fax5e Fax3c 3. Cr-5f Q-1b")
	if err != nil {
		t.Fatal(err)
	}
	if list, err := g.MoveList(); err != nil || list != "1. Swx3c Swx5e 2. Fax5e Fax3c 3. Cr-5f Q-1b" {
		t.Errorf("%q, %v", list, err)
	}
	g, err = ReadMoveList(v, v.Starts()[1].SFEN, "1. ... Sw5cx5d?")
	if err == nil {
		t.Errorf("read: %v", g.Moves)
	}
	g, err = ReadUSI("sfen "+v.Starts()[1].SFEN+" moves 5d5e 4f5e", v)
	if err != nil {
		t.Fatal(err)
	}
	if list, _ := g.MoveList(); list != "1. ... Swx5e 2. Fax5e" {
		t.Errorf("%q", list)
	}
}

func TestErrorsInFilesNameTheLine(t *testing.T) {
	const head = "手合割：平手\n先手：a\n後手：b\n手数----指手---------消費時間--\n"
	for _, c := range []struct {
		text string
		line int
		part string
	}{
		{head + "   1 ７六歩(77)\n   2 ７六歩(77)\n", 6, "illegal move"},
		{head + "   1 ７六歩(77)\n   2 ３四銀(33)\n", 6, "no move of this position"},
		{head + "   1 ７六歩(77)\n   3 ３四歩(33)\n", 6, "move 3 stands where move 2 should"},
		{head + "   1 ７六歩(77)\n   2 なにか\n", 6, "not a move"},
		{head + "   1 投了\n   2 ７六歩(77)\n", 6, "after the end"},
		{head + "   1 ８八角成(22)\n", 5, "opponent's"},
		{"手合割：謎\n   1 ７六歩(77)\n", 1, "unknown"},
		{"手合割：5五将棋\n   1 ７六歩(77)\n", 2, "not a move"},
		{"後手の持駒：なし\n|v香|一\n先手の持駒：なし\n先手番\n   1 ７六歩(77)\n", 2, "1 ranks"},
		{"手合割：中将棋\n   1 一歩目 7八獅子 （←7十）\n   2 7六歩兵 （←7七）\n", 3, "move 2 stands"},
		{"", 1, "neither a move nor a start"},
		{"V2.2\nPI\n+\n+7776FU\n-7776FU\n", 5, "illegal move"},
		{"V2.2\nPI\n+\n+7776FU\n+2726FU\n", 5, "gote's turn"},
		{"V2.2\nPI\n+\n+7776KI\n", 4, "no KI"},
		{"V2.2\nPI\n+\n+7776XX\n", 4, "not a move"},
		{"V2.2\nPI\n+\n%WAT\n", 4, "no special move"},
		{"V2.2\nP1-KY-KE\n+\n", 2, "no square"},
		{"V2.2\nPI99FU\n+\n", 2, "to remove"},
		{"V2.2\nPI\nP+00FU\n+\n", 4, "too many"},
		{"V2.2\nPI\n+\n+7776FU\n%TORYO\n-3334FU\n", 6, "after the end"},
		{"position startpos moves 7g7f 7g7f", 1, "ply 2"},
		{"position sfen 9 b - 1", 1, "SFEN"},
		{"position startpos move 7g7f", 1, "moves"},
		{"1. P-7f\nP-7f", 2, "ply 2"},
	} {
		_, err := Read([]byte(c.text), loadFor(t, c.text))
		if c.text == "" {
			_, err = ReadKIF(nil, nil)
		}
		var fe *FileError
		if !errors.As(err, &fe) || fe.Line != c.line || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%q: %v, want line %d and %q", c.text, err, c.line, c.part)
		}
	}
}

// loadFor returns the game for files that do not say it.
func loadFor(t *testing.T, text string) *rules.Variant {
	if strings.HasPrefix(text, "1.") {
		return loadGame(t, "shogi")
	}
	return nil
}

func TestGamesOfOtherVariantsAreRefused(t *testing.T) {
	v := loadGame(t, "torishogi")
	for _, text := range []string{"手合割：5五将棋\n   1 ５三歩(54)\n", "V2.2\nPI\n+\n", "sfen rbsgk/4p/5/P4/KGSBR b - 1"} {
		if _, err := Read([]byte(text), v); err == nil || !strings.Contains(err.Error(), "not torishogi") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := Read([]byte("what is this"), v); err == nil {
		t.Error("nonsense is read")
	}
	if _, err := Read([]byte{0xff, 0xfe, 0x00, 0x81}, v); err == nil {
		t.Error("bytes are read")
	}
}
