package endgame

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	"kirin/mcts"
	"kirin/mcts/mate"
	"kirin/rules"
)

// Options are those of a Checker.
type Options struct {
	// Simulations of each search; where the move chosen is not seen to keep the value,
	// the search is tried again with Factor times as many, up to MostSimulations.
	Simulations     int
	MostSimulations int
	// Within is the length of the plain search that solves random endgames, in plies.
	Within int
	// Nodes bounds that plain search; one that confirms a chosen move has ten times as
	// many.
	Nodes int64
	// MateNodes and MatePlies bound the mate search at the leaves of the second search.
	MateNodes int64
	MatePlies int
}

// DefaultOptions are those of a quick check.
func DefaultOptions() Options {
	return Options{Simulations: 5000, MostSimulations: 320_000, Within: 9, Nodes: 100_000, MateNodes: 300, MatePlies: 3}
}

// Validate reports every fault at once.
func (o Options) Validate() error {
	var errs []error
	for _, f := range []struct {
		key string
		n   int64
	}{{"simulations", int64(o.Simulations)}, {"most_simulations", int64(o.MostSimulations)}, {"within", int64(o.Within)}, {"nodes", o.Nodes}, {"mate_nodes", o.MateNodes}, {"mate_plies", int64(o.MatePlies)}} {
		if f.n < 1 {
			errs = append(errs, fmt.Errorf("%s: %d is below 1", f.key, f.n))
		}
	}
	return errors.Join(errs...)
}

// Factor is the growth of the budget from one try to the next.
const Factor = 8

// tries is the most tries that a Tally tells apart.
const tries = 6

// Tally counts what a Checker has seen.
type Tally struct {
	Endgames int `json:"endgames"`
	Proofs   int `json:"proofs"` // searches by the tree alone that ended with a proof, all replayed
	Solved   int `json:"solved"` // endgames whose value is known
	Wins     int `json:"wins"`   // of these, won for the side to move
	Proven   int `json:"proven"` // solved endgames that the tree alone proved
	Mated    int `json:"mated"`  // and with the mate search
	// Kept counts the solved endgames in which the move chosen keeps the value, by
	// the try that chose it: with Simulations, Factor times as many, and so on.
	Kept     [tries]int `json:"kept"`
	Open     int        `json:"open"`     // where it may: no win is found after it within some plies more, but no refutation either
	Missed   int        `json:"missed"`   // where it does not, with the most simulations either
	Wrong    int        `json:"wrong"`    // proofs that do not hold
	Repeated int        `json:"repeated"` // proofs of endgames that nobody wins by force: by a rule of repetition, which the known values leave out
}

// confirm is how many plies longer than the shortest win a chosen move may take to
// be confirmed by the plain search.
const confirm = 6

// Add adds the counts of b.
func (a *Tally) Add(b Tally) {
	a.Endgames += b.Endgames
	a.Proofs += b.Proofs
	a.Solved += b.Solved
	a.Wins += b.Wins
	a.Proven += b.Proven
	a.Mated += b.Mated
	for i, n := range b.Kept {
		a.Kept[i] += n
	}
	a.Open += b.Open
	a.Missed += b.Missed
	a.Wrong += b.Wrong
	a.Repeated += b.Repeated
}

// Checker searches endgames of one game. It is not safe for concurrent use.
type Checker struct {
	v      *rules.Variant
	o      Options
	plain  *mate.Endgame
	deep   *mate.Endgame
	solver *mate.Solver
	trees  [2]*mcts.Tree
	logits []float32

	Tally Tally
	// Tell, if set, is told of each wrong proof, and of each move that misses or may
	// miss the value.
	Tell func(text string)
}

// NewChecker returns a checker. o must be valid.
func NewChecker(v *rules.Variant, o Options) *Checker {
	gumbel, puct := mcts.DefaultOptions(), mcts.DefaultOptions()
	gumbel.Considered = v.MaxMoves() // equal priors do not tell which moves are worth a look
	puct.Algorithm = mcts.PUCT
	return &Checker{
		v: v, o: o, plain: mate.NewEndgame(o.Nodes), deep: mate.NewEndgame(10 * o.Nodes),
		solver: mate.New(mate.Options{Nodes: o.MateNodes, TableBytes: 1 << 16, MaxPly: o.MatePlies}),
		trees:  [2]*mcts.Tree{mcts.NewTree(gumbel, v.MaxMoves()), mcts.NewTree(puct, v.MaxMoves())},
		logits: make([]float32, v.MaxMoves()),
	}
}

// Random checks the random endgame with the given number: even numbers with Gumbel
// search, odd ones with PUCT.
func (c *Checker) Random(seed, number uint64) error {
	p, err := Random(c.v, rand.New(rand.NewPCG(number, seed)))
	if err != nil {
		return err
	}
	end, err := c.plain.Solve(p, c.o.Within)
	if err != nil {
		return err
	}
	end.Known = end.Known && (end.Never || end.Plies <= c.o.Within && end.Plies >= -c.o.Within)
	return c.check(p, c.trees[number&1], end, c.o.Within)
}

