package train

import (
	G "gorgonia.org/gorgonia"

	"kirin/network"
	"kirin/network/kernel"
)

// The losses of a sample, in this order.
const (
	policyLoss = iota
	valueLoss
	pliesLoss
	softLoss
	replyLoss
	losses
)

// heads computes, from the tower's output, the logits of the legal moves, the
// value and the plies left, and each sample's losses: a matrix [limit][losses].
// The targets are read from the batch, which is no node of the graph.
type heads struct {
	*shared
	batch       *Batch
	planes      int // of the policy
	aux         auxiliary
	temperature float64
	moves       []*moveHead // the policy first

	policyConv, policyPool, policyConvBack, policyPoolBack *kernel.Matrix
	valueConv, valueConvBack                               *kernel.Matrix
	hidden, hiddenBack                                     *kernel.Matrix
	out, outBack                                           *kernel.Matrix

	flat    []float32 // [limit*squares][c]: the tower's output
	pooled  []float32 // [limit][2c]
	bias    []float32 // [limit][c]
	policy  []float32 // [limit*squares][c]: policy features
	value   []float32 // [limit*squares][ValueChannels]
	inner   []float32 // [limit][ValueHidden]
	outputs []float32 // [limit][16], four of them used
	loss    []float32 // [limit][losses]
	entropy []float32 // [limit]: of the policy, in nats
	kl      []float32 // [limit]: of the policy target and the policy, in nats
	right   []float32 // [limit]: 1 if the policy's first choice is the target's

	dflat    []float32 // gradients, named as above
	dpooled  []float32
	dbias    []float32
	dpolicy  []float32
	dvalue   []float32
	dinner   []float32
	doutputs []float32

	grad []float32 // of all parameters, in the order of headWeights
}

// headNames are the parameters of the heads in the order of the layout.
var headNames = []string{
	"policy.conv.weight", "policy.conv.bias", "policy.pool.weight", "policy.move.weight", "policy.move.bias",
	"value.conv.weight", "value.conv.bias", "value.hidden.weight", "value.hidden.bias", "value.out.weight", "value.out.bias",
}

// headWeights are the parameters, or their gradients, in this order.
type headWeights struct {
	policyConv, policyBias, policyPool, move, moveBias, valueConv, valueBias, hidden, hiddenBias, out, outBias []float32

	soft, softBias, reply, replyBias []float32 // nil without these heads
}

func (w *headWeights) list(a auxiliary) []*[]float32 {
	all := []*[]float32{&w.policyConv, &w.policyBias, &w.policyPool, &w.move, &w.moveBias, &w.valueConv, &w.valueBias, &w.hidden, &w.hiddenBias, &w.out, &w.outBias}
	if a.soft {
		all = append(all, &w.soft, &w.softBias)
	}
	if a.reply {
		all = append(all, &w.reply, &w.replyBias)
	}
	return all
}

// of returns the move matrix and bias of a head.
func (w *headWeights) of(loss int) (move, bias []float32) {
	switch loss {
	case softLoss:
		return w.soft, w.softBias
	case replyLoss:
		return w.reply, w.replyBias
	}
	return w.move, w.moveBias
}

