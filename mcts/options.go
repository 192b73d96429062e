package mcts

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
)

// The algorithms of Options.Algorithm.
const (
	Gumbel = "gumbel"
	PUCT   = "puct"
)

// Options are the constants of a search. Scores are in [0, 1].
type Options struct {
	// Algorithm is "gumbel" or "puct".
	Algorithm string `yaml:"algorithm"`
	// Simulations is the budget of one full search. Gumbel search learns with as
	// few as 16 (Danihelka et al. 2022, figure 2).
	Simulations int `yaml:"simulations"`

	// Considered is m, how many moves are sampled at the root (Danihelka et al.
	// 2022, section 5: 16 in Go and chess).
	Considered int `yaml:"considered"`
	// CVisit and CScale make sigma(q) = (CVisit + max N) * CScale * q (Danihelka et
	// al. 2022, equation 8; 50 and 1 for board games).
	CVisit float64 `yaml:"c_visit"`
	CScale float64 `yaml:"c_scale"`
	// GumbelScale multiplies the Gumbel noise; 1 is the paper's.
	GumbelScale float64 `yaml:"gumbel_scale"`

	// CPUCT and CPUCTBase make c(N) = CPUCT + ln((1 + N + CPUCTBase) / CPUCTBase)
	// (Silver et al. 2018, pseudocode: 1.25 and 19652).
	CPUCT     float64 `yaml:"c_puct"`
	CPUCTBase float64 `yaml:"c_puct_base"`
	// FPUReduction is how far an unvisited move is rated below its node's value,
	// times the root of the visited share of the policy (KataGo's fpuReductionMax
	// 0.2 on [-1, 1]); FPURoot is the same at the root.
	FPUReduction float64 `yaml:"fpu_reduction"`
	FPURoot      float64 `yaml:"fpu_root"`
	// DirichletTotal is the concentration shared out over the legal moves, alpha =
	// DirichletTotal / moves (KataGo: 10.83, which gives AlphaZero's 0.03 for Go's
	// 361 moves and 0.14 for shogi's 80); DirichletFraction is the share of noise
	// in the root's priors (Silver et al. 2018: 0.25). Drawn once a search, only
	// when the search has a random source.
	DirichletTotal    float64 `yaml:"dirichlet_total"`
	DirichletFraction float64 `yaml:"dirichlet_fraction"`
	// ForcedPlayouts is k: a visited root move gets at least sqrt(k * P * N) visits
	// in a search with noise, which the policy target takes out again (Wu 2019,
	// section 3.2: 2). 0 switches it off.
	ForcedPlayouts float64 `yaml:"forced_playouts"`

	// CheapShare is the share of plies searched with CheapSimulations and without
	// noise, whose policy is no target (Wu 2019, section 3.1: 0.75). 0 switches it
	// off.
	CheapShare       float64 `yaml:"cheap_share"`
	CheapSimulations int     `yaml:"cheap_simulations"`
	// ProgressiveStart is the budget of the first game, which grows linearly to
	// Simulations over ProgressiveGames games (Wu et al.: MiniZero, 2023, section
	// III-C). 0 games switches it off.
	ProgressiveStart int   `yaml:"progressive_start"`
	ProgressiveGames int64 `yaml:"progressive_games"`

	// LCBDeviations and LCBShare choose the move of a PUCT search without noise:
	// the best lower confidence bound, LCBDeviations standard errors below the
	// mean, among the moves with at least LCBShare of the most visits (KataGo: 5
	// and 0.15). 0 deviations: the most visits.
	LCBDeviations float64 `yaml:"lcb_deviations"`
	LCBShare      float64 `yaml:"lcb_share"`
	// MovesLeftSlack is how much score the move may cost that ends a won game
	// sooner, or a lost one later, by the evaluator's plies-left answers (see
	// ExpandPlies). 0 switches it off.
	MovesLeftSlack float64 `yaml:"moves_left_slack"`

	// MaxBytes bounds the tree's arrays; a search ends when they are full. 0: no
	// bound.
	MaxBytes int64 `yaml:"max_bytes"`
}

