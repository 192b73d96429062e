package mate

import "kirin/rules"

// Leaves looks for short mates at the leaves of a tree search, which so sees some
// plies further at a small part of an evaluation's cost. It is an mcts.Prover. What
// it answers is a function of the position and the game before it.
type Leaves struct {
	// Mates and Nodes count the mates found and the positions looked at.
	Mates, Nodes int64

	solver *Solver
}

// leafTableBytes is the table of a Leaves: small enough to stay in the nearest cache,
// with more room than the positions of one search need.
const leafTableBytes = 1 << 14

// NewLeaves makes one that looks at no more than nodes positions for each leaf (see
// Options.Nodes).
func NewLeaves(nodes int) *Leaves {
	o := DefaultOptions()
	o.Nodes, o.TableBytes = int64(nodes), leafTableBytes
	return &Leaves{solver: New(o)}
}

// Prove returns the win of the side to move and the length of the mate, if one is
// found; else an ongoing game.
func (l *Leaves) Prove(p *rules.Position) (o rules.Outcome, plies int) {
	r := l.solver.deepen(p, 3, l.solver.o.MaxPly, l.solver.o.Nodes)
	l.Nodes += r.Nodes
	if r.Status != Mate {
		return rules.Outcome{}, 0
	}
	l.Mates++
	return rules.Outcome{Result: rules.Winner(p.Side()), Reason: rules.MateProven}, r.Plies
}
