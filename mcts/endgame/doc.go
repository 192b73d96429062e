// Package endgame compares the search with endgames whose value is known: of
// files, or random ones that a plain search of every move solves.
//
// The search has no net: every leaf gets equal priors and an even value, so that
// all it finds it finds by searching. Each endgame is searched twice, by the tree
// alone, whose proofs are replayed against every defence (mcts.Tree.CheckProof),
// and with a mate search of a few plies at the leaves, as a player searches. A
// Tally says how often a proof was wrong and how often the chosen move kept the
// value.
package endgame
