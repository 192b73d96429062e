package mcts

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"kirin/rules"
)

// smallGames gives random positions of three games that minimax can solve.
func smallGames(rng *rand.Rand) []Game {
	piles := make([]int, 1+rng.IntN(3))
	for i := range piles {
		piles[i] = rng.IntN(4)
	}
	t := &tictactoe{}
	for range 1 + rng.IntN(5) {
		moves := t.AppendMoves(nil)
		if t.Outcome(len(moves)).Result != rules.Ongoing {
			break
		}
		t.Do(moves[rng.IntN(len(moves))])
	}
	return []Game{&nim{piles: piles}, t, randomWalk(rng, 2+rng.IntN(5))}
}

func TestProvenValuesAreExact(t *testing.T) {
	for _, algorithm := range []string{Gumbel, PUCT} {
		t.Run(algorithm, func(t *testing.T) {
			tree := NewTree(options(algorithm), 16)
			rng := rand.New(rand.NewPCG(1, 2))
			proven := 0
			for i := range 200 {
				for _, g := range smallGames(rng) {
					var noise *rand.Rand
					if i%2 == 0 {
						noise = rng
					}
					f := uniform
					if i%3 == 0 {
						f = random
					}
					search(tree, g, 1+rng.IntN(300), noise, f)
					want := minimax(g)
					if out, ok := tree.Proven(); ok {
						proven++
						if got := proofOf(out, g.Side()); got != want {
							t.Fatalf("%T %+v: proven %d, exact %d", g, g, got, want)
						}
						if best := tree.Best(); best >= 0 {
							checkMove(t, g, tree.RootMoves()[best], want)
						}
					}
					for m := range tree.RootMoves() {
						out, _, ok := tree.MoveProven(m)
						if !ok {
							continue
						}
						g.Do(tree.RootMoves()[m])
						if got, want := proofOf(out, g.Side()), minimax(g); got != want {
							t.Fatalf("%T %+v: move proven %d, exact %d", g, g, got, want)
						}
						g.Undo()
					}
					checkSums(t, tree)
				}
			}
			if proven < 200 {
				t.Errorf("only %d of 600 searches ended with a proof", proven)
			}
		})
	}
}

// checkMove fails if the move does not keep the exact value want.
func checkMove(t *testing.T, g Game, m rules.Move, want proof) {
	t.Helper()
	g.Do(m)
	got := proofWin + proofLoss - minimax(g)
	g.Undo()
	if got != want {
		t.Fatalf("%T %+v: move %d gives %d, exact value %d", g, g, m, got, want)
	}
}

// checkSums recomputes every node's sums from its children.
func checkSums(t *testing.T, tree *Tree) {
	t.Helper()
	for n := root; int(n) < len(tree.nodes); n++ {
		nd := &tree.nodes[n]
		if nd.proof != unproven || nd.state != expanded {
			continue
		}
		own := (1 + float64(nd.ownWin) - float64(nd.ownLoss)) / 2
		want := share{float64(nd.ownWin), float64(nd.ownLoss), own * own, 1}
		visits, open := int32(1), uint16(0)
		for _, e := range tree.edges[nd.first : nd.first+int32(nd.count)] {
			if e.child == 0 {
				open++
				continue
			}
			c := &tree.nodes[e.child]
			s := c.share().flip()
			want = share{want.win + s.win, want.loss + s.loss, want.square + s.square, want.weight + s.weight}
			visits += c.visits
			if c.proof == unproven {
				open++
			}
		}
		d := (share{nd.win, nd.loss, nd.square, nd.weight}).minus(want)
		if math.Abs(d.win)+math.Abs(d.loss)+math.Abs(d.square) > 1e-6 || d.weight != 0 || visits != nd.visits || open != nd.open {
			t.Fatalf("node %d holds %+v, its children give %+v, visits %d, open %d", n, *nd, want, visits, open)
		}
	}
}

func TestUniformSearchKeepsTheValueOfSmallGames(t *testing.T) {
	for _, c := range []struct {
		algorithm string
		sims      int
	}{{Gumbel, 30000}, {PUCT, 10000}} {
		t.Run(fmt.Sprintf("%s with %d simulations", c.algorithm, c.sims), func(t *testing.T) {
			tree := NewTree(options(c.algorithm), 16)
			rng := rand.New(rand.NewPCG(3, 4))
			for range 80 {
				for _, g := range smallGames(rng) {
					search(tree, g, c.sims, nil, uniform)
					if best := tree.Best(); best >= 0 {
						checkMove(t, g, tree.RootMoves()[best], minimax(g))
					}
				}
			}
		})
	}
}

func TestSearchSolvesTicTacToeAsADraw(t *testing.T) {
	for _, algorithm := range []string{Gumbel, PUCT} {
		tree := NewTree(options(algorithm), 9)
		search(tree, &tictactoe{}, 100000, nil, uniform)
		if out, ok := tree.Proven(); !ok || out.Result != rules.Draw || out.Reason != rules.MateProven {
			t.Errorf("%s: proven %v %v after %d simulations", algorithm, out, ok, tree.Started())
		}
		if v := tree.RootValue(); v != (rules.Value{Draw: 1}) {
			t.Errorf("%s: root value %v", algorithm, v)
		}
	}
}

func TestARefutedMoveIsNotAveraged(t *testing.T) {
	// X has two in a row; O must block at 3. Every other move of O is refuted by one reply.
	g := &tictactoe{own: [2]uint{0b000000011, 0b000010000}, side: rules.Gote}
	for _, algorithm := range []string{Gumbel, PUCT} {
		tree := NewTree(options(algorithm), 9)
		search(tree, g, 60, nil, uniform)
		if m := tree.RootMoves()[tree.Best()]; m != 3 {
			t.Errorf("%s plays %d", algorithm, m)
		}
		if out, ok := tree.Proven(); ok && out.Result != rules.Draw {
			t.Errorf("%s proves %v", algorithm, out)
		}
		for i, m := range tree.RootMoves() {
			if v := tree.Value(i); m != 3 && tree.Visits(i) > 2 && v.Loss != 1 {
				t.Errorf("%s: move %d is worth %v after %d visits", algorithm, m, v, tree.Visits(i))
			}
		}
		if q := tree.RootValue().Score(); q < 0.45 {
			t.Errorf("%s: root value %v carries refuted moves", algorithm, q)
		}
	}
}

func TestCheckProofFindsAWrongProof(t *testing.T) {
	g := &nim{piles: []int{1, 2}}
	tree := NewTree(options(PUCT), 16)
	search(tree, g, 300, nil, uniform)
	if err := tree.CheckProof(g); err != nil {
		t.Fatal(err)
	}
	if _, ok := tree.Proven(); !ok {
		t.Fatal("Nim 1-2 is not proven")
	}
	tree.nodes[root].proof = proofLoss
	if err := tree.CheckProof(g); !errors.Is(err, ErrProof) {
		t.Errorf("a lost root with a winning move gives %v", err)
	}
	tree.nodes[root].proof = proofWin
	for i := range tree.nodes[2:] {
		if nd := &tree.nodes[i+2]; nd.proof == proofLoss && nd.count == 0 {
			nd.proof = proofWin
		}
	}
	if err := tree.CheckProof(g); !errors.Is(err, ErrProof) {
		t.Errorf("a finished game with the wrong result gives %v", err)
	}
}
