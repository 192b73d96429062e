package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"kirin/dataset/whole"
	"kirin/rules"
	"kirin/rules/notation"

	"github.com/spf13/cobra"
)

// showFormats are what show can print.
var showFormats = []string{"text", "sfen", "usi", "kif", "kif-sjis", "csa", "western", "japanese"}

// maxGameFile bounds a file with a game.
const maxGameFile = 16 << 20

// showFlags are the flags of show.
type showFlags struct {
	game    gameFlags
	file    string
	ply     int
	svg     string
	as      string
	moves   bool
	from    string
	letters bool
}

func newShow() *cobra.Command {
	var f showFlags
	cmd := &cobra.Command{
		Use:   "show [MOVE ...]",
		Short: "Draw a position, or read and convert a game file",
		Long: `Show draws the position after the given USI moves from the start position (or
--sfen), or the last position of a game file (KIF, CSA, USI or a list of Western
moves, in UTF-8 or Shift-JIS), as text or as an SVG picture.

With --as it writes the game instead: usi, kif, kif-sjis (Shift-JIS), csa (shogi),
western (a numbered list) or japanese (one move a line); sfen is the position.
A game file says by itself which game it is, except for a list of Western moves.`,
		Example: `  kirin show --variant shogi 7g7f 3c3d --moves
  kirin show --variant chushogi --svg board.svg
  kirin show --game game.kif --ply 40
  kirin show --game game.csa --as kif > game.kif`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.game.add(cmd)
	f.game.addSFEN(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.file, "game", "", "game file to read (- for standard input)")
	fl.IntVar(&f.ply, "ply", -1, "show the position after this many moves (default: all)")
	untold(cmd, "ply")
	fl.StringVar(&f.svg, "svg", "", "write a picture to this SVG file (- for standard output)")
	fl.StringVar(&f.as, "as", "text", "what to print: "+strings.Join(showFormats, ", "))
	fl.BoolVar(&f.moves, "moves", false, "mark the squares that legal moves lead to, and list the moves")
	fl.StringVar(&f.from, "from", "", "with --moves: only the moves of the piece on this square")
	fl.BoolVar(&f.letters, "letters", false, "letters instead of kanji")
	return cmd
}

func (f *showFlags) run(cmd *cobra.Command, args []string) error {
	if !slices.Contains(showFormats, f.as) {
		return fmt.Errorf("--as %s: not one of %s", f.as, strings.Join(showFormats, ", "))
	}
	if f.svg != "" && f.as != "text" {
		return errors.New("give either --svg or --as")
	}
	if cmd.Flags().Changed("ply") && f.ply < 0 {
		return fmt.Errorf("--ply %d is negative", f.ply)
	}
	g, err := f.load(cmd, args)
	if err != nil {
		return err
	}
	if f.ply > len(g.Moves) {
		return fmt.Errorf("--ply %d: the game has only %d moves", f.ply, len(g.Moves))
	}
	if f.ply >= 0 && f.ply < len(g.Moves) {
		g.Moves = g.Moves[:f.ply]
		g.Outcome = rules.Outcome{}
		g.Comments = g.Comments[:min(len(g.Comments), f.ply+1)]
		g.Evals = g.Evals[:min(len(g.Evals), f.ply+1)]
	}
	p, err := g.Position(len(g.Moves))
	if err != nil {
		return err
	}
	o := notation.Picture{Letters: f.letters}
	var legal []rules.Move
	if f.moves {
		if legal, err = f.legal(p); err != nil {
			return err
		}
		o.Dots = targets(legal)
	}
	out := cmd.OutOrStdout()
	switch f.svg {
	case "":
		return f.print(out, g, p, o, legal)
	case "-":
		_, err = io.WriteString(out, notation.SVG(p, o))
		return err
	}
	if err := whole.WriteFile(f.svg, []byte(notation.SVG(p, o))); err != nil {
		return fmt.Errorf("--svg: %w", err)
	}
	return nil
}

// load reads the game that the flags and arguments name.
func (f *showFlags) load(cmd *cobra.Command, args []string) (*notation.Game, error) {
	if f.file == "" {
		v, p, err := f.game.position()
		if err != nil {
			return nil, err
		}
		if err := playMoves(p, args); err != nil {
			return nil, err
		}
		g := &notation.Game{Variant: v, Start: f.game.sfen}
		for i := range p.Ply() {
			g.Moves = append(g.Moves, p.MoveAt(i))
		}
		g.Outcome = p.Outcome(p.CountMoves())
		return g, nil
	}
	if len(args) > 0 || f.game.sfen != "" {
		return nil, errors.New("give either --game or a position with moves")
	}
	var in io.Reader = cmd.InOrStdin()
	if f.file != "-" {
		file, err := os.Open(f.file)
		if err != nil {
			return nil, fmt.Errorf("--game: %w", err)
		}
		defer file.Close()
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, maxGameFile+1))
	if err != nil {
		return nil, fmt.Errorf("--game %s: %w", f.file, err)
	}
	if len(data) > maxGameFile {
		return nil, fmt.Errorf("--game %s: more than %d MB", f.file, maxGameFile>>20)
	}
	var v *rules.Variant // nil: the file says it
	if cmd.Flags().Changed("variant") || cmd.Flags().Changed("rules") || cmd.Flags().Changed("set") {
		if v, err = f.game.load(); err != nil {
			return nil, err
		}
	}
	g, err := notation.Read(data, v)
	if err != nil {
		return nil, fmt.Errorf("--game %s: %w", f.file, err)
	}
	return g, nil
}

