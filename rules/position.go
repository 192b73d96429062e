package rules

// handSlots bounds the kinds that can be in hand: their Kind is below it.
const handSlots = 16

// seenSlots is the number of counters that tell whether a key can have occurred before.
const seenSlots = 4096

// Position is a game in progress: the board, the hands and everything that has happened since the start SFEN.
type Position struct {
	v           *Variant
	side        Side
	first       Side
	startNumber int
	odd         bool // the start SFEN lets the side to move attack the king

	occ     [2]set // by side: its pieces
	royals  [2]set
	ranged  [2]set
	jumpers [2]set
	lions   [2]set
	doubles [2]set

	hand       [2][handSlots]uint8
	handPieces [2]uint8
	fileCount  [2][16]uint8 // own pieces of the limited kind by column
	fullFiles  [2]uint16    // columns on which that kind may not be dropped
	board      [maxSquares]Piece

	st   state
	hist []undo
	keys []uint64 // of every earlier position
	// scratch is the move buffer of Outcome, empty between calls.
	scratch []Move
	// seen counts the positions of this game, the current one included, by the low bits of their keys; repeats counts those
	// that were not the first occurrence.
	seen    [seenSlots]uint8
	repeats int
}

// state is what a move changes besides the pieces.
type state struct {
	key         uint64
	checkers    set // pieces that attack the royal of the side to move (with several royals: any of them)
	pinned      set // own pieces that may only move on the line with their king
	flags       set // pieces marked by promotion rules that remember
	occurrences uint16
	checkRun    [2]uint16
	attackRun   [2]uint16
	barred      uint64 // over the keys of the positions that may not be made again, where the rules say so
	ban         Square
}

// undo is what Undo needs.
type undo struct {
	state
	move     Move
	moved    Piece // before promotion; the dropped piece
	captured Piece
	mid      Piece // captured on Via
}

// Variant returns the game with its options.
func (p *Position) Variant() *Variant { return p.v }

// Side returns the side to move.
func (p *Position) Side() Side { return p.side }

// FirstPlayer returns the side that was to move at the start: gote in handicap games.
func (p *Position) FirstPlayer() Side { return p.first }

// Ply returns the number of plies played since the start SFEN.
func (p *Position) Ply() int { return len(p.hist) }

// MoveNumber returns the SFEN's move number.
func (p *Position) MoveNumber() int { return p.startNumber + len(p.hist) }

// At returns the piece on sq.
func (p *Position) At(sq Square) Piece { return p.board[sq] }

// Hand returns how many pieces of kind k side holds.
func (p *Position) Hand(side Side, k Kind) int {
	if k >= handSlots {
		return 0
	}
	return int(p.hand[side][k])
}

// AppendRoyals appends the squares of side's royal pieces, lowest first.
func (p *Position) AppendRoyals(dst []Square, side Side) []Square {
	for x := p.royals[side]; !x.empty(); x = x.rest() {
		dst = append(dst, x.first())
	}
	return dst
}

// LastMove returns the move that led here, NoMove at the start.
func (p *Position) LastMove() Move { return p.MoveAt(len(p.hist) - 1) }

// MoveAt returns the move of the given ply, counted from 0 at the start SFEN, NoMove if there is none.
func (p *Position) MoveAt(ply int) Move {
	if ply < 0 || ply >= len(p.hist) {
		return NoMove
	}
	return p.hist[ply].move
}

// InCheck tells whether a royal of the side to move is attacked.
func (p *Position) InCheck() bool { return !p.st.checkers.empty() }

// BanSquare returns, in chu shogi, the square on which a piece that is no lion has just taken a lion, so that lions are
// protected from pieces that are no lions for one move; else NoSquare.
func (p *Position) BanSquare() Square { return p.st.ban }

// Key identifies the position for the repetition rule: board, hands, side to move, ban square and marks of pieces.
func (p *Position) Key() uint64 { return p.st.key }

// Occurrences tells how often this position has occurred in the game, now included.
func (p *Position) Occurrences() int { return int(p.st.occurrences) }

// CheckRun returns how many of side's last moves in a row all gave check.
func (p *Position) CheckRun(side Side) int { return int(p.st.checkRun[side]) }

// CacheKey identifies what the value and the legal moves depend on: Key, occurrences, first player, the runs of checks, the
// positions that may not be made again and, where there is a ply limit, the plies played. Caches and transposition tables
// must use it.
func (p *Position) CacheKey() uint64 {
	s := &p.st
	x := uint64(s.occurrences) | uint64(p.first)<<8 | uint64(s.checkRun[0])<<16 | uint64(s.checkRun[1])<<32
	if s.occurrences == 1 && s.checkRun[0]|s.checkRun[1] == 0 {
		x = uint64(p.first) << 8
	}
	y := uint64(s.attackRun[0]) | uint64(s.attackRun[1])<<16
	if p.v.rule.maxPlies > 0 {
		y |= uint64(len(p.hist)) << 32
	}
	return mix(mix(s.key+x)+y) ^ s.barred
}

