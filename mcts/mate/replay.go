package mate

import "kirin/rules"

// verified replays the mate within plies that the table holds for the position on
// s.p, with the full rules and against every defence, and writes its main line to
// s.pv.
func (s *Solver) verified(plies int) bool {
	if ok, _ := s.replayAttack(plies); !ok {
		return false
	}
	s.pv = s.line(s.pv[:0], plies)
	return len(s.pv) > 0
}

// proof returns the entry of a mate within depth plies for the attacker to move;
// it searches again when the table has lost it.
func (s *Solver) proof(depth int) *entry {
	key := s.p.Key()
	if e := s.table.find(key); e != nil && e.length > 0 && int(e.length) <= depth {
		return e
	}
	limit := s.limit
	if limit > 0 { // else interrupted
		s.limit = max(limit, s.nodes+limit)
	}
	v := s.attack(depth, infinite, infinite)
	if s.limit > 0 {
		s.limit = limit
	}
	if e := s.table.find(key); v.pn == 0 && e != nil && e.length > 0 {
		return e
	}
	return nil
}

// replayAttack tells whether the table's move mates within depth plies, and
// whether every position on the way was new in the game. A proof without old
// positions can be relied on wherever the position is met again in this search:
// its positions then occur for the second time at most, which no rule minds.
func (s *Solver) replayAttack(depth int) (ok, fresh bool) {
	e := s.proof(depth)
	if e == nil {
		return false, false
	}
	p := s.p
	if fresh = p.Occurrences() == 1; fresh && e.checked {
		return true, true
	}
	best, length := e.best, int(e.length)
	first := len(s.moves)
	s.moves = p.AppendMoves(s.moves)
	legal := false
	for _, m := range s.moves[first:] {
		legal = legal || m == best
	}
	n := len(s.moves) - first
	s.moves = s.moves[:first]
	if !legal {
		return false, false
	}
	if out := p.Outcome(n); out.Result != rules.Ongoing {
		return out.Result == rules.Winner(s.attacker), false
	}
	p.Do(best)
	ok, rest := s.replayDefence(length - 1)
	p.Undo()
	fresh = fresh && rest
	if e := s.table.find(p.Key()); ok && fresh && e != nil && e.best == best {
		e.checked = true
	}
	return ok, fresh
}

// replayDefence is replayAttack for a position with the defender to move.
func (s *Solver) replayDefence(depth int) (ok, fresh bool) {
	p := s.p
	fresh = p.Occurrences() == 1
	first := len(s.moves)
	s.moves = p.AppendMoves(s.moves)
	last := len(s.moves)
	out := p.Outcome(last - first)
	if out.Result != rules.Ongoing || depth < 2 {
		s.moves = s.moves[:first]
		return out.Result == rules.Winner(s.attacker), fresh
	}
	ok = true
	for i := first; i < last && ok; i++ {
		p.Do(s.moves[i])
		var rest bool
		ok, rest = s.replayAttack(depth - 1)
		fresh = fresh && rest
		p.Undo()
	}
	s.moves = s.moves[:first]
	return ok, fresh
}

// line appends the main line of a replayed mate within depth plies.
func (s *Solver) line(pv []rules.Move, depth int) []rules.Move {
	p := s.p
	played := 0
	for depth > 0 {
		e := s.proof(depth)
		if e == nil {
			break
		}
		depth = int(e.length) - 1
		pv = append(pv, e.best)
		p.Do(e.best)
		played++
		if depth == 0 {
			break
		}
		// The defence that lasts longest.
		first := len(s.moves)
		s.moves = p.AppendMoves(s.moves)
		longest, reply := 0, rules.NoMove
		for i := first; i < len(s.moves); i++ {
			m := s.moves[i]
			p.Do(m)
			if e := s.proof(depth - 1); e != nil && int(e.length) > longest {
				longest, reply = int(e.length), m
			}
			p.Undo()
		}
		s.moves = s.moves[:first]
		if reply == rules.NoMove {
			break
		}
		pv = append(pv, reply)
		p.Do(reply)
		played++
		depth = longest
	}
	for ; played > 0; played-- {
		p.Undo()
	}
	return pv
}
