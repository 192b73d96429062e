package rules

import "math/bits"

// The moves of chu shogi's lions, horned falcons and soaring eagles, and the rules on lions taking and being taken
// (docs/rules.md, "Lions").

// generateLions is generate for positions in which the side to move has a piece with lion power or may be barred from taking
// a lion. Royals may be left attacked.
//
// Moves with the same result are made once, for the piece that comes first from the owner's front: there is one pass,
// whoever passes, and one capture without moving for each piece that can be so taken (two if it is a lion that both a lion
// and a non-lion can take, since only the latter sets the ban square).
func (p *Position) generateLions(dst []Move, count bool) ([]Move, int) {
	t := &p.v.tables
	s := p.side
	own, opp := p.occ[s], p.occ[s.Other()]
	occ := own.or(opp)
	mask := t.board.andNot(own)
	n := 0
	done := lionDone{}
	for x := p.doubles[s]; !x.empty(); {
		from := x.first()
		if s == Gote {
			from = x.last()
		}
		x = x.andNot(single(from))
		var k int
		if t.class[p.board[from]]&classLion != 0 {
			dst, k = p.lionMoves(dst, count, from, &done)
		} else {
			dst, k = p.falconDoubles(dst, count, from, &done)
		}
		n += k
	}
	for x := own.andNot(p.lions[s]); !x.empty(); x = x.rest() {
		from := x.first()
		pc := p.board[from]
		to := t.step[pc][from]
		if t.slides[pc] != 0 {
			to = t.reach(pc, from, occ)
		}
		to = to.and(mask)
		if p.st.ban != NoSquare {
			for y := to.and(p.lions[s.Other()]); !y.empty(); y = y.rest() {
				if q := y.first(); p.lionBarred(from, q, NoSquare) {
					to = to.andNot(single(q))
				}
			}
		}
		stay, up := to, set{}
		if t.promote[pc] != NoPiece {
			stay, up = p.splitPromotion(pc, from, to, opp)
		}
		if count {
			n += stay.count() + up.count()
		} else {
			dst = appendMoves(dst, from, stay, up)
		}
	}
	return dst, n
}

// lionDone keeps which results have been made already.
type lionDone struct {
	pass bool
	igui [2]set // taken without moving: by a piece that sets the ban square, by another
}

// firstIgui tells whether taking the piece on via without moving, by a lion or another piece, is a new result.
func (p *Position) firstIgui(done *lionDone, via Square, byLion bool) bool {
	i := 1
	if !byLion && p.v.class[p.board[via]]&classLion != 0 && p.v.rule.senjishi != senjishiNone {
		i = 0
	}
	first := !done.igui[i].has(via)
	done.igui[i] = done.igui[i].or(single(via))
	return first
}

// lionMoves adds the moves of the lion on from.
func (p *Position) lionMoves(dst []Move, count bool, from Square, done *lionDone) ([]Move, int) {
	t := &p.v.tables
	s := p.side
	own, opp := p.occ[s], p.occ[s.Other()]
	mask := t.board.andNot(own)
	enemyLions := p.lions[s.Other()]
	n := 0

	to := t.ring1[from].or(t.ring2[from]).and(mask)
	if p.v.rule.pawnsBlock {
		for x := to.and(t.ring2[from]); !x.empty(); x = x.rest() {
			if q := x.first(); !p.leapFree(from, q, own.or(opp)) {
				to = to.andNot(single(q))
			}
		}
	}
	for x := to.and(enemyLions); !x.empty(); x = x.rest() {
		if q := x.first(); p.lionProtected(from, q, NoSquare) {
			to = to.andNot(single(q))
		}
	}
	if count {
		n += to.count()
	} else {
		dst = appendMoves(dst, from, to, set{})
	}
	for x := t.ring1[from].and(opp); !x.empty(); x = x.rest() {
		via := x.first()
		if enemyLions.has(via) && p.lionProtected(from, via, NoSquare) {
			continue
		}
		to := t.ring1[via].and(mask)
		for y := to.and(enemyLions); !y.empty(); y = y.rest() {
			if q := y.first(); p.lionProtected(from, q, via) {
				to = to.andNot(single(q))
			}
		}
		if p.firstIgui(done, via, true) {
			to = to.or(single(from))
		}
		if count {
			n += to.count()
			continue
		}
		for ; !to.empty(); to = to.rest() {
			dst = append(dst, NewDouble(from, via, to.first()))
		}
	}
	if !done.pass && !t.ring1[from].andNot(own.or(opp)).empty() {
		done.pass = true
		n++
		if !count {
			dst = append(dst, NewPass(from))
		}
	}
	return dst, n
}

