package kernel

import (
	"slices"
	"sync"
	"unsafe"

	"golang.org/x/sys/cpu"
)

// supported lists the sets this machine can run, the fastest first: those whose instructions it has and that pass
// their self-check.
var supported = sync.OnceValue(func() []*Set {
	x := &cpu.X86
	var sets []*Set
	if x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512VL && x.HasAVX512BW {
		sets = append(sets, &Set{name: "avx512", kind: avx512})
	}
	if x.HasAVX2 && x.HasFMA {
		sets = append(sets, &Set{name: "avx2", kind: avx2})
	}
	sets = slices.DeleteFunc(sets, func(s *Set) bool { return !s.works() })
	return append(sets, plainSet)
})

func (g *gemmArgs) ptr() *uint64 { return (*uint64)(unsafe.Pointer(g)) }

func (t *tileArgs) ptr() *uint64 { return (*uint64)(unsafe.Pointer(t)) }

// gemm computes a product of matrices.
func (s *Set) gemm(g *gemmArgs) {
	switch s.kind {
	case avx512:
		gemmAVX512(g.ptr())
	case avx2:
		gemmAVX2(g.ptr())
	default:
		plainGemm(g)
	}
}
