package encode

import (
	"bufio"
	"fmt"
	"io"
	"sort"

	"kirin/rules"
)

// movePlane says what one plane of the policy means.
type movePlane struct {
	dx, dy  int // displacement; of a double move: its first step
	ex, ey  int // second step of a double move
	promote bool
	double  bool
	pass    bool
	drop    rules.Kind
}

type step struct{ dx, dy int }

// kingSteps are the eight directions, clockwise from forward; dx > 0 is to the
// mover's right, dy < 0 forward.
var kingSteps = [8]step{{0, -1}, {1, -1}, {1, 0}, {1, 1}, {0, 1}, {-1, 1}, {-1, 0}, {-1, -1}}

// PolicyPlanes returns the number of policy planes.
func (e *Encoder) PolicyPlanes() int { return e.policy }

// PolicySize returns the number of policy indices, squares times planes.
func (e *Encoder) PolicySize() int { return e.n * e.policy }

func (e *Encoder) buildPolicy() {
	plain, promoting := map[step]bool{}, map[step]bool{}
	doubles := map[[2]step]bool{}
	for k := 1; k <= e.kinds; k++ {
		info := e.v.Info(rules.Kind(k))
		for _, d := range e.v.Vectors(rules.Kind(k)) {
			one := step{int(d.DX), int(d.DY)}
			for i := 1; i <= int(d.Max); i++ {
				s := step{i * one.dx, i * one.dy}
				if max(s.dx, -s.dx) >= e.w || max(s.dy, -s.dy) >= e.h {
					break
				}
				plain[s] = true
				if info.Promotes != rules.NoKind {
					promoting[s] = true
				}
			}
			if d.Lion && !d.Jump {
				for _, second := range kingSteps {
					if info.Lion || second == one || second == (step{-one.dx, -one.dy}) {
						doubles[[2]step{one, second}] = true
					}
				}
			}
		}
	}
	e.plain, e.promo = e.displacements(plain, false), e.displacements(promoting, true)
	for i := range e.doubles {
		e.doubles[i] = -1
		first, second := kingSteps[i/8], kingSteps[i%8]
		if doubles[[2]step{first, second}] {
			e.doubles[i] = e.plane(movePlane{dx: first.dx, dy: first.dy, ex: second.dx, ey: second.dy, double: true})
		}
	}
	e.pass = -1
	if len(doubles) > 0 {
		e.pass = e.plane(movePlane{pass: true})
	}
	e.drops = make([]int16, e.kinds+1)
	for _, k := range e.v.HandKinds() {
		e.drops[k] = e.plane(movePlane{drop: k})
	}
	e.policy = len(e.moves)
}

func (e *Encoder) plane(m movePlane) int16 {
	e.moves = append(e.moves, m)
	return int16(len(e.moves) - 1)
}

// displacements gives each displacement a plane, those farther forward first,
// then from left to right, and returns the planes by from*n+to.
func (e *Encoder) displacements(set map[step]bool, promote bool) []int16 {
	var list []step
	for s := range set {
		list = append(list, s)
	}
	sort.Slice(list, func(i, j int) bool {
		a, b := list[i], list[j]
		return a.dy < b.dy || a.dy == b.dy && a.dx < b.dx
	})
	table := make([]int16, e.n*e.n)
	for i := range table {
		table[i] = -1
	}
	for _, s := range list {
		plane := e.plane(movePlane{dx: s.dx, dy: s.dy, promote: promote})
		for from := range e.n {
			if to := e.shift(from, s.dx, s.dy); to >= 0 {
				table[from*e.n+to] = plane
			}
		}
	}
	return table
}

// shift returns the square at a displacement, -1 if it is off the board.
func (e *Encoder) shift(sq, dx, dy int) int {
	x, y := sq%e.w+dx, sq/e.w+dy
	if x < 0 || x >= e.w || y < 0 || y >= e.h {
		return -1
	}
	return y*e.w + x
}

// direction returns the number in kingSteps of the step from one square to a
// neighbour.
func (e *Encoder) direction(from, to int) int {
	dx, dy := to%e.w-from%e.w, to/e.w-from/e.w
	return int(directions[3*(dy+1)+dx+1])
}

