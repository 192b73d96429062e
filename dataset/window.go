package dataset

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"kirin/rules"
)

// Window holds the games from which a trainer samples: the newest ones, as many positions as its growth law and its
// memory allow. It is a function of the games added to it and their order, and of nothing else. Not for concurrent use.
//
// The growth law is that of KataGo (Wu, Accelerating Self-Play Learning in Go, 2019, section on training): of n
// positions ever added the newest
//
//	size(n) = c (1 + beta ((n/c)^alpha - 1) / alpha)     for n > c, all n before
//
// stay, so that at first the window grows by a share beta of what is added, and by less and less later. c is
// MinPositions, alpha Exponent, beta Scale. The oldest game leaves when the others alone have that many positions.
//
// A sixteenth of MaxBytes is taken at the start and given to the games as they come: what a run needs in its first hours
// is seen in its first minute, and a machine that has too little says so before anything is learned.
type Window struct {
	v *rules.Variant
	o WindowOptions

	games   []*CompactGame // games[head:] are in the window, oldest first
	ends    []int64        // ends[i]: positions of games[:i+1], on top of base
	head    int
	base    int64 // positions that left the slices
	bytes   int64
	reserve [][]byte        // blocks of reserveBlock bytes that the games have not needed yet
	added   int64           // positions ever
	known   map[ID]struct{} // in the window, or among left
	left    []ID            // ring of the games that left last
	leftAt  int
	starts  map[string]*rules.Position
	pos     *rules.Position
	scratch compactScratch
	repeats repeats
}

// NewWindow returns an empty window for games of v.
func NewWindow(v *rules.Variant, o WindowOptions) (*Window, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	w := &Window{v: v, o: o, known: make(map[ID]struct{}, maxLeft), left: make([]ID, 0, maxLeft), starts: map[string]*rules.Position{}, pos: v.Start(),
		repeats: repeats{count: map[uint64]int32{}}}
	for range o.reserved() / reserveBlock {
		block := make([]byte, reserveBlock)
		for i := 0; i < len(block); i += 4096 { // without a write the system gives no memory
			block[i] = 1
		}
		w.reserve = append(w.reserve, block)
	}
	return w, nil
}

// reserveBlock is how much of the reserve is given up at a time.
const reserveBlock = 128 << 10

// reserved is the memory that a window takes at its start.
func (o WindowOptions) reserved() int64 { return int64(o.MaxBytes) / 16 }

// Add puts a game into the window; false if it was added before. The game is replayed: an illegal one or one with a
// wrong result is refused with ErrDamaged, one of another variant or other rules with ErrWrongGame. Games without a
// policy target count as added but take no place.
func (w *Window) Add(g *Game) (bool, error) {
	if _, ok := w.known[g.ID]; ok {
		return false, nil
	}
	c, err := w.compact(g)
	if err != nil {
		return false, err
	}
	w.known[g.ID] = struct{}{}
	if len(c.samples) == 0 {
		w.forget(g.ID)
		return true, nil
	}
	w.insert(c)
	w.trim()
	return true, nil
}

func (w *Window) compact(g *Game) (*CompactGame, error) {
	if g.Variant != w.v.Name() || g.Rules != w.v.Rules() {
		return nil, fmt.Errorf("%w: %s (%s) instead of %s (%s)", ErrWrongGame, g.Variant, g.Rules, w.v.Name(), w.v.Rules())
	}
	own := false
	start := w.starts[g.Start]
	if start == nil {
		var err error
		if start, err = w.v.ParseSFEN(g.Start); err != nil {
			return nil, damaged("game %v: start position: %v", g.ID, err)
		}
		own = len(w.starts) >= maxStarts
		if !own {
			w.starts[g.Start] = start
		}
	}
	c, err := compact(g, start, w.pos, &w.scratch)
	if err != nil {
		return nil, fmt.Errorf("game %v: %w", g.ID, err)
	}
	c.ownStart = own
	return c, nil
}

const (
	maxStarts = 1 << 8  // start positions shared between games; a game with another one keeps its own
	maxLeft   = 1 << 15 // games that left the window whose ids are remembered
)

