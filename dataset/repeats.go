package dataset

// repeats counts how many positions occur more than once among those of a window. It looks only at positions whose key
// has zero for its lowest bits, and at all occurrences of those: so its share is an unbiased estimate of that of all
// positions, for a part of the memory.
type repeats struct {
	count    map[uint64]int32
	all      int64 // occurrences looked at
	repeated int64 // those of positions with more than one
}

// looksAt tells whether positions with this key are counted: one in sixteen.
func (repeats) looksAt(key uint64) bool { return key&15 == 0 }

// bytesPerKey is about the memory of a key: its place in the game and its entry in the map.
const bytesPerKey = 8 + 32

func (r *repeats) add(keys []uint64) {
	for _, k := range keys {
		r.count[k]++
		r.all++
		switch n := r.count[k]; {
		case n == 2:
			r.repeated += 2
		case n > 2:
			r.repeated++
		}
	}
}

func (r *repeats) remove(keys []uint64) {
	for _, k := range keys {
		r.count[k]--
		r.all--
		switch n := r.count[k]; {
		case n == 0:
			delete(r.count, k)
		case n == 1:
			r.repeated -= 2
		default:
			r.repeated--
		}
	}
}

// Repeated returns the share of the window's positions that occur in it more than once, in the same game or in several;
// it is an estimate over a sixteenth of all positions.
func (w *Window) Repeated() float64 {
	if w.repeats.all == 0 {
		return 0
	}
	return float64(w.repeats.repeated) / float64(w.repeats.all)
}
