package mate

import (
	"fmt"
	"math"

	"kirin/rules"
)

// Endgame solves positions for both sides with all moves, in the games with check,
// where a side without a move has lost. Repetition is left out: a position is
// lost in n plies, won in n plies, or neither ever. With two kings and one piece
// more it builds the complete table of the positions that can be reached;
// otherwise it searches to a depth.
//
// It is meant for tests and checks: it allocates, and keeps its tables.
type Endgame struct {
	solver *Solver
	known  map[uint64]int16 // by Key: plies, see endValue
}

// Ending is what Endgame finds.
type Ending struct {
	// Known tells whether the rest holds.
	Known bool
	// Never: neither side can force a win.
	Never bool
	// Plies is the length: the side to move wins in Plies plies, or, below or at 0,
	// loses in -Plies.
	Plies int
	// First are the moves that win soonest, or lose latest.
	First []rules.Move
	Nodes int64
}

// NewEndgame returns a solver that looks at nodes positions at most for a position
// without a table.
func NewEndgame(nodes int64) *Endgame {
	o := DefaultOptions()
	o.Nodes = nodes
	o.TableBytes = min(o.TableBytes, max(nodes*entryBytes, 1<<12)) // a table that fits the cache is faster
	s := New(o)
	s.wide = true
	return &Endgame{solver: s, known: map[uint64]int16{}}
}

// never is the value of a position that nobody can win.
const never = math.MaxInt16

// Solve looks for a win or loss of the side to move within plies plies. With a
// table the length does not matter.
func (e *Endgame) Solve(p *rules.Position, plies int) (Ending, error) {
	if captures(p.Variant()) {
		return Ending{}, fmt.Errorf("%s has no endgame solver", p.Variant().Name())
	}
	if pieces(p) > 3 {
		return e.search(p, plies), nil
	}
	if _, ok := e.known[p.Key()]; !ok {
		if err := e.build(p); err != nil {
			return Ending{}, err
		}
	}
	end := Ending{Known: true, Plies: int(e.known[p.Key()])}
	if end.Plies == never {
		return Ending{Known: true, Never: true}, nil
	}
	for _, m := range p.AppendBoardMoves(nil) {
		p.Do(m)
		if after(int(e.known[p.Key()])) == end.Plies {
			end.First = append(end.First, m)
		}
		p.Undo()
	}
	return end, nil
}

// Wins tells whether the side to move wins within plies plies, counted from p, after
// playing m: Mate if it does, NoMate if not, Unknown if the nodes do not suffice.
// With a table the length does not matter.
func (e *Endgame) Wins(p *rules.Position, m rules.Move, plies int) (Status, error) {
	if captures(p.Variant()) || pieces(p) <= 3 {
		end, err := e.Solve(p, plies)
		if err != nil {
			return Unknown, err
		}
		p.Do(m)
		after := e.known[p.Key()]
		p.Undo()
		if end.Plies > 0 && after <= 0 {
			return Mate, nil
		}
		return NoMate, nil
	}
	s := e.solver
	s.prepare(p, s.o.Nodes)
	p.Do(m)
	defer p.Undo()
	if p.CountMoves() == 0 {
		return Mate, nil
	}
	for n := 2; n < plies; n += 2 {
		switch v := s.defend(n, infinite, infinite); {
		case v.pn == 0:
			return Mate, nil
		case v.dn != 0:
			return Unknown, nil
		}
	}
	return NoMate, nil
}

// after turns the value of a position into that of the move which leads to it:
// one ply longer, for the other side.
func after(v int) int {
	switch {
	case v == never:
		return never
	case v <= 0:
		return -v + 1
	}
	return -v - 1
}

func pieces(p *rules.Position) int {
	v := p.Variant()
	n := 0
	for sq := range v.Squares() {
		if p.At(rules.Square(sq)) != rules.NoPiece {
			n++
		}
	}
	for _, k := range v.HandKinds() {
		n += p.Hand(rules.Sente, k) + p.Hand(rules.Gote, k)
	}
	return n
}

