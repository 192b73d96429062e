package rules

// GivesCheck tells whether a royal of the opponent is attacked after m, a legal move.
func (p *Position) GivesCheck(m Move) bool {
	t := &p.v.tables
	s := p.side
	from, to := m.From(), m.To()
	occ := p.occ[0].or(p.occ[1])
	var pc Piece
	if k := m.DropKind(); k != 0 {
		pc = MakePiece(k, s)
	} else {
		pc = p.board[from]
		if m.Promotes() {
			pc = t.promote[pc]
		}
		occ = occ.andNot(single(from))
	}
	royals := p.royals[s.Other()].andNot(single(to))
	if via := m.Via(); via != NoSquare {
		occ = occ.andNot(single(via))
		royals = royals.andNot(single(via))
	}
	occ = occ.or(single(to))
	for x := royals; !x.empty(); x = x.rest() {
		k := x.first()
		if t.step[pc][to].has(k) && (!p.v.rule.pawnsBlock || p.lionReaches(pc, to, k, occ)) {
			return true
		}
		if t.slides[pc]|t.twos[pc] != 0 && p.slidesTo(pc, to, k, occ) {
			return true
		}
		if p.othersAttack(m, k, occ) {
			return true
		}
	}
	return false
}

// slidesTo tells whether the ranged piece pc on q would attack k.
func (p *Position) slidesTo(pc Piece, q, k Square, occ set) bool {
	t := &p.v.tables
	d := t.dir[q][k]
	if d == noDir || (t.slides[pc]|t.twos[pc])>>d&1 == 0 {
		return false
	}
	if t.slides[pc]>>d&1 == 0 && !t.ring1[k].has(q) && !t.ring2[k].has(q) {
		return false
	}
	return t.between(d, q, k).and(occ).empty()
}

// othersAttack tells whether a piece other than the one that makes m attacks the royal on k after it.
func (p *Position) othersAttack(m Move, k Square, occ set) bool {
	t := &p.v.tables
	s := p.side
	from := m.From()
	if p.onlyMoverChecks() {
		// Only a line that the move opens can give check.
		if m.IsDrop() || !t.queen[k].has(from) {
			return false
		}
		d := t.dir[k][from] & 7
		line := t.ray[k][d&7].and(p.ranged[s]).andNot(single(from)).andNot(single(m.To()))
		for ; !line.empty(); line = line.rest() {
			if q := line.first(); p.slidesTo(p.board[q], q, k, occ) {
				return true
			}
		}
		return false
	}
	by := p.occ[s]
	if !m.IsDrop() {
		by = by.andNot(single(from))
	}
	return p.attacked(k, s, by, occ)
}

// onlyMoverChecks tells whether the opponent's royal is not attacked now, so that a check comes from the piece that moves or
// from a line that it opens.
func (p *Position) onlyMoverChecks() bool {
	return p.v.rule.mateEnds && !(p.odd && len(p.hist) == 0)
}
