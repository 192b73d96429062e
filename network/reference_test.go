package network_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"kirin/network"
	"kirin/network/encode"
	"kirin/rules"
)

// reference is the slow twin of the forward pass: plain loops in float64,
// unpadded [channel][square].
type reference struct {
	w *network.Weights
	l *network.Layout
}

func (r *reference) of(name string) []float32 { return r.l.Of(r.w.Params, name) }

func (r *reference) conv(x [][]float64, name string) [][]float64 {
	f := r.w.Form
	weight, bias := r.of(name+".weight"), r.of(name+".bias")
	y := make([][]float64, f.Spec.Channels)
	for o := range y {
		y[o] = make([]float64, f.Squares())
		for sq := range y[o] {
			sum := float64(bias[o])
			for i := range x {
				for t := range 9 {
					row, col := sq/f.Width+t/3-1, sq%f.Width+t%3-1
					if row >= 0 && row < f.Height && col >= 0 && col < f.Width {
						sum += x[i][row*f.Width+col] * float64(weight[(o*len(x)+i)*9+t])
					}
				}
			}
			y[o][sq] = sum
		}
	}
	return y
}

func relu(x [][]float64) [][]float64 {
	for _, row := range x {
		for i, v := range row {
			row[i] = max(v, 0)
		}
	}
	return x
}

// pool returns the means of the channels, then their maxima.
func pool(x [][]float64) []float64 {
	y := make([]float64, 2*len(x))
	for c, row := range x {
		top := math.Inf(-1)
		for _, v := range row {
			y[c] += v / float64(len(row))
			top = max(top, v)
		}
		y[len(x)+c] = top
	}
	return y
}

// linear multiplies weights [out][in] with x.
func linear(weight []float32, x []float64) []float64 {
	y := make([]float64, len(weight)/len(x))
	for o := range y {
		for i, v := range x {
			y[o] += float64(weight[o*len(x)+i]) * v
		}
	}
	return y
}

// forward returns the logits of all policy indices, the probabilities and the
// plies left.
func (r *reference) forward(planes []float32) (policy, wdl []float64, plies float64) {
	f := r.w.Form
	x := make([][]float64, f.Planes)
	for p := range x {
		x[p] = make([]float64, f.Squares())
		for sq := range x[p] {
			x[p][sq] = float64(planes[sq*f.Planes+p])
		}
	}
	x = relu(r.conv(x, "stem"))
	for i := range f.Spec.Blocks {
		name := fmt.Sprintf("block%d", i)
		y := relu(r.conv(x, name+".conv1"))
		z := r.conv(y, name+".conv2")
		var extra []float64
		if f.Spec.Pools(i) {
			extra = linear(r.of(name+".pool.weight"), pool(y))
		}
		for c := range z {
			for sq := range z[c] {
				z[c][sq] += x[c][sq]
				if extra != nil {
					z[c][sq] += extra[c]
				}
			}
		}
		x = relu(z)
	}
	bias := linear(r.of("policy.pool.weight"), pool(x))
	var features []float64
	for sq := range f.Squares() {
		column := make([]float64, len(x))
		for c := range x {
			column[c] = x[c][sq]
		}
		hidden := linear(r.of("policy.conv.weight"), column)
		for c := range hidden {
			hidden[c] = max(0, hidden[c]+bias[c]+float64(r.of("policy.conv.bias")[c]))
		}
		for p, v := range linear(r.of("policy.move.weight"), hidden) {
			policy = append(policy, v+float64(r.of("policy.move.bias")[p]))
		}
		for c, v := range linear(r.of("value.conv.weight"), column) {
			features = append(features, max(0, v+float64(r.of("value.conv.bias")[c])))
		}
	}
	hidden := linear(r.of("value.hidden.weight"), features)
	for i := range hidden {
		hidden[i] = max(0, hidden[i]+float64(r.of("value.hidden.bias")[i]))
	}
	out := linear(r.of("value.out.weight"), hidden)
	sum := 0.0
	for k := range out {
		out[k] += float64(r.of("value.out.bias")[k])
		if k < 3 {
			wdl = append(wdl, math.Exp(out[k]))
			sum += wdl[k]
		}
	}
	for k := range wdl {
		wdl[k] /= sum
	}
	return policy, wdl, network.PliesScale * network.Softplus(out[3])
}

func encoder(t testing.TB, game string) *encode.Encoder {
	t.Helper()
	v, err := rules.Load(game)
	if err != nil {
		t.Fatal(err)
	}
	e, err := encode.New(v)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// weights returns fresh weights whose biases are not zero, so that a forgotten
// bias is seen.
func weights(t testing.TB, spec, game string) *network.Weights {
	t.Helper()
	s, err := network.ParseSpec(spec)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	w, err := network.Init(s, encoder(t, game), rng)
	if err != nil {
		t.Fatal(err)
	}
	for _, slot := range network.NewLayout(w.Form).Slots {
		if slot.Fan == 0 {
			for i := range slot.Of(w.Params) {
				slot.Of(w.Params)[i] = float32(0.1 * rng.NormFloat64())
			}
		}
	}
	return w
}

// request returns a batch of n positions of random games.
func request(t testing.TB, game string, n int) *network.Request {
	t.Helper()
	e := encoder(t, game)
	rng := rand.New(rand.NewPCG(7, 8))
	r := &network.Request{N: n, Planes: make([]float32, n*e.Size()), Offsets: []int32{0}, Values: make([]rules.Value, n), Plies: make([]float32, n)}
	p := e.Variant().Start()
	for i := range n {
		moves := p.AppendMoves(nil)
		if p.Outcome(len(moves)).Result != rules.Ongoing {
			p = e.Variant().Start()
			moves = p.AppendMoves(nil)
		}
		e.Encode(p, r.Planes[i*e.Size():])
		for _, m := range moves {
			r.Index = append(r.Index, int32(e.Index(p, m)))
		}
		r.Offsets = append(r.Offsets, int32(len(r.Index)))
		p.Do(moves[rng.IntN(len(moves))])
	}
	r.Logits = make([]float32, len(r.Index))
	return r
}
