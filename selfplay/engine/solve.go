package engine

import (
	"slices"
	"strings"

	"kirin/mcts/mate"
	"kirin/rules"
)

// mateAnswer is the answer to "go mate".
type mateAnswer struct {
	status mate.Status
	line   []rules.Move
}

// text writes the answer as USI wants it behind "checkmate".
func (m mateAnswer) text(p *rules.Position) string {
	switch m.status {
	case mate.Mate:
		var b strings.Builder
		q := p.Clone()
		for i, move := range m.line {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(q.FormatMove(move))
			q.Do(move)
		}
		return b.String()
	case mate.NoMate:
		return "nomate"
	}
	return "timeout"
}

// longestMate is the longest mate looked for by "go mate", in plies.
const longestMate = 99

// solve looks for a mate until it is found, refuted, stopped or out of time.
func (t *thinker) solve(p *rules.Position, o order) mateAnswer {
	m := mate.DefaultOptions()
	m.MaxPly = longestMate
	m.TableBytes = int64(o.options.HashMB) << 19
	m.Nodes = 1 << 40
	solver := mate.New(m)
	limit := o.limits.MoveTime
	solver.Interrupt = func() bool {
		return o.ctl.stopped() || limit > 0 && o.ctl.elapsed() >= limit
	}
	t.game.CopyFrom(p)
	t.known = false
	r := solver.Solve(t.game)
	return mateAnswer{status: r.Status, line: slices.Clone(r.PV)}
}
