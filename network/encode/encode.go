// Package encode turns positions into the input planes of a net, and moves
// into policy indices. Everything is seen by the side to move: for gote the
// board is turned by 180 degrees, "own" pieces are gote's and "forward" is
// gote's forward.
//
// # Planes
//
// One float32 for each square and plane, squares first ([rank][file][plane];
// rank 0 is the far side, file 0 the mover's left). For each kind of piece of
// the game one plane of own and one of enemy pieces; then what the board does
// not show: pieces in hand, how often the position has occurred, checks given
// in a row, the plies left to the limit, who moved first: whatever decides the
// result is visible. [Encoder.PlaneNames] lists them in their order;
// docs/nets.md explains each.
//
// # Policy
//
// A move's index is square*PolicyPlanes + plane. The square is the one the
// piece leaves (for a drop: the one it lands on); the plane says where it goes.
// The planes are derived from the move tables of the game: one for each
// displacement that some piece can make, one for each displacement of a piece
// that can promote, done with promotion, one for each kind that can be
// dropped; and, where lions are, one for each pair of king steps of a double
// move and one for the pass. Shogi has 64+2, the same promoting, and 7 drops:
// the 139 planes of AlphaZero (Silver et al., "A general reinforcement
// learning algorithm that masters chess, shogi, and Go through self-play",
// 2018, table S2).
//
// An index is never decoded during play: the search asks for the index of
// each legal move, and no two legal moves of a position share one.
//
// An Encoder is immutable and may be shared; nothing allocates after New.
package encode

import (
	"fmt"
	"io"
	"strings"

	"kirin/rules"
)

// Name of the planes that this package makes. Weights carry it; planes that
// mean something else get another name.
const Name = "planes-1"

const (
	// PliesRange is how many plies before the limit the input begins to show it.
	PliesRange = 64
	// CheckRange is the number of checks in a row at which that input is 1.
	CheckRange = 8
	// thermometer is the number of planes "at least n in hand" of a kind.
	thermometer = 2
)

// Encoder encodes positions of one variant.
type Encoder struct {
	v       *rules.Variant
	h, w, n int
	kinds   int // kinds of piece, promoted ones counted
	planes  int
	ban     int // plane of the ban square, -1 if the game has none
	global  int // first of the planes that are the same on all squares
	hands   []hand
	names   []string

	policy  int       // planes of the policy
	plain   []int16   // [from*n+to], mover's view: plane, or -1
	promo   []int16   // the same for promoting moves
	drops   []int16   // by kind
	doubles [64]int16 // [first step*8 + second step]
	pass    int16
	moves   []movePlane

	mirrorKind []rules.Kind
	symmetric  bool
}

// hand is the group of planes for one kind in hand.
type hand struct {
	kind   rules.Kind
	max    int
	levels int // thermometer planes
	scaled bool
}

// New returns the encoder of a variant. It fails when the variant has more
// policy planes or pieces than an encoder can hold.
func New(v *rules.Variant) (*Encoder, error) {
	e := &Encoder{v: v, h: v.Height(), w: v.Width(), n: v.Squares(), kinds: v.KindCount() - 1, ban: -1}
	e.namePlanes()
	e.buildPolicy()
	if e.policy > 1<<15-1 {
		return nil, fmt.Errorf("%s: %d policy planes are too many", v.Name(), e.policy)
	}
	e.buildMirror()
	return e, nil
}

// Variant returns the variant whose positions are encoded.
func (e *Encoder) Variant() *rules.Variant { return e.v }

// Name returns the name of the encoding, "planes-1".
func (e *Encoder) Name() string { return Name }

// Height returns the number of ranks, Width the number of files.
func (e *Encoder) Height() int { return e.h }

// Width returns the number of files.
func (e *Encoder) Width() int { return e.w }

// Planes returns the number of input planes.
func (e *Encoder) Planes() int { return e.planes }

// Size returns the number of floats of one encoded position.
func (e *Encoder) Size() int { return e.n * e.planes }

// PlaneNames returns what each input plane shows. The caller must not change
// the slice.
func (e *Encoder) PlaneNames() []string { return e.names }

// WritePlanes writes PlaneNames, one a line.
func (e *Encoder) WritePlanes(w io.Writer) error {
	if _, err := io.WriteString(w, strings.Join(e.names, "\n")+"\n"); err != nil {
		return fmt.Errorf("planes of %s: %w", e.v.Name(), err)
	}
	return nil
}

