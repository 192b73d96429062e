package mcts

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"kirin/rules"
)

// wide is a game of one ply after another with the same number of moves and no
// end: what a search does with it depends on the evaluator alone.
type wide struct {
	count int
	path  []rules.Move
	key   uint64
}

func (g *wide) AppendMoves(dst []rules.Move) []rules.Move {
	for i := range g.count {
		dst = append(dst, rules.Move(i+1))
	}
	return dst
}

func (g *wide) Do(m rules.Move)           { g.path = append(g.path, m) }
func (g *wide) Undo()                     { g.path = g.path[:len(g.path)-1] }
func (g *wide) Outcome(int) rules.Outcome { return rules.Outcome{} }
func (g *wide) Side() rules.Side          { return rules.Side(len(g.path) & 1) }

func (g *wide) CacheKey() uint64 {
	key := g.key
	for _, m := range g.path {
		key = mix(key) + uint64(m)
	}
	return key
}

func TestHalvingSharesTheBudgetOut(t *testing.T) {
	tree := NewTree(DefaultOptions(), 40)
	g := &wide{count: 40}
	search(tree, g, 64, rand.New(rand.NewPCG(1, 1)), uniform)
	var visits []int
	for i := range tree.RootMoves() {
		if n := tree.Visits(i); n > 0 {
			visits = append(visits, n)
		}
	}
	slices.Sort(visits)
	// 16 moves once, 8 twice more, 4 four times more, 2 eight times more.
	want := []int{1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 7, 7, 15, 15}
	if !slices.Equal(visits, want) {
		t.Errorf("visits %v, want %v", visits, want)
	}
	if tree.Visits(tree.Best()) != 15 {
		t.Errorf("the move played has %d visits", tree.Visits(tree.Best()))
	}
}

func TestGumbelSamplesMovesByTheirPolicy(t *testing.T) {
	const n = 20000
	logits := []float32{0, 1, 2, -1, 0.5}
	sum := 0.0
	for _, x := range logits {
		sum += math.Exp(float64(x))
	}
	tree := NewTree(DefaultOptions(), 5)
	rng := rand.New(rand.NewPCG(5, 6))
	counts := make([]float64, len(logits))
	g := &wide{count: 5}
	for range n {
		search(tree, g, 1, rng, func(g Game, m []rules.Move, l []float32) rules.Value {
			copy(l, logits)
			return rules.Value{Draw: 1}
		})
		counts[tree.Best()]++
	}
	for i, x := range logits {
		p := math.Exp(float64(x)) / sum
		if d := math.Abs(counts[i]/n - p); d > 4*math.Sqrt(p*(1-p)/n) {
			t.Errorf("move %d is played with %.4f, its policy is %.4f", i, counts[i]/n, p)
		}
	}
}

func TestImprovedPolicyIsThePapersFormula(t *testing.T) {
	tree := NewTree(DefaultOptions(), 20)
	g := &wide{count: 20}
	search(tree, g, 50, rand.New(rand.NewPCG(7, 8)), random)
	logits := make([]float32, 20)
	v := random(g, nil, logits)
	sum := 0.0
	for _, x := range logits {
		sum += math.Exp(float64(x))
	}
	most, total, weighted, mass := 0.0, 0.0, 0.0, 0.0
	for i := range 20 {
		n := float64(tree.Visits(i))
		most = max(most, n)
		total += n
		if n > 0 {
			p := math.Exp(float64(logits[i])) / sum
			mass += p
			weighted += p * float64(tree.Q(i))
		}
	}
	mixed := (float64(v.Score()) + total*weighted/mass) / (1 + total)
	want := make([]float64, 20)
	z := 0.0
	for i := range want {
		q := mixed
		if tree.Visits(i) > 0 {
			q = float64(tree.Q(i))
		} else if math.Abs(float64(tree.Q(i))-mixed) > 1e-6 {
			t.Fatalf("the unvisited move %d is worth %v, mixed value %v", i, tree.Q(i), mixed)
		}
		want[i] = math.Exp(float64(logits[i]) + (50+most)*q)
		z += want[i]
	}
	got := make([]float32, 20)
	tree.ImprovedPolicy(got)
	value := 0.0
	for i := range want {
		if math.Abs(float64(got[i])-want[i]/z) > 1e-5 {
			t.Errorf("move %d: target %v, want %v", i, got[i], want[i]/z)
		}
		value += want[i] / z * float64(tree.Q(i))
	}
	if d := float64(tree.RootValue().Score()) - value; math.Abs(d) > 1e-5 {
		t.Errorf("root value %v, want %v", tree.RootValue().Score(), value)
	}
}

