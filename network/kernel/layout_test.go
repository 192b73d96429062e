package kernel

import (
	"testing"
	"unsafe"
)

func TestArgumentsLieWhereTheAssemblyReadsThem(t *testing.T) {
	var g gemmArgs
	var a tileArgs
	var p poolArgs
	var k adamArgs
	for _, f := range []struct {
		name      string
		got, want uintptr
	}{
		{"gemmArgs.a", unsafe.Offsetof(g.a), 0},
		{"gemmArgs.b", unsafe.Offsetof(g.b), 24},
		{"gemmArgs.c", unsafe.Offsetof(g.c), 48},
		{"gemmArgs.acc", unsafe.Offsetof(g.acc), 72},
		{"gemmArgs.bias", unsafe.Offsetof(g.bias), 96},
		{"gemmArgs.rows", unsafe.Offsetof(g.rows), 120},
		{"gemmArgs.k", unsafe.Offsetof(g.k), 128},
		{"gemmArgs.panels", unsafe.Offsetof(g.panels), 136},
		{"gemmArgs.aRow", unsafe.Offsetof(g.aRow), 144},
		{"gemmArgs.aCol", unsafe.Offsetof(g.aCol), 152},
		{"gemmArgs.bRow", unsafe.Offsetof(g.bRow), 160},
		{"gemmArgs.bPanel", unsafe.Offsetof(g.bPanel), 168},
		{"gemmArgs.cRow", unsafe.Offsetof(g.cRow), 176},
		{"gemmArgs.relu", unsafe.Offsetof(g.relu), 184},
		{"tileArgs.src", unsafe.Offsetof(a.src), 0},
		{"tileArgs.dst", unsafe.Offsetof(a.dst), 24},
		{"tileArgs.bias", unsafe.Offsetof(a.bias), 48},
		{"tileArgs.res", unsafe.Offsetof(a.res), 72},
		{"tileArgs.mask", unsafe.Offsetof(a.mask), 96},
		{"tileArgs.table", unsafe.Offsetof(a.table), 120},
		{"tileArgs.tmp", unsafe.Offsetof(a.tmp), 144},
		{"tileArgs.lanes", unsafe.Offsetof(a.lanes), 168},
		{"tileArgs.srcPlane", unsafe.Offsetof(a.srcPlane), 176},
		{"tileArgs.plane", unsafe.Offsetof(a.plane), 184},
		{"tileArgs.rows", unsafe.Offsetof(a.rows), 192},
		{"tileArgs.cols", unsafe.Offsetof(a.cols), 200},
		{"tileArgs.rowStride", unsafe.Offsetof(a.rowStride), 208},
		{"tileArgs.pixStride", unsafe.Offsetof(a.pixStride), 216},
		{"tileArgs.relu", unsafe.Offsetof(a.relu), 224},
		{"poolArgs.src", unsafe.Offsetof(p.src), 0},
		{"poolArgs.pooled", unsafe.Offsetof(p.pooled), 24},
		{"poolArgs.dx", unsafe.Offsetof(p.dx), 48},
		{"poolArgs.dpooled", unsafe.Offsetof(p.dpooled), 72},
		{"poolArgs.rows", unsafe.Offsetof(p.rows), 96},
		{"poolArgs.cols", unsafe.Offsetof(p.cols), 104},
		{"poolArgs.rowGap", unsafe.Offsetof(p.rowGap), 112},
		{"poolArgs.pixStride", unsafe.Offsetof(p.pixStride), 120},
		{"poolArgs.lanes", unsafe.Offsetof(p.lanes), 128},
		{"poolArgs.share", unsafe.Offsetof(p.share), 136},
		{"adamArgs.clip", unsafe.Offsetof(k.clip), 0},
		{"adamArgs.blend", unsafe.Offsetof(k.blend), 36},
	} {
		if unsafe.Sizeof(uintptr(0)) == 8 && f.got != f.want {
			t.Errorf("%s is at byte %d, the assembly reads it at %d", f.name, f.got, f.want)
		}
	}
}
