package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gather is the state of the function that finishes a convolution.
type gather struct {
	v                    *isa
	a                    matrix
	args, group          reg.Register // group: bytes from the first channel
	rowStride, pixStride Mem          // on the stack, in bytes
	bias, floor          reg.VecVirtual
}

// writeGather emits At M A with bias, residual, ReLU and mask, written into the image as far as rows and cols say.
// The first pass works on rows of points, the second on columns of outputs.
func writeGather(v *isa, name string, a matrix) {
	TEXT(name+v.name, 0, "func(args *uint64)")
	Doc(fmt.Sprintf("%s%s transforms %d by %d points into %d by %d outputs; args is a *tileArgs.", name, v.name, len(a[0]), len(a[0]), len(a), len(a)))
	Pragma("noescape")
	m, n := len(a), len(a[0])
	g := &gather{v: v, a: a, args: Load(Param("args"), GP64())}
	v.hold(v.spare(n)-2, func() { v.apply(a, v.inputs(n, nil), func(int, reg.Register) {}) })
	g.floor = v.vec()
	VMOVUPS(v.memory(math.Inf(-1)), g.floor)
	CMPQ(at(g.args, tReLU), Imm(0))
	JEQ(LabelRef("floor"))
	v.zero(g.floor)
	Label("floor")
	local := AllocLocal(24)
	groups := local
	g.rowStride, g.pixStride = local.Offset(8), local.Offset(16)
	t := field(g.args, tLanes)
	if v.lanes() == 2 {
		SHLQ(Imm(1), t)
	}
	MOVQ(t, groups)
	MOVQ(bytesField(g.args, tRowStride), g.rowStride)
	MOVQ(bytesField(g.args, tPixelStride), g.pixStride)
	src := field(g.args, tSrc)
	plane := bytesField(g.args, tSrcPlane)
	from := newStrides(plane, n)
	g.group = GP64()
	XORQ(g.group, g.group)
	Label("groups")
	tmp, q, k, step := GP64(), GP64(), GP64(), GP64()
	MOVQ(at(g.args, tTmp), tmp)
	MOVQ(src, q)
	IMUL3Q(Imm(uint64(n)), plane, step)
	MOVQ(U32(uint32(n)), k)
	loop("first", k, func() {
		in := v.inputs(n, func(i int) Op { return from.at(q, i) })
		v.apply(a, in, func(i int, r reg.Register) { VMOVUPS(r, at(tmp, i*v.bytes)) })
		ADDQ(U32(m*v.bytes), tmp)
		ADDQ(step, q)
	})
	g.bias = v.vec()
	v.zero(g.bias)
	b := field(g.args, tBias)
	TESTQ(b, b)
	JZ(LabelRef("nobias"))
	VMOVUPS(Mem{Base: b, Index: g.group, Scale: 1}, g.bias)
	Label("nobias")
	CMPQ(at(g.args, tMask), Imm(0))
	JNE(LabelRef("masked"))
	CMPQ(at(g.args, tRes), Imm(0))
	JNE(LabelRef("res"))
	g.columns("bare", false, false)
	Label("res")
	g.columns("added", true, false)
	Label("masked")
	CMPQ(at(g.args, tRes), Imm(0))
	JNE(LabelRef("both"))
	g.columns("cut", false, true)
	Label("both")
	g.columns("all", true, true)
	Label("next")
	ADDQ(U32(v.bytes), src)
	ADDQ(U32(v.bytes), g.group)
	DECQ(groups)
	JNZ(LabelRef("groups"))
	VZEROUPPER()
	RET()
}

// columns emits the second pass, then jumps to the next group.
func (g *gather) columns(name string, res, mask bool) {
	v, m, n := g.v, len(g.a), len(g.a[0])
	dst := field(g.args, tDst)
	var r, k reg.Register
	if res {
		r = field(g.args, tRes)
	}
	if mask {
		k = field(g.args, tMask)
	}
	tmp, col, left := field(g.args, tTmp), GP64(), field(g.args, tCols)
	MOVQ(g.group, col)
	loop(name, left, func() {
		place := GP64()
		MOVQ(col, place)
		in := v.inputs(n, func(i int) Op { return at(tmp, i*m*v.bytes) })
		v.apply(g.a, in, func(i int, x reg.Register) {
			if i > 0 {
				CMPQ(at(g.args, tRows), Imm(uint64(i)))
				JLE(LabelRef(name + "end"))
			}
			y := v.vec()
			VADDPS(x, g.bias, y)
			if res {
				VADDPS(Mem{Base: r, Index: place, Scale: 1}, y, y)
			}
			VMAXPS(y, g.floor, y)
			if mask {
				g.mask(Mem{Base: k, Index: place, Scale: 1}, y)
			}
			VMOVUPS(y, Mem{Base: dst, Index: place, Scale: 1})
			if i < m-1 {
				ADDQ(g.rowStride, place)
			}
		})
		Label(name + "end")
		ADDQ(U32(v.bytes), tmp)
		ADDQ(g.pixStride, col)
	})
	JMP(LabelRef("next"))
}

// mask clears the lanes of y where src is not above zero.
func (g *gather) mask(src Mem, y reg.VecVirtual) {
	g.v.keepPositive(src, y, y)
}

// keepPositive is dst = y in the lanes where src is above zero, zero in the others.
func (v *isa) keepPositive(src Op, y, dst reg.Register) {
	zero := v.vec()
	v.zero(zero)
	if v.bytes == 64 {
		k := K()
		VCMPPS(Imm(lessThan), src, zero, k)
		VMOVAPS_Z(y, k, dst)
		return
	}
	c := v.vec()
	VCMPPS(Imm(lessThan), src, zero, c)
	VANDPS(c, y, dst)
}

// lessThan is the predicate of VCMPPS "first < second", false for NaN, without a signal.
const lessThan = 17
