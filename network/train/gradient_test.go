package train

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"kirin/network"
	"kirin/network/kernel"
)

// probe is one operation under test: a function of some inputs, of which a
// random linear function is taken, and the gradients that the operation
// computes for it.
type probe struct {
	inputs map[string][]float32
	value  func() float64       // linear function of the result
	grads  map[string][]float32 // by input
}

// check compares the gradients with central differences along random
// directions. The bound leaves room for the ReLUs that change sides on the way
// and for rounding; the comparison with Gorgonia's graph is the sharp one.
func (p *probe) check(t *testing.T, what string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(17, 18))
	for _, name := range slices.Sorted(maps.Keys(p.inputs)) {
		x := p.inputs[name]
		before := append([]float32(nil), x...)
		g := p.grads[name]
		size := 0.0
		for _, v := range g[:len(x)] {
			size += float64(v) * float64(v)
		}
		size = math.Sqrt(size)
		if size == 0 {
			t.Errorf("%s: gradient of %s is zero", what, name)
		}
		for range 6 {
			// Half along the gradient, so that the derivative is not lost in the
			// rounding of the result, half at random.
			want, direction := 0.0, make([]float64, len(x))
			for i := range direction {
				direction[i] = float64(g[i])/size + rng.NormFloat64()/math.Sqrt(float64(len(x)))
				if name == "x" && x[i] == 0 {
					direction[i] = 0
				}
				want += direction[i] * float64(g[i])
			}
			const h = 1e-3
			for i := range x {
				x[i] = before[i] + float32(h*direction[i])
			}
			high := p.value()
			for i := range x {
				x[i] = before[i] - float32(h*direction[i])
			}
			low := p.value()
			copy(x, before)
			if got := (high - low) / (2 * h); math.Abs(got-want) > 0.05*size+1e-3 {
				t.Errorf("%s: derivative by %s is %v by differences, %v by the gradient of norm %v", what, name, got, want, size)
			}
		}
	}
}

// bench makes what an operation needs, on minishogi's board.
func bench(t *testing.T, spec string, images int) (*shared, *network.Layout, *rand.Rand) {
	t.Helper()
	w, _ := weights(t, spec, "minishogi")
	l := network.NewLayout(w.Form)
	s, err := newShared(newCrew(kernel.Best(), 2), l.Form, images)
	if err != nil {
		t.Fatal(err)
	}
	s.n = images
	return s, l, rand.New(rand.NewPCG(21, 22))
}

func normal(rng *rand.Rand, x []float32, deviation float64) []float32 {
	for i := range x {
		x[i] = float32(deviation * rng.NormFloat64())
	}
	return x
}

// positive fills padded images with positive numbers inside, as a ReLU leaves
// where it lets through.
func (s *shared) positive(rng *rand.Rand, c int) []float32 {
	x := s.images(c)
	flat := make([]float32, s.limit*s.board.Pixels()*c)
	for i := range flat {
		flat[i] = 0.5 + rng.Float32()
	}
	kernel.Pad(x, flat, s.board, c, s.limit)
	return x
}

// dot is the linear function of a result; its gradient, where the result is
// not zero, is r.
func dot(r, x []float32) float64 {
	sum := 0.0
	for i := range r {
		sum += float64(r[i]) * float64(x[i])
	}
	return sum
}

func masked(r, x []float32) []float32 {
	g := make([]float32, len(r))
	for i := range r {
		if x[i] > 0 {
			g[i] = r[i]
		}
	}
	return g
}

func TestTheStemsGradientsAgreeWithDifferences(t *testing.T) {
	s, l, rng := bench(t, "1x16", 5)
	grad := make([]float32, l.Slot("stem.weight").Size+16)
	st, err := newStem(s, l.Form.Planes, grad)
	if err != nil {
		t.Fatal(err)
	}
	w, b := normal(rng, make([]float32, l.Slot("stem.weight").Size), 0.1), normal(rng, make([]float32, 16), 0.1)
	x := s.positive(rng, kernel.RoundUp(l.Form.Planes))
	r := normal(rng, make([]float32, len(st.out)), 1)
	value := func() float64 {
		st.forward(x, w, b)
		return dot(r, st.out)
	}
	value()
	st.backward(x, masked(r, st.out))
	p := probe{map[string][]float32{"weight": w, "bias": b}, value, map[string][]float32{"weight": grad[:len(w)], "bias": grad[len(w):]}}
	p.check(t, "stem")
}

func TestABlocksGradientsAgreeWithDifferences(t *testing.T) {
	for _, spec := range []string{"1x16", "1x16g1"} {
		s, l, rng := bench(t, spec, 5)
		pools := l.Form.Spec.Pools(0)
		first, last := l.Slot("block0.conv1.weight"), l.Slot("block0.conv2.bias")
		params := normal(rng, make([]float32, last.Offset+last.Size-first.Offset), 0.1)
		grad := make([]float32, len(params))
		b := newBlock(s, 0, pools, grad)
		w := blockWeights{}
		inputs, grads := map[string][]float32{}, map[string][]float32{}
		at := 0
		for _, part := range []struct {
			name string
			to   *[]float32
		}{{"conv1.weight", &w.conv1}, {"conv1.bias", &w.bias1}, {"pool.weight", &w.pool}, {"conv2.weight", &w.conv2}, {"conv2.bias", &w.bias2}} {
			slot := l.Slot("block0." + part.name)
			if slot == nil {
				continue
			}
			*part.to = params[at : at+slot.Size : at+slot.Size]
			inputs[part.name], grads[part.name] = *part.to, grad[at:at+slot.Size]
			at += slot.Size
		}
		x := s.positive(rng, s.c)
		r := normal(rng, make([]float32, len(b.z)), 1)
		value := func() float64 {
			b.forward(x, w)
			return dot(r, b.z)
		}
		value()
		b.backward(masked(r, b.z), x, w)
		inputs["x"], grads["x"] = x, append([]float32(nil), s.flow[0]...)
		p := probe{inputs, value, grads}
		p.check(t, "block "+spec)
	}
}

