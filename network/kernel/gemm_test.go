package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// gemmTruth is src wT (+ bias) (+ res) in float64 for w [n][k]; columns from n on are those of zero weights.
func gemmTruth(rows, k, n int, src []float32, stride int, w, bias, res []float32, relu bool) []float64 {
	ldc := RoundUp(n)
	out := make([]float64, rows*ldc)
	for r := range rows {
		for j := range ldc {
			v := 0.0
			for p := range k {
				if j < n {
					v += float64(src[r*stride+p]) * float64(w[j*k+p])
				}
			}
			if bias != nil {
				v += float64(bias[j])
			}
			if res != nil {
				v += float64(res[r*ldc+j])
			}
			if relu && v < 0 {
				v = 0
			}
			out[r*ldc+j] = v
		}
	}
	return out
}

func TestProductsAgreeWithFloat64ForAllShapes(t *testing.T) {
	forEachSet(t, func(t *testing.T, s *Set) {
		for rows := range 27 {
			for _, shape := range [][2]int{{1, 3}, {16, 16}, {25, 20}, {32, 48}, {64, 64}, {100, 33}, {512, 16}} {
				k, n := shape[0], shape[1]
				r := rand.New(rand.NewPCG(uint64(rows), uint64(k)))
				stride := k + rows%3
				src, w := noise(r, rows*stride+k, 1), noise(r, n*k, 1/math.Sqrt(float64(k)))
				m := NewMatrix(k, n)
				m.Pack(w)
				a := GemmArgs{Dst: Alloc(rows * m.N()), Src: src, SrcStride: stride, Rows: rows}
				check := func(what string) {
					t.Helper()
					want := gemmTruth(rows, k, n, src, stride, w, a.Bias, a.Residual, a.ReLU)
					s.Gemm(m, a)
					if d := gap(a.Dst, want); d > GemmError*span64(want) {
						t.Errorf("%d rows, %d to %d, %s: off by %.2g of %.2g", rows, k, n, what, d, span64(want))
					}
				}
				check("bare")
				a.Bias = noise(r, m.N(), 1)
				check("bias")
				a.ReLU = true
				a.Residual = noise(r, rows*m.N(), 1)
				check("bias, residual and ReLU")
			}
		}
	})
}

func TestGradientsOfProductsAgreeWithFloat64(t *testing.T) {
	forEachSet(t, func(t *testing.T, s *Set) {
		for _, shape := range [][3]int{{1, 16, 3}, {30, 32, 20}, {300, 64, 33}, {129, 16, 64}} {
			rows, k, n := shape[0], shape[1], shape[2]
			r := rand.New(rand.NewPCG(uint64(rows), uint64(k)))
			w, x, dy := noise(r, n*k, 1), noise(r, rows*k, 1), noise(r, rows*RoundUp(n), 1)
			for row := range rows {
				clear(dy[row*RoundUp(n)+n : (row+1)*RoundUp(n)])
			}
			dw, want := Alloc(n*k), make([]float64, n*k)
			dx := make([]float64, rows*RoundUp(k))
			for row := range rows {
				for j := range n {
					for p := range k {
						want[j*k+p] += float64(dy[row*RoundUp(n)+j]) * float64(x[row*k+p])
						dx[row*k+p] += float64(dy[row*RoundUp(n)+j]) * float64(w[j*k+p])
					}
				}
			}
			s.GemmWeightGrad(dw, x, dy, rows, k, n)
			if d := gap(dw, want); d > GemmError*span64(want) {
				t.Errorf("%v: weight gradient off by %.2g of %.2g", shape, d, span64(want))
			}
			m := NewMatrix(n, k)
			m.PackTransposed(w)
			got := Alloc(rows * k)
			s.Gemm(m, GemmArgs{Dst: got, Src: dy, SrcStride: RoundUp(n), Rows: rows})
			if d := gap(got, dx); d > GemmError*span64(dx) {
				t.Errorf("%v: input gradient off by %.2g of %.2g", shape, d, span64(dx))
			}
		}
	})
}