// search finds the shortest win, or the longest loss, of at most plies plies.
func (e *Endgame) search(p *rules.Position, plies int) Ending {
	s := e.solver
	end := Ending{}
	s.prepare(p, s.o.Nodes)
	moves := p.AppendBoardMoves(nil)
	if len(moves) == 0 {
		return Ending{Known: true}
	}
	for n := 1; n <= plies; n += 2 {
		v := s.attack(n, infinite, infinite)
		if v.pn == 0 {
			end.Known, end.Plies = true, n
			for _, m := range moves {
				p.Do(m)
				v := verdict{}
				if p.CountMoves() > 0 && n > 1 {
					v = s.defend(n-1, infinite, infinite)
				} else if n == 1 && p.CountMoves() > 0 {
					v.pn = infinite
				}
				p.Undo()
				if v.pn == 0 {
					end.First = append(end.First, m)
				} else if v.dn != 0 && v.pn != infinite {
					end.Known = false
				}
			}
			end.Nodes = s.nodes
			return end
		}
		if v.dn != 0 {
			break
		}
	}
	// The other way round: every move must lose.
	spent := s.nodes
	longest := 0
	for _, m := range moves {
		p.Do(m)
		s.prepare(p, s.o.Nodes)
		length := 0
		for n := 1; n < plies+1 && length == 0; n += 2 {
			v := s.attack(n, infinite, infinite)
			if v.pn == 0 {
				length = n + 1
			} else if v.dn != 0 {
				break
			}
		}
		p.Undo()
		spent += s.nodes
		if length == 0 {
			return Ending{Nodes: spent}
		}
		if length > longest {
			longest, end.First = length, end.First[:0]
		}
		if length == longest {
			end.First = append(end.First, m)
		}
	}
	end.Known, end.Plies, end.Nodes = true, -longest, spent
	return end
}

// build adds to e.known every position that can be reached from p, with its value
// by retrograde analysis.
func (e *Endgame) build(p *rules.Position) error {
	const most = 4_000_000
	index := map[uint64]int32{p.Key(): 0}
	keys := []uint64{p.Key()}
	queue := []string{p.SFEN()}
	starts := []int32{0}
	var edges []int32
	var moves []rules.Move
	for i := 0; i < len(queue); i++ {
		q, err := p.Variant().ParseSFEN(queue[i])
		if err != nil {
			return fmt.Errorf("endgame table: %w", err)
		}
		queue[i] = ""
		moves = q.AppendBoardMoves(moves[:0])
		for _, m := range moves {
			q.Do(m)
			key := q.Key()
			j, ok := index[key]
			if !ok {
				j = int32(len(keys))
				index[key] = j
				keys = append(keys, key)
				queue = append(queue, q.SFEN())
			}
			edges = append(edges, j)
			q.Undo()
		}
		starts = append(starts, int32(len(edges)))
		if len(keys) > most {
			return fmt.Errorf("endgame table: more than %d positions", most)
		}
	}
	for i, v := range retrograde(starts, edges) {
		e.known[keys[i]] = v
	}
	return nil
}

// retrograde values a graph of positions: edges[starts[i]:starts[i+1]] are the
// positions after the moves of i.
func retrograde(starts, edges []int32) []int16 {
	n := len(starts) - 1
	into := make([]int32, n+1) // the same edges by their end
	for _, j := range edges {
		into[j+1]++
	}
	for i := range n {
		into[i+1] += into[i]
	}
	back := make([]int32, len(edges))
	fill := make([]int32, n)
	open := make([]int32, n) // moves not known to lose
	values := make([]int16, n)
	var layer, next []int32 // positions with the value found last, and then
	for i := range n {
		values[i] = never
		open[i] = starts[i+1] - starts[i]
		if open[i] == 0 {
			values[i] = 0
			layer = append(layer, int32(i))
		}
		for _, j := range edges[starts[i]:starts[i+1]] {
			back[into[j]+fill[j]] = int32(i)
			fill[j]++
		}
	}
	for depth := int16(1); len(layer) > 0; depth++ {
		next = next[:0]
		for _, j := range layer {
			for _, i := range back[into[j]:into[j+1]] {
				if values[i] != never {
					continue
				}
				if depth%2 == 1 { // j is lost
					values[i] = depth
					next = append(next, i)
				} else if open[i]--; open[i] == 0 {
					values[i] = -depth
					next = append(next, i)
				}
			}
		}
		layer, next = next, layer
	}
	return values
}
