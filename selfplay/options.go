package selfplay

import (
	"errors"
	"fmt"
)

// Options say how training games are played, apart from the search itself.
type Options struct {
	// Games is how many games one worker walks in step: the size of the
	// evaluator's batches.
	Games int `yaml:"games"`
	// OpeningPlies is the largest number of uniformly random legal plies a game
	// starts with. Each game draws its own number from 0 to OpeningPlies; these
	// plies carry no policy target.
	OpeningPlies int `yaml:"opening_plies"`
	// OpeningShare is the share of games that start with random plies at all.
	OpeningShare float64 `yaml:"opening_share"`
	// MateNodes bounds the mate search at each root, in positions; 0 turns it off.
	MateNodes int `yaml:"mate_nodes"`
	// PlayOutMates is the share of games that go on after the mate search has
	// found a win, so that the net also learns to mate.
	PlayOutMates float64 `yaml:"play_out_mates"`
	// CapPlies ends a game without a result after this many plies (0: only the
	// rules' own limit). The value loss of such a game is masked.
	CapPlies int `yaml:"cap_plies"`
}

// DefaultOptions returns the settings of the default preset.
func DefaultOptions() Options {
	return Options{
		Games:        32,
		OpeningPlies: 6,
		OpeningShare: 0.5,
		MateNodes:    200,
		PlayOutMates: 0.1,
		CapPlies:     0,
	}
}

// Validate reports every fault at once.
func (o Options) Validate() error {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if o.Games < 1 || o.Games > 4096 {
		bad("games: %d is not between 1 and 4096", o.Games)
	}
	if o.OpeningPlies < 0 || o.OpeningPlies > 200 {
		bad("opening_plies: %d is not between 0 and 200", o.OpeningPlies)
	}
	if !(o.OpeningShare >= 0 && o.OpeningShare <= 1) {
		bad("opening_share: %g is not between 0 and 1", o.OpeningShare)
	}
	if o.MateNodes < 0 {
		bad("mate_nodes: %d is negative (0 turns the mate search off)", o.MateNodes)
	}
	if !(o.PlayOutMates >= 0 && o.PlayOutMates <= 1) {
		bad("play_out_mates: %g is not between 0 and 1", o.PlayOutMates)
	}
	if o.CapPlies < 0 {
		bad("cap_plies: %d is negative (0 means no cap)", o.CapPlies)
	}
	return errors.Join(errs...)
}
