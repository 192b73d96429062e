package match

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
)

// cell is all games of two players in one order of moving.
type cell struct {
	first, second int // players
	count         [3]float64
}

// The results in a cell, of the first player.
const (
	won = iota
	drawn
	lost
)

// model is the likelihood of all games. Its parameters are the log strengths of the players that are no anchors, then
// the advantage of moving first, then the logarithm of the draw parameter nu.
type model struct {
	names   []string // of the players, sorted
	fixed   []bool
	at      []float64 // log strength of the anchors
	slot    []int     // parameter of each player, -1 for anchors
	size    int       // number of parameters
	cells   []cell
	virtual []cell // of the prior: no draws, no advantage
	pairs   [][]entry
}

// entry is one game of a pair: a cell and its result.
type entry struct{ cell, result int }

func (m *model) firstMove() int { return m.size - 2 }
func (m *model) draw() int      { return m.size - 1 }

// newModel counts games that are sorted by pair.
func newModel(games []RatedGame, anchors map[string]float64, prior float64) *model {
	m := &model{}
	for _, g := range games {
		m.names = append(m.names, g.First, g.Second)
	}
	slices.Sort(m.names)
	m.names = slices.Compact(m.names)
	for _, name := range m.names {
		elo, fixed := anchors[name]
		m.fixed = append(m.fixed, fixed)
		m.at = append(m.at, elo/eloPerNat)
		slot := -1
		if !fixed {
			slot = m.size
			m.size++
		}
		m.slot = append(m.slot, slot)
	}
	m.size += 2
	index := map[[2]int]int{}
	for i, g := range games {
		first, _ := slices.BinarySearch(m.names, g.First)
		second, _ := slices.BinarySearch(m.names, g.Second)
		c, ok := index[[2]int{first, second}]
		if !ok {
			c = len(m.cells)
			index[[2]int{first, second}] = c
			m.cells = append(m.cells, cell{first: first, second: second})
		}
		result := [3]int{lost, drawn, won}[int(2*g.Score)]
		m.cells[c].count[result]++
		if i == 0 || g.Pair == "" || g.Pair != games[i-1].Pair {
			m.pairs = append(m.pairs, nil)
		}
		last := len(m.pairs) - 1
		m.pairs[last] = append(m.pairs[last], entry{c, result})
	}
	m.addPrior(prior)
	return m
}

// addPrior gives each player prior virtual games, half won and half lost, shared out over those it met.
func (m *model) addPrior(prior float64) {
	total := make([]float64, len(m.names))
	met := map[[2]int]float64{}
	for _, c := range m.cells {
		n := c.count[won] + c.count[drawn] + c.count[lost]
		total[c.first] += n
		total[c.second] += n
		met[[2]int{min(c.first, c.second), max(c.first, c.second)}] += n
	}
	for pair, n := range met {
		half := prior * n * (1/total[pair[0]] + 1/total[pair[1]]) / 4
		m.virtual = append(m.virtual, cell{first: pair[0], second: pair[1], count: [3]float64{won: half, lost: half}})
	}
	slices.SortFunc(m.virtual, func(x, y cell) int {
		return cmp.Or(cmp.Compare(x.first, y.first), cmp.Compare(x.second, y.second))
	})
}

// strength is a player's log strength.
func (m *model) strength(theta []float64, player int) float64 {
	if m.fixed[player] {
		return m.at[player]
	}
	return theta[m.slot[player]]
}

