package engine

import (
	"context"
	"slices"
	"time"

	"kirin/mcts"
	"kirin/rules"
)

// watchEvery is the time between two looks at the clock.
const watchEvery = 2 * time.Millisecond

// watch ends a search when its time has come, and reports meanwhile.
func (t *thinker) watch(ctx context.Context, cancel context.CancelFunc, w *stopwatch) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	next := min(reportEvery, 50*time.Millisecond)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var r report
		over := false
		spent := w.o.ctl.spent()
		tell := w.o.tell != nil && spent >= next
		t.driver.Read(func(tree *mcts.Tree) {
			over = w.over(tree)
			if tell {
				r = makeReport(tree, w.o)
			}
		})
		if over {
			cancel()
			return
		}
		if tell && len(r.lines) > 0 {
			w.o.tell(r)
			next = spent + reportEvery
		}
	}
}

// guard proves the moves lost after which the opponent wins at once: a search that gives each of a hundred moves one look
// would not see it. It takes a quarter of the time at most; settle does what it leaves.
func (t *thinker) guard(ctx context.Context, limit allotment) {
	began := time.Now()
	t.moves = t.game.AppendMoves(t.moves[:0])
	for _, m := range t.moves {
		if ctx.Err() != nil || limit.bound && time.Since(began) > limit.soft/4 {
			return
		}
		t.refute(m)
	}
}

// refute proves m lost, and says so, if the opponent then wins at once. No search may be running.
func (t *thinker) refute(m rules.Move) bool {
	t.game.Do(m)
	loses := t.winsAtOnce()
	t.game.Undo()
	if loses {
		lost := rules.Outcome{Result: rules.Winner(t.game.Side().Other()), Reason: rules.MateProven}
		t.driver.Read(func(tree *mcts.Tree) { tree.ProveMove(m, lost, 2) })
	}
	return loses
}

// settle chooses a move, and makes sure that it does not lose at once, if another does not. That may be one that the tree
// itself does not choose: in a lost position the tree goes by the lines it has found, which may not be the shortest.
func (t *thinker) settle(p *rules.Position, o order) choice {
	for range t.v.MaxMoves() {
		c := t.choose(p, o)
		known := false
		t.driver.Read(func(tree *mcts.Tree) {
			if i := slices.Index(tree.RootMoves(), c.move); i >= 0 {
				_, _, known = tree.MoveProven(i)
			}
		})
		if c.move == rules.NoMove || !t.refute(c.move) {
			return c
		}
		if known {
			break
		}
	}
	c := t.choose(p, o)
	var order []rules.Move
	t.driver.Read(func(tree *mcts.Tree) {
		for _, l := range tree.Lines(len(tree.RootMoves())) {
			order = append(order, l.Moves[0])
		}
		for _, m := range tree.RootMoves() {
			if !slices.Contains(order, m) {
				order = append(order, m)
			}
		}
	})
	for _, m := range order {
		if !t.refute(m) {
			c.move, c.ponder = m, rules.NoMove
			break
		}
	}
	return c
}

// winsAtOnce tells whether the side to move mates, or takes the last royal, with one move.
func (t *thinker) winsAtOnce() bool {
	p := t.game
	side := p.Side()
	t.replies = p.AppendMoves(t.replies[:0])
	if p.Outcome(len(t.replies)).Result != rules.Ongoing {
		return false
	}
	for _, m := range t.replies {
		if !t.takesRoyal(m) && !p.GivesCheck(m) {
			continue
		}
		p.Do(m)
		out := p.Outcome(p.CountMoves())
		p.Undo()
		if out.Result == rules.Winner(side) {
			return true
		}
	}
	return false
}

func (t *thinker) takesRoyal(m rules.Move) bool {
	royal := func(sq rules.Square) bool {
		pc := t.game.At(sq)
		return pc != rules.NoPiece && pc.Side() != t.game.Side() && t.v.Info(pc.Kind()).Royal
	}
	return royal(m.To()) || m.IsDouble() && royal(m.Via())
}

// stopwatch decides when a search ends. Only one goroutine uses it.
type stopwatch struct {
	o     order
	limit allotment
	moves int // legal moves at the root
}

// over looks at the tree between two steps of the search.
func (s *stopwatch) over(tree *mcts.Tree) bool {
	if s.o.ctl.ponder.Load() || len(tree.RootMoves()) == 0 {
		return false
	}
	if s.o.limits.Depth > 0 && len(tree.PV(nil)) >= s.o.limits.Depth {
		return true
	}
	if !s.limit.bound {
		return false
	}
	spent := s.o.ctl.elapsed()
	started := tree.Started()
	switch {
	case spent >= s.limit.hard:
		return true
	case s.o.limits.MoveTime > 0 || started < 1:
		return false
	case s.moves == 1:
		return true
	}
	first, second := leaders(tree)
	if spent >= s.limit.soft {
		// The most visited move should be the one to play; if it is not, the choice is open and gets half as much time again.
		return first == tree.Best() || spent >= s.limit.soft*3/2
	}
	// A lead that the rest of the time cannot change is a choice.
	rate := float64(started) / max(spent.Seconds(), 1e-6)
	rest := rate * (s.limit.soft - spent).Seconds()
	lead := tree.Visits(first)
	if second >= 0 {
		lead -= tree.Visits(second)
	}
	return float64(lead) > rest && first == tree.Best()
}

// leaders are the two most visited root moves; second is -1 if there is one move only.
func leaders(tree *mcts.Tree) (first, second int) {
	first, second = 0, -1
	for i := 1; i < len(tree.RootMoves()); i++ {
		switch n := tree.Visits(i); {
		case n > tree.Visits(first):
			first, second = i, first
		case second < 0 || n > tree.Visits(second):
			second = i
		}
	}
	return first, second
}
