package network

import (
	"encoding/binary"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"kirin/dataset/whole"
	"kirin/network/encode"
	"kirin/rules"
)

// Versions that the ONNX file states.
const (
	onnxIR    = 8  // file format
	onnxOpset = 17 // operators
)

// WriteONNX writes the net to path for other programs, whole or not at all.
//
// Input "planes" is float32 [batch, rank, file, plane], as encode.Encoder
// writes it; the batch may have any size. Outputs: "policy" [batch,
// squares*PolicyPlanes] are logits at the policy indices, of which only those
// of legal moves mean anything; "wdl" [batch, 3] are the probabilities of win,
// draw and loss for the side to move; "plies_left" [batch, 1] are the expected
// plies to the end. The metadata are those of the weights file and
// "plane_names", a line for each input plane.
func WriteONNX(path string, w *Weights) error {
	data, err := EncodeONNX(w)
	if err != nil {
		return fmt.Errorf("onnx %s: %w", path, err)
	}
	return whole.WriteFile(path, data)
}

// EncodeONNX returns the bytes that WriteONNX writes: a ModelProto of
// https://github.com/onnx/onnx/blob/main/onnx/onnx.proto, whose field numbers
// are those in this file. Equal weights give equal bytes.
func EncodeONNX(w *Weights) ([]byte, error) {
	// Encode checks the form, the parameters and the metadata.
	if _, err := w.Encode(); err != nil {
		return nil, err
	}
	g := &onnxGraph{w: w, l: NewLayout(w.Form)}
	g.build()
	var m message
	m.number(1, onnxIR)
	m.text(2, "kirin")
	m.text(3, w.Meta.Version)
	m.message(7, g.encode())
	var opset message
	opset.text(1, "")
	opset.number(2, onnxOpset)
	m.message(8, opset)
	meta := w.metadata()
	if names := planeNames(w); names != nil {
		meta["plane_names"] = strings.Join(names, "\n")
	}
	keys := make([]string, 0, len(meta))
	for k := range meta {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		var entry message
		entry.text(1, k)
		entry.text(2, meta[k])
		m.message(14, entry)
	}
	return m, nil
}

// planeNames returns what the input planes show, nil if this program makes
// other planes for the net's game.
func planeNames(w *Weights) []string {
	v, err := rules.Load(w.Meta.Variant, strings.Split(w.Meta.Rules, ",")...)
	if err != nil {
		return nil
	}
	enc, err := encode.New(v)
	if err != nil || enc.Name() != w.Meta.Encoder || NewForm(w.Form.Spec, enc) != w.Form {
		return nil
	}
	return enc.PlaneNames()
}

// message is a protocol buffer that is being written.
type message []byte

func (m *message) number(field protowire.Number, x int64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), uint64(x))
}

func (m *message) text(field protowire.Number, s string) {
	*m = protowire.AppendString(protowire.AppendTag(*m, field, protowire.BytesType), s)
}

func (m *message) message(field protowire.Number, b []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), b)
}

// onnxGraph collects the parts of a GraphProto.
type onnxGraph struct {
	w            *Weights
	l            *Layout
	nodes        message
	initializers message
	count        int // nodes so far
}

// attribute is a property of a node: a list of numbers, or a single one.
type attribute struct {
	name string
	ints []int64
	one  bool
}

// node adds an operation with one result and returns the result's name.
func (g *onnxGraph) node(kind string, inputs []string, attributes ...attribute) string {
	g.count++
	return g.named(kind, strconv.Itoa(g.count), inputs, attributes...)
}

// named adds an operation whose result has that name.
func (g *onnxGraph) named(kind, result string, inputs []string, attributes ...attribute) string {
	var n message
	for _, in := range inputs {
		n.text(1, in)
	}
	n.text(2, result)
	n.text(3, kind+" "+result)
	n.text(4, kind)
	for _, a := range attributes {
		var p message
		p.text(1, a.name)
		if a.one {
			p.number(3, a.ints[0])
			p.number(20, 2) // INT
		} else {
			for _, x := range a.ints {
				p.number(8, x)
			}
			p.number(20, 7) // INTS
		}
		n.message(5, p)
	}
	g.nodes.message(1, n)
	return result
}

