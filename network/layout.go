package network

import (
	"errors"
	"fmt"
)

// Sizes of the heads, the same for every net.
const (
	// ValueChannels is the number of channels of the 1x1 convolution that
	// feeds the value head.
	ValueChannels = 16
	// ValueHidden is the width of the value head's hidden layer.
	ValueHidden = 64
	// ValueOutputs is the number of outputs of the value head: the logits of
	// win, draw and loss for the side to move, and that of the plies left.
	ValueOutputs = 4
)

// PliesScale turns the plies-left output z into plies: PliesScale*log(1+e^z).
const PliesScale = 64

// Form is everything that fixes the shapes of a net: its Spec and the board,
// input planes and policy planes of the game.
type Form struct {
	Spec         Spec
	Height       int // ranks
	Width        int // files
	Planes       int // input planes
	PolicyPlanes int // policy logits of one square
}

// Squares returns the number of squares of the board.
func (f Form) Squares() int { return f.Height * f.Width }

// PolicySize returns the number of policy indices of the game.
func (f Form) PolicySize() int { return f.Squares() * f.PolicyPlanes }

// Validate returns an error that says what is wrong with the sizes, or nil.
func (f Form) Validate() error {
	err := f.Spec.Validate()
	if f.Height < 1 || f.Height > 16 || f.Width < 1 || f.Width > 16 {
		err = errors.Join(err, fmt.Errorf("board of %d ranks and %d files; at most 16 by 16 are possible", f.Height, f.Width))
	}
	if f.Planes < 1 || f.Planes > 1024 || f.PolicyPlanes < 1 || f.PolicyPlanes > 4096 {
		err = errors.Join(err, fmt.Errorf("%d input planes and %d policy planes; at most 1024 and 4096 are possible", f.Planes, f.PolicyPlanes))
	}
	return err
}

// Slot is the place of one named tensor in a net's flat parameters, row-major.
type Slot struct {
	Name   string
	Shape  []int
	Offset int // first number
	Size   int // count of numbers
	Fan    int // inputs that meet in one output; 0 for a bias
}

// Of returns the slot's part of the flat parameters.
func (s *Slot) Of(flat []float32) []float32 {
	return flat[s.Offset : s.Offset+s.Size : s.Offset+s.Size]
}

// Layout lists the tensors of a net in the order in which they stand in the
// flat parameters. With C channels, H x W squares, 3x3 weights as [out, in,
// row, column] and matrices as [out, in]:
//
//	stem.weight            C, Planes, 3, 3
//	stem.bias              C
//	block<i>.conv1.weight  C, C, 3, 3        block<i>.conv1.bias  C
//	block<i>.pool.weight   C, 2C             only in blocks with a pooling path
//	block<i>.conv2.weight  C, C, 3, 3        block<i>.conv2.bias  C
//	policy.conv.weight     C, C              policy.conv.bias     C     1x1
//	policy.pool.weight     C, 2C             pooled tower, added to policy.conv
//	policy.move.weight     PolicyPlanes, C   policy.move.bias     PolicyPlanes
//	value.conv.weight      16, C             value.conv.bias      16    1x1
//	value.hidden.weight    64, H*W*16        value.hidden.bias    64    inputs (square, channel)
//	value.out.weight       4, 64             value.out.bias       4     win, draw, loss, plies left
//
// A pooled vector is the mean over the squares of each of C channels, then the
// maximum of each.
type Layout struct {
	Form  Form
	Slots []Slot
	Size  int // numbers in all
}

// NewLayout returns the layout of a net. The form must be valid.
func NewLayout(f Form) *Layout {
	l := &Layout{Form: f}
	c, hw := f.Spec.Channels, f.Squares()
	l.conv("stem", c, f.Planes)
	for i := range f.Spec.Blocks {
		name := fmt.Sprintf("block%d", i)
		l.conv(name+".conv1", c, c)
		if f.Spec.Pools(i) {
			l.add(name+".pool.weight", 2*c, c, 2*c)
		}
		l.conv(name+".conv2", c, c)
	}
	l.matrix("policy.conv", c, c)
	l.add("policy.pool.weight", 2*c, c, 2*c)
	l.matrix("policy.move", f.PolicyPlanes, c)
	l.matrix("value.conv", ValueChannels, c)
	l.matrix("value.hidden", ValueHidden, hw*ValueChannels)
	l.matrix("value.out", ValueOutputs, ValueHidden)
	return l
}

func (l *Layout) add(name string, fan int, shape ...int) {
	size := 1
	for _, s := range shape {
		size *= s
	}
	l.Slots = append(l.Slots, Slot{Name: name, Shape: shape, Offset: l.Size, Size: size, Fan: fan})
	l.Size += size
}

func (l *Layout) conv(name string, out, in int) {
	l.add(name+".weight", 9*in, out, in, 3, 3)
	l.add(name+".bias", 0, out)
}

func (l *Layout) matrix(name string, out, in int) {
	l.add(name+".weight", in, out, in)
	l.add(name+".bias", 0, out)
}

// Slot returns the slot with that name, nil if there is none.
func (l *Layout) Slot(name string) *Slot {
	for i := range l.Slots {
		if l.Slots[i].Name == name {
			return &l.Slots[i]
		}
	}
	return nil
}

// Of returns the named tensor's part of the flat parameters. The name must be
// one of the layout's.
func (l *Layout) Of(flat []float32, name string) []float32 { return l.Slot(name).Of(flat) }
