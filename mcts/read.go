package mcts

import (
	"math"

	"kirin/rules"
)

// RootMoves returns the root's legal moves; root moves are named by their index
// in it. The slice is the tree's own and valid until the next Reset or Advance.
func (t *Tree) RootMoves() []rules.Move {
	nd := &t.nodes[root]
	return t.moves[nd.first : nd.first+int32(nd.count) : nd.first+int32(nd.count)]
}

func (t *Tree) rootEdge(i int) edge { return t.edges[int(t.nodes[root].first)+i] }

// rootChild returns nil while the move i is unvisited.
func (t *Tree) rootChild(i int) *node {
	if c := t.rootEdge(i).child; c != 0 {
		return &t.nodes[c]
	}
	return nil
}

// Visits returns how many simulations went through the root move i.
func (t *Tree) Visits(i int) int {
	if c := t.rootChild(i); c != nil {
		return int(c.visits)
	}
	return 0
}

// Prior returns the evaluator's probability of the root move i, without noise.
func (t *Tree) Prior(i int) float32 { return t.rootEdge(i).prior }

// Q returns the score of the root move i for the side to move at the root,
// between 0 and 1: exact if the move is proven, the mixed value of the root if
// it is unvisited.
func (t *Tree) Q(i int) float32 { return t.Value(i).Score() }

// Value is Q as probabilities of win, draw and loss.
func (t *Tree) Value(i int) rules.Value {
	if c := t.rootChild(i); c != nil && (c.weight > 0 || c.proof != unproven) {
		return c.value().Flip()
	}
	return t.mixedValue()
}

// MoveProven returns the exact result of the root move i, if it is known, and
// the plies from the root to the end on the line found.
func (t *Tree) MoveProven(i int) (o rules.Outcome, plies int, ok bool) {
	c := t.rootChild(i)
	if c == nil || c.proof == unproven {
		return rules.Outcome{}, 0, false
	}
	return provenOutcome(c.proof, t.side.Other()), int(c.distance) + 1, true
}

func provenOutcome(p proof, side rules.Side) rules.Outcome {
	switch p {
	case proofWin:
		return rules.Outcome{Result: rules.Winner(side), Reason: rules.MateProven}
	case proofLoss:
		return rules.Outcome{Result: rules.Winner(side.Other()), Reason: rules.MateProven}
	}
	return rules.Outcome{Result: rules.Draw, Reason: rules.MateProven}
}

// Proven returns the exact result of the root, if it is known: with the rules'
// own reason when the game is over there, else with MateProven.
func (t *Tree) Proven() (rules.Outcome, bool) {
	p := t.nodes[root].proof
	switch {
	case p == unproven:
		return rules.Outcome{}, false
	case t.outcome.Result != rules.Ongoing:
		return t.outcome, true
	}
	return provenOutcome(p, t.side), true
}

// value of a node for its side to move.
func (nd *node) value() rules.Value {
	if nd.proof != unproven {
		return nd.proof.value()
	}
	if nd.weight == 0 || nd.drawn && nd.win < nd.loss {
		return rules.Value{Draw: 1}
	}
	w := float64(nd.weight)
	win, loss := clamp(nd.win/w), clamp(nd.loss/w)
	return rules.Value{Win: float32(win), Draw: float32(clamp(1 - win - loss)), Loss: float32(loss)}
}

func clamp(x float64) float64 { return min(max(x, 0), 1) }

// mixedValue is the mixed value (see node.mixed) of the root as probabilities.
func (t *Tree) mixedValue() rules.Value {
	nd := &t.nodes[root]
	_, s := t.survey(root, nil)
	win, loss := float64(nd.ownWin), float64(nd.ownLoss)
	if s.known > 0 && s.visits > 0 {
		var w, l float64
		for i := range t.scratch {
			v := &t.scratch[i]
			c := t.rootChild(int(v.slot))
			if c.weight == 0 && c.proof == unproven {
				continue
			}
			x := c.value()
			w += v.prior * float64(x.Loss)
			l += v.prior * float64(x.Win)
		}
		n := float64(s.visits)
		win = (win + n*w/s.known) / (1 + n)
		loss = (loss + n*l/s.known) / (1 + n)
	}
	return rules.Value{Win: float32(win), Draw: float32(clamp(1 - win - loss)), Loss: float32(loss)}
}

// RootValue returns the search's value of the root for its side to move. It is
// the average over the simulations with PUCT. With Gumbel, whose visits at the
// root do not follow the policy, it is the improved policy's average of the
// completed values.
func (t *Tree) RootValue() rules.Value {
	nd := &t.nodes[root]
	if nd.proof != unproven || t.o.Algorithm == PUCT || nd.visits <= 1 {
		return nd.value()
	}
	mixed := t.mixedValue()
	policy := t.improved()
	var win, loss float64
	for i, p := range policy {
		v := mixed
		if c := t.rootChild(i); c != nil && (c.weight > 0 || c.proof != unproven) {
			v = c.value().Flip()
		}
		win += p * float64(v.Win)
		loss += p * float64(v.Loss)
	}
	return rules.Value{Win: float32(win), Draw: float32(clamp(1 - win - loss)), Loss: float32(loss)}
}

