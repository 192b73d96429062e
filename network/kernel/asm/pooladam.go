package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Byte offsets in poolArgs of package kernel, which a test there pins.
const (
	pSrc, pDst, pDX     = 0, 24, 48
	pDPool              = 72
	pRows, pCols        = 96, 104
	pRowGap, pPixStride = 112, 120
	pLanes              = 128
	pShare              = 136
)

// squares emits body for each square of a board, q walking over them.
func squares(args, q reg.Register, pix, gap reg.Register, body func()) {
	rows := field(args, pRows)
	loop("rows", rows, func() {
		cols := field(args, pCols)
		loop("cols", cols, func() {
			body()
			ADDQ(pix, q)
		})
		ADDQ(gap, q)
	})
}

// writePool emits mean and maximum over the squares, one vector of channels after the other.
func writePool(v *isa) {
	args := start(v, "pool", "args *uint64", "computes means and maxima over the squares of an image; args is a *poolArgs.", "args")[0]
	src, dst := field(args, pSrc), field(args, pDst)
	pix, gap := bytesField(args, pPixStride), bytesField(args, pRowGap)
	half := field(args, pLanes)
	SHLQ(Imm(6), half) // bytes of the means
	share := v.vec()
	VBROADCASTSS(at(args, pShare), share)
	groups := field(args, pLanes)
	if v.lanes() == 2 {
		SHLQ(Imm(1), groups)
	}
	loop("groups", groups, func() {
		sum, top := v.vec(), v.vec()
		v.zero(sum)
		VMOVUPS(at(src, 0), top)
		q := GP64()
		MOVQ(src, q)
		squares(args, q, pix, gap, func() {
			x := v.vec()
			VMOVUPS(at(q, 0), x)
			VADDPS(x, sum, sum)
			VMAXPS(top, x, top) // x where it is above top, else top
		})
		VMULPS(share, sum, sum)
		VMOVUPS(sum, at(dst, 0))
		VMOVUPS(top, Mem{Base: dst, Index: half, Scale: 1})
		advance(v.bytes, src, dst)
	})
	end()
}

// writePoolGrad emits the gradient of pool: the mean's share for every square, the maximum's for the first that has
// it.
func writePoolGrad(v *isa) {
	args := start(v, "poolGrad", "args *uint64", "adds the gradient of pool to dx; args is a *poolArgs.", "args")[0]
	src, pooled, dpool := field(args, pSrc), field(args, pDst), field(args, pDPool)
	delta := field(args, pDX)
	SUBQ(src, delta)
	pix, gap := bytesField(args, pPixStride), bytesField(args, pRowGap)
	half := field(args, pLanes)
	SHLQ(Imm(6), half)
	groups := field(args, pLanes)
	if v.lanes() == 2 {
		SHLQ(Imm(1), groups)
	}
	loop("groups", groups, func() {
		mean, top, dtop := v.vec(), v.vec(), v.vec()
		VBROADCASTSS(at(args, pShare), mean)
		VMULPS(at(dpool, 0), mean, mean)
		VMOVUPS(Mem{Base: dpool, Index: half, Scale: 1}, dtop)
		VMOVUPS(Mem{Base: pooled, Index: half, Scale: 1}, top)
		q := GP64()
		MOVQ(src, q)
		squares(args, q, pix, gap, func() {
			x, d := v.vec(), v.vec()
			VADDPS(Mem{Base: q, Index: delta, Scale: 1}, mean, d)
			if v.bytes == 64 {
				k := K()
				VCMPPS(Imm(0), at(q, 0), top, k)
				VMOVAPS_Z(dtop, k, x)
				VXORPS(dtop, x, dtop) // what was given is gone
			} else {
				VCMPPS(Imm(0), at(q, 0), top, x)
				VANDPS(dtop, x, x)
				VXORPS(dtop, x, dtop)
			}
			VADDPS(x, d, d)
			VMOVUPS(d, Mem{Base: q, Index: delta, Scale: 1})
		})
		advance(v.bytes, src, pooled, dpool)
	})
	end()
}

// Byte offsets in adamArgs of package kernel, which a test there pins.
const (
	aClip, aBeta1, aRest1, aBeta2, aRest2 = 0, 4, 8, 12, 16
	aRate, aEps, aKeep, aMean, aBlend     = 20, 24, 28, 32, 36
)

// writeAdam emits one step of AdamW.
func writeAdam(v *isa) {
	p := start(v, "adam", "w, dw, m, v, avg *float32, n int, k *float32", "does a step of AdamW; k is a *adamArgs, avg may be nil.",
		"w", "dw", "m", "v", "avg", "n", "k")
	w, g, m, sq, avg, n, k := p[0], p[1], p[2], p[3], p[4], p[5], p[6]
	SHRQ(Imm(4), n)
	if v.lanes() == 2 {
		SHLQ(Imm(1), n)
	}
	c := func(offset int) reg.VecVirtual {
		r := v.vec()
		VBROADCASTSS(at(k, offset), r)
		return r
	}
	clip, beta1, rest1, beta2, rest2 := c(aClip), c(aBeta1), c(aRest1), c(aBeta2), c(aRest2)
	rate, eps, keep := c(aRate), c(aEps), c(aKeep)
	mean, blend := c(aMean), c(aBlend)
	loop("more", n, func() {
		d, a, b, x := v.vec(), v.vec(), v.vec(), v.vec()
		VMULPS(at(g, 0), clip, d)
		VMULPS(at(m, 0), beta1, a)
		VFMADD231PS(rest1, d, a)
		VMOVUPS(a, at(m, 0))
		VMULPS(d, d, d)
		VMULPS(at(sq, 0), beta2, b)
		VFMADD231PS(rest2, d, b)
		VMOVUPS(b, at(sq, 0))
		VSQRTPS(b, b)
		VADDPS(eps, b, b)
		VMULPS(rate, a, a)
		VDIVPS(b, a, a)
		VMOVUPS(at(w, 0), x)
		VFMSUB213PS(a, keep, x) // x*keep - a
		VMOVUPS(x, at(w, 0))
		advance(v.bytes, w, g, m, sq)
		TESTQ(avg, avg)
		JZ(LabelRef("skip"))
		VMULPS(at(avg, 0), mean, a)
		VFMADD231PS(blend, x, a)
		VMOVUPS(a, at(avg, 0))
		advance(v.bytes, avg)
		Label("skip")
	})
	end()
}
