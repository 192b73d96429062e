package rules

// Outcome returns how the game stands. nMoves is the number of legal moves, len(AppendMoves(...)), so that they are made
// once only.
func (p *Position) Outcome(nMoves int) Outcome {
	r := &p.v.rule
	own, opp := p.side, p.side.Other()
	if !r.mateEnds && p.royals[own].empty() != p.royals[opp].empty() {
		if p.royals[own].empty() {
			return Outcome{Winner(opp), RoyalCaptured}
		}
		return Outcome{Winner(own), RoyalCaptured}
	}
	if nMoves == 0 {
		return Outcome{Winner(opp), p.noMovesReason()}
	}
	if r.mateOrCapture && p.isMated() {
		return Outcome{Winner(opp), Checkmate}
	}
	if p.st.occurrences >= 4 {
		if o := p.repetitionOutcome(); o.Result != Ongoing {
			return o
		}
	}
	if r.nyugyoku != 0 {
		if o := p.autoDeclaration(); o.Result != Ongoing {
			return o
		}
	}
	if r.bareKing != "" && r.bareKing != "off" {
		if o := p.bareKing(); o.Result != Ongoing {
			return o
		}
	}
	if r.maxPlies > 0 && len(p.hist) >= r.maxPlies {
		return p.limitOutcome()
	}
	return Outcome{}
}

func (p *Position) noMovesReason() Reason {
	switch {
	case p.InCheck() && p.v.rule.mateEnds:
		return Checkmate
	case p.v.rule.repetition.limit() > 0 && p.CountMoves() > 0:
		return Repetition
	}
	return NoMoves
}

// repetitionOutcome applies the repetition rule to a position that has occurred four times.
func (p *Position) repetitionOutcome() Outcome {
	first := len(p.keys) - 2
	for i := first; i >= 0; i -= 2 {
		if p.keys[i] == p.st.key {
			first = i
		}
	}
	moves := uint16((len(p.keys) - first) / 2)
	rule := p.v.rule.repetition
	run := &p.st.checkRun
	switch rule {
	case repDraw, repFirstPlayerLoses, repAttackDraw:
		if o := loserByRun(run, moves); o.Result != Ongoing {
			return Outcome{o.Result, PerpetualCheck}
		}
	}
	switch rule {
	case repFirstPlayerLoses:
		return Outcome{Winner(p.first.Other()), Repetition}
	case repMoverLoses:
		return Outcome{Winner(p.side), Repetition}
	case repThirdIllegal, repNone:
		return Outcome{}
	case repAttackDraw:
		if o := loserByRun(&p.st.attackRun, moves); o.Result != Ongoing {
			return o
		}
	}
	return Outcome{Draw, Repetition}
}

// loserByRun returns the loss of the one side whose run covers that many moves, if it is one side only.
func loserByRun(run *[2]uint16, moves uint16) Outcome {
	sente, gote := run[Sente] >= moves, run[Gote] >= moves
	switch {
	case sente == gote:
		return Outcome{}
	case sente:
		return Outcome{GoteWins, Repetition}
	}
	return Outcome{SenteWins, Repetition}
}

// entered tells whether side's king stands in its promotion zone.
func (p *Position) entered(side Side) bool {
	return !p.royals[side].and(p.v.zone[side]).empty()
}

// Points returns side's points by the 24 point rule: rooks and bishops, promoted or not, 5, other pieces 1, the king none,
// on the whole board and in hand.
func (p *Position) Points(side Side) int {
	n := 0
	for x := p.occ[side]; !x.empty(); x = x.rest() {
		n += int(p.v.points[p.board[x.first()]])
	}
	return n + p.handPoints(side)
}

func (p *Position) handPoints(side Side) int {
	n := 0
	for _, k := range p.v.handKinds {
		n += int(p.hand[side][k]) * int(p.v.points[MakePiece(k, side)])
	}
	return n
}

// Declare returns what a declaration (nyugyoku) by the side to move gives, and whether it is allowed at all.
func (p *Position) Declare() (Outcome, bool) {
	if p.InCheck() || !p.entered(p.side) {
		return Outcome{}, false
	}
	switch p.v.rule.nyugyoku {
	case 24:
		if !p.entered(p.side.Other()) {
			return Outcome{}, false
		}
		return p.pointsOutcome(Declaration), true
	case 27:
		if p.declares27() {
			return Outcome{Winner(p.side), Declaration}, true
		}
		return Outcome{Winner(p.side.Other()), Declaration}, true
	}
	return Outcome{}, false
}

// pointsOutcome gives the game to the side that alone has 24 points; the side to move loses if neither has.
func (p *Position) pointsOutcome(reason Reason) Outcome {
	sente, gote := p.Points(Sente) >= 24, p.Points(Gote) >= 24
	switch {
	case sente == gote:
		return Outcome{Draw, reason}
	case sente:
		return Outcome{SenteWins, reason}
	}
	return Outcome{GoteWins, reason}
}

// declares27 tells whether the side to move has what the 27 point rule asks for: ten pieces besides the king in the zone,
// and 28 points (gote: 27) there and in hand.
func (p *Position) declares27() bool {
	points, pieces := p.handPoints(p.side), 0
	for x := p.occ[p.side].and(p.v.zone[p.side]).andNot(p.royals[p.side]); !x.empty(); x = x.rest() {
		points += int(p.v.points[p.board[x.first()]])
		pieces++
	}
	return pieces >= 10 && points >= 28-int(p.side)
}

// autoDeclaration makes the declaration for the side to move where the options ask for it.
func (p *Position) autoDeclaration() Outcome {
	auto := p.v.rule.nyugyokuAuto
	if auto == "off" || !p.entered(p.side) {
		return Outcome{}
	}
	o, ok := p.Declare()
	if ok && (o.Result == Winner(p.side) || o.Result == Draw && auto == "win_or_draw") {
		return o
	}
	return Outcome{}
}

// limitOutcome is the result at the ply limit.
func (p *Position) limitOutcome() Outcome {
	if p.v.rule.nyugyokuAuto != "" && p.entered(Sente) && p.entered(Gote) {
		return p.pointsOutcome(PlyLimit)
	}
	return Outcome{Draw, PlyLimit}
}
