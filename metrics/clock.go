package metrics

import (
	"runtime"
	"time"
)

// Clock accounts the CPU time of one goroutine to the parts of the work. The
// goroutine that makes it stays on its operating system thread until Stop, so
// that the thread's CPU time is its own. Where the system does not tell the
// CPU time of a thread (only Linux does here), wall time stands in for it,
// which is the same for a goroutine that computes on a core of its own.
//
// Enter takes about a microsecond and does not allocate: switch parts once
// a batch, not once a node.
//
//	clock := m.Clock(metrics.PartSearch)
//	defer clock.Stop()
//	for {
//		... walk the trees
//		clock.Enter(metrics.PartNetwork)
//		... evaluate the batch
//		clock.Enter(metrics.PartSearch)
//	}
type Clock struct {
	metrics *Metrics
	part    Part
	last    float64
	read    func() float64
}

// Clock starts to account the calling goroutine's CPU time to a part.
func (m *Metrics) Clock(p Part) *Clock {
	runtime.LockOSThread()
	return &Clock{metrics: m, part: p, last: threadSeconds(), read: threadSeconds}
}

// Enter accounts the time since the last call to the part that was current
// and makes p the current part.
func (c *Clock) Enter(p Part) {
	now := c.read()
	c.metrics.Spend(c.part, time.Duration((now-c.last)*float64(time.Second)))
	c.last, c.part = now, p
}

// Stop accounts the rest and lets the goroutine leave its thread. Only the
// goroutine that made the clock may call it, once.
func (c *Clock) Stop() {
	c.Enter(c.part)
	runtime.UnlockOSThread()
}

// ThreadSeconds is the CPU time of the calling thread; lock the goroutine to its
// thread to compare two readings. Where the system does not tell it, wall time
// stands in.
func ThreadSeconds() float64 { return threadSeconds() }

// ProcessSeconds is the CPU time of all threads of the program. Where the system
// does not tell it, wall time stands in.
func ProcessSeconds() float64 { return processSeconds() }
