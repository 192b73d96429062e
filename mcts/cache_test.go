package mcts

import (
	"context"
	"slices"
	"testing"

	"kirin/rules"
)

func TestACachedSearchIsThePlainSearch(t *testing.T) {
	for _, bytes := range []int64{1 << 22, 1 << 14} { // the small one forgets
		o := DefaultDriverOptions()
		o.Batch, o.Search.MaxBytes = 1, 8<<20
		g := &tictactoe{own: [2]uint{1, 0}, side: rules.Gote}
		run := func(wrap func(Evaluator[*tictactoe]) Evaluator[*tictactoe]) (out []int) {
			d := NewDriver(o, 9, func() *tictactoe { return &tictactoe{} }, func() Evaluator[*tictactoe] {
				return wrap(&batch[*tictactoe]{f: random})
			})
			if err := d.Search(context.Background(), g, 3000, nil); err != nil {
				t.Fatal(err)
			}
			d.Read(func(tree *Tree) { out = visits(tree) })
			return out
		}
		cache := NewCache[*tictactoe](bytes)
		plain := run(func(e Evaluator[*tictactoe]) Evaluator[*tictactoe] { return e })
		for range 2 {
			if got := run(cache.Wrap); !slices.Equal(got, plain) {
				t.Errorf("visits %v, without the cache %v", got, plain)
			}
		}
		hits, asked := cache.Hits()
		if bytes == 1<<22 && (hits < asked/2 || hits == asked) {
			t.Errorf("%d of %d positions known", hits, asked)
		}
		cache.Clear()
		if hits, asked := cache.Hits(); hits+asked != 0 {
			t.Error("not cleared")
		}
	}
}

func TestACacheIsSharedByThreads(t *testing.T) {
	o := DefaultDriverOptions()
	o.Threads, o.Search.MaxBytes = 4, 8<<20
	cache := NewCache[*tictactoe](1 << 16)
	d := NewDriver(o, 9, func() *tictactoe { return &tictactoe{} }, func() Evaluator[*tictactoe] {
		return cache.Wrap(&batch[*tictactoe]{f: random})
	})
	if err := d.Search(context.Background(), &tictactoe{}, 3000, nil); err != nil {
		t.Fatal(err)
	}
	d.Read(func(tree *Tree) { checkSums(t, tree) })
	if hits, asked := cache.Hits(); hits == 0 || asked < 1000 {
		t.Errorf("%d of %d positions known", hits, asked)
	}
}
