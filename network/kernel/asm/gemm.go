package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Byte offsets in gemmArgs of package kernel, which a test there pins.
const (
	gA, gB, gC, gAcc, gBias = 0, 24, 48, 72, 96
	gRows, gK, gPanels      = 120, 128, 136
	gARow, gACol            = 144, 152
	gBRow, gBPanel, gCRow   = 160, 168, 176
	gReLU                   = 184
)

// gemm is the state of the generated function while it is written.
type gemm struct {
	v                  *isa
	args               reg.Register
	rs, csa, brs, bps  reg.Register // strides in bytes
	ldc                reg.Register
	aRow, cRow         reg.Register // where the current block of rows starts
	left               reg.Register // rows left
	b, c, acc, bias, n Mem          // on the stack: panel pointers and panels left
}

// writeGemm emits the product of matrices: panels of 16 columns (pairs of panels with 64-byte vectors) from left to
// right, and in each of them blocks of as many rows as registers allow.
func writeGemm(v *isa) {
	TEXT("gemm"+v.name, 0, "func(args *uint64)")
	Doc("gemm" + v.name + " computes a product of matrices; args is a *gemmArgs.")
	Pragma("noescape")
	g := &gemm{v: v, args: Load(Param("args"), GP64())}
	local := AllocLocal(40)
	g.b, g.c, g.acc, g.bias, g.n = local, local.Offset(8), local.Offset(16), local.Offset(24), local.Offset(32)
	for _, m := range []struct {
		field int
		slot  Mem
	}{{gB, g.b}, {gC, g.c}, {gAcc, g.acc}, {gBias, g.bias}, {gPanels, g.n}} {
		t := GP64()
		MOVQ(at(g.args, m.field), t)
		MOVQ(t, m.slot)
	}
	bytes := func(field int) reg.Register {
		r := GP64()
		MOVQ(at(g.args, field), r)
		SHLQ(Imm(2), r)
		return r
	}
	g.rs, g.csa, g.brs, g.ldc = bytes(gARow), bytes(gACol), bytes(gBRow), bytes(gCRow)
	g.bps = bytes(gBPanel)
	wide := 2 / v.lanes() // panels that two vectors cover
	Label("panels")
	if wide == 2 {
		CMPQ(g.n, Imm(2))
		JLT(LabelRef("last"))
	}
	g.panel("wide", 2)
	g.next(wide)
	JNZ(LabelRef("panels"))
	if wide == 2 {
		JMP(LabelRef("done"))
		Label("last")
		CMPQ(g.n, Imm(0))
		JEQ(LabelRef("done"))
		g.panel("narrow", 1)
		Label("done")
	}
	VZEROUPPER()
	RET()
}

// next moves the pointers on by wide panels; the flags tell whether any is left.
func (g *gemm) next(wide int) {
	t := GP64()
	MOVQ(at(g.args, gBPanel), t)
	SHLQ(Imm(uint64(1+wide)), t)
	ADDQ(t, g.b)
	ADDQ(Imm(uint64(64*wide)), g.c)
	for i, slot := range []Mem{g.acc, g.bias} {
		skip := fmt.Sprintf("skip%d", i)
		CMPQ(slot, Imm(0))
		JEQ(LabelRef(skip))
		ADDQ(Imm(uint64(64*wide)), slot)
		Label(skip)
	}
	SUBQ(Imm(uint64(wide)), g.n)
}

// panel emits all rows of nv vectors of columns.
func (g *gemm) panel(name string, nv int) {
	full := g.rowsPerBlock()
	g.aRow, g.cRow, g.left = GP64(), GP64(), GP64()
	MOVQ(at(g.args, gA), g.aRow)
	MOVQ(g.c, g.cRow)
	MOVQ(at(g.args, gRows), g.left)
	take := GP64()
	Label(name + "rows")
	MOVQ(g.left, take)
	CMPQ(g.left, Imm(uint64(full)))
	JLE(LabelRef(name + "few"))
	MOVQ(U32(uint32(full)), take)
	CMPQ(g.left, Imm(uint64(full+3)))
	JG(LabelRef(fmt.Sprintf("%s%d", name, full)))
	MOVQ(g.left, take) // two middling blocks are faster than a whole one and a small one
	INCQ(take)
	SHRQ(Imm(1), take)
	Label(name + "few")
	for mr := full; mr > 0; mr-- {
		CMPQ(take, Imm(uint64(mr)))
		JEQ(LabelRef(fmt.Sprintf("%s%d", name, mr)))
	}
	JMP(LabelRef(name + "end"))
	for mr := full; mr > 0; mr-- {
		block := fmt.Sprintf("%s%d", name, mr)
		Label(block)
		g.block(block, mr, nv)
		t := GP64()
		IMUL3Q(Imm(uint64(mr)), g.rs, t)
		ADDQ(t, g.aRow)
		IMUL3Q(Imm(uint64(mr)), g.ldc, t)
		ADDQ(t, g.cRow)
		SUBQ(Imm(uint64(mr)), g.left)
		JMP(LabelRef(name + "rows"))
	}
	Label(name + "end")
}

