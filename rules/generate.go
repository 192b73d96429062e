package rules

// AppendMoves appends the legal moves. Where making a position again is illegal (tori shogi's third_illegal, chu shogi's
// no_repeat) such moves are left out.
func (p *Position) AppendMoves(dst []Move) []Move {
	return p.dropRepeats(p.AppendBoardMoves(dst), len(dst))
}

// AppendBoardMoves appends the moves that are legal on the board, as AppendMoves does, but without regard to repetition:
// what perft counts.
func (p *Position) AppendBoardMoves(dst []Move) []Move {
	dst, _ = p.generate(dst, false, p.v.rule.mateEnds)
	return dst
}

// CountMoves returns the number of moves that AppendBoardMoves appends, without making them.
func (p *Position) CountMoves() int {
	_, n := p.generate(nil, true, p.v.rule.mateEnds)
	return n
}

// HasMoves tells whether CountMoves would return more than 0, most often sooner.
func (p *Position) HasMoves() bool {
	s := p.side
	if p.v.rule.mateEnds && !p.royals[s].empty() {
		occ := p.occ[0].or(p.occ[1])
		mask := p.v.tables.board.andNot(p.occ[s]).andNot(p.royals[s.Other()])
		if !p.kingTargets(p.royals[s].first(), mask, occ).empty() {
			return true
		}
	}
	return p.CountMoves() > 0
}

// AppendChecks appends the legal moves that give check.
func (p *Position) AppendChecks(dst []Move) []Move {
	start := len(dst)
	dst, _, empty := p.generatePieces(dst, false, p.v.rule.mateEnds)
	if !p.onlyMoverChecks() {
		dst, _ = p.generateDrops(dst, false, 0, empty, NoSquare)
		empty = set{}
	}
	out := dst[:start]
	for _, m := range dst[start:] {
		if p.GivesCheck(m) {
			out = append(out, m)
		}
	}
	if k := p.royals[p.side.Other()]; !k.empty() && p.handPieces[p.side] > 0 {
		out, _ = p.generateDrops(out, false, 0, empty, k.first())
	}
	return p.dropRepeats(out, start)
}

// generate appends the moves on the board to dst, or only counts them. With strict, the own king may not be left attacked.
func (p *Position) generate(dst []Move, count, strict bool) ([]Move, int) {
	dst, n, empty := p.generatePieces(dst, count, strict)
	if p.handPieces[p.side] == 0 {
		return dst, n
	}
	return p.generateDrops(dst, count, n, empty, NoSquare)
}

// generatePieces is generate without drops; it returns the squares on which a drop may be.
func (p *Position) generatePieces(dst []Move, count, strict bool) ([]Move, int, set) {
	t := &p.v.tables
	s := p.side
	own, opp := p.occ[s], p.occ[s.Other()]
	occ := own.or(opp)
	mask := t.board.andNot(own)
	movers := own
	n := 0
	var pinned set
	king := NoSquare
	if strict && !p.royals[s].empty() {
		king = p.royals[s].first()
		pinned = p.st.pinned
		movers = movers.andNot(p.royals[s])
		mask = mask.andNot(p.royals[s.Other()])
		kt := p.kingTargets(king, mask, occ)
		if count {
			n += kt.count()
		} else {
			dst = appendMoves(dst, king, kt, set{})
		}
		if c := p.st.checkers; !c.empty() {
			if !c.atMostOne() {
				return dst, n, set{}
			}
			mask = p.evasionMask(king, c.first()).andNot(p.royals[s.Other()])
		}
	}
	if !p.doubles[s].empty() || p.st.ban != NoSquare {
		dst, n = p.generateLions(dst, count)
		return dst, n, set{}
	}
	for x := movers; !x.empty(); x = x.rest() {
		from := x.first()
		pc := p.board[from]
		to := t.step[pc][from]
		if t.slides[pc]|t.twos[pc] != 0 {
			to = t.reach(pc, from, occ)
		}
		to = to.and(mask)
		if pinned.has(from) {
			// Up to the pinning piece: tori shogi's jumpers could leap over it.
			to = to.and(t.slide(int(t.dir[king][from]), king, occ.andNot(single(from))))
		}
		if to.empty() {
			continue
		}
		stay, up := to, set{}
		if t.promote[pc] != NoPiece {
			stay, up = p.splitPromotion(pc, from, to, opp)
		}
		if count {
			n += stay.count() + up.count()
			continue
		}
		dst = appendMoves(dst, from, stay, up)
	}
	return dst, n, mask.andNot(opp)
}

