package mcts

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"kirin/rules"
)

// batch is an evaluator with an answer function; it counts and may be slow or
// fail.
type batch[G Game] struct {
	f     answer
	delay time.Duration
	fail  int // the Flush that fails, from 1
	flush int
	queue []func()
}

func (b *batch[G]) Add(g G, moves []rules.Move, logits []float32, v *rules.Value) {
	l := make([]float32, len(logits))
	x := b.f(g, moves, l)
	b.queue = append(b.queue, func() {
		copy(logits, l)
		*v = x
	})
}

var errBroken = errors.New("broken")

func (b *batch[G]) Flush() error {
	time.Sleep(b.delay)
	if b.flush++; b.flush == b.fail {
		return errBroken
	}
	for _, f := range b.queue {
		f()
	}
	b.queue = b.queue[:0]
	return nil
}

func driver(threads, size int, f answer, delay time.Duration) *Driver[*wide] {
	o := DefaultDriverOptions()
	o.Threads, o.Batch = threads, size
	o.Search.MaxBytes = 8 << 20
	return NewDriver(o, 20, func() *wide { return &wide{} }, func() Evaluator[*wide] {
		return &batch[*wide]{f: f, delay: delay}
	})
}

func visits(t *Tree) []int {
	var out []int
	for i := range t.RootMoves() {
		out = append(out, t.Visits(i))
	}
	return out
}

func TestOneThreadWithoutBatchesIsThePlainSearch(t *testing.T) {
	g := &wide{count: 20}
	d := driver(1, 1, random, 0)
	if err := d.Search(context.Background(), g, 700, rand.New(rand.NewPCG(1, 1))); err != nil {
		t.Fatal(err)
	}
	tree := NewTree(options(PUCT), 20)
	search(tree, g, 700, rand.New(rand.NewPCG(1, 1)), random)
	d.Read(func(got *Tree) {
		if !slices.Equal(visits(got), visits(tree)) || got.Best() != tree.Best() {
			t.Errorf("visits %v, plain %v", visits(got), visits(tree))
		}
	})
}

func TestOneThreadIsDeterministic(t *testing.T) {
	run := func() (out []int) {
		d := driver(1, 8, random, 0)
		g := &wide{count: 20}
		if err := d.Search(context.Background(), g, 500, nil); err != nil {
			t.Fatal(err)
		}
		d.Read(func(tree *Tree) { out = append(visits(tree), tree.Best()) })
		return out
	}
	if a, b := run(), run(); !slices.Equal(a, b) {
		t.Errorf("%v and %v", a, b)
	}
}

func TestManyThreadsShareOneTree(t *testing.T) {
	for _, algorithm := range []string{PUCT, Gumbel} {
		o := DefaultDriverOptions()
		o.Threads, o.Batch = 4, 4
		o.Search.Algorithm = algorithm
		o.Search.MaxBytes = 64 << 20
		d := NewDriver(o, 9, func() *tictactoe { return &tictactoe{} }, func() Evaluator[*tictactoe] {
			return &batch[*tictactoe]{f: uniform}
		})
		g := &tictactoe{}
		for range 5 {
			if err := d.Search(context.Background(), g, 50, nil); err != nil {
				t.Fatal(err)
			}
			d.Read(func(tree *Tree) {
				checkSums(t, tree)
				if tree.Started() != 50 || tree.Pending() != 0 {
					t.Errorf("%s: %d simulations, %d pending", algorithm, tree.Started(), tree.Pending())
				}
			})
		}
		if err := d.Resume(context.Background(), g, 200_000, nil); err != nil {
			t.Fatal(err)
		}
		d.Read(func(tree *Tree) {
			checkSums(t, tree)
			if out, ok := tree.Proven(); !ok || out.Result != rules.Draw {
				t.Errorf("%s: %v %v", algorithm, out, ok)
			}
		})
		if len(g.done) != 0 {
			t.Error("the caller's game has been moved")
		}
	}
}

func TestASearchStopsWithin50Milliseconds(t *testing.T) {
	for _, threads := range []int{1, 3} {
		d := driver(threads, 2, random, 5*time.Millisecond)
		g := &wide{count: 20}
		ctx, cancel := context.WithCancel(context.Background())
		var at time.Time
		go func() {
			time.Sleep(60 * time.Millisecond)
			at = time.Now()
			cancel()
		}()
		if err := d.Search(ctx, g, 1<<30, nil); err != nil {
			t.Fatal(err)
		}
		if late := time.Since(at); late > 50*time.Millisecond {
			t.Errorf("%d threads: stopped after %v", threads, late)
		}
		d.Read(func(tree *Tree) {
			if tree.Pending() != 0 || tree.Best() < 0 {
				t.Errorf("%d pending, best %d", tree.Pending(), tree.Best())
			}
			checkSums(t, tree)
		})
	}
}

func TestASearchThatMayNotBeginStillHasAMove(t *testing.T) {
	d := driver(2, 4, random, 0)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := d.Search(ctx, &wide{count: 20}, 1<<30, nil); err != nil {
		t.Fatal(err)
	}
	d.Read(func(tree *Tree) {
		if tree.Started() != 0 || tree.Best() < 0 {
			t.Errorf("%d simulations, best %d", tree.Started(), tree.Best())
		}
	})
}