// falconDoubles adds the double moves and the pass of the falcon or eagle on from; its single moves are in reach.
func (p *Position) falconDoubles(dst []Move, count bool, from Square, done *lionDone) ([]Move, int) {
	t := &p.v.tables
	s := p.side
	own, opp := p.occ[s], p.occ[s.Other()]
	enemyLions := p.lions[s.Other()]
	n := 0
	for m := t.lions[p.board[from]]; m != 0; m &= m - 1 {
		d := bits.TrailingZeros8(uint8(m))
		via := t.next[d][from]
		if via == NoSquare || !opp.has(via) || p.v.rule.banMid && enemyLions.has(via) && p.lionBarred(from, via, NoSquare) {
			continue
		}
		if p.firstIgui(done, via, false) {
			n++
			if !count {
				dst = append(dst, NewDouble(from, via, from))
			}
		}
		to := t.next[d][via]
		if to == NoSquare || own.has(to) || enemyLions.has(to) && p.lionBarred(from, to, via) {
			continue
		}
		n++
		if !count {
			dst = append(dst, NewDouble(from, via, to))
		}
	}
	if !done.pass && p.falconPasses(from) {
		done.pass = true
		n++
		if !count {
			dst = append(dst, NewPass(from))
		}
	}
	return dst, n
}

// falconPasses tells whether the falcon or eagle on from can pass: an eagle only if the rules let it.
func (p *Position) falconPasses(from Square) bool {
	t := &p.v.tables
	m := t.lions[p.board[from]]
	if m&(m-1) != 0 && !p.v.rule.eaglePass {
		return false
	}
	for ; m != 0; m &= m - 1 {
		if q := t.next[bits.TrailingZeros8(uint8(m))&7][from]; q != NoSquare && p.board[q] == NoPiece {
			return true
		}
	}
	return false
}

// staysLegally tells whether the piece of m, a pass or a capture without moving with the power for it, may make it itself.
func (p *Position) staysLegally(m Move) bool {
	from, via := m.From(), m.Via()
	lion := p.v.class[p.board[from]]&classLion != 0
	switch {
	case m.IsPass():
		return lion || p.falconPasses(from)
	case !p.lions[p.side.Other()].has(via):
		return true
	case lion:
		return !p.lionProtected(from, via, NoSquare)
	}
	return !p.v.rule.banMid || !p.lionBarred(from, via, NoSquare)
}

// sameResult returns the move among moves, the legal ones, that has the result of m, a pass or a capture without moving of
// another piece; NoMove if there is none.
func (p *Position) sameResult(m Move, moves []Move) Move {
	lion := func(m Move) bool { return p.v.class[p.board[m.From()]]&classLion != 0 }
	ban := p.v.rule.senjishi != senjishiNone && m.IsDouble() && p.v.class[p.board[m.Via()]]&classLion != 0
	for _, c := range moves {
		if c.From() == c.To() && c.Via() == m.Via() && (!ban || lion(c) == lion(m)) {
			return c
		}
	}
	return NoMove
}

// lionBarred tells whether the piece on from, no lion, may not take the lion on x because a lion of its side has just been
// taken by a piece that was no lion (senjishi). via is a square whose piece it takes first, or NoSquare.
func (p *Position) lionBarred(from, x, via Square) bool {
	r := &p.v.rule
	if p.st.ban == NoSquare || x == p.st.ban && r.kirinRecap {
		return false
	}
	return r.senjishi == senjishiStrict || p.hasFoot(from, x, via)
}

// lionProtected tells whether the lion on from may not take the lion on x, because x has a foot. via is the square whose
// piece it takes first, or NoSquare.
func (p *Position) lionProtected(from, x, via Square) bool {
	r := &p.v.rule
	if !r.lionFooted && p.v.ring1[from].has(x) {
		return false
	}
	if via != NoSquare && r.tsukegui && p.v.class[p.board[via]]&classPawn == 0 {
		return false
	}
	return p.hasFoot(from, x, via)
}

