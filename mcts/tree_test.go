package mcts

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kirin/rules"
)

func TestProveEndsTheSearch(t *testing.T) {
	tree := NewTree(DefaultOptions(), 9)
	g := &tictactoe{}
	tree.Reset(g, 100, nil)
	leaf, _, _ := tree.Next(g)
	tree.Prove(leaf, rules.Outcome{Result: rules.SenteWins, Reason: rules.MateProven}, 0)
	if _, _, ok := tree.Next(g); ok || !tree.Done() {
		t.Error("the search goes on")
	}
	out, ok := tree.Proven()
	if !ok || out.Result != rules.SenteWins || tree.RootValue().Win != 1 || tree.Pending() != 0 {
		t.Errorf("proven %v %v, value %v, pending %d", out, ok, tree.RootValue(), tree.Pending())
	}
	if best := tree.Best(); best < 0 || best >= 9 {
		t.Errorf("best %d", best)
	}
}

func TestProveOfALeafIsBackedUpExactly(t *testing.T) {
	for _, algorithm := range []string{Gumbel, PUCT} {
		tree := NewTree(options(algorithm), 4)
		g := &wide{count: 4}
		tree.Reset(g, 400, nil)
		for {
			leaf, moves, ok := tree.Next(g)
			if !ok {
				break
			}
			// Whoever plays 4 has lost; the first move 2 is a draw after any reply.
			out := rules.Outcome{}
			switch path := g.path; {
			case len(path) > 0 && path[len(path)-1] == 4:
				out = rules.Outcome{Result: rules.Winner(g.Side()), Reason: rules.MateProven}
			case len(path) == 2 && path[0] == 2:
				out = rules.Outcome{Result: rules.Draw, Reason: rules.MateProven}
			}
			tree.Unwind(g)
			if out.Result != rules.Ongoing {
				tree.Prove(leaf, out, 0)
			} else {
				tree.Expand(leaf, make([]float32, len(moves)), rules.Value{Draw: 1})
			}
		}
		checkSums(t, tree)
		for i, want := range []rules.Result{rules.Ongoing, rules.Draw, rules.Ongoing, rules.GoteWins} {
			out, plies, ok := tree.MoveProven(i)
			if ok != (want != rules.Ongoing) || ok && out.Result != want {
				t.Errorf("%s: move %d proven %v %v, want %v", algorithm, i+1, out, ok, want)
			}
			if i == 1 && plies != 2 {
				t.Errorf("%s: the draw is %d plies away", algorithm, plies)
			}
		}
	}
}

func TestProveMoveKeepsTheMove(t *testing.T) {
	tree := NewTree(DefaultOptions(), 9)
	g := &tictactoe{}
	tree.Reset(g, 100, nil)
	tree.Next(g)
	won := rules.Outcome{Result: rules.SenteWins, Reason: rules.MateProven}
	if !tree.ProveMove(5, won, 7) || !tree.ProveMove(3, won, 5) || tree.ProveMove(77, won, 1) {
		t.Error("ProveMove misjudges the moves")
	}
	if m := tree.RootMoves()[tree.Best()]; m != 3 || tree.nodes[root].distance != 7 {
		t.Errorf("best %d, %d plies", m, tree.nodes[root].distance)
	}
	policy := make([]float32, 9)
	tree.ImprovedPolicy(policy)
	if policy[4] != 0.5 || policy[2] != 0.5 {
		t.Errorf("target %v", policy)
	}
	if pv := tree.PV(nil); !slices.Equal(pv, []rules.Move{3}) {
		t.Errorf("line %v", pv)
	}
}

func TestAFinishedGameIsProvenAtOnce(t *testing.T) {
	g := &tictactoe{own: [2]uint{0o007, 0o030}, side: rules.Gote}
	tree := NewTree(DefaultOptions(), 9)
	tree.Reset(g, 10, nil)
	if _, _, ok := tree.Next(g); ok {
		t.Fatal("a finished game has a leaf")
	}
	out, ok := tree.Proven()
	if !ok || out != (rules.Outcome{Result: rules.SenteWins, Reason: rules.Checkmate}) || tree.Best() != -1 {
		t.Errorf("proven %v %v, best %d", out, ok, tree.Best())
	}
}

func TestTheDepthCountsSimulationsThatEndTheGameToo(t *testing.T) {
	for _, algorithm := range []string{Gumbel, PUCT} {
		tree := NewTree(options(algorithm), 4)
		// Two moves, after each of which the answer ends the game: two leaves at one ply, two ends at two.
		search(tree, &walk{next: [][]int{{1, 2}, {3}, {3}, {}}}, 10, nil, uniform)
		if average, deepest := tree.Depth(); average != 1.5 || deepest != 2 || tree.Started() != 4 {
			t.Errorf("%s: %d simulations, %v plies deep, at most %d", algorithm, tree.Started(), average, deepest)
		}
	}
}

