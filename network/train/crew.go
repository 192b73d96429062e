package train

import (
	"runtime"
	"sync"
	"sync/atomic"

	"kirin/network/kernel"
)

// crew cuts a batch into a fixed number of slices and computes them on the
// cores. Each worker has scratch memory of its own, each slice a place for its
// own gradients.
type crew struct {
	set     *kernel.Set
	slices  int
	n       int         // images of the batch that is being computed
	scratch [][]float32 // by worker
	partial [][]float32 // by slice: gradients of one operation's parameters
	account func(work func())
}

func newCrew(set *kernel.Set, slices int) *crew {
	return &crew{set: set, slices: slices, scratch: make([][]float32, min(slices, runtime.NumCPU())), partial: make([][]float32, slices)}
}

// needs makes sure that there is scratch memory for an operation.
func (c *crew) needs(scratch, parameters int) {
	for i := range c.scratch {
		if len(c.scratch[i]) < scratch {
			c.scratch[i] = kernel.Alloc(scratch)
		}
	}
	for i := range c.partial {
		if len(c.partial[i]) < parameters {
			c.partial[i] = kernel.Alloc(parameters)
		}
	}
}

// each calls f for every slice that holds images, first to end-1, on as many
// goroutines as there are cores to use.
func (c *crew) each(f func(slice int, scratch []float32, first, end int)) {
	c.all(c.slices, func(i int, scratch []float32) {
		if first, end := c.n*i/c.slices, c.n*(i+1)/c.slices; first < end {
			f(i, scratch, first, end)
		}
	})
}

// all calls f for 0 to count-1.
func (c *crew) all(count int, f func(i int, scratch []float32)) {
	workers := min(count, len(c.scratch), runtime.GOMAXPROCS(0))
	var next atomic.Int64
	var wait sync.WaitGroup
	compute := func(scratch []float32) {
		for i := int(next.Add(1)) - 1; i < count; i = int(next.Add(1)) - 1 {
			f(i, scratch)
		}
	}
	work := compute
	if c.account != nil {
		work = func(scratch []float32) { c.account(func() { compute(scratch) }) }
	}
	for w := 1; w < workers; w++ {
		wait.Go(func() { work(c.scratch[w]) })
	}
	work(c.scratch[0])
	wait.Wait()
}

// sumSpan is how many numbers one task of sum adds.
const sumSpan = 1 << 14

// sum adds the slices' gradients of an operation to grad, in order of the
// slices.
func (c *crew) sum(grad []float32) {
	var parts [][]float32
	for i := range c.slices {
		if c.n*i/c.slices < c.n*(i+1)/c.slices {
			parts = append(parts, c.partial[i])
		}
	}
	c.all((len(grad)+sumSpan-1)/sumSpan, func(i int, _ []float32) {
		first, end := i*sumSpan, min((i+1)*sumSpan, len(grad))
		spans := make([][]float32, len(parts))
		for j := range parts {
			spans[j] = parts[j][first:end]
		}
		c.set.SumSlices(grad[first:end], spans)
	})
}