// appendMoves appends the moves of the piece on from that stays as it is and that promotes.
func appendMoves(dst []Move, from Square, stay, up set) []Move {
	for ; !up.empty(); up = up.rest() {
		dst = append(dst, NewMove(from, up.first(), true))
	}
	for ; !stay.empty(); stay = stay.rest() {
		dst = append(dst, NewMove(from, stay.first(), false))
	}
	return dst
}

// kingTargets returns the squares among mask to which the king may go.
func (p *Position) kingTargets(king Square, mask, occ set) set {
	t := &p.v.tables
	opp := p.side.Other()
	out := t.step[p.board[king]][king].and(mask)
	occ = occ.andNot(single(king))
	for x := out; !x.empty(); x = x.rest() {
		if q := x.first(); p.attacked(q, opp, p.occ[opp], occ) {
			out = out.andNot(single(q))
		}
	}
	return out
}

// evasionMask returns the squares on which a piece other than the king answers the check by the piece on c.
func (p *Position) evasionMask(king, c Square) set {
	t := &p.v.tables
	m := single(c)
	pc := p.board[c]
	if d := t.dir[c][king]; d != noDir && (t.slides[pc]|t.twos[pc])>>d&1 != 0 {
		m = m.or(t.between(d, c, king))
	}
	return m
}

// splitPromotion divides the targets of pc on from into those on which it may stay as it is and those on which it may
// promote; a square can be in both.
func (p *Position) splitPromotion(pc Piece, from Square, to, opp set) (stay, up set) {
	t := &p.v.tables
	zone := t.zone[pc.Side()]
	inside := zone.has(from)
	switch p.v.rule.promotion {
	case promoteZoneAny:
		up = to
		if !inside {
			up = to.and(zone)
		}
	case promoteAlways:
		if inside {
			return set{}, to
		}
		return to.andNot(zone), to.and(zone)
	case promoteCapture:
		if inside {
			up = to.and(opp.or(t.last[pc]))
		} else {
			up = to.and(zone)
		}
	default:
		up = p.promotionByMark(pc, from, to)
	}
	if p.v.rule.homeReturn && p.st.flags.has(from) {
		up = up.or(to.and(t.home[pc.Side()]))
	}
	return to.andNot(t.must[pc]), up
}

// generateDrops adds the drops on the squares empty; with a king's square only those that give it check.
func (p *Position) generateDrops(dst []Move, count bool, n int, empty set, king Square) ([]Move, int) {
	t := &p.v.tables
	s := p.side
	if empty.empty() {
		return dst, n
	}
	for _, k := range t.handKinds {
		if p.hand[s][k&(handSlots-1)] == 0 {
			continue
		}
		pc := MakePiece(k, s)
		to := empty.andNot(t.dead[pc])
		if king != NoSquare {
			// The other side's piece on the king's square reaches what pc would attack it from.
			to = to.and(t.reach(pc^1, king, p.occ[0].or(p.occ[1])))
		}
		if t.class[pc]&classLimited != 0 {
			to = to.andNot(t.full[p.fullFiles[s]])
			if k := p.royals[s.Other()]; !k.empty() {
				// The squares from which the piece would give check.
				check := to.and(t.step[pc^1][k.first()])
				if !check.empty() && p.isDropMate(pc, check.first()) {
					to = to.andNot(check)
				}
			}
		}
		if count {
			n += to.count()
			continue
		}
		for ; !to.empty(); to = to.rest() {
			dst = append(dst, NewDrop(k, to.first()))
		}
	}
	return dst, n
}

// isDropMate tells whether dropping pc on sq, from where it attacks the enemy king, would mate.
func (p *Position) isDropMate(pc Piece, sq Square) bool {
	saved := p.st
	p.put(pc, sq)
	p.side ^= 1
	p.findChecks()
	_, n := p.generate(nil, true, true)
	p.side ^= 1
	p.take(pc, sq)
	p.st = saved
	return n == 0
}

// dropRepeats removes from dst[start:] the moves that would make a position once more than the rules allow: for the third
// time, unless they answer a check, or at all.
func (p *Position) dropRepeats(dst []Move, start int) []Move {
	limit := p.v.rule.repetition.limit()
	if limit == 0 || limit == 3 && (p.repeats == 0 || p.InCheck()) || len(p.keys) == 0 {
		return dst
	}
	out := dst[:start]
	for _, m := range dst[start:] {
		p.Do(m)
		n := p.Occurrences()
		p.Undo()
		if n < limit {
			out = append(out, m)
		}
	}
	return out
}
