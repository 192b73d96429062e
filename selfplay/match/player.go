package match

import (
	"context"
	"fmt"
	"math/rand/v2"

	"kirin/rules"
	"kirin/selfplay/protocol"
)

// Player plays one game at a time, from one goroutine at a time.
type Player interface {
	// Name is how results call the player.
	Name() string
	// NewGame begins a game from start, which stays as it is. The first position asked about may lie some plies later.
	NewGame(ctx context.Context, start *rules.Position) error
	// Move chooses in p, which is not over; p holds the game so far and is unchanged on return. An *protocol.IllegalMove
	// or *protocol.Refusal tells that the player and the rules disagree.
	Move(ctx context.Context, p *rules.Position, l protocol.Limits) (Decision, error)
	// GameOver tells how the game ended.
	GameOver(o rules.Outcome)
	// Close frees what the player holds.
	Close() error
}

// Seeder is a Player with random choices. Seed is called before each NewGame; the choices of a game depend on the seed
// and the positions only.
type Seeder interface{ Seed(seed uint64) }

// Decision is a player's choice.
type Decision struct {
	Move   rules.Move
	Resign bool
	Claim  protocol.Claim // what an engine says about the game's end; Move is NoMove unless it moved all the same
	Value  *rules.Value   // the player's opinion, for the side to move; nil if it has none
	Depth  int
	Nodes  int64
	PV     string // in USI where the player is ours, else in the engine's writing
}

// Entrant makes the players of one side of a match, one for each game played at the same time.
type Entrant struct {
	Name string
	Open func(ctx context.Context) (Player, error)
	// Key is what the player is, apart from its name: its settings and its net's checksum, or its command. A journal goes
	// on with players of the same keys only; "" is a key like any other.
	Key string
}

// source returns the random source of a position in a seeded game.
func source(seed uint64, p *rules.Position) *rand.Rand {
	return rand.New(rand.NewPCG(seed, p.Key()^uint64(p.Ply())*0x9e3779b97f4a7c15))
}

// Random plays any legal move with equal chance.
type Random struct {
	seed  uint64
	moves []rules.Move
}

// NewRandom returns the anchor "random".
func NewRandom(seed uint64) *Random { return &Random{seed: seed} }

// Name returns "random".
func (r *Random) Name() string { return "random" }

// Seed fixes the choices of the next game.
func (r *Random) Seed(seed uint64) { r.seed = seed }

// NewGame does nothing.
func (r *Random) NewGame(context.Context, *rules.Position) error { return nil }

// Move chooses a legal move.
func (r *Random) Move(_ context.Context, p *rules.Position, _ protocol.Limits) (Decision, error) {
	r.moves = p.AppendMoves(r.moves[:0])
	if len(r.moves) == 0 {
		return Decision{}, fmt.Errorf("random: no legal move in %s", p.SFEN())
	}
	return Decision{Move: r.moves[source(r.seed, p).IntN(len(r.moves))]}, nil
}

// GameOver does nothing.
func (r *Random) GameOver(rules.Outcome) {}

// Close does nothing.
func (r *Random) Close() error { return nil }

// Material is one-ply greed: it wins at once if it can, else it makes the move that gains the most material, where a
// piece is worth how far it moves (see PieceValues), a promotion its gain; equal moves are drawn by lot.
type Material struct {
	seed   uint64
	values []float64
	moves  []rules.Move
	next   []rules.Move
	best   []rules.Move
}

// NewMaterial returns the anchor "material" for a variant.
func NewMaterial(v *rules.Variant, seed uint64) *Material {
	return &Material{seed: seed, values: PieceValues(v)}
}

// Name returns "material".
func (m *Material) Name() string { return "material" }

// Seed fixes the choices of the next game.
func (m *Material) Seed(seed uint64) { m.seed = seed }

// NewGame does nothing.
func (m *Material) NewGame(context.Context, *rules.Position) error { return nil }

// Move chooses the greediest legal move. p is moved forth and back.
func (m *Material) Move(_ context.Context, p *rules.Position, _ protocol.Limits) (Decision, error) {
	m.moves = p.AppendMoves(m.moves[:0])
	if len(m.moves) == 0 {
		return Decision{}, fmt.Errorf("material: no legal move in %s", p.SFEN())
	}
	m.best = m.best[:0]
	most := 0.0
	for _, mv := range m.moves {
		gain := m.gain(p, mv)
		if len(m.best) == 0 || gain > most {
			m.best, most = append(m.best[:0], mv), gain
		} else if gain == most {
			m.best = append(m.best, mv)
		}
	}
	return Decision{Move: m.best[source(m.seed, p).IntN(len(m.best))]}, nil
}

// winning is worth more than any material.
const winning = 1e6

// gain is what a move is worth at once.
func (m *Material) gain(p *rules.Position, mv rules.Move) float64 {
	side := p.Side()
	v := p.Variant()
	gain := 0.0
	if mv.IsDouble() {
		gain += m.values[p.At(mv.Via()).Kind()]
	}
	if to := p.At(mv.To()); to != rules.NoPiece && mv.To() != mv.From() {
		gain += m.values[to.Kind()]
	}
	if mv.Promotes() {
		k := p.At(mv.From()).Kind()
		gain += m.values[v.Info(k).Promotes] - m.values[k]
	}
	p.Do(mv)
	m.next = p.AppendMoves(m.next[:0])
	switch p.Outcome(len(m.next)).Result {
	case rules.Winner(side):
		gain += winning
	case rules.Winner(side.Other()):
		gain -= winning
	}
	p.Undo()
	return gain
}

// GameOver does nothing.
func (m *Material) GameOver(rules.Outcome) {}

// Close does nothing.
func (m *Material) Close() error { return nil }

// PieceValues gives each kind of a variant a worth derived from its moves alone: the mean number of squares that it
// reaches from every square of an empty board, where squares beyond the first of a slide count half, since others stand
// in the way. Royals are worth as much as everything else together.
func PieceValues(v *rules.Variant) []float64 {
	values := make([]float64, v.KindCount())
	total := 0.0
	for k := 1; k < v.KindCount(); k++ {
		reach := 0.0
		for sq := 0; sq < v.Squares(); sq++ {
			for _, d := range v.Vectors(rules.Kind(k)) {
				x, y := sq%v.Width(), sq/v.Width()
				for step := 1; step <= int(d.Max); step++ {
					x, y = x+int(d.DX), y+int(d.DY)
					if x < 0 || y < 0 || x >= v.Width() || y >= v.Height() {
						break
					}
					if step == 1 {
						reach++
					} else {
						reach += 0.5
					}
				}
			}
		}
		values[k] = reach / float64(v.Squares())
		total += values[k]
	}
	for k := 1; k < v.KindCount(); k++ {
		if v.Info(rules.Kind(k)).Royal {
			values[k] = total
		}
	}
	return values
}
