// Package mcts is a Monte-Carlo tree search that calls nobody: it hands out
// leaves and takes answers.
//
// A Tree lives in flat arrays that are reused from search to search; handles
// are int32 and 0 is nil. It starts no goroutine, takes no lock and allocates
// nothing per simulation once its arrays have grown to the size in use. One
// search is
//
//	t.Reset(g, sims, rng)
//	for {
//		leaf, moves, ok := t.Next(g) // g stands at the leaf
//		if !ok {
//			break
//		}
//		... an evaluator reads g and moves ...
//		t.Unwind(g)                   // g is back at the root
//		t.Expand(leaf, logits, value) // or t.Prove(leaf, outcome, plies)
//	}
//	move := t.RootMoves()[t.Best()]
//
// The evaluation of the root is the first leaf and is not counted among the
// sims simulations. Simulations that end in a finished game need no answer:
// Next runs them itself.
//
// # Algorithms
//
// "gumbel" is Gumbel AlphaZero (Danihelka, Guez, Schrittwieser, Silver:
// Policy improvement by planning with Gumbel, ICLR 2022): moves are sampled
// without replacement at the root by Gumbel noise, sequential halving spends
// the budget on them, the inner nodes are searched deterministically, and the
// policy target is softmax(logits + sigma(completed Q)). "puct" is AlphaZero's
// rule (Silver et al., Science 362, 2018) with first-play urgency, Dirichlet
// noise at the root and, from KataGo (Wu: Accelerating self-play learning in
// Go, 2019), forced playouts with target pruning and cheap searches.
//
// # Values
//
// Values are probabilities of win, draw and loss for the side to move, and
// sides alternate with every move. Their score, win + draw/2, lies in [0, 1];
// every constant of Options is meant for that scale.
//
// # Proven values
//
// A finished game is exact, and so is what follows from it: a node with one
// lost reply is won, a node whose replies are all settled is drawn or lost
// (Winands, Björnsson, Saito: Monte-Carlo tree search solver, 2008, here with
// draws). An exact value replaces the average of its node everywhere at once:
// a refuted move stops counting in its parent's average, a drawn one counts as
// drawn. This holds for results that depend on the way the position was
// reached (repetition, perpetual check) too, since a node of a tree has exactly
// one path from the start of the game. A proven root ends the search. A Prover,
// such as a short mate search, may settle a leaf instead of the evaluator.
//
// # Ties
//
// Equal moves are ordered by a hash of the search's seed, the node and the move,
// not by their place in the list: a search without noise is a function of the
// position alone and still favours no corner of the board.
//
// Driver searches one tree with several threads, for play and analysis.
package mcts
