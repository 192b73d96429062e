package train

import (
	"fmt"
	"hash"
	"hash/fnv"

	"github.com/chewxy/hm"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// op is an operation of this package as Gorgonia sees it. It owns its result.
type op struct {
	name   string
	serial int // tells apart two operations of the same name; Gorgonia merges nodes that hash alike
	inputs []int
	dims   int // of the result, 0 for a scalar
	result G.Value
	run    func(in []G.Value) error
	wrt    []bool // inputs that have a gradient
	diff   func(in G.Nodes, out, grad *G.Node) (G.Nodes, error)
}

func typeOf(dims int) hm.Type {
	if dims == 0 {
		return hm.TypeVariable('a')
	}
	return G.TensorType{Dims: dims, Of: hm.TypeVariable('a')}
}

// Arity returns the number of inputs.
func (o *op) Arity() int { return len(o.inputs) }

// Type returns the type of the operation as a function.
func (o *op) Type() hm.Type {
	types := make([]hm.Type, 0, len(o.inputs)+1)
	for _, d := range o.inputs {
		types = append(types, typeOf(d))
	}
	return hm.NewFnType(append(types, typeOf(o.dims))...)
}

// InferShape returns the shape of the result, which is fixed.
func (o *op) InferShape(...G.DimSizer) (tensor.Shape, error) { return o.result.Shape().Clone(), nil }

// Do computes the result.
func (o *op) Do(in ...G.Value) (G.Value, error) {
	if len(in) != len(o.inputs) {
		return nil, fmt.Errorf("%s: %d inputs instead of %d", o.name, len(in), len(o.inputs))
	}
	if err := o.run(in); err != nil {
		return nil, fmt.Errorf("%s: %w", o.name, err)
	}
	return o.result, nil
}

// ReturnsPtr tells Gorgonia that the result is not a fresh value.
func (o *op) ReturnsPtr() bool { return true }

// CallsExtern tells that no other library is called.
func (o *op) CallsExtern() bool { return false }

// OverwritesInput tells that no input is overwritten.
func (o *op) OverwritesInput() int { return -1 }

// WriteHash identifies the operation.
func (o *op) WriteHash(h hash.Hash) { fmt.Fprintf(h, "kirin %s %d", o.name, o.serial) }

// Hashcode identifies the operation.
func (o *op) Hashcode() uint32 {
	h := fnv.New32a()
	o.WriteHash(h)
	return h.Sum32()
}

// String returns the name.
func (o *op) String() string { return o.name }

// DiffWRT tells which inputs have gradients.
func (o *op) DiffWRT(int) []bool { return o.wrt }

// SymDiff builds the nodes of the gradients.
func (o *op) SymDiff(in G.Nodes, out, grad *G.Node) (G.Nodes, error) { return o.diff(in, out, grad) }

// noGradient is an operation without DiffWRT and SymDiff.
type noGradient struct{ G.Op }

// floats returns the numbers of an input.
func floats(v G.Value) []float32 { return v.Data().([]float32) }

// dense wraps memory as a tensor of Gorgonia.
func dense(data []float32, shape ...int) *tensor.Dense {
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(data))
}
