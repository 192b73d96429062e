package mate

import (
	"errors"
	"fmt"
	"slices"

	"kirin/rules"
)

// Options bound a Solver.
type Options struct {
	// Nodes is the most positions that the search of one Solve looks at. A position
	// counts when its moves are made or counted, each time anew. When a mate has been
	// found, each part of it that the table has lost meanwhile is searched again, with
	// at most as many once more.
	Nodes int64 `yaml:"nodes"`
	// TableBytes is the size of the table of positions, rounded down to a power of
	// two.
	TableBytes int64 `yaml:"table_bytes"`
	// MaxPly is the longest mate looked for, in plies.
	MaxPly int `yaml:"max_ply"`
}

// maxPly is the highest MaxPly.
const maxPly = 199

// DefaultOptions are those of an analysis: a second or so.
func DefaultOptions() Options {
	return Options{Nodes: 1_000_000, TableBytes: 32 << 20, MaxPly: 39}
}

// Validate reports every fault at once, each beginning with its key.
func (o Options) Validate() error {
	var errs []error
	if o.Nodes < 1 {
		errs = append(errs, fmt.Errorf("nodes: %d is below 1", o.Nodes))
	}
	if o.TableBytes < 1<<12 {
		errs = append(errs, fmt.Errorf("table_bytes: %d is below %d", o.TableBytes, 1<<12))
	}
	if o.MaxPly < 1 || o.MaxPly > maxPly {
		errs = append(errs, fmt.Errorf("max_ply: %d is not in 1..%d", o.MaxPly, maxPly))
	}
	return errors.Join(errs...)
}

// Status is the answer of a Solver.
type Status uint8

// The answers.
const (
	Unknown Status = iota // the bounds were reached
	Mate
	NoMate
)

var statusNames = [...]string{"unknown", "mate", "no_mate"}

// String returns "unknown", "mate" or "no_mate".
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("status %d", uint8(s))
}

// Result is the answer for one position.
type Result struct {
	Status Status
	// Plies is the length of the mate. With NoMate it is the length within which there
	// is none, 0 if checks run out before any bound.
	Plies int
	// Nodes is the number of positions looked at.
	Nodes int64
	// PV is a mating line in which both sides do their best: the attacker mates in
	// Plies, the defender lasts that long. The Solver owns it until the next call.
	PV []rules.Move
	// First are the first moves that mate in Plies: PV's, or with SolveAll all of
	// them. The Solver owns it until the next call.
	First []rules.Move
}

// Solver searches one position after another. It is not safe for concurrent use.
type Solver struct {
	// Interrupt, if set, is asked every few hundred positions whether to give up; the
	// answer is then Unknown.
	Interrupt func() bool

	o     Options
	table table

	variant  *rules.Variant
	capture  bool // royals are captured
	wide     bool // all moves of the attacker, not only checks
	p        *rules.Position
	attacker rules.Side
	nodes    int64
	limit    int64
	ask      int64        // when to ask Interrupt next
	moves    []rules.Move // stack
	kids     []kid        // stack
	royals   []rules.Square
	pv       []rules.Move
	first    []rules.Move
}

// New returns a solver. o must be valid.
func New(o Options) *Solver {
	return &Solver{o: o, table: newTable(o.TableBytes)}
}

// Solve looks for a mate by the side to move. p is the same afterwards.
func (s *Solver) Solve(p *rules.Position) Result { return s.Within(p, s.o.MaxPly, s.o.Nodes) }

// SolveAll is Solve with all first moves of the shortest mates, as far as the
// nodes reach: if they do not, First holds those found.
func (s *Solver) SolveAll(p *rules.Position) Result {
	r := s.Solve(p)
	if r.Status != Mate {
		return r
	}
	s.allFirst(r.Plies)
	r.First = s.first
	r.Nodes = s.nodes
	return r
}

// Within looks for a mate in at most plies plies with at most nodes positions (see
// Options.Nodes).
func (s *Solver) Within(p *rules.Position, plies int, nodes int64) Result {
	return s.deepen(p, 1, plies, nodes)
}