func newHeads(s *shared, f network.Form, a auxiliary, temperature float64, grad []float32) *heads {
	hw, c := f.Squares(), s.c
	h := &heads{shared: s, batch: NewBatch(0, 0), planes: f.PolicyPlanes, aux: a, temperature: temperature, grad: grad}
	h.moves = append(h.moves, &moveHead{loss: policyLoss})
	if a.soft {
		h.moves = append(h.moves, &moveHead{loss: softLoss})
	}
	if a.reply {
		h.moves = append(h.moves, &moveHead{loss: replyLoss})
	}
	h.policyConv, h.policyConvBack = kernel.NewMatrix(c, c), kernel.NewMatrix(c, c)
	h.policyPool, h.policyPoolBack = kernel.NewMatrix(2*c, c), kernel.NewMatrix(c, 2*c)
	h.valueConv, h.valueConvBack = kernel.NewMatrix(c, network.ValueChannels), kernel.NewMatrix(network.ValueChannels, c)
	h.hidden, h.hiddenBack = kernel.NewMatrix(hw*network.ValueChannels, network.ValueHidden), kernel.NewMatrix(network.ValueHidden, hw*network.ValueChannels)
	h.out, h.outBack = kernel.NewMatrix(network.ValueHidden, network.ValueOutputs), kernel.NewMatrix(network.ValueOutputs, network.ValueHidden)
	room := func(both ...*[]float32) func(size int) {
		return func(size int) {
			for _, p := range both {
				*p = kernel.Alloc(s.limit * size)
			}
		}
	}
	room(&h.flat, &h.dflat, &h.policy, &h.dpolicy)(hw * c)
	room(&h.pooled, &h.dpooled)(2 * c)
	room(&h.bias, &h.dbias)(c)
	room(&h.value, &h.dvalue)(hw * network.ValueChannels)
	room(&h.inner, &h.dinner)(network.ValueHidden)
	room(&h.outputs, &h.doutputs)(h.out.N())
	room(&h.loss)(losses)
	room(&h.entropy, &h.kl, &h.right)(1)
	s.needs(0, len(grad))
	return h
}

// split cuts flat memory into the parameters; the sizes are those of like.
func (w *headWeights) split(flat []float32, a auxiliary, like *headWeights) {
	from := like.list(a)
	for i, p := range w.list(a) {
		n := len(*from[i])
		*p, flat = flat[:n:n], flat[n:]
	}
}

// apply adds the operation to the graph; parameters are in the order of
// headNames, then the auxiliary ones.
func (h *heads) apply(x *G.Node, parameters ...*G.Node) (*G.Node, error) {
	in := append(G.Nodes{x}, parameters...)
	o := &op{name: "heads", serial: h.number(), inputs: dimensions(in), dims: 2, result: dense(h.loss, h.limit, losses)}
	for range in {
		o.wrt = append(o.wrt, true)
	}
	weights := func(in []G.Value) *headWeights {
		var w headWeights
		for i, p := range w.list(h.aux) {
			*p = floats(in[i])
		}
		return &w
	}
	o.run = func(in []G.Value) error {
		h.forward(floats(in[0]), weights(in[1:]))
		return nil
	}
	o.diff = func(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
		from := append(G.Nodes{grad, in[0]}, in[1:]...)
		back := &op{name: "heads gradient", serial: h.number(), inputs: dimensions(from), dims: 4, result: h.padded(h.flow[0], h.c)}
		back.run = func(in []G.Value) error {
			h.backward(floats(in[0]), floats(in[1]), weights(in[2:]))
			return nil
		}
		node, err := G.ApplyOp(noGradient{back}, from...)
		if err != nil {
			return nil, err
		}
		return h.takeAll(node, node, in[1:], h.grad)
	}
	return G.ApplyOp(o, in...)
}

// pad16 copies a bias whose length is no multiple of what the kernels take.
func pad16(x []float32) []float32 {
	y := make([]float32, kernel.RoundUp(len(x)))
	copy(y, x)
	return y
}

func (h *heads) forward(x []float32, w *headWeights) {
	h.policyConv.Pack(w.policyConv)
	h.policyPool.Pack(w.policyPool)
	h.valueConv.Pack(w.valueConv)
	h.hidden.Pack(w.hidden)
	h.out.Pack(w.out)
	outBias := pad16(w.outBias)
	for _, m := range h.moves {
		m.grow(h.batch)
	}
	c, hw, size := h.c, h.board.Pixels(), h.board.Len(h.c)
	h.each(func(_ int, _ []float32, first, end int) {
		n := end - first
		flat, pooled, bias := h.flat[first*hw*c:], h.pooled[first*2*c:], h.bias[first*c:]
		kernel.Unpad(flat, x[first*size:], h.board, c, n)
		h.set.Pool(pooled, x[first*size:], h.board, c, n)
		h.set.Gemm(h.policyPool, kernel.GemmArgs{Dst: bias, Src: pooled, Rows: n, Bias: w.policyBias})
		value, inner, outputs := h.value[first*hw*network.ValueChannels:], h.inner[first*network.ValueHidden:], h.outputs[first*h.out.N():]
		h.set.Gemm(h.valueConv, kernel.GemmArgs{Dst: value, Src: flat, Rows: n * hw, Bias: w.valueBias, ReLU: true})
		h.set.Gemm(h.hidden, kernel.GemmArgs{Dst: inner, Src: value, Rows: n, Bias: w.hiddenBias, ReLU: true})
		h.set.Gemm(h.out, kernel.GemmArgs{Dst: outputs, Src: inner, Rows: n, Bias: outBias})
		for i := range n {
			policy := h.policy[(first+i)*hw*c:]
			h.set.Gemm(h.policyConv, kernel.GemmArgs{Dst: policy, Src: flat[i*hw*c:], Rows: hw, Bias: bias[i*c : i*c+c], ReLU: true})
			h.losses(first+i, w)
		}
	})
}

