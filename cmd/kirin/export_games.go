package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kirin/dataset"
	"kirin/dataset/whole"
	"kirin/rules"
	"kirin/rules/notation"
	"kirin/selfplay/match"
)

// gameRecord returns a stored game in the form that game files are written from. Evaluations are those of the positions
// before the moves, as the search saw them.
func gameRecord(v *rules.Variant, g *dataset.Game) (*notation.Game, error) {
	out := &notation.Game{Variant: v, Start: g.Start, Outcome: g.Outcome, Event: "kirin " + g.ID.String()}
	p, err := v.ParseSFEN(g.Start)
	if err != nil {
		return nil, fmt.Errorf("game %s: %w", g.ID, err)
	}
	for s := range out.Names {
		out.Names[s] = fmt.Sprintf("kirin step %d", g.Step)
	}
	side := p.Side()
	for i := range g.Plies {
		ply := &g.Plies[i]
		out.Moves = append(out.Moves, ply.Move)
		eval := math.NaN()
		if ply.Value != (rules.Value{}) {
			eval = float64(ply.Value.Score())
			if side == rules.Gote {
				eval = 1 - eval
			}
		}
		out.Evals = append(out.Evals, eval)
		side = side.Other()
	}
	return out, nil
}

// exported is a game on its way into a file.
type exported struct {
	name string // of its own file, without the ending
	id   string // for errors
	game *notation.Game
}

// runGames are the stored games of a run.
func runGames(v *rules.Variant, store *dataset.Store) iter.Seq2[exported, error] {
	return func(yield func(exported, error) bool) {
		for g, err := range store.All() {
			var e exported
			if err == nil {
				e = exported{name: fmt.Sprintf("%08d-%s", g.Number, g.ID.String()[:8]), id: g.ID.String()}
				e.game, err = gameRecord(v, g)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// journalGames are the games of a match's journal, by their numbers.
func journalGames(h match.Header, games []*match.Game) (iter.Seq2[exported, error], error) {
	v, err := loadRules(h.Variant, h.Rules)
	if err != nil {
		return nil, err
	}
	number := func(g *match.Game) int {
		if g.Second {
			return 2*g.Pair + 2
		}
		return 2*g.Pair + 1
	}
	slices.SortStableFunc(games, func(a, b *match.Game) int { return number(a) - number(b) })
	return func(yield func(exported, error) bool) {
		for _, g := range games {
			e := exported{name: fmt.Sprintf("%05d", number(g)), id: fmt.Sprint(number(g))}
			e.game, err = matchRecord(v, h, g)
			if err != nil {
				err = fmt.Errorf("game %s: %w", e.id, err)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}, nil
}

// matchRecord returns a game of a match in the form that game files are written from.
func matchRecord(v *rules.Variant, h match.Header, g *match.Game) (*notation.Game, error) {
	out := &notation.Game{Variant: v, Start: g.Start, Event: fmt.Sprintf("%s - %s", h.A, h.B)}
	p, err := v.ParseSFEN(g.Start)
	if err != nil {
		return nil, err
	}
	second := h.A
	if g.First == h.A {
		second = h.B
	}
	out.Names[p.Side()], out.Names[p.Side().Other()] = g.First, second
	for i, text := range strings.Fields(g.Moves) {
		eval := math.NaN()
		if k := i - g.Opening; k >= 0 && k < len(g.Values) && g.Values[k] >= 0 {
			if eval = g.Values[k]; p.Side() == rules.Gote {
				eval = 1 - eval
			}
		}
		m, err := p.ParseMove(text)
		if err != nil {
			return nil, fmt.Errorf("ply %d: %w", i+1, err)
		}
		out.Evals = append(out.Evals, eval)
		out.Moves = append(out.Moves, m)
		p.Do(m)
	}
	if out.Outcome.Result, err = rules.ParseResult(g.Result); err != nil {
		return nil, err
	}
	out.Outcome.Reason, err = rules.ParseReason(g.Reason)
	return out, err
}

// exportKIF writes a folder with a file for each game.
func (f *exportFlags) exportKIF(games iter.Seq2[exported, error], stderr io.Writer) error {
	if _, err := os.Lstat(f.out); err == nil {
		return fmt.Errorf("--out %s: it exists already, and KIF files are written into a new folder", f.out)
	}
	n := 0
	err := whole.WriteDir(f.out, func(dir string) error {
		for e, err := range games {
			if err != nil {
				return err
			}
			var b bytes.Buffer
			if err := e.game.WriteKIF(&b, notation.UTF8); err != nil {
				return fmt.Errorf("game %s: %w", e.id, err)
			}
			if err := whole.WriteFile(filepath.Join(dir, e.name+".kif"), b.Bytes()); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	if err == nil {
		fmt.Fprintf(stderr, "%s: %d games\n", f.out, n)
	}
	return err
}

// writeCSA writes all games one after the other.
func writeCSA(w io.Writer, games iter.Seq2[exported, error]) (int, error) {
	out := bufio.NewWriter(w)
	n := 0
	for e, err := range games {
		if err != nil {
			return n, err
		}
		if n > 0 {
			out.WriteString("/\n")
		}
		if err := e.game.WriteCSA(out); err != nil {
			return n, fmt.Errorf("game %s: %w", e.id, err)
		}
		n++
	}
	return n, out.Flush()
}

// writeUSI writes each game as a line: position sfen ... moves ..., with result
// and reason after a tab.
func writeUSI(w io.Writer, games iter.Seq2[exported, error]) (int, error) {
	out := bufio.NewWriter(w)
	n := 0
	for e, err := range games {
		if err != nil {
			return n, err
		}
		p, err := e.game.Position(0)
		if err != nil {
			return n, fmt.Errorf("game %s: %w", e.id, err)
		}
		fmt.Fprintf(out, "position sfen %s moves", e.game.StartSFEN())
		for _, m := range e.game.Moves {
			out.WriteByte(' ')
			out.WriteString(p.FormatMove(m))
			p.Do(m)
		}
		if _, err := fmt.Fprintf(out, "\t%s\t%s\n", e.game.Outcome.Result, e.game.Outcome.Reason); err != nil {
			return n, err
		}
		n++
	}
	return n, out.Flush()
}
