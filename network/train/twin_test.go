package train

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"kirin/network"
)

// twin is the training graph made of Gorgonia's stock operations, in float64:
// planes, policy and pooling as matrices, activations as [sample, channel,
// rank, file].
type twin struct {
	graph  *G.ExprGraph
	form   network.Form
	n      int
	nodes  map[string]*G.Node
	params G.Nodes // in the order of the layout
}

func must(t *testing.T) func(n *G.Node, err error) *G.Node {
	return func(n *G.Node, err error) *G.Node {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
}

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

func (w *twin) value(name string, data []float64, shape ...int) *G.Node {
	v := tensor.New(tensor.WithShape(shape...), tensor.WithBacking(data))
	return G.NewTensor(w.graph, tensor.Float64, len(shape), G.WithShape(shape...), G.WithName(name), G.WithValue(v))
}

// stockShape is the shape in which Gorgonia's operations want a parameter.
func stockShape(s *network.Slot) []int {
	switch {
	case len(s.Shape) == 4:
		return s.Shape
	case s.Fan > 0 && (s.Name == "policy.conv.weight" || s.Name == "value.conv.weight"):
		return append(append([]int{}, s.Shape...), 1, 1)
	case s.Fan > 0:
		return s.Shape
	case strings.HasSuffix(s.Name, ".move.bias") || s.Name == "stem.bias" || s.Name == "policy.conv.bias" || s.Name == "value.conv.bias" || len(s.Name) > 5 && s.Name[:5] == "block":
		return []int{1, s.Size, 1, 1}
	}
	return []int{1, s.Size}
}

// losses runs the graph on a batch and returns the total loss and the gradient
// of the flat parameters. weights are those of the losses, [n][losses];
// temperature is that of the soft policy.
func (w *twin) run(t *testing.T, l *network.Layout, params []float32, b *Batch, weights []float32, temperature float64) (total float64, grads []float64) {
	m := must(t)
	building.Lock()
	defer building.Unlock()
	w.graph, w.form, w.n, w.nodes = G.NewGraph(), l.Form, b.N, map[string]*G.Node{}
	for i := range l.Slots {
		s := &l.Slots[i]
		node := w.value(s.Name, wide(s.Of(params)), stockShape(s)...)
		w.nodes[s.Name] = node
		w.params = append(w.params, node)
	}
	f := l.Form
	hw, c := f.Squares(), f.Spec.Channels
	planes := make([]float64, b.N*f.Planes*hw)
	for i := range b.N {
		for sq := range hw {
			for p := range f.Planes {
				planes[(i*f.Planes+p)*hw+sq] = float64(b.Planes[(i*hw+sq)*f.Planes+p])
			}
		}
	}
	x := w.value("planes", planes, b.N, f.Planes, f.Height, f.Width)
	x = m(G.Rectify(w.conv(t, x, "stem")))
	for i := range f.Spec.Blocks {
		name := fmt.Sprintf("block%d", i)
		y := m(G.Rectify(w.conv(t, x, name+".conv1")))
		z := m(G.Add(w.conv(t, y, name+".conv2"), x))
		if f.Spec.Pools(i) {
			z = w.addEverywhere(t, z, w.linear(t, w.pool(t, y, c), name+".pool.weight"), c)
		}
		x = m(G.Rectify(z))
	}
	h := w.addEverywhere(t, w.conv(t, x, "policy.conv"), w.linear(t, w.pool(t, x, c), "policy.pool.weight"), c)
	h = m(G.Rectify(h))
	loss := w.moves(t, h, "policy.move", b.N, b.Offsets, b.Index, b.Target, weights, policyLoss)
	if w.nodes["soft.move.weight"] != nil {
		soft := make([]float32, len(b.Target))
		for i := range b.N {
			from, to := b.Offsets[i], b.Offsets[i+1]
			soften(soft[from:to], b.Target[from:to], temperature)
		}
		loss = m(G.Add(loss, w.moves(t, h, "soft.move", b.N, b.Offsets, b.Index, soft, weights, softLoss)))
	}
	if w.nodes["reply.move.weight"] != nil {
		loss = m(G.Add(loss, w.moves(t, h, "reply.move", b.N, b.ReplyOffsets, b.ReplyIndex, b.Reply, weights, replyLoss)))
	}

	v := m(G.Rectify(w.conv(t, x, "value.conv")))
	v = m(G.Reshape(m(G.Transpose(v, 0, 2, 3, 1)), tensor.Shape{b.N, hw * network.ValueChannels}))
	v = m(G.Rectify(m(G.BroadcastAdd(w.linear(t, v, "value.hidden.weight"), w.nodes["value.hidden.bias"], nil, []byte{0}))))
	v = m(G.BroadcastAdd(w.linear(t, v, "value.out.weight"), w.nodes["value.out.bias"], nil, []byte{0}))
	wdl, pick, left := make([]float64, 3*b.N), make([]float64, 4*3), make([]float64, b.N)
	weight := make([]float64, b.N)
	for i := range b.N {
		for k := range 3 {
			wdl[3*i+k] = float64(b.WDL[3*i+k]) * float64(weights[i*losses+valueLoss])
		}
		left[i], weight[i] = -float64(b.PliesLeft[i])/network.PliesScale, float64(weights[i*losses+pliesLoss])/2
	}
	for k := range 3 {
		pick[3*k+k] = 1
	}
	results := m(G.LogSoftMax(m(G.Mul(v, w.value("pick", pick, 4, 3))), 1))
	loss = m(G.Sub(loss, m(G.Sum(m(G.HadamardProd(results, w.value("wdl", wdl, b.N, 3)))))))
	last := w.value("last", []float64{0, 0, 0, 1}, 4, 1)
	plies := m(G.Softplus(m(G.Mul(v, last))))
	square := m(G.Square(m(G.Add(plies, w.value("left", left, b.N, 1)))))
	loss = m(G.Add(loss, m(G.Sum(m(G.HadamardProd(square, w.value("weight", weight, b.N, 1)))))))

	gradients, err := G.Grad(loss, w.params...)
	if err != nil {
		t.Fatal(err)
	}
	values := make([]G.Value, len(gradients)+1)
	for i, n := range gradients {
		G.Read(n, &values[i])
	}
	G.Read(loss, &values[len(gradients)])
	vm := G.NewTapeMachine(w.graph)
	defer func() {
		if err := vm.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := vm.RunAll(); err != nil {
		t.Fatal(err)
	}
	for i := range gradients {
		grads = append(grads, values[i].Data().([]float64)...)
	}
	return values[len(gradients)].Data().(float64), grads
}

// moves is the weighted cross-entropy of a head that gives logits to moves, from
// the policy's features.
func (w *twin) moves(t *testing.T, features *G.Node, name string, n int, offsets, index []int32, target, weights []float32, of int) *G.Node {
	m, f := must(t), w.form
	hw, c := f.Squares(), f.Spec.Channels
	move := m(G.Reshape(w.nodes[name+".weight"], tensor.Shape{f.PolicyPlanes, c, 1, 1}))
	logits := m(G.Conv2d(features, move, tensor.Shape{1, 1}, []int{0, 0}, []int{1, 1}, []int{1, 1}))
	logits = m(G.BroadcastAdd(logits, w.nodes[name+".bias"], nil, []byte{0, 2, 3}))
	logits = m(G.Reshape(logits, tensor.Shape{n, f.PolicyPlanes * hw}))
	// As [plane][square]; what is not legal is pushed far down.
	mask, aim := make([]float64, n*f.PolicySize()), make([]float64, n*f.PolicySize())
	for i := range mask {
		mask[i] = -1e9
	}
	for i := range n {
		for j := offsets[i]; j < offsets[i+1]; j++ {
			sq, plane := int(index[j])/f.PolicyPlanes, int(index[j])%f.PolicyPlanes
			at := i*f.PolicySize() + plane*hw + sq
			mask[at], aim[at] = 0, float64(target[j])*float64(weights[i*losses+of])
		}
	}
	chances := m(G.LogSoftMax(m(G.Add(logits, w.value(name+" mask", mask, n, f.PolicySize()))), 1))
	return m(G.Neg(m(G.Sum(m(G.HadamardProd(chances, w.value(name+" target", aim, n, f.PolicySize())))))))
}

// conv is a convolution with padding and bias.
func (w *twin) conv(t *testing.T, x *G.Node, name string) *G.Node {
	m := must(t)
	weight := w.nodes[name+".weight"]
	side := weight.Shape()[2]
	y := m(G.Conv2d(x, weight, tensor.Shape{side, side}, []int{side / 2, side / 2}, []int{1, 1}, []int{1, 1}))
	return m(G.BroadcastAdd(y, w.nodes[name+".bias"], nil, []byte{0, 2, 3}))
}

// linear multiplies [n, in] with weights [out, in].
func (w *twin) linear(t *testing.T, x *G.Node, name string) *G.Node {
	m := must(t)
	return m(G.Mul(x, m(G.Transpose(w.nodes[name], 1, 0))))
}

// pool gives means and maxima of the channels, [n, 2c].
func (w *twin) pool(t *testing.T, x *G.Node, c int) *G.Node {
	m := must(t)
	flat := m(G.Reshape(x, tensor.Shape{w.n * c, w.form.Squares()}))
	mean := m(G.Reshape(m(G.Mean(flat, 1)), tensor.Shape{w.n, c}))
	top := m(G.Reshape(m(G.Max(flat, 1)), tensor.Shape{w.n, c}))
	return m(G.Concat(1, mean, top))
}

// addEverywhere adds a vector a sample to all squares.
func (w *twin) addEverywhere(t *testing.T, x, v *G.Node, c int) *G.Node {
	m := must(t)
	v = m(G.Reshape(v, tensor.Shape{w.n, c, 1, 1}))
	return m(G.BroadcastAdd(x, v, nil, []byte{2, 3}))
}

func TestTheFusedGraphAgreesWithGorgoniasStockOperations(t *testing.T) {
	for _, c := range []struct {
		game, spec            string
		soft, reply, surprise float64
	}{{"minishogi", "2x16", 0, 0, 0}, {"minishogi", "2x16g2", 0, 0, 0}, {"minishogi", "1x16", 2, 0.5, 0.5}, {"minishogi", "1x16", 0, 1, 0}} {
		w, _ := weights(t, c.spec, c.game)
		o := DefaultOptions()
		o.BatchSize, o.PliesWeight = 7, 1
		o.SoftWeight, o.ReplyWeight, o.Surprise = c.soft, c.reply, c.surprise
		tr, err := New(w, o)
		if err != nil {
			t.Fatal(err)
		}
		randomBatch(tr, 7, 5)
		b := tr.Batch()
		for i := range b.N { // near the output of a fresh net, where Huber's loss is a square
			b.PliesLeft[i] = 40 + float32(i)
			for j := range int32(i % 4) {
				b.ReplyIndex, b.Reply = append(b.ReplyIndex, (j*101+int32(i)*17)%int32(tr.Encoder().PolicySize())), append(b.Reply, 1/float32(i%4))
			}
			b.ReplyOffsets[i+1] = int32(len(b.ReplyIndex))
		}
		rng := rand.New(rand.NewPCG(8, 9))
		for _, name := range o.auxiliary().names() { // they begin at zero
			normal(rng, tr.layout.Of(tr.params, name), 0.1)
		}
		tr.weigh(b)
		if err := tr.graph.run(b); err != nil {
			t.Fatal(err)
		}
		total, grads := (&twin{}).run(t, tr.layout, tr.params, b, tr.graph.total.weights, o.Temperature)
		if got := float64(*tr.graph.total.sum); math.Abs(got-total) > 1e-5 {
			t.Errorf("%s: total loss %v, stock graph %v", c.spec, got, total)
		}
		for i := range tr.layout.Slots {
			s := &tr.layout.Slots[i]
			worst, largest := 0.0, 0.0
			for j, g := range s.Of(tr.grads) {
				worst = max(worst, math.Abs(float64(g)-grads[s.Offset+j]))
				largest = max(largest, math.Abs(grads[s.Offset+j]))
			}
			if !(worst < 1e-4*largest+1e-9) {
				t.Errorf("%s: gradient of %s is off by %v, its largest element is %v", c.spec, s.Name, worst, largest)
			}
		}
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	}
}
