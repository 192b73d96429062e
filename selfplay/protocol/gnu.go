package protocol

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kirin/rules"
)

// gnuDialect speaks with GNU shogi and GNU minishogi in their text mode (-X). Every move is echoed ("2. 5d5c 300000"),
// the program's own with dots ("2. ... 5a5c 300000"). The game is what the program was built for: it knows no variants.
type gnuDialect struct {
	*conn
	start *rules.Position
	known []rules.Move
	setUp bool
	depth int
}

func (d *gnuDialect) greet(ctx context.Context) (string, error) {
	if n := d.o.Variant.Name(); n != "shogi" && n != "minishogi" {
		return "", fmt.Errorf("the program does not play %s", n)
	}
	if len(d.o.Settings) > 0 {
		return "", fmt.Errorf("the program has no option %q (GNU shogi has none)", d.o.Settings[0].Name)
	}
	name, err := d.receive(ctx)
	if err != nil {
		return "", fmt.Errorf("waiting for its name: %w", err)
	}
	return strings.TrimSpace(name), nil
}

func (d *gnuDialect) newGame(_ context.Context, start *rules.Position) error {
	if start.SFEN() != start.Variant().Start().SFEN() {
		return fmt.Errorf("the program cannot be given the start position %s", start.SFEN())
	}
	d.start, d.known, d.setUp = start, d.known[:0], true
	return errors.Join(d.send("new"), d.send("force"))
}

func (d *gnuDialect) search(ctx context.Context, start *rules.Position, moves []rules.Move, p *rules.Position, l Limits) (Answer, error) {
	if l.Depth <= 0 {
		return Answer{}, errors.New("the program is limited by depth only: give depth=N")
	}
	if !d.setUp || len(d.known) > len(moves) || !slices.Equal(d.known, moves[:len(d.known)]) {
		if err := d.newGame(ctx, start); err != nil {
			return Answer{}, err
		}
	}
	if d.depth != l.Depth { // "depth" asks for the number on the next line
		if err := errors.Join(d.send("depth"), d.send(strconv.Itoa(l.Depth))); err != nil {
			return Answer{}, err
		}
		d.depth = l.Depth
	}
	for len(d.known) < len(moves) {
		if err := d.play(ctx, start, moves, p); err != nil {
			return Answer{}, err
		}
	}
	if err := d.send("go"); err != nil {
		return Answer{}, err
	}
	a := Answer{Depth: l.Depth}
	for {
		line, err := d.receive(ctx)
		if err != nil {
			return a, fmt.Errorf("waiting for a move: %w", err)
		}
		if text, own, ok := gnuMove(line); ok && own {
			a.Move, err = p.ParseMove(text)
			if err != nil {
				d.setUp = false
				return a, &IllegalMove{Engine: d.o.Command, Text: text, SFEN: p.SFEN(), Err: err}
			}
			d.known = append(d.known, a.Move)
			return a, d.send("force")
		}
		if c := gnuClaim(line); c.Result != rules.Ongoing {
			d.setUp = false
			a.Claim, a.Resign = c, c.Result == rules.Winner(p.Side().Other())
			return a, nil
		}
	}
}

// play gives the program the next of the game's moves and waits for its echo.
func (d *gnuDialect) play(ctx context.Context, start *rules.Position, moves []rules.Move, p *rules.Position) error {
	m := moves[len(d.known)]
	text := p.FormatMove(m) // without passes, a move is written alike in every position
	if err := d.send(text); err != nil {
		return err
	}
	for {
		line, err := d.receive(ctx)
		if err != nil {
			return fmt.Errorf("waiting for the echo of %s: %w", text, err)
		}
		if strings.HasPrefix(line, "Illegal move") || strings.Contains(line, "Ambiguous") {
			d.setUp = false
			return &Refusal{Engine: d.o.Command, Move: text, SFEN: before(start, moves, len(d.known)), Reply: line}
		}
		if echo, own, ok := gnuMove(line); ok && !own && echo == text {
			d.known = append(d.known, m)
			return nil
		}
	}
}

// gnuMove reads "12. ... 3c3d 300000" (own) or "12. 7g7f 300000"; a prompt may stand before it.
func gnuMove(line string) (text string, own, ok bool) {
	f := strings.Fields(strings.TrimPrefix(line, "depth = "))
	if len(f) < 2 || !strings.HasSuffix(f[0], ".") {
		return "", false, false
	}
	if _, err := strconv.Atoi(strings.TrimSuffix(f[0], ".")); err != nil {
		return "", false, false
	}
	f = f[1:]
	if f[0] == "..." {
		own, f = true, f[1:]
	}
	if len(f) == 0 {
		return "", false, false
	}
	return f[0], own, true
}

// gnuClaim reads the program's announcement of an end.
func gnuClaim(line string) Claim {
	switch {
	case strings.Contains(line, "Black mates"), strings.Contains(line, "White resigns"):
		return Claim{Result: rules.SenteWins, Text: line}
	case strings.Contains(line, "White mates"), strings.Contains(line, "Black resigns"):
		return Claim{Result: rules.GoteWins, Text: line}
	case strings.Contains(line, "Draw"), strings.Contains(line, "Repetition"):
		return Claim{Result: rules.Draw, Text: line}
	}
	return Claim{}
}

func (d *gnuDialect) stop(*process)   {}
func (d *gnuDialect) quit(c *process) { _ = c.send("quit") }
