package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// writeElements emits the loops over plain vectors. Their lengths are multiples of 16 floats and not zero.
func writeElements(v *isa) {
	writeReLUGrad(v)
	writeAdd(v)
	writeAxpy(v)
	writeDot(v)
	writeRowSums(v)
	writeSumSquares(v)
	writeMaxAbs(v)
	writePool(v)
	writePoolGrad(v)
	writeAdam(v)
	writePeak(v)
}

// start begins a function and loads its parameters.
func start(v *isa, name, params, doc string, names ...string) []reg.Register {
	TEXT(name+v.name, 0, "func("+params+")")
	Doc(name + v.name + " " + doc)
	Pragma("noescape")
	var rs []reg.Register
	for _, n := range names {
		rs = append(rs, Load(Param(n), GP64()))
	}
	return rs
}

func end() {
	VZEROUPPER()
	RET()
}

// sixteens divides a count of floats by 16.
func sixteens(n reg.Register) { SHRQ(Imm(4), n) }

// advance moves pointers by bytes.
func advance(bytes int, ps ...reg.Register) {
	for _, p := range ps {
		ADDQ(U32(uint32(bytes)), p)
	}
}

func writeReLUGrad(v *isa) {
	p := start(v, "reluGrad", "dst, dy, y *float32, n int", "copies dy where y is above zero and puts zero elsewhere.", "dst", "dy", "y", "n")
	sixteens(p[3])
	loop("more", p[3], func() {
		for i := range v.lanes() {
			x := v.vec()
			VMOVUPS(at(p[1], i*v.bytes), x)
			v.keepPositive(at(p[2], i*v.bytes), x, x)
			VMOVUPS(x, at(p[0], i*v.bytes))
		}
		advance(64, p[:3]...)
	})
	end()
}

func writeAdd(v *isa) {
	p := start(v, "add", "dst, src *float32, n int", "adds src to dst.", "dst", "src", "n")
	sixteens(p[2])
	loop("more", p[2], func() {
		for i := range v.lanes() {
			x := v.vec()
			VMOVUPS(at(p[0], i*v.bytes), x)
			VADDPS(at(p[1], i*v.bytes), x, x)
			VMOVUPS(x, at(p[0], i*v.bytes))
		}
		advance(64, p[:2]...)
	})
	end()
}

func writeAxpy(v *isa) {
	p := start(v, "axpy", "y, x *float32, n int, f float32", "adds f times x to y.", "y", "x", "n")
	f := v.vec()
	b, err := Param("f").Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSS(b.Addr, f)
	sixteens(p[2])
	loop("more", p[2], func() {
		for i := range v.lanes() {
			y := v.vec()
			VMOVUPS(at(p[0], i*v.bytes), y)
			VFMADD231PS(at(p[1], i*v.bytes), f, y)
			VMOVUPS(y, at(p[0], i*v.bytes))
		}
		advance(64, p[:2]...)
	})
	end()
}

func writeDot(v *isa) {
	TEXT("dot"+v.name, 0, "func(a, b *float32, n int) float32")
	Doc("dot" + v.name + " multiplies two vectors: sixteen sums, added pairwise at the end.")
	Pragma("noescape")
	a, b, n := Load(Param("a"), GP64()), Load(Param("b"), GP64()), Load(Param("n"), GP64())
	acc := make([]reg.VecVirtual, v.lanes())
	for i := range acc {
		acc[i] = v.vec()
		v.zero(acc[i])
	}
	sixteens(n)
	loop("more", n, func() {
		for i := range acc {
			x := v.vec()
			VMOVUPS(at(a, i*v.bytes), x)
			VFMADD231PS(at(b, i*v.bytes), x, acc[i])
		}
		advance(64, a, b)
	})
	y := acc[0].AsY()
	if v.bytes == 64 {
		h := YMM()
		VEXTRACTF64X4(Imm(1), acc[0], h)
		VADDPS(h, y, y)
	} else {
		VADDPS(acc[1], y, y)
	}
	x, h := acc[0].AsX(), XMM()
	VEXTRACTF128(Imm(1), y, h)
	VADDPS(h, x, x)
	VPERMILPS(Imm(0b1110), x, h)
	VADDPS(h, x, x)
	VPERMILPS(Imm(1), x, h)
	VADDSS(h, x, x)
	Store(x, ReturnIndex(0))
	end()
}

func writeRowSums(v *isa) {
	p := start(v, "rowSums", "dst, src *float32, rows, c int", "sums rows of c floats.", "dst", "src", "rows", "c")
	stride, groups := GP64(), p[3]
	MOVQ(p[3], stride)
	SHLQ(Imm(2), stride)
	sixteens(groups)
	loop("groups", groups, func() {
		acc := make([]reg.VecVirtual, v.lanes())
		for i := range acc {
			acc[i] = v.vec()
			v.zero(acc[i])
		}
		q, n := GP64(), GP64()
		MOVQ(p[1], q)
		MOVQ(p[2], n)
		loop("rows", n, func() {
			for i := range acc {
				VADDPS(at(q, i*v.bytes), acc[i], acc[i])
			}
			ADDQ(stride, q)
		})
		for i := range acc {
			VMOVUPS(acc[i], at(p[0], i*v.bytes))
		}
		advance(64, p[0], p[1])
	})
	end()
}

func writeSumSquares(v *isa) {
	p := start(v, "sumSquares", "sums *float64, x *float32, n int", "adds the squares of x to sixteen sums.", "sums", "x", "n")
	acc := make([]reg.VecVirtual, 128/v.bytes)
	for i := range acc {
		acc[i] = v.vec()
		VMOVUPD(at(p[0], i*v.bytes), acc[i])
	}
	sixteens(p[2])
	loop("more", p[2], func() {
		for i := range acc {
			x := v.vec()
			VCVTPS2PD(at(p[1], i*v.bytes/2), x)
			VFMADD231PD(x, x, acc[i])
		}
		advance(64, p[1])
	})
	for i := range acc {
		VMOVUPD(acc[i], at(p[0], i*v.bytes))
	}
	end()
}

func writeMaxAbs(v *isa) {
	p := start(v, "maxAbs", "tops *uint32, x *float32, n int", "raises sixteen maxima of the bits of absolute values.", "tops", "x", "n")
	mask := v.vec()
	VMOVUPS(v.memory(float64(math.Float32frombits(0x7fffffff))), mask)
	acc := make([]reg.VecVirtual, v.lanes())
	for i := range acc {
		acc[i] = v.vec()
		VMOVUPS(at(p[0], i*v.bytes), acc[i])
	}
	sixteens(p[2])
	loop("more", p[2], func() {
		for i := range acc {
			x := v.vec()
			if v.bytes == 64 {
				VPANDD(at(p[1], i*v.bytes), mask, x)
			} else {
				VPAND(at(p[1], i*v.bytes), mask, x)
			}
			VPMAXUD(x, acc[i], acc[i])
		}
		advance(64, p[1])
	})
	for i := range acc {
		VMOVUPS(acc[i], at(p[0], i*v.bytes))
	}
	end()
}

// writePeak emits independent multiply-adds in registers, as many as hide their latency: the yardstick of the others.
func writePeak(v *isa) {
	p := start(v, "peak", "n int", "does n times 12 multiply-adds of vectors.", "n")
	x, y := v.vec(), v.vec()
	v.zero(x)
	v.zero(y)
	acc := make([]reg.VecVirtual, 12)
	for i := range acc {
		acc[i] = v.vec()
		v.zero(acc[i])
	}
	loop("again", p[0], func() {
		for _, a := range acc {
			VFMADD231PS(x, y, a)
		}
	})
	end()
}
