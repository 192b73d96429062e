package mcts

import (
	"math"
	"math/rand/v2"
)

// Best returns the index of the move to play, -1 if the root has none. A proven
// root gives the shortest win found, a drawing move, or the longest loss found.
// Otherwise it is, with Gumbel, the winner of the halving with its noise; with
// PUCT and noise the move with the highest target; with PUCT without noise the
// best lower confidence bound. Refuted moves are never chosen while another is
// left.
func (t *Tree) Best() int {
	nd := &t.nodes[root]
	if nd.count == 0 {
		return -1
	}
	if nd.proof != unproven {
		if i := t.bestProven(); i >= 0 {
			return i
		}
	}
	var best int
	switch {
	case t.o.Algorithm == Gumbel:
		best = t.halvingWinner()
	case len(t.noised) > 0 || nd.visits <= 1:
		best = t.argmax(t.prunedVisits())
	default:
		best = t.bestBound()
	}
	if len(t.noise) == 0 && len(t.noised) == 0 {
		return t.sooner(best)
	}
	return best
}

func (t *Tree) argmax(x []float64) int {
	best := 0
	for i := range x {
		if x[i] > x[best] || x[i] == x[best] && t.tieBefore(root, int32(i), int32(best)) {
			best = i
		}
	}
	return best
}

// bestProven returns the move of a proven root, -1 if the root was proven from
// outside.
func (t *Tree) bestProven() int {
	nd := &t.nodes[root]
	best := -1
	var high int
	for i := range int(nd.count) {
		c := t.rootChild(i)
		if c == nil || c.proof == unproven || c.proof != proofWin+proofLoss-nd.proof {
			continue
		}
		// The child's proof is the root's from the other side.
		x := int(c.distance)
		switch nd.proof {
		case proofWin:
			x = -x
		case proofDraw:
			x = int(c.visits)
		}
		if best < 0 || x > high || x == high && t.tieBefore(root, int32(i), int32(best)) {
			best, high = i, x
		}
	}
	return best
}

// halvingWinner returns the best of the candidates with the most visits, or a
// proven draw that beats them.
func (t *Tree) halvingWinner() int {
	_, s := t.survey(root, nil)
	mixed := t.nodes[root].mixed(s)
	sigma := t.o.sigma(s.most)
	most := 0
	for _, slot := range t.candidates {
		if c := t.rootChild(int(slot)); c == nil || c.proof == unproven {
			most = max(most, t.Visits(int(slot)))
		}
	}
	best, high := int32(-1), 0.0
	try := func(slot int32) {
		x := t.rootScore(slot, sigma, mixed)
		if best < 0 || x > high || x == high && t.tieBefore(root, slot, best) {
			best, high = slot, x
		}
	}
	for _, slot := range t.candidates {
		if c := t.rootChild(int(slot)); (c == nil || c.proof == unproven) && t.Visits(int(slot)) == most {
			try(slot)
		}
	}
	refuted := true
	for i := range int32(t.nodes[root].count) {
		c := t.rootChild(int(i))
		if c != nil && c.proof == proofDraw {
			try(i)
		}
		refuted = refuted && c != nil && c.proof == proofWin
	}
	if best >= 0 {
		return int(best)
	}
	// Every candidate has been refuted and the budget ended before another was tried.
	for i := range int32(t.nodes[root].count) {
		if c := t.rootChild(int(i)); refuted || c == nil || c.proof != proofWin {
			try(i)
		}
	}
	return int(best)
}

// bestBound returns the move with the best lower confidence bound among the
// often visited ones.
func (t *Tree) bestBound() int {
	nd := &t.nodes[root]
	visits := t.prunedVisits()
	most := 0.0
	for _, n := range visits {
		most = max(most, n)
	}
	if t.o.LCBDeviations == 0 {
		return t.argmax(visits)
	}
	best, high := -1, 0.0
	for i := range int(nd.count) {
		c := t.rootChild(i)
		if c == nil || c.proof == proofWin || c.proof == unproven && (c.weight == 0 || visits[i] < t.o.LCBShare*most) {
			continue
		}
		x := 1 - c.score()
		if c.proof == unproven {
			x -= t.o.LCBDeviations * c.deviation()
		}
		if best < 0 || x > high || x == high && t.tieBefore(root, int32(i), int32(best)) {
			best, high = i, x
		}
	}
	if best < 0 {
		return t.argmax(visits)
	}
	return best
}

// deviation is the standard error of a node's average score. One answer of
// either extreme is added, so that two equal answers do not look certain.
func (nd *node) deviation() float64 {
	n := float64(nd.weight) + 2
	mean := ((float64(nd.weight)+nd.win-nd.loss)/2 + 1) / n
	variance := (nd.square+1)/n - mean*mean
	return math.Sqrt(max(variance, 0) / n)
}

// sooner replaces the move of a decided position by one that costs at most
// MovesLeftSlack of score and ends a won game sooner, or a lost one later. It
// looks only at moves with half the visits of the first.
func (t *Tree) sooner(best int) int {
	c := t.rootChild(best)
	if t.o.MovesLeftSlack <= 0 || len(t.plies) == 0 || c == nil || c.proof != unproven || c.weight == 0 {
		return best
	}
	q := 1 - c.score()
	sign := 0.0
	switch {
	case q > 0.9:
		sign = -1
	case q < 0.1:
		sign = 1
	default:
		return best
	}
	least := c.visits / 2
	left := t.pliesLeft(best)
	for i := range int(t.nodes[root].count) {
		d := t.rootChild(i)
		if d == nil || d.proof != unproven || d.weight == 0 || d.visits < least || 1-d.score() < q-t.o.MovesLeftSlack {
			continue
		}
		if x := t.pliesLeft(i); sign*x > sign*left {
			best, left = i, x
		}
	}
	return best
}

// pliesLeft is the average of the plies-left answers below a root move.
func (t *Tree) pliesLeft(i int) float64 {
	e := t.rootEdge(i)
	if int(e.child) >= len(t.plies) {
		return 0
	}
	return t.plies[e.child] / float64(max(t.nodes[e.child].visits, 1))
}

// Sample draws a root move with probability proportional to the policy target to
// the power of 1/temperature; temperature 0 gives Best.
func (t *Tree) Sample(rng *rand.Rand, temperature float64) int {
	if temperature <= 0 || t.nodes[root].proof != unproven || t.nodes[root].count == 0 {
		return t.Best()
	}
	var policy []float64
	if t.o.Algorithm == PUCT && t.nodes[root].visits > 1 {
		policy = t.prunedVisits()
	} else {
		policy = t.improved()
	}
	high := 0.0
	for _, p := range policy {
		high = max(high, p)
	}
	sum := 0.0
	for i, p := range policy {
		policy[i] = math.Pow(p/high, 1/temperature)
		sum += policy[i]
	}
	x := rng.Float64() * sum
	last := 0
	for i, p := range policy {
		if p <= 0 {
			continue
		}
		if last = i; x < p {
			break
		}
		x -= p
	}
	return last
}
