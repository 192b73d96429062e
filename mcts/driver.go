package mcts

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"kirin/rules"
)

// Copyable is a Game of which each thread of a Driver keeps a copy;
// *rules.Position is one.
type Copyable[G any] interface {
	Game
	CopyFrom(G)
}

// Evaluator answers positions in batches. Each thread has its own.
type Evaluator[G any] interface {
	// Add asks for logits (aligned with moves) and a value of g's position, which are
	// written at the next Flush. It reads g and moves before it returns.
	Add(g G, moves []rules.Move, logits []float32, v *rules.Value)
	// Flush answers everything added.
	Flush() error
}

// PliesEvaluator is an Evaluator that also knows how many plies are left in the
// game. A Driver uses it, if its evaluators are all such, to end won games.
type PliesEvaluator[G any] interface {
	Evaluator[G]
	// AddPlies is Add; plies gets the estimate at the next Flush.
	AddPlies(g G, moves []rules.Move, logits []float32, v *rules.Value, plies *float32)
}

// Prover knows certain results of some positions without an evaluator, as a short
// mate search does. Each thread has its own.
type Prover[G any] interface {
	// Prove looks at g and leaves it as it was. It returns the result to which both
	// sides doing their best come, so many plies later; Ongoing where it knows none.
	Prove(g G) (o rules.Outcome, plies int)
}

// DriverOptions are those of a search with several threads.
type DriverOptions struct {
	// Threads is the number of threads; with one a search is a function of the
	// position, the tree and the random source.
	Threads int `yaml:"threads"`
	// Batch is the most leaves that one thread has pending, since a net answers several faster than one after the other.
	// In a small tree they would go astray: there are at most one more than leavesPerVisit times the root's visits.
	Batch int `yaml:"batch"`
	// Search are the constants of the tree. Without MaxBytes its memory is not bounded.
	Search Options `yaml:"search"`
}

// DefaultDriverOptions are for play: PUCT in one thread, in at most 256 MiB.
func DefaultDriverOptions() DriverOptions {
	o := DefaultOptions()
	o.Algorithm = PUCT
	o.MaxBytes = 256 << 20
	return DriverOptions{Threads: 1, Batch: 4, Search: o}
}

// Validate reports every fault at once, each beginning with its key.
func (o DriverOptions) Validate() error {
	errs := []error{o.Search.Validate()}
	if o.Threads < 1 || o.Threads > 1024 {
		errs = append(errs, fmt.Errorf("threads: %d is not in 1..1024", o.Threads))
	}
	if o.Batch < 1 || o.Batch > 1024 {
		errs = append(errs, fmt.Errorf("batch: %d is not in 1..1024", o.Batch))
	}
	return errors.Join(errs...)
}

// leavesPerVisit bounds what may be pending by what is known.
const leavesPerVisit = 1.0 / 16

// Driver searches one tree with several threads. The tree is walked by one thread
// at a time; what takes long, the evaluation, runs beside it. Leaves that wait for
// their answers count as lost (virtual loss; Chaslot, Winands, van den Herik:
// Parallel Monte-Carlo tree search, 2008), which sends the other threads
// elsewhere.
//
// Search, Resume and Advance must not run at the same time; Read may at any time.
type Driver[G Copyable[G]] struct {
	o       DriverOptions
	mu      sync.Mutex
	arrived sync.Cond // an answer has come in
	tree    *Tree
	threads []thread[G]
	faults  int64 // of the tree, already reported
	err     error
}

// thread is the memory of one thread.
type thread[G Copyable[G]] struct {
	game   G
	eval   Evaluator[G]
	timed  PliesEvaluator[G] // eval, if every thread's is one; else nil
	prover Prover[G]         // nil: none
	leaves []int32
	logits [][]float32 // by leaf, with room for every move
	counts []int
	values []rules.Value
	plies  []float32
}

// NewDriver returns a driver for games with at most maxMoves moves in a position.
// newGame makes the copies of the game, newEvaluator the evaluators, each
// Threads times. o must be valid.
func NewDriver[G Copyable[G]](o DriverOptions, maxMoves int, newGame func() G, newEvaluator func() Evaluator[G]) *Driver[G] {
	d := &Driver[G]{o: o, tree: NewTree(o.Search, maxMoves), threads: make([]thread[G], o.Threads)}
	d.arrived.L = &d.mu
	for i := range d.threads {
		t := &d.threads[i]
		t.game, t.eval = newGame(), newEvaluator()
		t.leaves = make([]int32, 0, o.Batch)
		t.counts = make([]int, o.Batch)
		t.values = make([]rules.Value, o.Batch)
		t.plies = make([]float32, o.Batch)
		t.logits = make([][]float32, o.Batch)
		for j := range t.logits {
			t.logits[j] = make([]float32, maxMoves)
		}
	}
	d.timed()
	return d
}

// Consult lets a prover of each thread's own, made by newProver, look at every leaf
// but the root before the evaluator is asked; nil: none. It must not be called during
// a search.
func (d *Driver[G]) Consult(newProver func() Prover[G]) {
	for i := range d.threads {
		d.threads[i].prover = nil
		if newProver != nil {
			d.threads[i].prover = newProver()
		}
	}
}

// timed lets the threads ask for the plies left, if all of them can and it matters.
func (d *Driver[G]) timed() {
	if d.o.Search.MovesLeftSlack <= 0 {
		return
	}
	for i := range d.threads {
		if !knowsPlies(d.threads[i].eval) {
			return
		}
	}
	for i := range d.threads {
		d.threads[i].timed = d.threads[i].eval.(PliesEvaluator[G])
	}
}