// initializer adds a constant and returns its name.
func (g *onnxGraph) initializer(name string, data []float32, shape ...int) string {
	var t message
	for _, s := range shape {
		t.number(1, int64(s))
	}
	t.number(2, 1) // FLOAT
	t.text(8, name)
	raw := make([]byte, 0, 4*len(data))
	for _, x := range data {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	t.message(9, raw)
	g.initializers.message(5, t)
	return name
}

// parameter adds a tensor of the net with the given shape.
func (g *onnxGraph) parameter(name string, shape ...int) string {
	return g.initializer(name, g.l.Of(g.w.Params, name), shape...)
}

// conv adds a convolution with padding; bias "" means none.
func (g *onnxGraph) conv(x, name, bias string, out, in, side int) string {
	inputs := []string{x, g.parameter(name, out, in, side, side)}
	if bias != "" {
		inputs = append(inputs, g.parameter(bias, out))
	}
	pad := int64(side / 2)
	return g.node("Conv", inputs,
		attribute{name: "kernel_shape", ints: []int64{int64(side), int64(side)}},
		attribute{name: "pads", ints: []int64{pad, pad, pad, pad}})
}

func (g *onnxGraph) relu(x string) string { return g.node("Relu", []string{x}) }

func (g *onnxGraph) add(x, y string) string { return g.node("Add", []string{x, y}) }

// pool gives means and maxima of the channels, [batch, 2c, 1, 1].
func (g *onnxGraph) pool(x string) string {
	mean, top := g.node("GlobalAveragePool", []string{x}), g.node("GlobalMaxPool", []string{x})
	return g.node("Concat", []string{mean, top}, attribute{"axis", []int64{1}, true})
}

// squares turns [batch, channel, rank, file] into [batch, (rank, file,
// channel)] under the given name, "" for any.
func (g *onnxGraph) squares(x, name string) string {
	x = g.node("Transpose", []string{x}, attribute{name: "perm", ints: []int64{0, 2, 3, 1}})
	axis := attribute{"axis", []int64{1}, true}
	if name == "" {
		return g.node("Flatten", []string{x}, axis)
	}
	return g.named("Flatten", name, []string{x}, axis)
}

// gemm multiplies with weights [out, in] that are among the initializers.
func (g *onnxGraph) gemm(x, weight, bias string) string {
	return g.node("Gemm", []string{x, weight, bias}, attribute{"transB", []int64{1}, true})
}

func (g *onnxGraph) build() {
	f := g.w.Form
	c := f.Spec.Channels
	x := g.node("Transpose", []string{"planes"}, attribute{name: "perm", ints: []int64{0, 3, 1, 2}})
	x = g.relu(g.conv(x, "stem.weight", "stem.bias", c, f.Planes, 3))
	for i := range f.Spec.Blocks {
		name := fmt.Sprintf("block%d.", i)
		y := g.relu(g.conv(x, name+"conv1.weight", name+"conv1.bias", c, c, 3))
		z := g.add(g.conv(y, name+"conv2.weight", name+"conv2.bias", c, c, 3), x)
		if f.Spec.Pools(i) {
			z = g.add(z, g.conv(g.pool(y), name+"pool.weight", "", c, 2*c, 1))
		}
		x = g.relu(z)
	}
	p := g.conv(x, "policy.conv.weight", "policy.conv.bias", c, c, 1)
	p = g.relu(g.add(p, g.conv(g.pool(x), "policy.pool.weight", "", c, 2*c, 1)))
	g.squares(g.conv(p, "policy.move.weight", "policy.move.bias", f.PolicyPlanes, c, 1), "policy")

	v := g.squares(g.relu(g.conv(x, "value.conv.weight", "value.conv.bias", ValueChannels, c, 1)), "")
	v = g.relu(g.gemm(v, g.parameter("value.hidden.weight", ValueHidden, f.Squares()*ValueChannels), g.parameter("value.hidden.bias", ValueHidden)))
	weight, bias := g.l.Of(g.w.Params, "value.out.weight"), g.l.Of(g.w.Params, "value.out.bias")
	results := g.gemm(v, g.initializer("value.wdl.weight", weight[:3*ValueHidden], 3, ValueHidden), g.initializer("value.wdl.bias", bias[:3], 3))
	g.named("Softmax", "wdl", []string{results}, attribute{"axis", []int64{1}, true})
	left := g.gemm(v, g.initializer("value.plies.weight", weight[3*ValueHidden:], 1, ValueHidden), g.initializer("value.plies.bias", bias[3:], 1))
	g.named("Mul", "plies_left", []string{g.node("Softplus", []string{left}), g.initializer("plies_scale", []float32{PliesScale}, 1)})
}

// encode returns the GraphProto.
func (g *onnxGraph) encode() message {
	f := g.w.Form
	m := g.nodes
	m.text(2, "kirin "+f.Spec.String())
	m = append(m, g.initializers...)
	m.message(11, valueInfo("planes", "input planes as the side to move sees the board", f.Height, f.Width, f.Planes))
	m.message(12, valueInfo("policy", "logits by policy index", f.PolicySize()))
	m.message(12, valueInfo("wdl", "probabilities of win, draw and loss for the side to move", 3))
	m.message(12, valueInfo("plies_left", "expected plies to the end of the game", 1))
	return m
}

// valueInfo describes a float32 input or output [batch, shape...].
func valueInfo(name, doc string, shape ...int) message {
	var dims message
	var batch message
	batch.text(2, "batch")
	dims.message(1, batch)
	for _, s := range shape {
		var d message
		d.number(1, int64(s))
		dims.message(1, d)
	}
	var tensor, kind, info message
	tensor.number(1, 1) // FLOAT
	tensor.message(2, dims)
	kind.message(1, tensor)
	info.text(1, name)
	info.message(2, kind)
	info.text(3, doc)
	return info
}
