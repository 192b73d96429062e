package mcts

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"kirin/rules"
)

func TestACachedSearchIsThePlainSearch(t *testing.T) {
	for _, bytes := range []int64{1 << 22, 1 << 14} { // the small one forgets
		o := DefaultDriverOptions()
		o.Batch, o.Search.MaxBytes = 1, 8<<20
		g := &tictactoe{own: [2]uint{1, 0}, side: rules.Gote}
		asked := 0 // of the evaluator itself
		counted := func(g Game, moves []rules.Move, logits []float32) rules.Value {
			asked++
			return random(g, moves, logits)
		}
		run := func(wrap func(Evaluator[*tictactoe]) Evaluator[*tictactoe]) (out []int) {
			asked = 0
			d := NewDriver(o, 9, func() *tictactoe { return &tictactoe{} }, func() Evaluator[*tictactoe] {
				return wrap(&batch[*tictactoe]{f: counted})
			})
			if err := d.Search(context.Background(), g, 3000, nil); err != nil {
				t.Fatal(err)
			}
			d.Read(func(tree *Tree) { out = visits(tree) })
			return out
		}
		cache := NewCache[*tictactoe](bytes)
		plain := run(func(e Evaluator[*tictactoe]) Evaluator[*tictactoe] { return e })
		all := asked
		for again := range 2 {
			if got := run(cache.Wrap); !slices.Equal(got, plain) {
				t.Errorf("visits %v, without the cache %v", got, plain)
			}
			if bytes == 1<<22 && (asked == 0 && again == 0 || asked >= all || again == 1 && asked > all/10) {
				t.Errorf("search %d asks for %d positions, without the cache %d", again+1, asked, all)
			}
		}
	}
}

func TestACacheIsSharedByThreads(t *testing.T) {
	o := DefaultDriverOptions()
	o.Threads, o.Search.MaxBytes = 4, 8<<20
	cache := NewCache[*tictactoe](1 << 16)
	var asked atomic.Int64
	d := NewDriver(o, 9, func() *tictactoe { return &tictactoe{} }, func() Evaluator[*tictactoe] {
		return cache.Wrap(&batch[*tictactoe]{f: func(g Game, moves []rules.Move, logits []float32) rules.Value {
			asked.Add(1)
			return random(g, moves, logits)
		}})
	})
	if err := d.Search(context.Background(), &tictactoe{}, 3000, nil); err != nil {
		t.Fatal(err)
	}
	d.Read(func(tree *Tree) {
		checkSums(t, tree)
		if n := asked.Load(); n == 0 || int(n) >= tree.Started() {
			t.Errorf("%d positions asked for in %d simulations", n, tree.Started())
		}
	})
}
