package metrics

import (
	"math"
	"sync"
	"testing"
	"time"
)

func cpuSeconds(t *testing.T, m *Metrics, p Part) float64 {
	t.Helper()
	values, err := m.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return values[`kirin_cpu_seconds_total{part="`+p.String()+`"}`]
}

func TestAClockAccountsTimeToThePartThatWasCurrent(t *testing.T) {
	m := New()
	now := 10.0
	c := m.Clock(PartSearch)
	c.read, c.last = func() float64 { return now }, now
	now += 2
	c.Enter(PartNetwork)
	now += 3
	c.Enter(PartSearch)
	now += 0.5
	c.Enter(PartStorage)
	now -= 1 // a clock that steps back counts nothing
	c.Enter(PartStorage)
	now += 4
	c.Stop()
	m.Spend(PartRating, time.Hour)
	if got := m.Spent(); got != 9500*time.Millisecond {
		t.Errorf("%v in all without rating games, want 9.5s", got)
	}
	for p, want := range map[Part]float64{PartSearch: 2.5, PartNetwork: 3, PartStorage: 4, PartTrain: 0} {
		if got := cpuSeconds(t, m, p); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %g s, want %g", p, got, want)
		}
	}
}

func TestClocksOfBusyGoroutinesAddUp(t *testing.T) {
	m := New()
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			c := m.Clock(PartTrain)
			defer c.Stop()
			x := 1.0
			for start := time.Now(); time.Since(start) < 50*time.Millisecond; {
				for range 10000 {
					x = x*1.0000001 + 1e-9
				}
				c.Enter(PartTrain)
			}
			if x < 0 {
				t.Error("never")
			}
		})
	}
	wg.Wait()
	if got := cpuSeconds(t, m, PartTrain); got < 0.01 || got > 0.5 {
		t.Errorf("two goroutines of 50 ms took %g CPU seconds", got)
	}
}

func TestEnteringAPartDoesNotAllocate(t *testing.T) {
	m := New()
	c := m.Clock(PartSearch)
	defer c.Stop()
	if n := testing.AllocsPerRun(100, func() { c.Enter(PartNetwork); c.Enter(PartSearch) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func TestCountingInTheLoopDoesNotAllocate(t *testing.T) {
	m := New()
	if n := testing.AllocsPerRun(100, func() {
		m.Selfplay.Plies.Inc()
		m.Search.Simulations.Add(16)
		m.Selfplay.NetStep.Set(3)
		m.Working("train")
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func BenchmarkEnteringAPart(b *testing.B) {
	c := New().Clock(PartSearch)
	defer c.Stop()
	for b.Loop() {
		c.Enter(PartNetwork)
	}
}
