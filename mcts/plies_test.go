package mcts

import (
	"context"
	"testing"

	"kirin/rules"
)

// timed is a batch that knows the plies left.
type timed struct{ batch[*wide] }

func (b *timed) AddPlies(g *wide, moves []rules.Move, logits []float32, v *rules.Value, plies *float32) {
	b.Add(g, moves, logits, v)
	left := float32(60)
	if len(g.path) > 0 && g.path[0] == 3 {
		left = 10
	}
	b.queue = append(b.queue, func() { *plies = left })
}

func TestADriverEndsAWonGameSoonerIfItsEvaluatorsKnowThePliesLeft(t *testing.T) {
	won := func(g Game, _ []rules.Move, _ []float32) rules.Value {
		path := g.(*wide).path
		win := float32(0.95)
		if len(path) > 0 && path[0] == 3 {
			win = 0.945
		}
		v := rules.Value{Win: win, Loss: 1 - win}
		if len(path)%2 == 1 {
			v = v.Flip()
		}
		return v
	}
	best := func(threads int, slack float64, newEvaluator func() Evaluator[*wide]) rules.Move {
		o := DefaultDriverOptions()
		o.Threads, o.Batch, o.Search.MaxBytes, o.Search.MovesLeftSlack = threads, 1, 8<<20, slack
		d := NewDriver(o, 4, func() *wide { return &wide{} }, newEvaluator)
		// The second search goes on with a tree that has been cut.
		g := &wide{count: 4}
		if err := d.Search(context.Background(), g, 600, nil); err != nil {
			t.Fatal(err)
		}
		var m rules.Move
		d.Read(func(tree *Tree) { m = tree.RootMoves()[tree.Best()] })
		if !d.Advance(m) {
			t.Fatal("nothing is kept")
		}
		g.Do(m)
		if err := d.Resume(context.Background(), g, 100, nil); err != nil {
			t.Fatal(err)
		}
		return m
	}
	cache := NewCache[*wide](1 << 20)
	plain := func() Evaluator[*wide] { return &batch[*wide]{f: won} }
	knowing := func() Evaluator[*wide] { return &timed{batch[*wide]{f: won}} }
	// What was put there without plies is asked again.
	best(1, 0, func() Evaluator[*wide] { return cache.Wrap(plain()) })
	for _, c := range []struct {
		name    string
		threads int
		slack   float64
		eval    func() Evaluator[*wide]
		sooner  bool
	}{
		{"one thread", 1, 0.02, knowing, true},
		{"two threads", 2, 0.02, knowing, true},
		{"through a cache", 1, 0.02, func() Evaluator[*wide] { return cache.Wrap(knowing()) }, true},
		{"from the cache", 1, 0.02, func() Evaluator[*wide] { return cache.Wrap(knowing()) }, true},
		{"switched off", 1, 0, knowing, false},
		{"not knowing", 1, 0.02, plain, false},
		{"a cache of one not knowing", 1, 0.02, func() Evaluator[*wide] { return NewCache[*wide](1 << 20).Wrap(plain()) }, false},
	} {
		if m := best(c.threads, c.slack, c.eval); (m == 3) != c.sooner {
			t.Errorf("%s: plays %d", c.name, m)
		}
	}
}