// directions gives the number in kingSteps by 3*(dy+1)+dx+1.
var directions = [9]uint8{7, 0, 1, 6, 0, 2, 5, 4, 3}

// Index returns the policy index of a legal move of p, between 0 and
// PolicySize()-1.
func (e *Encoder) Index(p *rules.Position, m rules.Move) int { return e.index(p.Side(), m, false) }

// IndexMirror returns the index that the mirrored move has in the left-right
// mirror image of p. It means something only if the variant is Symmetric.
func (e *Encoder) IndexMirror(p *rules.Position, m rules.Move) int { return e.index(p.Side(), m, true) }

func (e *Encoder) index(side rules.Side, m rules.Move, mirror bool) int {
	to := e.view(int(m.To()), side, mirror)
	if m.IsDrop() {
		k := m.DropKind()
		if mirror {
			k = e.mirrorKind[k]
		}
		return to*e.policy + int(e.drops[k])
	}
	from := e.view(int(m.From()), side, mirror)
	plane := int16(0)
	switch {
	case m.IsDouble():
		via := e.view(int(m.Via()), side, mirror)
		plane = e.doubles[8*e.direction(from, via)+e.direction(via, to)]
	case from == to:
		plane = e.pass
	case m.Promotes():
		plane = e.promo[from*e.n+to]
	default:
		plane = e.plain[from*e.n+to]
	}
	return from*e.policy + int(plane)
}

// Move returns the move that an index means on sente's board, the board as the
// mover sees it. It is for tables and tests: in play indices are only looked
// up. ok is false for an index that no move has, because it would leave the
// board.
func (e *Encoder) Move(index int) (m rules.Move, ok bool) {
	sq, d := index/e.policy, e.moves[index%e.policy]
	switch {
	case d.drop != rules.NoKind:
		return rules.NewDrop(d.drop, rules.Square(sq)), true
	case d.pass:
		return rules.NewPass(rules.Square(sq)), true
	}
	next := e.shift(sq, d.dx, d.dy)
	if next < 0 {
		return rules.NoMove, false
	}
	if !d.double {
		return rules.NewMove(rules.Square(sq), rules.Square(next), d.promote), true
	}
	to := e.shift(next, d.ex, d.ey)
	if to < 0 {
		return rules.NoMove, false
	}
	return rules.NewDouble(rules.Square(sq), rules.Square(next), rules.Square(to)), true
}

// turn returns the move as it looks after turning the board by 180 degrees.
func (e *Encoder) turn(m rules.Move) rules.Move {
	t := func(sq rules.Square) rules.Square { return rules.Square(e.n - 1 - int(sq)) }
	switch {
	case m.IsDrop():
		return rules.NewDrop(m.DropKind(), t(m.To()))
	case m.IsDouble():
		return rules.NewDouble(t(m.From()), t(m.Via()), t(m.To()))
	}
	return rules.NewMove(t(m.From()), t(m.To()), m.Promotes())
}

// WriteMoves writes the table of all policy indices as tab-separated text with
// a heading: index, square (rank*width+file as the mover sees it), plane, and
// the move in USI when sente and when gote is to move. A pass is written as
// the square twice, since its USI form depends on the position.
func (e *Encoder) WriteMoves(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprint(b, "index\tsquare\tplane\tsente\tgote\n")
	for i := range e.PolicySize() {
		if m, ok := e.Move(i); ok {
			fmt.Fprintf(b, "%d\t%d\t%d\t%s\t%s\n", i, i/e.policy, i%e.policy, e.usi(m), e.usi(e.turn(m)))
		}
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("policy table of %s: %w", e.v.Name(), err)
	}
	return nil
}

// usi writes a move without looking at a board.
func (e *Encoder) usi(m rules.Move) string {
	to := e.v.SquareString(m.To())
	switch {
	case m.IsDrop():
		return e.v.Info(m.DropKind()).Letter + "*" + to
	case m.IsDouble():
		return e.v.SquareString(m.From()) + e.v.SquareString(m.Via()) + to
	case m.Promotes():
		to += "+"
	}
	return e.v.SquareString(m.From()) + to
}
