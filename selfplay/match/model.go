package match

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
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
	links   []link
}

// link is a Link between players, in nats: a - b is near mean.
type link struct {
	a, b         int
	mean, spread float64
}

// entry is one game of a pair: a cell and its result.
type entry struct{ cell, result int }

func (m *model) firstMove() int { return m.size - 2 }
func (m *model) draw() int      { return m.size - 1 }

// newModel counts games that are sorted by pair.
func newModel(games []RatedGame, anchors map[string]float64, o FitOptions) *model {
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
	m.addPrior(o.Prior)
	for _, l := range o.Links {
		a, played := slices.BinarySearch(m.names, l.A)
		b, met := slices.BinarySearch(m.names, l.B)
		if played && met {
			m.links = append(m.links, link{a: a, b: b, spread: l.Spread / eloPerNat})
		}
	}
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

// slots are the parameters on which a cell's chances depend: of both players, the advantage, the draws; -1: none.
func (m *model) slots(c *cell, virtual bool) [4]int {
	if virtual {
		return [4]int{m.slot[c.first], m.slot[c.second], -1, -1}
	}
	return [4]int{m.slot[c.first], m.slot[c.second], m.firstMove(), m.draw()}
}

// features are the derivatives of the results' log weights by the slots.
var features = [3][4]float64{won: {1, 0, 1, 0}, drawn: {0.5, 0.5, 0.5, 1}, lost: {0, 1, 0, 0}}

// expect returns the chances of a game's results.
func (m *model) expect(theta []float64, c *cell, virtual bool) (p [3]float64) {
	a, b := m.strength(theta, c.first), m.strength(theta, c.second)
	if virtual {
		p[won] = 1 / (1 + math.Exp(b-a))
		p[lost] = 1 - p[won]
		return p
	}
	a += theta[m.firstMove()]
	d := theta[m.draw()] + (a+b)/2
	top := max(a, d, b)
	p = [3]float64{won: math.Exp(a - top), drawn: math.Exp(d - top), lost: math.Exp(b - top)}
	sum := p[won] + p[drawn] + p[lost]
	for i := range p {
		p[i] /= sum
	}
	return p
}

// Weak normal priors keep the two shared parameters finite: an advantage of 0 +- 2 nats (350 Elo), a draw parameter of
// 0.1 within a factor of e^3.
const (
	firstMoveSpread = 2
	drawMean        = -2.3
	drawSpread      = 3
)

// visit yields every cell, the prior's too.
func (m *model) visit(yield func(c *cell, virtual bool) bool) {
	for i := range m.cells {
		if !yield(&m.cells[i], false) {
			return
		}
	}
	for i := range m.virtual {
		if !yield(&m.virtual[i], true) {
			return
		}
	}
}

// off is how far the players of a link differ from its mean, in its spreads.
func (m *model) off(theta []float64, l *link) float64 {
	return (m.strength(theta, l.a) - m.strength(theta, l.b) - l.mean) / l.spread
}

// loss is the negative log likelihood.
func (m *model) loss(theta []float64) float64 {
	sum := 0.0
	for c, virtual := range m.visit {
		p := m.expect(theta, c, virtual)
		for i, n := range c.count {
			if n > 0 {
				sum -= n * math.Log(max(p[i], 1e-300))
			}
		}
	}
	for i := range m.links {
		x := m.off(theta, &m.links[i])
		sum += x * x / 2
	}
	first, draw := theta[m.firstMove()]/firstMoveSpread, (theta[m.draw()]-drawMean)/drawSpread
	return sum + first*first/2 + draw*draw/2
}

// derive writes the first derivatives of loss, and to the upper half of h, row by row, the second ones: the covariance of
// the features, so that loss is convex.
func (m *model) derive(grad, h, theta []float64) {
	clear(grad)
	clear(h)
	for c, virtual := range m.visit {
		p, slots := m.expect(theta, c, virtual), m.slots(c, virtual)
		n := c.count[won] + c.count[drawn] + c.count[lost]
		for k, x := range slots {
			if x < 0 {
				continue
			}
			mean := 0.0
			for i := range p {
				mean += p[i] * features[i][k]
				grad[x] += (n*p[i] - c.count[i]) * features[i][k]
			}
			for l, y := range slots {
				if y < x {
					continue
				}
				cov := 0.0
				for i := range p {
					cov += p[i] * (features[i][k] - mean) * features[i][l]
				}
				h[x*m.size+y] += n * cov
			}
		}
	}
	for i := range m.links {
		l := &m.links[i]
		g, c := m.off(theta, l)/l.spread, 1/(l.spread*l.spread)
		a, b := m.slot[l.a], m.slot[l.b]
		if a >= 0 {
			grad[a] += g
			h[a*m.size+a] += c
		}
		if b >= 0 {
			grad[b] -= g
			h[b*m.size+b] += c
		}
		if a >= 0 && b >= 0 {
			h[min(a, b)*m.size+max(a, b)] -= c
		}
	}
	first, draw := m.firstMove(), m.draw()
	grad[first] += theta[first] / (firstMoveSpread * firstMoveSpread)
	grad[draw] += (theta[draw] - drawMean) / (drawSpread * drawSpread)
	h[first*m.size+first] += 1.0 / (firstMoveSpread * firstMoveSpread)
	h[draw*m.size+draw] += 1.0 / (drawSpread * drawSpread)
}

// flat is the size of a gradient, in games, at which a fit is done; flatEnough that for a resample, whose own
// noise is larger by far. longest is the farthest that a parameter moves at once.
const (
	flat       = 1e-7
	flatEnough = 1e-2
	longest    = 2 // nats
)

// solve finds the most likely parameters by Newton's method, from a guess or from nothing, until no part of the
// gradient is larger than end. The loss is convex, so that a shorter step in the same direction always helps where the
// whole one does not.
func (m *model) solve(guess []float64, end float64) ([]float64, error) {
	x := slices.Clone(guess)
	if guess == nil {
		x = make([]float64, m.size)
		x[m.draw()] = drawMean
	}
	grad, step, next, h := make([]float64, m.size), make([]float64, m.size), make([]float64, m.size), make([]float64, m.size*m.size)
	var c mat.Cholesky
	loss := m.loss(x)
	for range 200 {
		m.derive(grad, h, x)
		worst := 0.0
		for _, g := range grad {
			worst = max(worst, math.Abs(g))
		}
		if worst <= end {
			return x, nil
		}
		if !c.Factorize(mat.NewSymDense(m.size, h)) {
			return nil, errors.New("the fit has no single solution")
		}
		var inexact mat.Condition // a warning: the loss tells whether the step is any good
		if err := c.SolveVecTo(mat.NewVecDense(m.size, step), mat.NewVecDense(m.size, grad)); err != nil && !errors.As(err, &inexact) {
			return nil, fmt.Errorf("solve for a step of the fit: %w", err)
		}
		// Where the loss is flat a whole step leads far beyond the optimum, to where it is flat on the other side: so no
		// parameter moves by more than longest at a time, and a step must gain what its slope promises, or nearly.
		slope, far := 0.0, 0.0
		for i, d := range step {
			slope += d * grad[i]
			far = max(far, math.Abs(d))
		}
		better := false
		for scale := min(1, longest/far); scale > 1e-9 && !better; scale /= 2 {
			for i := range x {
				next[i] = x[i] - scale*step[i]
			}
			l := m.loss(next)
			if better = l < loss && loss-l >= 1e-4*scale*slope; better {
				x, next, loss = next, x, l
			}
		}
		if !better { // as near as the rounding of the loss allows
			if worst < 1e-3 {
				return x, nil
			}
			break
		}
	}
	return nil, errors.New("the fit does not converge")
}

// bootstrap returns the standard deviation of every parameter over refits with random weights of pairs and random means
// of links.
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
		for i := range m.links {
			m.links[i].mean = 0
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
		for i := range m.links {
			m.links[i].mean = m.links[i].spread * rng.NormFloat64()
		}
		x, err := m.solve(theta, flatEnough)
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
