package engine

import (
	"strconv"
	"strings"

	"kirin/rules"
)

// legs is a move being entered by hand: the square of the piece and, for a double move, where its first step ended.
type legs struct {
	from, via rules.Square
	lifted    bool
	stepped   bool
}

// lift answers the lifting of a piece with the squares it may go to: Y empty, R captures, C first steps of double moves.
func (x *cecpServer) lift(text string) {
	sq, ok := x.square(text)
	if !ok {
		return
	}
	if x.legs.stepped && sq == x.legs.via {
		x.highlight(x.legs.from, sq)
		return
	}
	x.legs = legs{from: sq, lifted: true}
	x.highlight(sq, rules.NoSquare)
}

// put notes where the piece was put down: perhaps only for the first step.
func (x *cecpServer) put(text string) {
	sq, ok := x.square(text)
	if !ok || !x.legs.lifted {
		return
	}
	if x.legs.stepped {
		x.legs = legs{}
		return
	}
	x.legs.via, x.legs.stepped = sq, true
}

func (x *cecpServer) square(text string) (rules.Square, bool) {
	if len(text) < 2 || text[0] < 'a' {
		return 0, false
	}
	rank, err := strconv.Atoi(text[1:])
	col := int(text[0] - 'a')
	if err != nil || rank < 1 || rank > x.v.Height() || col >= x.v.Width() {
		return 0, false
	}
	return rules.Square((x.v.Height()-rank)*x.v.Width() + col), true
}

// highlight writes the targets of the piece on from, or those that its double moves over via reach.
func (x *cecpServer) highlight(from, via rules.Square) {
	marks := make([]byte, x.v.Squares())
	for _, m := range x.game.AppendMoves(nil) {
		switch {
		case m.IsDrop() || m.IsPass() || m.From() != from:
		case via != rules.NoSquare:
			if m.IsDouble() && m.Via() == via {
				marks[m.To()] = x.mark(m.To(), from)
			}
		case m.IsDouble():
			marks[m.Via()] = 'C'
		case marks[m.To()] == 0:
			marks[m.To()] = x.mark(m.To(), from)
		}
	}
	var b strings.Builder
	b.WriteString("highlight ")
	for row := range x.v.Height() {
		if row > 0 {
			b.WriteByte('/')
		}
		empty := 0
		for _, c := range marks[row*x.v.Width() : (row+1)*x.v.Width()] {
			if c == 0 {
				empty++
				continue
			}
			if empty > 0 {
				b.WriteString(strconv.Itoa(empty))
				empty = 0
			}
			b.WriteByte(c)
		}
		if empty > 0 {
			b.WriteString(strconv.Itoa(empty))
		}
	}
	x.out.line(b.String())
}

// mark is the colour of a target; from counts as empty, the piece has left it.
func (x *cecpServer) mark(to, from rules.Square) byte {
	if to != from && x.game.At(to) != rules.NoPiece {
		return 'R'
	}
	return 'Y'
}
