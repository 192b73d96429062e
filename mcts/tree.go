package mcts

import (
	"fmt"
	"math/rand/v2"
	"unsafe"

	"kirin/rules"
)

// Game is what the tree needs of a game; *rules.Position is one. Sides alternate
// with every move. Outcome is told the number of legal moves, so that they are
// made once.
type Game interface {
	AppendMoves(dst []rules.Move) []rules.Move
	Do(m rules.Move)
	Undo()
	Outcome(nMoves int) rules.Outcome
	Side() rules.Side
	CacheKey() uint64
}

// node is one position of the tree. Sums and proofs are for its side to move.
type node struct {
	win, loss float64 // sums over the weight answers
	square    float64 // sum of the squared scores
	parent    int32
	first     int32 // its first edge
	visits    int32 // simulations that passed or ended here
	weight    int32 // answers that count in the sums: refuted moves do not
	pending   int32 // leaves at or below the node that wait for an answer
	ownWin    float32
	ownLoss   float32 // the evaluator's value of the node itself
	slot      uint16  // which of its parent's edges leads here
	count     uint16  // edges
	open      uint16  // edges whose child is not proven
	distance  uint16  // plies to the proven end, on the line found
	proof     proof
	state     state
	drawn     bool // one of its moves is a proven draw
}

type state uint8

const (
	fresh    state = iota // nobody has been here
	waiting               // a leaf whose answer is due
	expanded              // edges have priors; a terminal has no edges and is proven
)

type edge struct {
	prior float32
	child int32 // 0 while unvisited
}

const (
	nodeBytes = int64(unsafe.Sizeof(node{}))
	edgeBytes = int64(unsafe.Sizeof(edge{}) + unsafe.Sizeof(rules.NoMove))
	// extraBytes are those of plies and remap.
	extraBytes = int64(unsafe.Sizeof(float64(0)) + unsafe.Sizeof(int32(0)))
)

// Tree is one search tree with the state of its current search. It is not safe
// for concurrent use.
type Tree struct {
	o        Options
	maxMoves int

	nodes []node // 0 is nil, 1 the root
	edges []edge
	moves []rules.Move // parallel to edges
	plies []float64    // parallel to nodes: sums of plies left, when an evaluator gives them
	remap []int32      // scratch of Advance

	side    rules.Side // to move at the root
	outcome rules.Outcome
	rng     *rand.Rand // nil: no noise
	seed    uint64     // of the tie order
	budget  int32
	started int32 // simulations of this search, the pending ones included
	depth   int   // of the leaf given last, for Unwind
	deepest int32 // of this search's simulations
	depths  int64 // their sum
	full    bool
	spent   bool  // no move at the root is worth a further simulation
	faults  int64 // answers that were not finite

	halving
	noised  []float32 // priors of the root's edges with Dirichlet noise; empty without
	scratch []visited
	target  []float64 // scratch of ImprovedPolicy
}

const root = int32(1)

// burst is how many simulations one call of Next may run by itself.
const burst = 1 << 12

// NewTree returns a tree for a game with at most maxMoves moves in a position.
// With MaxBytes its arrays are made once and for all (the system provides memory
// as they fill); otherwise they have room for o.Simulations and grow when a
// search needs more. o must be valid.
func NewTree(o Options, maxMoves int) *Tree {
	t := &Tree{o: o, maxMoves: maxMoves}
	// Most positions have far fewer moves than the worst one.
	usual := int64(min(max(maxMoves/6, 16), 96))
	nodes := min(int64(o.Simulations)+2, 1<<16)
	edges := nodes*usual + int64(maxMoves)
	if o.MaxBytes > 0 {
		nodes = max((o.MaxBytes-int64(maxMoves)*edgeBytes)/(nodeBytes+extraBytes+usual*edgeBytes), 2)
		edges = nodes*usual + int64(maxMoves)
		t.plies = make([]float64, 0, nodes)
		t.remap = make([]int32, 0, nodes)
	}
	t.nodes = make([]node, 2, nodes)
	t.edges = make([]edge, 0, edges)
	t.moves = make([]rules.Move, 0, edges)
	t.candidates = make([]int32, 0, maxMoves)
	t.noise = make([]float32, 0, maxMoves)
	t.scores = make([]float64, 0, maxMoves)
	t.noised = make([]float32, 0, maxMoves)
	t.scratch = make([]visited, 0, maxMoves)
	t.target = make([]float64, 0, maxMoves)
	return t
}

// Reset starts a search with a budget of sims simulations from g's position and
// forgets everything before. With a random source the root gets noise (Gumbel or
// Dirichlet); with nil the search depends on the position alone.
func (t *Tree) Reset(g Game, sims int, rng *rand.Rand) {
	t.nodes = append(t.nodes[:0], node{}, node{})
	t.edges = t.edges[:0]
	t.moves = t.moves[:0]
	t.plies = t.plies[:0]
	t.outcome = rules.Outcome{}
	t.Resume(g, sims, rng)
}

