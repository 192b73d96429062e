package protocol

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// Level is a strength by name, for people who play against a net: fewer nodes and choices by lot among the moves that
// the search visited.
type Level struct {
	Name        string
	Nodes       int     // simulations at most
	Temperature float64 // a move is drawn with chance ~ visits^(1/Temperature); 0: the best move always
}

// Levels lists the levels from weak to strong; the last has no handicap.
var Levels = []Level{
	{Name: "beginner", Nodes: 8, Temperature: 1.5},
	{Name: "easy", Nodes: 24, Temperature: 0.8},
	{Name: "medium", Nodes: 100, Temperature: 0.4},
	{Name: "hard", Nodes: 400, Temperature: 0},
	{Name: "max", Nodes: math.MaxInt32, Temperature: 0},
}

// LevelNames lists the names of Levels.
func LevelNames() []string {
	names := make([]string, len(Levels))
	for i, l := range Levels {
		names[i] = l.Name
	}
	return names
}

// ParseLevel finds a level by its name.
func ParseLevel(name string) (Level, error) {
	for _, l := range Levels {
		if strings.EqualFold(l.Name, name) {
			return l, nil
		}
	}
	return Level{}, fmt.Errorf("level: %q is unknown (%s)", name, strings.Join(LevelNames(), ", "))
}

// Choose returns the index of the move to play among n with the given visits, best being the search's own choice.
func (l Level) Choose(n, best int, visits func(int) int, rng *rand.Rand) int {
	if l.Temperature <= 0 {
		return best
	}
	most := 0
	for i := range n {
		most = max(most, visits(i))
	}
	if most == 0 {
		return best
	}
	total := 0.0
	weight := func(i int) float64 { return math.Pow(float64(visits(i))/float64(most), 1/l.Temperature) }
	for i := range n {
		total += weight(i)
	}
	at := rng.Float64() * total
	for i := range n {
		if at -= weight(i); at < 0 {
			return i
		}
	}
	return best
}
