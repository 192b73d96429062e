package kernel

import "math"

// Assembly does the first part of a slice, a multiple of Lane, and reports how much; plain Go does the rest.

// ReLUGrad computes dst[i] = dy[i] where y[i] > 0, else 0: the gradient of a ReLU whose output was y. dst may be dy.
func (s *Set) ReLUGrad(dst, dy, y []float32) {
	dst, dy = dst[:len(y)], dy[:len(y)]
	i := s.reluGrad(dst, dy, y)
	plainReLUGrad(dst[i:], dy[i:], y[i:])
}

func plainReLUGrad(dst, dy, y []float32) {
	dst, dy = dst[:len(y)], dy[:len(y)]
	for i, v := range y {
		if v > 0 {
			dst[i] = dy[i]
		} else {
			dst[i] = 0
		}
	}
}

// Add computes dst[i] += src[i].
func (s *Set) Add(dst, src []float32) {
	dst = dst[:len(src)]
	i := s.add(dst, src)
	plainAdd(dst[i:], src[i:])
}

func plainAdd(dst, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] += v
	}
}

// SumSlices computes dst[i] = parts[0][i] + parts[1][i] + ... in this order: the gradient of a batch from those of
// its slices. dst may be parts[0].
func (s *Set) SumSlices(dst []float32, parts [][]float32) {
	copy(dst, parts[0])
	for _, p := range parts[1:] {
		s.Add(dst, p[:len(dst)])
	}
}

// Axpy computes y[i] += f * x[i].
func (s *Set) Axpy(y, x []float32, f float32) {
	y = y[:len(x)]
	i := s.axpy(y, x, f)
	plainAxpy(y[i:], x[i:], f)
}

func plainAxpy(y, x []float32, f float32) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += float32(f * v)
	}
}

// Dot is the product of two vectors of the same length, a multiple of Lane: sixteen sums, one a lane, in order, added
// pairwise at the end.
func (s *Set) Dot(a, b []float32) float32 {
	if len(a) == 0 {
		return 0
	}
	return s.dot(a, b[:len(a)])
}

func plainDot(a, b []float32) float32 {
	b = b[:len(a)]
	var t [Lane]float32
	for i := 0; i+Lane <= len(a); i += Lane {
		x, y := a[i:i+Lane:i+Lane], b[i:i+Lane:i+Lane]
		for j := range t {
			t[j] += float32(x[j] * y[j])
		}
	}
	for w := Lane / 2; w > 0; w /= 2 {
		for j := range w {
			t[j] += t[j+w]
		}
	}
	return t[0]
}

// RowSums computes dst[j] = sum over rows of src[row][j], for src [rows][c] with c a multiple of Lane, in order: the
// gradient of a bias. Padded images may be summed whole, since their border is zero.
func (s *Set) RowSums(dst, src []float32, rows, c int) {
	dst = dst[:c]
	if rows == 0 {
		clear(dst)
		return
	}
	s.rowSums(dst, src[:rows*c], rows, c)
}

func plainRowSums(dst, src []float32, rows, c int) {
	clear(dst)
	for r := range rows {
		for j, v := range src[r*c : r*c+c] {
			dst[j] += v
		}
	}
}

// ImageSums computes the sums over the squares of each of n padded images, dst [n][c]: the gradient of a bias that
// differs from image to image.
func (s *Set) ImageSums(dst, src []float32, b Board, c, n int) {
	for i := range n {
		s.RowSums(dst[i*c:i*c+c], src[i*b.Len(c):(i+1)*b.Len(c)], b.Padded(), c)
	}
}

// SumSquares is the sum of the squares of x in float64: sixteen sums, one a lane, in order, added pairwise at the end.
// It has the same bits in all sets, and is finite exactly when every element of x is.
func (s *Set) SumSquares(x []float32) float64 {
	var sums [Lane]float64
	i := s.sumSquares(&sums, x)
	for j, v := range x[i:] {
		sums[j%Lane] += float64(v) * float64(v) // exact before it is added
	}
	for w := Lane / 2; w > 0; w /= 2 {
		for j := range w {
			sums[j] += sums[j+w]
		}
	}
	return sums[0]
}

// Finite reports whether no element of x is infinite or not a number.
func (s *Set) Finite(x []float32) bool {
	v := s.SumSquares(x)
	return !math.IsNaN(v) && !math.IsInf(v, 0)
}

// MaxAbs is the largest absolute value in x, 0 for none; a NaN counts as infinite.
func (s *Set) MaxAbs(x []float32) float32 {
	var tops [Lane]uint32
	i := s.maxAbs(&tops, x)
	top := uint32(0)
	for _, v := range x[i:] {
		top = max(top, math.Float32bits(v)&^(1<<31))
	}
	for _, v := range tops {
		top = max(top, v)
	}
	return math.Float32frombits(min(top, math.Float32bits(float32(math.Inf(1)))))
}
