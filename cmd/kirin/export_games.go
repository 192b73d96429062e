package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"kirin/dataset"
	"kirin/dataset/whole"
	"kirin/rules"
	"kirin/rules/notation"
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

// exportKIF writes a folder with a file for each game, named by its number.
func (f *exportFlags) exportKIF(r *runDir, store *dataset.Store, stderr io.Writer) error {
	if _, err := os.Lstat(f.out); err == nil {
		return fmt.Errorf("--out %s: it exists already, and KIF files are written into a new folder", f.out)
	}
	n := 0
	err := whole.WriteDir(f.out, func(dir string) error {
		for g, err := range store.All() {
			if err != nil {
				return err
			}
			game, err := gameRecord(r.variant, g)
			if err != nil {
				return err
			}
			var b bytes.Buffer
			if err := game.WriteKIF(&b, notation.UTF8); err != nil {
				return fmt.Errorf("game %s: %w", g.ID, err)
			}
			name := fmt.Sprintf("%08d-%s.kif", g.Number, g.ID.String()[:8])
			if err := whole.WriteFile(filepath.Join(dir, name), b.Bytes()); err != nil {
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
func writeCSA(w io.Writer, v *rules.Variant, store *dataset.Store) (int, error) {
	out := bufio.NewWriter(w)
	n := 0
	for g, err := range store.All() {
		if err != nil {
			return n, err
		}
		game, err := gameRecord(v, g)
		if err != nil {
			return n, err
		}
		if n > 0 {
			out.WriteString("/\n")
		}
		if err := game.WriteCSA(out); err != nil {
			return n, fmt.Errorf("game %s: %w", g.ID, err)
		}
		n++
	}
	return n, out.Flush()
}
