// Package eval asks a net about positions in batches.
//
// An [Evaluator] encodes each position when it is added, and runs the net over
// all of them when it is flushed:
//
//	e := eval.New(net, 64)
//	e.Add(p, moves, logits, &value)   // p and moves may change afterwards
//	err := e.Flush()                  // logits and value are filled now
//
// What a position is answered depends on the position alone: not on the others
// in the batch, and not on the cache of recent answers that is kept, since a
// net gives a position the same bits every time. The cache pays
// because a search that does not keep its tree meets much of it again after the
// move.
//
// An Evaluator is used by one goroutine. Nothing is allocated once its memory
// has grown to the largest position and batch.
package eval

import (
	"fmt"
	"math"

	"kirin/network"
	"kirin/network/encode"
	"kirin/rules"
)

// CacheSize is the number of answers that an Evaluator remembers at most. It
// has room for the logits of that many positions with meanMoves moves each; the
// oldest are overwritten first.
const CacheSize = 1 << cacheBits

const (
	cacheBits = 13
	meanMoves = 48
)

// Evaluator batches positions for a net.
type Evaluator struct {
	net     *network.Net
	loads   uint64       // of net
	form    network.Form // of scratch
	scratch *network.Scratch
	enc     *encode.Encoder
	request network.Request
	waiting []waiting
	recent  *recent
	salt    uint64 // of the keys of this net's answers in recent
	fault   error

	evaluated, hits uint64
}

// recent holds the last answers of all nets that one goroutine asks.
type recent struct {
	answers []answer
	ring    []float32 // the logits of the answers, one behind the other
	written uint64    // logits ever written to ring
	nets    uint64    // that were asked, a net given anew counted again
}

// waiting is a position without an answer yet.
type waiting struct {
	logits []float32
	value  *rules.Value
	plies  *float32 // nil: not asked for
	key    uint64
}

// answer is what a net said about a position.
type answer struct {
	key   uint64 // of position, moves and net; 0: none
	at    uint64 // of its logits, counted over all ever written to the ring
	n     int32  // number of logits
	value rules.Value
	plies float32
}

// New returns an evaluator that runs batches of at most maxBatch positions.
func New(net *network.Net, maxBatch int) *Evaluator { return beside(nil, net, maxBatch) }

// Beside returns another evaluator for the goroutine that uses e, for batches of
// the same size. The two share the memory of the net's forward pass and that of
// the recent answers: how many nets a goroutine asks at a time makes little
// difference to its memory.
func (e *Evaluator) Beside(net *network.Net) *Evaluator { return beside(e, net, cap(e.waiting)) }

func beside(other *Evaluator, net *network.Net, maxBatch int) *Evaluator {
	n := max(1, maxBatch)
	e := &Evaluator{waiting: make([]waiting, 0, n)}
	e.request.Offsets = make([]int32, n+1)
	e.request.Values = make([]rules.Value, n)
	e.request.Plies = make([]float32, n)
	if other != nil {
		e.form, e.scratch, e.recent = other.form, other.scratch, other.recent
	} else {
		e.recent = &recent{answers: make([]answer, CacheSize), ring: make([]float32, CacheSize*meanMoves)}
	}
	e.SetNet(net)
	return e
}

// SetNet changes the net for all positions added from now on. It must not be
// called between Add and Flush. What the net answered before is forgotten.
func (e *Evaluator) SetNet(net *network.Net) {
	if e.net == net && e.loads == net.Loads() {
		return
	}
	if e.form != net.Form() {
		e.scratch, e.form = network.NewScratch(net), net.Form()
		e.enc = nil
	}
	e.net, e.loads = net, net.Loads()
	e.recent.nets++
	e.salt = e.recent.nets * 0x9e3779b97f4a7c15
}

// Forget lets go of the net, so that its memory can be used for another one. The
// evaluator answers nothing until SetNet.
func (e *Evaluator) Forget() { e.net = nil }

// Evaluated returns how many positions the net has answered, those from the
// cache not counted.
func (e *Evaluator) Evaluated() uint64 { return e.evaluated }

// Hits returns how many positions the cache has answered.
func (e *Evaluator) Hits() uint64 { return e.hits }

// Add registers one position and its legal moves, which are read before it
// returns. logits, one for each move in the same order, and v are written by
// the end of the next Flush.
func (e *Evaluator) Add(p *rules.Position, moves []rules.Move, logits []float32, v *rules.Value) {
	e.AddPlies(p, moves, logits, v, nil)
}

