package selfplay

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"testing"

	"kirin/dataset"
	"kirin/mcts"
	"kirin/rules"
)

// hashEvaluator answers from the position alone, like a net would, and checks
// how it is used.
type hashEvaluator struct {
	pending []func()
	largest int
	fault   error
}

func (e *hashEvaluator) Add(p *rules.Position, moves []rules.Move, logits []float32, v *rules.Value) {
	key := p.CacheKey()
	moves = slices.Clone(moves)
	e.pending = append(e.pending, func() {
		for i, m := range moves {
			h := (key ^ uint64(m)) * 0x9e3779b97f4a7c15
			logits[i] = float32(h>>40) / (1 << 23)
		}
		x := float32(key*0xd1342543de82ef95>>40) / (1 << 24)
		*v = rules.Value{Win: x * 0.9, Draw: 0.1, Loss: 0.9 - x*0.9}
	})
}

func (e *hashEvaluator) Flush() error {
	e.largest = max(e.largest, len(e.pending))
	for _, f := range e.pending {
		f()
	}
	e.pending = e.pending[:0]
	return e.fault
}

// collector is a Sink that keeps the games by number.
type collector struct {
	mu    sync.Mutex
	games map[int64]*dataset.Game
	fault error
}

func (c *collector) Append(g *dataset.Game) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.games == nil {
		c.games = map[int64]*dataset.Game{}
	}
	c.games[g.Number] = g
	return c.fault
}

// numbers is a Source of the games first, first+1, ... last.
type numbers struct {
	next, last int64
	eval       Evaluator
}

func (n *numbers) Next(context.Context) (Assignment, bool) {
	if n.next > n.last {
		return Assignment{}, false
	}
	n.next++
	return Assignment{Number: n.next - 1, Seed: uint64(n.next) * 77, Net: "net", Eval: n.eval}, true
}

func testConfig(t testing.TB, games int) Config {
	t.Helper()
	v, err := rules.Load("minishogi", "max_plies=60")
	if err != nil {
		t.Fatal(err)
	}
	o := DefaultOptions()
	o.Games, o.MateNodes = games, 50
	s := mcts.DefaultOptions()
	s.Simulations = 8
	return Config{Variant: v, Options: o, Search: s, Template: dataset.Game{Config: "c", Version: "v", Kernel: "k"}}
}

func play(t testing.TB, cfg Config, first, last int64) map[int64]*dataset.Game {
	t.Helper()
	sink := &collector{}
	if err := NewWorker(cfg).Run(t.Context(), &numbers{first, last, &hashEvaluator{}}, sink); err != nil {
		t.Fatal(err)
	}
	return sink.games
}

func TestAGameDependsOnItsAssignmentOnly(t *testing.T) {
	for _, leafMates := range []int{0, 20} {
		cfg := testConfig(t, 7)
		cfg.Options.LeafMateNodes = leafMates
		together := play(t, cfg, 0, 11)
		if len(together) != 12 {
			t.Fatalf("%d games, want 12", len(together))
		}
		cfg.Options.Games = 1
		for n, g := range together {
			alone := play(t, cfg, n, n)
			if !reflect.DeepEqual(g, alone[n]) {
				t.Errorf("game %d differs when it is played alone", n)
			}
		}
	}
}

func TestMatesAtLeavesAreSeenByTheSearch(t *testing.T) {
	cfg := testConfig(t, 4)
	cfg.Options.MateNodes, cfg.Options.LeafMateNodes = 0, 50
	w := NewWorker(cfg)
	sink := &collector{}
	if err := w.Run(t.Context(), &numbers{0, 19, &hashEvaluator{}}, sink); err != nil {
		t.Fatal(err)
	}
	proven := 0
	for _, g := range sink.games {
		if g.Outcome.Reason == rules.MateProven {
			proven++
		}
	}
	if w.Stats.LeafMates.Load() == 0 || w.Stats.ProvenRoots.Load() == 0 || proven == 0 {
		t.Errorf("%d mates at leaves, %d proven roots, %d games end by a proof", w.Stats.LeafMates.Load(), w.Stats.ProvenRoots.Load(), proven)
	}
}

