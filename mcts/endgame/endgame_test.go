package endgame

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"kirin/rules"
)

func load(t *testing.T, name string) *rules.Variant {
	t.Helper()
	v, err := rules.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// quick are options for short tests.
func quick() Options {
	o := DefaultOptions()
	o.Simulations, o.MostSimulations, o.Within, o.Nodes = 2000, 16_000, 5, 20_000
	return o
}

func TestRandomMinishogiEndgamesAreProvenRightly(t *testing.T) {
	c := NewChecker(load(t, "minishogi"), quick())
	c.Tell = func(text string) { t.Log(text) }
	for n := range uint64(100) {
		if err := c.Random(5, n); err != nil {
			t.Fatal(err)
		}
	}
	y := c.Tally
	t.Logf("%+v", y)
	if y.Wrong > 0 || y.Missed > 0 {
		t.Errorf("%d wrong proofs, %d moves that do not keep the value", y.Wrong, y.Missed)
	}
	if y.Endgames != 100 || y.Solved < 20 || y.Wins < 5 || y.Proven < y.Solved*3/5 || y.Mated < y.Proven || y.Kept[0] < y.Solved*4/5 {
		t.Errorf("%+v", y)
	}
}

func TestEndgamesOfAFileAreProvenRightly(t *testing.T) {
	for _, game := range []string{"minishogi", "torishogi"} {
		t.Run(game, func(t *testing.T) {
			name := "../mate/testdata/" + game + ".tsv"
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			o := quick()
			o.MostSimulations = o.Simulations
			c := NewChecker(load(t, game), o)
			c.Tell = func(text string) { t.Log(text) }
			lines := strings.SplitAfter(string(text), "\n")
			var few strings.Builder
			for _, line := range lines {
				if strings.Contains(line, "\tendgame\t") && few.Len() < 2000 {
					few.WriteString(line)
				}
			}
			if err := c.File(strings.NewReader(few.String()), name); err != nil {
				t.Fatal(err)
			}
			y := c.Tally
			t.Logf("%+v", y)
			if y.Endgames < 10 || y.Solved != y.Endgames || y.Wrong > 0 || y.Proven == 0 || y.Kept[0] < y.Endgames*3/5 {
				t.Errorf("%+v", y)
			}
		})
	}
}

func TestACheckerCountsWrongKnownValues(t *testing.T) {
	c := NewChecker(load(t, "minishogi"), quick())
	said := ""
	c.Tell = func(text string) { said = text }
	// Gold to 2b mates at once, but the row calls it lost.
	if err := c.File(strings.NewReader("4k/5/3G1/5/K4 b G 1\tendgame\t-2\t-\n"), "rows"); err != nil {
		t.Fatal(err)
	}
	if c.Tally.Wrong != 1 || !strings.Contains(said, "proven") {
		t.Errorf("%+v, %q", c.Tally, said)
	}
}

func TestRandomEndgamesAreLegalAndRepeatable(t *testing.T) {
	for _, game := range []string{"minishogi", "shogi"} {
		v := load(t, game)
		for n := range uint64(50) {
			a, err := Random(v, rand.New(rand.NewPCG(n, 1)))
			if err != nil {
				t.Fatal(err)
			}
			b, err := Random(v, rand.New(rand.NewPCG(n, 1)))
			if err != nil || a.SFEN() != b.SFEN() {
				t.Fatalf("%s and %s, %v", a.SFEN(), b.SFEN(), err)
			}
			if _, err := v.ParseSFEN(a.SFEN()); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := Random(load(t, "chushogi"), rand.New(rand.NewPCG(1, 1))); err == nil {
		t.Error("chu shogi has random endgames")
	}
}

func TestOptionsReportEveryFault(t *testing.T) {
	if err := DefaultOptions().Validate(); err != nil {
		t.Error(err)
	}
	j, ok := Options{}.Validate().(interface{ Unwrap() []error })
	if !ok || len(j.Unwrap()) != 6 {
		t.Errorf("not every fault of empty options is named")
	}
}
