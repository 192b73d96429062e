package network

import (
	"math"
	"math/rand/v2"
	"strings"

	"kirin/network/encode"
)

// NewForm returns the form of a net of that size for the positions of an
// encoder.
func NewForm(s Spec, enc *encode.Encoder) Form {
	return Form{Spec: s, Height: enc.Height(), Width: enc.Width(), Planes: enc.Planes(), PolicyPlanes: enc.PolicyPlanes()}
}

// activePlanes is about how many of the input planes are not zero on a square:
// the stem's initial weights are scaled by it, not by the number of planes.
const activePlanes = 6

// headGain keeps the outputs of a fresh net near zero: all moves about equal,
// all results about equal.
const headGain = 0.1

// Init returns fresh weights. Weights are normal with variance 2/fan (He et
// al., ICCV 2015), so that activations keep their size through convolution and
// ReLU; each of the B residual branches is scaled by 1/sqrt(B), so that the sum
// of all keeps it too, without batch norm (compare Zhang et al., "Fixup
// Initialization", ICLR 2019). Output layers start small, biases at zero. The
// result depends on the random source alone.
func Init(s Spec, enc *encode.Encoder, rng *rand.Rand) (*Weights, error) {
	w := &Weights{Form: NewForm(s, enc), Meta: Meta{
		Encoder: enc.Name(),
		Variant: enc.Variant().Name(),
		Rules:   enc.Variant().Rules(),
		Free:    map[string]string{},
	}}
	if err := w.Form.Validate(); err != nil {
		return nil, err
	}
	l := NewLayout(w.Form)
	w.Params = make([]float32, l.Size)
	branch := 1 / math.Sqrt(float64(s.Blocks))
	for i := range l.Slots {
		slot := &l.Slots[i]
		if slot.Fan == 0 {
			continue
		}
		fan, gain := float64(slot.Fan), 1.0
		switch {
		case slot.Name == "stem.weight":
			fan = 9 * activePlanes
		case strings.HasSuffix(slot.Name, ".pool.weight"):
			gain = headGain
		case strings.HasSuffix(slot.Name, ".conv2.weight"):
			gain = branch
		case slot.Name == "policy.move.weight", slot.Name == "value.out.weight":
			gain = headGain
		}
		deviation := gain * math.Sqrt(2/fan)
		p := slot.Of(w.Params)
		for j := range p {
			p[j] = float32(deviation * rng.NormFloat64())
		}
	}
	return w, nil
}
