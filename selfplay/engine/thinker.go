package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
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
	stop   atomic.Bool
	ponder atomic.Bool  // on the opponent's time: the clock does not count yet
	began  atomic.Int64 // since when it counts, Unix nanoseconds
}

// newControl begins the clock now.
func newControl(ponder bool) *control {
	c := &control{}
	c.ponder.Store(ponder)
	c.began.Store(time.Now().UnixNano())
	return c
}

// hit tells that the opponent has played the expected move: the clock counts from now on.
func (c *control) hit() {
	c.began.Store(time.Now().UnixNano())
	c.ponder.Store(false)
}

func (c *control) elapsed() time.Duration {
	return time.Duration(time.Now().UnixNano() - c.began.Load())
}

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

// thinker owns a tree and searches with it, one search at a time.
type thinker struct {
	v      *rules.Variant
	net    Net
	eval   selfplay.Evaluator
	tree   *mcts.Tree
	bytes  int64
	solver *mate.Solver
	nodes  int64 // of solver
	root   *rules.Position
	game   *rules.Position
	start  string // SFEN at which root's game began
	known  bool   // tree belongs to root
	logits []float32
	rng    *rand.Rand
}

// newThinker prepares a search for a variant and net.
func newThinker(v *rules.Variant, net Net) *thinker {
	return &thinker{
		v: v, net: net, eval: net.NewEvaluator(), root: v.Start(), game: v.Start(), logits: make([]float32, v.MaxMoves()),
		rng: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)),
	}
}

// prepare makes the arrays that a search with these options needs.
func (t *thinker) prepare(o Options) {
	if bytes := int64(o.HashMB) << 20; t.tree == nil || t.bytes != bytes {
		tree := mcts.DefaultOptions()
		tree.Algorithm = mcts.PUCT
		tree.MaxBytes = bytes
		t.tree, t.bytes, t.known = mcts.NewTree(tree, t.v.MaxMoves()), bytes, false
	}
	if nodes := int64(o.MateNodes); nodes > 0 && (t.solver == nil || t.nodes != nodes) {
		m := mate.DefaultOptions()
		m.Nodes, m.TableBytes = nodes, 8<<20
		t.solver, t.nodes = mate.New(m), nodes
	}
}

// forget drops what is known from earlier searches.
func (t *thinker) forget() { t.known = false }

// follow makes p, a position of the game that began at start, the root of the tree, and keeps what is known about it if p
// comes after the old root in the same game.
func (t *thinker) follow(p *rules.Position, start string) {
	from := t.root.Ply()
	t.known = t.known && start == t.start && p.Ply() >= from
	for i := 0; i < from && t.known; i++ {
		t.known = t.root.MoveAt(i) == p.MoveAt(i)
	}
	for i := from; i < p.Ply() && t.known; i++ {
		t.known = t.tree.Advance(p.MoveAt(i))
	}
	t.root.CopyFrom(p)
	t.start = start
}

// reportEvery is the time between two reports of a search.
const reportEvery = 250 * time.Millisecond

// think searches p, which is not changed, and returns the move to play. It returns within one evaluation of
// ctl.stop, unless it is the first evaluation of a position.
func (t *thinker) think(p *rules.Position, o order) (choice, error) {
	t.prepare(o.options)
	if o.mate {
		return choice{mate: t.solve(p, o)}, nil
	}
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
	return t.choose(p, o), nil
}

// instinct answers in a position in which the game is over though there are moves, as after a repetition: a client that
// asks all the same gets the net's first thought.
func (t *thinker) instinct(moves []rules.Move) (choice, error) {
	t.known = false
	var v rules.Value
	logits := t.logits[:len(moves)]
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
	const unbounded = 1 << 30
	budget := int64(unbounded)
	if o.limits.Nodes > 0 {
		budget = min(budget, o.limits.Nodes)
	}
	budget = min(budget, int64(o.level.Nodes))
	if t.known {
		t.tree.Resume(t.game, int(budget), nil)
	} else {
		t.tree.Reset(t.game, int(budget), nil)
	}
	t.known = true
	limit := allot(o.limits, p.Side(), t.v.Name(), o.options.MoveOverhead)
	watch := &stopwatch{o: o, limit: limit, tree: t.tree, moves: nMoves}
	nextReport := min(reportEvery, 50*time.Millisecond)
	for !watch.over() {
		leaf, moves, ok := t.tree.Next(t.game)
		if !ok {
			break
		}
		var v rules.Value
		logits := t.logits[:len(moves)]
		t.eval.Add(t.game, moves, logits, &v)
		t.tree.Unwind(t.game)
		if err := t.eval.Flush(); err != nil {
			t.known = false
			return fmt.Errorf("evaluate: %w", err)
		}
		t.tree.Expand(leaf, logits, v)
		if e := o.ctl.elapsed(); e >= nextReport && o.tell != nil && !o.ctl.stop.Load() {
			o.tell(t.report(o))
			nextReport = e + reportEvery
		}
	}
	return nil
}