// legal returns the legal moves of p, or those of the piece on --from, sorted by their text.
func (f *showFlags) legal(p *rules.Position) ([]rules.Move, error) {
	moves := p.AppendMoves(nil)
	if f.from != "" {
		sq, err := p.Variant().ParseSquare(f.from)
		if err != nil {
			return nil, fmt.Errorf("--from: %w", err)
		}
		moves = slices.DeleteFunc(moves, func(m rules.Move) bool { return m.From() != sq })
	}
	slices.SortFunc(moves, func(a, b rules.Move) int { return strings.Compare(p.FormatMove(a), p.FormatMove(b)) })
	return moves, nil
}

// targets returns the squares on which moves end, each once.
func targets(moves []rules.Move) []rules.Square {
	var out []rules.Square
	for _, m := range moves {
		if !slices.Contains(out, m.To()) {
			out = append(out, m.To())
		}
	}
	return out
}

func (f *showFlags) print(out io.Writer, g *notation.Game, p *rules.Position, o notation.Picture, legal []rules.Move) error {
	var b bytes.Buffer
	var err error
	var line string
	switch f.as {
	case "text":
		b.WriteString(notation.Text(p, o))
		if g.Outcome.Result != rules.Ongoing {
			fmt.Fprintf(&b, "the game is over: %s\n", g.Outcome)
		}
		for _, m := range legal {
			fmt.Fprintf(&b, "%-8s %-10s %s\n", p.FormatMove(m), notation.Western(p, m), notation.Japanese(p, m))
		}
	case "sfen":
		line = p.SFEN()
	case "usi":
		line, err = g.USI()
	case "western":
		line, err = g.MoveList()
	case "japanese":
		err = writeJapanese(&b, g)
	case "kif":
		err = g.WriteKIF(&b, notation.UTF8)
	case "kif-sjis":
		err = g.WriteKIF(&b, notation.ShiftJIS)
	case "csa":
		err = g.WriteCSA(&b)
	}
	if err != nil {
		return err
	}
	if line != "" {
		b.WriteString(line + "\n")
	}
	_, err = out.Write(b.Bytes())
	return err
}

// writeJapanese writes the moves of a game in Japanese notation, one a line.
func writeJapanese(w io.Writer, g *notation.Game) error {
	p, err := g.Position(0)
	if err != nil {
		return err
	}
	for i, m := range g.Moves {
		if _, err := fmt.Fprintf(w, "%d %s\n", i+1, notation.Japanese(p, m)); err != nil {
			return err
		}
		p.Do(m)
	}
	return nil
}
