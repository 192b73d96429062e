package engine

import (
	"io"
	"strings"
	"testing"
	"time"

	"kirin/mcts"
	"kirin/rules"
	"kirin/selfplay"
	"kirin/selfplay/protocol"
)

// newTestThinker is a thinker with a net that knows nothing, and a position of a game.
func newTestThinker(t *testing.T, variant, sfen string, pause time.Duration) (*thinker, *rules.Position) {
	t.Helper()
	v, err := rules.Load(variant)
	if err != nil {
		t.Fatal(err)
	}
	p := v.Start()
	if sfen != "" {
		if p, err = v.ParseSFEN(sfen); err != nil {
			t.Fatal(err)
		}
	}
	return newThinker(v, Net{Name: "flat", NewEvaluator: func() selfplay.Evaluator { return &flatEval{pause} }}), p
}

// maxOrder is an order at full strength.
func maxOrder(t *testing.T, l protocol.Limits, ctl *control) order {
	t.Helper()
	level, err := protocol.ParseLevel("max")
	if err != nil {
		t.Fatal(err)
	}
	return order{limits: l, options: DefaultOptions(), level: level, ctl: ctl}
}

func TestReportsGoOnAfterALongPonderAndCountItsTime(t *testing.T) {
	th, p := newTestThinker(t, "minishogi", "", time.Millisecond)
	ctl := newControl(true)
	ctl.start = ctl.start.Add(-time.Hour) // so long has it been pondering
	o := maxOrder(t, protocol.Limits{Ponder: true, MoveTime: time.Minute}, ctl)
	var times []time.Duration
	o.tell = func(r report) {
		times = append(times, r.time)
		switch len(times) {
		case 1:
			ctl.hit()
		case 3:
			ctl.halt()
		}
	}
	late := time.AfterFunc(patience, ctl.halt)
	defer late.Stop()
	if _, err := th.think(p, o); err != nil {
		t.Fatal(err)
	}
	if len(times) != 3 || times[0] < time.Hour || times[2] < times[1] || times[1] < times[0] {
		t.Errorf("reports at %v", times)
	}
}

func TestTheMateSearchGivesUpWithinTheMovesTime(t *testing.T) {
	th, p := newTestThinker(t, "shogi", "4k4/9/9/9/9/9/9/9/4K4 b R2B4Lr4g4s4n18p 1", 0) // there is no end to the checks
	o := maxOrder(t, protocol.Limits{Timed: true, Byoyomi: 100 * time.Millisecond}, newControl(false))
	o.options.MateNodes = 3_000_000
	began := time.Now()
	c, err := th.think(p, o)
	if took := time.Since(began); err != nil || c.move == rules.NoMove || took > 4*time.Second {
		t.Errorf("%v after %v, %v", c.move, took, err)
	}
	s, err := NewSolo(th.v, th.net, o.options)
	if err != nil {
		t.Fatal(err)
	}
	began = time.Now()
	if _, err := s.Analyze(t.Context(), p, protocol.Limits{MoveTime: 50 * time.Millisecond}, 1); err != nil || time.Since(began) > 4*time.Second {
		t.Errorf("an analysis of 50 ms took %v, %v", time.Since(began), err)
	}
}

func TestMatesAreSeenAtTheLeavesOnlyIfAskedForAndAtFullStrength(t *testing.T) {
	// A few simulations prove the long mate only if they look further than they go.
	const sfen = "5/1G2S/KS3/1B1k1/2Rb1 b R2Pg 1" // a mate in 7
	proven := func(nodes int, level string) bool {
		th, p := newTestThinker(t, "minishogi", sfen, 0)
		o := maxOrder(t, protocol.Limits{Nodes: 300}, newControl(false))
		o.options.MateNodes, o.options.LeafMateNodes = 0, nodes
		var err error
		if o.level, err = protocol.ParseLevel(level); err != nil {
			t.Fatal(err)
		}
		o.level.Nodes = 300
		if _, err := th.think(p, o); err != nil {
			t.Fatal(err)
		}
		found := false
		th.driver.Read(func(tree *mcts.Tree) { _, found = tree.Proven() })
		return found
	}
	with, without, weak := proven(1000, "max"), proven(0, "max"), proven(1000, "easy")
	if !with || without || weak {
		t.Errorf("proven: with %t, without %t, at a level %t", with, without, weak)
	}
}

