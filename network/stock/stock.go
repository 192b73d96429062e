// Package stock builds the net of package network from Gorgonia's own operations, as someone would who had no kernels:
// the yardstick of benchmarks and the twin of tests. It is slow.
//
//	s, err := stock.New(tensor.Float32, layout, params, 32)
//	policy, outputs := s.Moves("policy.move"), s.Outputs
//	... G.Read, a loss, G.Grad, a tape machine ...
//
// Activations are [sample, channel, rank, file]. Gorgonia's construction of graphs writes to state of its own: no two
// graphs may be built at the same time.
package stock

import (
	"fmt"
	"slices"
	"strings"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"kirin/network"
)

// Net is the graph of a net for batches of a fixed size.
type Net struct {
	Graph    *G.ExprGraph
	Params   G.Nodes // in the order of the layout
	Features *G.Node // [n, channels, rank, file]: what the policy heads read
	Outputs  *G.Node // [n, 4]: logits of win, draw and loss, and the plies left

	dtype  tensor.Dtype
	form   network.Form
	n      int
	nodes  map[string]*G.Node
	planes tensor.Tensor
	err    error // the first fault; what follows it does nothing
}

// New builds the net with the parameters params, in the order of layout, for batches of n positions. dtype is Float32 or
// Float64. The planes are zero until SetPlanes.
func New(dtype tensor.Dtype, layout *network.Layout, params []float32, n int) (*Net, error) {
	s := &Net{Graph: G.NewGraph(), dtype: dtype, form: layout.Form, n: n, nodes: map[string]*G.Node{}}
	for i := range layout.Slots {
		slot := &layout.Slots[i]
		node := s.Value(slot.Name, slot.Of(params), shape(slot)...)
		s.nodes[slot.Name] = node
		s.Params = append(s.Params, node)
	}
	f := layout.Form
	c, hw := f.Spec.Channels, f.Squares()
	x := s.Value("planes", make([]float32, n*f.Planes*hw), n, f.Planes, f.Height, f.Width)
	s.planes = x.Value().(tensor.Tensor)
	x = s.relu(s.conv(x, "stem"))
	for i := range f.Spec.Blocks {
		name := fmt.Sprintf("block%d", i)
		y := s.relu(s.conv(x, name+".conv1"))
		z := s.do(G.Add(s.conv(y, name+".conv2"), x))
		if f.Spec.Pools(i) {
			z = s.addEverywhere(z, s.linear(s.pool(y), name+".pool.weight"))
		}
		x = s.relu(z)
	}
	s.Features = s.relu(s.addEverywhere(s.conv(x, "policy.conv"), s.linear(s.pool(x), "policy.pool.weight")))
	v := s.relu(s.conv(x, "value.conv"))
	v = s.do(G.Transpose(v, 0, 2, 3, 1))
	v = s.do(G.Reshape(v, tensor.Shape{n, hw * network.ValueChannels}))
	v = s.relu(s.addRow(s.linear(v, "value.hidden.weight"), "value.hidden.bias"))
	s.Outputs = s.addRow(s.linear(v, "value.out.weight"), "value.out.bias")
	if s.err != nil {
		return nil, fmt.Errorf("stock: net %s with %d channels: %w", f.Spec, c, s.err)
	}
	return s, nil
}

// Moves gives the logits of a head that names moves ("policy.move"), [n, PolicySize] as [plane][square]: logit index i of
// package encode is column At(i).
func (s *Net) Moves(name string) (*G.Node, error) {
	f := s.form
	move := s.do(G.Reshape(s.nodes[name+".weight"], tensor.Shape{f.PolicyPlanes, f.Spec.Channels, 1, 1}))
	logits := s.do(G.Conv2d(s.Features, move, tensor.Shape{1, 1}, []int{0, 0}, []int{1, 1}, []int{1, 1}))
	logits = s.do(G.BroadcastAdd(logits, s.nodes[name+".bias"], nil, []byte{0, 2, 3}))
	logits = s.do(G.Reshape(logits, tensor.Shape{s.n, f.PolicySize()}))
	return logits, s.err
}

// At is the column of a policy index in the result of Moves.
func (s *Net) At(index int32) int {
	return int(index)%s.form.PolicyPlanes*s.form.Squares() + int(index)/s.form.PolicyPlanes
}

// Has tells whether the layout has a parameter of that name.
func (s *Net) Has(name string) bool { return s.nodes[name] != nil }

