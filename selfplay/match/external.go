package match

import (
	"context"

	"kirin/rules"
	"kirin/selfplay/protocol"
)

// External is an outside engine as a player.
type External struct {
	name   string
	engine *protocol.Engine
	limits protocol.Limits
}

// NewExternal starts the program. limits hold for every move of a game without a clock; its Depth and Nodes also hold
// with one.
func NewExternal(ctx context.Context, name string, o protocol.Options, limits protocol.Limits) (*External, error) {
	engine, err := protocol.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return &External{name: name, engine: engine, limits: limits}, nil
}

// Name returns the name given.
func (e *External) Name() string { return e.name }

// NewGame tells the engine.
func (e *External) NewGame(ctx context.Context, start *rules.Position) error {
	return e.engine.NewGame(ctx, start)
}

// Move asks the engine.
func (e *External) Move(ctx context.Context, p *rules.Position, l protocol.Limits) (Decision, error) {
	use := e.limits
	if l.Timed {
		l.Depth, l.Nodes = use.Depth, use.Nodes
		use = l
	}
	a, err := e.engine.Search(ctx, p, use)
	if err != nil {
		return Decision{}, err
	}
	d := Decision{Move: a.Move, Resign: a.Resign, Claim: a.Claim, Depth: a.Depth, Nodes: a.Nodes, PV: a.PV}
	if a.Score.Known {
		v := a.Score.Value()
		d.Value = &v
	}
	return d, nil
}

// GameOver does nothing: the engine hears of the next game.
func (e *External) GameOver(rules.Outcome) {}

// Close ends the program.
func (e *External) Close() error { return e.engine.Close() }
