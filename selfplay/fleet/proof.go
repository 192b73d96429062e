package fleet

import (
	"slices"
	"sync"

	"kirin/dataset"
	"kirin/mcts/mate"
	"kirin/rules"
)

// Prover looks again for the mates that ended games without showing on the
// board. It may be used from several goroutines.
type Prover struct {
	v     *rules.Variant
	first mate.Options // of self-play
	more  mate.Options
	pool  sync.Pool // of *provers
}

type provers struct{ first, more *mate.Solver }

// NewProver takes the mate search's budget in self-play, in positions.
func NewProver(v *rules.Variant, nodes int) *Prover {
	p := &Prover{v: v, first: mate.DefaultOptions(), more: mate.DefaultOptions()}
	p.first.Nodes, p.first.TableBytes = int64(max(nodes, 1)), proofTable
	p.more.Nodes, p.more.TableBytes = proofNodes, proofTable
	p.pool.New = func() any { return &provers{mate.New(p.first), mate.New(p.more)} }
	return p
}

const (
	proofNodes = 5000
	proofTable = 1 << 20
)

// Prove looks for the win that a game with the reason mate_proven claims: as
// the mate search of self-play did, then with more positions. A win that the
// tree search has found by quiet moves stays undecided.
func (p *Prover) Prove(g *dataset.Game) Proof {
	if len(g.Plies) == 0 || g.Outcome.Result == rules.Draw {
		return Disproven
	}
	pos, err := p.v.ParseSFEN(g.Start)
	if err != nil {
		return Disproven
	}
	last := g.Plies[len(g.Plies)-1].Move
	for i := range g.Plies[:len(g.Plies)-1] {
		pos.Do(g.Plies[i].Move)
	}
	s := p.pool.Get().(*provers)
	defer p.pool.Put(s)
	if g.Outcome.Result == rules.Winner(pos.Side()) {
		for _, solver := range [...]*mate.Solver{s.first, s.more} {
			if r := solver.SolveAll(pos); r.Status == mate.Mate && (slices.Contains(r.First, last) || r.PV[0] == last) {
				return Proven
			}
		}
		pos.Do(last)
		for _, m := range pos.AppendMoves(nil) {
			pos.Do(m)
			r := s.more.SolveAll(pos)
			pos.Undo()
			if r.Status != mate.Mate {
				return Undecided
			}
		}
		return Proven
	}
	pos.Do(last)
	if s.more.SolveAll(pos).Status == mate.Mate {
		return Proven
	}
	return Undecided
}
