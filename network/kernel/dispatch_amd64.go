package kernel

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

var avx2Set = &Set{name: "avx2", kind: avx2}

// supported lists the sets this machine can run, the fastest first.
func supported() []*Set {
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		return []*Set{avx2Set, plainSet}
	}
	return []*Set{plainSet}
}

func (g *gemmArgs) ptr() *uint64 { return (*uint64)(unsafe.Pointer(g)) }

func (t *tileArgs) ptr() *uint64 { return (*uint64)(unsafe.Pointer(t)) }

func (s *Set) gemm(g *gemmArgs) {
	switch s.kind {
	case avx2:
		gemmAVX2(g.ptr())
	default:
		plainGemm(g)
	}
}

// scatter transforms the patch or the core of a tile, read through a table.
func (s *Set) scatter(m int, st step, t *tileArgs) {
	if s.kind == avx2 {
		switch int(st)<<4 | m {
		case int(stepPatch)<<4 | 3:
			patch3AVX2(t.ptr())
		case int(stepPatch)<<4 | 4:
			patch4AVX2(t.ptr())
		case int(stepPatch)<<4 | 5:
			patch5AVX2(t.ptr())
		case int(stepPatch)<<4 | 6:
			patch6AVX2(t.ptr())
		case int(stepCore)<<4 | 3:
			core3AVX2(t.ptr())
		case int(stepCore)<<4 | 4:
			core4AVX2(t.ptr())
		case int(stepCore)<<4 | 5:
			core5AVX2(t.ptr())
		case int(stepCore)<<4 | 6:
			core6AVX2(t.ptr())
		}
		return
	}
	plainScatter(tiles[m].matrix(st), t)
}

// planes transforms weights, or the gradient of weights, plane by plane.
func (s *Set) planes(m int, st step, t *tileArgs) {
	if s.kind == avx2 {
		switch int(st)<<4 | m {
		case int(stepWeights)<<4 | 3:
			weights3AVX2(t.ptr())
		case int(stepWeights)<<4 | 4:
			weights4AVX2(t.ptr())
		case int(stepWeights)<<4 | 5:
			weights5AVX2(t.ptr())
		case int(stepWeights)<<4 | 6:
			weights6AVX2(t.ptr())
		case int(stepWeightGrad)<<4 | 3:
			weightGrad3AVX2(t.ptr())
		case int(stepWeightGrad)<<4 | 4:
			weightGrad4AVX2(t.ptr())
		case int(stepWeightGrad)<<4 | 5:
			weightGrad5AVX2(t.ptr())
		case int(stepWeightGrad)<<4 | 6:
			weightGrad6AVX2(t.ptr())
		}
		return
	}
	plainPlanes(tiles[m].matrix(st), t)
}

// gather finishes a tile of a convolution.
func (s *Set) gather(m int, t *tileArgs) {
	if s.kind == avx2 {
		switch m {
		case 3:
			gather3AVX2(t.ptr())
		case 4:
			gather4AVX2(t.ptr())
		case 5:
			gather5AVX2(t.ptr())
		case 6:
			gather6AVX2(t.ptr())
		}
		return
	}
	plainGather(&tiles[m].out, t)
}

// peak does n times 12 multiply-adds of vectors and returns the number of floating-point operations.
func (s *Set) peak(n int) int {
	switch s.kind {
	case avx2:
		peakAVX2(n)
		return n * 12 * 8 * 2
	}
	return plainPeak(n)
}
