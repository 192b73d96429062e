package mcts

import (
	"math/bits"
	"sync"

	"kirin/rules"
)

// Cache remembers an evaluator's answers, so that a position that the tree reaches
// by several orders of moves is evaluated once. It is how transpositions are used:
// the nodes stay apart, since their proofs may depend on the path. Positions are
// known by CacheKey and their legal moves. Several threads may share it.
type Cache[G Game] struct {
	mu      sync.Mutex
	entries []cached
	ring    []float32 // logits, the oldest overwritten first
	written uint64    // numbers ever put into ring
}

type cached struct {
	key   uint64
	start uint64 // of the logits, counted like written
	count int32
	value rules.Value
	plies float32 // below 0: nobody asked
}

// NewCache returns a cache of about the given size.
func NewCache[G Game](bytes int64) *Cache[G] {
	const usual = 64 // logits of a position
	n := max(bytes/(32+4*usual), 64)
	n = 1 << (63 - bits.LeadingZeros64(uint64(n)))
	return &Cache[G]{entries: make([]cached, n), ring: make([]float32, n*usual)}
}

// Wrap returns an evaluator for one thread that asks the inner one only what the
// cache does not know.
func (c *Cache[G]) Wrap(inner Evaluator[G]) Evaluator[G] {
	timed, _ := inner.(PliesEvaluator[G])
	return &caching[G]{cache: c, inner: inner, timed: timed}
}

func (c *Cache[G]) find(key uint64, logits []float32, v *rules.Value, plies *float32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := &c.entries[key&uint64(len(c.entries)-1)]
	if e.key != key || int(e.count) != len(logits) || c.written-e.start > uint64(len(c.ring)) || plies != nil && e.plies < 0 {
		return false
	}
	if plies != nil {
		*plies = e.plies
	}
	at := int(e.start % uint64(len(c.ring)))
	n := copy(logits, c.ring[at:])
	copy(logits[n:], c.ring)
	*v = e.value
	return true
}

func (c *Cache[G]) put(key uint64, logits []float32, v rules.Value, plies float32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(logits) > len(c.ring) {
		return
	}
	at := int(c.written % uint64(len(c.ring)))
	n := copy(c.ring[at:], logits)
	copy(c.ring, logits[n:])
	c.entries[key&uint64(len(c.entries)-1)] = cached{key, c.written, int32(len(logits)), v, plies}
	c.written += uint64(len(logits))
}

// caching is one thread's view of a Cache.
type caching[G Game] struct {
	cache *Cache[G]
	inner Evaluator[G]
	timed PliesEvaluator[G] // inner, if it knows the plies left
	due   []due
}

// due is a question that the inner evaluator has not yet answered.
type due struct {
	key    uint64
	logits []float32
	value  *rules.Value
	plies  *float32 // nil: not asked for
}

func (e *caching[G]) Add(g G, moves []rules.Move, logits []float32, v *rules.Value) {
	e.AddPlies(g, moves, logits, v, nil)
}

// AddPlies may be asked for plies only if the inner evaluator knows them.
func (e *caching[G]) AddPlies(g G, moves []rules.Move, logits []float32, v *rules.Value, plies *float32) {
	key := mix(rules.AddMoves(g.CacheKey(), moves))
	if e.cache.find(key, logits, v, plies) {
		return
	}
	if plies != nil {
		e.timed.AddPlies(g, moves, logits, v, plies)
	} else {
		e.inner.Add(g, moves, logits, v)
	}
	e.due = append(e.due, due{key, logits, v, plies})
}

func (e *caching[G]) Flush() error {
	if len(e.due) == 0 {
		return nil
	}
	err := e.inner.Flush()
	for _, d := range e.due {
		if err == nil {
			left := float32(-1)
			if d.plies != nil {
				left = *d.plies
			}
			e.cache.put(d.key, d.logits, *d.value, left)
		}
	}
	e.due = e.due[:0]
	return err
}
