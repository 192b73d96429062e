package protocol

import (
	"errors"
	"fmt"
	"math"
	"time"

	"kirin/rules"
)

// Limits bound one search. Zero fields do not bound; with none set the engine's own default holds.
type Limits struct {
	Depth    int           // plies
	Nodes    int64         // positions
	MoveTime time.Duration // for this move
	Infinite bool          // until stopped
	Ponder   bool          // think on the opponent's time

	Timed     bool             // the clock below counts
	Clock     [2]time.Duration // time left, by rules.Side
	Increment [2]time.Duration // added after each move, by rules.Side
	Byoyomi   time.Duration    // time for each move once the clock is at zero
	MovesToGo int              // moves until the clock is refilled, 0: for the whole game
}

// Allotted returns the time after which side has surely overstepped, and false if time does not bound the search.
func (l Limits) Allotted(side rules.Side) (time.Duration, bool) {
	switch {
	case l.Infinite || l.Ponder:
		return 0, false
	case l.MoveTime > 0:
		return l.MoveTime, true
	case l.Timed:
		return l.Clock[side] + l.Byoyomi, true
	}
	return 0, false
}

// Validate reports every fault at once.
func (l Limits) Validate() error {
	var errs []error
	for _, f := range []struct {
		key string
		n   int64
	}{
		{"depth", int64(l.Depth)}, {"nodes", l.Nodes}, {"movetime", int64(l.MoveTime)},
		{"clock", int64(min(l.Clock[0], l.Clock[1]))}, {"increment", int64(min(l.Increment[0], l.Increment[1]))},
		{"byoyomi", int64(l.Byoyomi)}, {"moves_to_go", int64(l.MovesToGo)},
	} {
		if f.n < 0 {
			errs = append(errs, fmt.Errorf("%s: %d is negative", f.key, f.n))
		}
	}
	return errors.Join(errs...)
}

// Score is an engine's estimate for the side to move.
type Score struct {
	Known      bool
	Centipawns int
	Mate       bool // MateIn counts; positive: the side to move mates
	MateIn     int  // moves of the engine's own counting
}

// Value turns the score into probabilities without draws: 100 centipawns are 100 Elo (win = 1/(1+10^(-cp/400))). The
// scale differs from engine to engine; the value is for display, never for results.
func (s Score) Value() rules.Value {
	if !s.Known {
		return rules.Value{}
	}
	if s.Mate {
		if s.MateIn > 0 {
			return rules.Value{Win: 1}
		}
		return rules.Value{Loss: 1}
	}
	w := float32(1 / (1 + math.Pow(10, -float64(s.Centipawns)/400)))
	return rules.Value{Win: w, Loss: 1 - w}
}

// String returns for example "+1.23", "mate 5" or "".
func (s Score) String() string {
	switch {
	case !s.Known:
		return ""
	case s.Mate:
		return fmt.Sprintf("mate %d", s.MateIn)
	}
	return fmt.Sprintf("%+.2f", float64(s.Centipawns)/100)
}