// expect returns the chances of a game's results and, for each result, its log weight's derivative by the parameters
// listed in slots (-1: none).
func (m *model) expect(theta []float64, c *cell, virtual bool) (p [3]float64, slots [4]int, features [3][4]float64) {
	slots = [4]int{m.slot[c.first], m.slot[c.second], m.firstMove(), m.draw()}
	a, b := m.strength(theta, c.first), m.strength(theta, c.second)
	if virtual {
		slots[2], slots[3] = -1, -1
		p[won] = 1 / (1 + math.Exp(b-a))
		p[lost] = 1 - p[won]
		features[won][0], features[lost][1] = 1, 1
		return p, slots, features
	}
	a += theta[m.firstMove()]
	w := [3]float64{won: a, drawn: theta[m.draw()] + (a+b)/2, lost: b}
	top := max(w[0], w[1], w[2])
	sum := 0.0
	for i := range w {
		p[i] = math.Exp(w[i] - top)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	features[won] = [4]float64{1, 0, 1, 0}
	features[drawn] = [4]float64{0.5, 0.5, 0.5, 1}
	features[lost] = [4]float64{0, 1, 0, 0}
	return p, slots, features
}

// Weak normal priors keep the two shared parameters finite: an advantage of 0 +- 2 nats (350 Elo), a draw parameter of
// 0.1 within a factor of e^3.
const (
	firstMoveSpread = 2
	drawMean        = -2.3
	drawSpread      = 3
)

// visit calls f with every cell, the prior's too.
func (m *model) visit(f func(c *cell, virtual bool)) {
	for i := range m.cells {
		f(&m.cells[i], false)
	}
	for i := range m.virtual {
		f(&m.virtual[i], true)
	}
}

// loss is the negative log likelihood.
func (m *model) loss(theta []float64) float64 {
	sum := 0.0
	m.visit(func(c *cell, virtual bool) {
		p, _, _ := m.expect(theta, c, virtual)
		for i, n := range c.count {
			if n > 0 {
				sum -= n * math.Log(max(p[i], 1e-300))
			}
		}
	})
	first, draw := theta[m.firstMove()]/firstMoveSpread, (theta[m.draw()]-drawMean)/drawSpread
	return sum + first*first/2 + draw*draw/2
}

// gradient writes the derivative of loss.
func (m *model) gradient(grad, theta []float64) {
	clear(grad)
	m.visit(func(c *cell, virtual bool) {
		p, slots, features := m.expect(theta, c, virtual)
		n := c.count[won] + c.count[drawn] + c.count[lost]
		for k, slot := range slots {
			if slot < 0 {
				continue
			}
			for i := range p {
				grad[slot] += (n*p[i] - c.count[i]) * features[i][k]
			}
		}
	})
	grad[m.firstMove()] += theta[m.firstMove()] / (firstMoveSpread * firstMoveSpread)
	grad[m.draw()] += (theta[m.draw()] - drawMean) / (drawSpread * drawSpread)
}

// hessian writes the second derivatives of loss: the covariance of the features, so that loss is convex.
func (m *model) hessian(h *mat.SymDense, theta []float64) {
	h.Zero()
	m.visit(func(c *cell, virtual bool) {
		p, slots, features := m.expect(theta, c, virtual)
		n := c.count[won] + c.count[drawn] + c.count[lost]
		var mean [4]float64
		for i := range p {
			for k := range mean {
				mean[k] += p[i] * features[i][k]
			}
		}
		for k, x := range slots {
			for l, y := range slots {
				if x < 0 || y < 0 || x > y {
					continue
				}
				cov := -mean[k] * mean[l]
				for i := range p {
					cov += p[i] * features[i][k] * features[i][l]
				}
				h.SetSym(x, y, h.At(x, y)+n*cov)
			}
		}
	})
	first, draw := m.firstMove(), m.draw()
	h.SetSym(first, first, h.At(first, first)+1.0/(firstMoveSpread*firstMoveSpread))
	h.SetSym(draw, draw, h.At(draw, draw)+1.0/(drawSpread*drawSpread))
}

// solve finds the most likely parameters, from a guess or from nothing.
func (m *model) solve(guess []float64) ([]float64, error) {
	if guess == nil {
		guess = make([]float64, m.size)
		guess[m.draw()] = drawMean
	}
	problem := optimize.Problem{
		Func: m.loss,
		Grad: m.gradient,
		Hess: m.hessian,
	}
	settings := &optimize.Settings{
		GradientThreshold: 1e-7,
		Converger:         &optimize.FunctionConverge{Absolute: 1e-12, Relative: 1e-14, Iterations: 5},
		MajorIterations:   500,
	}
	result, err := optimize.Minimize(problem, guess, settings, &optimize.Newton{})
	if result == nil {
		return nil, err
	}
	// Near the optimum the line search may find nothing better: that is no failure if the gradient is flat.
	grad := make([]float64, m.size)
	m.gradient(grad, result.X)
	worst := 0.0
	for _, g := range grad {
		worst = max(worst, math.Abs(g))
	}
	if !(worst < 1e-3) {
		return nil, errors.Join(errors.New("the fit does not converge"), err)
	}
	return result.X, nil
}

// bootstrap returns the standard deviation of every parameter over refits with random weights of pairs.
func (m *model) bootstrap(theta []float64, o FitOptions) ([]float64, error) {
	counts := make([][3]float64, len(m.cells))
	for i := range m.cells {
		counts[i] = m.cells[i].count
	}
	halves := make([]float64, len(m.virtual))
	for i := range m.virtual {
		halves[i] = m.virtual[i].count[won]
	}
	defer func() {
		for i := range m.cells {
			m.cells[i].count = counts[i]
		}
		for i := range m.virtual {
			m.virtual[i].count = [3]float64{won: halves[i], lost: halves[i]}
		}
	}()
	rng := rand.New(rand.NewPCG(o.Seed, 0x726174696e6773))
	squares := make([]float64, m.size)
	for range o.Resamples {
		for i := range m.cells {
			m.cells[i].count = [3]float64{}
		}
		for _, pair := range m.pairs {
			w := rng.ExpFloat64()
			for _, e := range pair {
				m.cells[e.cell].count[e.result] += w
			}
		}
		for i := range m.virtual {
			m.virtual[i].count = [3]float64{won: halves[i] * rng.ExpFloat64(), lost: halves[i] * rng.ExpFloat64()}
		}
		x, err := m.solve(theta)
		if err != nil {
			return nil, err
		}
		for k := range x {
			squares[k] += (x[k] - theta[k]) * (x[k] - theta[k])
		}
	}
	for k := range squares {
		squares[k] = math.Sqrt(squares[k] / float64(o.Resamples))
	}
	return squares, nil
}

// report fills in the ratings.
func (m *model) report(r *Ratings, games []RatedGame, theta, deviations []float64) {
	for i, name := range m.names {
		p := Rating{Name: name, Elo: m.strength(theta, i) * eloPerNat, Anchor: m.fixed[i]}
		p.Low, p.High = p.Elo, p.Elo
		if !p.Anchor {
			half := z95 * deviations[m.slot[i]] * eloPerNat
			p.Low, p.High = p.Elo-half, p.Elo+half
		}
		r.Players = append(r.Players, p)
	}
	for _, g := range games {
		first, _ := slices.BinarySearch(m.names, g.First)
		second, _ := slices.BinarySearch(m.names, g.Second)
		r.Players[first].Games++
		r.Players[first].Score += g.Score
		r.Players[second].Games++
		r.Players[second].Score += 1 - g.Score
	}
	for i := range r.Players {
		r.Players[i].Score /= float64(r.Players[i].Games)
	}
	slices.SortFunc(r.Players, func(x, y Rating) int {
		return cmp.Or(cmp.Compare(y.Elo, x.Elo), cmp.Compare(x.Name, y.Name))
	})
	r.FirstMove = theta[m.firstMove()] * eloPerNat
	half := z95 * deviations[m.firstMove()] * eloPerNat
	r.FirstMoveLow, r.FirstMoveHigh = r.FirstMove-half, r.FirstMove+half
	nu := math.Exp(theta[m.draw()])
	r.DrawShare = nu / (2 + nu)
}
