package engine

import (
	"time"

	"kirin/rules"
	"kirin/selfplay/protocol"
)

// movesLeft is how many more moves of its own a side is taken to have: about half of a game between equals.
var movesLeft = map[string]int{"minishogi": 20, "torishogi": 35, "shogi": 45, "chushogi": 60}

// allotment is the time for one move: soft is when to stop, hard when to stop even if the choice is open.
type allotment struct {
	soft, hard time.Duration
	bound      bool // false: time does not bound the search
}

// allot shares out the time of l for side. overhead is lost on the way to the clock.
func allot(l protocol.Limits, side rules.Side, variant string, overhead time.Duration) allotment {
	switch {
	case l.Infinite:
		return allotment{}
	case l.MoveTime > 0:
		t := less(l.MoveTime, overhead/2)
		return allotment{soft: t, hard: t, bound: true}
	case !l.Timed:
		return allotment{}
	}
	left := l.Clock[side]
	usable := less(left+l.Byoyomi, overhead)
	horizon := max(movesLeft[variant], 10)
	if l.MovesToGo > 0 {
		horizon = min(horizon, l.MovesToGo)
	}
	gain := l.Increment[side]*3/4 + l.Byoyomi*9/10
	soft := left/time.Duration(horizon) + gain
	hard := left/4 + gain
	if left < l.Byoyomi/4 { // only byoyomi is left: what is not used is lost
		soft, hard = usable, usable
	}
	hard = min(hard, usable)
	return allotment{soft: min(soft, hard), hard: hard, bound: true}
}

// less takes overhead off t, but never more than three quarters.
func less(t, overhead time.Duration) time.Duration { return max(t-overhead, t/4) }
