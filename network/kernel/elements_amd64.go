package kernel

import "unsafe"

// whole is how much of a slice of n floats goes to assembly: none in the plain set.
func (s *Set) whole(n int) int {
	if s.kind == plain {
		return 0
	}
	return n &^ (Lane - 1)
}

func (s *Set) reluGrad(dst, dy, y []float32) int {
	n := s.whole(len(y))
	switch {
	case n == 0:
	case s.kind == avx512:
		reluGradAVX512(&dst[0], &dy[0], &y[0], n)
	default:
		reluGradAVX2(&dst[0], &dy[0], &y[0], n)
	}
	return n
}

func (s *Set) add(dst, src []float32) int {
	n := s.whole(len(src))
	switch {
	case n == 0:
	case s.kind == avx512:
		addAVX512(&dst[0], &src[0], n)
	default:
		addAVX2(&dst[0], &src[0], n)
	}
	return n
}

func (s *Set) axpy(y, x []float32, f float32) int {
	n := s.whole(len(x))
	switch {
	case n == 0:
	case s.kind == avx512:
		axpyAVX512(&y[0], &x[0], n, f)
	default:
		axpyAVX2(&y[0], &x[0], n, f)
	}
	return n
}

func (s *Set) dot(a, b []float32) float32 {
	switch s.kind {
	case avx512:
		return dotAVX512(&a[0], &b[0], len(a))
	case avx2:
		return dotAVX2(&a[0], &b[0], len(a))
	}
	return plainDot(a, b)
}

func (s *Set) rowSums(dst, src []float32, rows, c int) {
	switch s.kind {
	case avx512:
		rowSumsAVX512(&dst[0], &src[0], rows, c)
	case avx2:
		rowSumsAVX2(&dst[0], &src[0], rows, c)
	default:
		plainRowSums(dst, src, rows, c)
	}
}

func (s *Set) sumSquares(sums *[Lane]float64, x []float32) int {
	n := s.whole(len(x))
	switch {
	case n == 0:
	case s.kind == avx512:
		sumSquaresAVX512(&sums[0], &x[0], n)
	default:
		sumSquaresAVX2(&sums[0], &x[0], n)
	}
	return n
}

func (s *Set) maxAbs(tops *[Lane]uint32, x []float32) int {
	n := s.whole(len(x))
	switch {
	case n == 0:
	case s.kind == avx512:
		maxAbsAVX512(&tops[0], &x[0], n)
	default:
		maxAbsAVX2(&tops[0], &x[0], n)
	}
	return n
}

func (p *poolArgs) ptr() *uint64 { return (*uint64)(unsafe.Pointer(p)) }

func (s *Set) pool(p *poolArgs) {
	switch s.kind {
	case avx512:
		poolAVX512(p.ptr())
	case avx2:
		poolAVX2(p.ptr())
	default:
		plainPool(p)
	}
}

func (s *Set) poolGrad(p *poolArgs) {
	switch s.kind {
	case avx512:
		poolGradAVX512(p.ptr())
	case avx2:
		poolGradAVX2(p.ptr())
	default:
		plainPoolGrad(p)
	}
}

func (s *Set) adam(w, g, m, v, avg []float32, k *adamArgs) int {
	n := s.whole(len(w))
	if n == 0 {
		return 0
	}
	if s.kind == avx512 {
		adamAVX512(&w[0], &g[0], &m[0], &v[0], unsafe.SliceData(avg), n, &k.clip)
	} else {
		adamAVX2(&w[0], &g[0], &m[0], &v[0], unsafe.SliceData(avg), n, &k.clip)
	}
	return n
}

// peak does n times 12 multiply-adds of vectors and returns the number of floating-point operations.
func (s *Set) peak(n int) int {
	switch s.kind {
	case avx512:
		peakAVX512(n)
		return n * 12 * 16 * 2
	case avx2:
		peakAVX2(n)
		return n * 12 * 8 * 2
	}
	return plainPeak(n)
}
