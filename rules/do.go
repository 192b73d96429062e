package rules

// Do plays m, which must be legal.
func (p *Position) Do(m Move) {
	if n := len(p.hist); n < cap(p.hist) {
		p.hist = p.hist[:n+1]
	} else {
		p.hist = append(p.hist, undo{})
	}
	u := &p.hist[len(p.hist)-1]
	u.state, u.move, u.captured, u.mid = p.st, m, NoPiece, NoPiece
	p.keys = append(p.keys, p.st.key)
	v := p.v
	s := p.side
	to := m.To()
	ban := NoSquare
	if k := m.DropKind(); k != 0 {
		u.moved = MakePiece(k, s)
		p.dropHand(s, k)
		p.put(u.moved, to)
	} else {
		from := m.From()
		pc := p.board[from]
		u.moved = pc
		if via := m.Via(); via != NoSquare {
			u.mid = p.board[via]
			p.take(u.mid, via)
			if v.class[u.mid]&classLion != 0 {
				ban = via
			}
		}
		if from != to {
			if cap := p.board[to]; cap != NoPiece {
				u.captured = cap
				p.take(cap, to)
				if v.class[cap]&classLion != 0 {
					ban = to
				}
				if k := v.taken[cap.Kind()]; k != NoKind {
					p.addHand(s, k)
				}
			}
			p.take(pc, from)
			if m.Promotes() {
				pc = v.promote[pc]
			}
			p.put(pc, to)
		}
		if v.class[u.moved]&classLion != 0 || v.rule.senjishi == senjishiNone {
			ban = NoSquare
		}
		if v.flagged {
			p.updateFlags(m, u)
		}
	}
	p.setBan(ban)
	p.side = s.Other()
	p.st.key ^= v.zobristSide
	p.findChecks()
	p.updateRuns(s)
	p.countOccurrence()
}

// setBan sets the ban square and keeps the key in step.
func (p *Position) setBan(sq Square) {
	if sq == p.st.ban {
		return
	}
	if p.st.ban != NoSquare {
		p.st.key ^= p.v.zobristBan[p.st.ban]
	}
	if sq != NoSquare {
		p.st.key ^= p.v.zobristBan[sq]
	}
	p.st.ban = sq
}

// updateRuns extends or ends the run of checks of s, which has just moved.
func (p *Position) updateRuns(s Side) {
	check := !p.st.checkers.empty()
	if check {
		p.st.checkRun[s]++
	} else {
		p.st.checkRun[s] = 0
	}
	if p.v.rule.repetition == repAttackDraw {
		if check || p.attacksSomething() {
			p.st.attackRun[s]++
		} else {
			p.st.attackRun[s] = 0
		}
	}
}

// countOccurrence enters the current position into the history.
func (p *Position) countOccurrence() {
	key := p.st.key
	slot := &p.seen[key%seenSlots]
	n := uint16(1)
	if *slot > 0 {
		for i := len(p.keys) - 2; i >= 0; i -= 2 {
			if p.keys[i] == key {
				n = p.hist[i].occurrences + 1
				break
			}
		}
	}
	if n > 1 {
		p.repeats++
	}
	if *slot < 255 {
		*slot++
	}
	p.st.occurrences = n
	if limit := p.v.rule.repetition.limit(); limit > 0 && int(n) == limit-1 {
		p.st.barred ^= mix(key)
	}
}

// Undo takes back the last Do.
func (p *Position) Undo() {
	last := len(p.hist) - 1
	u := &p.hist[last]
	slot := &p.seen[p.st.key%seenSlots]
	if *slot < 255 {
		*slot--
	}
	if p.st.occurrences > 1 {
		p.repeats--
	}
	m := u.move
	s := p.side.Other()
	p.side = s
	to := m.To()
	if m.IsDrop() {
		p.take(u.moved, to)
		p.addHand(s, m.DropKind())
	} else {
		from := m.From()
		if from != to {
			p.take(p.board[to], to)
			p.put(u.moved, from)
			if u.captured != NoPiece {
				p.put(u.captured, to)
				if k := p.v.taken[u.captured.Kind()]; k != NoKind {
					p.dropHand(s, k)
				}
			}
		}
		if u.mid != NoPiece {
			p.put(u.mid, m.Via())
		}
	}
	p.st = u.state
	p.hist = p.hist[:last]
	p.keys = p.keys[:last]
}
