package dataset

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"kirin/rules"
)

// CompactGame is a game as the window keeps it: the moves, and for each ply with a policy target the search's answer in
// a few bytes. It is immutable.
type CompactGame struct {
	start     *rules.Position // shared by the games with the same start; read only
	id        ID
	number    int64
	step      int64
	outcome   rules.Outcome
	truncated bool
	ownStart  bool // start is not shared
	moves     []rules.Move
	samples   []sampleRef
	data      []byte
	keys      []uint64 // of the samples' positions, those that repeats looks at
}

// sampleRef tells where the answer for a ply begins in data.
type sampleRef struct {
	ply    uint32
	offset uint32
}

// An answer in data is
//
//	u16  root value: win, in units of 1/65535
//	u16  root value: loss; the draw is the rest. Both 65535: the root was not evaluated
//	u8   flags, low byte
//	uvarint  number of legal moves
//	uvarint  number of entries n
//	n times: uvarint index among the legal moves minus the one before minus 1 (the first: the index), uvarint weight
//
// so that an entry mostly takes three bytes instead of eight.
const answerHeader = 5

// compact replays g on pos, which it overwrites, and packs it. The game is refused if a move or target is illegal, if it
// goes on after its end, or if its result contradicts the board.
func compact(g *Game, start, pos *rules.Position, scratch *compactScratch) (*CompactGame, error) {
	moves, samples, data, keys := scratch.moves[:0], scratch.samples[:0], scratch.data[:0], scratch.keys[:0]
	pos.CopyFrom(start)
	r := &scratch.r
	r.pos, r.v = pos, pos.Variant()
	r.legal = pos.AppendMoves(r.legal[:0])
	for i := range g.Plies {
		p := &g.Plies[i]
		if err := r.over(i); err != nil {
			return nil, err
		}
		if len(p.Target) > 0 {
			samples = append(samples, sampleRef{uint32(i), uint32(len(data))})
			if key := pos.Key(); (repeats{}).looksAt(key) {
				keys = append(keys, key)
			}
			var err error
			if data, err = scratch.appendAnswer(data, p); err != nil {
				return nil, fmt.Errorf("ply %d: %w", i+1, err)
			}
		}
		if r.find(p.Move, 0) < 0 {
			return nil, fmt.Errorf("%w: ply %d: %s: %w", ErrDamaged, i+1, describe(pos, p.Move), rules.ErrIllegalMove)
		}
		moves = append(moves, p.Move)
		r.do(p.Move)
	}
	scratch.moves, scratch.samples, scratch.data, scratch.keys = moves, samples, data, keys
	if err := r.finish(g); err != nil {
		return nil, err
	}
	c := &scratch.gameArena.take(1)[0]
	*c = CompactGame{
		start: start, id: g.ID, number: g.Number, step: g.Step, outcome: g.Outcome, truncated: g.Truncated,
		moves: scratch.moveArena.keep(moves), samples: scratch.sampleArena.keep(samples), data: scratch.dataArena.keep(data), keys: scratch.keyArena.keep(keys),
	}
	return c, nil
}

// checkOutcome compares the result that a game states with what the rules say of its last position.
func checkOutcome(g *Game, board rules.Outcome) error {
	switch g.Outcome.Reason {
	case rules.Resignation, rules.MateProven, rules.Adjudicated, rules.Time, rules.IllegalMove, rules.None:
		if board.Result != rules.Ongoing && board.Result != g.Outcome.Result {
			return wrongResult("the result is %v, but on the board it is %v", g.Outcome, board)
		}
		if g.Outcome.Result == rules.Ongoing && !g.Truncated {
			return wrongResult("the game has no result")
		}
		return nil
	}
	if board == g.Outcome || g.Truncated && board.Result == rules.Ongoing {
		return nil
	}
	return wrongResult("the result is %v, but on the board it is %v", g.Outcome, board)
}

// compactScratch holds buffers from game to game, and the memory of the games.
type compactScratch struct {
	r       replayer
	moves   []rules.Move
	samples []sampleRef
	data    []byte
	keys    []uint64
	weights []uint16 // by index of a legal move

	gameArena   arena[CompactGame]
	moveArena   arena[rules.Move]
	sampleArena arena[sampleRef]
	dataArena   arena[byte]
	keyArena    arena[uint64]
}

var errTwice = errors.New("the target holds a move twice")

func (s *compactScratch) appendAnswer(data []byte, p *Ply) ([]byte, error) {
	s.weights = append(s.weights[:0], make([]uint16, len(s.r.legal))...)
	hint := 0
	for _, t := range p.Target {
		if hint = s.r.find(t.Move, hint); hint < 0 {
			return data, fmt.Errorf("%w: target: %s: %w", ErrDamaged, describe(s.r.pos, t.Move), rules.ErrIllegalMove)
		}
		if s.weights[hint] != 0 {
			return data, fmt.Errorf("%w: %w", ErrDamaged, errTwice)
		}
		s.weights[hint] = t.Weight
	}
	win, loss := uint16(math.MaxUint16), uint16(math.MaxUint16)
	if sum := p.Value.Win + p.Value.Draw + p.Value.Loss; sum > 0 {
		win = uint16(p.Value.Win/sum*math.MaxUint16 + 0.5)
		loss = min(uint16(p.Value.Loss/sum*math.MaxUint16+0.5), math.MaxUint16-win)
	}
	data = binary.LittleEndian.AppendUint16(data, win)
	data = binary.LittleEndian.AppendUint16(data, loss)
	data = append(data, byte(p.Flags))
	data = binary.AppendUvarint(data, uint64(len(s.r.legal)))
	data = binary.AppendUvarint(data, uint64(len(p.Target)))
	last := -1
	for i, w := range s.weights {
		if w != 0 {
			data = binary.AppendUvarint(data, uint64(i-last-1))
			data = binary.AppendUvarint(data, uint64(w))
			last = i
		}
	}
	return data, nil
}

