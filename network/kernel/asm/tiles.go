package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Byte offsets in tileArgs of package kernel, which a test there pins.
const (
	tSrc, tDst               = 0, 24
	tBias, tRes, tMask       = 48, 72, 96
	tTable, tTmp             = 120, 144
	tLanes                   = 168
	tSrcPlane, tPlane        = 176, 184
	tRows, tCols             = 192, 200
	tRowStride, tPixelStride = 208, 216
	tReLU                    = 224
)

// spare is the number of vector registers that constants may take beside in inputs.
func (v *isa) spare(in int) int { return min(v.regs-in-4, 14) }

// inputs emits the loads of n inputs, unless it is a dry run.
func (v *isa) inputs(n int, load func(i int) Op) []reg.Register {
	in := make([]reg.Register, n)
	for i := range in {
		r := v.vec()
		in[i] = r
		if !v.dry {
			VMOVUPS(load(i), r)
		}
	}
	return in
}

// field loads a field of the arguments, bytesField one that counts floats, in bytes.
func field(args reg.Register, offset int) reg.Register {
	r := GP64()
	MOVQ(at(args, offset), r)
	return r
}

func bytesField(args reg.Register, offset int) reg.Register {
	r := field(args, offset)
	SHLQ(Imm(2), r)
	return r
}

// writeTransform emits l S lt for a tile. It reads the points, column by column, through a table of offsets (table)
// or from planes, and writes points to planes. The first pass leaves half-done points in tmp, the second
// finishes them row by row.
func writeTransform(v *isa, name string, a matrix, table bool) {
	TEXT(name+v.name, 0, "func(args *uint64)")
	Doc(fmt.Sprintf("%s%s transforms %d by %d points into %d by %d; args is a *tileArgs.", name, v.name, len(a[0]), len(a[0]), len(a), len(a)))
	Pragma("noescape")
	rows, cols := len(a), len(a[0])
	args := Load(Param("args"), GP64())
	dry := func() { v.apply(a, v.inputs(cols, nil), func(int, reg.Register) {}) }
	v.hold(v.spare(max(rows, cols)), dry)
	src, dst, tmp := field(args, tSrc), field(args, tDst), field(args, tTmp)
	groups := field(args, tLanes)
	if v.lanes() == 2 {
		SHLQ(Imm(1), groups)
	}
	plane := bytesField(args, tPlane)
	to := newStrides(plane, rows)
	toRow := GP64()
	IMUL3Q(Imm(uint64(rows)), plane, toRow)
	var from strides
	var fromCol reg.Register
	if !table {
		fromCol = bytesField(args, tSrcPlane)
		p := GP64()
		IMUL3Q(Imm(uint64(cols)), fromCol, p)
		from = newStrides(p, cols)
	}
	loop("groups", groups, func() {
		t, q, n := GP64(), GP64(), GP64()
		MOVQ(tmp, t)
		if table {
			MOVQ(at(args, tTable), q)
		} else {
			MOVQ(src, q)
		}
		MOVQ(U32(uint32(cols)), n)
		loop("first", n, func() {
			in := v.inputs(cols, func(i int) Op {
				if !table {
					return from.at(q, i)
				}
				o := GP64()
				MOVLQSX(at(q, 4*i), o)
				return Mem{Base: src, Index: o, Scale: 4}
			})
			v.apply(a, in, func(i int, r reg.Register) { VMOVUPS(r, at(t, i*cols*v.bytes)) })
			ADDQ(U32(v.bytes), t)
			if table {
				ADDQ(U32(4*cols), q)
			} else {
				ADDQ(fromCol, q)
			}
		})
		t, w, n := GP64(), GP64(), GP64()
		MOVQ(tmp, t)
		MOVQ(dst, w)
		MOVQ(U32(uint32(rows)), n)
		loop("second", n, func() {
			in := v.inputs(cols, func(j int) Op { return at(t, j*v.bytes) })
			v.apply(a, in, func(j int, r reg.Register) { VMOVUPS(r, to.at(w, j)) })
			ADDQ(U32(cols*v.bytes), t)
			ADDQ(toRow, w)
		})
		ADDQ(U32(v.bytes), src)
		ADDQ(U32(v.bytes), dst)
	})
	VZEROUPPER()
	RET()
}
