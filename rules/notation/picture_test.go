package notation

import (
	"encoding/xml"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"kirin/rules"
)

// boardLines returns the lines of a text picture between the borders, the files above and the borders included.
func boardLines(text string) []string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if i := strings.LastIndexAny(line, "|+"); i > 0 && (line[0] == '|' || line[0] == '+') {
			out = append(out, line[:i+1])
		}
	}
	return out
}

func TestRanksOfTextPicturesTakeTheSameColumns(t *testing.T) {
	for _, name := range rules.Names() {
		v := loadGame(t, name)
		rng := rand.New(rand.NewPCG(5, 6))
		for range 4 {
			g := randomGame(v, "", rng, 120)
			p := mustPosition(t, g, len(g.Moves))
			for _, o := range []Picture{{}, {Letters: true}, {Dots: []rules.Square{0, 3, rules.Square(v.Squares() - 1)}}} {
				lines := boardLines(Text(p, o))
				if len(lines) != v.Height()+2 {
					t.Fatalf("%s: %d lines of board", name, len(lines))
				}
				for _, line := range lines {
					if n := Columns(line); n != 4*v.Width()+2 {
						t.Errorf("%s: %q takes %d columns", name, line, n)
					}
				}
			}
		}
	}
}

func TestTextPicturesShowTheStartPosition(t *testing.T) {
	want := `gote  in hand: -
  ５  ４  ３  ２  １
+--------------------+
|v飛 v角 v銀 v金 v玉 |a 一
| ・  ・  ・  ・ v歩 |b 二
| 歩  ・  ・  ・  ・ |c 三
| ・  ・  ・  ・  ・ |d 四
| 玉  金  銀  角  飛 |e 五
+--------------------+
sente in hand: -
gote to move, move 2; last move ▲５三歩 (5d5c)
`
	g, err := ReadUSI("sfen rbsgk/4p/5/P4/KGSBR b - 1 moves 5d5c", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := Text(mustPosition(t, g, 1), Picture{}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	v := loadGame(t, "minishogi")
	got := Text(position(t, v, "4k/5/1+B3/5/K4 b r 1"), Picture{Letters: true, Dots: []rules.Square{4}})
	for _, part := range []string{"|  .   .   .   .   k*|a\n", "|  .  +B   .   .   . |c\n", "gote  in hand: R\n", "sente to move, move 1\n"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is missing in\n%s", part, got)
		}
	}
}

func TestSVGIsWellFormedAndShowsWhatIsOnTheBoard(t *testing.T) {
	for _, name := range rules.Names() {
		v := loadGame(t, name)
		g := randomGame(v, "", rand.New(rand.NewPCG(7, 8)), 100)
		p := mustPosition(t, g, len(g.Moves))
		pieces, promoted, inHand := 0, 0, 0
		for sq := range rules.Square(v.Squares()) {
			if pc := p.At(sq); pc != rules.NoPiece {
				pieces++
				if v.Info(pc.Kind()).Letter[0] == '+' {
					promoted++
				}
			}
		}
		for _, k := range v.HandKinds() {
			for _, s := range []rules.Side{rules.Sente, rules.Gote} {
				if p.Hand(s, k) > 0 {
					inHand++
				}
			}
		}
		for _, letters := range []bool{false, true} {
			svg := SVG(p, Picture{Letters: letters, Dots: []rules.Square{0, 1, 200}})
			d := xml.NewDecoder(strings.NewReader(svg))
			for {
				if _, err := d.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			if n := strings.Count(svg, `fill="`+woodPiece+`" stroke="`+edgeColour); n != pieces+inHand {
				t.Errorf("%s: %d pieces drawn, %d are there", name, n, pieces+inHand)
			}
			if n := strings.Count(svg, redColour); n != promoted {
				t.Errorf("%s: %d pieces in red, %d are promoted", name, n, promoted)
			}
			if n := strings.Count(svg, dotColour); n != 2 {
				t.Errorf("%s: %d dots, want 2", name, n)
			}
			if !strings.Contains(svg, lastColour) {
				t.Errorf("%s: the last move is not marked", name)
			}
			if svg != SVG(p, Picture{Letters: letters, Dots: []rules.Square{0, 1, 200}}) {
				t.Errorf("%s: the same picture comes out differently", name)
			}
		}
	}
}

func TestFullWidthCharactersTakeTwoColumns(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "v歩": 3, " ・": 3, "１２": 4, "麒麟": 4, "▲": 1} {
		if got := Columns(s); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	}
}
