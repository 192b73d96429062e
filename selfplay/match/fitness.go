package match

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Fitness tells how well one number a player explains the results.
type Fitness struct {
	// ChiSquared is the sum over pairs of players of the squared deviations of their score from the model's, in standard
	// errors; Freedom its degrees of freedom, P the chance of more under the model. A small P (below 0.01): strengths are
	// not one number here.
	ChiSquared float64  `json:"chi_squared"`
	Freedom    int      `json:"freedom"`
	P          float64  `json:"p"`
	Misfits    []Misfit `json:"misfits,omitempty"` // pairs more than 3 standard errors off, the worst first
	Circles    []Circle `json:"circles,omitempty"` // A beats B beats C beats A, each link beyond chance
}

// Misfit is a pair of players whose results the ratings do not explain.
type Misfit struct {
	A        string  `json:"a"`
	B        string  `json:"b"`
	Games    int     `json:"games"`
	Score    float64 `json:"score"`    // of A
	Expected float64 `json:"expected"` // by the ratings
	Z        float64 `json:"z"`        // the difference in standard errors
}

// Circle is a circle of three players.
type Circle struct {
	Players [3]string  `json:"players"`
	Scores  [3]float64 `json:"scores"` // of each against the next
}

// encounter is what two players did to each other.
type encounter struct{ games, points, expected, variance float64 }

// enoughGames is the least number of games for a pair to be judged.
const enoughGames = 10

// mostCircles bounds the list.
const mostCircles = 20

// fitness compares every pair's score with the model's.
func (m *model) fitness(theta []float64) Fitness {
	met := map[[2]int]*encounter{}
	for i := range m.cells {
		c := &m.cells[i]
		p := m.expect(theta, c, false)
		n := c.count[won] + c.count[drawn] + c.count[lost]
		mean := p[won] + p[drawn]/2
		variance := p[won] + p[drawn]/4 - mean*mean
		a, b := c.first, c.second
		points := c.count[won] + c.count[drawn]/2
		if a > b {
			a, b = b, a
			points, mean = n-points, 1-mean
		}
		e := met[[2]int{a, b}]
		if e == nil {
			e = &encounter{}
			met[[2]int{a, b}] = e
		}
		e.games += n
		e.points += points
		e.expected += n * mean
		e.variance += n * variance
	}
	var f Fitness
	used := 0
	for pair, e := range met {
		if e.games < enoughGames || e.variance <= 0 {
			continue
		}
		used++
		z := (e.points - e.expected) / math.Sqrt(e.variance)
		if math.Abs(z) > 3 {
			f.Misfits = append(f.Misfits, Misfit{
				A: m.names[pair[0]], B: m.names[pair[1]], Games: int(e.games), Score: e.points / e.games,
				Expected: e.expected / e.games, Z: z,
			})
		}
	}
	for _, pair := range sortedPairs(met) { // in a fixed order: floating-point sums depend on it
		if e := met[pair]; e.games >= enoughGames && e.variance > 0 {
			z := (e.points - e.expected) / math.Sqrt(e.variance)
			f.ChiSquared += z * z
		}
	}
	slices.SortFunc(f.Misfits, func(x, y Misfit) int {
		return cmp.Or(cmp.Compare(math.Abs(y.Z), math.Abs(x.Z)), cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B))
	})
	f.Freedom = max(used-(m.size-2), 0)
	f.P = 1
	if f.Freedom > 0 {
		f.P = 1 - distuv.ChiSquared{K: float64(f.Freedom)}.CDF(f.ChiSquared)
	}
	f.Circles = m.circles(met)
	return f
}

func sortedPairs(met map[[2]int]*encounter) [][2]int {
	var pairs [][2]int
	for pair := range met {
		pairs = append(pairs, pair)
	}
	slices.SortFunc(pairs, func(x, y [2]int) int { return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1])) })
	return pairs
}

// circles lists A > B > C > A, every link with a score beyond 0.5 by two standard errors.
func (m *model) circles(met map[[2]int]*encounter) []Circle {
	beats := make(map[[2]int]float64)
	for pair, e := range met {
		if e.games < enoughGames {
			continue
		}
		score := e.points / e.games
		switch error2 := 2 * 0.5 / math.Sqrt(e.games); {
		case score > 0.5+error2:
			beats[pair] = score
		case score < 0.5-error2:
			beats[[2]int{pair[1], pair[0]}] = 1 - score
		}
	}
	var out []Circle
	for a := range m.names {
		for b := range m.names {
			ab, ok := beats[[2]int{a, b}]
			if !ok || b < a {
				continue
			}
			for c := range m.names {
				bc, ok1 := beats[[2]int{b, c}]
				ca, ok2 := beats[[2]int{c, a}]
				if c > a && ok1 && ok2 && len(out) < mostCircles {
					out = append(out, Circle{Players: [3]string{m.names[a], m.names[b], m.names[c]}, Scores: [3]float64{ab, bc, ca}})
				}
			}
		}
	}
	return out
}

// lines tells what is wrong, if anything is.
func (f Fitness) lines() []string {
	var out []string
	if f.P < 0.01 {
		out = append(out, fmt.Sprintf("ratings do not explain the results well (chi squared %.1f on %d, p = %.2g)", f.ChiSquared, f.Freedom, f.P))
	}
	for _, x := range f.Misfits {
		out = append(out, fmt.Sprintf("unexpected: %s scores %.0f%% against %s in %d games, ratings say %.0f%%",
			x.A, 100*x.Score, x.B, x.Games, 100*x.Expected))
	}
	for _, c := range f.Circles {
		out = append(out, fmt.Sprintf("circle: %s beats %s (%.0f%%) beats %s (%.0f%%) beats %s (%.0f%%)",
			c.Players[0], c.Players[1], 100*c.Scores[0], c.Players[2], 100*c.Scores[1], c.Players[0], 100*c.Scores[2]))
	}
	return out
}
