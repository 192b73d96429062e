package rules

// isMated tells, for games that end by capture of the royals, whether the side to move has one royal and loses it with the
// opponent's next move whatever it plays.
func (p *Position) isMated() bool {
	s := p.side
	if p.royals[s].empty() || !p.royals[s].atMostOne() {
		return false
	}
	p.scratch = p.AppendBoardMoves(p.scratch)
	defer p.clearScratch()
	for _, m := range p.scratch {
		p.Do(m)
		safe := p.royals[s.Other()].empty() || !p.royals[s].atMostOne() ||
			!p.attacked(p.royals[s].first(), s.Other(), p.occ[s.Other()], p.occ[0].or(p.occ[1]))
		p.Undo()
		if safe {
			return false
		}
	}
	return true
}

// bareKing applies the rule on a side that has nothing but a royal left.
func (p *Position) bareKing() Outcome {
	// What can never move again stands on the last rank.
	if !p.occ[0].andNot(p.v.farthest[0]).atMostOne() && !p.occ[1].andNot(p.v.farthest[1]).atMostOne() {
		return Outcome{}
	}
	for _, s := range []Side{Sente, Gote} {
		if p.royals[s].empty() {
			return Outcome{}
		}
	}
	var rest [2]set // pieces besides one royal
	for s := range rest {
		rest[s] = p.living(Side(s)).andNot(single(p.royals[s].first()))
	}
	if rest[0].empty() && rest[1].empty() {
		if p.v.rule.bareKing == "lishogi" && p.v.ring1[p.royals[0].first()].has(p.royals[1].first()) {
			return Outcome{}
		}
		return Outcome{Draw, BareKing}
	}
	switch p.v.rule.bareKing {
	case "jcsa":
		return p.bareKingJCSA(rest)
	case "lishogi":
		return p.bareKingLishogi(rest)
	}
	return p.bareKingReply(rest)
}

// living returns side's pieces without those that can never move again.
func (p *Position) living(side Side) set {
	out := p.occ[side]
	for x := out; !x.empty(); x = x.rest() {
		if q := x.first(); p.v.dead[p.board[q]].has(q) {
			out = out.andNot(single(q))
		}
	}
	return out
}

// owner returns the side that has pieces besides a royal when the other has none.
func owner(rest [2]set) (Side, bool) {
	switch {
	case rest[0].empty() == rest[1].empty():
		return Sente, false
	case rest[1].empty():
		return Sente, true
	}
	return Gote, true
}

// bareKingJCSA: royal and one piece that is no pawn or go-between win against a royal that cannot take the piece at once.
func (p *Position) bareKingJCSA(rest [2]set) Outcome {
	s, ok := owner(rest)
	if !ok || !rest[s].atMostOne() {
		return Outcome{}
	}
	q := rest[s].first()
	if p.v.class[p.board[q]]&(classPawn|classRoyal) != 0 || p.canTake(q) {
		return Outcome{}
	}
	return Outcome{Winner(s), BareKing}
}

// bareKingReply: a lone royal loses, unless its side is to move and can leave the opponent bare as well.
func (p *Position) bareKingReply(rest [2]set) Outcome {
	s, ok := owner(rest)
	if !ok || rest[s].atMostOne() && p.canTake(rest[s].first()) {
		return Outcome{}
	}
	return Outcome{Winner(s), BareKing}
}

// bareKingLishogi: a lone royal loses against one royal with pieces other than pawns and go-betweens, unless it attacks the
// royal, or the one such piece that there is stands next to it.
func (p *Position) bareKingLishogi(rest [2]set) Outcome {
	s, ok := owner(rest)
	if !ok || !p.royals[s].atMostOne() {
		return Outcome{}
	}
	strong := rest[s]
	for x := strong; !x.empty(); x = x.rest() {
		if q := x.first(); p.v.class[p.board[q]]&classPawn != 0 {
			strong = strong.andNot(single(q))
		}
	}
	near := p.v.ring1[p.royals[s.Other()].first()]
	if strong.empty() || !near.and(p.royals[s]).empty() || strong.atMostOne() && !near.and(strong).empty() {
		return Outcome{}
	}
	return Outcome{Winner(s), BareKing}
}

// canTake tells whether the side to move can take the piece on q.
func (p *Position) canTake(q Square) bool {
	if p.occ[p.side].has(q) {
		return false
	}
	p.scratch = p.AppendBoardMoves(p.scratch)
	defer p.clearScratch()
	for _, m := range p.scratch {
		if m.To() == q || m.Via() == q {
			return true
		}
	}
	return false
}

func (p *Position) clearScratch() { p.scratch = p.scratch[:0] }
