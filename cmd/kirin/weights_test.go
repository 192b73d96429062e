package main

import (
	"slices"
	"testing"
)

func TestNetsThatStayAreSpreadEvenlyOverTheRun(t *testing.T) {
	const keep = 40
	var all []int
	for step := 0; step <= 100_000; step += 100 {
		all = append(all, step)
		for _, gone := range thinned(all, keep) {
			i := slices.Index(all, gone)
			if i < 1 || i >= len(all)-keep/4 {
				t.Fatalf("step %d: net %d of %d goes", step, i, len(all))
			}
			all = slices.Delete(all, i, i+1)
		}
	}
	if len(all) != keep || all[0] != 0 || all[keep-1] != 100_000 || all[keep-10] != 99_100 {
		t.Fatalf("%d nets: %v", len(all), all)
	}
	for i := 1; i < keep-keep/4; i++ { // 99000 steps among 30 nets
		if gap := all[i] - all[i-1]; gap > 7000 {
			t.Errorf("nothing between step %d and %d", all[i-1], all[i])
		}
	}
	for _, c := range []struct{ have, keep, gone int }{{3, 2, 1}, {2, 2, 0}, {1, 2, 0}, {0, 2, 0}, {5, 3, 2}} {
		if gone := thinned([]int{0, 10, 20, 30, 40}[:c.have], c.keep); len(gone) != c.gone || slices.Contains(gone, 0) || c.have > 0 && slices.Contains(gone, 10*(c.have-1)) {
			t.Errorf("%+v: %v go", c, gone)
		}
	}
}