// AddPlies is Add; plies, if not nil, gets the net's estimate of the plies left in
// the game.
func (e *Evaluator) AddPlies(p *rules.Position, moves []rules.Move, logits []float32, v *rules.Value, plies *float32) {
	if !e.fits(p) {
		return
	}
	key := e.key(p, moves)
	if a := e.recent.slot(key); a.key == key && e.recent.recall(a, logits[:len(moves)]) {
		*v = a.value
		if plies != nil {
			*plies = a.plies
		}
		e.hits++
		return
	}
	if len(e.waiting) == cap(e.waiting) {
		e.run()
	}
	r := &e.request
	at := len(e.waiting) * e.enc.Size()
	e.enc.Encode(p, r.Planes[at:at+e.enc.Size()])
	for _, m := range moves {
		r.Index = append(r.Index, int32(e.enc.Index(p, m)))
	}
	e.waiting = append(e.waiting, waiting{logits[:len(moves)], v, plies, key})
	r.Offsets[len(e.waiting)] = int32(len(r.Index))
}

// Flush answers all positions added since the last one. An error says that a
// position was of a game that the net does not play, or that the net's answer
// was not finite; the answers are not usable then.
func (e *Evaluator) Flush() error {
	if len(e.waiting) > 0 {
		e.run()
	}
	err := e.fault
	e.fault = nil
	return err
}

// fits makes sure that there is an encoder for the position's game and that
// the net fits it.
func (e *Evaluator) fits(p *rules.Position) bool {
	if v := p.Variant(); e.enc == nil || e.enc.Variant() != v {
		enc, err := encode.New(v)
		if err == nil && network.NewForm(e.net.Form().Spec, enc) != e.net.Form() {
			err = fmt.Errorf("a position of %s, but the net plays %s", v.Name(), e.net.Meta().Variant)
		}
		if err != nil {
			e.fault = fmt.Errorf("eval: %w", err)
			return false
		}
		if len(e.waiting) > 0 {
			e.run()
		}
		e.enc = enc
		if n := cap(e.waiting) * enc.Size(); len(e.request.Planes) < n {
			e.request.Planes = make([]float32, n)
		}
	}
	return true
}

// run lets the net answer what is waiting.
func (e *Evaluator) run() {
	r := &e.request
	r.N = len(e.waiting)
	if cap(r.Logits) < len(r.Index) {
		r.Logits = make([]float32, 2*len(r.Index))
	}
	r.Logits = r.Logits[:len(r.Index)]
	e.net.Forward(e.scratch, r)
	for i, w := range e.waiting {
		logits, value := r.Logits[r.Offsets[i]:r.Offsets[i+1]], r.Values[i]
		good := finite(logits, value)
		if !good {
			e.fault = fmt.Errorf("eval: the net's answer is not finite (net of step %d)", e.net.Meta().Step)
		}
		copy(w.logits, logits)
		*w.value = value
		if w.plies != nil {
			*w.plies = r.Plies[i]
		}
		if good { // else it is an error whenever it is asked for
			*e.recent.slot(w.key) = answer{w.key, e.recent.keep(logits), int32(len(logits)), value, r.Plies[i]}
		}
		e.waiting[i] = waiting{}
	}
	e.evaluated += uint64(r.N)
	e.waiting, r.Index = e.waiting[:0], r.Index[:0]
}

// finite tells whether all numbers of an answer are finite.
func finite(logits []float32, v rules.Value) bool {
	sum := v.Win + v.Draw + v.Loss
	for _, x := range logits {
		sum += x - x // 0, or NaN
	}
	return !math.IsNaN(float64(sum)) && !math.IsInf(float64(sum), 0)
}

// keep writes logits to the ring, over the oldest ones, and returns where they
// are. An answer that does not fit at the end of the ring goes to its beginning.
func (c *recent) keep(logits []float32) uint64 {
	size, n := uint64(len(c.ring)), uint64(len(logits))
	if n > size {
		return 0 // too old at once, or soon
	}
	if rest := size - c.written%size; n > rest {
		c.written += rest
	}
	at := c.written
	copy(c.ring[at%size:], logits)
	c.written += n
	return at
}

// recall copies an answer's logits unless they are of another number, or were
// overwritten since.
func (c *recent) recall(a *answer, logits []float32) bool {
	size := uint64(len(c.ring))
	if int(a.n) != len(logits) || c.written-a.at > size || len(logits) > len(c.ring) {
		return false
	}
	copy(logits, c.ring[a.at%size:])
	return true
}

func (c *recent) slot(key uint64) *answer { return &c.answers[key>>(64-cacheBits)] }

// key identifies everything that an answer depends on: the net, the position
// with its history and the moves that are asked for. It is never 0.
func (e *Evaluator) key(p *rules.Position, moves []rules.Move) uint64 {
	h := rules.AddMoves(p.CacheKey(), moves)
	h = (h ^ e.salt) * 0x9e3779b97f4a7c15
	return max(h^h>>29, 1)
}