// bytes is the memory that the game takes.
func (c *CompactGame) bytes() int64 {
	n := int64(unsafe.Sizeof(*c)) + int64(len(c.moves))*4 + int64(len(c.samples))*8 + int64(len(c.data)) + int64(len(c.keys))*bytesPerKey
	if c.ownStart {
		n += int64(unsafe.Sizeof(*c.start))
	}
	return n
}

// ID returns the game's ID.
func (c *CompactGame) ID() ID { return c.id }

// Number returns the game's number.
func (c *CompactGame) Number() int64 { return c.number }

// Step returns the training step of the net that played the game.
func (c *CompactGame) Step() int64 { return c.step }

// Outcome returns the game's result.
func (c *CompactGame) Outcome() rules.Outcome { return c.outcome }

// Plies returns the number of moves played.
func (c *CompactGame) Plies() int { return len(c.moves) }

// Positions returns the number of plies with a policy target.
func (c *CompactGame) Positions() int { return len(c.samples) }

// Position returns the sample of the i-th ply with a policy target.
func (c *CompactGame) Position(i int) Sample {
	return Sample{Game: c, Ply: int(c.samples[i].ply), ref: c.samples[i].offset}
}

// Sample is one position of a game, seen by the side to move.
type Sample struct {
	Game *CompactGame
	Ply  int // moves played before the position
	ref  uint32
}

// Replay sets pos to the sampled position with its whole history. It does not allocate once pos has held a game as long.
func (s Sample) Replay(pos *rules.Position) {
	pos.CopyFrom(s.Game.start)
	for _, m := range s.Game.moves[:s.Ply] {
		pos.Do(m)
	}
}

// Side returns the side to move.
func (s Sample) Side() rules.Side {
	return s.Game.start.Side() ^ rules.Side(s.Ply&1)
}

// Move returns the move that was played.
func (s Sample) Move() rules.Move { return s.Game.moves[s.Ply] }

// Reply returns the position after the move that was played here; ok is false if it has no policy target.
func (s Sample) Reply() (r Sample, ok bool) {
	next := uint32(s.Ply + 1)
	i, ok := slices.BinarySearchFunc(s.Game.samples, next, func(x sampleRef, ply uint32) int { return cmp.Compare(x.ply, ply) })
	if !ok {
		return Sample{}, false
	}
	return s.Game.Position(i), true
}

// Flags returns how the position was searched.
func (s Sample) Flags() Flags { return Flags(s.Game.data[s.ref+4]) }

// Outcome returns the game's result for the side to move: one of the three is 1. It is zero for a game without a result.
func (s Sample) Outcome() rules.Value { return s.Game.outcome.Value(s.Side()) }

// ValueWeight returns 1 if the result may train the value, and 0 if the game was cut short by a cap of the harness: then
// its result says nothing.
func (s Sample) ValueWeight() float32 {
	if s.Game.truncated || s.Game.outcome.Result == rules.Ongoing {
		return 0
	}
	return 1
}

// PliesLeft returns the number of moves that were still played from here, at least 1. It has no meaning where
// ValueWeight is 0.
func (s Sample) PliesLeft() int { return len(s.Game.moves) - s.Ply }

// RootValue returns the search's value for the side to move; ok is false if there is none.
func (s Sample) RootValue() (v rules.Value, ok bool) {
	d := s.Game.data[s.ref:]
	win, loss := binary.LittleEndian.Uint16(d), binary.LittleEndian.Uint16(d[2:])
	if win == math.MaxUint16 && loss == math.MaxUint16 {
		return v, false
	}
	const unit = 1.0 / math.MaxUint16
	return rules.Value{Win: float32(win) * unit, Draw: float32(math.MaxUint16-win-loss) * unit, Loss: float32(loss) * unit}, true
}

// LegalMoves returns the number of legal moves in the position.
func (s Sample) LegalMoves() int {
	n, _ := binary.Uvarint(s.Game.data[s.ref+answerHeader:])
	return int(n)
}

// Target writes the policy target to dst, aligned with what AppendMoves returns for the position: dst must have
// LegalMoves() elements. They sum to 1.
func (s Sample) Target(dst []float32) {
	clear(dst)
	d := s.Game.data[s.ref+answerHeader:]
	next := func() int {
		x, n := binary.Uvarint(d)
		d = d[n:]
		return int(x)
	}
	next()
	n := next()
	at, sum := -1, 0
	for range n {
		at += next() + 1
		w := next()
		sum += w
		dst[at] = float32(w)
	}
	scale := 1 / float32(sum)
	for i := range dst {
		dst[i] *= scale
	}
}