// ImprovedPolicy writes the policy target into dst, aligned with RootMoves; it
// sums to 1. With Gumbel it is softmax(logits + sigma(completed q)) (Danihelka et
// al. 2022, equation 11), with PUCT the visits without the forced ones (Wu 2019,
// section 3.2); while none is left but to refuted moves, the prior of the others. At a proven root that is not lost it is equal over the proven
// best moves; at a lost one it is the prior.
func (t *Tree) ImprovedPolicy(dst []float32) {
	nd := &t.nodes[root]
	var policy []float64
	switch {
	case nd.proof == proofWin || nd.proof == proofDraw:
		policy = t.provenPolicy()
	case nd.proof == proofLoss:
		policy = t.priors()
	case t.o.Algorithm == PUCT && nd.visits > 1:
		policy = t.prunedVisits()
	default:
		policy = t.improved()
	}
	for i, p := range policy {
		dst[i] = float32(p)
	}
}

// priors fills t.target with the root's priors.
func (t *Tree) priors() []float64 {
	t.target = t.target[:0]
	for i := range int(t.nodes[root].count) {
		t.target = append(t.target, float64(t.rootEdge(i).prior))
	}
	return t.target
}

// openPriors is priors over the moves that are not refuted, unless all are.
func (t *Tree) openPriors() []float64 {
	sum, open := 0.0, 0.0
	for i, p := range t.priors() {
		if c := t.rootChild(i); c != nil && c.proof == proofWin {
			t.target[i] = -1 // refuted
			continue
		}
		sum += p
		open++
	}
	if open == 0 {
		return t.priors()
	}
	for i, p := range t.target {
		switch {
		case p < 0:
			t.target[i] = 0
		case sum > 0:
			t.target[i] = p / sum
		default: // a net may have rounded them all to 0
			t.target[i] = 1 / open
		}
	}
	return t.target
}

// provenPolicy is equal over the moves that keep the root's proven value.
func (t *Tree) provenPolicy() []float64 {
	keeps := proofLoss // of the child
	if t.nodes[root].proof == proofDraw {
		keeps = proofDraw
	}
	t.target = t.target[:0]
	n := 0.0
	for i := range int(t.nodes[root].count) {
		x := 0.0
		if c := t.rootChild(i); c != nil && c.proof == keeps {
			x = 1
			n++
		}
		t.target = append(t.target, x)
	}
	if n == 0 { // proven from outside without a move
		return t.priors()
	}
	for i := range t.target {
		t.target[i] /= n
	}
	return t.target
}

// improved fills t.target with the improved policy of Gumbel search.
func (t *Tree) improved() []float64 {
	_, s := t.survey(root, nil)
	mixed := t.nodes[root].mixed(s)
	sigma := t.o.sigma(s.most)
	t.target = t.target[:0]
	high := math.Inf(-1)
	noise := t.noise
	t.noise = nil
	for i := range int32(t.nodes[root].count) {
		x := t.rootScore(i, sigma, mixed)
		high = max(high, x)
		t.target = append(t.target, x)
	}
	t.noise = noise
	sum := 0.0
	for i, x := range t.target {
		t.target[i] = math.Exp(x - high)
		sum += t.target[i]
	}
	for i := range t.target {
		t.target[i] /= sum
	}
	return t.target
}

// prunedVisits fills t.target with the visits of a PUCT search: of a search with
// noise as many forced visits are taken out as leave the move less attractive
// than the most visited one, and moves left with one visit get none.
func (t *Tree) prunedVisits() []float64 {
	nd := &t.nodes[root]
	t.target = t.target[:0]
	total := 0.0
	most, top := -1, 0.0
	for i := range int(nd.count) {
		n := float64(t.Visits(i))
		if c := t.rootChild(i); c != nil && c.proof == proofWin {
			n = 0 // refuted
		}
		t.target = append(t.target, n)
		total += n
		if n > top {
			most, top = i, n
		}
	}
	if total == 0 {
		return t.openPriors()
	}
	if len(t.noised) > 0 && t.o.ForcedPlayouts > 0 {
		c := (t.o.CPUCT + math.Log((1+total+t.o.CPUCTBase)/t.o.CPUCTBase)) * math.Sqrt(total)
		all := total
		best := float64(t.Q(most)) + c*float64(t.noised[most])/(1+top)
		for i, n := range t.target {
			if i == most || n == 0 {
				continue
			}
			p := float64(t.noised[i])
			least := n - math.Floor(t.forced(p, all))
			if gap := best - float64(t.Q(i)); gap > 0 {
				least = max(least, math.Ceil(c*p/gap-1))
			} else {
				least = n
			}
			if least = min(max(least, 0), n); least <= 1 {
				least = 0
			}
			total -= n - least
			t.target[i] = least
		}
	}
	for i := range t.target {
		t.target[i] /= total
	}
	return t.target
}
