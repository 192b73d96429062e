package protocol

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"kirin/rules"
)

func TestLimitsAreWrittenForEachLanguage(t *testing.T) {
	clock := Limits{Timed: true, Clock: [2]time.Duration{3 * time.Second, 2 * time.Second}, Byoyomi: time.Second}
	increment := clock
	increment.Byoyomi, increment.Increment = 0, [2]time.Duration{100e6, 200e6}
	for _, c := range []struct {
		l     Limits
		chess bool
		want  string
	}{
		{Limits{Depth: 3, Nodes: 10}, false, " depth 3 nodes 10"},
		{Limits{MoveTime: 100 * time.Millisecond}, false, " movetime 100"},
		{Limits{MoveTime: time.Microsecond}, false, " movetime 1"},
		{Limits{Infinite: true}, true, " infinite"},
		{clock, false, " btime 3000 wtime 2000 byoyomi 1000"},
		{clock, true, " btime 2000 wtime 3000 winc 1000 binc 1000"},
		{increment, false, " btime 3000 wtime 2000 binc 100 winc 200"},
		{increment, true, " btime 2000 wtime 3000 winc 100 binc 200"},
	} {
		if got := goArguments(c.l, c.chess); got != c.want {
			t.Errorf("%+v: %q, want %q", c.l, got, c.want)
		}
	}
	if d, ok := clock.Allotted(rules.Gote); !ok || d != 3*time.Second {
		t.Errorf("allotted %v, %v", d, ok)
	}
	if err := (Limits{Depth: -1, Byoyomi: -1}).Validate(); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("every fault at once: %v", err)
	}
}

func TestInfoLinesAreRead(t *testing.T) {
	for line, want := range map[string]Answer{
		"depth 4 seldepth 9 score cp -31 nodes 77 pv 7g7f 3c3d": {Depth: 4, Nodes: 77, Score: Score{Known: true, Centipawns: -31}, PV: "7g7f 3c3d"},
		"score mate -3 depth 7":                                 {Depth: 7, Score: Score{Known: true, Mate: true, MateIn: -3}},
		"score mate +":                                          {Score: Score{Known: true, Mate: true, MateIn: 1}},
		"string score cp 5":                                     {},
		"depth":                                                 {},
		"score cp":                                              {},
		"multipv 2 score cp 5":                                  {},
	} {
		var a Answer
		a.readInfo(strings.Fields(line))
		if !reflect.DeepEqual(a, want) {
			t.Errorf("%q: %+v", line, a)
		}
	}
	var a Answer
	a.readThinking(strings.Fields("6 100003 25 4711 a1a2 b3b4"))
	if a.Depth != 6 || !a.Score.Mate || a.Score.MateIn != 3 || a.Nodes != 4711 || a.PV != "a1a2 b3b4" {
		t.Errorf("%+v", a)
	}
	if v := (Score{Known: true, Centipawns: 400}).Value(); v.Win < 0.9 || v.Win > 0.92 {
		t.Errorf("value %+v", v)
	}
}

func TestFeaturesAreCut(t *testing.T) {
	got := splitFeatures(`ping=1 myname="A b=c" variants="chu,shogi" done=1`)
	want := [][2]string{{"ping", "1"}, {"myname", "A b=c"}, {"variants", "chu,shogi"}, {"done", "1"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
}

func TestGNULinesAreRead(t *testing.T) {
	for line, want := range map[string]string{
		"depth = 1. 3e3d 300000":   "3e3d",
		"2. ... 5a5c 300000":       "5a5c own",
		"White mates!":             "",
		"Illegal move (no match) ": "",
		"12. ...":                  "",
		"":                         "",
	} {
		text, own, ok := gnuMove(line)
		if own && ok {
			text += " own"
		}
		if text != want || ok != (want != "") {
			t.Errorf("%q: %q", line, text)
		}
	}
	if c := gnuClaim("White mates!"); c.Result != rules.GoteWins {
		t.Errorf("%+v", c)
	}
}

func TestLevelsChooseByLotOrTheBest(t *testing.T) {
	visits := func(i int) int { return []int{10, 70, 0, 20}[i] }
	rng := rand.New(rand.NewPCG(1, 2))
	var count [4]int
	for range 4000 {
		count[Level{Temperature: 1}.Choose(4, 1, visits, rng)]++
	}
	if count[2] != 0 || count[0] < 300 || count[1] < 2600 || count[3] < 650 {
		t.Errorf("%v", count)
	}
	if (Level{}).Choose(4, 3, visits, nil) != 3 {
		t.Error("without temperature the search's choice counts")
	}
	for i := 1; i < len(Levels); i++ {
		if Levels[i].Nodes <= Levels[i-1].Nodes || Levels[i].Temperature > Levels[i-1].Temperature {
			t.Errorf("level %s is not above %s", Levels[i].Name, Levels[i-1].Name)
		}
	}
	if _, err := ParseLevel("godlike"); err == nil || !strings.Contains(err.Error(), "beginner") {
		t.Errorf("%v", err)
	}
}

func FuzzEngineLines(f *testing.F) {
	for _, s := range []string{"info depth 3 score cp 1 pv a", "1. ... 3c3d 300", "feature a=\"b\" c=1", "bestmove resign", "4 5 6 7 8", "option name A type combo var b"} {
		f.Add(s)
	}
	p := load(f, "minishogi").Start()
	f.Fuzz(func(t *testing.T, s string) {
		fields := strings.Fields(s)
		var a Answer
		a.readInfo(fields)
		if len(fields) >= 4 {
			a.readThinking(fields)
		}
		splitFeatures(s)
		gnuMove(s)
		gnuClaim(s)
		d := &usiDialect{conn: &conn{o: Options{Variant: p.Variant()}}, options: map[string][]string{}}
		d.addOption(fields)
		if m, err := d.bestMove(Answer{}, append([]string{"bestmove"}, fields...), p); err == nil && m.Move == rules.NoMove &&
			!m.Resign && m.Claim.Result == rules.Ongoing {
			t.Errorf("%q: no move, no claim", s)
		}
	})
}
