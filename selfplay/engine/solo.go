package engine

import (
	"context"
	"fmt"

	"kirin/mcts"
	"kirin/mcts/mate"
	"kirin/rules"
	"kirin/selfplay/protocol"
)

// Solo is the engine without a language, for programs that ask one question after the other. It is used by one goroutine.
type Solo struct {
	t *thinker
	o Options
}

// NewSolo prepares a search with a net.
func NewSolo(v *rules.Variant, net Net, o Options) (*Solo, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	s := &Solo{t: newThinker(v, net), o: o}
	s.t.prepare(o)
	return s, nil
}

// Forget drops what is known from earlier questions, so that the next answer depends on its question alone.
func (s *Solo) Forget() { s.t.forget() }

// Analysis is what a search found out about a position. Values are for the side to move.
type Analysis struct {
	Visits int
	Value  rules.Value
	Mate   []rules.Move // a forced mate by the side to move, if the mate search found one
	Moves  []mcts.Line  // the best first
	Policy []MoveChance // every legal move with the net's first thought, in the rules' order
}

// MoveChance is a move with its probability.
type MoveChance struct {
	Move rules.Move
	P    float32
}

// order makes the order of one question.
func (s *Solo) order(ctx context.Context, p *rules.Position, l protocol.Limits) (o order, done func() bool) {
	start := p.Clone()
	for start.Ply() > 0 {
		start.Undo()
	}
	o = order{limits: l, options: s.o, ctl: newControl(false), start: start.SFEN()}
	return o, context.AfterFunc(ctx, o.ctl.halt)
}

// Analyze searches p, in which the game goes on, within l's nodes and time, and returns up to the given number of lines.
// When ctx ends, so does the search, with what it has found.
func (s *Solo) Analyze(ctx context.Context, p *rules.Position, l protocol.Limits, lines int) (Analysis, error) {
	o, done := s.order(ctx, p, l)
	defer done()
	var a Analysis
	t := s.t
	t.follow(p, o.start)
	t.game.CopyFrom(p)
	if s.o.MateNodes > 0 {
		if r := t.mates(p, o); r.Status == mate.Mate {
			a.Mate = append(a.Mate, r.PV...)
		}
	}
	o.level, _ = protocol.ParseLevel("max")
	if err := t.run(p, o, p.CountMoves()); err != nil {
		return a, err
	}
	t.driver.Read(func(tree *mcts.Tree) {
		a.Value = tree.RootValue()
		a.Moves = tree.Lines(lines)
		for i, m := range tree.RootMoves() {
			a.Visits += tree.Visits(i)
			a.Policy = append(a.Policy, MoveChance{m, tree.Prior(i)})
		}
	})
	return a, nil
}

// Choose returns the move that the engine plays at a level in p, in which the game goes on. resign and win tell that it
// gives up, or wins by a declaration, instead.
func (s *Solo) Choose(ctx context.Context, p *rules.Position, l protocol.Limits, level protocol.Level) (m rules.Move, resign, win bool, err error) {
	o, done := s.order(ctx, p, l)
	defer done()
	o.level = level
	c, err := s.t.think(p, o)
	if err != nil {
		return rules.NoMove, false, false, err
	}
	return c.move, c.resign, c.win, nil
}
