package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"kirin/mcts"
	"kirin/mcts/mate"
	"kirin/rules"
	"kirin/selfplay"
	"kirin/selfplay/protocol"
)

// control steers a search that runs on another goroutine.
type control struct {
	ctx    context.Context // ends when the search is to stop
	halt   context.CancelFunc
	start  time.Time    // of the search
	ponder atomic.Bool  // on the opponent's time: the clock does not count yet
	began  atomic.Int64 // since when it counts, in nanoseconds from start
}

// newControl begins the clock now.
func newControl(ponder bool) *control {
	c := &control{start: time.Now()}
	c.ctx, c.halt = context.WithCancel(context.Background())
	c.ponder.Store(ponder)
	return c
}

// hit tells that the opponent has played the expected move: the clock counts from now on.
func (c *control) hit() {
	c.began.Store(int64(c.spent()))
	c.ponder.Store(false)
}

// stopped tells whether the search has been told to stop.
func (c *control) stopped() bool { return c.ctx.Err() != nil }

// elapsed is the time on the clock. Setting the machine's clock does not change it.
func (c *control) elapsed() time.Duration { return c.spent() - time.Duration(c.began.Load()) }

// spent is the time since the search began, that on the opponent's time too: what its reports count by.
func (c *control) spent() time.Duration { return time.Since(c.start) }

// pvLine is one line of a report.
type pvLine struct {
	value rules.Value // for the side to move
	plies int         // with proven: to the end
	mate  bool        // proven win or loss
	moves []rules.Move
}

// report is what a search tells about itself.
type report struct {
	time            time.Duration
	depth, selDepth int
	nodes           int64
	hashfull        int // thousandths
	lines           []pvLine
}

// choice is the end of a search.
type choice struct {
	move   rules.Move // NoMove: none is legal
	ponder rules.Move // the reply expected, or NoMove
	resign bool
	win    bool // the game is won by declaration
	mate   mateAnswer
	last   report
}

// order is what a search is to do.
type order struct {
	limits  protocol.Limits
	options Options
	level   protocol.Level
	ctl     *control
	tell    func(report) // called from the thinking goroutine; nil: nobody listens
	stays   bool         // the search ends only when stopped (infinite, analysis)
	mate    bool         // look for a mate, nothing else
	start   string       // SFEN at which the game began
}

// driver is the search of our games.
type driver = mcts.Driver[*rules.Position]

// thinker owns a tree and searches with it, one search at a time.
type thinker struct {
	v       *rules.Variant
	net     Net
	eval    selfplay.Evaluator // for single questions
	driver  *driver
	threads int // of driver
	hashMB  int // of driver
	leafMax int // positions that driver's mate search looks at for a leaf; 0: it has none
	solver  *mate.Solver
	nodes   int64 // of solver
	root    *rules.Position
	game    *rules.Position
	start   string // SFEN at which root's game began
	known   bool   // the tree belongs to root
	moves   []rules.Move
	replies []rules.Move
	rng     *rand.Rand
}

// newThinker prepares a search for a variant and net.
func newThinker(v *rules.Variant, net Net) *thinker {
	return &thinker{
		v: v, net: net, eval: net.NewEvaluator(), root: v.Start(), game: v.Start(),
		rng: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)),
	}
}

// leaves is the number of positions that each thread lets the net look at together: more make it hardly faster, and
// "stop" wait for longer.
const leaves = 4