func (e *Encoder) namePlanes() {
	for _, who := range []string{"own", "enemy"} {
		for k := 1; k <= e.kinds; k++ {
			e.names = append(e.names, who+" "+e.v.Info(rules.Kind(k)).Letter)
		}
	}
	if hasLions(e.v) {
		e.ban = len(e.names)
		e.names = append(e.names, "square where a lion was just taken by another piece")
	}
	e.global = len(e.names)
	for _, k := range e.v.HandKinds() {
		m := e.v.HandMax(k)
		e.hands = append(e.hands, hand{kind: k, max: m, levels: min(m, thermometer), scaled: m > thermometer})
	}
	for _, who := range []string{"own", "enemy"} {
		for _, h := range e.hands {
			letter := e.v.Info(h.kind).Letter
			for i := range h.levels {
				e.names = append(e.names, fmt.Sprintf("%s hand has %d or more %s", who, i+1, letter))
			}
			if h.scaled {
				e.names = append(e.names, fmt.Sprintf("%s hand: number of %s / %d", who, letter, h.max))
			}
		}
	}
	e.names = append(e.names,
		"position occurred before",
		"position occurred twice before",
		"mover is in check",
		"mover moved first in the game",
		fmt.Sprintf("mover's last checks in a row / %d, at most 1", CheckRange),
		fmt.Sprintf("enemy's last checks in a row / %d, at most 1", CheckRange),
		fmt.Sprintf("plies left to the limit / %d, at most 1", PliesRange),
		"one")
	e.planes = len(e.names)
}

// hasLions tells whether a kind of the variant has lion power.
func hasLions(v *rules.Variant) bool {
	for k := 1; k < v.KindCount(); k++ {
		for _, d := range v.Vectors(rules.Kind(k)) {
			if d.Lion {
				return true
			}
		}
	}
	return false
}

// Encode writes the planes of p to dst, Size() floats. The position must be of
// the encoder's variant.
func (e *Encoder) Encode(p *rules.Position, dst []float32) { e.encode(p, dst, false) }

// EncodeMirror writes the planes of the left-right mirror image of p. It means
// something only if the variant is Symmetric.
func (e *Encoder) EncodeMirror(p *rules.Position, dst []float32) { e.encode(p, dst, true) }

func (e *Encoder) encode(p *rules.Position, dst []float32, mirror bool) {
	dst = dst[:e.Size()]
	clear(dst)
	side := p.Side()
	e.encodeGlobal(p, dst[e.global:e.planes], mirror)
	for at := e.planes; at < len(dst); at += e.planes {
		copy(dst[at+e.global:at+e.planes], dst[e.global:e.planes])
	}
	for sq := range e.n {
		pc := p.At(rules.Square(sq))
		if pc == rules.NoPiece {
			continue
		}
		k := pc.Kind()
		if mirror {
			k = e.mirrorKind[k]
		}
		plane := int(k) - 1
		if pc.Side() != side {
			plane += e.kinds
		}
		dst[e.view(sq, side, mirror)*e.planes+plane] = 1
	}
	if e.ban >= 0 {
		if sq := p.BanSquare(); sq != rules.NoSquare {
			dst[e.view(int(sq), side, mirror)*e.planes+e.ban] = 1
		}
	}
}

// encodeGlobal writes the planes that are the same on every square.
func (e *Encoder) encodeGlobal(p *rules.Position, dst []float32, mirror bool) {
	side := p.Side()
	i := 0
	flag := func(b bool) {
		if b {
			dst[i] = 1
		}
		i++
	}
	for _, who := range [2]rules.Side{side, side.Other()} {
		for _, h := range e.hands {
			k := h.kind
			if mirror {
				k = e.mirrorKind[k]
			}
			count := p.Hand(who, k)
			for l := range h.levels {
				flag(count > l)
			}
			if h.scaled {
				dst[i] = share(count, h.max)
				i++
			}
		}
	}
	times := p.Occurrences()
	flag(times > 1)
	flag(times > 2)
	flag(p.InCheck())
	flag(side == p.FirstPlayer())
	dst[i] = share(p.CheckRun(side), CheckRange)
	dst[i+1] = share(p.CheckRun(side.Other()), CheckRange)
	dst[i+2] = 1
	if limit := e.v.MaxPlies(); limit > 0 {
		dst[i+2] = share(limit-p.Ply(), PliesRange)
	}
	dst[i+3] = 1
}

// share returns n/whole, at least 0 and at most 1.
func share(n, whole int) float32 { return float32(max(0, min(n, whole))) / float32(whole) }

// view returns the place of a square for the side, mirrored left to right if
// asked for.
func (e *Encoder) view(sq int, side rules.Side, mirror bool) int {
	if side == rules.Gote {
		sq = e.n - 1 - sq
	}
	if mirror {
		sq += e.w - 1 - 2*(sq%e.w)
	}
	return sq
}