func TestInteriorVisitsFollowTheImprovedPolicy(t *testing.T) {
	tree := NewTree(DefaultOptions(), 6)
	g := &wide{count: 6}
	tree.Reset(g, 4000, nil)
	finishSearch(tree, g, random)
	// The most visited inner node: its visits are its policy within one visit a move.
	n := tree.rootEdge(tree.Best()).child
	nd := &tree.nodes[n]
	_, s := tree.survey(n, nil)
	mixed := nd.mixed(s)
	z := 0.0
	policy := make([]float64, len(tree.scratch))
	for i, v := range tree.scratch {
		policy[i] = v.prior * math.Exp(tree.o.sigma(s.most)*(v.q-mixed))
		z += policy[i]
	}
	for i, v := range tree.scratch {
		if d := policy[i]/z - float64(v.visits)/float64(s.visits); math.Abs(d) > 0.05 {
			t.Errorf("move %d: policy %.3f, visits %.3f of %d", v.slot, policy[i]/z, float64(v.visits)/float64(s.visits), s.visits)
		}
	}
}

func TestTiesFavourNoCorner(t *testing.T) {
	const n = 4000
	for _, c := range []struct {
		algorithm string
		sims      int
	}{{Gumbel, 0}, {Gumbel, 8}, {Gumbel, 30}, {PUCT, 1}, {PUCT, 30}} {
		tree := NewTree(options(c.algorithm), 9)
		var played, second [9]float64
		for i := range uint64(n) {
			g := &wide{count: 9, key: i}
			search(tree, g, c.sims, nil, uniform)
			played[tree.Best()]++
			if child := tree.rootEdge(tree.Best()).child; child != 0 {
				nd := &tree.nodes[child]
				first, reply := int32(math.MaxInt32), -1
				for j, e := range tree.edges[nd.first : nd.first+int32(nd.count)] {
					if e.child != 0 && e.child < first {
						first, reply = e.child, j
					}
				}
				if reply >= 0 {
					second[reply]++
				}
			}
		}
		chi := 0.0
		for _, x := range played {
			chi += (x - n/9.0) * (x - n/9.0) / (n / 9.0)
		}
		if chi > 30 { // 8 degrees of freedom: p = 0.0002
			t.Errorf("%s, %d simulations: moves played %v, chi square %.1f", c.algorithm, c.sims, played, chi)
		}
		if c.sims == 30 && slices.Min(second[:]) < n/9*8/10 {
			t.Errorf("%s: replies tried %v", c.algorithm, second)
		}
	}
}

func TestSearchesWithTheSameSeedAreEqual(t *testing.T) {
	for _, algorithm := range []string{Gumbel, PUCT} {
		g := &wide{count: 12}
		run := func() ([]float32, int) {
			tree := NewTree(options(algorithm), 12)
			search(tree, &tictactoe{}, 50, rand.New(rand.NewPCG(9, 9)), random)
			search(tree, g, 200, rand.New(rand.NewPCG(1, 2)), random)
			policy := make([]float32, 12)
			tree.ImprovedPolicy(policy)
			return policy, tree.Best()
		}
		p, a := run()
		q, b := run()
		if !slices.Equal(p, q) || a != b {
			t.Errorf("%s: %v %d and %v %d", algorithm, p, a, q, b)
		}
	}
}

