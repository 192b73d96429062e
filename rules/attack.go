package rules

import "math/bits"

// slide returns the squares that a slider on sq reaches in direction d, the first occupied one included.
func (t *tables) slide(d int, sq Square, occ set) set {
	d &= 7
	r := t.ray[sq][d]
	b := r.and(occ)
	if b.empty() {
		return r
	}
	if d >= 2 && d <= 5 {
		return r.andNot(t.ray[b.first()][d])
	}
	return r.andNot(t.ray[b.last()][d])
}

// between returns the squares between two squares that lie in direction d from the first to the second.
func (t *tables) between(d uint8, from, to Square) set {
	return t.ray[from][d&7].and(t.ray[to][(d^4)&7])
}

// reach returns the squares to which pc on sq could move if every piece were an enemy.
func (t *tables) reach(pc Piece, sq Square, occ set) set {
	x := t.step[pc][sq]
	for m := t.slides[pc]; m != 0; m &= m - 1 {
		x = x.or(t.slide(bits.TrailingZeros8(uint8(m)), sq, occ))
	}
	if m := t.twos[pc]; m != 0 {
		near := t.ring1[sq].or(t.ring2[sq])
		for ; m != 0; m &= m - 1 {
			x = x.or(t.slide(bits.TrailingZeros8(uint8(m)), sq, occ).and(near))
		}
	}
	return x
}

// attacked tells whether one of the pieces `by` of side s could move to sq if the board's occupied squares were occ.
func (p *Position) attacked(sq Square, s Side, by, occ set) bool {
	t := &p.v.tables
	for x := t.ring1[sq].and(by); !x.empty(); x = x.rest() {
		q := x.first()
		if t.near[p.board[q]]>>(t.dir[q][sq]&7)&1 != 0 {
			return true
		}
	}
	for x := t.queen[sq].and(p.ranged[s]).and(by).andNot(t.ring1[sq]); !x.empty(); x = x.rest() {
		if q := x.first(); t.attacksFar(p.board[q], q, sq, occ) {
			return true
		}
	}
	for x := t.ring2[sq].and(p.jumpers[s]).and(by); !x.empty(); x = x.rest() {
		if q := x.first(); t.step[p.board[q]][q].has(sq) && (!p.v.rule.pawnsBlock || p.lionReaches(p.board[q], q, sq, occ)) {
			return true
		}
	}
	return false
}

// attacksFar tells whether the ranged piece pc on q attacks sq, which lies in one of the eight directions but not adjacent.
func (t *tables) attacksFar(pc Piece, q, sq Square, occ set) bool {
	d := t.dir[q][sq] & 7
	if t.slides[pc]>>d&1 == 0 && (t.twos[pc]>>d&1 == 0 || !t.ring2[sq].has(q)) {
		return false
	}
	return t.between(d, q, sq).and(occ).empty()
}

// findChecks computes the attackers of the side to move's royals and, where royals may not be left attacked, its pinned
// pieces.
func (p *Position) findChecks() {
	own, opp := p.side, p.side.Other()
	p.st.checkers, p.st.pinned = set{}, set{}
	for x := p.royals[own]; !x.empty(); x = x.rest() {
		p.findAttackers(x.first(), opp)
	}
}

// findAttackers adds side opp's attackers of the king on k to checkers, and the pieces that they pin to pinned.
func (p *Position) findAttackers(k Square, opp Side) {
	t := &p.v.tables
	occ := p.occ[0].or(p.occ[1])
	for x := t.ring1[k].and(p.occ[opp]); !x.empty(); x = x.rest() {
		q := x.first()
		if t.near[p.board[q]]>>(t.dir[q][k]&7)&1 != 0 {
			p.st.checkers = p.st.checkers.or(single(q))
		}
	}
	for x := t.queen[k].and(p.ranged[opp]).andNot(t.ring1[k]); !x.empty(); x = x.rest() {
		q := x.first()
		pc := p.board[q]
		d := t.dir[q][k] & 7
		if t.slides[pc]>>d&1 == 0 && (t.twos[pc]>>d&1 == 0 || !t.ring2[k].has(q)) {
			continue
		}
		b := t.between(d, q, k).and(occ)
		if b.empty() {
			p.st.checkers = p.st.checkers.or(single(q))
		} else if b.atMostOne() {
			p.st.pinned = p.st.pinned.or(b.andNot(p.occ[opp]))
		}
	}
	for x := t.ring2[k].and(p.jumpers[opp]); !x.empty(); x = x.rest() {
		q := x.first()
		if t.step[p.board[q]][q].has(k) && (!p.v.rule.pawnsBlock || p.lionReaches(p.board[q], q, k, occ)) {
			p.st.checkers = p.st.checkers.or(single(q))
		}
	}
}