// Resume starts a further search of sims simulations on the tree as it is; g
// stands at its root. No leaf may be pending.
func (t *Tree) Resume(g Game, sims int, rng *rand.Rand) {
	t.side = g.Side()
	t.rng = rng
	if rng != nil {
		t.seed = rng.Uint64()
	} else {
		t.seed = g.CacheKey()
	}
	t.budget = int32(sims)
	t.started = 0
	t.depth = 0
	t.deepest, t.depths = 0, 0
	t.full = false
	t.spent = false
	t.noised = t.noised[:0]
	t.noise = t.noise[:0]
	t.candidates = t.candidates[:0]
	switch nd := &t.nodes[root]; {
	case nd.state != expanded:
	case nd.proof == unproven:
		t.prepareRoot()
	case nd.count == 0: // the game is over
		moves := g.AppendMoves(t.moves)
		t.outcome = g.Outcome(len(moves) - len(t.moves))
	}
}

// Next walks to the next leaf that needs an answer and leaves g there. moves are
// the leaf's legal moves; they stay valid until the next Reset or Advance.
//
// It returns false when the search has finished: the budget is spent, the root
// is proven or the memory is used up. It also returns false when the answer to a
// pending leaf must come first, and after thousands of simulations in a row that
// all ended in known draws; Done tells the cases apart.
func (t *Tree) Next(g Game) (leaf int32, moves []rules.Move, ok bool) {
	t.depth = 0
	for run := 0; !t.Done() && run < burst; run++ {
		n, ok := t.descend(g)
		if !ok {
			t.Unwind(g)
			return 0, nil, false
		}
		if t.nodes[n].proof != unproven { // a known draw
			t.backup(n, share{}, 0, unproven, 0)
			t.ran()
			t.Unwind(g)
			continue
		}
		first := len(t.moves)
		t.moves = g.AppendMoves(t.moves)
		count := len(t.moves) - first
		if out := g.Outcome(count); out.Result != rules.Ongoing {
			t.moves = t.moves[:first]
			if n == root {
				t.outcome = out
			} else {
				t.ran()
			}
			t.nodes[n].first = int32(first)
			t.finish(n, proofOf(out, g.Side()), 0)
			t.Unwind(g)
			continue
		}
		t.growEdges(count)
		nd := &t.nodes[n]
		nd.first = int32(first)
		nd.count = uint16(count)
		nd.open = uint16(count)
		nd.state = waiting
		if n != root {
			t.ran()
		}
		for a := n; a != 0; a = t.nodes[a].parent {
			t.nodes[a].pending++
		}
		return n, t.moves[first : first+count : first+count], true
	}
	return 0, nil, false
}

// ran counts a simulation that has come down to its end.
func (t *Tree) ran() {
	t.started++
	t.deepest = max(t.deepest, int32(t.depth))
	t.depths += int64(t.depth)
}

// descend plays moves on g down to a node that is fresh or proven. It reports
// false when the way ends at a leaf that waits for its answer, or when the root
// has nothing left to try.
func (t *Tree) descend(g Game) (int32, bool) {
	at := t.progress
	n := root
	for t.nodes[n].state == expanded && t.nodes[n].proof == unproven {
		slot := t.pick(n)
		if slot < 0 {
			if t.nodes[root].pending == 0 {
				t.spent = true
			}
			t.progress = at
			return 0, false
		}
		i := t.nodes[n].first + slot
		child := t.edges[i].child
		if child == 0 {
			if child = t.newNode(n, slot); child == 0 {
				t.progress = at
				return 0, false
			}
			t.edges[i].child = child
		}
		g.Do(t.moves[i])
		t.depth++
		n = child
	}
	if t.nodes[n].state == waiting {
		t.progress = at
		return 0, false
	}
	return n, true
}

// newNode returns 0, and marks the tree full, when memory is used up.
func (t *Tree) newNode(parent, slot int32) int32 {
	if t.o.MaxBytes > 0 && (len(t.nodes) == cap(t.nodes) || len(t.edges)+t.maxMoves > cap(t.edges)) {
		t.full = true
		return 0
	}
	t.nodes = append(t.nodes, node{parent: parent, slot: uint16(slot)})
	return int32(len(t.nodes) - 1)
}

func (t *Tree) growEdges(count int) {
	first := len(t.edges)
	for cap(t.edges) < first+count {
		t.edges = append(t.edges[:cap(t.edges)], edge{})
	}
	t.edges = t.edges[:first+count]
	clear(t.edges[first:])
}

// Unwind takes back the moves that the last Next played on g.
func (t *Tree) Unwind(g Game) {
	for ; t.depth > 0; t.depth-- {
		g.Undo()
	}
}

// Expand answers a leaf: logits are aligned with the moves that Next gave, v is
// for the side to move there. An answer with a number that is not finite is
// replaced by equal priors or an even value and counted in Faults.
func (t *Tree) Expand(leaf int32, logits []float32, v rules.Value) {
	t.expand(leaf, logits, v)
}

