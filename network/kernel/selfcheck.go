package kernel

import "math"

// works runs every kernel of a set once on small numbers and compares with the plain twins. A set that a new kind of
// machine runs wrongly is then left out instead of spoiling a training run. The plain twins take most of the time.
func (s *Set) works() bool {
	x := ramp(1 << 15)
	for _, t := range tiles[minTile:] {
		if !s.convWorks(t, x) {
			return false
		}
	}
	return s.loopsWork(x)
}

// ramp gives n numbers between -1 and 1 without a visible pattern.
func ramp(n int) []float32 {
	o := Alloc(n)
	u := uint32(1)
	for i := range o {
		u = u*1664525 + 1013904223
		o[i] = float32(int32(u)) / (1 << 31)
	}
	return o
}

// convWorks compares a convolution and its weight gradient with a tile; the board is no multiple of it.
func (s *Set) convWorks(t *tile, x []float32) bool {
	b := Board{t.m + 1, t.m + 2}
	const cin, cout, n = 16, 48, 2
	src, dy, res := Alloc(n*b.Len(cin)), Alloc(n*b.Len(cout)), Alloc(n*b.Len(cout))
	Pad(src, x, b, cin, n)
	Pad(dy, x[100:], b, cout, n)
	Pad(res, x[200:], b, cout, n)
	results := func(s *Set) [2][]float32 {
		c := newConv3x3(b, cin, cout, t, nil)
		s.Pack(c, x[:9*cin*cout])
		y, dw := Alloc(n*b.Len(cout)), Alloc(9*cin*cout)
		s.Conv(c, ConvArgs{Dst: y, Src: src, N: n, Bias: x[:cout], Residual: res, ReLU: true, Mask: dy}, Alloc(c.ScratchLen()))
		s.WeightGrad(c, dw, src, dy, n, Alloc(c.WeightGradScratchLen()))
		return [2][]float32{y, dw}
	}
	got, want := results(s), results(plainSet)
	return close32(got[0], want[0], 1e-4) && close32(got[1], want[1], 1e-4)
}

// loopsWork compares the other kernels.
func (s *Set) loopsWork(x []float32) bool {
	b := Board{3, 4}
	const c, n = 48, 2
	results := func(s *Set) []float32 {
		o := Alloc(6 * n * b.Len(c))
		part := func(i int) []float32 { return o[i*n*b.Len(c) : (i+1)*n*b.Len(c)] }
		copy(o, x)
		s.ReLUGrad(part(0), part(1), part(2))
		s.Add(part(1), part(2))
		s.Axpy(part(2), part(3), 0.5)
		s.RowSums(part(3)[:c], part(4), b.Padded(), c)
		s.Pool(part(4), part(5), b, c, n)
		s.PoolGrad(part(3), part(5), part(4), part(1), b, c, n)
		w := part(5)
		s.ReLUGrad(part(0), part(0), part(0)) // second moments are not negative
		s.AdamStep(w[:c], w[c:2*c], w[2*c:3*c], part(0)[:c], w[3*c:4*c], Adam{Rate: 0.1, Beta1: 0.9, Beta2: 0.9, Epsilon: 0.1, Decay: 0.1, Clip: 0.5, Step: 2, Average: 0.9})
		m := NewMatrix(20, c)
		m.Pack(x)
		const rows = 29 // two full blocks of rows in every set, and some left
		product := Alloc(rows * c)
		s.Gemm(m, GemmArgs{Dst: product, Src: x[500:], Rows: rows, Bias: x[:c], Residual: x[1000:], ReLU: true})
		return append(append(o, product...), s.Dot(x[:c], x[c:2*c]), float32(s.SumSquares(x)), s.MaxAbs(x))
	}
	return close32(results(s), results(plainSet), 1e-4)
}

// close32 compares within a share of the largest element; NaN is never close.
func close32(got, want []float32, bound float64) bool {
	top := 0.0
	for _, v := range want {
		top = max(top, math.Abs(float64(v)))
	}
	for i, v := range got {
		if d := math.Abs(float64(v) - float64(want[i])); !(d <= bound*top) {
			return false
		}
	}
	return true
}
