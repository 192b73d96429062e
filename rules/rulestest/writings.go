package rulestest

import "kirin/rules"

// PerftWritings is Perft with every move counted as often as USI can write it: a double move through an empty square beside
// the plain move to its end, a pass over each empty neighbour, a pass or capture without moving by each piece that can make
// it. Other programs count chu shogi so.
func PerftWritings(p *rules.Position, depth int) uint64 {
	if depth <= 0 {
		return 1
	}
	var n uint64
	for _, m := range p.AppendBoardMoves(nil) {
		w := uint64(writings(p, m))
		if depth > 1 {
			p.Do(m)
			w *= PerftWritings(p, depth-1)
			p.Undo()
		}
		n += w
	}
	return n
}

// writings returns the number of USI texts that mean m.
func writings(p *rules.Position, m rules.Move) int {
	switch {
	case m.IsDrop():
		return 1
	case m.From() == m.To():
		return stayWritings(p, m)
	case m.IsDouble():
		return 1
	}
	n := 1
	forEachFirstStep(p, m.From(), func(via, onward rules.Square, full bool) {
		if p.At(via) == rules.NoPiece && via != m.To() && (onward == m.To() || full && adjacent(p, via, m.To())) {
			n++
		}
	})
	return n
}

// stayWritings counts the pieces and squares by which the pass or the capture without moving m can be written.
func stayWritings(p *rules.Position, m rules.Move) int {
	v := p.Variant()
	n := 0
	for i := range v.Squares() {
		from := rules.Square(i)
		if pc := p.At(from); pc == rules.NoPiece || pc.Side() != p.Side() {
			continue
		}
		forEachFirstStep(p, from, func(via, _ rules.Square, _ bool) {
			if m.IsDouble() && via != m.Via() || m.IsPass() && p.At(via) != rules.NoPiece {
				return
			}
			text := v.SquareString(from) + v.SquareString(via) + v.SquareString(from)
			if got, err := p.ParseMove(text); err == nil && got == m {
				n++
			}
		})
	}
	return n
}

// forEachFirstStep calls f with every square to which the piece on from can make the first step of a double move, the square
// one further in that direction (NoSquare beyond the edge), and whether the second step is free.
func forEachFirstStep(p *rules.Position, from rules.Square, f func(via, onward rules.Square, full bool)) {
	v := p.Variant()
	pc := p.At(from)
	t := twin{v: v}
	for _, d := range v.Vectors(pc.Kind()) {
		if !d.Lion || d.Jump {
			continue
		}
		if via := t.add(pc.Side(), from, int(d.DX), int(d.DY)); via != rules.NoSquare {
			f(via, t.add(pc.Side(), via, int(d.DX), int(d.DY)), v.Info(pc.Kind()).Lion)
		}
	}
}

func adjacent(p *rules.Position, a, b rules.Square) bool {
	t := twin{v: p.Variant()}
	return t.distance(a, b) == 1
}
