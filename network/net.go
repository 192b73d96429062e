package network

import (
	"fmt"
	"math"

	"kirin/network/kernel"
	"kirin/rules"
)

// Net is a net ready to answer: weights packed for one set of kernels. But for
// [Net.Reload] it is immutable and may be shared; each goroutine needs a Scratch
// of its own.
type Net struct {
	form   Form
	meta   Meta
	set    *kernel.Set
	board  kernel.Board
	inputs int // input planes, padded with zeros to what the kernels take
	group  int // images that go through all layers together
	stem   layer
	blocks []block
	head   heads
	padded []float32 // stem weights on their way into stem.conv
	loads  uint64
}

// layer is a 3x3 convolution with its bias.
type layer struct {
	conv *kernel.Conv3x3
	bias []float32
}

type block struct {
	first, second layer
	pool          *kernel.Matrix // nil without a pooling path
}

// heads are the packed matrices of the policy and value heads.
type heads struct {
	policyConv, policyPool *kernel.Matrix
	policyBias             []float32
	moveWeight, moveBias   []float32
	valueConv              *kernel.Matrix
	valueBias              []float32
	hidden                 *kernel.Matrix
	hiddenBias             []float32
	out                    *kernel.Matrix
	outBias                []float32 // padded
}

// New packs weights for the fastest kernels of this machine.
func New(w *Weights) (*Net, error) { return NewOn(w, kernel.Best()) }

// NewOn packs weights for one set of kernels. The weights are not kept.
func NewOn(w *Weights, set *kernel.Set) (*Net, error) {
	if err := w.Form.Validate(); err != nil {
		return nil, err
	}
	n, err := allocate(w.Form, set)
	if err != nil {
		return nil, err
	}
	if err := n.Reload(w); err != nil {
		return nil, err
	}
	return n, nil
}

// allocate makes the memory of a net.
func allocate(form Form, set *kernel.Set) (*Net, error) {
	c := form.Spec.Channels
	n := &Net{form: form, set: set, board: kernel.Board{H: form.Height, W: form.Width}, inputs: kernel.RoundUp(form.Planes)}
	var err error
	conv := func(in int, like *kernel.Conv3x3) layer {
		y := layer{bias: kernel.Alloc(c)}
		if err == nil {
			y.conv, err = kernel.NewConv3x3Like(n.board, in, c, like)
		}
		return y
	}
	n.stem = conv(n.inputs, nil)
	n.padded = kernel.Alloc(c * n.inputs * 9)
	n.blocks = make([]block, form.Spec.Blocks)
	for i := range n.blocks {
		n.blocks[i].first = conv(c, n.blocks[0].first.conv)
		n.blocks[i].second = conv(c, n.blocks[0].first.conv)
		if form.Spec.Pools(i) {
			n.blocks[i].pool = kernel.NewMatrix(2*c, c)
		}
	}
	if err != nil {
		return nil, err
	}
	n.group = max(minGroup, n.stem.conv.Block(), n.blocks[0].first.conv.Block())
	vector := func(size int) []float32 { return kernel.Alloc(kernel.RoundUp(size)) }
	n.head = heads{
		policyConv: kernel.NewMatrix(c, c), policyPool: kernel.NewMatrix(2*c, c), policyBias: vector(c),
		moveWeight: vector(c * form.PolicyPlanes), moveBias: vector(form.PolicyPlanes),
		valueConv: kernel.NewMatrix(c, ValueChannels), valueBias: vector(ValueChannels),
		hidden: kernel.NewMatrix(n.board.Pixels()*ValueChannels, ValueHidden), hiddenBias: vector(ValueHidden),
		out: kernel.NewMatrix(ValueHidden, ValueOutputs), outBias: vector(ValueOutputs),
	}
	return n, nil
}

