package mcts

import (
	"math"
	"math/rand/v2"

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

// ProvenPlies returns the plies from a proven root to the end on the line found.
func (t *Tree) ProvenPlies() int { return int(t.nodes[root].distance) }

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
// section 3.2). At a proven root that is not lost it is equal over the proven
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
		return t.priors()
	}
	if len(t.noised) > 0 && t.o.ForcedPlayouts > 0 {
		c := (t.o.CPUCT + math.Log((1+total+t.o.CPUCTBase)/t.o.CPUCTBase)) * math.Sqrt(total)
		best := float64(t.Q(most)) + c*float64(t.noised[most])/(1+top)
		for i, n := range t.target {
			if i == most || n == 0 {
				continue
			}
			p := float64(t.noised[i])
			least := n - math.Floor(t.forced(p, total))
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
	if t.o.MovesLeftSlack <= 0 || len(t.plies) < len(t.nodes) || c == nil || c.proof != unproven || c.weight == 0 {
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
