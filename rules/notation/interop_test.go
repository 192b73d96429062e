package notation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"kirin/rules"
)

// outside runs testdata/interop.cjs, which asks the npm packages tsshogi and shogiops.
func outside(t *testing.T, input []byte) []byte {
	t.Helper()
	cmd := exec.Command("node", "testdata/interop.cjs")
	cmd.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		text := fmt.Sprintf("node with the npm packages tsshogi and shogiops (npm install --prefix DIR tsshogi shogiops; NODE_PATH=DIR/node_modules) "+
			"is missing: %v %s", err, stderr.String())
		if os.Getenv("KIRIN_REQUIRE") == "all" {
			t.Fatal(text)
		}
		t.Skip(text)
	}
	return out
}

// question and answer are the lines of the script.
type question struct {
	Game  string   `json:"game"`
	KIF   string   `json:"kif"`
	CSA   string   `json:"csa"`
	USI   string   `json:"usi"`
	Start string   `json:"start"`
	Moves []string `json:"moves"`
}

type answer struct {
	TsKIF, TsCSA      string
	KIF, CSA          string
	KifMoves          []string
	KifStart, Header  string
	Japanese, Western []string
	LishogiKIF        []string
}

func ask(t *testing.T, games []*Game) []answer {
	t.Helper()
	var in bytes.Buffer
	for _, g := range games {
		q := question{Game: g.Variant.Name(), Start: g.StartSFEN()}
		var b bytes.Buffer
		if err := g.WriteKIF(&b, UTF8); err != nil {
			t.Fatal(err)
		}
		q.KIF = b.String()
		if q.Game == "shogi" {
			b.Reset()
			if err := g.WriteCSA(&b); err != nil {
				t.Fatal(err)
			}
			q.CSA = b.String()
		}
		q.USI, _ = g.USI()
		if _, moves, ok := strings.Cut(q.USI, " moves "); ok {
			q.Moves = strings.Fields(moves)
		}
		line, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(line, '\n'))
	}
	d := json.NewDecoder(bytes.NewReader(outside(t, in.Bytes())))
	answers := make([]answer, len(games))
	for i := range answers {
		if err := d.Decode(&answers[i]); err != nil {
			t.Fatal(err)
		}
	}
	return answers
}

