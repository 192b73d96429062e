package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

var testLengths = []int{0, 1, 15, 16, 17, 48, 100, 1000}

func TestVectorLoopsAgreeWithTheirDefinitions(t *testing.T) {
	forEachSet(t, func(t *testing.T, s *Set) {
		r := rand.New(rand.NewPCG(3, 3))
		for _, n := range testLengths {
			x, y := noise(r, n, 1), noise(r, n, 1)
			got, want := slices.Clone(x), slices.Clone(x)
			s.ReLUGrad(got, x, y)
			plainReLUGrad(want, x, y)
			near(t, fmt.Sprintf("ReLUGrad of %d", n), got, want, 0)
			copy(got, x)
			copy(want, x)
			s.Add(got, y)
			plainAdd(want, y)
			near(t, fmt.Sprintf("Add of %d", n), got, want, 0)
			s.Axpy(got, y, 0.3)
			plainAxpy(want, y, 0.3)
			near(t, fmt.Sprintf("Axpy of %d", n), got, want, 1e-6)
			if n%Lane == 0 {
				d := 0.0
				for i := range x {
					d += float64(x[i]) * float64(y[i])
				}
				if e := math.Abs(float64(s.Dot(x, y)) - d); e > 1e-5*math.Sqrt(float64(n)+1) {
					t.Errorf("Dot of %d is off by %.2g", n, e)
				}
			}
			if got, want := s.SumSquares(x), plainSet.SumSquares(x); got != want {
				t.Errorf("SumSquares of %d is %v, in plain Go %v", n, got, want)
			}
			top := float32(0)
			for _, v := range x {
				top = max(top, float32(math.Abs(float64(v))))
			}
			if got := s.MaxAbs(x); got != top {
				t.Errorf("MaxAbs of %d is %v, want %v", n, got, top)
			}
		}
	})
}

func TestOneElementThatIsNotFiniteIsFoundAnywhere(t *testing.T) {
	forEachSet(t, func(t *testing.T, s *Set) {
		for _, n := range []int{1, 16, 37} {
			x := noise(rand.New(rand.NewPCG(1, 2)), n, math.MaxFloat32/8)
			for i := range x {
				x[i] = max(-math.MaxFloat32, min(math.MaxFloat32, x[i]))
			}
			if !s.Finite(x) {
				t.Errorf("%d large numbers are called infinite", n)
			}
			for i := range x {
				old := x[i]
				for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(-1))} {
					x[i] = bad
					if s.Finite(x) || !math.IsInf(float64(s.MaxAbs(x)), 1) {
						t.Errorf("%v at %d of %d goes unseen", bad, i, n)
					}
				}
				x[i] = old
			}
		}
	})
}

func TestSumsOfRowsAndSlices(t *testing.T) {
	forEachSet(t, func(t *testing.T, s *Set) {
		r := rand.New(rand.NewPCG(4, 4))
		for _, c := range []int{16, 48, 128} {
			for _, rows := range []int{0, 1, 7, 200} {
				x := noise(r, rows*c, 1)
				got, want := noise(r, c, 1), make([]float32, c)
				s.RowSums(got, x, rows, c)
				plainRowSums(want, x, rows, c)
				near(t, fmt.Sprintf("%d rows of %d", rows, c), got, want, 0)
			}
		}
		b := Board{3, 4}
		x := images(r, b, 32, 3)
		each, all := make([]float32, 3*32), make([]float32, 32)
		s.ImageSums(each, x, b, 32, 3)
		s.RowSums(all, x, 3*b.Padded(), 32)
		sum := make([]float32, 32)
		s.SumSlices(sum, [][]float32{each[:32], each[32:64], each[64:]})
		near(t, "sum of the images", sum, all, 1e-6)
	})
}

func TestPoolingAndItsGradientAgreeWithTheirPlainTwins(t *testing.T) {
	forEachSet(t, func(t *testing.T, s *Set) {
		for _, b := range testBoards {
			for _, c := range []int{16, 48, 64} {
				r := rand.New(rand.NewPCG(5, uint64(b.H*b.W)))
				const n = 2
				x := images(r, b, c, n)
				for i := range x { // few values, so that maxima are often equal
					x[i] = float32(math.Round(float64(x[i])))
				}
				got, want := Alloc(n*2*c), Alloc(n*2*c)
				s.Pool(got, x, b, c, n)
				plainSet.Pool(want, x, b, c, n)
				near(t, fmt.Sprintf("Pool on %v of %d", b, c), got, want, 0)
				d := noise(r, n*2*c, 1)
				dx := images(r, b, c, n)
				dy := slices.Clone(dx)
				before, taken := 0.0, 0.0
				for i := range dx {
					before += float64(dx[i])
				}
				s.PoolGrad(dx, x, got, d, b, c, n)
				plainSet.PoolGrad(dy, x, want, d, b, c, n)
				near(t, fmt.Sprintf("PoolGrad on %v of %d", b, c), dx, dy, 0)
				for i := range dx {
					taken += float64(dx[i])
				}
				for _, v := range d {
					before += float64(v)
				}
				if math.Abs(before-taken) > 1e-3 {
					t.Errorf("PoolGrad on %v of %d hands out %v, got %v", b, c, taken, before)
				}
			}
		}
	})
}

// adamTruth is a step of AdamW in float64, as the papers write it.
func adamTruth(w, g, m, v, avg []float64, a Adam) {
	b1, b2 := float64(a.Beta1), float64(a.Beta2)
	for i := range w {
		d := g[i] * float64(a.Clip)
		m[i] = b1*m[i] + (1-b1)*d
		v[i] = b2*v[i] + (1-b2)*d*d
		mh, vh := m[i]/(1-math.Pow(b1, float64(a.Step))), v[i]/(1-math.Pow(b2, float64(a.Step)))
		w[i] -= float64(a.Rate) * (mh/(math.Sqrt(vh)+float64(a.Epsilon)) + float64(a.Decay)*w[i])
		avg[i] = float64(a.Average)*avg[i] + (1-float64(a.Average))*w[i]
	}
}

func TestAdamFollowsThePapersInFloat64(t *testing.T) {
	forEachSet(t, func(t *testing.T, s *Set) {
		for _, n := range []int{5, 16, 35, 300} {
			r := rand.New(rand.NewPCG(6, uint64(n)))
			w, m, v := noise(r, n, 1), make([]float32, n), make([]float32, n)
			avg, other := slices.Clone(w), slices.Clone(w)
			m2, v2 := make([]float32, n), make([]float32, n)
			wide := func(x []float32) []float64 {
				o := make([]float64, len(x))
				for i := range x {
					o[i] = float64(x[i])
				}
				return o
			}
			tw, tm, tv, ta := wide(w), wide(m), wide(v), wide(w)
			for step := 1; step <= 20; step++ {
				g := noise(r, n, 0.1)
				a := Adam{Rate: 1e-3, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, Decay: 1e-4, Clip: 0.7, Step: step, Average: 0.99}
				s.AdamStep(w, g, m, v, avg, a)
				s.AdamStep(other, g, m2, v2, nil, a)
				adamTruth(tw, wide(g), tm, tv, ta, a)
			}
			if d := gap(w, tw); d > 1e-5 {
				t.Errorf("%d weights are off by %.2g", n, d)
			}
			if d := gap(avg, ta); d > 1e-5 {
				t.Errorf("averages of %d weights are off by %.2g", n, d)
			}
			if !slices.Equal(w, other) {
				t.Errorf("%d weights depend on whether an average is kept", n)
			}
		}
	})
}
