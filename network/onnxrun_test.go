package network_test

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// This file reads and runs ONNX files as far as this package writes them: the
// slow twin of EncodeONNX, which shares no code with it.

type array struct {
	shape []int
	data  []float32
}

type onnxNode struct {
	kind       string
	in, out    []string
	attributes map[string][]int
}

type onnxModel struct {
	opset   int
	meta    map[string]string
	nodes   []onnxNode
	tensors map[string]array
	inputs  []string
	outputs []string
}

// fields calls f for each field of a message with its number, its value as a
// number or as bytes.
func fields(t *testing.T, b []byte, f func(n protowire.Number, x uint64, s []byte)) {
	t.Helper()
	for len(b) > 0 {
		num, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		b = b[n:]
		switch kind {
		case protowire.VarintType:
			x, n := protowire.ConsumeVarint(b)
			if n < 0 {
				t.Fatal(protowire.ParseError(n))
			}
			f(num, x, nil)
			b = b[n:]
		case protowire.BytesType:
			s, n := protowire.ConsumeBytes(b)
			if n < 0 {
				t.Fatal(protowire.ParseError(n))
			}
			f(num, 0, s)
			b = b[n:]
		default:
			t.Fatalf("field %d of wire type %d", num, kind)
		}
	}
}

func parseONNX(t *testing.T, b []byte) *onnxModel {
	t.Helper()
	m := &onnxModel{meta: map[string]string{}, tensors: map[string]array{}}
	fields(t, b, func(n protowire.Number, x uint64, s []byte) {
		switch n {
		case 7:
			m.parseGraph(t, s)
		case 8:
			fields(t, s, func(n protowire.Number, x uint64, _ []byte) {
				if n == 2 {
					m.opset = int(x)
				}
			})
		case 14:
			var pair [3]string
			fields(t, s, func(n protowire.Number, _ uint64, s []byte) { pair[n] = string(s) })
			m.meta[pair[1]] = pair[2]
		}
	})
	return m
}

func (m *onnxModel) parseGraph(t *testing.T, b []byte) {
	fields(t, b, func(n protowire.Number, _ uint64, s []byte) {
		switch n {
		case 1:
			node := onnxNode{attributes: map[string][]int{}}
			fields(t, s, func(n protowire.Number, _ uint64, s []byte) {
				switch n {
				case 1:
					node.in = append(node.in, string(s))
				case 2:
					node.out = append(node.out, string(s))
				case 4:
					node.kind = string(s)
				case 5:
					var name string
					var list []int
					fields(t, s, func(n protowire.Number, x uint64, s []byte) {
						switch n {
						case 1:
							name = string(s)
						case 3, 8:
							list = append(list, int(x))
						}
					})
					node.attributes[name] = list
				}
			})
			m.nodes = append(m.nodes, node)
		case 5:
			var a array
			var name string
			fields(t, s, func(n protowire.Number, x uint64, s []byte) {
				switch n {
				case 1:
					a.shape = append(a.shape, int(x))
				case 8:
					name = string(s)
				case 9:
					for i := 0; i < len(s); i += 4 {
						a.data = append(a.data, math.Float32frombits(binary.LittleEndian.Uint32(s[i:])))
					}
				}
			})
			m.tensors[name] = a
		case 11, 12:
			fields(t, s, func(f protowire.Number, _ uint64, s []byte) {
				switch {
				case f == 1 && n == 11:
					m.inputs = append(m.inputs, string(s))
				case f == 1:
					m.outputs = append(m.outputs, string(s))
				}
			})
		}
	})
}

// run computes all nodes in order.
func (m *onnxModel) run(t *testing.T, planes array) map[string]array {
	t.Helper()
	if !slices.Equal(m.inputs, []string{"planes"}) || !slices.Equal(m.outputs, []string{"policy", "wdl", "plies_left"}) {
		t.Errorf("inputs %v, outputs %v", m.inputs, m.outputs)
	}
	v := map[string]array{"planes": planes}
	for k, x := range m.tensors {
		v[k] = x
	}
	for _, n := range m.nodes {
		in := make([]array, len(n.in))
		for i, name := range n.in {
			x, ok := v[name]
			if !ok {
				t.Fatalf("%s reads %q, which is not computed before", n.kind, name)
			}
			in[i] = x
		}
		v[n.out[0]] = n.do(t, in)
	}
	return v
}

func size(shape []int) int {
	n := 1
	for _, s := range shape {
		n *= s
	}
	return n
}

