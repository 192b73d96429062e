package selfplay

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"

	"kirin/dataset"
	"kirin/rules"
)

// SideGames is how many earlier games Starts remembers a side position of.
const SideGames = 1024

// Starts chooses the positions at which games start: the game's own, a handicap,
// one of a file, or a side position of an earlier game. It may be used by several
// goroutines.
//
// A choice depends on the seed it is asked with and on the games added before.
// What was chosen is stored with the game, which can so be played again from its
// record alone.
type Starts struct {
	v         *rules.Variant
	o         Options
	handicaps []string
	file      []string

	mu    sync.Mutex
	sides [SideGames]string // by a game's number; empty: none
	known int
}

// NewStarts reads the file of positions if the options name one, and checks that
// the game can have what they ask for.
func NewStarts(v *rules.Variant, o Options) (*Starts, error) {
	s := &Starts{v: v, o: o}
	if o.HandicapShare > 0 {
		for _, h := range v.Starts()[1:] {
			s.handicaps = append(s.handicaps, h.SFEN)
		}
		if len(s.handicaps) == 0 {
			return nil, fmt.Errorf("handicap_share: %s has no handicaps", v.Name())
		}
	}
	if o.StartShare > 0 {
		var err error
		if s.file, err = readStarts(v, o.StartFile); err != nil {
			return nil, fmt.Errorf("start_file: %w", err)
		}
	}
	return s, nil
}

// readStarts reads SFENs, one a line; empty lines and those that begin with # do
// not count.
func readStarts(v *rules.Variant, path string) (sfens []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(lines.Text()), "sfen "))
		if text == "" || text[0] == '#' {
			continue
		}
		p, err := v.ParseSFEN(text)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		if out := p.Outcome(p.CountMoves()); out.Result != rules.Ongoing {
			return nil, fmt.Errorf("%s:%d: the game is over in this position", path, n)
		}
		sfens = append(sfens, text)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(sfens) == 0 {
		return nil, fmt.Errorf("%s: it holds no position", path)
	}
	return sfens, nil
}

// Pick returns the start of the game with the given seed; nil: the variant's own.
func (s *Starts) Pick(seed uint64) *rules.Position {
	o := s.o
	if o.HandicapShare+o.StartShare+o.SideShare == 0 {
		return nil
	}
	rng := rand.New(rand.NewPCG(seed, 0x7374617274)) // "start"
	x := rng.Float64()
	sfen := ""
	switch {
	case x < o.HandicapShare:
		sfen = s.handicaps[rng.IntN(len(s.handicaps))]
	case x < o.HandicapShare+o.StartShare:
		sfen = s.file[rng.IntN(len(s.file))]
	case x < o.HandicapShare+o.StartShare+o.SideShare:
		sfen = s.side(rng)
	}
	if sfen == "" {
		return nil
	}
	p, err := s.v.ParseSFEN(sfen)
	if err != nil { // it has been written or read by ParseSFEN's own program
		return nil
	}
	return p
}

// side draws one of the side positions; "" while there are none.
func (s *Starts) side(rng *rand.Rand) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == 0 {
		return ""
	}
	for i := rng.IntN(SideGames); ; i = (i + 1) % SideGames {
		if s.sides[i] != "" {
			return s.sides[i]
		}
	}
}

// Add remembers a side position of a finished game, in place of that of the game
// SideGames numbers before.
func (s *Starts) Add(g *dataset.Game) {
	if s.o.SideShare == 0 {
		return
	}
	sfen := sidePosition(s.v, g)
	s.mu.Lock()
	defer s.mu.Unlock()
	at := &s.sides[uint64(g.Number)%SideGames]
	if *at != "" {
		s.known--
	}
	if *at = sfen; sfen != "" {
		s.known++
	}
}

// sidePosition leaves a game after some of its moves by one that was not played:
// one of the policy target where there is a choice, else any. The side to move is
// the one that began the game, since a rule may name the first player. It returns
// "" if the game has no such place.
func sidePosition(v *rules.Variant, g *dataset.Game) string {
	if len(g.Plies) < 2 {
		return ""
	}
	p, err := v.ParseSFEN(g.Start)
	if err != nil {
		return ""
	}
	rng := rand.New(rand.NewPCG(g.Seed, 0x73696465)) // "side"
	at := 2*rng.IntN(len(g.Plies)/2) + 1
	for _, ply := range g.Plies[:at] {
		p.Do(ply.Move)
	}
	played := g.Plies[at].Move
	var choices []rules.Move
	var weights []int
	total := 0
	for _, t := range g.Plies[at].Target {
		if t.Move != played {
			choices, weights = append(choices, t.Move), append(weights, int(t.Weight))
			total += int(t.Weight)
		}
	}
	if len(choices) == 0 {
		for _, m := range p.AppendMoves(nil) {
			if m != played {
				choices, weights = append(choices, m), append(weights, 1)
				total++
			}
		}
	}
	if total == 0 {
		return ""
	}
	x, i := rng.IntN(total), 0
	for ; x >= weights[i]; i++ {
		x -= weights[i]
	}
	p.Do(choices[i])
	sfen := p.SFEN()
	// Without its past the position may be one in which more is legal.
	if p, err = v.ParseSFEN(sfen); err != nil || p.Outcome(p.CountMoves()).Result != rules.Ongoing {
		return ""
	}
	return sfen
}
