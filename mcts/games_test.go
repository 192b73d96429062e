package mcts

import (
	"math/rand/v2"

	"kirin/rules"
)

// nim is Nim with normal play: who takes the last stone wins. A move takes
// number stones from a pile: pile<<8 | number.
type nim struct {
	piles []int
	side  rules.Side
	done  []rules.Move
}

func (g *nim) AppendMoves(dst []rules.Move) []rules.Move {
	for i, n := range g.piles {
		for k := 1; k <= n; k++ {
			dst = append(dst, rules.Move(i<<8|k))
		}
	}
	return dst
}

func (g *nim) Do(m rules.Move) {
	g.piles[m>>8] -= int(m & 255)
	g.side = g.side.Other()
	g.done = append(g.done, m)
}

func (g *nim) Undo() {
	m := g.done[len(g.done)-1]
	g.done = g.done[:len(g.done)-1]
	g.piles[m>>8] += int(m & 255)
	g.side = g.side.Other()
}

func (g *nim) Outcome(n int) rules.Outcome {
	if n == 0 {
		return rules.Outcome{Result: rules.Winner(g.side.Other()), Reason: rules.NoMoves}
	}
	return rules.Outcome{}
}

func (g *nim) Side() rules.Side { return g.side }

func (g *nim) CacheKey() uint64 {
	key := uint64(g.side)
	for _, n := range g.piles {
		key = mix(key) + uint64(n)
	}
	return key
}

// tictactoe has moves 1 to 9, by square.
type tictactoe struct {
	own  [2]uint // squares as bits
	side rules.Side
	done []rules.Move
	salt uint64 // changes CacheKey, and so the order of ties
}

var lines = [...]uint{0o007, 0o070, 0o700, 0o111, 0o222, 0o444, 0o124, 0o421}

func (g *tictactoe) AppendMoves(dst []rules.Move) []rules.Move {
	for i := range 9 {
		if (g.own[0]|g.own[1])>>i&1 == 0 {
			dst = append(dst, rules.Move(i+1))
		}
	}
	return dst
}

func (g *tictactoe) Do(m rules.Move) {
	g.own[g.side] |= 1 << (m - 1)
	g.side = g.side.Other()
	g.done = append(g.done, m)
}

func (g *tictactoe) Undo() {
	m := g.done[len(g.done)-1]
	g.done = g.done[:len(g.done)-1]
	g.side = g.side.Other()
	g.own[g.side] &^= 1 << (m - 1)
}

func (g *tictactoe) Outcome(n int) rules.Outcome {
	last := g.side.Other()
	for _, l := range lines {
		if g.own[last]&l == l {
			return rules.Outcome{Result: rules.Winner(last), Reason: rules.Checkmate}
		}
	}
	if n == 0 {
		return rules.Outcome{Result: rules.Draw, Reason: rules.NoMoves}
	}
	return rules.Outcome{}
}

func (g *tictactoe) Side() rules.Side { return g.side }

func (g *tictactoe) CacheKey() uint64 {
	return g.salt ^ uint64(g.own[0])<<10 ^ uint64(g.own[1])<<1 ^ uint64(g.side)
}

// walk is a token on a random directed graph, moved in turn. Who cannot move has
// lost. The result of a repetition depends on the path: when a vertex is entered
// by the same side for the second time, the game is a draw, or lost for the side
// that marked the cycle with the edge number 0 of its vertices all the way, the
// way perpetual check is.
type walk struct {
	next [][]int
	at   int
	side rules.Side
	past []walkStep
}

type walkStep struct {
	at   int
	edge int
}

func randomWalk(rng *rand.Rand, size int) *walk {
	g := &walk{next: make([][]int, size)}
	for i := range g.next {
		for range rng.IntN(4) {
			g.next[i] = append(g.next[i], rng.IntN(size))
		}
	}
	return g
}

func (g *walk) AppendMoves(dst []rules.Move) []rules.Move {
	for i := range g.next[g.at] {
		dst = append(dst, rules.Move(i+1))
	}
	return dst
}

func (g *walk) Do(m rules.Move) {
	g.past = append(g.past, walkStep{g.at, int(m - 1)})
	g.at = g.next[g.at][m-1]
	g.side = g.side.Other()
}

func (g *walk) Undo() {
	g.at = g.past[len(g.past)-1].at
	g.past = g.past[:len(g.past)-1]
	g.side = g.side.Other()
}

func (g *walk) Outcome(n int) rules.Outcome {
	if n == 0 {
		return rules.Outcome{Result: rules.Winner(g.side.Other()), Reason: rules.NoMoves}
	}
	for i := len(g.past) - 2; i >= 0; i -= 2 {
		if g.past[i].at != g.at {
			continue
		}
		marked := [2]bool{true, true} // by distance from the side to move
		for j := len(g.past) - 1; j >= i; j-- {
			if g.past[j].edge != 0 {
				marked[(len(g.past)-j)&1] = false
			}
		}
		switch {
		case marked[0] == marked[1]:
			return rules.Outcome{Result: rules.Draw, Reason: rules.Repetition}
		case marked[0]:
			return rules.Outcome{Result: rules.Winner(g.side.Other()), Reason: rules.PerpetualCheck}
		}
		return rules.Outcome{Result: rules.Winner(g.side), Reason: rules.PerpetualCheck}
	}
	return rules.Outcome{}
}

func (g *walk) Side() rules.Side { return g.side }

func (g *walk) CacheKey() uint64 { return uint64(g.at)<<8 | uint64(len(g.past)) }

// minimax returns the exact proof of the position for its side to move.
func minimax(g Game) proof {
	moves := g.AppendMoves(nil)
	if out := g.Outcome(len(moves)); out.Result != rules.Ongoing {
		return proofOf(out, g.Side())
	}
	best := proofLoss
	for _, m := range moves {
		g.Do(m)
		best = max(best, proofWin+proofLoss-minimax(g))
		g.Undo()
	}
	return best
}

// answer is an evaluator: logits and a value for a position.
type answer func(g Game, moves []rules.Move, logits []float32) rules.Value

func uniform(Game, []rules.Move, []float32) rules.Value { return rules.Value{Draw: 1} }

// search runs a whole search with the evaluator f.
func search(t *Tree, g Game, sims int, rng *rand.Rand, f answer) {
	t.Reset(g, sims, rng)
	finishSearch(t, g, f)
}

func finishSearch(t *Tree, g Game, f answer) {
	for {
		leaf, moves, ok := t.Next(g)
		if !ok {
			return
		}
		logits := make([]float32, len(moves))
		v := f(g, moves, logits)
		t.Unwind(g)
		t.Expand(leaf, logits, v)
	}
}

// random is an evaluator whose answers are a function of the position.
func random(g Game, moves []rules.Move, logits []float32) rules.Value {
	x := mix(g.CacheKey())
	for i := range logits {
		x = mix(x)
		logits[i] = float32(x>>40) / (1 << 24) * 3
	}
	win := float32(mix(x)>>40) / (1 << 24)
	draw := float32(mix(x+1)>>40) / (1 << 24) * (1 - win)
	return rules.Value{Win: win, Draw: draw, Loss: 1 - win - draw}
}

func options(algorithm string) Options {
	o := DefaultOptions()
	o.Algorithm = algorithm
	return o
}

func (g *tictactoe) CopyFrom(h *tictactoe) {
	done := append(g.done[:0], h.done...)
	*g = *h
	g.done = done
}

func (g *wide) CopyFrom(h *wide) {
	path := append(g.path[:0], h.path...)
	*g = *h
	g.path = path
}