// AddMoves adds a list of moves to a key: what an evaluator answers depends on the moves asked for as well.
func AddMoves(key uint64, moves []Move) uint64 {
	for _, m := range moves {
		key = (key ^ uint64(m)) * 0x9e3779b97f4a7c15
		key ^= key >> 29
	}
	return key
}

// mix is the finaliser of splitmix64.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// CopyFrom makes p a copy of q with its history. It allocates only while p's history is shorter than q's.
func (p *Position) CopyFrom(q *Position) {
	hist, keys, scratch := p.hist, p.keys, p.scratch
	*p = *q
	p.scratch = scratch
	p.hist = append(hist[:0], q.hist...)
	p.keys = append(keys[:0], q.keys...)
}

// Clone returns a copy with its history.
func (p *Position) Clone() *Position {
	c := newPosition(p.v)
	c.CopyFrom(p)
	return c
}

// historyHint is the number of plies that a new position has room for.
const historyHint = 256

// scratchHint is the number of moves that Outcome has room for at first.
const scratchHint = 256

func newPosition(v *Variant) *Position {
	return &Position{v: v, st: state{ban: NoSquare}, hist: make([]undo, 0, historyHint), keys: make([]uint64, 0, historyHint),
		scratch: make([]Move, 0, scratchHint)}
}

// put places pc on the empty square sq.
func (p *Position) put(pc Piece, sq Square) {
	t := &p.v.tables
	b := single(sq)
	s := pc.Side()
	p.board[sq] = pc
	p.occ[s] = p.occ[s].or(b)
	p.st.key ^= t.zobrist[pc][sq]
	if c := t.class[pc]; c != 0 {
		p.putClass(c, s, sq, b)
	}
}

func (p *Position) putClass(c class, s Side, sq Square, b set) {
	if c&classRanged != 0 {
		p.ranged[s] = p.ranged[s].or(b)
	}
	if c&classLimited != 0 {
		col := p.v.column[sq]
		p.fileCount[s][col]++
		if p.fileCount[s][col] >= p.v.pawnLimit {
			p.fullFiles[s] |= 1 << col
		}
	}
	if c&(classJumper|classRoyal) == 0 {
		return
	}
	if c&classRoyal != 0 {
		p.royals[s] = p.royals[s].or(b)
	}
	if c&classJumper != 0 {
		p.jumpers[s] = p.jumpers[s].or(b)
	}
	if c&classLion != 0 {
		p.lions[s] = p.lions[s].or(b)
	}
	if c&classDouble != 0 {
		p.doubles[s] = p.doubles[s].or(b)
	}
}

// take removes pc from sq.
func (p *Position) take(pc Piece, sq Square) {
	t := &p.v.tables
	b := single(sq)
	s := pc.Side()
	p.board[sq] = NoPiece
	p.occ[s] = p.occ[s].andNot(b)
	p.st.key ^= t.zobrist[pc][sq]
	if c := t.class[pc]; c != 0 {
		p.takeClass(c, s, sq, b)
	}
}

func (p *Position) takeClass(c class, s Side, sq Square, b set) {
	if c&classRanged != 0 {
		p.ranged[s] = p.ranged[s].andNot(b)
	}
	if c&classLimited != 0 {
		col := p.v.column[sq]
		p.fileCount[s][col]--
		if p.fileCount[s][col] < p.v.pawnLimit {
			p.fullFiles[s] &^= 1 << col
		}
	}
	if c&(classJumper|classRoyal) == 0 {
		return
	}
	if c&classRoyal != 0 {
		p.royals[s] = p.royals[s].andNot(b)
	}
	if c&classJumper != 0 {
		p.jumpers[s] = p.jumpers[s].andNot(b)
	}
	if c&classLion != 0 {
		p.lions[s] = p.lions[s].andNot(b)
	}
	if c&classDouble != 0 {
		p.doubles[s] = p.doubles[s].andNot(b)
	}
}

// addHand changes the number of pieces of kind k in side's hand by one.
func (p *Position) addHand(s Side, k Kind) {
	t := &p.v.tables
	n := p.hand[s][k&(handSlots-1)]
	i := int(MakePiece(k, s))*maxHand + int(n)
	p.st.key ^= t.zobristHand[i] ^ t.zobristHand[i+1]
	p.hand[s][k&(handSlots-1)] = n + 1
	p.handPieces[s]++
}

func (p *Position) dropHand(s Side, k Kind) {
	t := &p.v.tables
	n := p.hand[s][k&(handSlots-1)]
	i := int(MakePiece(k, s))*maxHand + int(n)
	p.st.key ^= t.zobristHand[i] ^ t.zobristHand[i-1]
	p.hand[s][k&(handSlots-1)] = n - 1
	p.handPieces[s]--
}
