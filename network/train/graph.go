package train

import (
	"fmt"
	"slices"
	"sync"

	G "gorgonia.org/gorgonia"

	"kirin/network"
	"kirin/network/kernel"
)

// building guards Gorgonia's construction of graphs, which writes to state
// that all graphs share. Running two graphs at once is safe.
var building sync.Mutex

// graph is the training graph of one net. Its parameters and gradients are
// flat slices of the trainer, which the nodes only show.
type graph struct {
	*shared
	form   network.Form
	input  []float32 // [limit] padded images of the input planes
	stem   *stem
	blocks []*block
	values map[string]G.Value // the parameters, by name
	tower  []float32          // the tower's output: [limit] padded images
	heads  *heads
	total  *total
	vm     G.VM
	shown  []G.Value // the gradients, as Gorgonia read them
}

// newGraph builds the graph of a net with the auxiliary heads that o asks for;
// the layout has their parameters.
func newGraph(set *kernel.Set, l *network.Layout, params, grads []float32, o *Options) (*graph, error) {
	building.Lock()
	defer building.Unlock()
	s, err := newShared(newCrew(set, o.Slices), l.Form, o.BatchSize)
	if err != nil {
		return nil, err
	}
	g := &graph{shared: s, form: l.Form, values: map[string]G.Value{}}
	expr := G.NewGraph()
	inputs := kernel.RoundUp(l.Form.Planes)
	g.input = s.images(inputs)
	x := G.NodeFromAny(expr, g.padded(g.input, inputs), G.WithName("planes"))
	nodes := map[string]*G.Node{}
	var all G.Nodes
	for i := range l.Slots {
		slot := &l.Slots[i]
		g.values[slot.Name] = dense(slot.Of(params), slot.Shape...)
		n := G.NodeFromAny(expr, g.values[slot.Name], G.WithName(slot.Name))
		nodes[slot.Name] = n
		all = append(all, n)
	}
	// region is the part of the gradients that belongs to neighbouring slots.
	region := func(first, last string) []float32 {
		a, b := l.Slot(first), l.Slot(last)
		return grads[a.Offset : b.Offset+b.Size : b.Offset+b.Size]
	}
	g.stem, err = newStem(s, l.Form.Planes, region("stem.weight", "stem.bias"))
	if err != nil {
		return nil, err
	}
	if x, err = g.stem.apply(x, nodes["stem.weight"], nodes["stem.bias"]); err != nil {
		return nil, fmt.Errorf("training graph: %w", err)
	}
	g.tower = g.stem.out
	for i := range l.Form.Spec.Blocks {
		name := fmt.Sprintf("block%d.", i)
		// The heads' gradient is in flow[0]; that of the last block goes to
		// flow[1], and so on in turn.
		turn := (l.Form.Spec.Blocks - i) % 2
		b := newBlock(s, turn, l.Form.Spec.Pools(i), region(name+"conv1.weight", name+"conv2.bias"))
		p := G.Nodes{nodes[name+"conv1.weight"], nodes[name+"conv1.bias"]}
		if b.pool != nil {
			p = append(p, nodes[name+"pool.weight"])
		}
		if x, err = b.apply(x, append(p, nodes[name+"conv2.weight"], nodes[name+"conv2.bias"])...); err != nil {
			return nil, fmt.Errorf("training graph: %w", err)
		}
		g.blocks, g.tower = append(g.blocks, b), b.z
	}
	names := append(slices.Clone(headNames), o.auxiliary().names()...)
	g.heads = newHeads(s, l.Form, o.auxiliary(), o.Temperature, region(names[0], names[len(names)-1]))
	var p G.Nodes
	for _, name := range names {
		p = append(p, nodes[name])
	}
	if x, err = g.heads.apply(x, p...); err != nil {
		return nil, fmt.Errorf("training graph: %w", err)
	}
	g.total = newTotal(s, o.Surprise, g.heads.kl)
	if x, err = g.total.apply(x); err != nil {
		return nil, fmt.Errorf("training graph: %w", err)
	}
	gradients, err := G.Grad(x, all...)
	if err != nil {
		return nil, fmt.Errorf("training graph: differentiate: %w", err)
	}
	g.shown = make([]G.Value, len(gradients))
	for i, n := range gradients {
		G.Read(n, &g.shown[i])
	}
	g.vm = G.NewTapeMachine(expr)
	return g, nil
}

// run computes losses and gradients of a batch. weights are those of the
// losses, [batch.N][losses].
func (g *graph) run(b *Batch) error {
	g.load(b)
	g.vm.Reset()
	if err := g.vm.RunAll(); err != nil {
		return fmt.Errorf("training graph: %w", err)
	}
	return nil
}

// evaluate computes the losses of a batch and nothing else: the operations run
// as in the graph, without Gorgonia.
func (g *graph) evaluate(b *Batch) {
	g.load(b)
	values := func(prefix string, names ...string) []G.Value {
		var v []G.Value
		for _, name := range names {
			if x := g.values[prefix+name]; x != nil {
				v = append(v, x)
			}
		}
		return v
	}
	g.stem.forward(g.input, floats(g.values["stem.weight"]), floats(g.values["stem.bias"]))
	x := g.stem.out
	for i, block := range g.blocks {
		block.forward(x, block.weights(values(fmt.Sprintf("block%d.", i), "conv1.weight", "conv1.bias", "pool.weight", "conv2.weight", "conv2.bias")))
		x = block.z
	}
	var w headWeights
	in := values("", append(slices.Clone(headNames), g.heads.aux.names()...)...)
	for i, p := range w.list(g.heads.aux) {
		*p = floats(in[i])
	}
	g.heads.forward(x, &w)
}

// load takes a batch up.
func (g *graph) load(b *Batch) {
	g.n = b.N
	g.heads.batch = b
	planes, inputs := g.form.Planes, kernel.RoundUp(g.form.Planes)
	g.each(func(_ int, _ []float32, first, end int) {
		kernel.PadChannels(g.input[first*g.board.Len(inputs):], b.Planes[first*g.board.Pixels()*planes:], g.board, planes, inputs, end-first)
	})
}

// close releases what Gorgonia holds.
func (g *graph) close() error { return g.vm.Close() }