// prepare makes the arrays that a search with these options needs.
func (t *thinker) prepare(o Options) {
	if t.driver == nil || t.threads != o.Threads || t.hashMB != o.HashMB {
		d := mcts.DefaultDriverOptions()
		d.Threads, d.Batch = o.Threads, leaves
		// A part of the memory holds the net's answers, which all threads and orders of moves share.
		answers := int64(o.HashMB) << 20 / 8
		d.Search.MaxBytes = int64(o.HashMB)<<20 - answers
		cache := mcts.NewCache[*rules.Position](answers)
		newEval := func() mcts.Evaluator[*rules.Position] { return cache.Wrap(t.net.NewEvaluator()) }
		t.driver = mcts.NewDriver(d, t.v.MaxMoves(), t.v.Start, newEval)
		t.threads, t.hashMB, t.leafMax, t.known = o.Threads, o.HashMB, 0, false
	}
	if nodes := int64(o.MateNodes); nodes > 0 && (t.solver == nil || t.nodes != nodes) {
		m := mate.DefaultOptions()
		m.Nodes, m.TableBytes = nodes, 8<<20
		t.solver, t.nodes = mate.New(m), nodes
	}
}

// atLeaves lets the search look for short mates at its leaves, or not.
func (t *thinker) atLeaves(o order) {
	nodes := o.options.LeafMateNodes
	if o.level.Temperature > 0 {
		nodes = 0
	}
	if nodes == t.leafMax {
		return
	}
	if t.leafMax = nodes; nodes == 0 {
		t.driver.Consult(nil)
		return
	}
	t.driver.Consult(func() mcts.Prover[*rules.Position] { return mate.NewLeaves(nodes) })
}

// forget drops what is known from earlier searches.
func (t *thinker) forget() { t.known = false }

// follow makes p, a position of the game that began at start, the root of the tree, and keeps what is known about it if p
// comes after the old root in the same game.
func (t *thinker) follow(p *rules.Position, start string) {
	t.known = t.known && start == t.start && mcts.Follow(t.driver, t.root, p)
	t.root.CopyFrom(p)
	t.start = start
}

// reportEvery is the time between two reports of a search.
const reportEvery = 250 * time.Millisecond

// think searches p, which is not changed, and returns the move to play. Told to stop, it returns within one
// evaluation; a position that has not been evaluated yet is so first.
func (t *thinker) think(p *rules.Position, o order) (choice, error) {
	t.prepare(o.options)
	if o.mate {
		return choice{mate: t.solve(p, o)}, nil
	}
	t.atLeaves(o)
	t.follow(p, o.start)
	t.game.CopyFrom(p)
	moves := t.game.AppendMoves(nil)
	if len(moves) == 0 {
		return choice{resign: true}, nil
	}
	if out, ok := p.Declare(); ok && out.Result == rules.Winner(p.Side()) {
		return choice{win: true}, nil
	}
	if p.Outcome(len(moves)).Result != rules.Ongoing {
		return t.instinct(moves)
	}
	if c, ok := t.findMate(p, o); ok {
		return c, nil
	}
	if err := t.run(p, o, len(moves)); err != nil {
		return choice{}, err
	}
	var c choice
	if o.level.Temperature == 0 {
		c = t.settle(p, o)
	} else {
		c = t.choose(p, o)
	}
	// Whoever waits for the word to answer hears at once what a search that has ended by itself has found.
	if (o.stays || o.ctl.ponder.Load()) && !o.ctl.stopped() && o.tell != nil && len(c.last.lines) > 0 {
		o.tell(c.last)
	}
	return c, nil
}

// instinct answers in a position in which the game is over though there are moves, as after a repetition: a client that
// asks all the same gets the net's first thought.
func (t *thinker) instinct(moves []rules.Move) (choice, error) {
	t.known = false
	var v rules.Value
	logits := make([]float32, len(moves))
	t.eval.Add(t.game, moves, logits, &v)
	if err := t.eval.Flush(); err != nil {
		return choice{}, fmt.Errorf("evaluate: %w", err)
	}
	best := 0
	for i := range logits {
		if logits[i] > logits[best] {
			best = i
		}
	}
	return choice{move: moves[best]}, nil
}

