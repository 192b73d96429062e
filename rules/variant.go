package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// KindInfo describes a kind of piece.
type KindInfo struct {
	Letter    string // in SFEN and USI: "P", promoted "+P"
	Kanji     string // one character, as on board pictures
	Kanji2    string // the full name, one or two characters
	English   string
	Promotes  Kind // the kind it promotes to, NoKind if it does not
	Demotes   Kind // the kind it was before its promotion, NoKind for an unpromoted kind
	Royal     bool // the game is lost with the last one
	Droppable bool
	Lion      bool // full lion power: two king steps in any directions
}

// Vector is one way of moving, as Sente sees it: DX > 0 is towards Sente's right (lower files), DY < 0 forward.
type Vector struct {
	DX, DY int8
	// Max is how often the step may be repeated over empty squares: 1 a step or jump, 255 without limit.
	Max uint8
	// Jump: the offset has length two and what stands between does not matter.
	Jump bool
	// Lion: the vector belongs to a lion power. An adjacent Lion vector is also a first step of a double move: a kind with
	// KindInfo.Lion then takes any second step, others only the same step again or the way back.
	Lion bool
}

// NamedStart is a start position; the first of a variant is the even game, the others are handicaps.
type NamedStart struct {
	Name  string // "even", "bishop", ...
	Kanji string // "平手", "角落ち", ...
	SFEN  string
}

// Variant is one game with its options. It is immutable and may be shared.
type Variant struct {
	game   *game
	values []string // by game.options
	rule   rule
	tables
}

// Names returns the names of all games.
func Names() []string {
	names := make([]string, len(games))
	for i, g := range games {
		names[i] = g.name
	}
	return names
}

// Load returns the game of that name with its default options changed by settings of the form "key=value", of which
// "preset=name" is applied first. The setting "default" changes nothing. An error names the key and the allowed values.
func Load(name string, settings ...string) (*Variant, error) {
	i := slices.IndexFunc(games, func(g *game) bool { return g.name == name })
	if i < 0 {
		return nil, fmt.Errorf("unknown game %q (%s)", name, strings.Join(Names(), ", "))
	}
	g := games[i]
	values, err := g.resolve(settings)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	v := &Variant{game: g, values: values}
	v.rule = g.compile(values)
	v.tables.build(g, &v.rule)
	return v, nil
}

// Name returns the game's name.
func (v *Variant) Name() string { return v.game.name }

// Rules returns "default", or the options that differ from the default as "key=value,key=value".
func (v *Variant) Rules() string {
	var diff []string
	for i, o := range v.game.options {
		if v.values[i] != o.def {
			diff = append(diff, o.name+"="+v.values[i])
		}
	}
	if diff == nil {
		return "default"
	}
	return strings.Join(diff, ",")
}

// Hash returns 16 hexadecimal digits of a SHA-256 over the name and every option with its value.
func (v *Variant) Hash() string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", v.Name())
	for i, o := range v.game.options {
		fmt.Fprintf(h, "%s=%s\n", o.name, v.values[i])
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Width returns the number of files.
func (v *Variant) Width() int { return v.game.width }

// Height returns the number of ranks.
func (v *Variant) Height() int { return v.game.height }

// Squares returns Width * Height.
func (v *Variant) Squares() int { return v.n }

// KindCount returns the number of kinds plus one: kinds are 1 to KindCount()-1.
func (v *Variant) KindCount() int { return len(v.kinds) }

// Info describes kind k.
func (v *Variant) Info(k Kind) *KindInfo { return &v.kinds[k] }

// HandKinds returns the kinds that can be in hand, in the order of SFEN (most valuable first). The caller must not change it.
func (v *Variant) HandKinds() []Kind { return v.handKinds }

// HandMax returns how many pieces of kind k one hand can hold.
func (v *Variant) HandMax(k Kind) int {
	if !v.kinds[k].Droppable {
		return 0
	}
	return int(v.total[k])
}

// MaxMoves returns a bound on the number of legal moves of any position with no more pieces than the start: in shogi the
// known maximum, in the other games a count of what the pieces can do at best.
func (v *Variant) MaxMoves() int { return v.game.maxMoves }

// MaxPlies returns the ply limit, 0 if there is none.
func (v *Variant) MaxPlies() int { return v.rule.maxPlies }

// InZone tells whether sq lies in side's promotion zone.
func (v *Variant) InZone(side Side, sq Square) bool { return v.zone[side].has(sq) }

// Vectors returns how kind k moves. The caller must not change the slice.
func (v *Variant) Vectors(k Kind) []Vector { return v.vectors[k] }

// Start returns a new game from the even start position.
func (v *Variant) Start() *Position {
	p, err := v.ParseSFEN(v.game.starts[0].SFEN)
	if err != nil {
		panic("rules: start position of " + v.Name() + ": " + err.Error())
	}
	return p
}

// Starts returns the even start position and the handicaps. The caller must not change the slice.
func (v *Variant) Starts() []NamedStart { return v.game.starts }

// MirrorKind returns the kind that takes the place of k in the left-right mirror image of a position, which is a position of
// the same game (tori shogi exchanges its quails).
func (v *Variant) MirrorKind(k Kind) Kind { return v.mirror[k] }