// Value adds numbers to the graph.
func (s *Net) Value(name string, data []float32, shape ...int) *G.Node {
	var v tensor.Tensor
	if s.dtype == tensor.Float64 {
		v = tensor.New(tensor.WithShape(shape...), tensor.WithBacking(wide(data)))
	} else {
		v = tensor.New(tensor.WithShape(shape...), tensor.WithBacking(slices.Clone(data)))
	}
	return G.NewTensor(s.Graph, s.dtype, len(shape), G.WithShape(shape...), G.WithName(name), G.WithValue(v))
}

// SetPlanes takes the planes of up to n positions, [positions][squares][planes] as encode.Encoder writes them.
func (s *Net) SetPlanes(planes []float32) {
	hw, p := s.form.Squares(), s.form.Planes
	put := func(f func(to int, v float32)) {
		for i := range len(planes) / (hw * p) {
			for sq := range hw {
				for k := range p {
					f((i*p+k)*hw+sq, planes[(i*hw+sq)*p+k])
				}
			}
		}
	}
	switch to := s.planes.Data().(type) {
	case []float64:
		put(func(i int, v float32) { to[i] = float64(v) })
	case []float32:
		put(func(i int, v float32) { to[i] = v })
	}
}

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// shape is the shape in which Gorgonia's operations want a parameter.
func shape(s *network.Slot) []int {
	switch {
	case len(s.Shape) == 4:
		return s.Shape
	case s.Fan > 0 && (s.Name == "policy.conv.weight" || s.Name == "value.conv.weight"):
		return append(slices.Clone(s.Shape), 1, 1)
	case s.Fan > 0:
		return s.Shape
	case strings.HasSuffix(s.Name, ".move.bias") || s.Name == "stem.bias" || s.Name == "policy.conv.bias" || s.Name == "value.conv.bias" || strings.HasPrefix(s.Name, "block"):
		return []int{1, s.Size, 1, 1}
	}
	return []int{1, s.Size}
}

// do keeps the first fault.
func (s *Net) do(n *G.Node, err error) *G.Node {
	if s.err == nil {
		s.err = err
	}
	return n
}

func (s *Net) relu(x *G.Node) *G.Node {
	if s.err != nil {
		return x
	}
	return s.do(G.Rectify(x))
}

// conv is a convolution with padding and bias.
func (s *Net) conv(x *G.Node, name string) *G.Node {
	if s.err != nil {
		return x
	}
	weight := s.nodes[name+".weight"]
	side := weight.Shape()[2]
	y := s.do(G.Conv2d(x, weight, tensor.Shape{side, side}, []int{side / 2, side / 2}, []int{1, 1}, []int{1, 1}))
	return s.do(G.BroadcastAdd(y, s.nodes[name+".bias"], nil, []byte{0, 2, 3}))
}

// linear multiplies [n, in] with weights [out, in].
func (s *Net) linear(x *G.Node, name string) *G.Node {
	if s.err != nil {
		return x
	}
	return s.do(G.Mul(x, s.do(G.Transpose(s.nodes[name], 1, 0))))
}

// addRow adds a bias to each row.
func (s *Net) addRow(x *G.Node, name string) *G.Node {
	if s.err != nil {
		return x
	}
	return s.do(G.BroadcastAdd(x, s.nodes[name], nil, []byte{0}))
}

// pool gives means and maxima of the channels, [n, 2c].
func (s *Net) pool(x *G.Node) *G.Node {
	if s.err != nil {
		return x
	}
	c := s.form.Spec.Channels
	flat := s.do(G.Reshape(x, tensor.Shape{s.n * c, s.form.Squares()}))
	mean := s.do(G.Reshape(s.do(G.Mean(flat, 1)), tensor.Shape{s.n, c}))
	top := s.do(G.Reshape(s.do(G.Max(flat, 1)), tensor.Shape{s.n, c}))
	return s.do(G.Concat(1, mean, top))
}

// addEverywhere adds a vector a sample to all squares.
func (s *Net) addEverywhere(x, v *G.Node) *G.Node {
	if s.err != nil {
		return x
	}
	v = s.do(G.Reshape(v, tensor.Shape{s.n, s.form.Spec.Channels, 1, 1}))
	return s.do(G.BroadcastAdd(x, v, nil, []byte{2, 3}))
}