// Reload packs other weights of the same form into the net's memory. Nobody may
// use the net meanwhile, and evaluators must be given it anew. After an error
// the net is as it was.
func (n *Net) Reload(w *Weights) error {
	l := NewLayout(w.Form)
	if len(w.Params) != l.Size {
		return fmt.Errorf("a net %s has %d parameters, not %d", w.Form.Spec, l.Size, len(w.Params))
	}
	if w.Form != n.form {
		return fmt.Errorf("weights of a net %s do not fit into one of %s", w.Form.Spec, n.form.Spec)
	}
	if !n.set.Finite(w.Params) {
		return fmt.Errorf("net %s of step %d holds numbers that are not finite", w.Form.Spec, w.Meta.Step)
	}
	n.meta = w.Meta
	n.loads++
	of := func(name string) []float32 { return l.Of(w.Params, name) }
	pack := func(y *layer, name string) {
		copy(y.bias, of(name+".bias"))
		n.set.Pack(y.conv, of(name+".weight"))
	}
	copy(n.stem.bias, of("stem.bias"))
	n.set.Pack(n.stem.conv, PadInputs(n.padded, of("stem.weight"), n.form.Spec.Channels, n.form.Planes))
	for i := range n.blocks {
		b, name := &n.blocks[i], fmt.Sprintf("block%d", i)
		pack(&b.first, name+".conv1")
		pack(&b.second, name+".conv2")
		if b.pool != nil {
			b.pool.Pack(of(name + ".pool.weight"))
		}
	}
	h := &n.head
	h.policyConv.Pack(of("policy.conv.weight"))
	h.policyPool.Pack(of("policy.pool.weight"))
	copy(h.policyBias, of("policy.conv.bias"))
	copy(h.moveWeight, of("policy.move.weight"))
	copy(h.moveBias, of("policy.move.bias"))
	h.valueConv.Pack(of("value.conv.weight"))
	copy(h.valueBias, of("value.conv.bias"))
	h.hidden.Pack(of("value.hidden.weight"))
	copy(h.hiddenBias, of("value.hidden.bias"))
	h.out.Pack(of("value.out.weight"))
	copy(h.outBias, of("value.out.bias"))
	return nil
}

// Loads counts the weights that the net has been given, the first ones
// included: answers of one count do not hold for another.
func (n *Net) Loads() uint64 { return n.loads }

// PadInputs copies stem weights [out][planes][3][3] to dst as [out][P][3][3],
// P being planes rounded up to what the kernels take; the rest is zero. A nil
// dst is allocated.
func PadInputs(dst, weight []float32, out, planes int) []float32 {
	wide := kernel.RoundUp(planes)
	if dst == nil {
		dst = kernel.Alloc(out * wide * 9)
	}
	for o := range out {
		copy(dst[o*wide*9:], weight[o*planes*9:(o+1)*planes*9])
	}
	return dst
}

// minGroup is how many images at least go through all layers together: enough
// for the matrix products to have many rows, few enough for the activations to
// stay in the caches of a core.
const minGroup = 24

// Form returns the net's sizes.
func (n *Net) Form() Form { return n.form }

// Meta returns the description of the weights. The caller must not change its
// map.
func (n *Net) Meta() Meta { return n.meta }

// Scratch is the memory that one goroutine needs for forward passes of nets of
// one form.
type Scratch struct {
	form            Form
	in              []float32 // [group][padded board][inputs]
	x, y, z         []float32 // [group][padded board][channels]
	conv            []float32
	flat            []float32 // [group*squares][channels]
	pooled          []float32 // [group][2*channels]
	bias            []float32 // [group][channels]
	policy          []float32 // [squares][channels]
	value           []float32 // [group*squares][ValueChannels]
	hidden, outputs []float32 // [group][ValueHidden], [group][16]
}

// NewScratch returns scratch memory for a net and others of the same form.
func NewScratch(n *Net) *Scratch {
	c, g, hw := n.form.Spec.Channels, n.group, n.board.Pixels()
	s := &Scratch{form: n.form, in: kernel.Alloc(g * n.board.Len(n.inputs))}
	s.x, s.y, s.z = kernel.Alloc(g*n.board.Len(c)), kernel.Alloc(g*n.board.Len(c)), kernel.Alloc(g*n.board.Len(c))
	s.conv = kernel.Alloc(max(n.stem.conv.ScratchLen(), n.blocks[0].first.conv.ScratchLen()))
	s.flat, s.policy = kernel.Alloc(g*hw*c), kernel.Alloc(hw*c)
	s.pooled, s.bias = kernel.Alloc(g*2*c), kernel.Alloc(g*c)
	s.value = kernel.Alloc(g * hw * ValueChannels)
	s.hidden, s.outputs = kernel.Alloc(g*ValueHidden), kernel.Alloc(g*n.head.out.N())
	return s
}

// Request is a batch of positions and the place for their answers.
type Request struct {
	N       int       // positions
	Planes  []float32 // [N][squares][planes], as encode.Encoder writes them
	Offsets []int32   // [N+1]: position i asks for Index[Offsets[i]:Offsets[i+1]]
	Index   []int32   // policy indices of the legal moves

	Logits []float32     // answer, aligned with Index
	Values []rules.Value // answer [N]: probabilities for the side to move
	Plies  []float32     // answer [N]: expected plies to the end of the game; may be nil
}