// ExpandPlies is Expand with the evaluator's estimate of the plies left in the
// game from the leaf on, which serves the move choice in decided games.
func (t *Tree) ExpandPlies(leaf int32, logits []float32, v rules.Value, plies float32) {
	for len(t.plies) < len(t.nodes) {
		t.plies = append(t.plies, 0)
	}
	left := float64(plies)
	if !finite(plies) || left < 0 {
		left = 0
		t.faults++
	}
	for a := leaf; a != 0; a = t.nodes[a].parent {
		t.plies[a] += left
		left++
	}
	t.expand(leaf, logits, v)
}

func (t *Tree) expand(leaf int32, logits []float32, v rules.Value) {
	nd := &t.nodes[leaf]
	if nd.state != waiting {
		panicIf(true, "mcts: Expand of a node that is not pending")
		return
	}
	edges := t.edges[nd.first : nd.first+int32(nd.count)]
	if !softmax(edges, logits) {
		t.faults++
	}
	if !finite(v.Win) || !finite(v.Loss) || !finite(v.Draw) {
		v = rules.Value{Draw: 1}
		t.faults++
	}
	nd.state = expanded
	nd.ownWin, nd.ownLoss = v.Win, v.Loss
	win, loss := float64(v.Win), float64(v.Loss)
	score := (1 + win - loss) / 2
	t.backup(leaf, share{weight: 1, win: win, loss: loss, square: score * score}, 1, unproven, 0)
	if leaf == root {
		t.prepareRoot()
	}
}

// Prove answers a leaf with the certain result of its position, plies plies before
// the end, found from outside, for example by a mate search. Where the root itself
// has a known winning move, ProveMove keeps the move as well.
func (t *Tree) Prove(leaf int32, o rules.Outcome, plies int) {
	nd := &t.nodes[leaf]
	if nd.state != waiting || o.Result == rules.Ongoing {
		panicIf(true, "mcts: Prove of a node that is not pending, or with an ongoing game")
		return
	}
	side := t.side
	for a := nd.parent; a != 0; a = t.nodes[a].parent {
		side = side.Other()
	}
	if leaf == root {
		t.outcome = o
	}
	softmax(t.edges[nd.first:nd.first+int32(nd.count)], nil)
	nd.state = expanded
	t.backup(leaf, share{}, 1, proofOf(o, side), uint16(min(max(plies, 0), 1<<15)))
}

// ProveMove records that the move m of the root leads to the certain result o,
// plies plies from the root on. It may be called while the root is the pending
// leaf, which then needs no other answer, or later, for moves that are not
// pending. It reports whether m is a move of the root.
func (t *Tree) ProveMove(m rules.Move, o rules.Outcome, plies int) bool {
	nd := &t.nodes[root]
	slot := int32(-1)
	for i := range int32(nd.count) {
		if t.moves[nd.first+i] == m {
			slot = i
		}
	}
	if slot < 0 || o.Result == rules.Ongoing {
		return false
	}
	if nd.state == waiting {
		t.expand(root, nil, rules.Value{Draw: 1})
	}
	i := t.nodes[root].first + slot
	child := t.edges[i].child
	if child == 0 {
		if child = t.newNode(root, slot); child == 0 {
			return false
		}
		t.edges[i].child = child
	}
	if t.nodes[child].proof == unproven && t.nodes[child].pending == 0 {
		t.finish(child, proofOf(o, t.side.Other()), max(plies-1, 0))
	}
	return true
}

// Done tells whether the search has finished.
func (t *Tree) Done() bool {
	r := &t.nodes[root]
	return r.proof != unproven || t.full || t.spent || r.state == expanded && t.started >= t.budget
}

// Pending returns the number of leaves that wait for an answer.
func (t *Tree) Pending() int { return int(t.nodes[root].pending) }

// Started returns the number of simulations of this search so far.
func (t *Tree) Started() int { return int(t.started) }

// Depth returns the average depth, in plies, of this search's simulations, and
// the greatest.
func (t *Tree) Depth() (average float64, deepest int) {
	return float64(t.depths) / float64(max(t.started, 1)), int(t.deepest)
}

// Fill returns the used share of the arrays, in thousandths.
func (t *Tree) Fill() int {
	return int(max(1000*int64(len(t.nodes))/int64(cap(t.nodes)), 1000*int64(len(t.edges))/int64(cap(t.edges))))
}

// Nodes returns the number of positions in the tree.
func (t *Tree) Nodes() int { return len(t.nodes) - 1 }

// Faults counts the answers since NewTree that were not finite.
func (t *Tree) Faults() int64 { return t.faults }

// Bytes returns the memory that the tree's arrays hold.
func (t *Tree) Bytes() int64 {
	return int64(cap(t.nodes))*nodeBytes + int64(cap(t.edges))*edgeBytes + 8*int64(cap(t.plies)) + 4*int64(cap(t.remap))
}

func panicIf(bad bool, message string) {
	if invariants && bad {
		panic(fmt.Sprint(message))
	}
}