func randomGames(t *testing.T, name string, seed uint64) []*Game {
	v := loadGame(t, name)
	if name == "chushogi" {
		v = loadGame(t, name, "preset=lishogi")
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	var games []*Game
	for _, start := range startsOf(v, rng) {
		g := randomGame(v, start, rng, 150)
		g.Names = [2]string{"甲", "乙"}
		games = append(games, g)
	}
	return games
}

func TestTsshogiReadsOurFilesAndWeReadItsFiles(t *testing.T) {
	games := randomGames(t, "shogi", 21)
	for i, a := range ask(t, games) {
		g := games[i]
		want, err := g.USI()
		if err != nil {
			t.Fatal(err)
		}
		want = unnumbered(want)
		if got := unnumbered(a.TsKIF); got != want {
			t.Errorf("our KIF is read as\n%s\nwant\n%s", got, want)
		}
		if got := unnumbered(a.TsCSA); got != want {
			t.Errorf("our CSA is read as\n%s\nwant\n%s", got, want)
		}
		for _, text := range []string{a.KIF, a.CSA} {
			back, err := Read([]byte(text), g.Variant)
			if err != nil {
				t.Errorf("%v\n%s", err, text)
				continue
			}
			if got, _ := back.USI(); unnumbered(got) != want {
				t.Errorf("its file is read as\n%s\nwant\n%s", got, want)
			}
			if back.Outcome.Result != g.Outcome.Result {
				t.Errorf("its file ends %s, want %s", back.Outcome, g.Outcome)
			}
		}
	}
}

// unnumbered sets the move number of the start, which KIF and CSA do not keep, to 1.
func unnumbered(usi string) string {
	f := strings.Fields(usi)
	if len(f) > 5 && f[1] == "sfen" {
		f[5] = "1"
	}
	return strings.Join(f, " ")
}

func TestLishogiReadsOurKIFAndWritesMovesAsWeDo(t *testing.T) {
	for _, name := range []string{"shogi", "minishogi", "chushogi"} {
		t.Run(name, func(t *testing.T) {
			games := randomGames(t, name, 22)
			for i, a := range ask(t, games) {
				g := games[i]
				p := mustPosition(t, g, 0)
				if !g.even() && !strings.HasPrefix(p.SFEN(), strings.Join(strings.Fields(a.KifStart)[:2], " ")) {
					t.Errorf("start %s, want %s", a.KifStart, p.SFEN())
				}
				if len(a.KifMoves) != len(g.Moves) {
					t.Errorf("%d of %d moves are read", len(a.KifMoves), len(g.Moves))
				}
				for j, m := range g.Moves {
					if j < len(a.KifMoves) {
						if got, err := p.ParseMove(strings.TrimSuffix(a.KifMoves[j], "=")); err != nil || got != m {
							t.Errorf("ply %d: %s is read as %s", j+1, p.FormatMove(m), a.KifMoves[j])
						}
					}
					compareTexts(t, p, m, &a, j)
					p.Do(m)
				}
			}
		})
	}
}

func TestMarksOfAmbiguityAreThoseOfLishogi(t *testing.T) {
	var games []*Game
	for _, c := range []struct{ game, sfen string }{
		{"shogi", "4k4/9/9/3+P+P+P3/3+P1+P3/3+P+P+P3/9/9/4K4 b - 1"},
		{"shogi", "4k4/9/9/3G1G3/3S1S3/3S1S3/3N1N3/9/4K4 b 2G 1"},
		{"shogi", "4k4/9/3ggg3/3+p1+p3/3+p1+p3/3+p+p+p3/9/9/4K4 w gs 1"},
		{"shogi", "4k4/9/+R8/9/9/8+R/9/9/+B3K3+B b - 1"},
		{"chushogi", "k11/12/12/2+R3+R5/12/12/2D6D2/12/12/6+R5/3Q2Q5/11K b - 1"},
		{"chushogi", "k11/12/12/3+D1+D6/4p7/3+D1+D6/12/12/12/12/12/11K b - 1"},
	} {
		p := position(t, loadGame(t, c.game), c.sfen)
		for _, m := range p.AppendMoves(nil) {
			games = append(games, &Game{Variant: p.Variant(), Start: c.sfen, Moves: []rules.Move{m}})
		}
	}
	for i, a := range ask(t, games) {
		compareTexts(t, mustPosition(t, games[i], 0), games[i].Moves[0], &a, 0)
	}
}

// compareTexts compares our move texts with lishogi's, names of pieces and known differences of style aside.
func compareTexts(t *testing.T, p *rules.Position, m rules.Move, a *answer, j int) {
	t.Helper()
	chu := p.Variant().Name() == "chushogi"
	// lishogi writes 成銀 for 全, 行 for 上 of the great pieces, a blank after 同, and other names for chu's promoted pieces.
	same := strings.NewReplacer("成銀", "全", "成桂", "圭", "成香", "杏", "行", "上", "同　", "同", "小角", "角", "金飛車", "飛")
	want := same.Replace(a.Japanese[j])
	got := strings.TrimLeft(Japanese(p, m), "▲△")
	if got != want {
		t.Errorf("%s %s: %s, lishogi %s", p.SFEN(), p.FormatMove(m), got, want)
	}
	if back, err := ParseJapanese(p, a.Japanese[j]); err != nil || back != m {
		t.Errorf("%s: %s of lishogi is read as %s, %v", p.SFEN(), a.Japanese[j], p.FormatMove(back), err)
	}
	if !chu { // other letters there
		if got := Western(p, m); got != a.Western[j] {
			t.Errorf("%s: %s, lishogi %s", p.SFEN(), got, a.Western[j])
		}
	}
	r := &kifReader{v: p.Variant(), p: p.Clone(), g: &Game{}}
	for _, line := range strings.Split(a.LishogiKIF[j], "\n") {
		if err := r.numbered(&cursor{line}); err != nil {
			t.Errorf("%s: KIF %q of lishogi: %v", p.SFEN(), a.LishogiKIF[j], err)
			return
		}
	}
	if len(r.g.Moves) != 1 || r.g.Moves[0] != m {
		t.Errorf("%s: KIF %q of lishogi is read as %v, want %s", p.SFEN(), a.LishogiKIF[j], r.g.Moves, p.FormatMove(m))
	}
}
