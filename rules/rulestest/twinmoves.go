package rulestest

import "kirin/rules"

// results returns everything that a legal move of t can lead to, by text; repetition is left out of account.
func (t *twin) results() map[string]bool {
	out := map[string]bool{}
	add := func(n *twin) {
		if t.legal(n) {
			out[n.text()] = true
		}
	}
	for i, c := range t.cells {
		if c != 0 && c.Side() == t.side {
			t.plain(rules.Square(i), add)
			t.doubles(rules.Square(i), add)
		}
	}
	t.drops(add)
	return out
}

// mate tells whether the game is about leaving no royal attacked.
func (t *twin) mate() bool { return len(t.v.HandKinds()) > 0 && t.opts["end"] != "royal_capture" }

func (t *twin) legal(n *twin) bool {
	if !t.mate() {
		return true
	}
	for _, s := range []rules.Side{rules.Sente, rules.Gote} {
		if !n.hasRoyal(s) {
			return false
		}
	}
	return !n.royalAttacked(t.side)
}

func (t *twin) hasRoyal(s rules.Side) bool {
	for _, c := range t.cells {
		if c != 0 && c.Side() == s && t.info(c).Royal {
			return true
		}
	}
	return false
}

// plain adds the moves of one step, slide or leap.
func (t *twin) plain(from rules.Square, add func(*twin)) {
	for _, to := range t.reaches(from) {
		x := t.cells[to]
		if x != 0 && x.Side() == t.side || t.isLion(x) && !t.mayTakeLion(from, rules.NoSquare, to) {
			continue
		}
		stay, up := t.promotion(from, to)
		if stay {
			add(t.play(from, rules.NoSquare, to, false))
		}
		if up {
			add(t.play(from, rules.NoSquare, to, true))
		}
	}
}

// doubles adds the moves of two steps, by their definition: every way of making them, results that are also plain moves
// included.
func (t *twin) doubles(from rules.Square, add func(*twin)) {
	c := t.cells[from]
	full := t.isLion(c)
	for _, v := range t.v.Vectors(c.Kind()) {
		if !v.Lion || v.Jump {
			continue
		}
		via := t.add(t.side, from, int(v.DX), int(v.DY))
		if via == rules.NoSquare || t.cells[via] != 0 && t.cells[via].Side() == t.side {
			continue
		}
		if t.isLion(t.cells[via]) && !t.mayTakeMiddle(from, via) {
			continue
		}
		for i, x := range t.cells {
			to := rules.Square(i)
			if t.distance(via, to) != 1 || to != from && x != 0 && x.Side() == t.side {
				continue
			}
			if !full && to != from && to != t.add(t.side, via, int(v.DX), int(v.DY)) {
				continue
			}
			if to == from && t.cells[via] == 0 && !full && t.info(c).Letter == "+D" && t.opts["eagle_pass"] == "no" {
				continue
			}
			if to != from && t.isLion(x) && !t.mayTakeLion(from, via, to) {
				continue
			}
			add(t.play(from, via, to, false))
		}
	}
}

// mayTakeMiddle tells whether the piece on from may take the lion on via as the first part of a double move.
func (t *twin) mayTakeMiddle(from, via rules.Square) bool {
	if !t.isLion(t.cells[from]) && t.opts["ban_mid_square"] == "no" {
		return true
	}
	return t.mayTakeLion(from, rules.NoSquare, via)
}

// mayTakeLion applies the rules on lions to the capture on x, after one on via if that is a square.
func (t *twin) mayTakeLion(from, via, x rules.Square) bool {
	foot := func() bool {
		n := t.play(from, via, x, false)
		if n.attacks(t.side.Other(), x) {
			return true
		}
		if via == rules.NoSquare || !t.isPawn(t.cells[via]) || t.opts["pawn_foot_persists"] == "no" {
			return false
		}
		n.cells[via] = t.cells[via]
		for _, q := range n.reaches(via) {
			if q == x {
				return true
			}
		}
		return false
	}
	if t.isLion(t.cells[from]) {
		if t.distance(from, x) == 1 && t.opts["lion_adjacent"] == "free" {
			return true
		}
		if via != rules.NoSquare && t.cells[via] != 0 && !t.isPawn(t.cells[via]) && t.opts["tsukegui"] == "yes" {
			return true
		}
		return !foot()
	}
	switch {
	case t.ban == rules.NoSquare, x == t.ban && t.opts["kirin_recapture"] == "yes":
		return true
	case t.opts["senjishi"] == "footed":
		return !foot()
	}
	return false
}

// promotion tells whether the piece may stay as it is and whether it may promote when it goes from from to to.
func (t *twin) promotion(from, to rules.Square) (stay, up bool) {
	c := t.cells[from]
	if t.info(c).Promotes == 0 {
		return true, false
	}
	inside, ends, takes := t.v.InZone(t.side, from), t.v.InZone(t.side, to), t.cells[to] != 0
	switch t.opts["promotion"] {
	case "": // the games with drops
		up = inside || ends
	case "zone_any":
		up = inside || ends
	case "entry_or_capture":
		up = !inside && ends || takes && (inside || ends)
	case "entry_only":
		up = !inside && ends
	case "one_move_wait":
		up = (inside || ends) && !t.marked[from]
	}
	if t.opts["promote_on_home_return"] == "yes" && t.marked[from] && t.v.InZone(t.side.Other(), to) {
		up = true
	}
	if t.v.Name() == "torishogi" {
		return !up, up
	}
	if t.stuck(c, to) {
		letter := t.info(c).Letter
		switch t.opts["last_rank"] {
		case "", "must":
			return false, true
		case "may":
			up = true
		case "pawn_may":
			up = up || letter == "P"
		}
	}
	return true, up
}

// stuck tells whether c could never move from sq.
func (t *twin) stuck(c rules.Piece, sq rules.Square) bool {
	for _, v := range t.v.Vectors(c.Kind()) {
		if t.add(c.Side(), sq, int(v.DX), int(v.DY)) != rules.NoSquare {
			return false
		}
	}
	return true
}

// drops adds the drops.
func (t *twin) drops(add func(*twin)) {
	limited, perFile := "P", 1
	if t.v.Name() == "torishogi" {
		limited, perFile = "S", 2
	}
	for _, k := range t.v.HandKinds() {
		if t.hand[t.side][k] == 0 {
			continue
		}
		c := rules.MakePiece(k, t.side)
		for i, x := range t.cells {
			to := rules.Square(i)
			if x != 0 || t.stuck(c, to) {
				continue
			}
			n := t.copy()
			n.cells[to] = c
			n.hand[t.side][k]--
			n.side = t.side.Other()
			n.ban = rules.NoSquare
			if t.info(c).Letter == limited && (t.onFile(c, to) >= perFile || n.mated()) {
				continue
			}
			add(n)
		}
	}
}

func (t *twin) onFile(c rules.Piece, sq rules.Square) int {
	n := 0
	for i := int(sq) % t.v.Width(); i < len(t.cells); i += t.v.Width() {
		if t.cells[i] == c {
			n++
		}
	}
	return n
}

// mated tells whether the side to move is in check and has no answer.
func (t *twin) mated() bool {
	if !t.royalAttacked(t.side) {
		return false
	}
	c := t.copy()
	if t.opts["end"] == "royal_capture" {
		c.opts = map[string]string{"end": "mate"}
	}
	return len(c.results()) == 0
}
