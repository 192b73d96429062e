package dataset

import "unsafe"

// arena hands out slices that lie one behind the other in chunks. A chunk is freed
// when nothing points into it any more, so it suits values that go in the order in
// which they came, as a window's games do: allocated one by one, these would lie
// among what is soon thrown away, and leave holes of every age that no game fits in.
type arena[T any] struct {
	chunk []T // what is left of the newest one
}

// chunkBytes is the size of a chunk.
const chunkBytes = 64 << 10

// take returns n zero elements with no room behind them.
func (a *arena[T]) take(n int) []T {
	if n > len(a.chunk) {
		var t T
		size := chunkBytes / int(unsafe.Sizeof(t))
		if n > size/4 { // its own, so that little of a chunk stays empty
			return make([]T, n)
		}
		a.chunk = make([]T, size)
	}
	s := a.chunk[:n:n]
	a.chunk = a.chunk[n:]
	return s
}

// keep returns a copy of s.
func (a *arena[T]) keep(s []T) []T {
	c := a.take(len(s))
	copy(c, s)
	return c
}