func TestDirichletNoiseIsDrawnOnceASearch(t *testing.T) {
	tree := NewTree(options(PUCT), 30)
	g := &wide{count: 30}
	rng := rand.New(rand.NewPCG(4, 4))
	mean := make([]float64, 30)
	for range 500 {
		tree.Reset(g, 20, rng)
		leaf, moves, _ := tree.Next(g)
		tree.Unwind(g)
		tree.Expand(leaf, make([]float32, len(moves)), rules.Value{Draw: 1})
		before := slices.Clone(tree.noised)
		finishSearch(tree, g, uniform)
		if !slices.Equal(before, tree.noised) {
			t.Fatal("the noise changed during the search")
		}
		sum := 0.0
		for i, p := range before {
			sum += float64(p)
			mean[i] += (float64(p) - 0.75/30) / 0.25 / 500
		}
		if math.Abs(sum-1) > 1e-5 {
			t.Fatalf("noised priors sum to %v", sum)
		}
		if tree.Prior(3) != 1.0/30 {
			t.Fatalf("Prior carries the noise: %v", tree.Prior(3))
		}
	}
	for i, x := range mean {
		// The variance of one component is about (1/30)(29/30)/(10.83 + 1).
		if math.Abs(x-1.0/30) > 4*math.Sqrt(1.0/30/11.83/500) {
			t.Errorf("mean noise of move %d is %v", i, x)
		}
	}
}

// thirdIsGood answers that the move 3 is good and all others are bad.
func thirdIsGood(g Game, _ []rules.Move, _ []float32) rules.Value {
	w := g.(*wide)
	good := float32(0.5)
	if len(w.path) > 0 {
		good = 0.1
		if w.path[0] == 3 {
			good = 0.9
		}
	}
	if len(w.path)%2 == 1 {
		good = 1 - good
	}
	return rules.Value{Win: good, Loss: 1 - good}
}

func TestForcedPlayoutsAreTakenOutOfTheTarget(t *testing.T) {
	o := options(PUCT)
	o.FPURoot = -1 // visits every move first
	tree := NewTree(o, 8)
	g := &wide{count: 8}
	search(tree, g, 800, rand.New(rand.NewPCG(2, 3)), thirdIsGood)
	policy := make([]float32, 8)
	tree.ImprovedPolicy(policy)
	for i := range policy {
		least := math.Floor(math.Sqrt(2 * float64(tree.noised[i]) * 800))
		if i != 2 && float64(tree.Visits(i)) < least-1 {
			t.Errorf("move %d has %d visits, forced are %v", i, tree.Visits(i), least)
		}
	}
	if policy[2] < 0.93 || float64(tree.Visits(2))/800 > float64(policy[2]) {
		t.Errorf("target %v with %d of 800 visits", policy, tree.Visits(2))
	}
	if tree.Best() != 2 {
		t.Errorf("plays %d", tree.Best())
	}
}

func TestForcedPlayoutsAreTakenOutWhateverTheOrderOfTheMoves(t *testing.T) {
	o := options(PUCT)
	o.ForcedPlayouts = 20 // so many that their number matters
	tree := NewTree(o, 12)
	for seed := range uint64(5) {
		search(tree, &wide{count: 12}, 800, rand.New(rand.NewPCG(seed, 3)), thirdIsGood)
		all, most := 0.0, 0
		for i := range 12 {
			all += float64(tree.Visits(i))
			if tree.Visits(i) > tree.Visits(most) {
				most = i
			}
		}
		c := (o.CPUCT + math.Log((1+all+o.CPUCTBase)/o.CPUCTBase)) * math.Sqrt(all)
		best := float64(tree.Q(most)) + c*float64(tree.noised[most])/(1+float64(tree.Visits(most)))
		want := make([]float64, 12)
		left := 0.0
		for i := range want {
			n, p := float64(tree.Visits(i)), float64(tree.noised[i])
			if want[i] = n; i != most && best > float64(tree.Q(i)) {
				least := max(n-math.Floor(math.Sqrt(o.ForcedPlayouts*p*all)), math.Ceil(c*p/(best-float64(tree.Q(i)))-1), 0)
				if want[i] = min(least, n); want[i] <= 1 {
					want[i] = 0
				}
			}
			left += want[i]
		}
		policy := make([]float32, 12)
		tree.ImprovedPolicy(policy)
		for i := range want {
			if math.Abs(want[i]/left-float64(policy[i])) > 1e-6 {
				t.Errorf("seed %d: move %d has the share %v, want %v", seed, i, policy[i], want[i]/left)
			}
		}
	}
}

