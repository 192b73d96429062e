package match

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"kirin/mcts"
	"kirin/mcts/mate"
	"kirin/rules"
	"kirin/selfplay"
	"kirin/selfplay/protocol"
)

// Search says how long a net thinks. Exactly one of Simulations, Nodes and MoveTime is set; a game's clock comes before
// all of them, and makes the search PUCT within the clock's time, bounded by Level alone besides.
type Search struct {
	Simulations int            // Gumbel search without noise: what training uses
	Nodes       int64          // PUCT search, that many simulations
	MoveTime    time.Duration  // PUCT search, that long
	Level       protocol.Level // a handicap; its Nodes bound the search besides, the zero Level none
	Threads     int            // 0: 1; results repeat with one only
	Batch       int            // leaves evaluated together; 0: 1 with Simulations, else BatchSize
	MateNodes   int            // positions of a mate search before each move; 0 none
	LeafMates   int            // positions of a mate search at each leaf; 0 none
	Tree        mcts.Options   // the other constants
}

// DefaultSearch is 64 simulations a move.
func DefaultSearch() Search { return Search{Simulations: 64, Tree: mcts.DefaultOptions()} }

// Validate reports every fault at once.
func (s Search) Validate() error {
	var errs []error
	set := 0
	if s.MateNodes < 0 || s.LeafMates < 0 || s.Threads < 0 || s.Batch < 0 {
		errs = append(errs, fmt.Errorf("mate, leafmate, threads, batch: %d, %d, %d, %d: none may be negative", s.MateNodes, s.LeafMates, s.Threads, s.Batch))
	}
	for _, n := range []int64{int64(s.Simulations), s.Nodes, int64(s.MoveTime)} {
		if n > 0 {
			set++
		}
		if n < 0 {
			errs = append(errs, fmt.Errorf("sims, nodes, movetime: %d is negative", n))
		}
	}
	if set != 1 {
		errs = append(errs, errors.New("sims, nodes, movetime: exactly one must be given"))
	}
	return errors.Join(append(errs, s.Tree.Validate())...)
}

// BatchSize is the number of leaves that a search limited by nodes or time has evaluated together: more make a net hardly
// faster, and the search worse.
const BatchSize = 4

// treeBytes bounds the memory of one player's tree where only time bounds the search.
const treeBytes = 128 << 20

// clockShare is the part of the remaining time that a net spends on one move.
const clockShare = 30

// mateShare is the part of a move's time, if that is bounded, after which the mate search gives up.
const mateShare = 2

// Net is a player that searches with an evaluator.
type Net struct {
	name    string
	search  Search
	variant *rules.Variant
	newEval func() selfplay.Evaluator
	driver  *mcts.Driver[*rules.Position] // nil before the first move
	timed   bool                          // driver is for games with a clock
	solver  *mate.Solver                  // nil: none
	game    *rules.Position
	root    *rules.Position // at which the tree's root is
	kept    bool            // the tree belongs to root
	seed    uint64
}

// NewNet returns a player for one game at a time. newEval gives each of its threads an evaluator of its own.
func NewNet(name string, v *rules.Variant, newEval func() selfplay.Evaluator, s Search) (*Net, error) {
	s.Threads = max(s.Threads, 1)
	if err := errors.Join(s.Validate(), s.driver(false).Validate()); err != nil {
		return nil, fmt.Errorf("player %s: %w", name, err)
	}
	n := &Net{name: name, search: s, variant: v, newEval: newEval, game: v.Start(), root: v.Start()}
	if s.MateNodes > 0 {
		o := mate.DefaultOptions()
		o.Nodes, o.TableBytes = int64(s.MateNodes), 8<<20
		n.solver = mate.New(o)
	}
	return n, nil
}

// driver is the search for games with a clock, or without one.
func (s Search) driver(timed bool) mcts.DriverOptions {
	d := mcts.DriverOptions{Threads: s.Threads, Batch: s.Batch, Search: s.Tree}
	d.Search.Algorithm = mcts.PUCT
	switch {
	case timed:
	case s.Simulations > 0:
		d.Search.Algorithm, d.Search.Simulations = mcts.Gumbel, s.Simulations
	case s.Nodes > 0:
		d.Search.Simulations = int(min(s.Nodes, 1<<20))
	}
	if d.Batch == 0 {
		d.Batch = BatchSize
		if d.Search.Algorithm == mcts.Gumbel {
			d.Batch = 1 // as in training
		}
	}
	if d.Search.MaxBytes == 0 && (timed || s.MoveTime > 0 || s.Nodes > 1<<20) {
		d.Search.MaxBytes = treeBytes
	}
	return d
}

