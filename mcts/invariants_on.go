//go:build invariants || race

package mcts

// invariants makes misuse of a Tree panic.
const invariants = true