// deepen is Within that begins with mates in at most from plies, and so may miss
// that there is a shorter one.
func (s *Solver) deepen(p *rules.Position, from, plies int, nodes int64) Result {
	s.prepare(p, nodes)
	if limit := p.Variant().MaxPlies(); limit > 0 {
		plies = min(plies, limit-p.Ply())
	}
	plies = min(plies, maxPly)
	s.pv, s.first = s.pv[:0], s.first[:0]
	r := Result{Status: NoMate}
	if plies < from {
		from = 1
	}
	for n := from; n <= plies; n += 2 {
		v := s.attack(n, infinite, infinite)
		if v.pn == 0 {
			r.Plies = int(v.length)
			if s.verified(r.Plies) {
				r.Status = Mate
				r.PV = s.pv
				s.first = append(s.first, s.pv[0])
				r.First = s.first
			} else {
				r.Status, r.Plies = Unknown, 0
			}
			break
		}
		if v.dn != 0 {
			r.Status, r.Plies = Unknown, 0
			break
		}
		if v.refuted == always {
			r.Plies = 0
			break
		}
		r.Plies = n
	}
	r.Nodes = s.nodes
	return r
}

func (s *Solver) prepare(p *rules.Position, nodes int64) {
	if v := p.Variant(); v != s.variant {
		s.variant = v
		s.capture = captures(v)
		// Room for the moves and kids of a line: nearly all positions have few checks.
		n := min(s.o.MaxPly, 40)*64 + 2*v.MaxMoves()
		s.moves = slices.Grow(s.moves[:0], n)
		s.kids = slices.Grow(s.kids[:0], n)
		s.pv = slices.Grow(s.pv[:0], maxPly+1)
		s.first = slices.Grow(s.first[:0], v.MaxMoves())
		s.royals = slices.Grow(s.royals[:0], 8)
	}
	s.p = p
	s.attacker = p.Side()
	s.nodes, s.limit, s.ask = 0, nodes, 0
	s.moves, s.kids = s.moves[:0], s.kids[:0]
	s.table.clear()
}

// stopped tells whether the search must end now.
func (s *Solver) stopped() bool {
	if s.Interrupt != nil && s.nodes >= s.ask {
		s.ask = s.nodes + 256
		if s.Interrupt() {
			s.limit = 0
		}
	}
	return s.nodes >= s.limit
}

// captures tells whether a game ends by the capture of royals.
func captures(v *rules.Variant) bool {
	for _, o := range v.Options() {
		if o.Name == "end" {
			return o.Value != "mate"
		}
	}
	return false
}

// allFirst collects in s.first the moves that mate in plies.
func (s *Solver) allFirst(plies int) {
	s.first = s.first[:0]
	start := len(s.moves)
	s.moves = s.p.AppendMoves(s.moves)
	for _, m := range s.moves[start:] {
		if s.stopped() && m != s.pv[0] {
			continue
		}
		s.p.Do(m)
		if s.mates(plies - 1) {
			s.first = append(s.first, m)
		}
		s.p.Undo()
	}
	s.moves = s.moves[:start]
}

// mates tells whether the attacker, who has just moved, mates within plies more,
// with a proof that stands.
func (s *Solver) mates(plies int) bool {
	if plies == 0 {
		return s.won(s.count())
	}
	if !s.p.InCheck() {
		return false
	}
	n := s.count()
	if out := s.p.Outcome(n); out.Result != rules.Ongoing {
		return out.Result == rules.Winner(s.attacker)
	}
	if v := s.defend(plies, infinite, infinite); v.pn != 0 {
		return false
	}
	ok, _ := s.replayDefence(plies)
	return ok
}

// count returns the number of legal moves.
func (s *Solver) count() int {
	start := len(s.moves)
	s.moves = s.p.AppendMoves(s.moves)
	n := len(s.moves) - start
	s.moves = s.moves[:start]
	return n
}

// won tells whether the game is over, with n legal moves, and won by the attacker.
func (s *Solver) won(n int) bool { return s.p.Outcome(n).Result == rules.Winner(s.attacker) }
