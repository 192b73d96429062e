package train

import (
	G "gorgonia.org/gorgonia"

	"kirin/network/kernel"
)

// block is a residual block:
//
//	y = relu(conv1(x) + b1)
//	z = relu(conv2(y) + b2 + pool(y)*wp + x)
//
// x must be the result of a ReLU. The gradients that flow between operations
// are those before the ReLU that made the activation, that is they are zero
// where it is zero: what makes them masks with its input, and what uses them
// need not.
type block struct {
	*shared
	turn     int            // which of shared.flow takes the gradient of x
	pool     *kernel.Matrix // nil without a pooling path
	poolBack *kernel.Matrix
	y, z     []float32
	pooled   []float32 // [limit][2c]
	bias     []float32 // [limit][c]: of the second convolution, image by image
	dbias    []float32 // [limit][c]
	dpooled  []float32 // [limit][2c]
	grad     []float32 // of conv1.weight, conv1.bias, pool.weight, conv2.weight, conv2.bias
}

func newBlock(s *shared, turn int, pools bool, grad []float32) *block {
	b := &block{shared: s, turn: turn, y: s.images(s.c), z: s.images(s.c), grad: grad}
	if pools {
		b.pool, b.poolBack = kernel.NewMatrix(2*s.c, s.c), kernel.NewMatrix(s.c, 2*s.c)
		b.pooled, b.dpooled = kernel.Alloc(2*s.c*s.limit), kernel.Alloc(2*s.c*s.limit)
		b.bias, b.dbias = kernel.Alloc(s.c*s.limit), kernel.Alloc(s.c*s.limit)
	}
	s.needs(0, len(grad))
	return b
}

// blockWeights are the parameters of a block; pool is nil without a pooling
// path.
type blockWeights struct{ conv1, bias1, pool, conv2, bias2 []float32 }

func (b *block) weights(in []G.Value) blockWeights {
	w := blockWeights{conv1: floats(in[0]), bias1: floats(in[1])}
	if b.pool != nil {
		w.pool = floats(in[2])
		in = in[1:]
	}
	w.conv2, w.bias2 = floats(in[2]), floats(in[3])
	return w
}

// apply adds the operation to the graph; parameters are in the order of the
// layout.
func (b *block) apply(x *G.Node, parameters ...*G.Node) (*G.Node, error) {
	in := append(G.Nodes{x}, parameters...)
	o := &op{name: "block", serial: b.number(), inputs: dimensions(in), dims: 4, result: b.padded(b.z, b.c)}
	for range in {
		o.wrt = append(o.wrt, true)
	}
	o.run = func(in []G.Value) error {
		b.forward(floats(in[0]), b.weights(in[1:]))
		return nil
	}
	o.diff = func(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
		from := append(G.Nodes{grad, in[0]}, in[1:]...)
		back := &op{name: "block gradient", serial: b.number(), inputs: dimensions(from), dims: 4, result: b.padded(b.flow[b.turn], b.c)}
		back.run = func(in []G.Value) error {
			b.backward(floats(in[0]), floats(in[1]), b.weights(in[2:]))
			return nil
		}
		node, err := G.ApplyOp(noGradient{back}, from...)
		if err != nil {
			return nil, err
		}
		return b.takeAll(node, node, in[1:], b.grad)
	}
	return G.ApplyOp(o, in...)
}

func (b *block) forward(x []float32, w blockWeights) {
	size := b.board.Len(b.c)
	b.set.Pack(b.square, w.conv1)
	b.each(func(_ int, scratch []float32, first, end int) {
		b.set.Conv(b.square, kernel.ConvArgs{Dst: b.y[first*size:], Src: x[first*size:], N: end - first, Bias: w.bias1, ReLU: true}, scratch)
	})
	b.set.Pack(b.square, w.conv2)
	if b.pool != nil {
		b.pool.Pack(w.pool)
	}
	b.each(func(_ int, scratch []float32, first, end int) {
		a := kernel.ConvArgs{Dst: b.z[first*size:], Src: b.y[first*size:], N: end - first, Bias: w.bias2, Residual: x[first*size:], ReLU: true}
		if b.pool != nil {
			b.set.Pool(b.pooled[first*2*b.c:], b.y[first*size:], b.board, b.c, end-first)
			b.set.Gemm(b.pool, kernel.GemmArgs{Dst: b.bias[first*b.c:], Src: b.pooled[first*2*b.c:], Rows: end - first, Bias: w.bias2})
			a.Bias, a.BiasStride = b.bias[first*b.c:], b.c
		}
		b.set.Conv(b.square, a, scratch)
	})
}

// backward takes dz, the gradient before the last ReLU, and computes the
// gradient before the ReLU that made x, and those of the parameters.
func (b *block) backward(dz, x []float32, w blockWeights) {
	c, size, conv := b.c, b.board.Len(b.c), 9*b.c*b.c
	pool := len(w.pool)
	b.set.PackInputGrad(b.square, w.conv2)
	if b.pool != nil {
		b.poolBack.PackTransposed(w.pool)
	}
	b.each(func(slice int, scratch []float32, first, end int) {
		n, part := end-first, b.partial[slice]
		g, y, dy := dz[first*size:], b.y[first*size:], b.middle[first*size:]
		b.set.WeightGrad(b.square, part[conv+c+pool:][:conv], y, g, n, scratch)
		b.set.RowSums(part[2*conv+c+pool:][:c], g, n*b.board.Padded(), c)
		if b.pool == nil {
			b.set.Conv(b.square, kernel.ConvArgs{Dst: dy, Src: g, N: n, Mask: y}, scratch)
			return
		}
		pooled, dpooled, dbias := b.pooled[first*2*c:], b.dpooled[first*2*c:], b.dbias[first*c:]
		b.set.ImageSums(dbias, g, b.board, c, n)
		b.set.GemmWeightGrad(part[conv+c:][:pool], pooled, dbias, n, 2*c, c)
		b.set.Gemm(b.poolBack, kernel.GemmArgs{Dst: dpooled, Src: dbias, Rows: n})
		b.set.Conv(b.square, kernel.ConvArgs{Dst: dy, Src: g, N: n}, scratch)
		b.set.PoolGrad(dy, y, pooled, dpooled, b.board, c, n)
		b.set.ReLUGrad(dy[:n*size], dy[:n*size], y[:n*size])
	})
	b.set.PackInputGrad(b.square, w.conv1)
	dx := b.flow[b.turn]
	b.each(func(slice int, scratch []float32, first, end int) {
		n, part := end-first, b.partial[slice]
		in, dy := x[first*size:], b.middle[first*size:]
		b.set.WeightGrad(b.square, part[:conv], in, dy, n, scratch)
		b.set.RowSums(part[conv:][:c], dy, n*b.board.Padded(), c)
		b.set.Conv(b.square, kernel.ConvArgs{Dst: dx[first*size:], Src: dy, N: n, Residual: dz[first*size:], Mask: in}, scratch)
	})
	b.sum(b.grad)
}
