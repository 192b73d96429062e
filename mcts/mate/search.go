package mate

import "kirin/rules"

// verdict is what is known of a position at a depth. pn 0 is a proven mate within
// length plies, dn 0 a refuted one.
type verdict struct {
	pn, dn  uint32
	length  uint8
	refuted uint8 // dn 0: no mate within this many plies; always
	best    rules.Move
}

// kid is a move of a position under search with what is known of the position
// after it.
type kid struct {
	verdict
	move rules.Move
	drop bool // an interposed piece from hand: looked at when the others are proven
}

// proven at a depth of some plies.
func proven(length uint8, best rules.Move) verdict {
	return verdict{pn: 0, dn: infinite, length: length, best: best}
}

func refuted(depth uint8) verdict { return verdict{pn: infinite, dn: 0, refuted: depth} }

// at reads what an entry says of a mate within depth plies; false: nothing, or
// only what a shallower search thought.
func (e *entry) at(depth int) (verdict, bool) {
	switch {
	case e.length > 0 && int(e.length) <= depth:
		return proven(e.length, e.best), true
	case e.refuted == always || int(e.refuted) > depth:
		r := e.refuted
		if r != always {
			r--
		}
		return refuted(r), true
	case int(e.depth) == depth && e.pn != 0 && e.dn != 0 && e.pn < infinite && e.dn < infinite:
		return verdict{pn: e.pn, dn: e.dn}, true
	}
	return verdict{}, false
}

// store keeps the verdict at depth of the position on s.p.
func (s *Solver) store(key uint64, depth int, v verdict, since int64) {
	e := s.table.place(key)
	e.effort += uint32(min(s.nodes-since, 1<<20))
	switch {
	case v.pn == 0:
		if e.length == 0 || v.length < e.length {
			e.length, e.best, e.checked = v.length, v.best, false
		}
	case v.dn == 0:
		r := v.refuted
		if r != always {
			r++
		}
		e.refuted = max(e.refuted, r)
	default:
		e.pn, e.dn, e.depth = v.pn, v.dn, uint8(depth)
	}
}

// attack searches the position on s.p, the attacker to move, for a mate within
// depth plies (odd) until a proof number reaches its threshold.
func (s *Solver) attack(depth int, pnMax, dnMax uint32) verdict {
	p := s.p
	key := p.Key()
	since := s.nodes
	start, first := len(s.kids), len(s.moves)
	defer func() {
		s.kids, s.moves = s.kids[:start], s.moves[:first]
	}()
	s.nodes++
	if s.wide || s.capture {
		s.moves = p.AppendBoardMoves(s.moves)
	} else {
		s.moves = p.AppendChecks(s.moves)
	}
	if s.capture {
		if m := s.capturesLast(s.moves[first:]); m != rules.NoMove {
			v := proven(1, m)
			s.store(key, depth, v, since)
			return v
		}
	}
	for _, m := range s.moves[first:] {
		if s.capture && depth == 1 {
			break
		}
		if s.capture && !s.wide && !p.GivesCheck(m) {
			continue
		}
		p.Do(m)
		k := kid{move: m}
		n, mated := 0, false
		switch {
		case s.capture:
		case depth == 1:
			s.nodes++
			mated = !p.HasMoves()
		default:
			s.nodes++
			n = p.CountMoves()
			mated = n == 0
		}
		if mated {
			p.Undo()
			v := proven(1, m)
			s.store(key, depth, v, since)
			return v
		}
		if depth == 1 {
			k.verdict = refuted(0)
		} else if e := s.table.find(p.Key()); e != nil {
			k.verdict, _ = e.at(depth - 1)
		}
		if k.pn == 0 && k.dn == 0 {
			k.verdict = verdict{pn: uint32(max(n, 1)), dn: 1}
		}
		p.Undo()
		s.kids = append(s.kids, k)
	}
	kids := s.kids[start:]
	if len(kids) == 0 {
		v := refuted(always)
		if s.capture && depth == 1 {
			v = refuted(1)
		}
		s.store(key, depth, v, since)
		return v
	}
	for {
		best, second, v := sumUp(kids, depth)
		if v.pn == 0 || v.dn == 0 || v.pn >= pnMax || v.dn >= dnMax || s.stopped() {
			s.store(key, depth, v, since)
			return v
		}
		k := &kids[best]
		pn := min(pnMax, second+1+second/4)
		dn := min(infinite, dnMax-v.dn+k.dn)
		p.Do(k.move)
		got := s.defend(depth-1, pn, dn)
		p.Undo()
		s.kids[start+best].verdict = got
		kids = s.kids[start:]
	}
}

