package kernel

import "math"

// ReLUGrad computes dst[i] = dy[i] where y[i] > 0, else 0: the gradient of a ReLU whose output was y. dst may be dy.
func (s *Set) ReLUGrad(dst, dy, y []float32) {
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

// RowSums computes dst[j] = sum over rows of src[row][j], for src [rows][c], in order: the gradient of a bias. Padded
// images may be summed whole, since their border is zero.
func (s *Set) RowSums(dst, src []float32, rows, c int) {
	dst = dst[:c]
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

// SumSquares is the sum of the squares of x in float64 and in a fixed order. It is finite exactly when every element
// of x is.
func (s *Set) SumSquares(x []float32) float64 {
	var a [4]float64
	i := 0
	for ; i+4 <= len(x); i += 4 {
		for j, v := range x[i : i+4] {
			a[j] += float64(float64(v) * float64(v))
		}
	}
	for ; i < len(x); i++ {
		a[i&3] += float64(float64(x[i]) * float64(x[i]))
	}
	return (a[0] + a[1]) + (a[2] + a[3])
}

// Finite reports whether no element of x is infinite or not a number.
func (s *Set) Finite(x []float32) bool {
	v := s.SumSquares(x)
	return !math.IsNaN(v) && !math.IsInf(v, 0)
}

// MaxAbs is the largest absolute value in x, 0 for none; a NaN counts as infinite.
func (s *Set) MaxAbs(x []float32) float32 {
	var top uint32
	for _, v := range x {
		top = max(top, math.Float32bits(v)&^(1<<31))
	}
	return math.Float32frombits(min(top, math.Float32bits(float32(math.Inf(1)))))
}

// Dot is the product of two vectors of the same length, a multiple of Lane: sixteen sums, one a lane, in order, added
// pairwise at the end.
func (s *Set) Dot(a, b []float32) float32 { return plainDot(a, b) }

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

// Axpy computes y[i] += f * x[i], for a length that is a multiple of Lane.
func (s *Set) Axpy(y, x []float32, f float32) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += float32(f * v)
	}
}