// choices describes the logits of a head for sample i.
func (h *heads) choices(m *moveHead, i int, w *headWeights) kernel.Choices {
	hw := h.board.Pixels()
	_, _, index := m.index(h.batch, i)
	move, bias := w.of(m.loss)
	return kernel.Choices{X: h.policy[i*hw*h.c : (i+1)*hw*h.c], C: h.c, W: move, Bias: bias, Planes: h.planes, Index: index}
}

// losses computes the losses of sample i.
func (h *heads) losses(i int, w *headWeights) {
	b, loss := h.batch, h.loss[i*losses:(i+1)*losses]
	for _, m := range h.moves {
		from, to, _ := m.index(b, i)
		chances, target := m.chances[from:to], m.targets(b, from, to)
		h.set.Logits(chances, h.choices(m, i, w))
		switch m.loss {
		case policyLoss:
			loss[policyLoss], h.entropy[i] = crossEntropy(chances, target)
			h.kl[i] = loss[policyLoss] - float32(entropy(target))
			h.right[i] = 0
			if first(chances) == first(target) {
				h.right[i] = 1
			}
		case softLoss:
			soften(target, b.Target[from:to], h.temperature)
			loss[softLoss], _ = crossEntropy(chances, target)
		default:
			loss[m.loss], _ = crossEntropy(chances, target)
		}
	}
	out := h.outputs[i*h.out.N():][:network.ValueOutputs]
	var logits [3]float32
	copy(logits[:], out)
	loss[valueLoss], _ = crossEntropy(logits[:], b.WDL[3*i:3*i+3])
	loss[pliesLoss], _ = huber(out[3], b.PliesLeft[i])
}

// backward takes the gradient of the losses, [limit][losses], and computes the
// gradient before the ReLU that made x, and those of the parameters.
func (h *heads) backward(dloss, x []float32, w *headWeights) {
	h.policyConvBack.PackTransposed(w.policyConv)
	h.policyPoolBack.PackTransposed(w.policyPool)
	h.valueConvBack.PackTransposed(w.valueConv)
	h.hiddenBack.PackTransposed(w.hidden)
	h.outBack.PackTransposed(w.out)
	h.each(func(slice int, _ []float32, first, end int) {
		var g headWeights
		g.split(h.partial[slice], h.aux, w)
		h.policyBack(dloss, w, &g, first, end)
		h.valueBack(dloss, &g, first, end)
		h.towerBack(x, first, end)
	})
	h.sum(h.grad)
}