func (w *Window) insert(c *CompactGame) {
	n := int64(len(c.samples))
	end := w.base
	if len(w.ends) > 0 {
		end = w.ends[len(w.ends)-1]
	}
	w.games = append(w.games, c)
	w.ends = append(w.ends, end+n)
	w.repeats.add(c.keys)
	w.bytes += c.bytes() + perGame
	w.added += n
	for n := len(w.reserve) - 1; n >= 0 && int64(n)*reserveBlock+w.bytes >= w.o.reserved(); n-- {
		w.reserve[n] = nil
		w.reserve = w.reserve[:n]
	}
}

// perGame is what the window itself keeps for a game: pointer, end and an entry of known.
const perGame = 8 + 8 + 48

// trim drops the oldest games as far as the bounds ask for.
func (w *Window) trim() {
	size := w.o.Size(w.added)
	for w.head < len(w.games)-1 {
		oldest := w.games[w.head]
		if w.Positions()-int64(len(oldest.samples)) < size && w.bytes <= int64(w.o.MaxBytes) {
			break
		}
		w.repeats.remove(oldest.keys)
		w.bytes -= oldest.bytes() + perGame
		w.forget(oldest.id)
		w.games[w.head] = nil
		w.head++
	}
	if w.head > 1024 && w.head > len(w.games)/2 {
		w.base = w.ends[w.head-1]
		w.games = append(w.games[:0], w.games[w.head:]...)
		clear(w.games[len(w.games):cap(w.games)])
		w.ends = append(w.ends[:0], w.ends[w.head:]...)
		w.head = 0
	}
}

// forget notes that a game is known but not in the window. Of the games known longest the ids are given up.
func (w *Window) forget(id ID) {
	if len(w.left) < maxLeft {
		w.left = append(w.left, id)
		return
	}
	delete(w.known, w.left[w.leftAt])
	w.left[w.leftAt] = id
	w.leftAt = (w.leftAt + 1) % maxLeft
}

// Size returns the number of positions that the growth law allows after n positions have been added.
func (o WindowOptions) Size(n int64) int64 {
	c := float64(o.MinPositions)
	if n <= o.MinPositions {
		return n
	}
	return int64(c * (1 + o.Scale*(math.Pow(float64(n)/c, o.Exponent)-1)/o.Exponent))
}

// first returns the number of positions that left the window.
func (w *Window) first() int64 {
	if w.head > 0 {
		return w.ends[w.head-1]
	}
	return w.base
}

// Positions returns the number of positions in the window.
func (w *Window) Positions() int64 {
	if len(w.ends) == 0 {
		return 0
	}
	return w.ends[len(w.ends)-1] - w.first()
}

// Games returns the number of games in the window.
func (w *Window) Games() int { return len(w.games) - w.head }

// Game returns the i-th game in the window, the oldest first.
func (w *Window) Game(i int) *CompactGame { return w.games[w.head+i] }

// Bytes returns the memory that the window's games take.
func (w *Window) Bytes() int64 { return w.bytes }

// Added returns the number of positions ever added.
func (w *Window) Added() int64 { return w.added }

// ErrEmpty: nothing to sample from.
var ErrEmpty = errors.New("the window holds no positions yet")

// Sample fills dst with positions drawn uniformly, with replacement, from all positions in the window.
func (w *Window) Sample(rng *rand.Rand, dst []Sample) error {
	n := w.Positions()
	if n == 0 {
		return ErrEmpty
	}
	first := w.first()
	for i := range dst {
		dst[i] = w.at(first + rng.Int64N(n))
	}
	return nil
}

// at returns the sample with a number counted over all positions ever inserted.
func (w *Window) at(k int64) Sample {
	lo, hi := w.head, len(w.ends)-1
	for lo < hi { // the first game that ends behind k
		mid := (lo + hi) / 2
		if w.ends[mid] > k {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	c := w.games[lo]
	return c.Position(int(k - (w.ends[lo] - int64(len(c.samples)))))
}
