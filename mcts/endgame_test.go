package mcts

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"kirin/mcts/mate"
	"kirin/rules"
)

var (
	endgames = flag.Int("endgames", 200, "random minishogi endgames to solve")
	within   = flag.Int("within", 5, "plies of the plain search that they are compared with")
)

// randomEndgame is a minishogi position of two kings and 2 to 4 other pieces, on
// the board or in hand.
func randomEndgame(v *rules.Variant, rng *rand.Rand) *rules.Position {
	for {
		board := make([]string, 25)
		place := func(s string) {
			for {
				if i := rng.IntN(25); board[i] == "" {
					board[i] = s
					return
				}
			}
		}
		place("K")
		place("k")
		hands := map[string]int{}
		bag := []string{"R", "R", "B", "B", "G", "G", "S", "S", "P", "P"}
		rng.Shuffle(len(bag), func(i, j int) { bag[i], bag[j] = bag[j], bag[i] })
		for _, s := range bag[:2+rng.IntN(3)] {
			if rng.IntN(2) == 0 {
				s = strings.ToLower(s)
			}
			switch up := strings.ToUpper(s) != "G" && rng.IntN(4) == 0; {
			case rng.IntN(3) == 0:
				hands[s]++
			case up:
				place("+" + s)
			default:
				place(s)
			}
		}
		var b strings.Builder
		for r := range 5 {
			if r > 0 {
				b.WriteByte('/')
			}
			for _, s := range board[5*r : 5*r+5] {
				if s == "" {
					s = "1"
				}
				b.WriteString(s)
			}
		}
		hand := ""
		for _, s := range strings.Split("RBGSPrbgsp", "") {
			if n := hands[s]; n > 1 {
				hand += fmt.Sprint(n)
			}
			if hands[s] > 0 {
				hand += s
			}
		}
		if hand == "" {
			hand = "-"
		}
		sfen := strings.NewReplacer("11111", "5", "1111", "4", "111", "3", "11", "2").Replace(b.String())
		p, err := v.ParseSFEN(sfen + " " + string("bw"[rng.IntN(2)]) + " " + hand + " 1")
		if err == nil {
			return p
		}
	}
}

// checkProof fails unless the proof of node n follows from the rules: a finished
// game, a lost reply, or all replies.
func checkProof(t *testing.T, tree *Tree, p *rules.Position, n int32) {
	t.Helper()
	nd := &tree.nodes[n]
	moves := p.AppendMoves(nil)
	if out := p.Outcome(len(moves)); out.Result != rules.Ongoing {
		if proofOf(out, p.Side()) != nd.proof {
			t.Fatalf("%s: %v, but proven %d", p.SFEN(), out, nd.proof)
		}
		return
	}
	if !slices.Equal(moves, tree.moves[nd.first:nd.first+int32(nd.count)]) {
		t.Fatalf("%s: the tree has other moves", p.SFEN())
	}
	seen := map[proof]int{}
	for i, m := range moves {
		e := tree.edges[int(nd.first)+i]
		if e.child == 0 {
			seen[unproven]++
			continue
		}
		c := tree.nodes[e.child].proof
		seen[c]++
		// A won position needs its lost reply only.
		if c == unproven || nd.proof == proofWin && c != proofLoss {
			continue
		}
		p.Do(m)
		checkProof(t, tree, p, e.child)
		p.Undo()
	}
	want := unproven
	switch {
	case seen[proofLoss] > 0:
		want = proofWin
	case seen[unproven] > 0:
	case seen[proofDraw] > 0:
		want = proofDraw
	default:
		want = proofLoss
	}
	if nd.proof != want {
		t.Fatalf("%s: proven %d, its replies prove %d", p.SFEN(), nd.proof, want)
	}
}

