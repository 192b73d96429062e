package main

import (
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// memoryStep is the unit in which a process that plays or trains takes memory.
const memoryStep = 64 << 20

// memoryBudget is how much memory the Go runtime should use when so many bytes
// live: a part more, so that the collector seldom runs, in whole steps. Most of
// what lives are nets and buffers of fixed size, so a process reaches its budget
// within minutes and stays there; what slowly grows beside them, like the window
// of games, is seen when it fills a step.
func memoryBudget(live uint64) int64 {
	want := int64(live) + int64(live)/8 + 32<<20
	return (want + memoryStep - 1) / memoryStep * memoryStep
}

// holdMemory keeps the process at its budget from now on.
var holdMemory = sync.OnceFunc(func() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	budget := int64(0)
	look := func() {
		metrics.Read(live)
		if b := memoryBudget(live[0].Value.Uint64()); b > budget {
			budget = b
			debug.SetMemoryLimit(budget)
		}
	}
	look()
	// The limit alone says when the collector runs, unless hardly anything lives.
	debug.SetGCPercent(200)
	go func() {
		for range time.Tick(time.Second) {
			look()
		}
	}()
})