func TestAFailingEvaluatorEndsTheSearch(t *testing.T) {
	o := DefaultDriverOptions()
	o.Threads, o.Search.MaxBytes = 3, 1<<20
	n := 0
	d := NewDriver(o, 20, func() *wide { return &wide{} }, func() Evaluator[*wide] {
		n++
		return &batch[*wide]{f: random, fail: n * 4}
	})
	err := d.Search(context.Background(), &wide{count: 20}, 1<<30, nil)
	if !errors.Is(err, errBroken) {
		t.Errorf("error %v", err)
	}
	d.Read(func(tree *Tree) {
		if tree.Pending() != 0 {
			t.Errorf("%d pending", tree.Pending())
		}
	})
}

func TestAnAnswerThatIsNotFiniteEndsTheSearch(t *testing.T) {
	o := DefaultDriverOptions()
	o.Search.MaxBytes = 1 << 20
	d := NewDriver(o, 20, func() *wide { return &wide{} }, func() Evaluator[*wide] {
		return &batch[*wide]{f: func(g Game, moves []rules.Move, l []float32) rules.Value {
			v := random(g, moves, l)
			if len(g.(*wide).path) == 2 {
				l[1] = float32(math.NaN())
			}
			return v
		}}
	})
	for range 2 {
		if err := d.Search(context.Background(), &wide{count: 20}, 1000, nil); err == nil || !strings.Contains(err.Error(), "not finite") {
			t.Errorf("error %v", err)
		}
	}
	if err := d.Search(context.Background(), &wide{count: 20}, 0, nil); err != nil {
		t.Errorf("the error stayed: %v", err)
	}
}

func TestTheTreeIsReusedBetweenMoves(t *testing.T) {
	d := driver(2, 4, random, 0)
	g := &wide{count: 20}
	if err := d.Search(context.Background(), g, 1000, nil); err != nil {
		t.Fatal(err)
	}
	var m rules.Move
	var before int
	d.Read(func(tree *Tree) {
		m = tree.RootMoves()[tree.Best()]
		before = tree.Visits(tree.Best())
	})
	g.Do(m)
	if !d.Advance(m) {
		t.Fatal("nothing kept")
	}
	if err := d.Resume(context.Background(), g, 100, nil); err != nil {
		t.Fatal(err)
	}
	d.Read(func(tree *Tree) {
		sum := 1
		for _, n := range visits(tree) {
			sum += n
		}
		if sum != before+100 {
			t.Errorf("%d visits, %d before and 100 new", sum, before)
		}
	})
}

func TestASearchEndsWhenMemoryIsUsedUp(t *testing.T) {
	o := DefaultDriverOptions()
	o.Threads, o.Search.MaxBytes = 2, 200_000
	d := NewDriver(o, 20, func() *wide { return &wide{} }, func() Evaluator[*wide] {
		return &batch[*wide]{f: random}
	})
	if err := d.Search(context.Background(), &wide{count: 20}, 1<<30, nil); err != nil {
		t.Fatal(err)
	}
	d.Read(func(tree *Tree) {
		if !tree.full || tree.Best() < 0 || tree.Bytes() > 200_000 || tree.Fill() < 700 {
			t.Errorf("full %v, %d bytes, %d thousandths", tree.full, tree.Bytes(), tree.Fill())
		}
	})
}

func TestTheTreeCanBeReadDuringASearch(t *testing.T) {
	d := driver(2, 2, random, time.Millisecond)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- d.Search(ctx, &wide{count: 20}, 1<<30, nil) }()
	last := 0
	for range 20 {
		time.Sleep(2 * time.Millisecond)
		d.Read(func(tree *Tree) {
			lines := tree.Lines(3)
			for i, l := range lines {
				if i == 0 && l.Index != tree.Best() || l.Moves[0] != tree.RootMoves()[l.Index] {
					t.Errorf("line %d: %+v", i, l)
				}
			}
			last = tree.Started()
		})
	}
	cancel()
	if err := <-done; err != nil || last == 0 {
		t.Errorf("%v after %d simulations", err, last)
	}
}

func TestLinesAreOrderedByWorth(t *testing.T) {
	tree := NewTree(options(PUCT), 20)
	search(tree, &wide{count: 20}, 500, nil, random)
	lines := tree.Lines(5)
	if len(lines) != 5 || lines[0].Index != tree.Best() {
		t.Fatalf("%+v", lines)
	}
	for i := 2; i < 5; i++ {
		if lines[i].Visits > lines[i-1].Visits {
			t.Errorf("line %d has %d visits, the one before %d", i, lines[i].Visits, lines[i-1].Visits)
		}
	}
	if average, deepest := tree.Depth(); average < 1 || deepest < 2 || average > float64(deepest) {
		t.Errorf("depth %v, %d", average, deepest)
	}
	g := &tictactoe{own: [2]uint{0b000000011, 0b000110000}}
	tree = NewTree(options(PUCT), 9)
	search(tree, g, 500, nil, uniform)
	if l := tree.Lines(1)[0]; !l.Proven || l.Plies != 1 || l.Value.Win != 1 || l.Moves[0] != 3 {
		t.Errorf("%+v", l)
	}
}