// File checks the endgame rows of a stream with the given name, in the format of
// mate.CheckFile.
func (c *Checker) File(in io.Reader, name string) error {
	return mate.ReadRows(in, name, c.v, func(r mate.Row) error {
		if r.Kind != "endgame" {
			return nil
		}
		end := mate.Ending{Known: true, Never: r.Never, Plies: r.Plies, First: r.First}
		return c.check(r.Position, c.trees[c.Tally.Endgames&1], end, max(r.Plies, -r.Plies))
	})
}

// check searches p, whose value is end.
func (c *Checker) check(p *rules.Position, tree *mcts.Tree, end mate.Ending, plies int) error {
	c.Tally.Endgames++
	want := rules.Ongoing
	if end.Known && !end.Never {
		if want = rules.Winner(p.Side().Other()); end.Plies > 0 {
			want = rules.Winner(p.Side())
			c.Tally.Wins++
		}
	}
	if end.Known {
		c.Tally.Solved++
	}
	c.search(tree, p, c.o.Simulations, false)
	if out, proven := tree.Proven(); proven {
		c.Tally.Proofs++
		if err := tree.CheckProof(p); err != nil {
			c.Tally.Wrong++
			c.tell("%s: %v", p.SFEN(), err)
			return nil
		}
		if !c.agrees(p, out, want, end) {
			return nil
		}
		switch {
		case end.Known && end.Never:
			c.Tally.Repeated++
		case end.Known:
			c.Tally.Proven++
		}
	}
	if !end.Known {
		return nil
	}
	for i, sims := 0, c.o.Simulations; ; i, sims = i+1, sims*Factor {
		c.search(tree, p, sims, true)
		if out, proven := tree.Proven(); proven {
			if !c.agrees(p, out, want, end) {
				return nil
			}
			if i == 0 && !end.Never {
				c.Tally.Mated++
			}
		}
		var m rules.Move
		if best := tree.Best(); best >= 0 {
			m = tree.RootMoves()[best]
		}
		status, err := c.keeps(p, m, end, plies)
		switch {
		case err != nil:
			return err
		case status == mate.Mate:
			c.Tally.Kept[min(i, tries-1)]++
			return nil
		case sims <= c.o.MostSimulations/Factor:
			continue
		case status == mate.Unknown:
			c.Tally.Open++
			c.tell("%s, won in %d plies: plays %s, not confirmed", p.SFEN(), end.Plies, p.FormatMove(m))
		default:
			c.Tally.Missed++
			c.tell("%s, %d plies: plays %s, which does not keep the value", p.SFEN(), end.Plies, p.FormatMove(m))
		}
		return nil
	}
}

// agrees tells whether the result proven is the known one, and counts if not.
func (c *Checker) agrees(p *rules.Position, out rules.Outcome, want rules.Result, end mate.Ending) bool {
	if !end.Known || end.Never || out.Result == want {
		return true
	}
	c.Tally.Wrong++
	c.tell("%s: proven %v, known %v in %d plies", p.SFEN(), out.Result, want, max(end.Plies, -end.Plies))
	return false
}

// keeps tells whether the move m of p keeps its value: Mate if it does, NoMate if
// not.
func (c *Checker) keeps(p *rules.Position, m rules.Move, end mate.Ending, plies int) (mate.Status, error) {
	if m == rules.NoMove || !end.Never && end.Plies <= 0 { // every move keeps a loss
		return mate.Mate, nil
	}
	if !end.Never {
		status, err := c.deep.Wins(p, m, plies+confirm)
		if err != nil || status == mate.Mate {
			return status, err
		}
	}
	p.Do(m)
	after, err := c.deep.Solve(p, plies)
	p.Undo()
	switch {
	case err != nil:
		return mate.Unknown, err
	case after.Known && (!after.Never && after.Plies > 0 || after.Never && !end.Never):
		return mate.NoMate, nil
	case end.Never:
		return mate.Mate, nil
	}
	return mate.Unknown, nil
}

func (c *Checker) tell(format string, a ...any) {
	if c.Tell != nil {
		c.Tell(fmt.Sprintf(format, a...))
	}
}

// search runs one search; with mates, leaves are looked at for a short mate first.
func (c *Checker) search(tree *mcts.Tree, p *rules.Position, sims int, mates bool) {
	tree.Reset(p, sims, nil)
	for {
		leaf, moves, ok := tree.Next(p)
		if !ok {
			return
		}
		var found mate.Result
		if mates {
			found = c.solver.Solve(p)
		}
		won := rules.Outcome{Result: rules.Winner(p.Side()), Reason: rules.MateProven}
		tree.Unwind(p)
		switch {
		case found.Status == mate.Mate && tree.Nodes() == 1:
			tree.ProveMove(found.First[0], won, found.Plies)
		case found.Status == mate.Mate:
			tree.Prove(leaf, won, found.Plies)
		default:
			tree.Expand(leaf, c.logits[:len(moves)], rules.Value{Draw: 1})
		}
	}
}
