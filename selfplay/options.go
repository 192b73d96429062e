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
	// OpeningPlies is the largest number of random legal plies a game starts
	// with. Each game draws its own number from 0 to OpeningPlies; these plies
	// carry no policy target.
	OpeningPlies int `yaml:"opening_plies"`
	// OpeningShare is the share of games that start with random plies at all.
	OpeningShare float64 `yaml:"opening_share"`
	// OpeningTemperature draws the random plies from the net's policy to the power
	// of 1/OpeningTemperature; 0 draws them uniformly, without asking the net.
	OpeningTemperature float64 `yaml:"opening_temperature"`
	// HandicapShare is the share of games that start from one of the handicaps of
	// the game's rules (tori shogi and shogi have them).
	HandicapShare float64 `yaml:"handicap_share"`
	// StartFile names a file of SFENs, one a line, of which StartShare of the games
	// start.
	StartFile  string  `yaml:"start_file"`
	StartShare float64 `yaml:"start_share"`
	// SideShare is the share of games that start from a side position of an
	// earlier game: after some of its moves and one that was not played.
	SideShare float64 `yaml:"side_share"`
	// MateNodes bounds the mate search at each root, in positions; 0 turns it off.
	MateNodes int `yaml:"mate_nodes"`
	// LeafMateNodes bounds a mate search at each leaf of the tree, in positions; 0
	// turns it off.
	LeafMateNodes int `yaml:"leaf_mate_nodes"`
	// PlayOutMates is the share of games that go on after the mate search has
	// found a win, so that the net also learns to mate.
	PlayOutMates float64 `yaml:"play_out_mates"`
	// CapPlies ends a game without a result after this many plies (0: only the
	// rules' own limit). The value loss of such a game is masked.
	CapPlies int `yaml:"cap_plies"`

	// ResignBelow is the score, 0 to 1, below which a side has nothing to hope for;
	// it resigns when its last ResignMoves searches all said so. 0: nobody resigns.
	ResignBelow float64 `yaml:"resign_below"`
	ResignMoves int     `yaml:"resign_moves"`
	// ResignPlayOut is the share of games that are played on all the same, to count
	// how often a resignation would have been wrong (AlphaGo Zero: 0.1).
	ResignPlayOut float64 `yaml:"resign_play_out"`

	// DecidedAbove is the score from which a game counts as decided, when the last
	// DecidedPlies searches all gave the same side at least so much. From there on
	// searches shrink, in proportion to how far above the least of these scores lies,
	// down to DecidedSimulations, and the share of searches that become targets down
	// to DecidedShare (Wu 2019, appendix: fewer visits and lower weight once a game is
	// decided). 0: never.
	DecidedAbove       float64 `yaml:"decided_above"`
	DecidedPlies       int     `yaml:"decided_plies"`
	DecidedSimulations int     `yaml:"decided_simulations"`
	DecidedShare       float64 `yaml:"decided_share"`
}

// DefaultOptions returns the settings of the default preset.
func DefaultOptions() Options {
	return Options{
		Games:              32,
		OpeningPlies:       6,
		OpeningShare:       0.5,
		MateNodes:          200,
		PlayOutMates:       0.1,
		ResignMoves:        3,
		ResignPlayOut:      0.1,
		DecidedPlies:       3,
		DecidedSimulations: 8,
		DecidedShare:       0.1,
	}
}

// Validate reports every fault at once.
func (o Options) Validate() error {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	share := func(key string, x float64) {
		if !(x >= 0 && x <= 1) {
			bad("%s: %g is not between 0 and 1", key, x)
		}
	}
	if o.Games < 1 || o.Games > 4096 {
		bad("games: %d is not between 1 and 4096", o.Games)
	}
	if o.OpeningPlies < 0 || o.OpeningPlies > 200 {
		bad("opening_plies: %d is not between 0 and 200", o.OpeningPlies)
	}
	share("opening_share", o.OpeningShare)
	if !(o.OpeningTemperature >= 0 && o.OpeningTemperature <= 100) {
		bad("opening_temperature: %g is not between 0 (uniform) and 100", o.OpeningTemperature)
	}
	share("handicap_share", o.HandicapShare)
	share("start_share", o.StartShare)
	share("side_share", o.SideShare)
	if sum := o.HandicapShare + o.StartShare + o.SideShare; sum > 1 && o.HandicapShare <= 1 && o.StartShare <= 1 && o.SideShare <= 1 {
		bad("side_share: with handicap_share and start_share it makes %g of the games, more than all", sum)
	}
	if o.StartShare > 0 && o.StartFile == "" {
		bad("start_file: start_share is %g, but no file is named", o.StartShare)
	}
	if o.MateNodes < 0 {
		bad("mate_nodes: %d is negative (0 turns the mate search off)", o.MateNodes)
	}
	if o.LeafMateNodes < 0 {
		bad("leaf_mate_nodes: %d is negative (0 turns the mate search at leaves off)", o.LeafMateNodes)
	}
	share("play_out_mates", o.PlayOutMates)
	if o.CapPlies < 0 {
		bad("cap_plies: %d is negative (0 means no cap)", o.CapPlies)
	}
	if !(o.ResignBelow >= 0 && o.ResignBelow < 0.5) {
		bad("resign_below: %g is not a score from 0 (nobody resigns) to below 0.5", o.ResignBelow)
	}
	if o.ResignBelow > 0 && o.ResignMoves < 1 {
		bad("resign_moves: %d is below 1", o.ResignMoves)
	}
	share("resign_play_out", o.ResignPlayOut)
	if o.DecidedAbove != 0 && !(o.DecidedAbove > 0.5 && o.DecidedAbove < 1) {
		bad("decided_above: %g is neither 0 (never) nor a score between 0.5 and 1", o.DecidedAbove)
	}
	if o.DecidedAbove != 0 && (o.DecidedPlies < 1 || o.DecidedSimulations < 1) {
		bad("decided_plies, decided_simulations: %d and %d are not both at least 1", o.DecidedPlies, o.DecidedSimulations)
	}
	share("decided_share", o.DecidedShare)
	return errors.Join(errs...)
}
