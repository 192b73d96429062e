package kernel

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestAnswersDoNotDependOnTheBatch(t *testing.T) {
	forEachSet(t, func(t *testing.T, s *Set) {
		for _, b := range []Board{{5, 5}, {7, 7}, {9, 9}, {12, 12}} {
			const c = 32
			r := rand.New(rand.NewPCG(11, uint64(b.H)))
			conv, err := NewConv3x3(b, c, c)
			if err != nil {
				t.Fatal(err)
			}
			s.Pack(conv, noise(r, 9*c*c, 0.1))
			n := 2*conv.Block() + 3
			scratch := Alloc(conv.ScratchLen())
			a := ConvArgs{Src: images(r, b, c, n), Residual: images(r, b, c, n), Bias: noise(r, c, 1), ReLU: true}
			all := Alloc(n * b.Len(c))
			a.Dst, a.N = all, n
			s.Conv(conv, a, scratch)
			for range 12 {
				first := r.IntN(n)
				last := first + 1 + r.IntN(n-first)
				part := a
				part.N = last - first
				part.Src, part.Residual = a.Src[first*b.Len(c):], a.Residual[first*b.Len(c):]
				part.Dst = Alloc(part.N * b.Len(c))
				for i := range scratch {
					scratch[i] = r.Float32()
				}
				s.Conv(conv, part, scratch)
				if !slices.Equal(part.Dst, all[first*b.Len(c):last*b.Len(c)]) {
					t.Errorf("%v: images %d to %d differ when computed alone", b, first, last-1)
				}
			}
		}
		r := rand.New(rand.NewPCG(12, 12))
		m := NewMatrix(48, 32)
		m.Pack(noise(r, 32*48, 1))
		src, all := noise(r, 40*48, 1), Alloc(40*32)
		s.Gemm(m, GemmArgs{Dst: all, Src: src, Rows: 40})
		for first := range 40 {
			rows := 1 + r.IntN(40-first)
			part := Alloc(rows * 32)
			s.Gemm(m, GemmArgs{Dst: part, Src: src[first*48:], Rows: rows})
			if !slices.Equal(part, all[first*32:(first+rows)*32]) {
				t.Errorf("rows %d to %d differ when multiplied alone", first, first+rows-1)
			}
		}
	})
}

func TestBordersAreNeverWritten(t *testing.T) {
	forEachSet(t, func(t *testing.T, s *Set) {
		for _, b := range testBoards {
			r := rand.New(rand.NewPCG(13, uint64(b.W)))
			c, err := NewConv3x3(b, 16, 16)
			if err != nil {
				t.Fatal(err)
			}
			s.Pack(c, noise(r, 9*16*16, 0.1))
			const n, mark = 2, 7
			dst := Alloc(n * b.Len(16))
			for i := range dst {
				dst[i] = mark
			}
			s.Conv(c, ConvArgs{Dst: dst, Src: images(r, b, 16, n), N: n}, Alloc(c.ScratchLen()))
			inside := Alloc(n * b.Pixels() * 16)
			Unpad(inside, dst, b, 16, n)
			if slices.Contains(inside, mark) {
				t.Errorf("%v: some squares are not written", b)
			}
			Pad(dst, Alloc(n*b.Pixels()*16), b, 16, n)
			for i, v := range dst {
				row, col := i/16/(b.W+2)%(b.H+2), i/16%(b.W+2)
				border := row == 0 || col == 0 || row == b.H+1 || col == b.W+1
				if border != (v == mark) {
					t.Fatalf("%v: row %d column %d of the padded image is %v", b, row, col, v)
				}
			}
		}
	})
}

func TestResidualMayBeTheResultItself(t *testing.T) {
	forEachSet(t, func(t *testing.T, s *Set) {
		for _, b := range testBoards {
			r := rand.New(rand.NewPCG(14, uint64(b.W)))
			c, err := NewConv3x3(b, 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			s.Pack(c, noise(r, 9*16*32, 0.1))
			x, h := images(r, b, 16, 2), images(r, b, 32, 2)
			out := Alloc(len(h))
			scratch := Alloc(c.ScratchLen())
			s.Conv(c, ConvArgs{Dst: out, Src: x, N: 2, Residual: h}, scratch)
			s.Conv(c, ConvArgs{Dst: h, Src: x, N: 2, Residual: h}, scratch)
			if !slices.Equal(out, h) {
				t.Errorf("%v: adding in place differs", b)
			}
		}
	})
}

func TestNothingAllocates(t *testing.T) {
	forEachSet(t, func(t *testing.T, s *Set) {
		b := Board{5, 5}
		const c, n = 16, 3
		r := rand.New(rand.NewPCG(15, 15))
		conv, err := NewConv3x3(b, c, c)
		if err != nil {
			t.Fatal(err)
		}
		w := noise(r, 9*c*c, 1)
		x, y, dw := images(r, b, c, n), images(r, b, c, n), Alloc(9*c*c)
		scratch := Alloc(max(conv.ScratchLen(), conv.WeightGradScratchLen()))
		m := NewMatrix(c, c)
		pooled := Alloc(n * 2 * c)
		parts := [][]float32{dw, w}
		h := Choices{X: x, C: c, W: w, Bias: w, Planes: 9, Index: []int32{3, 20}}
		logits := make([]float32, 2)
		allocs := testing.AllocsPerRun(3, func() {
			s.Pack(conv, w)
			s.PackInputGrad(conv, w)
			s.Conv(conv, ConvArgs{Dst: y, Src: x, N: n, Bias: w, Residual: y, ReLU: true, Mask: x}, scratch)
			s.WeightGrad(conv, dw, x, y, n, scratch)
			m.Pack(w)
			m.PackTransposed(w)
			s.Gemm(m, GemmArgs{Dst: y, Src: x, Rows: 7})
			s.GemmWeightGrad(dw, x, y, 7, c, c)
			s.Pool(pooled, x, b, c, n)
			s.PoolGrad(y, x, pooled, pooled, b, c, n)
			s.ReLUGrad(y, y, x)
			s.RowSums(dw, x, 10, c)
			s.ImageSums(pooled, x, b, c, n)
			s.SumSlices(dw, parts)
			s.AdamStep(dw, w, w, w, nil, Adam{Step: 1})
			s.Logits(logits, h)
			s.LogitsGrad(x, dw, dw, logits, h)
			if s.SumSquares(x) < 0 || s.MaxAbs(x) < 0 || Best() == nil {
				t.Error("negative norm")
			}
		})
		if allocs != 0 {
			t.Errorf("%v allocations", allocs)
		}
	})
}
