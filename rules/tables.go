package rules

import (
	"math/bits"
	"strconv"
	"strings"
)

// boardRow is a table by square.
type boardRow [maxSquares]set

// tables holds what Load computes from a game's description.
type tables struct {
	n         int
	kinds     []KindInfo // by Kind, 0 unused
	vectors   [][]Vector
	mirror    []Kind
	handKinds []Kind
	total     []uint8 // by Kind: pieces of it at the start, both sides, counted unpromoted

	base        []Kind // by Kind: the unpromoted kind
	taken       []Kind // by Kind: the kind that a captured piece is in hand, NoKind if it leaves the game
	hasHands    bool   // captured pieces change sides
	flagged     bool   // promotion rules remember something about pieces
	pawnLimit   uint8  // own pieces of the limited kind allowed on a file
	squareText  []string
	pieceText   []string // by piece, in SFEN
	pieceByText map[string]Piece

	zone     [2]set
	home     [2]set // the ranks of the opponent's zone
	farthest [2]set // the last rank
	board    set
	full     []set                 // by set of files (bit = column): the squares on them
	ring1    boardRow              // by square: the adjacent squares
	ring2    boardRow              // by square: the squares at distance two
	queen    boardRow              // by square: all squares in the eight directions
	ray      [maxSquares][8]set    // by square and direction
	next     [8][maxSquares]Square // by direction and square: the adjacent square, NoSquare at the edge
	column   [256]uint8
	dir      [maxSquares][maxSquares]uint8 // [from][to]: the direction from one square to another, noDir if none
	step     []boardRow                    // by piece and square: steps, jumps and lion power's single moves

	slides  [256]dirs // by piece
	twos    [256]dirs // by piece
	near    [256]dirs // by piece: directions in which it attacks the adjacent square
	lions   [256]dirs // by piece: directions of lion power
	class   [256]class
	dead    boardRow // by piece: squares where it could never move again
	must    boardRow // by piece: squares where it has to promote
	last    boardRow // by piece: squares where a quiet move inside the zone may promote
	promote [256]Piece
	points  [256]uint8 // by piece

	zobrist     [][maxSquares]uint64 // by piece and square
	zobristHand []uint64             // [piece*32+count]
	zobristSide uint64
	zobristBan  []uint64 // by square
	zobristFlag []uint64 // by square
}

// class says what a piece is; the bits are the ones by which a Position keeps sets of its pieces.
type class uint8

const (
	classRoyal   class = 1 << iota
	classRanged        // slides in some direction, or moves two squares
	classJumper        // attacks a square at distance two over anything
	classLimited       // the kind with a limit of drops a file
	classLion          // full lion
	classDouble        // lion power in some direction
	classPawn          // chu: pawn or go-between, unpromoted
	classKirin         // chu: promotes to a lion
)

const noDir = 255

var dirOffsets = [8]offset{{0, -1}, {1, -1}, {1, 0}, {1, 1}, {0, 1}, {-1, 1}, {-1, 0}, {-1, -1}}

// turned returns the directions as the side sees them.
func (d dirs) turned(s Side) dirs {
	if s == Gote {
		return dirs(bits.RotateLeft8(uint8(d), 4))
	}
	return d
}

func (o offset) turned(s Side) offset {
	if s == Gote {
		return offset{-o.dx, -o.dy}
	}
	return o
}

// at returns the square at offset o from sq.
func (t *tables) at(g *game, sq Square, o offset) (Square, bool) {
	x, y := int(sq)%g.width+o.dx, int(sq)/g.width+o.dy
	if x < 0 || x >= g.width || y < 0 || y >= g.height {
		return NoSquare, false
	}
	return Square(y*g.width + x), true
}

// build fills t, which is zero.
func (t *tables) build(g *game, r *rule) {
	t.n, t.hasHands, t.pawnLimit = g.width*g.height, g.hand != "", uint8(g.pawnLimit)
	t.flagged = r.homeReturn || r.promotion == promoteOneMove
	t.buildKinds(g)
	t.buildBoard(g)
	t.buildPieces(g, r)
	t.buildZobrist()
}

