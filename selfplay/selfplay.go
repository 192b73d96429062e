// Package selfplay plays games for training: one Worker goroutine walks several
// games in step, asks an Evaluator about one leaf of each, and hands finished
// games to a Sink.
//
// The three types a reader needs:
//
//   - Worker plays. It owns every buffer, never locks, and a game depends on
//     nothing but its Assignment (seed, net) and the Options: not on the other
//     games of the batch, not on the number of workers, not on time.
//   - Evaluator answers positions in batches. It is declared here, by its
//     consumer; kirin/network/eval satisfies it and so does a constant in a test.
//   - Sink takes finished games; kirin/dataset's writer satisfies it.
//
// The package does not know what a neural network is.
package selfplay

import (
	"kirin/dataset"
	"kirin/rules"
)

// Evaluator answers positions in batches.
//
// Add registers one position. The evaluator reads p and moves before Add
// returns; logits (one per move, same order, any scale: they are the arguments
// of a softmax) and v (win, draw and loss for the side to move) are written by
// Flush at the latest and must stay valid until then. Flush answers everything
// that was added since the last Flush.
type Evaluator interface {
	Add(p *rules.Position, moves []rules.Move, logits []float32, v *rules.Value)
	Flush() error
}

// Sink takes finished games. Append returns once the game is safe.
type Sink interface {
	Append(*dataset.Game) error
}