// stopwatch decides when a search ends.
type stopwatch struct {
	o     order
	limit allotment
	tree  *mcts.Tree
	moves int // legal moves at the root
}

func (s *stopwatch) over() bool {
	started := s.tree.Started()
	switch {
	case len(s.tree.RootMoves()) == 0: // the root has not been evaluated: no move is known yet
		return false
	case s.o.ctl.stop.Load():
		return true
	case s.o.limits.Depth > 0 && started&15 == 0 && len(s.tree.PV(nil)) >= s.o.limits.Depth && !s.o.ctl.ponder.Load():
		return true
	case !s.limit.bound || s.o.ctl.ponder.Load():
		return false
	}
	spent := s.o.ctl.elapsed()
	if spent >= s.limit.hard {
		return true
	}
	clock := s.o.limits.MoveTime == 0
	if !clock || started < 1 {
		return false
	}
	if s.moves == 1 {
		return true
	}
	if started&15 != 0 && spent < s.limit.soft {
		return false
	}
	first, second := s.leaders()
	if spent >= s.limit.soft {
		// The most visited move should be the one to play; if it is not, the choice is open and gets half as much time again.
		return first == s.tree.Best() || spent >= s.limit.soft*3/2
	}
	// A lead that the rest of the time cannot change is a choice.
	rate := float64(started) / max(spent.Seconds(), 1e-6)
	rest := rate * (s.limit.soft - spent).Seconds()
	lead := s.tree.Visits(first)
	if second >= 0 {
		lead -= s.tree.Visits(second)
	}
	return float64(lead) > rest && first == s.tree.Best()
}

// leaders are the two most visited root moves; second is -1 if there is one move only.
func (s *stopwatch) leaders() (first, second int) {
	first, second = 0, -1
	for i := 1; i < len(s.tree.RootMoves()); i++ {
		switch n := s.tree.Visits(i); {
		case n > s.tree.Visits(first):
			first, second = i, first
		case second < 0 || n > s.tree.Visits(second):
			second = i
		}
	}
	return first, second
}

// findMate looks for a forced mate before the search.
func (t *thinker) findMate(p *rules.Position, o order) (choice, bool) {
	if o.options.MateNodes == 0 || o.level.Temperature > 0 || o.stays || o.ctl.ponder.Load() {
		return choice{}, false
	}
	r := t.solver.Solve(t.game)
	if r.Status != mate.Mate || len(r.PV) == 0 {
		return choice{}, false
	}
	c := choice{move: r.PV[0], last: report{
		time: o.ctl.elapsed(), depth: r.Plies, selDepth: r.Plies, nodes: r.Nodes,
		lines: []pvLine{{value: rules.Value{Win: 1}, mate: true, plies: r.Plies, moves: slices.Clone(r.PV)}},
	}}
	if len(r.PV) > 1 {
		c.ponder = r.PV[1]
	}
	return c, true
}

// choose makes the move's choice from the tree.
func (t *thinker) choose(p *rules.Position, o order) choice {
	moves := t.tree.RootMoves()
	if len(moves) == 0 {
		return choice{resign: true}
	}
	best := t.tree.Best()
	i := o.level.Choose(len(moves), best, t.tree.Visits, t.rng)
	c := choice{move: moves[i], last: t.report(o)}
	if line := t.tree.Line(nil, i); len(line) > 1 {
		c.ponder = line[1]
	}
	if o.options.ResignBelow > 0 && 100*t.tree.RootValue().Score() < float32(o.options.ResignBelow) && p.Ply() > 10 {
		c.resign = true
	}
	return c
}

// report reads the tree.
func (t *thinker) report(o order) report {
	r := report{time: o.ctl.elapsed(), nodes: int64(t.tree.Started())}
	moves := t.tree.RootMoves()
	if len(moves) == 0 {
		return r
	}
	ranked := make([]int, len(moves))
	for i := range ranked {
		ranked[i] = i
	}
	best := t.tree.Best()
	slices.SortStableFunc(ranked, func(a, b int) int {
		switch {
		case a == b:
			return 0
		case a == best:
			return -1
		case b == best:
			return 1
		}
		return t.tree.Visits(b) - t.tree.Visits(a)
	})
	for rank, i := range ranked[:min(len(ranked), o.options.MultiPV)] {
		if rank > 0 && t.tree.Visits(i) == 0 {
			break
		}
		line := pvLine{value: t.tree.Value(i), moves: t.tree.Line(nil, i)}
		if out, plies, ok := t.tree.MoveProven(i); ok && out.Result != rules.Draw {
			line.mate, line.plies = true, plies
		}
		r.lines = append(r.lines, line)
		r.selDepth = max(r.selDepth, len(line.moves))
	}
	r.depth = len(r.lines[0].moves)
	r.hashfull = min(int(1000*int64(t.tree.Nodes())*treeNodeBytes/t.bytes), 1000)
	return r
}

// treeNodeBytes is about what a position takes in the tree, with its moves.
const treeNodeBytes = 1200
