package match

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"kirin/rules"
	"kirin/selfplay/protocol"
)

func TestPlayersAreReadFromText(t *testing.T) {
	for _, c := range []struct {
		text string
		want Spec
	}{
		{"random", Spec{Kind: "random", Name: "random", Threads: 1}},
		{"material,name=greed", Spec{Kind: "material", Name: "greed", Threads: 1}},
		{"net:runs/mini@latest,sims=64,threads=2", Spec{Kind: "net", Arg: "runs/mini@latest", Name: "net:runs/mini@latest,sims=64,threads=2", Sims: 64, Threads: 2}},
		{"net:shipped,level=easy", Spec{Kind: "net", Arg: "shipped", Name: "net:shipped,level=easy", Level: "easy", Threads: 1}},
		{"usi:fairy-stockfish,nodes=1000,option.Skill Level=5", Spec{
			Kind: "usi", Arg: "fairy-stockfish", Name: "usi:fairy-stockfish,nodes=1000,option.Skill Level=5", Nodes: 1000, Threads: 1,
			Options: []protocol.Setting{{Name: "Skill Level", Value: "5"}},
		}},
		{"cecp:hachu a,b,depth=2,threads=3", Spec{
			Kind: "cecp", Arg: "hachu a,b", Name: "cecp:hachu a,b,depth=2,threads=3", Depth: 2, Threads: 3,
		}},
		{"uci:x", Spec{Kind: "uci", Arg: "x", Name: "uci:x", MoveTime: 100 * time.Millisecond, Threads: 1}},
		{"gnu:gnuminishogi -X 10,depth=2,timeout=5s", Spec{
			Kind: "gnu", Arg: "gnuminishogi -X 10", Name: "gnu:gnuminishogi -X 10,depth=2,timeout=5s", Depth: 2, Threads: 1,
			Timeout: 5 * time.Second,
		}},
	} {
		got, err := ParsePlayer(c.text)
		c.want.Text, c.want.Mate = c.text, -1
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n%+v\n%+v\n%v", c.text, got, c.want, err)
		}
	}
}

func TestWrongPlayersAreExplained(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "unknown kind",
		"stockfish":               "unknown kind",
		"random:x":                "nothing after a colon",
		"net:":                    "needs a name",
		"net:x,sims=0":            "sims",
		"net:x,sims=8,nodes=4":    "at most one",
		"net:x,level=godlike":     "beginner, easy",
		"net:x,depth=4":           "not a setting of net",
		"usi:x,movetime=100":      "duration",
		"usi:x,sims=4":            "not a setting of usi",
		"cecp:x,nodes=4":          "not a setting of cecp",
		"gnu:x":                   "depth",
		"usi:x,nodes=y,depth=z":   "depth",
		"usi:x,option.=3":         "no name",
		"usi:x,blunder=3":         "blunder",
		"material,movetime=100ms": "movetime",
	} {
		_, err := ParsePlayer(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestNetNamesAreSplitAtTheLastKnownMark(t *testing.T) {
	for arg, want := range map[string]NetRef{
		"shipped":         {"shipped", ""},
		"runs/x@latest":   {"runs/x", "latest"},
		"runs/x@first":    {"runs/x", "first"},
		"runs/a@b@1200":   {"runs/a@b", "1200"},
		"dir@home/x.safe": {"dir@home/x.safe", ""},
	} {
		if got := (Spec{Arg: arg}).NetRef(); got != want {
			t.Errorf("%s: %+v", arg, got)
		}
	}
}

func FuzzParsePlayer(f *testing.F) {
	for _, s := range []string{"random", "net:x@first,sims=3", "usi:a b,nodes=1,option.A=b,c", "gnu:x,depth=2", "cecp:,,=,"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		spec, err := ParsePlayer(s)
		if err == nil && (spec.Name == "" || settingHelp[spec.Kind] == nil) {
			t.Errorf("%q: %+v", s, spec)
		}
	})
}

func TestOpeningsAreOpenAndRepeatable(t *testing.T) {
	v := load(t, "minishogi")
	o := Openings{Plies: 6}
	different := map[string]bool{}
	for k := range 10 {
		x, err := o.pick(v, 3, k)
		if err != nil {
			t.Fatal(err)
		}
		y, _ := o.pick(v, 3, k)
		if x.pos.SFEN() != y.pos.SFEN() || x.plies != 6 {
			t.Errorf("opening %d: %s, %s", k, x.pos.SFEN(), y.pos.SFEN())
		}
		different[x.pos.SFEN()] = true
		if out := x.pos.Outcome(len(x.pos.AppendMoves(nil))); out.Result != rules.Ongoing {
			t.Errorf("opening %d is over: %v", k, out)
		}
	}
	if len(different) < 8 {
		t.Errorf("%d different openings of 10", len(different))
	}
}

func TestBooksAreListsOfPositions(t *testing.T) {
	v := load(t, "minishogi")
	book, err := ReadBook(strings.NewReader("# two\n\nposition sfen rbsgk/4p/5/P4/KGSBR b - 1\n  rbsgk/4p/5/P4/KGSBR w - 2\n"))
	if err != nil || len(book) != 2 {
		t.Fatalf("%q, %v", book, err)
	}
	o := Openings{Book: book}
	if err := o.validate(v); err != nil {
		t.Fatal(err)
	}
	x, err := o.pick(v, 1, 3)
	if err != nil || x.first != rules.Gote || x.plies != 0 {
		t.Errorf("%+v, %v", x, err)
	}
}

func TestDearPiecesMoveFar(t *testing.T) {
	for _, name := range rules.Names() {
		v := load(t, name)
		values := PieceValues(v)
		byLetter := map[string]float64{}
		for k := 1; k < v.KindCount(); k++ {
			info := v.Info(rules.Kind(k))
			if values[k] <= 0 {
				t.Errorf("%s %s is worth %v", name, info.Letter, values[k])
			}
			byLetter[info.Letter] = values[k]
		}
		if name != "torishogi" && !(byLetter["R"] > byLetter["G"] && byLetter["G"] > byLetter["P"] && byLetter["K"] > byLetter["+R"]) {
			t.Errorf("%s: %v", name, byLetter)
		}
	}
}
