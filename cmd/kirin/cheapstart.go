package main

import (
	"kirin/network"
	"kirin/network/eval"
	"kirin/rules"
	"kirin/selfplay"
)

// evaluator is what plays with a net of the run: the net, or, where the
// configuration asks for a cheap start and the net has learned nothing yet, an
// evaluator that costs nothing and knows as little.
func (r *runDir) evaluator(net *network.Net, batch int) selfplay.Evaluator {
	if r.blind(net) {
		return indifferent{}
	}
	return eval.New(net, batch)
}

// blind tells whether games with a net are played without it.
func (r *runDir) blind(net *network.Net) bool {
	return r.cfg.Loop.CheapStart && net.Meta().Step == 0
}

// indifferent takes all moves and all results to be equally likely: what its
// games teach comes from the ends that search and mate search find.
type indifferent struct{}

// Add answers at once.
func (indifferent) Add(_ *rules.Position, _ []rules.Move, logits []float32, v *rules.Value) {
	clear(logits)
	*v = rules.Value{Win: 1. / 3, Draw: 1. / 3, Loss: 1. / 3}
}

// Flush has nothing left to do.
func (indifferent) Flush() error { return nil }