func each(x array, f func(v float64) float64) array {
	y := array{x.shape, make([]float32, len(x.data))}
	for i, v := range x.data {
		y.data[i] = float32(f(float64(v)))
	}
	return y
}

func (n *onnxNode) do(t *testing.T, in []array) array {
	x := in[0]
	switch n.kind {
	case "Relu":
		return each(x, func(v float64) float64 { return max(v, 0) })
	case "Softplus":
		return each(x, func(v float64) float64 { return math.Log1p(math.Exp(v)) })
	case "Mul":
		return each(x, func(v float64) float64 { return v * float64(in[1].data[0]) })
	case "Add": // the second may be [.., .., 1, 1]
		y := array{x.shape, slices.Clone(x.data)}
		repeat := len(x.data) / len(in[1].data)
		for i := range y.data {
			y.data[i] += in[1].data[i/repeat]
		}
		return y
	case "GlobalAveragePool", "GlobalMaxPool":
		area := x.shape[2] * x.shape[3]
		y := array{[]int{x.shape[0], x.shape[1], 1, 1}, make([]float32, x.shape[0]*x.shape[1])}
		for i := range y.data {
			part := x.data[i*area : (i+1)*area]
			y.data[i] = slices.Max(part)
			if n.kind == "GlobalAveragePool" {
				sum := 0.0
				for _, v := range part {
					sum += float64(v)
				}
				y.data[i] = float32(sum / float64(area))
			}
		}
		return y
	case "Concat": // axis 1 of two arrays of one size
		c := x.shape[1]
		y := array{[]int{x.shape[0], 2 * c, 1, 1}, nil}
		for i := range x.shape[0] {
			y.data = append(append(y.data, x.data[i*c:(i+1)*c]...), in[1].data[i*c:(i+1)*c]...)
		}
		return y
	case "Flatten":
		return array{[]int{x.shape[0], size(x.shape[1:])}, x.data}
	case "Transpose":
		return transpose(x, n.attributes["perm"])
	case "Conv":
		return convolve(in, n.attributes["kernel_shape"][0], n.attributes["pads"][0])
	case "Gemm":
		return multiply(x, in[1], in[2])
	case "Softmax":
		y := each(x, math.Exp)
		for i := 0; i < len(y.data); i += 3 {
			sum := y.data[i] + y.data[i+1] + y.data[i+2]
			for k := range 3 {
				y.data[i+k] /= sum
			}
		}
		return y
	}
	t.Fatalf("operation %s", n.kind)
	return array{}
}

func transpose(x array, perm []int) array {
	strides := []int{x.shape[1] * x.shape[2] * x.shape[3], x.shape[2] * x.shape[3], x.shape[3], 1}
	y := array{shape: []int{x.shape[perm[0]], x.shape[perm[1]], x.shape[perm[2]], x.shape[perm[3]]}}
	for a := range y.shape[0] {
		for b := range y.shape[1] {
			for c := range y.shape[2] {
				for d := range y.shape[3] {
					y.data = append(y.data, x.data[a*strides[perm[0]]+b*strides[perm[1]]+c*strides[perm[2]]+d*strides[perm[3]]])
				}
			}
		}
	}
	return y
}

func convolve(in []array, side, pad int) array {
	x, w := in[0], in[1]
	h, wide, depth := x.shape[2], x.shape[3], x.shape[1]
	y := array{shape: []int{x.shape[0], w.shape[0], h, wide}}
	for i := range x.shape[0] {
		for o := range w.shape[0] {
			for sq := range h * wide {
				sum := 0.0
				if len(in) > 2 {
					sum = float64(in[2].data[o])
				}
				for c := range depth {
					for k := range side * side {
						r, q := sq/wide+k/side-pad, sq%wide+k%side-pad
						if r >= 0 && r < h && q >= 0 && q < wide {
							sum += float64(w.data[(o*depth+c)*side*side+k]) * float64(x.data[((i*depth+c)*h+r)*wide+q])
						}
					}
				}
				y.data = append(y.data, float32(sum))
			}
		}
	}
	return y
}

// multiply is Gemm with transB.
func multiply(x, w, b array) array {
	y := array{shape: []int{x.shape[0], w.shape[0]}}
	for i := range x.shape[0] {
		for o := range w.shape[0] {
			sum := float64(b.data[o])
			for k := range w.shape[1] {
				sum += float64(w.data[o*w.shape[1]+k]) * float64(x.data[i*w.shape[1]+k])
			}
			y.data = append(y.data, float32(sum))
		}
	}
	return y
}
