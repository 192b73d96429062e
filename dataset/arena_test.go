package dataset

import (
	"runtime"
	"testing"
)

func TestSlicesOfAnArenaDoNotTouchAndItsChunksAreFreed(t *testing.T) {
	var a arena[uint32]
	freed := make(chan bool, 1)
	first := a.take(3)
	runtime.AddCleanup(&first[0], func(c chan bool) { c <- true }, freed)
	var all [][]uint32
	for i := range 20000 {
		s := a.take(i % 7)
		for j := range s {
			if s[j] != 0 {
				t.Fatalf("slice %d is not empty", i)
			}
			s[j] = uint32(i)
		}
		if s = append(s, 1<<30); i%7 > 0 { // goes elsewhere
			all = append(all, s[:i%7])
		}
	}
	for _, s := range all {
		for _, x := range s {
			if x != s[0] {
				t.Fatalf("%v", s)
			}
		}
	}
	if large := a.take(chunkBytes); len(large) != chunkBytes {
		t.Errorf("%d elements", len(large))
	}
	if c := a.keep([]uint32{4, 5}); c[0] != 4 || c[1] != 5 {
		t.Errorf("%v", c)
	}
	first, all = nil, nil
	runtime.GC()
	<-freed
}
