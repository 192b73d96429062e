package main

import "testing"

func TestTheMemoryBudgetGrowsInSteps(t *testing.T) {
	for live := uint64(0); live < 2<<30; live += 1 << 20 {
		b := memoryBudget(live)
		if least := int64(live) + int64(live)/8 + 32<<20; b%memoryStep != 0 || b < least || b-least >= memoryStep {
			t.Fatalf("%d bytes for %d that live", b, live)
		}
	}
	if b := memoryBudget(165 << 20); b != 256<<20 {
		t.Errorf("%d MiB for a run of minishogi", b>>20)
	}
}
