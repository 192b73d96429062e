package match

import "math"

// Tally counts a match from A's side.
type Tally struct {
	Wins, Draws, Losses int
	// Pairs counts whole pairs by A's score in both games together: 0, 1/2, 1, 3/2, 2.
	Pairs [5]int
}

// Games returns the number of games.
func (t Tally) Games() int { return t.Wins + t.Draws + t.Losses }

// Score returns (wins + draws/2) / games, and 0.5 without games.
func (t Tally) Score() float64 {
	if t.Games() == 0 {
		return 0.5
	}
	return (float64(t.Wins) + float64(t.Draws)/2) / float64(t.Games())
}

// eloBound is the largest difference that is written; a one-sided match bounds the truth on one side only.
const eloBound = 1600

// EloOf turns a score in [0,1] into a difference in Elo by the logistic curve, within +-1600.
func EloOf(score float64) float64 {
	if score <= 0 {
		return -eloBound
	}
	if score >= 1 {
		return eloBound
	}
	return max(-eloBound, min(eloBound, 400*math.Log10(score/(1-score))))
}

// ScoreOf is the inverse of EloOf.
func ScoreOf(elo float64) float64 { return 1 / (1 + math.Pow(10, -elo/400)) }

// z95 is the 97.5 % point of the normal distribution.
const z95 = 1.959963984540054

// Elo returns the difference A - B with its 95 % interval. A score of 0 or 1 counts as half a game away from it.
//
// The interval is Wilson's for a proportion, with as many effective games as the scatter of the pairs is worth: the two
// games of a pair are not independent, since both have the opening in common. The scatter is taken together with one
// virtual pair of independent games, so that few or one-sided pairs do not look certain.
func (t Tally) Elo() (elo, low, high float64) {
	games := float64(t.Games())
	if games == 0 {
		return 0, -eloBound, eloBound
	}
	s := t.Score()
	edge := 1 / (2 * games)
	elo = EloOf(min(max(s, edge), 1-edge))
	n := games / t.designEffect()
	z2 := z95 * z95
	mid := (s + z2/(2*n)) / (1 + z2/n)
	half := z95 / (1 + z2/n) * math.Sqrt(s*(1-s)/n+z2/(4*n*n))
	return elo, EloOf(mid - half), EloOf(mid + half)
}

// designEffect is the variance of the mean score over what it were with independent games without draws.
func (t Tally) designEffect() float64 {
	n, sum, squares := 0.0, 0.0, 0.0
	for i, c := range t.Pairs {
		x := float64(i) / 4
		n += float64(c)
		sum += x * float64(c)
		squares += x * x * float64(c)
	}
	if n == 0 {
		return 1
	}
	mean := sum / n
	independent := mean * (1 - mean) / 2 // variance of a pair's mean score
	observed := squares/n - mean*mean
	ratio := 1.0
	if independent > 0 {
		ratio = observed / independent * n / max(n-1, 1)
	}
	return (n*ratio + 1) / (n + 1)
}

// LOS is the likelihood of superiority: the chance that A is the stronger, by the normal approximation.
func (t Tally) LOS() float64 {
	games := float64(t.Games())
	if games == 0 {
		return 0.5
	}
	s := t.Score()
	edge := 1 / (2 * games)
	s = min(max(s, edge), 1-edge)
	se := math.Sqrt(s * (1 - s) / games * t.designEffect())
	return 0.5 * math.Erfc(-(s-0.5)/se/math.Sqrt2)
}
