package rules

import "math/bits"

// maxSquares is the size of the largest board, 12x12.
const maxSquares = 144

// set is a set of squares: square s is bit s%64 of word s/64. A struct of words, not an array, so that the compiler keeps
// it in registers; words beyond the board are zero.
type set struct{ a, b, c uint64 }

func single(s Square) set {
	switch s >> 6 {
	case 0:
		return set{a: 1 << (s & 63)}
	case 1:
		return set{b: 1 << (s & 63)}
	}
	return set{c: 1 << (s & 63)}
}

func (x set) or(y set) set     { return set{x.a | y.a, x.b | y.b, x.c | y.c} }
func (x set) and(y set) set    { return set{x.a & y.a, x.b & y.b, x.c & y.c} }
func (x set) xor(y set) set    { return set{x.a ^ y.a, x.b ^ y.b, x.c ^ y.c} }
func (x set) andNot(y set) set { return set{x.a &^ y.a, x.b &^ y.b, x.c &^ y.c} }
func (x set) empty() bool      { return x.a|x.b|x.c == 0 }

func (x set) has(s Square) bool {
	switch s >> 6 {
	case 0:
		return x.a>>(s&63)&1 != 0
	case 1:
		return x.b>>(s&63)&1 != 0
	}
	return x.c>>(s&63)&1 != 0
}

func (x set) count() int {
	n := bits.OnesCount64(x.a)
	if x.b|x.c != 0 {
		n += bits.OnesCount64(x.b) + bits.OnesCount64(x.c)
	}
	return n
}

// single tells whether the set has at most one square.
func (x set) atMostOne() bool {
	if x.b|x.c == 0 {
		return x.a&(x.a-1) == 0
	}
	return x.count() <= 1
}

// first returns the lowest square; the set must not be empty.
func (x set) first() Square {
	if x.a != 0 {
		return Square(bits.TrailingZeros64(x.a))
	}
	if x.b != 0 {
		return Square(64 + bits.TrailingZeros64(x.b))
	}
	return Square(128 + bits.TrailingZeros64(x.c))
}

// last returns the highest square; the set must not be empty.
func (x set) last() Square {
	if x.c != 0 {
		return Square(191 - bits.LeadingZeros64(x.c))
	}
	if x.b != 0 {
		return Square(127 - bits.LeadingZeros64(x.b))
	}
	return Square(63 - bits.LeadingZeros64(x.a))
}

// rest returns the set without its lowest square.
func (x set) rest() set {
	if x.a != 0 {
		x.a &= x.a - 1
	} else if x.b != 0 {
		x.b &= x.b - 1
	} else {
		x.c &= x.c - 1
	}
	return x
}
