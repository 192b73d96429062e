package train

import (
	G "gorgonia.org/gorgonia"

	"kirin/network"
	"kirin/network/kernel"
)

// shared is what the operations of one graph have in common.
type shared struct {
	*crew
	board  kernel.Board
	c      int             // channels of the tower
	limit  int             // images for which there is room
	square *kernel.Conv3x3 // from c to c channels; every user packs its weights anew
	middle []float32       // gradient inside a block
	flow   [2][]float32    // gradients between blocks, in turn
	serial int             // operations made so far
}

func newShared(c *crew, f network.Form, limit int) (*shared, error) {
	s := &shared{crew: c, board: kernel.Board{H: f.Height, W: f.Width}, c: f.Spec.Channels, limit: limit}
	var err error
	if s.square, err = kernel.NewConv3x3(s.board, s.c, s.c); err != nil {
		return nil, err
	}
	s.needs(max(s.square.ScratchLen(), s.square.WeightGradScratchLen()), 0)
	s.middle, s.flow[0], s.flow[1] = s.images(s.c), s.images(s.c), s.images(s.c)
	return s, nil
}

// images returns room for a batch of padded images with c channels.
func (s *shared) images(c int) []float32 { return kernel.Alloc(s.limit * s.board.Len(c)) }

// padded wraps a batch of padded images with c channels for Gorgonia.
func (s *shared) padded(data []float32, c int) G.Value {
	return dense(data, s.limit, s.board.H+2, s.board.W+2, c)
}

func (s *shared) number() int {
	s.serial++
	return s.serial
}

// take makes the node that shows the gradient of a parameter, which the
// operation of node has computed.
func (s *shared) take(node, parameter *G.Node, gradient []float32) (*G.Node, error) {
	shape := parameter.Shape()
	o := &op{name: "take", serial: s.number(), inputs: []int{node.Dims()}, dims: len(shape), result: dense(gradient, shape...)}
	o.run = func([]G.Value) error { return nil }
	return G.ApplyOp(noGradient{o}, node)
}

// takeAll makes the nodes of all gradients of an operation: first that of its
// activations, then one for each parameter, whose gradients lie in order in
// gradient.
func (s *shared) takeAll(first, node *G.Node, parameters G.Nodes, gradient []float32) (G.Nodes, error) {
	nodes := G.Nodes{first}
	for _, p := range parameters {
		size := p.Shape().TotalSize()
		n, err := s.take(node, p, gradient[:size:size])
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
		gradient = gradient[size:]
	}
	return nodes, nil
}

func dimensions(nodes G.Nodes) []int {
	dims := make([]int, len(nodes))
	for i, n := range nodes {
		dims[i] = n.Dims()
	}
	return dims
}

// stem is relu(conv3x3(planes)). Its input has no gradient.
type stem struct {
	*shared
	planes int
	conv   *kernel.Conv3x3
	wide   []float32   // weights for the padded number of planes
	deep   [][]float32 // by slice: their gradients
	out    []float32
	grad   []float32 // of weights, then bias
}

func newStem(s *shared, planes int, grad []float32) (*stem, error) {
	inputs := kernel.RoundUp(planes)
	conv, err := kernel.NewConv3x3(s.board, inputs, s.c)
	if err != nil {
		return nil, err
	}
	t := &stem{shared: s, planes: planes, conv: conv, out: s.images(s.c), grad: grad, wide: kernel.Alloc(9 * inputs * s.c), deep: make([][]float32, s.slices)}
	for i := range t.deep {
		t.deep[i] = kernel.Alloc(len(t.wide))
	}
	s.needs(max(conv.ScratchLen(), conv.WeightGradScratchLen()), len(grad))
	return t, nil
}

// apply adds the operation to the graph.
func (t *stem) apply(x, w, b *G.Node) (*G.Node, error) {
	in := G.Nodes{x, w, b}
	o := &op{name: "stem", serial: t.number(), inputs: dimensions(in), dims: 4, result: t.padded(t.out, t.c)}
	o.wrt = []bool{false, true, true}
	o.run = func(in []G.Value) error {
		t.forward(floats(in[0]), floats(in[1]), floats(in[2]))
		return nil
	}
	o.diff = func(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
		back := &op{name: "stem gradient", serial: t.number(), inputs: []int{4, 4}, dims: 1, result: dense(t.grad, len(t.grad))}
		back.run = func(in []G.Value) error {
			t.backward(floats(in[0]), floats(in[1]))
			return nil
		}
		node, err := G.ApplyOp(noGradient{back}, in[0], grad)
		if err != nil {
			return nil, err
		}
		return t.takeAll(nil, node, in[1:], t.grad)
	}
	return G.ApplyOp(o, in...)
}

func (t *stem) forward(x, w, b []float32) {
	network.PadInputs(t.wide, w, t.c, t.planes)
	t.set.Pack(t.conv, t.wide)
	in, out := t.board.Len(kernel.RoundUp(t.planes)), t.board.Len(t.c)
	t.each(func(_ int, scratch []float32, first, end int) {
		t.set.Conv(t.conv, kernel.ConvArgs{Dst: t.out[first*out:], Src: x[first*in:], N: end - first, Bias: b, ReLU: true}, scratch)
	})
}

// backward takes the gradient before the ReLU.
func (t *stem) backward(x, dy []float32) {
	wide := kernel.RoundUp(t.planes)
	in, out := t.board.Len(wide), t.board.Len(t.c)
	weights := 9 * t.planes * t.c
	t.each(func(slice int, scratch []float32, first, end int) {
		deep, part := t.deep[slice], t.partial[slice]
		t.set.WeightGrad(t.conv, deep, x[first*in:], dy[first*out:], end-first, scratch)
		for k := range t.c {
			copy(part[k*t.planes*9:(k+1)*t.planes*9], deep[k*wide*9:])
		}
		t.set.RowSums(part[weights:weights+t.c], dy[first*out:], (end-first)*t.board.Padded(), t.c)
	})
	t.sum(t.grad)
}