func (g *gemm) rowsPerBlock() int {
	if g.v.bytes == 64 {
		return 12
	}
	return 6
}

// block emits mr rows of nv vectors: one accumulator each, summed in the order of k.
func (g *gemm) block(name string, mr, nv int) {
	v := g.v
	acc := make([]reg.VecVirtual, mr*nv)
	for i := range acc {
		acc[i] = v.vec()
		v.zero(acc[i])
	}
	ap := make([]reg.Register, (mr+2)/3)
	for i := range ap {
		ap[i] = GP64()
		if i == 0 {
			MOVQ(g.aRow, ap[i])
		} else {
			LEAQ(Mem{Base: ap[i-1], Index: g.rs, Scale: 2}, ap[i])
			ADDQ(g.rs, ap[i])
		}
	}
	b, k := GP64(), GP64()
	MOVQ(g.b, b)
	MOVQ(at(g.args, gK), k)
	loop(name+"k", k, func() {
		w := make([]reg.VecVirtual, nv)
		for j := range w {
			w[j] = v.vec()
			VMOVUPS(g.column(b, j), w[j])
		}
		for m := range mr {
			a := at(ap[m/3], 0)
			if m%3 > 0 {
				a.Index, a.Scale = g.rs, uint8(m%3)
			}
			x := v.vec()
			VBROADCASTSS(a, x)
			for j := range w {
				VFMADD231PS(w[j], x, acc[m*nv+j])
			}
		}
		for i := range ap {
			ADDQ(g.csa, ap[i])
		}
		g.prefetch(b)
		ADDQ(g.brs, b)
	})
	g.finish(name, acc, mr, nv)
}

// column is where vector j of a row of B is.
func (g *gemm) column(b reg.Register, j int) Mem {
	if j > 0 && g.v.bytes == 64 {
		return Mem{Base: b, Index: g.bps, Scale: 1}
	}
	return at(b, j*g.v.bytes)
}

// finish adds bias and residual, applies ReLU and stores.
func (g *gemm) finish(name string, acc []reg.VecVirtual, mr, nv int) {
	v := g.v
	p := GP64()
	MOVQ(g.bias, p)
	TESTQ(p, p)
	JZ(LabelRef(name + "nobias"))
	for j := range nv {
		x := v.vec()
		VMOVUPS(at(p, j*v.bytes), x)
		for m := range mr {
			VADDPS(x, acc[m*nv+j], acc[m*nv+j])
		}
	}
	Label(name + "nobias")
	MOVQ(g.acc, p)
	TESTQ(p, p)
	JZ(LabelRef(name + "noacc"))
	ADDQ(g.cRow, p)
	SUBQ(g.c, p)
	for m := range mr {
		for j := range nv {
			VADDPS(at(p, j*v.bytes), acc[m*nv+j], acc[m*nv+j])
		}
		if m < mr-1 {
			ADDQ(g.ldc, p)
		}
	}
	Label(name + "noacc")
	CMPQ(at(g.args, gReLU), Imm(0))
	JEQ(LabelRef(name + "norelu"))
	zero := v.vec()
	v.zero(zero)
	for i := range acc {
		VMAXPS(acc[i], zero, acc[i])
	}
	Label(name + "norelu")
	MOVQ(g.cRow, p)
	for m := range mr {
		for j := range nv {
			VMOVUPS(acc[m*nv+j], at(p, j*v.bytes))
		}
		if m < mr-1 {
			ADDQ(g.ldc, p)
		}
	}
}

// prefetch asks for the same row of the next panels, which may still be in an outer cache.
func (g *gemm) prefetch(b reg.Register) {
	PREFETCHT0(Mem{Base: b, Index: g.bps, Scale: 1})
}
