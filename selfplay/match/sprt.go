package match

import (
	"errors"
	"fmt"
	"math"
)

// SPRT is a sequential test of H0: A - B = Elo0 against H1: A - B = Elo1 (Elo by the logistic curve). It ends as soon as
// the pairs played decide, with a chance of error of Alpha under H0 and Beta under H1.
type SPRT struct {
	Elo0, Elo1, Alpha, Beta float64
}

// Validate reports every fault at once.
func (s SPRT) Validate() error {
	var errs []error
	if !(s.Elo0 < s.Elo1) {
		errs = append(errs, fmt.Errorf("elo0, elo1: %v is not below %v", s.Elo0, s.Elo1))
	}
	if math.Abs(s.Elo0) > 800 || math.Abs(s.Elo1) > 800 {
		errs = append(errs, errors.New("elo0, elo1: not within -800..800"))
	}
	for _, x := range []struct {
		key string
		v   float64
	}{{"alpha", s.Alpha}, {"beta", s.Beta}} {
		if !(x.v > 0 && x.v < 0.5) {
			errs = append(errs, fmt.Errorf("%s: %v is not in (0, 0.5)", x.key, x.v))
		}
	}
	return errors.Join(errs...)
}

// Bounds returns the log-likelihood ratios at which H0 and H1 are accepted (Wald 1945).
func (s SPRT) Bounds() (lower, upper float64) {
	return math.Log(s.Beta / (1 - s.Alpha)), math.Log((1 - s.Beta) / s.Alpha)
}

// LLR is the log-likelihood ratio of H1 to H0 by the pairs' five frequencies: the generalised test, in which the
// frequencies besides their mean are nuisances, each hypothesis having its most likely ones (Van den Bergh, "The
// generalized sequential probability ratio test", section on the multinomial case).
func (s SPRT) LLR(pairs [5]int) float64 {
	var p [5]float64
	total := 0.0
	for i, c := range pairs {
		p[i] = max(float64(c), 1e-3) // a score that has not occurred is possible
		total += p[i]
	}
	s0, s1 := ScoreOf(s.Elo0), ScoreOf(s.Elo1)
	x0, x1 := tilt(p, s0), tilt(p, s1)
	llr := 0.0
	for i := range p {
		a := float64(i) / 4
		llr += p[i] * math.Log((1+x0*(a-s0))/(1+x1*(a-s1)))
	}
	return llr
}

// tilt finds x with sum p_i (a_i - s) / (1 + x (a_i - s)) = 0: p_i / (1 + x (a_i - s)) are then the most likely
// frequencies with mean s.
func tilt(p [5]float64, s float64) float64 {
	low, high := -1/(1-s), 1/s
	for range 100 {
		x := (low + high) / 2
		sum := 0.0
		for i := range p {
			a := float64(i)/4 - s
			sum += p[i] * a / (1 + x*a)
		}
		if sum > 0 { // the sum falls as x grows
			low = x
		} else {
			high = x
		}
	}
	return (low + high) / 2
}

// Decision of an SPRT.
const (
	Undecided = ""
	AcceptH0  = "H0"
	AcceptH1  = "H1"
)

// Decide returns the verdict on the pairs so far.
func (s SPRT) Decide(pairs [5]int) string {
	lower, upper := s.Bounds()
	switch llr := s.LLR(pairs); {
	case llr <= lower:
		return AcceptH0
	case llr >= upper:
		return AcceptH1
	}
	return Undecided
}