// run searches until a limit is reached.
func (t *thinker) run(p *rules.Position, o order, nMoves int) error {
	budget := int64(1 << 30)
	if o.limits.Nodes > 0 {
		budget = min(budget, o.limits.Nodes)
	}
	budget = min(budget, int64(o.level.Nodes))
	watch := &stopwatch{o: o, limit: t.allot(p, o), moves: nMoves}
	ctx, cancel := context.WithCancel(o.ctl.ctx)
	defer cancel()
	var watching sync.WaitGroup
	watching.Go(func() { t.watch(ctx, cancel, watch) })
	defer watching.Wait()
	defer cancel()
	if !t.known {
		if err := t.driver.Search(ctx, t.game, 1, nil); err != nil {
			return err
		}
		budget--
	}
	t.known = true
	if o.level.Temperature == 0 {
		t.guard(ctx, watch.limit)
	}
	if err := t.driver.Resume(ctx, t.game, int(budget), nil); err != nil {
		t.known = false
		return err
	}
	return nil
}

// allot is the time for a move in p.
func (t *thinker) allot(p *rules.Position, o order) allotment {
	return allot(o.limits, p.Side(), t.v.Name(), o.options.MoveOverhead)
}

// mateShare is the part of a move's time, if that is bounded, after which the mate search before the search gives up.
const mateShare = 2

// mates looks for a forced mate in t.game, which stands at p.
func (t *thinker) mates(p *rules.Position, o order) mate.Result {
	limit := t.allot(p, o)
	t.solver.Interrupt = func() bool {
		return o.ctl.stopped() || limit.bound && o.ctl.elapsed() >= limit.soft/mateShare
	}
	return t.solver.Solve(t.game)
}

// findMate looks for a forced mate before the search.
func (t *thinker) findMate(p *rules.Position, o order) (choice, bool) {
	if o.options.MateNodes == 0 || o.level.Temperature > 0 || o.stays || o.ctl.ponder.Load() {
		return choice{}, false
	}
	r := t.mates(p, o)
	if r.Status != mate.Mate || len(r.PV) == 0 {
		return choice{}, false
	}
	c := choice{move: r.PV[0], last: report{
		time: o.ctl.spent(), depth: r.Plies, selDepth: r.Plies, nodes: r.Nodes,
		lines: []pvLine{{value: rules.Value{Win: 1}, mate: true, plies: r.Plies, moves: slices.Clone(r.PV)}},
	}}
	if len(r.PV) > 1 {
		c.ponder = r.PV[1]
	}
	return c, true
}

// openingPlies is how long Options.OpeningTemperature holds.
const openingPlies = 12

// choose makes the move's choice from the tree.
func (t *thinker) choose(p *rules.Position, o order) choice {
	c := choice{resign: true}
	t.driver.Read(func(tree *mcts.Tree) {
		moves := tree.RootMoves()
		if len(moves) == 0 {
			return
		}
		i := o.level.Choose(len(moves), tree.Best(), tree.Visits, t.rng)
		if warm := o.options.OpeningTemperature; warm > 0 && o.level.Temperature == 0 && p.Ply() < openingPlies {
			i = tree.Sample(t.rng, float64(warm)/100)
		}
		c = choice{move: moves[i], last: makeReport(tree, o)}
		if line := tree.Line(nil, i); len(line) > 1 {
			c.ponder = line[1]
		}
		c.resign = o.options.ResignBelow > 0 && p.Ply() > 10 && 100*tree.RootValue().Score() < float32(o.options.ResignBelow)
	})
	return c
}

// makeReport reads the tree.
func makeReport(tree *mcts.Tree, o order) report {
	average, deepest := tree.Depth()
	r := report{
		time: o.ctl.spent(), nodes: int64(tree.Started()), depth: int(average + 0.5), selDepth: deepest, hashfull: tree.Fill(),
	}
	for _, l := range tree.Lines(o.options.MultiPV) {
		line := pvLine{value: l.Value, moves: l.Moves}
		if l.Proven && (l.Value.Win == 1 || l.Value.Loss == 1) {
			line.mate, line.plies = true, l.Plies
		}
		r.lines = append(r.lines, line)
		r.selDepth = max(r.selDepth, len(l.Moves))
	}
	return r
}
