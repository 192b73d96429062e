package notation

import (
	"errors"
	"fmt"
	"strings"

	"kirin/rules"
)

// USI writes the game as the command that sets it up in an engine: "position startpos moves 7g7f ..." or "position sfen ...
// moves ...". Names, result and comments are not part of it.
func (g *Game) USI() (string, error) {
	p, err := g.Position(0)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if g.even() {
		b.WriteString("position startpos")
	} else {
		b.WriteString("position sfen " + g.StartSFEN())
	}
	if len(g.Moves) > 0 {
		b.WriteString(" moves")
	}
	for _, m := range g.Moves {
		if err := g.check(p, m); err != nil {
			return "", err
		}
		b.WriteString(" " + p.FormatMove(m))
		p.Do(m)
	}
	return b.String(), nil
}

// ReadUSI reads a game from a USI command; the word "position" may be missing. The result and
// its reason may follow after tabs, as kirin export writes them. With v nil the game is told from the size of
// the board, and startpos is shogi's; its rules are the default ones.
func ReadUSI(line string, v *rules.Variant) (*Game, error) {
	return readUSI(strings.TrimSpace(line), v, 1)
}

func readUSI(line string, v *rules.Variant, number int) (*Game, error) {
	fail := func(err error) (*Game, error) { return nil, &FileError{"USI", number, err} }
	line, ending, _ := strings.Cut(line, "\t")
	f := strings.Fields(line)
	if len(f) > 0 && f[0] == "position" {
		f = f[1:]
	}
	start := ""
	switch {
	case len(f) > 0 && f[0] == "startpos":
		f = f[1:]
	case len(f) > 0 && f[0] == "sfen":
		n := 1
		for n < len(f) && f[n] != "moves" {
			n++
		}
		start = strings.Join(f[1:n], " ")
		f = f[n:]
	default:
		return fail(errors.New(`"position startpos" or "position sfen" is missing`))
	}
	v, err := load(v, gameOfSFEN(start), "")
	if err != nil {
		return fail(err)
	}
	g := &Game{Variant: v, Start: start}
	p, err := g.Position(0)
	if err != nil {
		return fail(err)
	}
	if len(f) > 0 && f[0] != "moves" {
		return fail(fmt.Errorf("%.30q stands where \"moves\" should", f[0]))
	}
	for i := 1; i < len(f); i++ {
		m, err := p.ParseMove(f[i])
		if err != nil {
			return fail(fmt.Errorf("ply %d: %w", i, err))
		}
		g.Moves = append(g.Moves, m)
		p.Do(m)
	}
	g.Outcome = finalOutcome(p)
	if result, reason, ok := strings.Cut(strings.TrimSpace(ending), "\t"); ok {
		if g.Outcome.Result, err = rules.ParseResult(result); err != nil {
			return fail(err)
		}
		if g.Outcome.Reason, err = rules.ParseReason(reason); err != nil {
			return fail(err)
		}
	}
	return g, nil
}

// gameOfSFEN returns the name of the game with a board of so many ranks; "" without SFEN, or shogi if nothing fits.
func gameOfSFEN(sfen string) string {
	if sfen == "" {
		return ""
	}
	board, _, _ := strings.Cut(sfen, " ")
	return gameOfRanks(strings.Count(board, "/") + 1)
}

func gameOfRanks(n int) string {
	switch n {
	case 5:
		return "minishogi"
	case 7:
		return "torishogi"
	case 12:
		return "chushogi"
	}
	return "shogi"
}