func TestGamesAreLegalAndEndAsTheRulesSay(t *testing.T) {
	cfg := testConfig(t, 8)
	plies := 0
	for n, g := range play(t, cfg, 0, 23) {
		p, err := cfg.Variant.ParseSFEN(g.Start)
		if err != nil {
			t.Fatal(err)
		}
		for i, ply := range g.Plies {
			moves := p.AppendMoves(nil)
			if o := p.Outcome(len(moves)); o.Result != rules.Ongoing {
				t.Fatalf("game %d goes on at ply %d after %v", n, i, o)
			}
			if !slices.Contains(moves, ply.Move) {
				t.Fatalf("game %d ply %d: illegal move", n, i)
			}
			sum := 0
			for _, w := range ply.Target {
				if !slices.Contains(moves, w.Move) {
					t.Fatalf("game %d ply %d: a target move is illegal", n, i)
				}
				sum += int(w.Weight)
			}
			if ply.Flags&dataset.Full != 0 && (sum < 60000 || sum > 65600) {
				t.Errorf("game %d ply %d: target weights sum to %d", n, i, sum)
			}
			p.Do(ply.Move)
			plies++
		}
		moves := p.AppendMoves(nil)
		o := p.Outcome(len(moves))
		if g.Outcome.Reason != rules.MateProven && o != g.Outcome {
			t.Errorf("game %d ended with %v, the rules say %v", n, g.Outcome, o)
		}
		if g.Outcome.Reason == rules.MateProven && o.Result != rules.Ongoing && o.Result != g.Outcome.Result {
			t.Errorf("game %d was called proven %v, the rules say %v", n, g.Outcome, o)
		}
	}
	if plies < 100 {
		t.Errorf("only %d plies were played", plies)
	}
}

func TestACapEndsAGameWithoutAResult(t *testing.T) {
	cfg := testConfig(t, 2)
	cfg.Options.CapPlies, cfg.Options.MateNodes = 5, 0
	for n, g := range play(t, cfg, 0, 5) {
		if len(g.Plies) > 5 {
			t.Errorf("game %d has %d plies", n, len(g.Plies))
		}
		if len(g.Plies) == 5 && g.Outcome.Reason == rules.Adjudicated && !g.Truncated {
			t.Errorf("game %d is not marked as truncated", n)
		}
	}
}

func TestTheBatchHoldsOneLeafOfEachGame(t *testing.T) {
	e := &hashEvaluator{}
	cfg := testConfig(t, 5)
	if err := NewWorker(cfg).Run(t.Context(), &numbers{0, 9, e}, &collector{}); err != nil {
		t.Fatal(err)
	}
	if e.largest != 5 {
		t.Errorf("the largest batch held %d positions, want 5", e.largest)
	}
}

func TestRunEndsWithTheContextAndWithErrors(t *testing.T) {
	cfg := testConfig(t, 2)
	ctx, cancel := context.WithCancel(t.Context())
	cfg.Watch = func(*dataset.Game, *rules.Position) { cancel() }
	if err := NewWorker(cfg).Run(ctx, &numbers{0, 1 << 40, &hashEvaluator{}}, &collector{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled worker returned %v", err)
	}
	cfg.Watch = nil
	fault := errors.New("no")
	if err := NewWorker(cfg).Run(t.Context(), &numbers{0, 1, &hashEvaluator{fault: fault}}, &collector{}); !errors.Is(err, fault) {
		t.Errorf("an evaluator's fault came back as %v", err)
	}
	if err := NewWorker(cfg).Run(t.Context(), &numbers{0, 1, &hashEvaluator{}}, &collector{fault: fault}); !errors.Is(err, fault) {
		t.Errorf("a sink's fault came back as %v", err)
	}
}

func TestTwoNetsMayPlayAtTheSameTime(t *testing.T) {
	cfg := testConfig(t, 4)
	a, b := &hashEvaluator{}, &hashEvaluator{}
	src := &alternating{evals: [2]*hashEvaluator{a, b}}
	sink := &collector{}
	if err := NewWorker(cfg).Run(t.Context(), src, sink); err != nil {
		t.Fatal(err)
	}
	if len(sink.games) != 8 || a.largest == 0 || b.largest == 0 {
		t.Errorf("%d games, batches of %d and %d", len(sink.games), a.largest, b.largest)
	}
}

type alternating struct {
	n     int64
	evals [2]*hashEvaluator
}

func (s *alternating) Next(context.Context) (Assignment, bool) {
	if s.n == 8 {
		return Assignment{}, false
	}
	s.n++
	return Assignment{Number: s.n, Seed: uint64(s.n), Net: []string{"a", "b"}[s.n%2], Eval: s.evals[s.n%2]}, true
}

func TestOptionsReportEveryFault(t *testing.T) {
	o := Options{
		Games: 0, OpeningPlies: -1, OpeningShare: 2, OpeningTemperature: -1, HandicapShare: 0.5, StartShare: 0.4, SideShare: 0.3,
		MateNodes: -1, PlayOutMates: -1, CapPlies: -1, ResignBelow: 0.5, ResignPlayOut: 2, DecidedAbove: 0.4, DecidedShare: -1,
	}
	err := o.Validate()
	j, ok := err.(interface{ Unwrap() []error })
	if !ok || len(j.Unwrap()) != 15 {
		t.Errorf("got %v, want fifteen faults", err)
	}
	if err := DefaultOptions().Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
}