// policyBack computes the gradients of the parameters of the policy head and of
// those beside it, and of flat and pooled.
func (h *heads) policyBack(dloss []float32, w, g *headWeights, first, end int) {
	c, hw, n := h.c, h.board.Pixels(), end-first
	for _, m := range h.moves {
		move, bias := g.of(m.loss)
		clear(move)
		clear(bias)
	}
	dpolicy := h.dpolicy[first*hw*c : end*hw*c]
	clear(dpolicy)
	for i := first; i < end; i++ {
		for _, m := range h.moves {
			from, to, _ := m.index(h.batch, i)
			d := m.dchances[from:to]
			softmaxGrad(d, m.chances[from:to], m.targets(h.batch, from, to), dloss[i*losses+m.loss])
			move, bias := g.of(m.loss)
			h.set.LogitsGrad(dpolicy[(i-first)*hw*c:(i-first+1)*hw*c], move, bias, d, h.choices(m, i, w))
		}
	}
	h.set.ReLUGrad(dpolicy, dpolicy, h.policy[first*hw*c:end*hw*c])
	flat, pooled, dbias := h.flat[first*hw*c:], h.pooled[first*2*c:], h.dbias[first*c:]
	for i := range n {
		h.set.RowSums(dbias[i*c:i*c+c], dpolicy[i*hw*c:], hw, c)
	}
	h.set.RowSums(g.policyBias, dbias, n, c)
	h.set.GemmWeightGrad(g.policyConv, flat, dpolicy, n*hw, c, c)
	h.set.GemmWeightGrad(g.policyPool, pooled, dbias, n, 2*c, c)
	h.set.Gemm(h.policyConvBack, kernel.GemmArgs{Dst: h.dflat[first*hw*c:], Src: dpolicy, Rows: n * hw})
	h.set.Gemm(h.policyPoolBack, kernel.GemmArgs{Dst: h.dpooled[first*2*c:], Src: dbias, Rows: n})
}

// valueBack computes the gradients of the value head's parameters and adds its
// part to that of flat.
func (h *heads) valueBack(dloss []float32, g *headWeights, first, end int) {
	c, hw, n, wide := h.c, h.board.Pixels(), end-first, h.out.N()
	channels, width := network.ValueChannels, network.ValueHidden
	doutputs := h.doutputs[first*wide : end*wide]
	for i := first; i < end; i++ {
		out, d, dl := h.outputs[i*wide:(i+1)*wide], doutputs[(i-first)*wide:][:wide], dloss[i*losses:]
		var chances [3]float32
		copy(chances[:], out)
		softmax(chances[:])
		softmaxGrad(d[:3], chances[:], h.batch.WDL[3*i:3*i+3], dl[valueLoss])
		_, slope := huber(out[3], h.batch.PliesLeft[i])
		d[3] = slope * dl[pliesLoss]
	}
	inner, dinner := h.inner[first*width:end*width], h.dinner[first*width:end*width]
	h.set.GemmWeightGrad(g.out, inner, doutputs, n, width, network.ValueOutputs)
	var sums [16]float32
	h.set.RowSums(sums[:], doutputs, n, wide)
	copy(g.outBias, sums[:])
	h.set.Gemm(h.outBack, kernel.GemmArgs{Dst: dinner, Src: doutputs, SrcStride: wide, Rows: n})
	h.set.ReLUGrad(dinner, dinner, inner)
	value, dvalue := h.value[first*hw*channels:end*hw*channels], h.dvalue[first*hw*channels:end*hw*channels]
	h.set.GemmWeightGrad(g.hidden, value, dinner, n, hw*channels, width)
	h.set.RowSums(g.hiddenBias, dinner, n, width)
	h.set.Gemm(h.hiddenBack, kernel.GemmArgs{Dst: dvalue, Src: dinner, Rows: n})
	h.set.ReLUGrad(dvalue, dvalue, value)
	flat, dflat := h.flat[first*hw*c:end*hw*c], h.dflat[first*hw*c:end*hw*c]
	h.set.GemmWeightGrad(g.valueConv, flat, dvalue, n*hw, c, channels)
	h.set.RowSums(g.valueBias, dvalue, n*hw, channels)
	h.set.Gemm(h.valueConvBack, kernel.GemmArgs{Dst: dflat, Src: dvalue, Rows: n * hw, Residual: dflat})
}

// towerBack brings the gradients of flat and pooled together.
func (h *heads) towerBack(x []float32, first, end int) {
	c, hw, size, n := h.c, h.board.Pixels(), h.board.Len(h.c), end-first
	in, dx := x[first*size:end*size], h.flow[0][first*size:end*size]
	kernel.Pad(dx, h.dflat[first*hw*c:], h.board, c, n)
	h.set.PoolGrad(dx, in, h.pooled[first*2*c:], h.dpooled[first*2*c:], h.board, c, n)
	h.set.ReLUGrad(dx, dx, in)
}
