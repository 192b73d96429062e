package mcts

import (
	"cmp"
	"slices"

	"kirin/rules"
)

// Line is a root move with what the search thinks of it.
type Line struct {
	Index  int // of the root move
	Visits int
	Prior  float32
	Value  rules.Value // for the side to move at the root
	// Proven tells whether Value is exact; Plies is then the length of the line found.
	Proven bool
	Plies  int
	Moves  []rules.Move // the expected line; begins with the move
}

// Lines returns the n best root moves, or all that have been visited if there are
// fewer: the move to play first, then by proven wins, visits and priors, refuted
// moves last.
func (t *Tree) Lines(n int) []Line {
	best := t.Best()
	if best < 0 {
		return nil
	}
	order := []int{}
	for i := range t.RootMoves() {
		if i == best || t.Visits(i) > 0 {
			order = append(order, i)
		}
	}
	class := func(i int) int {
		c := t.rootChild(i)
		switch {
		case i == best:
			return 3
		case c.proof == proofLoss:
			return 2
		case c.proof == proofWin:
			return 0
		}
		return 1
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(
			cmp.Compare(class(b), class(a)),
			cmp.Compare(t.Visits(b), t.Visits(a)),
			cmp.Compare(t.Prior(b), t.Prior(a)),
			cmp.Compare(a, b),
		)
	})
	lines := make([]Line, 0, min(n, len(order)))
	for _, i := range order[:min(n, len(order))] {
		l := Line{Index: i, Visits: t.Visits(i), Prior: t.Prior(i), Value: t.Value(i), Moves: t.Line(nil, i)}
		_, l.Plies, l.Proven = t.MoveProven(i)
		lines = append(lines, l)
	}
	return lines
}

// PV appends the expected line to dst: the best move of the root, then the most
// visited ones, or those that keep a proven value.
func (t *Tree) PV(dst []rules.Move) []rules.Move {
	if i := t.Best(); i >= 0 {
		return t.Line(dst, i)
	}
	return dst
}

// Line appends the expected line that begins with the root move i.
func (t *Tree) Line(dst []rules.Move, i int) []rules.Move {
	nd := &t.nodes[root]
	dst = append(dst, t.moves[int(nd.first)+i])
	n := t.rootEdge(i).child
	for n != 0 && t.nodes[n].state == expanded {
		best := int32(-1)
		var high int64
		nd := &t.nodes[n]
		for j, e := range t.edges[nd.first : nd.first+int32(nd.count)] {
			if e.child == 0 {
				continue
			}
			if x := t.lineKey(nd, &t.nodes[e.child]); best < 0 || x > high {
				best, high = int32(j), x
			}
		}
		if best < 0 {
			break
		}
		dst = append(dst, t.moves[nd.first+best])
		n = t.edges[nd.first+best].child
	}
	return dst
}

// lineKey orders the children c of nd for Line.
func (t *Tree) lineKey(nd, c *node) int64 {
	const first = int64(1) << 40
	switch {
	case nd.proof == proofWin && c.proof == proofLoss:
		return first - int64(c.distance)
	case nd.proof == proofLoss:
		return first + int64(c.distance)
	case nd.proof == proofDraw && c.proof == proofDraw:
		return first + int64(c.visits)
	case c.proof == proofWin:
		return -first
	}
	return int64(c.visits)
}
