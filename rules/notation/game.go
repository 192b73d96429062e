package notation

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"kirin/rules"
)

// Game is a game as files keep it.
type Game struct {
	Variant *rules.Variant
	Start   string       // SFEN; "" for the even start
	Moves   []rules.Move // legal one after the other
	Outcome rules.Outcome
	Names   [2]string // of the players, by side
	Date    string    // when the game began, usually 2026/11/30 04:10:00
	Event   string
	Place   string
	// Comments[i] stands after i moves; lines are divided by \n. It may be shorter than the game or nil.
	Comments []string
	// Evals[i] is what sente can expect to score after i moves, from 0 (loses) to 1 (wins); NaN where nothing is known. It may
	// be shorter than the game or nil. Files keep it in hundredths of a pawn, see Centipawns.
	Evals []float64
	// Tags are other lines of a file's header in their order.
	Tags []Tag
}

// Tag is a line of a header: a key with its value.
type Tag struct{ Key, Value string }

// FileError is an error in a file.
type FileError struct {
	Format string // KIF, CSA, USI, move list
	Line   int    // from 1
	Err    error
}

// Error returns for example "KIF line 12: illegal move ...".
func (e *FileError) Error() string { return fmt.Sprintf("%s line %d: %v", e.Format, e.Line, e.Err) }

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// centipawnScale is the usual scale of shogi programs: 600 points are odds of e to 1.
const centipawnScale = 600

// maxCentipawns is written for certain wins.
const maxCentipawns = 9999

// Centipawns returns an expected score (0 to 1) in the unit of shogi programs, 600 times the logarithm of the odds, at most
// 9999 either way.
func Centipawns(score float64) int {
	if math.IsNaN(score) {
		return 0
	}
	x := centipawnScale * math.Log(score/(1-score))
	return int(math.Round(min(max(x, -maxCentipawns), maxCentipawns)))
}

// Score is the inverse of Centipawns.
func Score(centipawns int) float64 {
	return 1 / (1 + math.Exp(-float64(centipawns)/centipawnScale))
}

// StartSFEN returns the SFEN of the start position.
func (g *Game) StartSFEN() string {
	if g.Start == "" {
		return g.Variant.Starts()[0].SFEN
	}
	return g.Start
}

// Position returns the position after the given number of moves. An error names the ply of a move that is not legal.
func (g *Game) Position(ply int) (*rules.Position, error) {
	if ply < 0 || ply > len(g.Moves) {
		return nil, fmt.Errorf("ply %d is not between 0 and %d", ply, len(g.Moves))
	}
	p, err := g.Variant.ParseSFEN(g.StartSFEN())
	if err != nil {
		return nil, fmt.Errorf("start position: %w", err)
	}
	for _, m := range g.Moves[:ply] {
		if err := g.check(p, m); err != nil {
			return nil, err
		}
		p.Do(m)
	}
	return p, nil
}

// check returns an error unless m is legal in p.
func (g *Game) check(p *rules.Position, m rules.Move) error {
	var buf moveBuffer
	if !slices.Contains(p.AppendMoves(buf[:0]), m) {
		return fmt.Errorf("ply %d: %w: %#x", p.Ply()+1, rules.ErrIllegalMove, uint32(m))
	}
	return nil
}

// comment returns the comment after ply moves.
func (g *Game) comment(ply int) string {
	if ply < len(g.Comments) {
		return g.Comments[ply]
	}
	return ""
}

// eval returns the evaluation after ply moves in centipawns.
func (g *Game) eval(ply int) (int, bool) {
	if ply >= len(g.Evals) || math.IsNaN(g.Evals[ply]) {
		return 0, false
	}
	return Centipawns(g.Evals[ply]), true
}

// addEval sets the evaluation after ply moves.
func (g *Game) addEval(ply, centipawns int) {
	for len(g.Evals) <= ply {
		g.Evals = append(g.Evals, math.NaN())
	}
	g.Evals[ply] = Score(min(max(centipawns, -maxCentipawns), maxCentipawns))
}

// finalOutcome returns how the game stands by the rules.
func finalOutcome(p *rules.Position) rules.Outcome { return p.Outcome(p.CountMoves()) }

// settle returns the outcome of a file that says said: with the reason that the rules give where the results agree.
func settle(p *rules.Position, said rules.Outcome) rules.Outcome {
	if byRules := finalOutcome(p); byRules.Result == said.Result && byRules.Result != rules.Ongoing {
		return byRules
	}
	return said
}

// even tells whether the game starts from the even start position.
func (g *Game) even() bool { return g.StartSFEN() == g.Variant.Starts()[0].SFEN }

// load returns v, or the game of that name ("" is shogi) with rule settings when v is nil.
func load(v *rules.Variant, name, settings string) (*rules.Variant, error) {
	switch {
	case v != nil && name != "" && v.Name() != name:
		return nil, fmt.Errorf("the game is %s, not %s", name, v.Name())
	case v != nil:
		return v, nil
	case name == "":
		name = "shogi"
	}
	if settings == "" {
		return rules.Load(name)
	}
	return rules.Load(name, strings.Split(settings, ",")...)
}