// prepare makes the driver for a game with a clock, or without one.
func (n *Net) prepare(timed bool) {
	if n.driver != nil && n.timed == timed {
		return
	}
	newEval := func() mcts.Evaluator[*rules.Position] { return n.newEval() }
	n.kept = false
	n.driver, n.timed = mcts.NewDriver(n.search.driver(timed), n.variant.MaxMoves(), n.variant.Start, newEval), timed
	if nodes := n.search.LeafMates; nodes > 0 {
		n.driver.Consult(func() mcts.Prover[*rules.Position] { return mate.NewLeaves(nodes) })
	}
}

// NetPlayer makes an Entrant of a net: newEval gives an evaluator of its own to every thread of every game played at the
// same time.
func NetPlayer(name string, v *rules.Variant, newEval func() selfplay.Evaluator, s Search) Entrant {
	return Entrant{Name: name, Open: func(context.Context) (Player, error) { return NewNet(name, v, newEval, s) }}
}

// Seed fixes the choices of the next game; it matters at levels that draw by lot only.
func (n *Net) Seed(seed uint64) { n.seed = seed }

// Name returns the name given.
func (n *Net) Name() string { return n.name }

// NewGame forgets the game before.
func (n *Net) NewGame(context.Context, *rules.Position) error {
	n.kept = false
	return nil
}

// follow makes p the root of the tree and reports whether anything is known of it. Only where time bounds the search is
// anything kept from the move before: by counts every move is searched from nothing, so that equal counts are equal work.
func (n *Net) follow(p *rules.Position, deadline time.Time) bool {
	n.kept = n.kept && !deadline.IsZero() && mcts.Follow(n.driver, n.root, p)
	n.root.CopyFrom(p)
	return n.kept
}

// Move searches p.
func (n *Net) Move(ctx context.Context, p *rules.Position, l protocol.Limits) (Decision, error) {
	n.game.CopyFrom(p)
	budget, deadline := n.limits(l, p.Side())
	n.prepare(l.Timed)
	if n.solver != nil {
		until := time.Now().Add(time.Until(deadline) / mateShare)
		n.solver.Interrupt = func() bool { return ctx.Err() != nil || !deadline.IsZero() && time.Now().After(until) }
		if r := n.solver.Solve(n.game); r.Status == mate.Mate && len(r.PV) > 0 {
			return Decision{
				Move: r.PV[0], Value: &rules.Value{Win: 1}, Nodes: r.Nodes, Depth: r.Plies, PV: formatMoves(n.game, r.PV),
			}, nil
		}
	}
	timed := ctx
	if !deadline.IsZero() {
		var cancel context.CancelFunc
		timed, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	search := n.driver.Search
	if n.follow(p, deadline) {
		search = n.driver.Resume
	}
	if err := search(timed, n.game, budget, nil); err != nil {
		n.kept = false
		return Decision{}, fmt.Errorf("player %s: %w", n.name, err)
	}
	n.kept = true
	if ctx.Err() != nil {
		return Decision{}, ctx.Err()
	}
	var d Decision
	n.driver.Read(func(t *mcts.Tree) {
		moves := t.RootMoves()
		if len(moves) == 0 {
			return
		}
		v := t.RootValue()
		pv := t.PV(nil)
		d = Decision{
			Move:  moves[n.search.Level.Choose(len(moves), t.Best(), t.Visits, source(n.seed, p))],
			Value: &v, Nodes: int64(t.Started()), Depth: len(pv), PV: formatMoves(n.game, pv),
		}
	})
	if d.Move == rules.NoMove {
		return Decision{}, fmt.Errorf("player %s: no legal move in %s", n.name, p.SFEN())
	}
	return d, nil
}

// limits returns the simulations and the time of this move's end (zero: none).
func (n *Net) limits(l protocol.Limits, side rules.Side) (budget int, deadline time.Time) {
	unbounded := 1 << 30
	if n.search.Level.Nodes > 0 {
		unbounded = min(unbounded, n.search.Level.Nodes)
	}
	switch {
	case l.Timed:
		share := l.Clock[side]/clockShare + l.Increment[side]*3/4 + l.Byoyomi*3/4
		share = min(share, (l.Clock[side]+l.Byoyomi)*3/4)
		return unbounded, time.Now().Add(share)
	case n.search.MoveTime > 0:
		return unbounded, time.Now().Add(n.search.MoveTime)
	case n.search.Nodes > 0:
		return int(min(n.search.Nodes, int64(unbounded))), time.Time{}
	}
	return n.search.Simulations, time.Time{}
}

// GameOver does nothing.
func (n *Net) GameOver(rules.Outcome) {}

// Close does nothing.
func (n *Net) Close() error { return nil }

// formatMoves writes a line of moves from p in USI; p is moved forth and back.
func formatMoves(p *rules.Position, moves []rules.Move) string {
	var b strings.Builder
	for i, m := range moves {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(p.FormatMove(m))
		p.Do(m)
	}
	for range moves {
		p.Undo()
	}
	return b.String()
}
