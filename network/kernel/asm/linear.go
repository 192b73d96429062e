package main

import "github.com/mmcloughlin/avo/reg"

// term is one summand, coefficient times register.
type term struct {
	c float64
	r reg.Register
}

// sum adds terms into a register. With a single term of coefficient one it is that register itself: fresh tells
// whether the caller may overwrite the result.
func (v *isa) sum(ts []term) (r reg.Register, fresh bool) {
	var plus, minus, rest []term
	for _, t := range ts {
		switch t.c {
		case 0:
		case 1:
			plus = append(plus, t)
		case -1:
			minus = append(minus, t)
		default:
			rest = append(rest, t)
		}
	}
	if len(plus) == 1 && len(minus) == 0 && len(rest) == 0 {
		return plus[0].r, false
	}
	acc := v.vec()
	switch {
	case len(plus) >= 2:
		v.add(plus[0].r, plus[1].r, acc)
		plus = plus[2:]
	case len(plus) == 1 && len(minus) > 0:
		v.sub(plus[0].r, minus[0].r, acc)
		plus, minus = nil, minus[1:]
	case len(plus) == 1:
		v.mov(plus[0].r, acc)
		plus = nil
	case len(rest) > 0:
		v.mul(rest[0].r, v.constant(rest[0].c), acc)
		rest = rest[1:]
	default:
		v.mul(minus[0].r, v.constant(-1), acc)
		minus = minus[1:]
	}
	for _, t := range plus {
		v.add(acc, t.r, acc)
	}
	for _, t := range minus {
		v.sub(acc, t.r, acc)
	}
	for _, t := range rest {
		if t.c > 0 {
			v.fma(v.constant(t.c), t.r, acc)
		} else {
			v.fnma(v.constant(-t.c), t.r, acc)
		}
	}
	return acc, true
}

// scaled divides terms by the coefficient of the last of them, so that it becomes one.
func scaled(ts []term) (float64, []term) {
	lead := ts[len(ts)-1].c
	o := make([]term, len(ts))
	for i, t := range ts {
		o[i] = term{t.c / lead, t.r}
	}
	return lead, o
}

// apply multiplies the vector in with a and hands each result to out. Pairs of rows, or else pairs of columns, that
// differ by the sign of every other element share their sums. With pairs of columns the results come in order.
func (v *isa) apply(a matrix, in []reg.Register, out func(i int, r reg.Register)) {
	if partner := pairs(a); partner != nil {
		v.applyRowPairs(a, partner, in, out)
		return
	}
	terms := make([][2]term, 0, len(in)) // of even and of odd rows, coefficient unused
	cols := make([]int, 0, len(in))
	partner := pairs(transpose(a))
	for j := range in {
		k, paired := partner[j]
		switch {
		case !paired:
			terms, cols = append(terms, [2]term{{r: in[j]}, {r: in[j]}}), append(cols, j)
		case j < k:
			s, d := v.vec(), v.vec()
			v.add(in[j], in[k], s)
			v.sub(in[j], in[k], d)
			if sameEven(a, j, k) {
				terms = append(terms, [2]term{{r: s}, {r: d}})
			} else {
				terms = append(terms, [2]term{{r: d}, {r: s}})
			}
			cols = append(cols, j)
		}
	}
	for i := range a {
		var ts []term
		for k, j := range cols {
			if a[i][j] != 0 {
				ts = append(ts, term{a[i][j], terms[k][i%2].r})
			}
		}
		r, _ := v.sum(ts)
		out(i, r)
	}
}

// applyRowPairs does the rows of a in pairs: with e the sum over even and o over odd columns, they are e+o and e-o.
func (v *isa) applyRowPairs(a matrix, partner map[int]int, in []reg.Register, out func(i int, r reg.Register)) {
	for i, row := range a {
		k, paired := partner[i]
		if paired && k < i {
			continue
		}
		var all, part [2][]term
		for j, c := range row {
			if c != 0 {
				part[j%2] = append(part[j%2], term{c, in[j]})
			}
		}
		if !paired {
			all[0] = append(part[0], part[1]...)
			r, _ := v.sum(all[0])
			out(i, r)
			continue
		}
		s := 1.0 // sign of the even part in the partner
		for j, c := range row {
			if c != 0 && j%2 == 0 && a[k][j] != c {
				s = -1
			}
		}
		le, te := scaled(part[0])
		lo, to := scaled(part[1])
		e, freshE := v.sum(te)
		o, freshO := v.sum(to)
		first, second := v.vec(), v.vec()
		switch {
		case le == 1 && lo == 1:
			v.add(e, o, first)
			if s > 0 {
				v.sub(e, o, second)
			} else {
				v.sub(o, e, second)
			}
		case lo == 1:
			v.mov(o, first)
			v.mulAdd(le, e, first)
			if freshO {
				second = o.(reg.VecVirtual)
			} else {
				v.mov(o, second)
			}
			if s > 0 {
				v.mulSub(le, e, second) // le*e - o
			} else {
				v.mulAdd(-le, e, second)
			}
		default:
			if le != 1 {
				t := v.vec()
				v.mul(e, v.constant(le), t)
				e, freshE = t, true
			}
			v.mov(e, first)
			v.mulAdd(lo, o, first)
			if freshE {
				second = e.(reg.VecVirtual)
			} else {
				v.mov(e, second)
			}
			if s > 0 {
				v.mulAdd(-lo, o, second)
			} else {
				v.mulSub(lo, o, second) // lo*o - e
			}
		}
		out(i, first)
		out(k, second)
	}
}

// mulAdd is acc += c*r, mulSub is acc = c*r - acc.
func (v *isa) mulAdd(c float64, r, acc reg.Register) {
	if c > 0 {
		v.fma(v.constant(c), r, acc)
	} else {
		v.fnma(v.constant(-c), r, acc)
	}
}

func (v *isa) mulSub(c float64, r, acc reg.Register) { v.fmsub(v.constant(c), r, acc) }

// pairs finds rows of a that differ by the sign of every other element; nil if there are none.
func pairs(a matrix) map[int]int {
	p := map[int]int{}
	for i := range a {
		for k := i + 1; k < len(a); k++ {
			if _, taken := p[i]; !taken && opposite(a[i], a[k]) {
				p[i], p[k] = k, i
			}
		}
	}
	if len(p) == 0 {
		return nil
	}
	return p
}

func opposite(x, y []float64) bool {
	var even, odd bool
	same := [2]bool{true, true}
	flip := [2]bool{true, true}
	for j := range x {
		if x[j] != 0 {
			even, odd = even || j%2 == 0, odd || j%2 == 1
		}
		same[j%2] = same[j%2] && x[j] == y[j]
		flip[j%2] = flip[j%2] && x[j] == -y[j]
	}
	return even && odd && (same[0] && flip[1] || same[1] && flip[0])
}

// sameEven tells whether columns j and k agree in the even rows (and differ in sign in the odd ones).
func sameEven(a matrix, j, k int) bool {
	for i := 0; i < len(a); i += 2 {
		if a[i][j] != 0 {
			return a[i][j] == a[i][k]
		}
	}
	return a[1][j] == -a[1][k]
}
