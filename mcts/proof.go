package mcts

import (
	"errors"
	"fmt"
	"slices"

	"kirin/rules"
)

// proof is the exact value of a node for its side to move.
type proof uint8

const (
	unproven proof = iota
	proofLoss
	proofDraw
	proofWin
)

func proofOf(o rules.Outcome, side rules.Side) proof {
	switch o.Result {
	case rules.Ongoing:
		return unproven
	case rules.Draw:
		return proofDraw
	case rules.Winner(side):
		return proofWin
	}
	return proofLoss
}

func (p proof) value() rules.Value {
	switch p {
	case proofWin:
		return rules.Value{Win: 1}
	case proofLoss:
		return rules.Value{Loss: 1}
	}
	return rules.Value{Draw: 1}
}

// share is what a node adds to the sums of its parent, or a change of that.
type share struct {
	win, loss, square float64
	weight            int32
}

const drawSquare = 0.25 // the squared score of a draw

func (a share) minus(b share) share {
	return share{a.win - b.win, a.loss - b.loss, a.square - b.square, a.weight - b.weight}
}

// flip turns the share to the other side's view: a score s becomes 1 - s, and
// the sum of (1-s)^2 is weight - 2*sum(s) + sum(s^2) with sum(s) = (weight + win
// - loss) / 2.
func (a share) flip() share {
	return share{a.loss, a.win, a.square - a.win + a.loss, a.weight}
}

// share is what a node adds to its parent's sums, in the node's own view. A
// proven node adds all its visits at the exact value, or nothing when it is a win
// for its side to move, since the other side will not go there. A node with a
// draw in hand is worth at least the draw.
func (nd *node) share() share {
	v := float64(nd.visits)
	switch nd.proof {
	case proofWin:
		return share{}
	case proofDraw:
		return share{square: drawSquare * v, weight: nd.visits}
	case proofLoss:
		return share{loss: v, weight: nd.visits}
	}
	if nd.drawn && nd.win < nd.loss {
		return share{square: drawSquare * float64(nd.weight), weight: nd.weight}
	}
	return share{nd.win, nd.loss, nd.square, nd.weight}
}

// finish ends a simulation at a node whose exact value has become known,
// distance plies before the end on the line found.
func (t *Tree) finish(n int32, p proof, distance int) {
	t.nodes[n].state = expanded
	t.backup(n, share{}, 0, p, uint16(min(distance, 1<<15)))
}

// backup adds one simulation to the node n and everything above it. d is the
// change of n's own sums, in its view; answered is 1 when a pending leaf got its
// answer; p and distance are n's exact value if the simulation found it.
func (t *Tree) backup(n int32, d share, answered int32, p proof, distance uint16) {
	var from *node // the child whose exact value has just become known
	for {
		nd := &t.nodes[n]
		before := nd.share()
		nd.win += d.win
		nd.loss += d.loss
		nd.square += d.square
		nd.weight += d.weight
		nd.visits++
		nd.pending -= answered
		if from != nil {
			p, distance = t.follows(nd, from)
			from = nil
		}
		if p != unproven && nd.proof == unproven {
			nd.proof, nd.distance = p, distance
			from = nd
		}
		if nd.parent == 0 {
			return
		}
		d = nd.share().minus(before).flip()
		p = unproven
		n = nd.parent
	}
}

// follows counts the newly proven child c of nd and returns what that proves of
// nd.
func (t *Tree) follows(nd, c *node) (proof, uint16) {
	nd.open--
	switch c.proof {
	case proofLoss:
		return proofWin, c.distance + 1
	case proofDraw:
		nd.drawn = true
	}
	if nd.open > 0 {
		return unproven, 0
	}
	p, distance := proofLoss, uint16(0)
	if nd.drawn {
		p = proofDraw
	}
	for _, e := range t.edges[nd.first : nd.first+int32(nd.count)] {
		distance = max(distance, t.nodes[e.child].distance+1)
	}
	return p, distance
}

// ErrProof marks a proven value that does not follow from the rules.
var ErrProof = errors.New("mcts: a proven value is wrong")

// CheckProof replays the proof of the root on g, which stands there and stands
// there again afterwards, against every defence: a proven node is a finished game,
// has a lost reply, or all its replies are proven. It must not be called after
// Prove or ProveMove, whose word stands for a proof. It is meant for tests and
// checks and allocates. The error wraps ErrProof.
func (t *Tree) CheckProof(g Game) error {
	if t.nodes[root].proof == unproven {
		return nil
	}
	return t.checkProof(g, root)
}

func (t *Tree) checkProof(g Game, n int32) error {
	nd := &t.nodes[n]
	moves := g.AppendMoves(nil)
	if out := g.Outcome(len(moves)); out.Result != rules.Ongoing {
		if p := proofOf(out, g.Side()); p != nd.proof {
			return fmt.Errorf("%w: a node is proven %d, but the rules say %v", ErrProof, nd.proof, out)
		}
		return nil
	}
	if !slices.Equal(moves, t.moves[nd.first:nd.first+int32(nd.count)]) {
		return fmt.Errorf("%w: a node has other moves than its position", ErrProof)
	}
	follows := proofLoss
	for i, m := range moves {
		below := unproven
		if child := t.edges[int(nd.first)+i].child; child != 0 {
			below = t.nodes[child].proof
			// A won position needs its lost reply only.
			if below == proofLoss || below != unproven && nd.proof != proofWin {
				g.Do(m)
				err := t.checkProof(g, child)
				g.Undo()
				if err != nil {
					return err
				}
			}
		}
		switch {
		case below == proofLoss:
			follows = proofWin
		case follows == proofWin:
		case below == unproven:
			follows = unproven
		case below == proofDraw && follows == proofLoss:
			follows = proofDraw
		}
	}
	if follows != nd.proof {
		return fmt.Errorf("%w: a node is proven %d, its replies prove %d", ErrProof, nd.proof, follows)
	}
	return nil
}
