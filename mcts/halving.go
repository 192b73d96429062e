package mcts

import (
	"math"
	"math/bits"
)

// halving is the state of Gumbel search at the root: sequential halving (Karnin,
// Koren, Somekh: Almost optimal exploration in multi-armed bandits, 2013; as in
// Danihelka et al. 2022, algorithm 2).
type halving struct {
	candidates []int32   // the moves still in the race, best first
	noise      []float32 // Gumbel noise by move; empty without
	scores     []float64 // scratch, parallel to candidates
	quota      int32     // visits for each candidate in this phase
	rounds     int       // number of halvings planned at the start of the race
	progress
}

// progress is the place within a phase.
type progress struct {
	lap    int32
	cursor int32
}

// prepareRoot draws the noise of a search and opens the race, once the root has
// its priors.
func (t *Tree) prepareRoot() {
	nd := &t.nodes[root]
	count := int(nd.count)
	if t.o.Algorithm == PUCT {
		if t.rng != nil && t.o.DirichletFraction > 0 && t.o.DirichletTotal > 0 && count > 1 {
			t.drawDirichlet(count)
		}
		return
	}
	if t.rng != nil {
		t.noise = t.noise[:0]
		for range count {
			// -ln(E) with E exponential is Gumbel distributed.
			t.noise = append(t.noise, float32(-math.Log(t.rng.ExpFloat64())*t.o.GumbelScale))
		}
	}
	t.openRace()
}

// openRace fills the candidates with the best unsettled moves; false: there are
// none.
func (t *Tree) openRace() bool {
	nd := &t.nodes[root]
	t.candidates = t.candidates[:0]
	for i, e := range t.edges[nd.first : nd.first+int32(nd.count)] {
		if e.child == 0 || t.nodes[e.child].proof == unproven {
			t.candidates = append(t.candidates, int32(i))
		}
	}
	if len(t.candidates) == 0 {
		return false
	}
	m := min(t.o.Considered, int(t.budget-t.started), len(t.candidates))
	m = max(m, 1)
	t.rank()
	t.candidates = t.candidates[:m]
	t.rounds = max(bits.Len(uint(m-1)), 1)
	t.plan()
	return true
}

// plan sets the quota of the phase that begins: the budget is shared out evenly
// over the rounds.
func (t *Tree) plan() {
	alive := len(t.candidates)
	t.quota = int32(max(1, int(t.budget)/(t.rounds*alive)))
	t.progress = progress{}
}

// pickHalving gives the next candidate its visit; -1 when an answer must come
// first or no move is left.
func (t *Tree) pickHalving() int32 {
	nd := &t.nodes[root]
	for {
		for t.lap < t.quota {
			for int(t.cursor) < len(t.candidates) {
				slot := t.candidates[t.cursor]
				t.cursor++
				child := t.edges[nd.first+slot].child
				if child == 0 || t.nodes[child].proof == unproven {
					return slot
				}
			}
			t.cursor = 0
			t.lap++
		}
		if nd.pending > 0 || !t.halve() {
			return -1
		}
	}
}

// halve ends a phase: the better half of the unsettled candidates goes on, at
// least two. When all are settled the race opens again with the other moves.
func (t *Tree) halve() bool {
	nd := &t.nodes[root]
	half := max(2, len(t.candidates)/2)
	alive := t.candidates[:0]
	for _, slot := range t.candidates {
		child := t.edges[nd.first+slot].child
		if child == 0 || t.nodes[child].proof == unproven {
			alive = append(alive, slot)
		}
	}
	t.candidates = alive
	if len(alive) == 0 {
		return t.openRace()
	}
	t.rank()
	t.candidates = t.candidates[:min(half, len(alive))]
	t.plan()
	return true
}

// rank sorts the candidates by noise + logit + sigma(completed q), best first.
func (t *Tree) rank() {
	t.scores = t.scores[:0]
	_, s := t.survey(root, nil)
	mixed := t.nodes[root].mixed(s)
	sigma := t.o.sigma(s.most)
	for _, slot := range t.candidates {
		t.scores = append(t.scores, t.rootScore(slot, sigma, mixed))
	}
	// Insertion sort: it allocates nothing, and after the first time the order is
	// nearly right.
	for i := 1; i < len(t.candidates); i++ {
		c, x := t.candidates[i], t.scores[i]
		j := i
		for ; j > 0 && (t.scores[j-1] < x || t.scores[j-1] == x && t.tieBefore(root, c, t.candidates[j-1])); j-- {
			t.candidates[j], t.scores[j] = t.candidates[j-1], t.scores[j-1]
		}
		t.candidates[j], t.scores[j] = c, x
	}
}

// rootScore is noise + logit + sigma(completed q) of a root move.
func (t *Tree) rootScore(slot int32, sigma, mixed float64) float64 {
	e := t.edges[t.nodes[root].first+slot]
	x := logPrior(e.prior)
	if len(t.noise) > 0 {
		x += float64(t.noise[slot])
	}
	q := mixed
	if e.child != 0 {
		if c := &t.nodes[e.child]; c.weight > 0 || c.proof != unproven {
			q = 1 - c.score()
		}
	}
	return x + sigma*q
}

// logPrior is the logarithm of a prior, which a large net may have rounded to 0.
func logPrior(p float32) float64 { return math.Log(max(float64(p), 1e-38)) }

// drawDirichlet mixes noise into the root's priors, in t.noised (Silver et al.
// 2018; alpha as in KataGo).
func (t *Tree) drawDirichlet(count int) {
	alpha := t.o.DirichletTotal / float64(count)
	t.target = t.target[:0]
	sum := 0.0
	for range count {
		x := t.gamma(alpha)
		t.target = append(t.target, x)
		sum += x
	}
	if sum <= 0 {
		return
	}
	first := t.nodes[root].first
	t.noised = t.noised[:0]
	for i := range count {
		own := float64(t.edges[int(first)+i].prior)
		t.noised = append(t.noised, float32((1-t.o.DirichletFraction)*own+t.o.DirichletFraction*t.target[i]/sum))
	}
}

// gamma draws from the gamma distribution with the given shape and scale 1
// (Marsaglia, Tsang: A simple method for generating gamma variables, 2000).
func (t *Tree) gamma(shape float64) float64 {
	boost := 1.0
	if shape < 1 {
		boost = math.Pow(1-t.rng.Float64(), 1/shape)
		shape++
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := t.rng.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if u := 1 - t.rng.Float64(); math.Log(u) < x*x/2+d*(1-v+math.Log(v)) {
			return boost * d * v
		}
	}
}