func TestABudgetOfZeroIsTheEvaluationAlone(t *testing.T) {
	for _, algorithm := range []string{Gumbel, PUCT} {
		tree := NewTree(options(algorithm), 5)
		n := 0
		search(tree, &wide{count: 5}, 0, nil, func(g Game, m []rules.Move, l []float32) rules.Value {
			n++
			l[3] = 2
			return rules.Value{Win: 0.75, Loss: 0.25}
		})
		policy := make([]float32, 5)
		tree.ImprovedPolicy(policy)
		if n != 1 || tree.Best() != 3 || tree.RootValue().Win != 0.75 || policy[3] != tree.Prior(3) {
			t.Errorf("%s: %d evaluations, best %d, value %v, target %v", algorithm, n, tree.Best(), tree.RootValue(), policy)
		}
	}
}

func TestSeveralLeavesMayBePending(t *testing.T) {
	for _, algorithm := range []string{Gumbel, PUCT} {
		tree := NewTree(options(algorithm), 9)
		for seed := range uint64(20) {
			g := &tictactoe{salt: seed}
			tree.Reset(g, 300, nil)
			rng := rand.New(rand.NewPCG(seed, 1))
			type pending struct {
				leaf int32
				v    rules.Value
				n    int
			}
			var queue []pending
			seen := map[int32]bool{}
			for {
				leaf, moves, ok := tree.Next(g)
				if ok {
					if seen[leaf] {
						t.Fatalf("leaf %d is handed out twice", leaf)
					}
					seen[leaf] = true
					queue = append(queue, pending{leaf, random(g, nil, nil), len(moves)})
					tree.Unwind(g)
					if tree.Pending() != len(queue) {
						t.Fatalf("%d pending, %d handed out", tree.Pending(), len(queue))
					}
				} else if len(queue) == 0 {
					break
				}
				if len(g.done) != 0 {
					t.Fatal("the game is not back at the root")
				}
				if !ok || len(queue) == 8 {
					rng.Shuffle(len(queue), func(i, j int) { queue[i], queue[j] = queue[j], queue[i] })
					for _, p := range queue {
						tree.Expand(p.leaf, make([]float32, p.n), p.v)
					}
					queue = queue[:0]
				}
			}
			if !tree.Done() || tree.Pending() != 0 {
				t.Fatalf("%s: done %v, pending %d", algorithm, tree.Done(), tree.Pending())
			}
			checkSums(t, tree)
		}
	}
}

func TestAdvanceKeepsTheSubtree(t *testing.T) {
	for _, algorithm := range []string{Gumbel, PUCT} {
		tree := NewTree(options(algorithm), 9)
		g := &tictactoe{}
		search(tree, g, 2000, nil, random)
		for range 4 {
			if out, ok := tree.Proven(); ok && out.Result == rules.Ongoing {
				t.Fatal("proven without a result")
			}
			i := tree.Best()
			m := tree.RootMoves()[i]
			visits, value := tree.Visits(i), tree.Value(i)
			line := tree.Line(nil, i)
			g.Do(m)
			if !tree.Advance(m) {
				t.Fatal("nothing kept")
			}
			if got := int(tree.nodes[root].visits); got != visits || tree.nodes[root].value().Flip() != value {
				t.Errorf("%s: root has %d visits and value %v, the move had %d and %v", algorithm, got, tree.nodes[root].value(), visits, value)
			}
			if best := tree.Line(nil, 0); len(line) > 1 && !slices.Equal(tree.RootMoves(), g.AppendMoves(nil)) {
				t.Errorf("root moves %v, line %v", tree.RootMoves(), best)
			}
			checkSums(t, tree)
			tree.Resume(g, 300, nil)
			finishSearch(tree, g, random)
			checkSums(t, tree)
			if out, ok := tree.Proven(); ok && proofOf(out, g.Side()) != minimax(g) {
				t.Errorf("%s: proven %v", algorithm, out)
			}
		}
	}
}

func TestAdvanceByAnUnvisitedMoveEmptiesTheTree(t *testing.T) {
	tree := NewTree(DefaultOptions(), 20)
	g := &wide{count: 20}
	search(tree, g, 4, nil, uniform)
	i := 0
	for tree.Visits(i) > 0 {
		i++
	}
	g.Do(tree.RootMoves()[i])
	if tree.Advance(rules.Move(i + 1)) {
		t.Error("something is kept")
	}
	tree.Resume(g, 10, nil)
	finishSearch(tree, g, uniform)
	if tree.Best() < 0 || tree.Started() != 10 {
		t.Errorf("best %d after %d simulations", tree.Best(), tree.Started())
	}
}

func TestMemoryIsBounded(t *testing.T) {
	o := options(PUCT)
	o.MaxBytes = 100_000
	tree := NewTree(o, 30)
	g := &wide{count: 30}
	search(tree, g, 1_000_000, nil, random)
	if !tree.full || tree.Bytes() > o.MaxBytes || tree.Nodes() < 150 {
		t.Errorf("full %v, %d bytes, %d nodes", tree.full, tree.Bytes(), tree.Nodes())
	}
	if tree.Best() < 0 || tree.Pending() != 0 {
		t.Errorf("best %d, pending %d", tree.Best(), tree.Pending())
	}
	checkSums(t, tree)
}

