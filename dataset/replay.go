package dataset

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"kirin/rules"
)

// replayer walks a game's moves on a board and turns their text into moves. Not for concurrent use.
type replayer struct {
	v     *rules.Variant
	pos   *rules.Position
	legal []rules.Move // of pos
	seen  []uint32     // by index of a legal move: the ply at which it was marked last
	ply   uint32
	texts map[string][2]rules.Move
	first *rules.Position // of the game that was begun last
	start string          // which it was given as

	byText map[string]uint32 // for collectTexts
	byMove map[rules.Move]uint32
}

// replayers are kept from game to game: most games begin alike, and boards are large.
var replayers = sync.Pool{New: func() any {
	return &replayer{texts: map[string][2]rules.Move{}, byText: map[string]uint32{}, byMove: map[rules.Move]uint32{}}
}}

// maxTexts is the number of texts of moves that a replayer remembers.
const maxTexts = 1 << 13

// newReplayer puts a board at the start of a game. It must be released.
func newReplayer(v *rules.Variant, start string) (*replayer, error) {
	r := replayers.Get().(*replayer)
	if r.v != v {
		r.v, r.pos, r.start = v, v.Start(), ""
		clear(r.texts)
	}
	if r.start != start {
		first, err := v.ParseSFEN(start)
		if err != nil {
			r.release()
			return nil, damaged("start position: %v", err)
		}
		r.first, r.start = first, start
	}
	if len(r.texts) > maxTexts {
		clear(r.texts)
	}
	r.pos.CopyFrom(r.first)
	r.legal, r.ply = r.pos.AppendMoves(r.legal[:0]), 1
	clear(r.seen)
	return r, nil
}

func (r *replayer) release() { replayers.Put(r) }

// over tells how the game has ended on the board before ply i, if it has.
func (r *replayer) over(i int) error {
	if out := r.pos.Outcome(len(r.legal)); out.Result != rules.Ongoing {
		return damaged("ply %d follows the game's end (%v)", i+1, out)
	}
	return nil
}

// finish compares the result that the game states with the board.
func (r *replayer) finish(g *Game) error {
	return checkOutcome(g, r.pos.Outcome(len(r.legal)))
}

// do plays a legal move.
func (r *replayer) do(m rules.Move) {
	r.pos.Do(m)
	r.legal = r.pos.AppendMoves(r.legal[:0])
	r.ply++
}

// mark notes that the target of this position holds legal move i; false if it held it before.
func (r *replayer) mark(i int) bool {
	if n := len(r.legal) - len(r.seen); n > 0 {
		r.seen = append(r.seen, make([]uint32, n)...)
	}
	if r.seen[i] == r.ply {
		return false
	}
	r.seen[i] = r.ply
	return true
}

// Replayable plays a game of v on a board and tells the first thing that is wrong with it: an id that is not its own, an
// illegal move or target, moves after its end, a result that the board does not show. The error wraps [ErrDamaged] or,
// for a game of another variant or other rules, [ErrWrongGame].
func Replayable(v *rules.Variant, g *Game) error {
	if g.Variant != v.Name() || g.Rules != v.Rules() {
		return fmt.Errorf("%w: %s (%s) instead of %s (%s)", ErrWrongGame, g.Variant, g.Rules, v.Name(), v.Rules())
	}
	err := g.validate()
	if err == nil {
		_, err = collectTexts(v, g)
	}
	if err != nil && !errors.Is(err, ErrDamaged) {
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}

// find returns the index of m among the legal moves, or -1. hint is the index to try first: moves that come in the order
// of the legal moves are found at once.
func (r *replayer) find(m rules.Move, hint int) int {
	n := len(r.legal)
	for i := range n {
		j := hint + i
		if j >= n {
			j -= n
		}
		if r.legal[j] == m {
			return j
		}
	}
	return -1
}

// parse returns the index among the legal moves of the move written as text.
func (r *replayer) parse(text string, hint int) (int, error) {
	pair, ok := r.texts[text]
	if !ok {
		pair = readMove(r.v, text)
		r.texts[text] = pair
	}
	for _, m := range pair {
		if m == rules.NoMove {
			continue
		}
		if i := r.find(m, hint); i >= 0 {
			return i, nil
		}
	}
	return -1, fmt.Errorf("%w: %q: %w", ErrDamaged, text, rules.ErrIllegalMove)
}

// readMove reads a move in USI without looking at a board. Three squares of which the middle one turns out to hold
// nothing to capture mean the plain move between the outer ones (or a pass), hence the second answer.
func readMove(v *rules.Variant, text string) (pair [2]rules.Move) {
	if letter, to, ok := strings.Cut(text, "*"); ok {
		sq, err := v.ParseSquare(to)
		if err != nil {
			return pair
		}
		for _, k := range v.HandKinds() {
			if v.Info(k).Letter == letter {
				pair[0] = rules.NewDrop(k, sq)
			}
		}
		return pair
	}
	plain, promote := strings.CutSuffix(text, "+")
	var squares [3]rules.Square
	n := 0
	for plain != "" {
		end := 1 + strings.IndexFunc(plain, func(c rune) bool { return c < '0' || c > '9' })
		if end == 0 || n == len(squares) {
			return pair
		}
		sq, err := v.ParseSquare(plain[:end])
		if err != nil {
			return pair
		}
		squares[n] = sq
		n++
		plain = plain[end:]
	}
	switch n {
	case 2:
		pair[0] = rules.NewMove(squares[0], squares[1], promote)
	case 3:
		pair[0] = rules.NewDouble(squares[0], squares[1], squares[2])
		pair[1] = rules.NewMove(squares[0], squares[2], promote)
		if promote {
			pair[0] = rules.NoMove
		}
	}
	return pair
}
