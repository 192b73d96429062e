package notation

import (
	"fmt"
	"slices"
	"strings"

	"kirin/rules"
)

// want is what a move text says about a move.
type want struct {
	text  string
	piece *word        // nil: not said
	from  rules.Square // NoSquare: not said
	to    rules.Square // NoSquare: the piece stays (igui, pass)
	via   rules.Square
	igui  bool
	pass  bool
	drop  bool
	board bool // not a drop

	promotes bool
	declines bool
	marks    string // Japanese marks of ambiguity
}

// moveBuffer is room for the moves of any position.
type moveBuffer [640]rules.Move

// fits tells whether m, legal in p, is what w says, promotion and marks aside.
func (w *want) fits(p *rules.Position, m rules.Move) bool {
	v := p.Variant()
	if m.IsDrop() {
		return !w.board && w.from == rules.NoSquare && w.via == rules.NoSquare && !w.pass && m.To() == w.to &&
			w.piece.has(v.Info(m.DropKind()).Letter)
	}
	if w.drop || w.from != rules.NoSquare && m.From() != w.from {
		return false
	}
	if w.piece != nil && !w.piece.has(v.Info(p.At(m.From()).Kind()).Letter) {
		return false
	}
	switch {
	case w.pass:
		return m.IsPass()
	case w.igui:
		return m.IsDouble() && m.From() == m.To() && m.Via() == w.via
	case w.via != rules.NoSquare && p.At(w.via) == rules.NoPiece: // a double move through an empty square
		return !m.IsDouble() && !m.IsPass() && m.To() == w.to
	}
	return m.Via() == w.via && m.To() == w.to && m.From() != m.To()
}

// find returns the legal move of p that w means.
func (w *want) find(p *rules.Position) (rules.Move, error) {
	var buf moveBuffer
	all := p.AppendMoves(buf[:0])
	found := slices.DeleteFunc(all, func(m rules.Move) bool { return !w.fits(p, m) })
	if slices.ContainsFunc(found, func(m rules.Move) bool { return !m.IsDrop() }) {
		found = slices.DeleteFunc(found, rules.Move.IsDrop) // a drop is marked where a piece on the board could go
	}
	found = w.choosePromotion(found)
	if len(found) > 1 && w.pass {
		found = found[:1] // all passes lead to the same position
	}
	if len(found) > 1 || w.marks != "" {
		found = w.chooseMarks(p, found)
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return rules.NoMove, w.explain(p)
	}
	texts := make([]string, len(found))
	for i, m := range found {
		texts[i] = p.FormatMove(m)
	}
	return rules.NoMove, fmt.Errorf("%w: %s can be any of %s", rules.ErrMoveText, w.text, strings.Join(texts, ", "))
}

// choosePromotion keeps the moves that promote or do not, as the text says. A text without any sign means the move without
// promotion, or the promotion where it is compulsory.
func (w *want) choosePromotion(found []rules.Move) []rules.Move {
	plain := slices.ContainsFunc(found, func(m rules.Move) bool { return !m.Promotes() })
	return slices.DeleteFunc(found, func(m rules.Move) bool {
		if w.promotes || w.declines {
			return m.Promotes() != w.promotes
		}
		return plain && m.Promotes()
	})
}

// explain returns the error for a text that fits no legal move.
func (w *want) explain(p *rules.Position) error {
	v := p.Variant()
	if w.piece != nil && w.to != rules.NoSquare && w.via == rules.NoSquare {
		try := func(usi string) error {
			_, err := p.ParseMove(usi)
			return err
		}
		if w.drop {
			if err := try(w.piece.letters[0] + "*" + v.SquareString(w.to)); err != nil {
				return err
			}
		}
		for sq := range rules.Square(v.Squares()) {
			pc := p.At(sq)
			if w.drop || pc == rules.NoPiece || !w.piece.has(v.Info(pc.Kind()).Letter) {
				continue
			}
			if w.from == sq || w.from == rules.NoSquare && pc.Side() == p.Side() && reaches(p, sq, w.to) {
				usi := v.SquareString(sq) + v.SquareString(w.to)
				if w.promotes {
					usi += "+"
				}
				if err := try(usi); err != nil {
					return err
				}
			}
		}
	}
	return fmt.Errorf("%w: %s is no move of this position", rules.ErrIllegalMove, w.text)
}

// reaches tells whether the piece on from moves to the square to by its way of moving, whatever stands there and whatever
// other rules say.
func reaches(p *rules.Position, from, to rules.Square) bool {
	v := p.Variant()
	w, h := v.Width(), v.Height()
	pc := p.At(from)
	sign := 1
	if pc.Side() == rules.Gote {
		sign = -1
	}
	for _, d := range v.Vectors(pc.Kind()) {
		x, y := int(from)%w, int(from)/w
		for range d.Max {
			x, y = x+sign*int(d.DX), y+sign*int(d.DY)
			if x < 0 || x >= w || y < 0 || y >= h {
				break
			}
			sq := rules.Square(y*w + x)
			if sq == to {
				return true
			}
			if p.At(sq) != rules.NoPiece {
				break
			}
		}
	}
	return false
}

// rivals appends the squares of the mover's other pieces that same accepts and that could make the same move as m: go to the
// same square, or for double moves and passes legally do the same.
func rivals(dst []rules.Square, p *rules.Position, m rules.Move, moves []rules.Move, same func(rules.Kind) bool) []rules.Square {
	if m.IsDouble() || m.IsPass() {
		for _, o := range moves {
			from := o.From()
			if o.IsDrop() || from == m.From() || !same(p.At(from).Kind()) || slices.Contains(dst, from) {
				continue
			}
			stays := m.From() == m.To()
			if o.Via() == m.Via() && (o.From() == o.To()) == stays && (stays || o.To() == m.To()) {
				dst = append(dst, from)
			}
		}
		return dst
	}
	for sq := range rules.Square(p.Variant().Squares()) {
		pc := p.At(sq)
		if pc != rules.NoPiece && pc.Side() == p.Side() && sq != m.From() && same(pc.Kind()) && reaches(p, sq, m.To()) {
			dst = append(dst, sq)
		}
	}
	return dst
}

// declines tells whether m leaves out a promotion that was possible.
func declines(m rules.Move, moves []rules.Move) bool {
	if m.IsDrop() || m.IsDouble() || m.IsPass() || m.Promotes() {
		return false
	}
	return slices.Contains(moves, rules.NewMove(m.From(), m.To(), true))
}
