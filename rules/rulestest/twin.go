package rulestest

import (
	"slices"
	"strings"

	"kirin/rules"
)

// A slow, plain second implementation of the rules of movement, for comparison with package rules. It knows the pieces by
// Variant.Vectors and the options by Variant.Options only, walks square by square on a board of its own and tries each move
// out. Moves are compared by what they lead to.

// twin is a position of the second implementation.
type twin struct {
	v      *rules.Variant
	cells  []rules.Piece
	hand   [2]map[rules.Kind]int
	side   rules.Side
	ban    rules.Square
	marked map[rules.Square]bool
	opts   map[string]string
}

// newTwin copies p's board.
func newTwin(p *rules.Position) *twin {
	v := p.Variant()
	t := &twin{v: v, cells: make([]rules.Piece, v.Squares()), side: p.Side(), ban: p.BanSquare(), marked: map[rules.Square]bool{},
		opts: map[string]string{}}
	for i := range t.cells {
		t.cells[i] = p.At(rules.Square(i))
	}
	for s := range t.hand {
		t.hand[s] = map[rules.Kind]int{}
		for _, k := range v.HandKinds() {
			t.hand[s][k] = p.Hand(rules.Side(s), k)
		}
	}
	for _, o := range v.Options() {
		t.opts[o.Name] = o.Value
	}
	if _, marks, ok := strings.Cut(strings.Split(p.SFEN(), " ")[2], "!"); ok {
		for _, m := range strings.Split(marks, ",") {
			sq, err := v.ParseSquare(m)
			if err != nil {
				panic(err)
			}
			t.marked[sq] = true
		}
	}
	return t
}

func (t *twin) copy() *twin {
	c := *t
	c.cells = slices.Clone(t.cells)
	for s := range c.hand {
		c.hand[s] = map[rules.Kind]int{}
		for k, n := range t.hand[s] {
			c.hand[s][k] = n
		}
	}
	return &c
}

// text is the board, the hands and the ban square: what a move leads to.
func (t *twin) text() string {
	var b strings.Builder
	for _, c := range t.cells {
		b.WriteByte(byte('0' + c))
	}
	for s := range t.hand {
		for _, k := range t.v.HandKinds() {
			b.WriteByte(byte('0' + t.hand[s][k]))
		}
	}
	b.WriteString(t.v.SquareString(t.ban))
	return b.String()
}

func (t *twin) info(c rules.Piece) *rules.KindInfo { return t.v.Info(c.Kind()) }
func (t *twin) isLion(c rules.Piece) bool          { return c != 0 && t.info(c).Lion }

// isPawn: an unpromoted pawn or go-between of chu shogi, which give no bridge capture.
func (t *twin) isPawn(c rules.Piece) bool {
	return c != 0 && len(t.v.HandKinds()) == 0 && (t.info(c).Letter == "P" || t.info(c).Letter == "I")
}

// add returns the square at (dx, dy) from sq as side sees it.
func (t *twin) add(side rules.Side, sq rules.Square, dx, dy int) rules.Square {
	if side == rules.Gote {
		dx, dy = -dx, -dy
	}
	w := t.v.Width()
	x, y := int(sq)%w+dx, int(sq)/w+dy
	if x < 0 || y < 0 || x >= w || y >= t.v.Height() {
		return rules.NoSquare
	}
	return rules.Square(y*w + x)
}

func (t *twin) distance(a, b rules.Square) int {
	w := t.v.Width()
	dx, dy := int(a)%w-int(b)%w, int(a)/w-int(b)/w
	return max(dx, -dx, dy, -dy)
}

// reaches returns the squares to which the piece on from can go in one step, slide or leap, own pieces as targets included.
func (t *twin) reaches(from rules.Square) []rules.Square {
	c := t.cells[from]
	var out []rules.Square
	for _, v := range t.v.Vectors(c.Kind()) {
		sq := from
		for i := 0; i < int(v.Max); i++ {
			sq = t.add(c.Side(), sq, int(v.DX), int(v.DY))
			if sq == rules.NoSquare {
				break
			}
			if v.Lion && v.Jump && t.info(c).Lion && t.opts["lion_jump"] == "pawns_block" && !t.leaps(from, sq) {
				break
			}
			out = append(out, sq)
			if t.cells[sq] != 0 {
				break
			}
		}
	}
	return out
}

// leaps tells whether a lion may go from a to b at distance two without a capture on the way where pawns block leaps.
func (t *twin) leaps(a, b rules.Square) bool {
	w := t.v.Width()
	straight := (int(a)+int(b))%2 == 0 && (int(a)%w-int(b)%w)%2 == 0 && (int(a)/w-int(b)/w)%2 == 0
	blocked := true
	for i := range t.cells {
		m := rules.Square(i)
		if t.distance(a, m) != 1 || t.distance(m, b) != 1 {
			continue
		}
		if t.cells[m] == 0 {
			return true
		}
		middle := !straight || 2*(i%w) == int(a)%w+int(b)%w && 2*(i/w) == int(a)/w+int(b)/w
		if middle && !t.isPawn(t.cells[m]) {
			blocked = false
		}
	}
	return !blocked
}

// attacks tells whether a piece of side can go to sq; a lion also by two steps.
func (t *twin) attacks(side rules.Side, sq rules.Square) bool {
	for i, c := range t.cells {
		if c == 0 || c.Side() != side || rules.Square(i) == sq {
			continue
		}
		if slices.Contains(t.reaches(rules.Square(i)), sq) {
			return true
		}
		if t.isLion(c) && t.distance(rules.Square(i), sq) == 2 {
			for j, m := range t.cells {
				q := rules.Square(j)
				if m != 0 && m.Side() != side && t.distance(rules.Square(i), q) == 1 && t.distance(q, sq) == 1 {
					return true
				}
			}
		}
	}
	return false
}

// royalAttacked tells whether side has a royal that the opponent can take.
func (t *twin) royalAttacked(side rules.Side) bool {
	for i, c := range t.cells {
		if c != 0 && c.Side() == side && t.info(c).Royal && t.attacks(side.Other(), rules.Square(i)) {
			return true
		}
	}
	return false
}

// play returns the position after a move; via is NoSquare for a plain one.
func (t *twin) play(from, via, to rules.Square, promote bool) *twin {
	n := t.copy()
	n.side = t.side.Other()
	n.ban = rules.NoSquare
	c := t.cells[from]
	for _, sq := range []rules.Square{via, to} {
		if sq == rules.NoSquare || sq == from || n.cells[sq] == 0 {
			continue
		}
		x := n.cells[sq]
		n.cells[sq] = 0
		k := x.Kind()
		if d := t.info(x).Demotes; d != 0 {
			k = d
		}
		if len(t.v.HandKinds()) > 0 {
			n.hand[t.side][k]++
		}
		if t.isLion(x) && !t.isLion(c) && t.opts["senjishi"] != "none" {
			n.ban = sq
		}
	}
	n.cells[from] = 0
	if promote {
		c = rules.MakePiece(t.info(c).Promotes, c.Side())
	}
	n.cells[to] = c
	return n
}