func TestTheHeadsGradientsAgreeWithDifferences(t *testing.T) {
	s, l, rng := bench(t, "1x16", 6)
	a := auxiliary{soft: true, reply: true}
	l = a.extend(l)
	names := append(slices.Clone(headNames), a.names()...)
	first, last := l.Slot(names[0]), l.Slot(names[len(names)-1])
	params := make([]float32, last.Offset+last.Size-first.Offset)
	grad := make([]float32, len(params))
	h := newHeads(s, l.Form, a, 3, grad)
	inputs, grads := map[string][]float32{}, map[string][]float32{}
	var w headWeights
	for i, name := range names {
		slot := l.Slot(name)
		at := slot.Offset - first.Offset
		*w.list(a)[i] = params[at : at+slot.Size : at+slot.Size]
		normal(rng, params[at:at+slot.Size], 1/math.Sqrt(float64(max(slot.Fan, 16))))
		inputs[name], grads[name] = params[at:at+slot.Size], grad[at:at+slot.Size]
	}
	b := NewBatch(6, 0)
	b.N = 6
	for i := range b.N {
		// The last two samples have one move and none; the fourth no target.
		for j, n := 0, []int{5, 9, 3, 7, 1, 0}[i]; j < n; j++ {
			b.Index = append(b.Index, int32((j*97+i*31)%l.Form.PolicySize()))
			share := float32(0)
			if i != 3 {
				share = 2 * float32(j+1) / float32(n*(n+1))
			}
			b.Target = append(b.Target, share)
		}
		b.Offsets[i+1] = int32(len(b.Index))
		for j, n := 0, []int{4, 0, 8, 1, 2, 3}[i]; j < n; j++ {
			b.ReplyIndex, b.Reply = append(b.ReplyIndex, int32((j*89+i*37)%l.Form.PolicySize())), append(b.Reply, 1/float32(n))
		}
		b.ReplyOffsets[i+1] = int32(len(b.ReplyIndex))
		copy(b.WDL[3*i:], []float32{0.5, 0.25, 0.25})
		b.PliesLeft[i] = float32(20 * i)
	}
	h.batch = b
	x := s.positive(rng, s.c)
	r := normal(rng, make([]float32, len(h.loss)), 1)
	value := func() float64 {
		h.forward(x, &w)
		return dot(r, h.loss)
	}
	value()
	if h.loss[3*losses+policyLoss] != 0 || h.loss[5*losses+policyLoss] != 0 || h.loss[3*losses+softLoss] != 0 || h.loss[1*losses+replyLoss] != 0 {
		t.Error("a sample without a target has a policy loss")
	}
	h.backward(r, x, &w)
	inputs["x"], grads["x"] = x, append([]float32(nil), s.flow[0]...)
	p := probe{inputs, value, grads}
	p.check(t, "heads")
}

func TestLossesAgreeWithTheirFormulas(t *testing.T) {
	x := []float32{1, -2, 0.5}
	target := []float32{0.2, 0.3, 0.5}
	sum, want, entropy := 0.0, 0.0, 0.0
	for _, v := range x {
		sum += math.Exp(float64(v))
	}
	for i, v := range x {
		p := math.Exp(float64(v)) / sum
		want -= float64(target[i]) * math.Log(p)
		entropy -= p * math.Log(p)
	}
	if loss, e := crossEntropy(x, target); math.Abs(float64(loss)-want) > 1e-6 || math.Abs(float64(e)-entropy) > 1e-6 {
		t.Errorf("cross-entropy %v and entropy %v, not %v and %v", loss, e, want, entropy)
	}
	huge := []float32{900, -900}
	if loss, _ := crossEntropy(huge, []float32{0, 1}); loss != 1800 {
		t.Errorf("cross-entropy of far logits is %v", loss)
	}
	for _, z := range []float32{-3, 0, 0.1, 4} {
		for _, plies := range []float32{0, 40, 300} {
			_, slope := huber(z, plies)
			high, _ := huber(z+1e-3, plies)
			low, _ := huber(z-1e-3, plies)
			if d := float64(high-low) / 2e-3; math.Abs(d-float64(slope)) > 1e-3 {
				t.Errorf("Huber's loss at %v for %v plies: slope %v, by differences %v", z, plies, slope, d)
			}
		}
	}
}

func ExampleOptions_Rate() {
	o := DefaultOptions()
	o.LearningRate, o.WarmupSteps, o.DecaySteps, o.FinalRate, o.Schedule = 1, 10, 100, 0.1, Cosine
	for _, step := range []int64{1, 5, 10, 60, 110, 500} {
		fmt.Printf("%.2f ", o.Rate(step))
	}
	o.Schedule = Steps
	for _, step := range []int64{10, 109, 110, 210, 1000} {
		fmt.Printf("%.2f ", o.Rate(step))
	}
	// Output: 0.10 0.50 1.00 0.55 0.10 0.10 1.00 1.00 0.50 0.25 0.10
}