// knowsPlies tells whether an evaluator, or the one inside a cache's, answers with
// the plies left.
func knowsPlies[G Game](e Evaluator[G]) bool {
	if c, ok := e.(*caching[G]); ok {
		return c.timed != nil
	}
	_, ok := e.(PliesEvaluator[G])
	return ok
}

// Search starts from nothing at g's position and searches until sims simulations
// are done, the root is proven, the memory is used up, or ctx is done, which is
// seen between two evaluations. Only an evaluator that fails, or gives an answer
// that is not finite, is an error; ctx is not.
// g is left alone.
func (d *Driver[G]) Search(ctx context.Context, g G, sims int, rng *rand.Rand) error {
	d.mu.Lock()
	d.tree.Reset(g, sims, rng)
	d.mu.Unlock()
	return d.run(ctx, g)
}

// Resume is Search on the tree as it is, whose root is g's position.
func (d *Driver[G]) Resume(ctx context.Context, g G, sims int, rng *rand.Rand) error {
	d.mu.Lock()
	d.tree.Resume(g, sims, rng)
	d.mu.Unlock()
	return d.run(ctx, g)
}

// Advance makes the position after m the root (see Tree.Advance).
func (d *Driver[G]) Advance(m rules.Move) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.tree.Advance(m)
}

// Read calls f with the tree, which f must only read, while no thread changes it.
func (d *Driver[G]) Read(f func(*Tree)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f(d.tree)
}

func (d *Driver[G]) run(ctx context.Context, g G) error {
	d.err = nil
	for i := range d.threads {
		d.threads[i].game.CopyFrom(g)
	}
	// Threads that wait for each other's answers must hear of the end as well. This may run when the search is over and
	// another has begun, so it changes nothing; the lock makes sure that a thread either sees ctx's end or waits already.
	undo := context.AfterFunc(ctx, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.arrived.Broadcast()
	})
	defer undo()
	var others sync.WaitGroup
	for i := 1; i < len(d.threads); i++ {
		others.Go(func() { d.work(ctx, &d.threads[i]) })
	}
	d.work(ctx, &d.threads[0])
	others.Wait()
	return d.err
}

// work is one thread's search.
func (d *Driver[G]) work(ctx context.Context, t *thread[G]) {
	for {
		if !d.gather(ctx, t) {
			return
		}
		err := t.eval.Flush()
		d.mu.Lock()
		for i, leaf := range t.leaves {
			if err != nil { // the tree must not keep pending leaves
				d.tree.Expand(leaf, nil, rules.Value{Draw: 1})
				continue
			}
			if t.timed != nil {
				d.tree.ExpandPlies(leaf, t.logits[i][:t.counts[i]], t.values[i], t.plies[i])
			} else {
				d.tree.Expand(leaf, t.logits[i][:t.counts[i]], t.values[i])
			}
		}
		if n := d.tree.Faults(); n > d.faults && err == nil {
			d.faults, err = n, errors.New("an answer is not finite")
		}
		if err != nil && d.err == nil {
			d.err = fmt.Errorf("evaluate: %w", err)
		}
		d.mu.Unlock()
		d.arrived.Broadcast()
	}
}

// gather fills the thread's batch; false: the search is over.
func (d *Driver[G]) gather(ctx context.Context, t *thread[G]) bool {
	t.leaves = t.leaves[:0]
	for len(t.leaves) < d.o.Batch {
		d.mu.Lock()
		if float64(len(t.leaves)) > leavesPerVisit*float64(d.tree.nodes[root].visits) {
			d.mu.Unlock()
			break
		}
		leaf, moves, depth, ok := d.next(ctx, t)
		d.mu.Unlock()
		if !ok {
			break
		}
		if depth > 0 && d.prove(t, leaf, depth) {
			continue
		}
		i := len(t.leaves)
		t.leaves = append(t.leaves, leaf)
		t.counts[i] = len(moves)
		if t.timed != nil {
			t.timed.AddPlies(t.game, moves, t.logits[i][:len(moves)], &t.values[i], &t.plies[i])
		} else {
			t.eval.Add(t.game, moves, t.logits[i][:len(moves)], &t.values[i])
		}
		for range depth {
			t.game.Undo()
		}
	}
	return len(t.leaves) > 0
}

// prove asks the thread's prover about the leaf at which its game stands; true: the
// leaf is settled, and the game back at the root.
func (d *Driver[G]) prove(t *thread[G], leaf int32, depth int) bool {
	if t.prover == nil {
		return false
	}
	o, plies := t.prover.Prove(t.game)
	if o.Result == rules.Ongoing {
		return false
	}
	for range depth {
		t.game.Undo()
	}
	d.mu.Lock()
	d.tree.Prove(leaf, o, plies)
	d.mu.Unlock()
	d.arrived.Broadcast()
	return true
}

// next gives the thread a leaf. When there is none before an answer arrives it
// waits for other threads' answers, unless the thread itself has leaves to
// evaluate.
func (d *Driver[G]) next(ctx context.Context, t *thread[G]) (leaf int32, moves []rules.Move, depth int, ok bool) {
	for {
		// Without its evaluation the root has no move to play.
		known := d.tree.nodes[root].state == expanded
		if d.err != nil || known && ctx.Err() != nil {
			return 0, nil, 0, false
		}
		leaf, moves, ok := d.tree.Next(t.game)
		if ok {
			depth := d.tree.depth
			d.tree.depth = 0
			return leaf, moves, depth, true
		}
		if d.tree.Done() || len(t.leaves) > 0 {
			return 0, nil, 0, false
		}
		if d.tree.Pending() > 0 {
			d.arrived.Wait()
		}
	}
}
