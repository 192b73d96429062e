package rulestest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"kirin/rules"
)

// composed returns a random SFEN: pieces of the given letters of both sides in the middle of the board, and a ban square.
func composed(v *rules.Variant, rng *rand.Rand, letters []string, pieces, box int) string {
	w, h := v.Width(), v.Height()
	cells := make([]string, w*h)
	x0, y0 := rng.IntN(w-box+1), rng.IntN(h-box+1)
	for range pieces {
		l := letters[rng.IntN(len(letters))]
		if rng.IntN(2) == 0 {
			l = strings.ToLower(l)
		}
		cells[(y0+rng.IntN(box))*w+x0+rng.IntN(box)] = l
	}
	if len(v.HandKinds()) > 0 {
		for i, c := range cells {
			if strings.EqualFold(c, "K") {
				cells[i] = ""
			}
		}
		for _, k := range []string{"K", "k"} {
			for {
				if i := rng.IntN(len(cells)); cells[i] == "" {
					cells[i] = k
					break
				}
			}
		}
	}
	var b strings.Builder
	for i, c := range cells {
		if i > 0 && i%w == 0 {
			b.WriteByte('/')
		}
		if c != "" {
			b.WriteString(c)
			continue
		}
		n := 1
		for i%w > 0 && cells[i-1] == "" {
			i--
			n++
		}
		if end := i + n; end%w == 0 || cells[end] != "" {
			fmt.Fprint(&b, n)
		}
	}
	third := "-"
	if len(v.HandKinds()) == 0 && rng.IntN(3) == 0 {
		third = v.SquareString(rules.Square(y0*w + x0 + rng.IntN(box)*w + rng.IntN(box)))
	} else if len(v.HandKinds()) > 0 && rng.IntN(2) == 0 {
		third = ""
		for _, k := range v.HandKinds() {
			if rng.IntN(2) == 0 {
				third += v.Info(k).Letter
			}
			if rng.IntN(3) == 0 {
				third += strings.ToLower(v.Info(k).Letter)
			}
		}
		if third == "" {
			third = "-"
		}
	}
	return fmt.Sprintf("%s %c %s 1", b.String(), "bw"[rng.IntN(2)], third)
}

func TestComposedPositionsAgreeWithTheSecondImplementation(t *testing.T) {
	letters := map[string]string{
		"shogi":     "K R B G S N L P +R +B +P P P",
		"minishogi": "K R B G S P +R +B +P",
		"torishogi": "K F C P L R S S S +F +F +S +S",
		"chushogi":  "K N N +O +O +D +H O P P I G B R +P L",
	}
	for name, sets := range settings {
		for _, set := range sets {
			t.Run(name+" "+set, func(t *testing.T) {
				t.Parallel()
				v := load(t, name, strings.Split(set, ",")...)
				rng := rand.New(rand.NewPCG(3, 9))
				used, wanted := 0, 60
				for try := 0; used < wanted; try++ {
					if try > 100*wanted {
						t.Fatalf("only %d of %d tries are positions", used, try)
					}
					box := min(5+rng.IntN(2), v.Width())
					sfen := composed(v, rng, strings.Fields(letters[name]), 4+rng.IntN(10), box)
					p, err := v.ParseSFEN(sfen)
					if err != nil {
						continue
					}
					used++
					if err := CompareTwin(p); err != nil {
						t.Fatalf("%s: %v", sfen, err)
					}
					for _, m := range p.AppendMoves(nil) {
						text := p.FormatMove(m)
						gives := p.GivesCheck(m)
						p.Do(m)
						if gives != p.InCheck() || p.InCheck() != newTwin(p).royalAttacked(p.Side()) {
							t.Fatalf("%s, %s: GivesCheck %t, InCheck %t, second implementation %t", sfen, text, gives, p.InCheck(),
								newTwin(p).royalAttacked(p.Side()))
						}
						p.Undo()
					}
				}
			})
		}
	}
}