// DefaultOptions is the self-play search: Gumbel with 32 simulations.
func DefaultOptions() Options {
	return Options{
		Algorithm:         Gumbel,
		Simulations:       32,
		Considered:        16,
		CVisit:            50,
		CScale:            1,
		GumbelScale:       1,
		CPUCT:             1.25,
		CPUCTBase:         19652,
		FPUReduction:      0.1,
		FPURoot:           0,
		DirichletTotal:    10.83,
		DirichletFraction: 0.25,
		ForcedPlayouts:    2,
		CheapShare:        0,
		CheapSimulations:  8,
		LCBDeviations:     5,
		LCBShare:          0.15,
		MovesLeftSlack:    0.02,
	}
}

// Validate reports every fault at once, each beginning with its key.
func (o Options) Validate() error {
	var errs []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	fault(o.Algorithm != Gumbel && o.Algorithm != PUCT, "algorithm: %q is not one of gumbel, puct", o.Algorithm)
	fault(o.Simulations < 1 || o.Simulations > math.MaxInt32/2, "simulations: %d is not in 1..%d", o.Simulations, math.MaxInt32/2)
	fault(o.Considered < 1, "considered: %d is below 1", o.Considered)
	fault(o.CheapSimulations < 1 && o.CheapShare > 0, "cheap_simulations: %d is below 1", o.CheapSimulations)
	fault(o.ProgressiveGames < 0, "progressive_games: %d is negative", o.ProgressiveGames)
	fault(o.ProgressiveGames > 0 && o.ProgressiveStart < 1, "progressive_start: %d is below 1", o.ProgressiveStart)
	fault(o.MaxBytes < 0, "max_bytes: %d is negative", o.MaxBytes)
	for _, r := range []struct {
		key      string
		value    float64
		min, max float64
	}{
		{"c_visit", o.CVisit, 0, math.MaxFloat64},
		{"c_scale", o.CScale, 0, math.MaxFloat64},
		{"gumbel_scale", o.GumbelScale, 0, math.MaxFloat64},
		{"c_puct", o.CPUCT, 0, math.MaxFloat64},
		{"c_puct_base", o.CPUCTBase, 1, math.MaxFloat64},
		{"fpu_reduction", o.FPUReduction, -1, 1},
		{"fpu_root", o.FPURoot, -1, 1},
		{"dirichlet_total", o.DirichletTotal, 0, math.MaxFloat64},
		{"dirichlet_fraction", o.DirichletFraction, 0, 1},
		{"forced_playouts", o.ForcedPlayouts, 0, math.MaxFloat64},
		{"cheap_share", o.CheapShare, 0, 1},
		{"lcb_deviations", o.LCBDeviations, 0, math.MaxFloat64},
		{"lcb_share", o.LCBShare, 0, 1},
		{"moves_left_slack", o.MovesLeftSlack, 0, 1},
	} {
		switch {
		case r.value >= r.min && r.value <= r.max:
		case r.max == math.MaxFloat64:
			errs = append(errs, fmt.Errorf("%s: %v is not a number from %v", r.key, r.value, r.min))
		default:
			errs = append(errs, fmt.Errorf("%s: %v is not in %v..%v", r.key, r.value, r.min, r.max))
		}
	}
	return errors.Join(errs...)
}

// Budget gives the simulations of the next search in the game with the given
// number (from 0), and whether it is a full one. A cheap search is run without
// noise and gives no policy target. It draws from rng only if cheap searches are
// on.
func (o Options) Budget(game int64, rng *rand.Rand) (sims int, full bool) {
	if o.CheapShare > 0 && rng.Float64() < o.CheapShare {
		return min(o.CheapSimulations, o.full(game)), false
	}
	return o.full(game), true
}

func (o Options) full(game int64) int {
	if o.ProgressiveGames <= 0 || game >= o.ProgressiveGames {
		return o.Simulations
	}
	grown := float64(o.Simulations-o.ProgressiveStart) * float64(max(game, 0)) / float64(o.ProgressiveGames)
	return o.ProgressiveStart + int(grown)
}