// sumUp gives the most promising kid of an attacker's position, the proof number
// of the second best, and the position's verdict.
func sumUp(kids []kid, depth int) (best int, second uint32, v verdict) {
	v = verdict{pn: infinite, refuted: always}
	second = infinite
	best = -1
	for i := range kids {
		k := &kids[i]
		if k.pn == 0 {
			return i, 0, proven(k.length+1, k.move)
		}
		if k.dn == 0 && k.refuted != always {
			v.refuted = min(v.refuted, k.refuted+1)
		}
		if k.dn < infinite-v.dn {
			v.dn += k.dn
		} else {
			v.dn = infinite - 1
		}
		switch {
		case best < 0 || k.pn < v.pn:
			if best >= 0 {
				second = v.pn
			}
			best, v.pn = i, k.pn
		case k.pn < second:
			second = k.pn
		}
	}
	if v.dn == 0 {
		v.pn = infinite
	}
	return best, second, v
}

// defend is attack for a position with the defender to move; depth is even.
func (s *Solver) defend(depth int, pnMax, dnMax uint32) verdict {
	p := s.p
	key := p.Key()
	since := s.nodes
	start, first := len(s.kids), len(s.moves)
	defer func() {
		s.kids, s.moves = s.kids[:start], s.moves[:first]
	}()
	s.nodes++
	s.moves = p.AppendBoardMoves(s.moves)
	for _, m := range s.moves[first:] {
		k := kid{move: m, drop: m.IsDrop() && !s.wide}
		p.Do(m)
		if e := s.table.find(p.Key()); e != nil {
			k.verdict, _ = e.at(depth - 1)
		}
		p.Undo()
		if k.pn == 0 && k.dn == 0 {
			k.verdict = verdict{pn: 1, dn: 1}
		}
		s.kids = append(s.kids, k)
	}
	for {
		kids := s.kids[start:]
		best, second, v := sumUpDefence(kids)
		if v.pn == 0 || v.dn == 0 || v.pn >= pnMax || v.dn >= dnMax || s.stopped() {
			s.store(key, depth, v, since)
			return v
		}
		k := &kids[best]
		dn := min(dnMax, second+1+second/4)
		pn := min(infinite, pnMax-v.pn+k.pn)
		p.Do(k.move)
		got := s.attack(depth-1, pn, dn)
		p.Undo()
		s.kids[start+best].verdict = got
	}
}

// sumUpDefence is sumUp for the defender. Of the interposed pieces only the first
// unproven one counts: most of them are lost for nothing, and to sum them up would
// hide the mates behind them.
func sumUpDefence(kids []kid) (best int, second uint32, v verdict) {
	v = verdict{dn: infinite}
	second = infinite
	best = -1
	interposed := false
	for i := range kids {
		k := &kids[i]
		if k.dn == 0 {
			r := k.refuted
			if r != always {
				r++
			}
			return i, 0, refuted(r)
		}
		if k.pn == 0 {
			v.length = max(v.length, k.length+1)
			continue
		}
		if k.drop {
			if interposed {
				continue
			}
			interposed = true
		}
		if k.pn < infinite-v.pn {
			v.pn += k.pn
		} else {
			v.pn = infinite - 1
		}
		switch {
		case best < 0 || k.dn < v.dn:
			if best >= 0 {
				second = v.dn
			}
			best, v.dn = i, k.dn
		case k.dn < second:
			second = k.dn
		}
	}
	return best, second, v
}

// capturesLast returns a move that takes the last royal, or every royal left.
func (s *Solver) capturesLast(moves []rules.Move) rules.Move {
	s.royals = s.p.AppendRoyals(s.royals[:0], s.attacker.Other())
	if len(s.royals) == 0 || len(s.royals) > 2 {
		return rules.NoMove
	}
	for _, m := range moves {
		taken := 0
		for _, sq := range s.royals {
			if m.To() == sq || m.IsDouble() && m.Via() == sq {
				taken++
			}
		}
		if taken == len(s.royals) {
			return m
		}
	}
	return rules.NoMove
}
