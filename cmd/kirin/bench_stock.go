package main

import (
	"fmt"
	"time"

	"kirin/metrics"
	"kirin/network"
	"kirin/network/encode"
	"kirin/network/stock"
	"kirin/network/train"
	"kirin/rules"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// stockEvaluator answers batches of positions with Gorgonia's own operations. It
// has no cache.
type stockEvaluator struct {
	enc     *encode.Encoder
	net     *stock.Net
	vm      G.VM
	size    int // of a batch
	planes  []float32
	waiting []stockRequest
	policy  G.Value
	outputs G.Value
}

type stockRequest struct {
	index  []int32
	logits []float32
	value  *rules.Value
}

func newStockEvaluator(w *network.Weights, enc *encode.Encoder, batch int) (*stockEvaluator, error) {
	net, err := stock.New(tensor.Float32, network.NewLayout(w.Form), w.Params, batch)
	if err != nil {
		return nil, err
	}
	logits, err := net.Moves("policy.move")
	if err != nil {
		return nil, err
	}
	e := &stockEvaluator{enc: enc, net: net, size: batch, planes: make([]float32, batch*enc.Size())}
	G.Read(logits, &e.policy)
	G.Read(net.Outputs, &e.outputs)
	e.vm = G.NewTapeMachine(net.Graph)
	return e, nil
}

// empty forgets what was added and not answered, when a round of play ended.
func (e *stockEvaluator) empty() *stockEvaluator {
	e.waiting = e.waiting[:0]
	return e
}

// Add implements selfplay.Evaluator; a batch holds all games of a worker.
func (e *stockEvaluator) Add(p *rules.Position, moves []rules.Move, logits []float32, v *rules.Value) {
	e.enc.Encode(p, e.planes[len(e.waiting)*e.enc.Size():][:e.enc.Size()])
	r := stockRequest{logits: logits, value: v}
	for _, m := range moves {
		r.index = append(r.index, int32(e.enc.Index(p, m)))
	}
	e.waiting = append(e.waiting, r)
}

// Flush implements selfplay.Evaluator.
func (e *stockEvaluator) Flush() error {
	if len(e.waiting) == 0 {
		return nil
	}
	e.net.SetPlanes(e.planes)
	if err := e.vm.RunAll(); err != nil {
		return fmt.Errorf("stock net: %w", err)
	}
	policy, outputs := e.policy.Data().([]float32), e.outputs.Data().([]float32)
	columns := len(policy) / e.size
	for i, r := range e.waiting {
		for j, index := range r.index {
			r.logits[j] = policy[i*columns+e.net.At(index)]
		}
		*r.value = network.Probabilities(outputs[i*network.ValueOutputs:])
	}
	e.vm.Reset()
	e.waiting = e.waiting[:0]
	return nil
}

// stockTrainer takes steps of Adam on the losses of policy and value with
// Gorgonia's own operations and solver.
type stockTrainer struct {
	net    *stock.Net
	vm     G.VM
	solver G.Solver
	batch  int
}

func newStockTrainer(w *network.Weights, b *train.Batch) (*stockTrainer, error) {
	net, err := stock.New(tensor.Float32, network.NewLayout(w.Form), w.Params, b.N)
	if err != nil {
		return nil, err
	}
	net.SetPlanes(b.Planes)
	size := w.Form.PolicySize()
	mask, aim, wdl := make([]float32, b.N*size), make([]float32, b.N*size), make([]float32, b.N*network.ValueOutputs)
	for i := range mask {
		mask[i] = -1e9
	}
	for i := range b.N {
		for j := b.Offsets[i]; j < b.Offsets[i+1]; j++ {
			at := i*size + net.At(b.Index[j])
			mask[at], aim[at] = 0, b.Target[j]/float32(b.N)
		}
		for k := range 3 {
			wdl[i*network.ValueOutputs+k] = b.WDL[3*i+k] / float32(b.N)
		}
	}
	var fault error
	do := func(n *G.Node, err error) *G.Node {
		if fault == nil {
			fault = err
		}
		return n
	}
	entropy := func(logits, target *G.Node) *G.Node {
		return do(G.Neg(do(G.Sum(do(G.HadamardProd(do(G.LogSoftMax(logits, 1)), target))))))
	}
	moves := do(net.Moves("policy.move"))
	moves = do(G.Add(moves, net.Value("mask", mask, b.N, size)))
	loss := do(G.Add(entropy(moves, net.Value("target", aim, b.N, size)), entropy(net.Outputs, net.Value("wdl", wdl, b.N, network.ValueOutputs))))
	if fault != nil {
		return nil, fmt.Errorf("stock net: %w", fault)
	}
	if _, err := G.Grad(loss, net.Params...); err != nil {
		return nil, fmt.Errorf("stock net: %w", err)
	}
	return &stockTrainer{net, G.NewTapeMachine(net.Graph, G.BindDualValues(net.Params...)), G.NewAdamSolver(G.WithLearnRate(1e-5)), b.N}, nil
}

// steps is the same as netFlags.steps.
func (t *stockTrainer) steps(seconds float64) (cpu, wall float64, err error) {
	start, clock, done := metrics.ProcessSeconds(), time.Now(), 0
	for spent := 0.0; spent < seconds; spent = metrics.ProcessSeconds() - start {
		if err := t.vm.RunAll(); err != nil {
			return 0, 0, fmt.Errorf("stock net: %w", err)
		}
		if err := t.solver.Step(G.NodesToValueGrads(t.net.Params)); err != nil {
			return 0, 0, fmt.Errorf("stock net: %w", err)
		}
		t.vm.Reset()
		done += t.batch
	}
	return float64(done) / (metrics.ProcessSeconds() - start), float64(done) / time.Since(clock).Seconds(), nil
}

func (t *stockTrainer) close() error { return t.vm.Close() }
