package kernel

// Peak runs a loop of n rounds of independent multiply-adds that touches no memory, and returns how many floating-point
// operations it did: divided by the time, what one core of this machine can do at most with this set.
func (s *Set) Peak(n int) int { return s.peak(n) }