// Forward answers a batch of any size. What a position is answered does not
// depend on the others in the batch nor on its place there, bit for bit.
// Nothing is allocated.
func (n *Net) Forward(s *Scratch, r *Request) {
	if s.form != n.form {
		panic("network: scratch memory of another form")
	}
	groups := (r.N + n.group - 1) / n.group
	for i := range groups {
		first, end := r.N*i/groups, r.N*(i+1)/groups
		n.forward(s, r, first, end-first)
	}
}

// forward answers count positions from first on.
func (n *Net) forward(s *Scratch, r *Request, first, count int) {
	hw := n.board.Pixels()
	kernel.PadChannels(s.in, r.Planes[first*hw*n.form.Planes:], n.board, n.form.Planes, n.inputs, count)
	n.set.Conv(n.stem.conv, kernel.ConvArgs{Dst: s.x, Src: s.in, N: count, Bias: n.stem.bias, ReLU: true}, s.conv)
	x, y, z := s.x, s.y, s.z
	c := n.form.Spec.Channels
	for i := range n.blocks {
		b := &n.blocks[i]
		n.set.Conv(b.first.conv, kernel.ConvArgs{Dst: y, Src: x, N: count, Bias: b.first.bias, ReLU: true}, s.conv)
		second := kernel.ConvArgs{Dst: z, Src: y, N: count, Bias: b.second.bias, Residual: x, ReLU: true}
		if b.pool != nil {
			n.set.Pool(s.pooled, y, n.board, c, count)
			n.set.Gemm(b.pool, kernel.GemmArgs{Dst: s.bias, Src: s.pooled, Rows: count, Bias: b.second.bias})
			second.Bias, second.BiasStride = s.bias, c
		}
		n.set.Conv(b.second.conv, second, s.conv)
		x, z = z, x
	}
	kernel.Unpad(s.flat, x, n.board, c, count)
	n.set.Pool(s.pooled, x, n.board, c, count)
	n.policy(s, r, first, count)
	n.value(s, r, first, count)
}

// policy computes the logits of the legal moves from the tower's output.
func (n *Net) policy(s *Scratch, r *Request, first, count int) {
	h, c, hw := &n.head, n.form.Spec.Channels, n.board.Pixels()
	n.set.Gemm(h.policyPool, kernel.GemmArgs{Dst: s.bias, Src: s.pooled, Rows: count, Bias: h.policyBias})
	for i := range count {
		from, to := r.Offsets[first+i], r.Offsets[first+i+1]
		if from == to {
			continue
		}
		n.set.Gemm(h.policyConv, kernel.GemmArgs{Dst: s.policy, Src: s.flat[i*hw*c:], Rows: hw, Bias: s.bias[i*c : i*c+c], ReLU: true})
		n.set.Logits(r.Logits[from:to], kernel.Choices{X: s.policy, C: c, W: h.moveWeight, Bias: h.moveBias, Planes: n.form.PolicyPlanes, Index: r.Index[from:to]})
	}
}

// value computes values and plies left from the tower's output.
func (n *Net) value(s *Scratch, r *Request, first, count int) {
	h, hw := &n.head, n.board.Pixels()
	n.set.Gemm(h.valueConv, kernel.GemmArgs{Dst: s.value, Src: s.flat, Rows: count * hw, Bias: h.valueBias, ReLU: true})
	n.set.Gemm(h.hidden, kernel.GemmArgs{Dst: s.hidden, Src: s.value, Rows: count, Bias: h.hiddenBias, ReLU: true})
	n.set.Gemm(h.out, kernel.GemmArgs{Dst: s.outputs, Src: s.hidden, Rows: count, Bias: h.outBias})
	for i := range count {
		o := s.outputs[i*h.out.N():][:ValueOutputs]
		r.Values[first+i] = Probabilities(o)
		if r.Plies != nil {
			r.Plies[first+i] = PliesLeft(o[3])
		}
	}
}

// Probabilities is the softmax of the logits of win, draw and loss.
func Probabilities(logits []float32) rules.Value {
	top := max(logits[0], logits[1], logits[2])
	w := math.Exp(float64(logits[0] - top))
	d := math.Exp(float64(logits[1] - top))
	l := math.Exp(float64(logits[2] - top))
	sum := w + d + l
	return rules.Value{Win: float32(w / sum), Draw: float32(d / sum), Loss: float32(l / sum)}
}

// PliesLeft turns the plies-left output into plies, PliesScale times softplus.
func PliesLeft(z float32) float32 {
	return float32(PliesScale * Softplus(float64(z)))
}

// Softplus returns log(1+e^z) without overflow.
func Softplus(z float64) float64 { return max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))) }
