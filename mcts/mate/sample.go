package mate

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"kirin/rules"
)

// SampleOptions say how the solver is compared with a plain search.
type SampleOptions struct {
	Most  int   // plies of the longest mate looked for
	Few   int64 // positions the solver may look at for mates of up to 5 plies
	Many  int64 // and for longer ones, and where there is none
	Plain int64 // moves the plain search may try for one position
}

// DefaultSampleOptions are the defaults.
func DefaultSampleOptions() SampleOptions {
	return SampleOptions{Most: 9, Few: 10_000, Many: 200_000, Plain: 500_000}
}

// Validate reports every fault at once.
func (o SampleOptions) Validate() error {
	var errs []error
	if o.Most < 1 || o.Most > 19 || o.Most%2 == 0 {
		errs = append(errs, fmt.Errorf("plies: %d is not an odd number in 1..19", o.Most))
	}
	if o.Few < 1 || o.Many < o.Few || o.Plain < 1 {
		errs = append(errs, fmt.Errorf("nodes: %d, %d and %d: each must be at least 1, and the second no smaller than the first", o.Few, o.Many, o.Plain))
	}
	return errors.Join(errs...)
}

// few is the longest mate that Few positions must do for.
const few = 5

// SampleTally counts the sampled positions with a mate of one length.
type SampleTally struct {
	Plies int `json:"plies"`
	Mates int `json:"mates"`
	Found int `json:"found"`
}

// SampleReport is the outcome of a comparison.
type SampleReport struct {
	Positions int           `json:"positions"`
	Tallies   []SampleTally `json:"tallies"`   // of 1, 3, ... plies
	None      int           `json:"none"`      // no mate, says the plain search
	Refuted   int           `json:"refuted"`   // of those: says the solver too
	Open      int           `json:"undecided"` // neither search knows
	Wrong     int           `json:"wrong"`     // the solver's mate does not stand, or is shorter than can be
}

// Add adds another report.
func (r *SampleReport) Add(o SampleReport) {
	for len(r.Tallies) < len(o.Tallies) {
		r.Tallies = append(r.Tallies, SampleTally{Plies: 2*len(r.Tallies) + 1})
	}
	for i, t := range o.Tallies {
		r.Tallies[i].Mates += t.Mates
		r.Tallies[i].Found += t.Found
	}
	r.Positions, r.None, r.Refuted, r.Open, r.Wrong = r.Positions+o.Positions, r.None+o.None, r.Refuted+o.Refuted, r.Open+o.Open, r.Wrong+o.Wrong
}

// Sampler compares a solver with a plain search on positions sampled from games.
// It is not safe for concurrent use.
type Sampler struct {
	// Report is what has been counted so far.
	Report SampleReport
	// Tell, if set, is told of each wrong answer and each mate that is not found.
	Tell func(string)

	v     *rules.Variant
	o     SampleOptions
	s     *Solver
	plain plainSearch
}

// NewSampler returns a sampler of v. o must be valid.
func NewSampler(v *rules.Variant, o SampleOptions) *Sampler {
	return &Sampler{v: v, o: o, s: New(Options{Nodes: o.Many, TableBytes: 16 << 20, MaxPly: o.Most})}
}

// Sample compares the answers for the n-th position of a seed: a position of a game
// of random moves, captures and checks more often than others, in which the side to
// move can give check.
func (x *Sampler) Sample(seed, n uint64) error {
	rng := rand.New(rand.NewPCG(seed, n))
	p := playout(x.v, rng)
	for p == nil {
		p = playout(x.v, rng)
	}
	// From the position alone: the plain search knows no history.
	p, err := x.v.ParseSFEN(p.SFEN())
	if err != nil {
		return fmt.Errorf("position %d: %w", n, err)
	}
	return x.compare(p)
}

func (x *Sampler) compare(p *rules.Position) error {
	sfen := p.SFEN()
	length, known := x.plain.mate(p, x.o.Most, x.o.Plain)
	var one SampleReport
	one.Positions = 1
	nodes := x.o.Many
	if known && length > 0 && length <= few {
		nodes = x.o.Few
	}
	r := x.s.Within(p, x.o.Most, nodes)
	if p.SFEN() != sfen {
		return fmt.Errorf("the search changed %s to %s", sfen, p.SFEN())
	}
	found := r.Status == Mate
	plies := r.Plies
	switch {
	case found && (known && (length == 0 || plies < length) || !known && plies < length):
		one.Wrong++
		x.tell("%s: a mate in %d is given, but the plain search knows of none shorter than %d", sfen, plies, length)
	case found && !x.stands(p, plies):
		one.Wrong++
		x.tell("%s: the mate in %d does not stand", sfen, plies)
	case r.Status == NoMate && known && length > 0 && (plies == 0 || plies >= length):
		one.Wrong++
		x.tell("%s: no mate is claimed, but there is one in %d", sfen, length)
	case known && length == 0:
		one.None++
		if r.Status == NoMate {
			one.Refuted++
		}
	case known:
		one.mate(length, found)
		if !found {
			x.tell("%s: the mate in %d is not found", sfen, length)
		}
	case found: // too long for the plain search
		if plies <= few { // with so many positions as are allowed
			found = x.s.Within(p, x.o.Most, x.o.Few).Status == Mate
		}
		one.mate(plies, found)
	default:
		one.Open++
	}
	x.Report.Add(one)
	return nil
}