func (t *tables) buildKinds(g *game) {
	t.kinds = make([]KindInfo, len(g.kinds)+1)
	t.vectors = make([][]Vector, len(t.kinds))
	t.mirror = make([]Kind, len(t.kinds))
	t.total = make([]uint8, len(t.kinds))
	byLetter := map[string]Kind{}
	for i, d := range g.kinds {
		k := Kind(i + 1)
		byLetter[d.letter] = k
		t.kinds[k] = KindInfo{Letter: d.letter, Kanji: d.kanji, Kanji2: d.kanji2, English: d.english, Royal: d.royal, Lion: d.move.full,
			Droppable: strings.Contains(g.hand, d.letter)}
		t.vectors[k] = vectorsOf(&d.move)
	}
	t.base, t.taken = make([]Kind, len(t.kinds)), make([]Kind, len(t.kinds))
	t.pieceText = make([]string, 2*len(t.kinds))
	t.pieceByText = map[string]Piece{}
	for k := 1; k < len(t.kinds); k++ {
		letter := t.kinds[k].Letter
		if p := byLetter["+"+letter]; p != 0 {
			t.kinds[k].Promotes, t.kinds[p].Demotes = p, Kind(k)
		}
		t.base[k] = Kind(k)
		if d := t.kinds[k].Demotes; d != 0 {
			t.base[k] = d
		}
		if t.kinds[t.base[k]].Droppable {
			t.taken[k] = t.base[k]
		}
		for _, s := range []Side{Sente, Gote} {
			text, p := letter, MakePiece(Kind(k), s)
			if s == Gote {
				text = strings.ToLower(letter)
			}
			t.pieceText[p], t.pieceByText[text] = text, p
		}
		t.mirror[k] = Kind(k)
		if m, ok := g.mirror[letter]; ok {
			t.mirror[k] = byLetter[m]
		}
	}
	for i := range g.hand {
		t.handKinds = append(t.handKinds, byLetter[g.hand[i:i+1]])
	}
	board, _, _ := strings.Cut(g.starts[0].SFEN, " ")
	for i := range board {
		if k := byLetter[strings.ToUpper(board[i:i+1])]; k != 0 {
			t.total[k]++
		}
	}
}

func vectorsOf(m *movement) []Vector {
	var out []Vector
	for d, o := range dirOffsets {
		bit := dirs(1) << d
		dx, dy := int8(o.dx), int8(o.dy)
		switch {
		case m.slide&bit != 0:
			out = append(out, Vector{DX: dx, DY: dy, Max: 255})
		case m.two&bit != 0:
			out = append(out, Vector{DX: dx, DY: dy, Max: 2})
		case m.step&bit != 0:
			out = append(out, Vector{DX: dx, DY: dy, Max: 1})
		case m.lion&bit != 0:
			out = append(out, Vector{DX: dx, DY: dy, Max: 1, Lion: true})
			if !m.full {
				out = append(out, Vector{DX: 2 * dx, DY: 2 * dy, Max: 1, Jump: true, Lion: true})
			}
		}
	}
	for _, o := range m.jump {
		out = append(out, Vector{DX: int8(o.dx), DY: int8(o.dy), Max: 1, Jump: true})
	}
	if m.full {
		for _, o := range lionLeaps {
			out = append(out, Vector{DX: int8(o.dx), DY: int8(o.dy), Max: 1, Jump: true, Lion: true})
		}
	}
	return out
}

// lionLeaps are the 16 offsets at distance two.
var lionLeaps = func() []offset {
	var out []offset
	for dy := -2; dy <= 2; dy++ {
		for dx := -2; dx <= 2; dx++ {
			if max(dx, -dx, dy, -dy) == 2 {
				out = append(out, offset{dx, dy})
			}
		}
	}
	return out
}()

func (t *tables) buildBoard(g *game) {
	n := t.n
	for i := range t.dir {
		for j := range t.dir[i] {
			t.dir[i][j] = noDir
		}
	}
	t.squareText = make([]string, n)
	for i := range n {
		sq := Square(i)
		t.board = t.board.or(single(sq))
		row, col := i/g.width, i%g.width
		t.column[i] = uint8(col)
		t.squareText[i] = strconv.Itoa(g.width-col) + string(rune('a'+row))
		if row == 0 {
			t.farthest[Sente] = t.farthest[Sente].or(single(sq))
		}
		if row == g.height-1 {
			t.farthest[Gote] = t.farthest[Gote].or(single(sq))
		}
		if row < g.zoneRanks {
			t.zone[Sente] = t.zone[Sente].or(single(sq))
		}
		if row >= g.height-g.zoneRanks {
			t.zone[Gote] = t.zone[Gote].or(single(sq))
		}
		for d, o := range dirOffsets {
			for q, ok := t.at(g, sq, o); ok; q, ok = t.at(g, q, o) {
				t.ray[i][d] = t.ray[i][d].or(single(q))
				t.dir[i][q] = uint8(d)
			}
			t.queen[i] = t.queen[i].or(t.ray[i][d])
			t.next[d][i] = NoSquare
			if q, ok := t.at(g, sq, o); ok {
				t.next[d][i] = q
				t.ring1[i] = t.ring1[i].or(single(q))
			}
		}
		for _, o := range lionLeaps {
			if q, ok := t.at(g, sq, o); ok {
				t.ring2[i] = t.ring2[i].or(single(q))
			}
		}
	}
	t.home = [2]set{t.zone[Gote], t.zone[Sente]}
	t.full = make([]set, 1<<g.width)
	for m := range t.full {
		for i := range n {
			if m>>(i%g.width)&1 != 0 {
				t.full[m] = t.full[m].or(single(Square(i)))
			}
		}
	}
}