func TestRefutedMovesAreNoTargetWhileAnotherIsLeft(t *testing.T) {
	lost := rules.Outcome{Result: rules.GoteWins, Reason: rules.MateProven}
	for _, noise := range []bool{false, true} {
		tree := NewTree(options(PUCT), 4)
		g := &wide{count: 4}
		rng := rand.New(rand.NewPCG(5, 5))
		source := rng
		if !noise {
			source = nil
		}
		search(tree, g, 0, source, func(_ Game, _ []rules.Move, l []float32) rules.Value {
			copy(l, []float32{1, 5, 0, 4})
			return rules.Value{Draw: 1}
		})
		policy := make([]float32, 4)
		for _, slot := range []int{1, 3, 0} {
			if !tree.ProveMove(tree.RootMoves()[slot], lost, 2) {
				t.Fatal("the move is not known")
			}
			tree.ImprovedPolicy(policy)
			sum := float32(0)
			for i, p := range policy {
				sum += p
				if _, _, refuted := tree.MoveProven(i); refuted && p != 0 || !refuted && p <= 0 {
					t.Errorf("noise %v: target %v after %d", noise, policy, slot)
				}
			}
			if _, _, refuted := tree.MoveProven(tree.Best()); refuted || math.Abs(float64(sum)-1) > 1e-6 {
				t.Errorf("noise %v: plays %d, target %v", noise, tree.Best(), policy)
			}
			if _, _, refuted := tree.MoveProven(tree.Sample(rng, 1)); refuted {
				t.Errorf("noise %v: a refuted move is drawn", noise)
			}
		}
	}
}

func TestSampleFollowsTheTarget(t *testing.T) {
	tree := NewTree(options(PUCT), 6)
	g := &wide{count: 6}
	search(tree, g, 300, nil, random)
	policy := make([]float32, 6)
	tree.ImprovedPolicy(policy)
	rng := rand.New(rand.NewPCG(1, 7))
	const n = 20000
	counts := make([]float64, 6)
	for range n {
		counts[tree.Sample(rng, 1)]++
	}
	for i, p := range policy {
		if d := math.Abs(counts[i]/n - float64(p)); d > 0.015 {
			t.Errorf("move %d drawn with %.3f, target %.3f", i, counts[i]/n, p)
		}
	}
	if tree.Sample(rng, 0) != tree.Best() {
		t.Error("temperature 0 does not play the best move")
	}
}

func TestSearchDoesNotAllocate(t *testing.T) {
	for _, algorithm := range []string{Gumbel, PUCT} {
		tree := NewTree(options(algorithm), 30)
		g := &wide{count: 30, path: make([]rules.Move, 0, 300)}
		logits := make([]float32, 30)
		rng := rand.New(rand.NewPCG(1, 2))
		policy := make([]float32, 30)
		pv := make([]rules.Move, 0, 300)
		run := func() {
			tree.Reset(g, 200, rng)
			for {
				leaf, _, ok := tree.Next(g)
				if !ok {
					break
				}
				v := random(g, nil, logits)
				tree.Unwind(g)
				tree.Expand(leaf, logits, v)
			}
			tree.ImprovedPolicy(policy)
			tree.Best()
			tree.RootValue()
			pv = tree.PV(pv[:0])
		}
		run()
		if n := testing.AllocsPerRun(20, run); n != 0 {
			t.Errorf("%s: %v allocations in a search", algorithm, n)
		}
	}
}

func TestTheFastExponentialIsCloseToTheExactOne(t *testing.T) {
	for x := 0.0; x > -87; x -= 0.00137 {
		if got, want := expNegative(x), math.Exp(x); math.Abs(got-want) > 1e-8*want {
			t.Fatalf("exp(%v) is %v, not %v", x, want, got)
		}
	}
	if expNegative(0) != 1 || expNegative(-1e30) != 0 {
		t.Error("the ends are wrong")
	}
}
