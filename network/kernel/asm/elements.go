package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// writeElements emits the loops over plain vectors.
func writeElements(v *isa) {
	writePeak(v)
}

// writePeak emits independent multiply-adds in registers, as many as hide their latency: the yardstick of the others.
func writePeak(v *isa) {
	TEXT("peak"+v.name, 0, "func(n int)")
	Doc("peak" + v.name + " does n times 12 multiply-adds of vectors.")
	n := Load(Param("n"), GP64()).(reg.GPVirtual)
	x, y := v.vec(), v.vec()
	v.zero(x)
	v.zero(y)
	acc := make([]reg.VecVirtual, 12)
	for i := range acc {
		acc[i] = v.vec()
		v.zero(acc[i])
	}
	loop("again", n, func() {
		for _, a := range acc {
			VFMADD231PS(x, y, a)
		}
	})
	VZEROUPPER()
	RET()
}

var _ = Imm