func TestAnswersThatAreNotFiniteAreReplaced(t *testing.T) {
	nan := float32(math.NaN())
	for _, bad := range []func([]float32) rules.Value{
		func(l []float32) rules.Value { l[2] = nan; return rules.Value{Draw: 1} },
		func(l []float32) rules.Value { l[0] = float32(math.Inf(1)); return rules.Value{Draw: 1} },
		func(l []float32) rules.Value { l[0] = float32(math.Inf(-1)); return rules.Value{Draw: 1} },
		func(l []float32) rules.Value { return rules.Value{Win: nan} },
		func(l []float32) rules.Value { return rules.Value{Draw: float32(math.Inf(1))} },
	} {
		for _, algorithm := range []string{Gumbel, PUCT} {
			tree := NewTree(options(algorithm), 6)
			n := int64(0)
			search(tree, &wide{count: 6}, 50, nil, func(g Game, m []rules.Move, l []float32) rules.Value {
				n++
				return bad(l)
			})
			policy := make([]float32, 6)
			tree.ImprovedPolicy(policy)
			sum := float32(0)
			for _, p := range policy {
				sum += p
			}
			if math.Abs(float64(sum)-1) > 1e-5 || tree.Faults() != n || !finite(tree.RootValue().Score()) {
				t.Errorf("%s: target %v, %d faults of %d, value %v", algorithm, policy, tree.Faults(), n, tree.RootValue())
			}
		}
	}
}

func TestAWonGameIsEndedSooner(t *testing.T) {
	o := options(PUCT)
	tree := NewTree(o, 4)
	g := &wide{count: 4}
	tree.Reset(g, 400, nil)
	for {
		leaf, moves, ok := tree.Next(g)
		if !ok {
			break
		}
		win, left := float32(0.95), float32(60)
		if len(g.path) > 0 && g.path[0] == 3 {
			win, left = 0.945, 10
		}
		if len(g.path) > 0 && g.path[0] == 4 {
			win, left = 0.5, 2
		}
		v := rules.Value{Win: win, Loss: 1 - win}
		if len(g.path)%2 == 1 {
			v = v.Flip()
		}
		tree.Unwind(g)
		tree.ExpandPlies(leaf, make([]float32, len(moves)), v, left)
	}
	if m := tree.RootMoves()[tree.Best()]; m != 3 {
		t.Errorf("plays %d", m)
	}
}

func TestTheBoundPrefersTheSaferMove(t *testing.T) {
	o := options(PUCT)
	o.CPUCT = 3
	tree := NewTree(o, 2)
	g := &wide{count: 2}
	// Move 1 is worth 0.6 for certain, move 2 a noisy 0.62.
	search(tree, g, 60, nil, func(g Game, m []rules.Move, l []float32) rules.Value {
		w := g.(*wide)
		win := float32(0.6)
		if len(w.path) > 0 && w.path[0] == 2 {
			win = float32(mix(g.CacheKey())>>63) * 1.24
			win = min(win, 1)
		}
		if len(w.path)%2 == 1 {
			win = 1 - win
		}
		return rules.Value{Win: win, Loss: 1 - win}
	})
	if m := tree.RootMoves()[tree.Best()]; m != 1 {
		t.Errorf("plays %d: q %v and %v, visits %d and %d", m, tree.Q(0), tree.Q(1), tree.Visits(0), tree.Visits(1))
	}
}

func TestDefaultOptionsAreValid(t *testing.T) {
	if err := DefaultOptions().Validate(); err != nil {
		t.Error(err)
	}
}

func TestValidateReportsEveryFaultAtOnce(t *testing.T) {
	o := Options{Algorithm: "minimax", CVisit: math.NaN(), CheapShare: 2, MaxBytes: -1, ProgressiveGames: 5}
	err := o.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	lines := strings.Split(err.Error(), "\n")
	for _, key := range []string{"algorithm", "simulations", "considered", "cheap_simulations", "progressive_start", "max_bytes", "c_visit", "c_puct_base", "cheap_share"} {
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, key+": ") }) {
			t.Errorf("%s is not reported in\n%v", key, err)
		}
	}
	if len(lines) != 9 {
		t.Errorf("%d faults reported:\n%v", len(lines), err)
	}
}

func TestBudgetGrowsAndIsSometimesCheap(t *testing.T) {
	o := DefaultOptions()
	o.Simulations, o.ProgressiveStart, o.ProgressiveGames = 64, 16, 1000
	for game, want := range map[int64]int{0: 16, 500: 40, 1000: 64, 1 << 40: 64} {
		if sims, full := o.Budget(game, nil); sims != want || !full {
			t.Errorf("game %d: %d simulations, full %v, want %d", game, sims, full, want)
		}
	}
	o.CheapShare, o.CheapSimulations = 0.75, 12
	rng := rand.New(rand.NewPCG(1, 1))
	cheap := 0
	for range 10000 {
		sims, full := o.Budget(5000, rng)
		if full != (sims == 64) || !full && sims != 12 {
			t.Fatalf("%d simulations, full %v", sims, full)
		}
		if !full {
			cheap++
		}
	}
	if cheap < 7300 || cheap > 7700 {
		t.Errorf("%d of 10000 searches are cheap", cheap)
	}
}
