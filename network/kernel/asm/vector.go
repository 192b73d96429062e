package main

import (
	"fmt"
	"math"
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// isa is an instruction set: what a vector is, and how its constants are kept.
type isa struct {
	name  string // suffix of the functions
	part  string // of the set that is written, in the name of the constants
	bytes int    // of a vector
	regs  int    // vector registers

	dry   bool // only count the constants, emit nothing
	uses  map[float64]int
	held  map[float64]reg.VecVirtual // constants that sit in registers in the current function
	table []float64                  // constants in memory, one vector each
}

var (
	avx2   = &isa{name: "AVX2", bytes: 32, regs: 16}
	avx512 = &isa{name: "AVX512", bytes: 64, regs: 32}
)

// vec gives a fresh vector register.
func (v *isa) vec() reg.VecVirtual {
	if v.bytes == 64 {
		return ZMM()
	}
	return YMM()
}

// lanes is the number of vectors in a group of 16 channels.
func (v *isa) lanes() int { return 64 / v.bytes }

func (v *isa) constants() string { return "constants" + v.part + v.name }

// memory gives the place of a constant in the table.
func (v *isa) memory(c float64) Mem {
	i := slices.Index(v.table, c)
	if i < 0 {
		i = len(v.table)
		v.table = append(v.table, c)
	}
	return NewDataAddr(NewStaticSymbol(v.constants()), i*v.bytes)
}

// constant gives an operand that holds c in every lane.
func (v *isa) constant(c float64) Op {
	if v.dry {
		v.uses[c]++
		return nil
	}
	if r, ok := v.held[c]; ok {
		return r
	}
	return v.memory(c)
}

// hold counts the constants that f uses and loads those used most into at most n registers.
func (v *isa) hold(n int, f func()) {
	v.dry, v.uses = true, map[float64]int{}
	f()
	v.dry, v.held = false, map[float64]reg.VecVirtual{}
	var order []float64
	for c := range v.uses {
		order = append(order, c)
	}
	slices.SortFunc(order, func(a, b float64) int {
		if v.uses[a] != v.uses[b] {
			return v.uses[b] - v.uses[a]
		}
		if a < b {
			return -1
		}
		return 1
	})
	for _, c := range order[:min(max(n, 0), len(order))] {
		r := v.vec()
		VMOVUPS(v.memory(c), r)
		v.held[c] = r
	}
}

// writeConstants emits the table, after all functions.
func (v *isa) writeConstants() {
	if len(v.table) == 0 {
		return
	}
	GLOBL(v.constants(), rodata)
	for i, c := range v.table {
		for j := range v.bytes / 4 {
			DATA(i*v.bytes+j*4, U32(math.Float32bits(float32(c))))
		}
	}
}

// zero clears a register (VXORPS of 64 bytes belongs to AVX512DQ).
func (v *isa) zero(r reg.VecVirtual) { VXORPS(r, r, r) }

func (v *isa) mov(src Op, dst reg.Register) {
	if !v.dry {
		VMOVUPS(src, dst)
	}
}

// add is dst = a + b, sub is dst = a - b, mul is dst = a * b; b may be memory, in sub it is a register.
func (v *isa) add(a reg.Register, b Op, dst reg.Register) {
	if !v.dry {
		VADDPS(b, a, dst)
	}
}

func (v *isa) sub(a reg.Register, b Op, dst reg.Register) {
	if !v.dry {
		VSUBPS(b, a, dst)
	}
}

func (v *isa) mul(a reg.Register, c Op, dst reg.Register) {
	if !v.dry {
		VMULPS(c, a, dst)
	}
}

// fma is acc += c*a, fnma is acc -= c*a, fmsub is acc = c*a - acc; c may be memory.
func (v *isa) fma(c Op, a, acc reg.Register) {
	if !v.dry {
		VFMADD231PS(c, a, acc)
	}
}

func (v *isa) fnma(c Op, a, acc reg.Register) {
	if !v.dry {
		VFNMADD231PS(c, a, acc)
	}
}

func (v *isa) fmsub(c Op, a, acc reg.Register) {
	if !v.dry {
		VFMSUB231PS(c, a, acc)
	}
}

// at is base+disp.
func at(base reg.Register, disp int) Mem { return Mem{Base: base, Disp: disp} }

// strides addresses base + i*stride for i from 0 to 9 with few registers.
type strides map[int]reg.Register

// newStrides computes the odd multiples of stride that indices below n need.
func newStrides(stride reg.Register, n int) strides {
	s := strides{1: stride}
	for _, odd := range []int{3, 5, 7, 9} {
		if odd < n {
			r := GP64()
			LEAQ(Mem{Base: s[odd-2], Index: stride, Scale: 2}, r)
			s[odd] = r
		}
	}
	return s
}

func (s strides) at(base reg.Register, i int) Mem {
	if i == 0 {
		return at(base, 0)
	}
	scale := uint8(1)
	for i%2 == 0 && scale < 8 {
		i, scale = i/2, scale*2
	}
	r, ok := s[i]
	if !ok {
		panic(fmt.Sprintf("no register for stride %d", i))
	}
	return Mem{Base: base, Index: r, Scale: scale}
}

// loop emits body n times as a loop, n in a register that it counts down.
func loop(label string, n reg.Register, body func()) {
	Label(label)
	body()
	DECQ(n)
	JNZ(LabelRef(label))
}
