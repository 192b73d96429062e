package train

import (
	"fmt"
	"math"

	G "gorgonia.org/gorgonia"

	"kirin/network"
)

// softmax replaces logits by probabilities and returns log(sum(exp(logits))).
func softmax(x []float32) float64 {
	top := float32(math.Inf(-1))
	for _, v := range x {
		top = max(top, v)
	}
	sum := 0.0
	for _, v := range x {
		sum += math.Exp(float64(v - top))
	}
	whole := float64(top) + math.Log(sum)
	for i, v := range x {
		x[i] = float32(math.Exp(float64(v) - whole))
	}
	return whole
}

// crossEntropy replaces logits by probabilities and returns
// -sum(target*log(probability)) and the entropy of the probabilities, in nats.
// Both are 0 for a target of zeros alone or an empty one.
func crossEntropy(x, target []float32) (loss, entropy float32) {
	dot, share, cross := 0.0, 0.0, 0.0
	for i, t := range target {
		share += float64(t)
		dot += float64(t) * float64(x[i])
	}
	logits := 0.0
	if len(x) > 0 {
		// The entropy needs the logits too: sum p*(whole-x).
		top := x[0]
		for _, v := range x {
			top = max(top, v)
		}
		weight := 0.0
		for _, v := range x {
			e := math.Exp(float64(v - top))
			weight += e
			logits += e * float64(v)
		}
		logits /= weight
		whole := softmax(x)
		cross = share*whole - dot
		entropy = float32(whole - logits)
	}
	if share == 0 {
		return 0, 0
	}
	return float32(cross), entropy
}

// softmaxGrad writes the gradient of crossEntropy by the logits, times g.
func softmaxGrad(d, chances, target []float32, g float32) {
	share := float32(0)
	for _, t := range target {
		share += t
	}
	for i, p := range chances {
		d[i] = g * (share*p - target[i])
	}
}

// first returns the index of the largest element, the first of equal ones, -1
// if there is none.
func first(x []float32) int {
	best := -1
	for i, v := range x {
		if best < 0 || v > x[best] {
			best = i
		}
	}
	return best
}

// huberWidth is the error, in units of network.PliesScale, from which on the
// plies-left loss grows evenly: 16 plies.
const huberWidth = 0.25

// huber returns the plies-left loss for the output z and the plies that were
// left, and its derivative by z (Huber, 1964).
func huber(z, plies float32) (loss, slope float32) {
	e := network.Softplus(float64(z)) - float64(plies)/network.PliesScale
	sigmoid := 1 / (1 + math.Exp(-float64(z)))
	if a := math.Abs(e); a > huberWidth {
		return float32(huberWidth * (a - huberWidth/2)), float32(math.Copysign(huberWidth, e) * sigmoid)
	}
	return float32(e * e / 2), float32(e * sigmoid)
}

// total is the weighted sum of all losses, a scalar.
type total struct {
	*shared
	surprise float64
	kl       []float32 // [limit], of the heads
	weights  []float32 // [limit][losses]
	grad     []float32
	sum      *G.F32
}

func newTotal(s *shared, surprise float64, kl []float32) *total {
	return &total{shared: s, surprise: surprise, kl: kl, weights: make([]float32, s.limit*losses), grad: make([]float32, s.limit*losses), sum: G.NewF32(0)}
}

// apply adds the operation to the graph.
func (t *total) apply(loss *G.Node) (*G.Node, error) {
	o := &op{name: "total", serial: t.number(), inputs: []int{2}, result: t.sum, wrt: []bool{true}}
	o.run = func(in []G.Value) error {
		if t.surprise > 0 {
			surprised(t.weights, t.kl[:t.n], t.surprise)
		}
		sum := 0.0
		for i, x := range floats(in[0])[:t.n*losses] {
			sum += float64(t.weights[i]) * float64(x)
		}
		*t.sum = G.F32(sum)
		return nil
	}
	o.diff = func(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
		back := &op{name: "total gradient", serial: t.number(), inputs: []int{0}, dims: 2, result: dense(t.grad, t.limit, losses)}
		back.run = func(in []G.Value) error {
			g, ok := in[0].Data().(float32)
			if !ok {
				return fmt.Errorf("the gradient of the total is %T", in[0].Data())
			}
			for i, w := range t.weights {
				t.grad[i] = g * w
			}
			return nil
		}
		node, err := G.ApplyOp(noGradient{back}, grad)
		return G.Nodes{node}, err
	}
	return G.ApplyOp(o, loss)
}
