package match

import (
	"testing"
	"time"

	"kirin/mcts"
	"kirin/rules"
	"kirin/selfplay"
	"kirin/selfplay/protocol"
)

// netOf makes a net's player of its text.
func netOf(t *testing.T, v *rules.Variant, text string) *Net {
	t.Helper()
	e := entrant(t, v, text)
	p, err := e.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p.(*Net)
}

func TestNetsSearchWithPUCTInBoundedMemoryWhereAClockRules(t *testing.T) {
	for _, c := range []struct {
		text      string
		clock     bool
		algorithm string
		batch     int
		bytes     int64
	}{
		{"net:x", false, mcts.Gumbel, 1, 0},
		{"net:x", true, mcts.PUCT, BatchSize, treeBytes},
		{"net:x,sims=8", true, mcts.PUCT, BatchSize, treeBytes},
		{"net:x,sims=8,batch=2", true, mcts.PUCT, 2, treeBytes},
		{"net:x,nodes=1000", false, mcts.PUCT, BatchSize, 0},
		{"net:x,nodes=1000", true, mcts.PUCT, BatchSize, treeBytes},
		{"net:x,level=hard", true, mcts.PUCT, BatchSize, treeBytes},
		{"net:x,movetime=5ms", false, mcts.PUCT, BatchSize, treeBytes},
	} {
		n := netOf(t, load(t, "minishogi"), c.text)
		if d := n.search.driver(c.clock); d.Search.Algorithm != c.algorithm || d.Batch != c.batch || d.Search.MaxBytes != c.bytes {
			t.Errorf("%s, clock %v: %s, batch %d, %d bytes", c.text, c.clock, d.Search.Algorithm, d.Batch, d.Search.MaxBytes)
		}
	}
}

func TestANetTakesUpTheClockWithItsFirstMove(t *testing.T) {
	v := load(t, "minishogi")
	n := netOf(t, v, "net:x,sims=4")
	for _, clock := range []bool{true, false} {
		d, err := n.Move(t.Context(), v.Start(), protocol.Limits{Timed: clock, Byoyomi: 200 * time.Millisecond})
		if err != nil || n.timed != clock || (d.Nodes == 4) == clock {
			t.Errorf("clock %v: %d nodes, %v", clock, d.Nodes, err)
		}
	}
}

func TestTheMateSearchKeepsWithinTheMovesTime(t *testing.T) {
	v := load(t, "shogi")
	p, err := v.ParseSFEN("4k4/9/9/9/9/9/9/9/4K4 b R2B4Lr4g4s4n18p 1") // there is no end to the checks
	if err != nil {
		t.Fatal(err)
	}
	s := DefaultSearch()
	s.Simulations, s.MoveTime, s.MateNodes = 0, 20*time.Millisecond, 3_000_000
	n, err := NewNet("n", v, func() selfplay.Evaluator { return &counter{v: v, values: PieceValues(v)} }, s)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if _, err := n.Move(t.Context(), p, protocol.Limits{}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("%v", took)
	}
}