func (t *tables) buildPieces(g *game, r *rule) {
	pieces := 2 * len(t.kinds)
	t.step = make([]boardRow, pieces)
	for i := range g.kinds {
		d, k := &g.kinds[i], Kind(i+1)
		for _, s := range []Side{Sente, Gote} {
			p := MakePiece(k, s)
			m := &d.move
			t.slides[p], t.twos[p], t.lions[p] = m.slide.turned(s), m.two.turned(s), m.lion.turned(s)
			t.near[p] = (m.step | m.slide | m.two | m.lion).turned(s)
			t.points[p] = uint8(d.points)
			if up := t.kinds[k].Promotes; up != 0 {
				t.promote[p] = MakePiece(up, s)
			}
			t.class[p] = t.classOf(d, k, len(g.hand) == 0)
			for sq := range t.n {
				t.step[p][sq] = t.stepsFrom(g, m, s, Square(sq))
				any := t.step[p][sq]
				for dir := range 8 {
					if (t.slides[p]|t.twos[p])>>dir&1 != 0 {
						any = any.or(t.ray[sq][dir])
					}
				}
				if any.empty() {
					t.dead[p] = t.dead[p].or(single(Square(sq)))
				}
			}
			t.buildLastRank(d, r, p)
		}
	}
}

// buildLastRank fills must and last: what a piece may or has to do on squares from which it could not move.
func (t *tables) buildLastRank(d *kindDef, r *rule, p Piece) {
	if t.promote[p] == NoPiece || t.dead[p].empty() {
		return
	}
	rule := r.pawnLast
	if d.move.slide != 0 {
		rule = r.lanceLast
	}
	switch rule {
	case lastMust:
		t.must[p], t.last[p] = t.dead[p], t.dead[p]
	case lastMay:
		t.last[p] = t.dead[p]
	}
}

func (t *tables) classOf(d *kindDef, k Kind, noDrops bool) class {
	var c class
	m := &d.move
	if d.royal {
		c |= classRoyal
	}
	if m.slide|m.two != 0 {
		c |= classRanged
	}
	if len(m.jump) > 0 || m.lion != 0 {
		c |= classJumper
	}
	if d.limited {
		c |= classLimited
	}
	if m.full {
		c |= classLion
	}
	if m.lion != 0 {
		c |= classDouble
	}
	if noDrops && m.slide == 0 && (m.step == dN || m.step == dN|dS) {
		c |= classPawn
	}
	if up := t.kinds[k].Promotes; up != 0 && t.kinds[up].Lion {
		c |= classKirin
	}
	return c
}

// stepsFrom returns the squares that a piece reaches from sq whatever stands between.
func (t *tables) stepsFrom(g *game, m *movement, s Side, sq Square) set {
	var out set
	add := func(o offset) {
		if q, ok := t.at(g, sq, o.turned(s)); ok {
			out = out.or(single(q))
		}
	}
	for d, o := range dirOffsets {
		if (m.step|m.lion)>>d&1 != 0 {
			add(o)
		}
		if m.lion>>d&1 != 0 {
			add(offset{2 * o.dx, 2 * o.dy})
		}
	}
	for _, o := range m.jump {
		add(o)
	}
	if m.full {
		for _, o := range lionLeaps {
			add(o)
		}
	}
	return out
}

const maxHand = 32

func (t *tables) buildZobrist() {
	state := uint64(0x6b6972696e)
	next := func() uint64 { // splitmix64
		state += 0x9e3779b97f4a7c15
		z := state
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return z ^ z>>31
	}
	fill := func(n int) []uint64 {
		out := make([]uint64, n)
		for i := range out {
			out[i] = next()
		}
		return out
	}
	pieces := 2 * len(t.kinds)
	t.zobrist = make([][maxSquares]uint64, pieces)
	for p := 2; p < pieces; p++ {
		copy(t.zobrist[p][:], fill(t.n))
	}
	t.zobristHand = fill(pieces * maxHand)
	for p := range pieces {
		t.zobristHand[p*maxHand] = 0
	}
	t.zobristSide = next()
	t.zobristBan, t.zobristFlag = fill(t.n), fill(t.n)
}
