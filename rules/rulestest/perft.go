// Package rulestest holds what tests of rules need and what `kirin perft` runs: perft, the conformance kit for every
// variant, a brute-force twin of the move generator, and the comparison with files of facts from other programs.
package rulestest

import "kirin/rules"

// Perft counts the sequences of depth legal moves from p. It ignores repetition and ply limits and runs on past a game end
// that leaves moves.
func Perft(p *rules.Position, depth int) uint64 {
	if depth <= 0 {
		return 1
	}
	c := newCounter(p, depth)
	return c.count(depth)
}

// PerftLine is the count below one first move.
type PerftLine struct {
	Move  rules.Move
	Nodes uint64
}

// Divide is Perft with the count for each first move. depth must be at least 1.
func Divide(p *rules.Position, depth int) []PerftLine {
	c := newCounter(p, depth)
	var out []PerftLine
	for _, m := range p.AppendBoardMoves(nil) {
		p.Do(m)
		n := uint64(1)
		if depth > 1 {
			n = c.count(depth - 1)
		}
		p.Undo()
		out = append(out, PerftLine{m, n})
	}
	return out
}

// counter holds one move buffer for all plies, used as a stack.
type counter struct {
	p   *rules.Position
	buf []rules.Move
}

func newCounter(p *rules.Position, depth int) *counter {
	return &counter{p, make([]rules.Move, 0, depth*p.Variant().MaxMoves())}
}

func (c *counter) count(depth int) uint64 {
	if depth == 1 {
		return uint64(c.p.CountMoves())
	}
	start := len(c.buf)
	c.buf = c.p.AppendBoardMoves(c.buf)
	end := len(c.buf)
	var n uint64
	for i := start; i < end; i++ {
		c.p.Do(c.buf[i])
		n += c.count(depth - 1)
		c.p.Undo()
	}
	c.buf = c.buf[:start]
	return n
}
