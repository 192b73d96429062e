package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"

	"kirin/rules"
)

// ID names a game: the first 16 bytes of a SHA-256 over what the game is played from (see [Game.SetID]).
type ID [16]byte

// String returns the ID as 32 hexadecimal digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// ParseID reads 32 hexadecimal digits.
func ParseID(s string) (ID, error) {
	var id ID
	if len(s) != 2*len(id) {
		return id, fmt.Errorf("game id %q is not 32 hexadecimal digits", s)
	}
	if _, err := hex.Decode(id[:], []byte(s)); err != nil {
		return ID{}, fmt.Errorf("game id %q is not 32 hexadecimal digits", s)
	}
	return id, nil
}

// MarshalText writes the ID as String does.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (id *ID) UnmarshalText(b []byte) (err error) {
	*id, err = ParseID(string(b))
	return err
}

// Flags tell how a ply came about. The values are part of the file format.
type Flags uint16

// The flags of a ply.
const (
	Full     Flags = 1 << iota // searched with the full number of simulations
	Cheap                      // searched with the small number of simulations (playout-cap randomisation)
	Noise                      // the search explored with noise at the root
	Proven                     // the root's result was proven, by mate search or by the tree
	Random                     // the move was drawn for variety (openings), not chosen by the search
	allFlags = 1<<iota - 1
)

// MoveWeight is one entry of a policy target: a move and its share in units of 1/65535.
type MoveWeight struct {
	Move   rules.Move
	Weight uint16
}

// MinWeight is the smallest weight kept in a target: 2^-12.
const MinWeight = 1 << 4

// Ply is one move of a game with what the search said at its root.
type Ply struct {
	Move   rules.Move
	Value  rules.Value  // root value for the side to move; all zero: not searched
	Target []MoveWeight // policy target, in the order of the legal moves; empty: nothing to learn here
	Visits uint32       // simulations spent
	Flags  Flags
}

// Game is one finished game: the unit in which data are stored.
type Game struct {
	ID        ID
	Variant   string // name of the game, such as "minishogi"
	Rules     string // "default", or the options that differ, as rules.Variant.Rules returns them
	Start     string // SFEN of the position from which Plies starts
	Plies     []Ply
	Outcome   rules.Outcome
	Truncated bool   // ended by a cap of the harness, not by a rule: the result says nothing about the positions
	Seed      uint64 // from which all randomness of the game comes
	Number    int64  // which game of its run or worker this is
	Net       string // SHA-256 of the weights that played, in hex
	Step      int64  // training step of those weights
	Config    string // hash of the configuration that decides how games are played
	Version   string // of the program
	Kernel    string // set of compute kernels, on which the last bits depend
	Worker    string // who played it
}

// SetID gives the game its ID: a hash of Variant, Rules, Start, Net, Config, Seed and Number, each written with its
// length. These decide the game, so it can be named before it is played, and a game that is played again from its seed
// after a crash, or sent twice, is known as the same. Worker, Version and Kernel are not part of the name.
func (g *Game) SetID() { g.ID = g.identity() }

func (g *Game) identity() ID {
	var b []byte
	for _, s := range [...]string{"kirin game 1", g.Variant, g.Rules, g.Start, g.Net, g.Config} {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(s)))
		b = append(b, s...)
	}
	b = binary.LittleEndian.AppendUint64(b, g.Seed)
	b = binary.LittleEndian.AppendUint64(b, uint64(g.Number))
	sum := sha256.Sum256(b)
	return ID(sum[:len(ID{})])
}

// Positions returns the number of plies with a policy target: those that a trainer samples.
func (g *Game) Positions() int {
	n := 0
	for i := range g.Plies {
		if len(g.Plies[i].Target) > 0 {
			n++
		}
	}
	return n
}

// Limits that keep damaged or hostile input from asking for much memory.
const (
	maxPlies  = 1 << 16 // plies of a game
	maxText   = 1 << 12 // bytes of a text field
	maxTarget = 1 << 12 // entries of a target
)

// validate reports the first thing in g that no reader would accept. It does not replay the moves.
func (g *Game) validate() error {
	for _, f := range [...]struct{ name, text string }{
		{"variant", g.Variant}, {"rules", g.Rules}, {"start", g.Start}, {"net", g.Net}, {"config", g.Config},
		{"version", g.Version}, {"kernel", g.Kernel}, {"worker", g.Worker},
	} {
		if len(f.text) > maxText {
			return fmt.Errorf("%s is %d bytes long, more than %d", f.name, len(f.text), maxText)
		}
	}
	if len(g.Plies) > maxPlies {
		return fmt.Errorf("%d plies are more than %d", len(g.Plies), maxPlies)
	}
	if g.ID != g.identity() {
		return errors.New("the id does not belong to the game's variant, rules, start, net, config, seed and number")
	}
	for i := range g.Plies {
		if err := g.Plies[i].validate(); err != nil {
			return fmt.Errorf("ply %d: %w", i+1, err)
		}
	}
	return nil
}

func (p *Ply) validate() error {
	for _, x := range [...]float32{p.Value.Win, p.Value.Draw, p.Value.Loss} {
		if !(x >= 0 && x <= 1.001) {
			return fmt.Errorf("value %v/%v/%v is not made of probabilities", p.Value.Win, p.Value.Draw, p.Value.Loss)
		}
	}
	if p.Flags&^allFlags != 0 {
		return fmt.Errorf("unknown flags %#x", uint16(p.Flags&^allFlags))
	}
	if len(p.Target) > maxTarget {
		return fmt.Errorf("target has %d moves, more than %d", len(p.Target), maxTarget)
	}
	for _, t := range p.Target {
		if t.Weight == 0 {
			return errors.New("target has a move of weight 0")
		}
	}
	return nil
}

// PackPolicy appends the target made of a policy to dst: moves and policy are aligned and in the order of the legal
// moves, policy sums to 1. Shares under 2^-12 are left out; the largest always stays. Non-finite or negative shares
// count as 0.
func PackPolicy(dst []MoveWeight, moves []rules.Move, policy []float32) []MoveWeight {
	best := -1
	for i, x := range policy {
		if x > 0 && !math.IsInf(float64(x), 0) && (best < 0 || x > policy[best]) {
			best = i
		}
	}
	for i, x := range policy {
		if !(x > 0) || math.IsInf(float64(x), 0) {
			continue
		}
		if x < 1.0/(1<<12) && i != best {
			continue
		}
		w := max(1, math.Round(float64(min(x, 1))*math.MaxUint16))
		dst = append(dst, MoveWeight{moves[i], uint16(w)})
	}
	return dst
}