func TestAMoveDrawnInTheOpeningDoesNotLoseAtOnceEither(t *testing.T) {
	const sfen = "11k/12/12/12/12/12/11r/PPPPPPPPPPP1/12/12/PPPPPPPPPPP1/11K b - 1"
	for range 20 {
		th, p := newTestThinker(t, "chushogi", sfen, 0)
		o := maxOrder(t, protocol.Limits{}, newControl(false))
		o.options.OpeningTemperature = maxOpening
		th.prepare(o.options)
		th.follow(p, sfen)
		th.game.CopyFrom(p)
		if err := th.driver.Search(t.Context(), th.game, 10, nil); err != nil { // without guard, as where there is no time for it
			t.Fatal(err)
		}
		c := th.settle(p, o)
		if th.refute(c.move) {
			t.Fatalf("%s leaves the king to be taken", p.FormatMove(c.move))
		}
	}
}

func TestUSIChangesNothingWhileAnAnswerIsDue(t *testing.T) {
	const mateInOne = "position sfen 4k/2G2/4P/5/K4 b G 1"
	for _, c := range []struct{ position, search, heard string }{
		{"position startpos", "go infinite", "info depth"},
		{mateInOne, "go infinite", "score mate 1"}, // ends by itself, and must not answer yet
		{mateInOne, "go ponder btime 1000 wtime 1000", "score mate 1"},
	} {
		u := serveUSIClient(t, testConfig("minishogi", time.Millisecond))
		u.send("%s\n%s", c.position, c.search)
		if got := u.last("info depth"); !strings.Contains(got, c.heard) {
			t.Errorf("%s: %q", c.search, got)
		}
		for _, line := range []string{"position startpos moves 3e3d 3a3b", "setoption name Nonsense value 1", "setoption name MultiPV value 2", "go nodes 1"} {
			u.send("%s", line)
			if got := u.last("info string error", "bestmove"); !strings.Contains(got, "a search is running") {
				t.Errorf("%s, %s: %q", c.search, line, got)
			}
		}
		u.send("stop")
		lines := u.until("bestmove")
		if best := lines[len(lines)-1]; best == "bestmove resign" || strings.Contains(strings.Join(lines, "\n"), "multipv") {
			t.Errorf("%s: %q", c.search, lines)
		}
	}
}

func TestCECPAnalysisTellsWhatItHasFoundWhenItEndsByItself(t *testing.T) {
	c := serveCECPClient(t, testConfig("minishogi", 0))
	c.send("protover 2\nnew\nvariant minishogi\nforce\nsetboard 4k/2G2/4P/5/K4[G] w 0 1\nanalyze")
	c.until("feature done=1")
	if got := strings.Fields(c.last("1 ")); len(got) < 5 || got[1] != "100001" { // depth score time nodes pv
		t.Errorf("%q", got)
	}
}

func TestCECPCountsTheMovesToTheTimeControlBackWhenTheyAreTakenBack(t *testing.T) {
	s, err := newSession(testConfig("minishogi", 0), &output{w: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	x := &cecpServer{session: s, force: true, moves: 40}
	own := func() {
		x.busy = moving
		x.finished(finding{choice: choice{move: x.game.AppendMoves(nil)[0]}})
	}
	other := func() { x.userMove(x.game.AppendMoves(nil)[0], "") }
	for i, c := range []struct {
		do   func()
		left int
	}{
		{own, 39}, {other, 39}, {own, 38}, {other, 38}, {own, 37}, // of 40
		{func() { x.takeBack(2) }, 38},
		{other, 38},
		{func() { x.takeBack(1) }, 38}, // of the other side
		{func() { x.takeBack(1) }, 39},
		{func() { x.takeBack(1) }, 39},
		{own, 38},
		{func() { x.setBoard("4k/2G2/4P/5/K4 [G] w 0 1") }, 38},
		{other, 38},
		{func() { x.takeBack(1) }, 38},
	} {
		if c.do(); x.limits().MovesToGo != c.left {
			t.Errorf("step %d: %d moves to go, want %d", i, x.limits().MovesToGo, c.left)
		}
	}
}

func TestTheClockCountsFromTheHitAndReportsFromTheStart(t *testing.T) {
	c := newControl(true)
	c.start = c.start.Add(-time.Hour) // as if the search had begun then
	c.hit()
	if c.elapsed() > time.Minute || c.spent() < time.Hour || c.ponder.Load() {
		t.Errorf("the clock says %v of %v", c.elapsed(), c.spent())
	}
}