// hasFoot tells whether the opponent could take back on x after the piece on from has taken there, having taken the piece on
// via first. With pawn_foot_persists a pawn or go-between taken on via still counts as a protector.
func (p *Position) hasFoot(from, x, via Square) bool {
	opp := p.side.Other()
	by := p.occ[opp].andNot(single(x))
	occ := p.occ[0].or(p.occ[1]).andNot(single(from))
	if via != NoSquare {
		occ = occ.andNot(single(via))
		if !p.v.rule.footPersists || p.v.class[p.board[via]]&classPawn == 0 {
			by = by.andNot(single(via))
		}
	}
	return p.attacked(x, opp, by, occ)
}

// leapFree tells whether, under the option lion_jump=pawns_block, a lion on from gets to x at distance two without taking
// anything on the way while the squares of occ are occupied: by the leap or by two steps over an empty square.
func (p *Position) leapFree(from, x Square, occ set) bool {
	t := &p.v.tables
	both := t.ring1[from].and(t.ring1[x])
	if !both.andNot(occ).empty() {
		return true
	}
	if d := t.dir[from][x]; d != noDir {
		both = t.between(d, from, x)
	}
	for ; !both.empty(); both = both.rest() {
		if t.class[p.board[both.first()]]&classPawn == 0 {
			return true
		}
	}
	return false
}

// lionReaches tells whether pc on q, which has x among its steps and jumps, gets there under lion_jump=pawns_block.
func (p *Position) lionReaches(pc Piece, q, x Square, occ set) bool {
	t := &p.v.tables
	return t.class[pc]&classLion == 0 || t.ring1[q].has(x) || p.leapFree(q, x, occ) ||
		!t.ring1[q].and(t.ring1[x]).and(occ).and(p.occ[pc.Side().Other()]).empty()
}

// lionPath tells whether the own piece on from has the power to step to via and from there to the square to.
func (p *Position) lionPath(from, via, to Square) bool {
	t := &p.v.tables
	pc := p.board[from]
	if pc == NoPiece || pc.Side() != p.side || !t.ring1[from].has(via) {
		return false
	}
	d := t.dir[from][via] & 7
	if t.lions[pc]>>d&1 == 0 {
		return false
	}
	if t.class[pc]&classLion != 0 {
		return t.ring1[via].has(to)
	}
	return to == from || to == t.next[d][via]
}

// passSquare returns the empty neighbour over which a pass is written: the first in the order front, then clockwise, as the
// owner sees it.
func (p *Position) passSquare(from Square) Square {
	t := &p.v.tables
	for i := range 8 {
		d := i ^ int(p.board[from].Side())<<2
		if q := t.next[d][from]; q != NoSquare && p.board[q] == NoPiece && t.lions[p.board[from]]>>d&1 != 0 {
			return q
		}
	}
	return from
}

// attacksSomething tells whether the piece that has just moved attacks an enemy piece.
func (p *Position) attacksSomething() bool {
	m := p.hist[len(p.hist)-1].move
	to := m.To()
	return !p.v.reach(p.board[to], to, p.occ[0].or(p.occ[1])).and(p.occ[p.side]).empty()
}

// promotionByMark returns the targets on which pc may promote under the rules entry_only and one_move_wait.
func (p *Position) promotionByMark(pc Piece, from Square, to set) set {
	t := &p.v.tables
	zone := t.zone[pc.Side()]
	switch {
	case !zone.has(from):
		to = to.and(zone)
	case p.v.rule.promotion == promoteEntry:
		return to.and(t.last[pc])
	}
	if p.v.rule.promotion == promoteOneMove && p.st.flags.has(from) {
		return to.and(t.last[pc])
	}
	return to
}

// updateFlags keeps the marks of pieces that the promotion rules remember: with promote_on_home_return those that have
// entered the zone and stayed unpromoted since, with one_move_wait those that have just declined.
func (p *Position) updateFlags(m Move, u *undo) {
	from, to := m.From(), m.To()
	marked := p.st.flags.has(from)
	p.setFlag(from, false)
	p.setFlag(to, false)
	if via := m.Via(); via != NoSquare {
		p.setFlag(via, false)
	}
	if m.Promotes() || p.v.promote[u.moved] == NoPiece {
		return
	}
	zone := p.v.zone[u.moved.Side()]
	if p.v.rule.promotion == promoteOneMove {
		p.setFlag(to, !marked && (zone.has(from) || zone.has(to)))
		return
	}
	p.setFlag(to, marked || zone.has(to))
}

func (p *Position) setFlag(sq Square, on bool) {
	if p.st.flags.has(sq) != on {
		p.st.flags = p.st.flags.xor(single(sq))
		p.st.key ^= p.v.zobristFlag[sq]
	}
}