func TestDriverOptionsAreChecked(t *testing.T) {
	if err := DefaultDriverOptions().Validate(); err != nil {
		t.Error(err)
	}
	err := DriverOptions{}.Validate()
	for _, key := range []string{"threads: ", "batch: ", "algorithm: "} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%q is not reported in %v", key, err)
		}
	}
}

func TestAStoppedSearchDoesNotStopTheNext(t *testing.T) {
	v, err := rules.Load("minishogi")
	if err != nil {
		t.Fatal(err)
	}
	d := NewDriver(DefaultDriverOptions(), v.MaxMoves(), v.Start, func() Evaluator[*rules.Position] { return evenEvaluator{} })
	p := v.Start()
	for range 300 {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		if err := d.Search(ctx, p, 1<<20, nil); err != nil {
			t.Fatal(err)
		}
		if err := d.Search(t.Context(), p, 20, nil); err != nil {
			t.Fatal(err)
		}
		d.Read(func(tree *Tree) {
			if tree.Started() != 20 {
				t.Fatalf("%d of 20 simulations", tree.Started())
			}
		})
	}
}

// evenEvaluator answers every position alike.
type evenEvaluator struct{}

func (evenEvaluator) Add(_ *rules.Position, _ []rules.Move, logits []float32, v *rules.Value) {
	clear(logits)
	*v = rules.Value{Draw: 1}
}

func (evenEvaluator) Flush() error { return nil }

// lostAfter4 proves that whoever has played the move 4 has lost.
type lostAfter4 struct{ asked *atomic.Int64 }

func (x lostAfter4) Prove(g *wide) (rules.Outcome, int) {
	x.asked.Add(1)
	if n := len(g.path); n > 0 && g.path[n-1] == 4 {
		return rules.Outcome{Result: rules.Winner(g.Side()), Reason: rules.MateProven}, 5
	}
	return rules.Outcome{}, 0
}

func TestAProverSettlesLeavesBeforeTheEvaluatorIsAsked(t *testing.T) {
	for _, threads := range []int{1, 3} {
		d := driver(threads, 4, random, 0)
		var asked atomic.Int64
		d.Consult(func() Prover[*wide] { return lostAfter4{&asked} })
		g := &wide{count: 20}
		if err := d.Search(t.Context(), g, 2000, nil); err != nil {
			t.Fatal(err)
		}
		d.Read(func(tree *Tree) {
			checkSums(t, tree)
			out, plies, ok := tree.MoveProven(3)
			if !ok || out.Result != rules.GoteWins || plies != 6 || tree.RootMoves()[tree.Best()] == 4 || tree.Pending() != 0 {
				t.Errorf("%d threads: %v in %d, %t; best %v", threads, out, plies, ok, tree.RootMoves()[tree.Best()])
			}
		})
		if len(g.path) != 0 || asked.Load() < 1000 {
			t.Errorf("%d threads: the game stands at %v, the prover was asked %d times", threads, g.path, asked.Load())
		}
		if d.Advance(4) {
			t.Error("a settled position is kept without a move that shows why")
		}
		d.Consult(nil)
		before := asked.Load()
		if err := d.Search(t.Context(), g, 50, nil); err != nil || asked.Load() != before {
			t.Errorf("asked %d times more, %v", asked.Load()-before, err)
		}
	}
}

func TestFollowKeepsWhatIsKnownOfTheSameGame(t *testing.T) {
	v, err := rules.Load("minishogi")
	if err != nil {
		t.Fatal(err)
	}
	d := NewDriver(DefaultDriverOptions(), v.MaxMoves(), v.Start, func() Evaluator[*rules.Position] { return evenEvaluator{} })
	old := v.Start()
	if err := d.Search(t.Context(), old, 3000, nil); err != nil {
		t.Fatal(err)
	}
	var line []rules.Move
	d.Read(func(tree *Tree) { line = tree.PV(nil) })
	if len(line) < 2 {
		t.Fatalf("line %v", line)
	}
	p := old.Clone()
	p.Do(line[0])
	p.Do(line[1])
	if !Follow(d, old, p) {
		t.Fatal("nothing is kept of a game that goes on")
	}
	d.Read(func(tree *Tree) {
		if !slices.Equal(tree.RootMoves(), p.AppendMoves(nil)) || tree.Nodes() < 2 {
			t.Errorf("%d nodes, other moves than the position's", tree.Nodes())
		}
	})
	if Follow(d, p, old) {
		t.Error("a game that goes back is followed")
	}
	other := old.Clone()
	other.Do(old.AppendMoves(nil)[0])
	other.Do(other.AppendMoves(nil)[0])
	other.Do(other.AppendMoves(nil)[0])
	if other.MoveAt(0) != p.MoveAt(0) && Follow(d, p, other) {
		t.Error("another game is followed")
	}
}
