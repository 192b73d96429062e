package rules

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrIllegalMove marks a move that is well written but not legal in the position.
var ErrIllegalMove = errors.New("illegal move")

// ErrMoveText marks a text that is no move at all.
var ErrMoveText = errors.New("not a move")

// SquareString returns file digits and rank letter, such as "7f" or "12l".
func (v *Variant) SquareString(sq Square) string {
	if int(sq) >= v.n {
		return "-"
	}
	return v.squareText[sq]
}

// ParseSquare is the inverse of SquareString.
func (v *Variant) ParseSquare(s string) (Square, error) {
	sq, rest := v.cutSquare(s)
	if sq == NoSquare || rest != "" {
		return NoSquare, fmt.Errorf("%q is no square of %s", s, v.Name())
	}
	return sq, nil
}

// cutSquare reads a square at the beginning of s; NoSquare if there is none.
func (v *Variant) cutSquare(s string) (Square, string) {
	file, i := 0, 0
	for i < len(s) && i < 2 && s[i] >= '0' && s[i] <= '9' {
		file = 10*file + int(s[i]-'0')
		i++
	}
	if i == 0 || i == len(s) || s[0] == '0' || file > v.game.width || s[i] < 'a' || int(s[i]-'a') >= v.game.height {
		return NoSquare, s
	}
	return Square(int(s[i]-'a')*v.game.width + v.game.width - file), s[i+1:]
}

// FormatMove writes a move of this position in USI: 7g7f, 8h2b+, P*5e; double moves with three squares 6f5e6d, igui 6i5h6i,
// pass 6f6g6f with the first empty neighbour, clockwise from the front as the owner sees it.
func (p *Position) FormatMove(m Move) string {
	v := p.v
	if k := m.DropKind(); k != 0 {
		return v.kinds[k].Letter + "*" + v.SquareString(m.To())
	}
	s := v.SquareString(m.From())
	if m.IsPass() {
		s += v.SquareString(p.passSquare(m.From()))
	} else if m.IsDouble() {
		s += v.SquareString(m.Via())
	}
	s += v.SquareString(m.To())
	if m.Promotes() {
		s += "+"
	}
	return s
}

// ParseMove reads a move in USI, in any of its ways of writing (docs: FormatMove; = for a declined promotion; a double move
// through an empty square), and returns the legal move that it means. The error wraps ErrMoveText or ErrIllegalMove and
// says what is wrong.
func (p *Position) ParseMove(s string) (Move, error) {
	m, err := p.readMove(s)
	if err != nil {
		return NoMove, err
	}
	var buf [640]Move
	moves := p.AppendMoves(buf[:0])
	if slices.Contains(moves, m) {
		return m, nil
	}
	if m.From() == m.To() && p.staysLegally(m) {
		if c := p.sameResult(m, moves); c != NoMove {
			return c, nil
		}
	}
	return NoMove, fmt.Errorf("%w %s: %s", ErrIllegalMove, s, p.explain(m))
}

func (p *Position) readMove(s string) (Move, error) {
	v := p.v
	bad := func() (Move, error) { return NoMove, fmt.Errorf("%w of %s: %.20q", ErrMoveText, v.Name(), s) }
	if letter, target, ok := strings.Cut(s, "*"); ok {
		pc := v.pieceByText[letter]
		sq, err := v.ParseSquare(target)
		if pc == NoPiece || pc.Side() != Sente || err != nil {
			return bad()
		}
		return NewDrop(pc.Kind(), sq), nil
	}
	text := s
	promote := false
	if t, ok := strings.CutSuffix(text, "+"); ok {
		text, promote = t, true
	} else if t, ok := strings.CutSuffix(text, "="); ok {
		text = t
	}
	from, text := v.cutSquare(text)
	to, text := v.cutSquare(text)
	if from == NoSquare || to == NoSquare {
		return bad()
	}
	if text == "" {
		if from == to {
			return NoMove, fmt.Errorf("%w %s: it does not move", ErrIllegalMove, s)
		}
		return NewMove(from, to, promote), nil
	}
	via := to
	to, text = v.cutSquare(text)
	if to == NoSquare || text != "" || promote {
		return bad()
	}
	return p.canonicalDouble(s, from, via, to)
}

// canonicalDouble returns the canonical action that a move of two steps means.
func (p *Position) canonicalDouble(s string, from, via, to Square) (Move, error) {
	if !p.lionPath(from, via, to) {
		return NoMove, fmt.Errorf("%w %s: no piece there makes these two steps", ErrIllegalMove, s)
	}
	switch pc := p.board[via]; {
	case pc != NoPiece && pc.Side() != p.side:
		return NewDouble(from, via, to), nil
	case pc != NoPiece:
		return NoMove, fmt.Errorf("%w %s: the first step ends on an own piece", ErrIllegalMove, s)
	case from == to:
		return NewPass(from), nil
	}
	return NewMove(from, to, false), nil
}

// explain says why a move is not legal.
func (p *Position) explain(m Move) string {
	v := p.v
	to := p.board[m.To()]
	var buf [640]Move
	if slices.Contains(p.AppendBoardMoves(buf[:0]), m) {
		return "it would repeat a position once too often"
	}
	if k := m.DropKind(); k != 0 {
		pc := MakePiece(k, p.side)
		switch {
		case p.Hand(p.side, k) == 0:
			return "no " + v.kinds[k].English + " in hand"
		case to != NoPiece:
			return "the square is occupied"
		case v.dead[pc].has(m.To()):
			return "the piece could never move from there"
		case v.class[pc]&classLimited != 0 && p.fullFiles[p.side]>>v.column[m.To()]&1 != 0:
			return "too many unpromoted " + v.kinds[k].English + "s on that file"
		case p.v.rule.mateEnds && p.leavesAttacked(m):
			return "the " + v.kinds[1].English + " would be left attacked"
		}
		return "a " + v.kinds[k].English + " may not be dropped to give mate"
	}
	pc := p.board[m.From()]
	occ := p.occ[0].or(p.occ[1])
	switch {
	case pc == NoPiece:
		return "there is no piece on " + v.SquareString(m.From())
	case pc.Side() != p.side:
		return "the piece on " + v.SquareString(m.From()) + " is the opponent's"
	case m.IsPass() || m.IsDouble():
		return "the rules for lions forbid it"
	case to != NoPiece && to.Side() == p.side:
		return "an own piece stands on " + v.SquareString(m.To())
	case !v.reach(pc, m.From(), occ).has(m.To()):
		return "the " + v.kinds[pc.Kind()].English + " does not reach " + v.SquareString(m.To())
	case m.Promotes() && v.promote[pc] == NoPiece:
		return "the " + v.kinds[pc.Kind()].English + " does not promote"
	case p.v.rule.mateEnds && p.leavesAttacked(m):
		return "the " + v.kinds[1].English + " would be left attacked"
	case m.Promotes():
		return "it may not promote with this move"
	case slices.Contains(p.AppendBoardMoves(buf[:0]), m|movePromote):
		return "it has to promote"
	}
	return "the rules for lions forbid it"
}

// leavesAttacked tells whether the own king is attacked after m.
func (p *Position) leavesAttacked(m Move) bool {
	c := p.Clone()
	s := c.side
	c.Do(m)
	k := c.royals[s].first()
	return c.attacked(k, s.Other(), c.occ[s.Other()], c.occ[0].or(c.occ[1]))
}