func (x *Sampler) tell(format string, args ...any) {
	if x.Tell != nil {
		x.Tell(fmt.Sprintf(format, args...))
	}
}

// mate counts a mate of a length.
func (r *SampleReport) mate(plies int, found bool) {
	for len(r.Tallies) <= plies/2 {
		r.Tallies = append(r.Tallies, SampleTally{Plies: 2*len(r.Tallies) + 1})
	}
	t := &r.Tallies[plies/2]
	t.Mates++
	if found {
		t.Found++
	}
}

// stands plays the solver's first move and every defence, again and again, and
// tells whether the game is won within plies on each way.
func (x *Sampler) stands(p *rules.Position, plies int) bool {
	attacker := p.Side()
	r := x.s.Within(p, plies, x.o.Many)
	if r.Status != Mate || !slices.Contains(p.AppendMoves(nil), r.PV[0]) {
		return false
	}
	p.Do(r.PV[0])
	defer p.Undo()
	replies := p.AppendMoves(nil)
	if out := p.Outcome(len(replies)); out.Result != rules.Ongoing {
		return out.Result == rules.Winner(attacker)
	}
	if plies < 3 {
		return false
	}
	for _, m := range replies {
		p.Do(m)
		ok := x.stands(p, plies-2)
		p.Undo()
		if !ok {
			return false
		}
	}
	return true
}

// playout plays a game of random moves, of 400 plies at most, and returns one of
// its positions in which the side to move can give check, nil if there is none.
func playout(v *rules.Variant, rng *rand.Rand) *rules.Position {
	p := v.Start()
	for p.Ply() < 400 {
		moves := p.AppendMoves(nil)
		if p.Outcome(len(moves)).Result != rules.Ongoing {
			break
		}
		m := moves[rng.IntN(len(moves))]
		for range 3 {
			if p.At(m.To()) == rules.NoPiece && !p.GivesCheck(m) {
				m = moves[rng.IntN(len(moves))]
			}
		}
		p.Do(m)
	}
	for n := 1 + rng.IntN(p.Ply()); n > 0; n-- {
		p.Undo()
	}
	for p.Ply() > 0 {
		if slices.ContainsFunc(p.AppendMoves(nil), p.GivesCheck) {
			return p
		}
		p.Undo()
	}
	return nil
}

// plainSearch is a search for mates by checks without a table, proof numbers or pruning,
// which the solver is compared with.
type plainSearch struct {
	left  int64          // moves that may still be tried
	moves [][]rules.Move // by ply
}

// mate returns the length of the shortest mate in at most plies plies, 0 if there
// is none. Where budget moves do not suffice, known is false, and there is no mate
// shorter than length.
func (x *plainSearch) mate(p *rules.Position, plies int, budget int64) (length int, known bool) {
	x.left = budget
	for n := 1; n <= plies; n += 2 {
		if x.within(p, n, p.Side()) {
			return n, true
		}
		if x.left <= 0 {
			return n, false
		}
	}
	return 0, true
}

// within tells whether attacker, who is to move, mates within plies. It is false
// too where the budget ends.
func (x *plainSearch) within(p *rules.Position, plies int, attacker rules.Side) bool {
	for len(x.moves) <= plies {
		x.moves = append(x.moves, nil)
	}
	x.moves[plies] = p.AppendBoardMoves(x.moves[plies][:0])
	for _, m := range x.moves[plies] {
		if x.left--; x.left <= 0 {
			return false
		}
		p.Do(m)
		ok := x.answered(p, plies-1, attacker)
		p.Undo()
		if ok {
			return true
		}
	}
	return false
}

// answered tells whether attacker has won, or wins within plies against every move.
func (x *plainSearch) answered(p *rules.Position, plies int, attacker rules.Side) bool {
	x.moves[plies] = p.AppendBoardMoves(x.moves[plies][:0])
	replies := x.moves[plies]
	if p.Outcome(len(replies)).Result == rules.Winner(attacker) {
		return p.InCheck() || captures(p.Variant())
	}
	if plies == 0 || !p.InCheck() {
		return false
	}
	for _, r := range replies {
		p.Do(r)
		ok := x.within(p, plies-1, attacker)
		p.Undo()
		if !ok {
			return false
		}
	}
	return true
}