// TestMinishogiEndgamesAreProvenRightly searches random endgames with equal priors
// and even values, half of them with a mate search of three plies at the leaves, and
// compares with a plain search of the given length. Long mode:
//
//	go test ./mcts -run Endgames -v -timeout 0 -endgames 10000 -within 9
func TestMinishogiEndgamesAreProvenRightly(t *testing.T) {
	const sims = 5000
	v, err := rules.Load("minishogi")
	if err != nil {
		t.Fatal(err)
	}
	seeds := make(chan uint64)
	counts := make(chan endgameCount)
	for range runtime.GOMAXPROCS(0) {
		go func() {
			var c endgameCount
			defer func() { counts <- c }()
			e := newEndgameTester(v)
			for seed := range seeds {
				e.try(t, seed, sims, &c)
			}
		}()
	}
	total := *endgames
	if invariants { // slow
		total /= 5
	}
	for i := range uint64(total) {
		seeds <- i
	}
	close(seeds)
	var c endgameCount
	for range runtime.GOMAXPROCS(0) {
		d := <-counts
		c = endgameCount{c.proofs + d.proofs, c.solved + d.solved, c.proven + d.proven, c.mated + d.mated, c.unsettled + d.unsettled}
	}
	t.Logf("%d endgames, %d simulations: %d proven, all rightly; of %d solved within %d plies %d proven, with mate search %d of %d; %d moves not confirmed to win",
		total, sims, c.proofs, c.solved, *within, c.proven, c.mated, c.solved, c.unsettled)
	if c.solved < total/10 || *within <= 5 && (c.proven < c.solved*3/4 || c.mated < c.solved*4/5 || c.unsettled > c.solved/10) {
		t.Errorf("%+v", c)
	}
}

type endgameCount struct {
	proofs    int // searches that ended with a proof
	solved    int // endgames that the plain search solved
	proven    int // of these, proven by the tree alone
	mated     int // and with the mate search
	unsettled int // moves of the latter in won positions that a deeper plain search cannot confirm to win
}

type endgameTester struct {
	v      *rules.Variant
	plain  *mate.Endgame
	deep   *mate.Endgame
	solver *mate.Solver
	trees  [2]*Tree
	logits []float32
}

func newEndgameTester(v *rules.Variant) *endgameTester {
	all := options(Gumbel)
	all.Considered = v.MaxMoves() // equal priors do not tell which moves are worth a look
	return &endgameTester{
		v: v, plain: mate.NewEndgame(100_000), deep: mate.NewEndgame(1_000_000),
		solver: mate.New(mate.Options{Nodes: 300, TableBytes: 1 << 16, MaxPly: 3}),
		trees:  [2]*Tree{NewTree(all, v.MaxMoves()), NewTree(options(PUCT), v.MaxMoves())},
		logits: make([]float32, v.MaxMoves()),
	}
}

// search is a search with even answers; with mates, leaves are looked at for a mate
// in three first.
func (e *endgameTester) search(tree *Tree, p *rules.Position, sims int, mates bool) {
	tree.Reset(p, sims, nil)
	for {
		leaf, moves, ok := tree.Next(p)
		if !ok {
			return
		}
		out := rules.Outcome{}
		if mates && e.solver.Solve(p).Status == mate.Mate {
			out = rules.Outcome{Result: rules.Winner(p.Side()), Reason: rules.MateProven}
		}
		tree.Unwind(p)
		if out.Result != rules.Ongoing {
			tree.Prove(leaf, out)
		} else {
			tree.Expand(leaf, e.logits[:len(moves)], rules.Value{Draw: 1})
		}
	}
}

func (e *endgameTester) try(t *testing.T, seed uint64, sims int, c *endgameCount) {
	p := randomEndgame(e.v, rand.New(rand.NewPCG(seed, 5)))
	end, err := e.plain.Solve(p, *within)
	if err != nil {
		t.Error(err)
		return
	}
	solved := end.Known && !end.Never && end.Plies <= *within && end.Plies >= -*within
	want := proofLoss
	if end.Plies > 0 {
		want = proofWin
	}
	if solved {
		c.solved++
	}
	tree := e.trees[seed&1]
	for _, mates := range []bool{false, true} {
		e.search(tree, p, sims, mates)
		got := tree.nodes[root].proof
		if got != unproven {
			c.proofs++
			if !mates {
				checkProof(t, tree, p, root)
			}
		}
		switch {
		case !solved:
			return
		case got == want && mates:
			c.mated++
		case got == want:
			c.proven++
		case got != unproven:
			t.Errorf("%s: proven %d, %d plies by a plain search", p.SFEN(), got, end.Plies)
		}
	}
	if want == proofLoss || tree.nodes[root].proof != unproven { // every move keeps a loss
		return
	}
	m := tree.RootMoves()[tree.Best()]
	text := p.FormatMove(m)
	p.Do(m)
	after, err := e.deep.Solve(p, *within+3)
	switch {
	case err != nil:
		t.Error(err)
	case !after.Known:
		c.unsettled++
		t.Logf("%s, %d plies: %s plays %s, not confirmed to win", p.SFEN(), end.Plies, tree.o.Algorithm, text)
	case after.Never || after.Plies > 0:
		t.Errorf("%s, %d plies: plays %s", p.SFEN(), end.Plies, text)
	}
	p.Undo()
}
