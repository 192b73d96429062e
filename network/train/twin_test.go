package train

import (
	"math"
	"math/rand/v2"
	"testing"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"kirin/network"
	"kirin/network/stock"
)

// twin is the training graph made of Gorgonia's stock operations, in float64.
type twin struct {
	*stock.Net
	form network.Form
	n    int
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

// losses runs the graph on a batch and returns the total loss and the gradient
// of the flat parameters. weights are those of the losses, [n][losses];
// temperature is that of the soft policy.
func (w *twin) run(t *testing.T, l *network.Layout, params []float32, b *Batch, weights []float32, temperature float64) (total float64, grads []float64) {
	m := must(t)
	building.Lock()
	defer building.Unlock()
	net, err := stock.New(tensor.Float64, l, params, b.N)
	if err != nil {
		t.Fatal(err)
	}
	net.SetPlanes(b.Planes[:b.N*l.Form.Squares()*l.Form.Planes])
	w.Net, w.form, w.n = net, l.Form, b.N
	loss := w.moves(t, "policy.move", b.Offsets, b.Index, b.Target, weights, policyLoss)
	if w.Has("soft.move.weight") {
		soft := make([]float32, len(b.Target))
		for i := range b.N {
			from, to := b.Offsets[i], b.Offsets[i+1]
			soften(soft[from:to], b.Target[from:to], temperature)
		}
		loss = m(G.Add(loss, w.moves(t, "soft.move", b.Offsets, b.Index, soft, weights, softLoss)))
	}
	if w.Has("reply.move.weight") {
		loss = m(G.Add(loss, w.moves(t, "reply.move", b.ReplyOffsets, b.ReplyIndex, b.Reply, weights, replyLoss)))
	}

	v := w.Outputs
	wdl, pick, left := make([]float32, 3*b.N), make([]float32, 4*3), make([]float32, b.N)
	weight := make([]float32, b.N)
	for i := range b.N {
		for k := range 3 {
			wdl[3*i+k] = b.WDL[3*i+k] * weights[i*losses+valueLoss]
		}
		left[i], weight[i] = -b.PliesLeft[i]/network.PliesScale, weights[i*losses+pliesLoss]/2
	}
	for k := range 3 {
		pick[3*k+k] = 1
	}
	results := m(G.LogSoftMax(m(G.Mul(v, w.Value("pick", pick, 4, 3))), 1))
	loss = m(G.Sub(loss, m(G.Sum(m(G.HadamardProd(results, w.Value("wdl", wdl, b.N, 3)))))))
	last := w.Value("last", []float32{0, 0, 0, 1}, 4, 1)
	plies := m(G.Softplus(m(G.Mul(v, last))))
	square := m(G.Square(m(G.Add(plies, w.Value("left", left, b.N, 1)))))
	loss = m(G.Add(loss, m(G.Sum(m(G.HadamardProd(square, w.Value("weight", weight, b.N, 1)))))))

	gradients, err := G.Grad(loss, w.Params...)
	if err != nil {
		t.Fatal(err)
	}
	values := make([]G.Value, len(gradients)+1)
	for i, n := range gradients {
		G.Read(n, &values[i])
	}
	G.Read(loss, &values[len(gradients)])
	vm := G.NewTapeMachine(w.Graph)
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

// moves is the weighted cross-entropy of a head that gives logits to moves.
func (w *twin) moves(t *testing.T, name string, offsets, index []int32, target, weights []float32, of int) *G.Node {
	m, f := must(t), w.form
	logits := m(w.Moves(name))
	// What is not legal is pushed far down.
	mask, aim := make([]float32, w.n*f.PolicySize()), make([]float32, w.n*f.PolicySize())
	for i := range mask {
		mask[i] = -1e9
	}
	for i := range w.n {
		for j := offsets[i]; j < offsets[i+1]; j++ {
			at := i*f.PolicySize() + w.At(index[j])
			mask[at], aim[at] = 0, target[j]*weights[i*losses+of]
		}
	}
	chances := m(G.LogSoftMax(m(G.Add(logits, w.Value(name+" mask", mask, w.n, f.PolicySize()))), 1))
	return m(G.Neg(m(G.Sum(m(G.HadamardProd(chances, w.Value(name+" target", aim, w.n, f.PolicySize())))))))
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
				b.ReplyIndex, b.Reply = append(b.ReplyIndex, (j*101+int32(i)*17)%int32(tr.encoder.PolicySize())), append(b.Reply, 1/float32(i%4))
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