func TestProductsAgreeWithTheirPlainTwin(t *testing.T) {
	forEachSet(t, func(t *testing.T, s *Set) {
		r := rand.New(rand.NewPCG(9, 9))
		for range 300 {
			g := gemmArgs{rows: 1 + r.IntN(30), k: 1 + r.IntN(80), panels: 1 + r.IntN(5), relu: r.IntN(2)}
			cols := g.panels * Lane
			g.cRow = cols + r.IntN(9)
			if r.IntN(2) == 0 {
				g.aRow, g.aCol = g.k+r.IntN(5), 1
			} else {
				g.aRow, g.aCol = 1, g.rows+r.IntN(5)
			}
			if r.IntN(2) == 0 {
				g.bRow, g.bPanel = Lane, g.k*Lane+r.IntN(5)
			} else {
				g.bRow, g.bPanel = cols+r.IntN(5), Lane
			}
			g.a = noise(r, g.aRow*g.rows+g.aCol*g.k, 1)
			g.b = noise(r, g.bRow*g.k+g.bPanel*g.panels, 1)
			if r.IntN(2) == 0 {
				g.bias = noise(r, cols, 1)
			}
			if r.IntN(2) == 0 {
				g.acc = noise(r, g.cRow*g.rows, 1)
			}
			h := g
			g.c, h.c = Alloc(g.cRow*g.rows), Alloc(g.cRow*g.rows)
			s.gemm(&g)
			plainGemm(&h)
			near(t, fmt.Sprintf("%d rows of %d by %d", g.rows, g.k, cols), g.c, h.c, 1e-5)
		}
	})
}

func TestChosenLogitsAreDotProducts(t *testing.T) {
	forEachSet(t, func(t *testing.T, s *Set) {
		r := rand.New(rand.NewPCG(2, 2))
		h := Choices{C: 48, Planes: 7, X: noise(r, 20*48, 1), W: noise(r, 7*48, 1), Bias: noise(r, 7, 1)}
		for range 40 {
			h.Index = append(h.Index, int32(r.IntN(20*7)))
		}
		got, g := make([]float32, 40), noise(r, 40, 1)
		s.Logits(got, h)
		dx, dw, db := make([]float32, len(h.X)), make([]float32, len(h.W)), make([]float32, 7)
		s.LogitsGrad(dx, dw, db, g, h)
		wx, ww, wb := make([]float64, len(h.X)), make([]float64, len(h.W)), make([]float64, 7)
		for i, v := range h.Index {
			px, pl := int(v)/7, int(v)%7
			want := float64(h.Bias[pl])
			for c := range 48 {
				want += float64(h.X[px*48+c]) * float64(h.W[pl*48+c])
				wx[px*48+c] += float64(g[i]) * float64(h.W[pl*48+c])
				ww[pl*48+c] += float64(g[i]) * float64(h.X[px*48+c])
			}
			wb[pl] += float64(g[i])
			if math.Abs(float64(got[i])-want) > 1e-5 {
				t.Errorf("logit %d is %v, want %v", i, got[i], want)
			}
		}
		for what, p := range map[string]float64{"x": gap(dx, wx), "w": gap(dw, ww), "bias": gap(db, wb)} {
			if p > 1e-4 {
				t.Errorf("gradient of %s is off by %.2g", what, p)
			}
		}
	})
}

func TestMatricesPackTheSameBothWays(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const k, n = 5, 35
	w := noise(r, k*n, 1)
	turned := make([]float32, k*n)
	for j := range n {
		for p := range k {
			turned[p*n+j] = w[j*k+p]
		}
	}
	a, b := NewMatrix(k, n), NewMatrix(k, n)
	a.Pack(w)
	b.PackTransposed(turned)
	if !slices.Equal(a.data, b.data) {
		t.Error("Pack and PackTransposed disagree")
	}
}
