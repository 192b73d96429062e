package mcts

import "math"

// visited is a move of a node under selection that has a child.
type visited struct {
	slot   int32
	visits int32 // pending ones included
	q      float64
	prior  float64
	closed bool // settled: not to be selected
}

// pick chooses the edge to follow from the node n, -1 for none.
func (t *Tree) pick(n int32) int32 {
	if t.o.Algorithm == PUCT {
		return t.pickPUCT(n)
	}
	if n == root {
		return t.pickHalving()
	}
	return t.pickInterior(n)
}

// score of a node for its side to move: exact, or the average in which each
// pending leaf counts as lost for the side that moved there (virtual loss).
func (nd *node) score() float64 {
	switch nd.proof {
	case proofWin:
		return 1
	case proofDraw:
		return 0.5
	case proofLoss:
		return 0
	}
	weight := float64(nd.weight)
	if nd.pending == 0 {
		if weight == 0 || nd.drawn && nd.win < nd.loss {
			return 0.5
		}
		return (weight + nd.win - nd.loss) / (2 * weight)
	}
	pending := float64(nd.pending)
	return (weight + nd.win - nd.loss + 2*pending) / (2 * (weight + pending))
}

// tieBefore orders equal moves a and b of node n by a hash.
func (t *Tree) tieBefore(n, a, b int32) bool {
	return mix(t.seed^uint64(n)<<32^uint64(a)) < mix(t.seed^uint64(n)<<32^uint64(b))
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood: Fast splittable
// pseudorandom number generators, 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// survey collects the visited moves of n in t.scratch, and returns the unvisited
// one with the highest prior (-1: none) and the sums that every rule needs.
func (t *Tree) survey(n int32, priors []float32) (best int32, s sums) {
	nd := &t.nodes[n]
	t.scratch = t.scratch[:0]
	best = -1
	var high float32
	for i, e := range t.edges[nd.first : nd.first+int32(nd.count)] {
		prior := e.prior
		if priors != nil {
			prior = priors[i]
		}
		if e.child == 0 {
			if best < 0 || prior > high || prior == high && t.tieBefore(n, int32(i), best) {
				best, high = int32(i), prior
			}
			continue
		}
		c := &t.nodes[e.child]
		v := visited{
			slot:   int32(i),
			visits: c.visits + c.pending,
			q:      1 - c.score(),
			prior:  float64(prior),
			closed: c.proof != unproven,
		}
		t.scratch = append(t.scratch, v)
		s.visits += v.visits
		s.most = max(s.most, v.visits)
		s.prior += v.prior
		if c.weight > 0 || c.proof != unproven {
			s.known += v.prior
			s.value += v.prior * v.q
		}
	}
	s.high = float64(high)
	return best, s
}

// sums over the visited moves of a node.
type sums struct {
	visits int32   // all visits
	most   int32   // of one move
	prior  float64 // the share of the policy
	known  float64 // the same, of those with a value
	value  float64 // prior * q of those
	high   float64 // the highest prior of an unvisited move
}

// mixed is the value of an unvisited move: the node's own evaluation and its
// visited moves' values, weighted by the policy (Danihelka et al. 2022, equation
// 33).
func (nd *node) mixed(s sums) float64 {
	own := (1 + float64(nd.ownWin) - float64(nd.ownLoss)) / 2
	if s.known <= 0 || s.visits == 0 {
		return own
	}
	return (own + float64(s.visits)*s.value/s.known) / (1 + float64(s.visits))
}

// sigma is the scale of a score in the improved policy (Danihelka et al. 2022,
// equation 8).
func (o *Options) sigma(most int32) float64 { return (o.CVisit + float64(most)) * o.CScale }

// pickInterior follows the improved policy as closely as whole visits can:
// argmax of policy(a) - N(a) / (1 + sum N) (Danihelka et al. 2022, equation 14).
// With completed values the policy of an unvisited move is its prior over z, that
// of a visited one prior * exp(sigma * (q - mixed)) over z.
func (t *Tree) pickInterior(n int32) int32 {
	best, s := t.survey(n, nil)
	nd := &t.nodes[n]
	mixed := nd.mixed(s)
	sigma := t.o.sigma(s.most)
	top := 0.0 // the highest exponent, for range
	for i := range t.scratch {
		v := &t.scratch[i]
		v.q = sigma * (v.q - mixed)
		top = max(top, v.q)
	}
	rest := math.Exp(-top)
	z := max(1-s.prior, 0) * rest
	for i := range t.scratch {
		v := &t.scratch[i]
		v.q = v.prior * math.Exp(v.q-top)
		z += v.q
	}
	high := math.Inf(-1)
	if best >= 0 {
		z = max(z, s.high*rest)
		high = s.high * rest / z
	}
	per := 1 / (1 + float64(s.visits))
	for i := range t.scratch {
		v := &t.scratch[i]
		if v.closed {
			continue
		}
		u := v.q/z - float64(v.visits)*per
		if best < 0 || u > high || u == high && t.tieBefore(n, v.slot, best) {
			best, high = v.slot, u
		}
	}
	return best
}

// pickPUCT maximises q + c(N) * P * sqrt(N) / (1 + n) (Silver et al. 2018). At
// the root, whose visits are the policy, a drawn move goes on collecting them.
func (t *Tree) pickPUCT(n int32) int32 {
	var priors []float32
	fpu := t.o.FPUReduction
	noisy := false
	if n == root {
		fpu = t.o.FPURoot
		if noisy = len(t.noised) > 0; noisy {
			priors = t.noised
		}
	}
	best, s := t.survey(n, priors)
	total := float64(s.visits)
	c := (t.o.CPUCT + math.Log((1+total+t.o.CPUCTBase)/t.o.CPUCTBase)) * math.Sqrt(max(total, 1))
	high := math.Inf(-1)
	if best >= 0 {
		high = t.nodes[n].score() - fpu*math.Sqrt(s.prior) + c*s.high
	}
	for i := range t.scratch {
		v := &t.scratch[i]
		if v.closed && (n != root || v.q == 0) {
			continue
		}
		u := v.q + c*v.prior/(1+float64(v.visits))
		if noisy && float64(v.visits) < t.forced(v.prior, total) {
			u = math.Inf(1)
		}
		if best < 0 || u > high || u == high && t.tieBefore(n, v.slot, best) {
			best, high = v.slot, u
		}
	}
	return best
}

// forced is the least number of visits that a visited root move gets (Wu 2019,
// section 3.2).
func (t *Tree) forced(prior, total float64) float64 {
	return math.Sqrt(t.o.ForcedPlayouts * prior * total)
}

func finite(x float32) bool { return x-x == 0 }

// softmax turns logits into the edges' priors. Logits that are missing, or not
// all finite, give equal priors; the second case is reported with false.
func softmax(edges []edge, logits []float32) bool {
	ok := len(logits) == 0 || len(logits) == len(edges)
	if ok && len(logits) > 0 {
		high := logits[0]
		var spread float32 // turns into NaN with anything not finite
		for _, x := range logits {
			high = max(high, x)
			spread += x - x
		}
		if spread == 0 {
			sum := 0.0
			for i, x := range logits {
				p := expNegative(float64(x - high))
				edges[i].prior = float32(p)
				sum += p
			}
			scale := float32(1 / sum)
			for i := range edges {
				edges[i].prior *= scale
			}
			return true
		}
		ok = false
	}
	for i := range edges {
		edges[i].prior = 1 / float32(len(edges))
	}
	return ok
}

// expNegative is e to the power of x for x <= 0, within 1e-8 of it, relatively; it
// is 0 below -87, where float32 has no normal numbers. Most of the time of a
// simulation goes into the priors' exponentials, which need no more than that.
func expNegative(x float64) float64 {
	if x < -87 {
		return 0
	}
	k := math.Floor(x*math.Log2E + 0.5)
	r := x - k*math.Ln2
	// Taylor's series; |r| <= ln(2)/2, so the first term left out is below 6e-9.
	p := 1 + r*(1+r*(1.0/2+r*(1.0/6+r*(1.0/24+r*(1.0/120+r*(1.0/720+r/5040))))))
	return p * math.Float64frombits(uint64(int64(k)+1023)<<52)
}
