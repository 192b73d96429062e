package notation

import (
	"fmt"
	"slices"
	"strings"

	"kirin/rules"
)

// Western writes m, a legal move of p, in Western (Hodges) notation: letter, - for a move, x for a capture, * for a drop,
// square, + for a promotion and = for one declined: P-7f, Bx3c+, Sx5c=, S*5b. The origin follows the letter only where
// another piece of that name could go there too: G6i-5h. Tori shogi has letters of two characters (Swx4a+, LQ*3d). A double
// move of chu shogi is Lnx7fx7e or Lnx7f-6e, igui Lnx!7f, a pass --, or Ln7g-- where several pieces could pass.
func Western(p *rules.Position, m rules.Move) string {
	v := p.Variant()
	if k := m.DropKind(); k != rules.NoKind {
		return westernDrop(of(v, k)) + "*" + v.SquareString(m.To())
	}
	var buf moveBuffer
	moves := p.AppendMoves(buf[:0])
	from, to := m.From(), m.To()
	letter := of(v, p.At(from).Kind()).western
	same := func(k rules.Kind) bool { return of(v, k).western == letter }
	if m.IsPass() {
		same = func(rules.Kind) bool { return true }
	}
	origin := ""
	if rivals(nil, p, m, moves, same) != nil {
		origin = v.SquareString(from)
	}
	switch {
	case m.IsPass() && origin == "":
		return "--"
	case m.IsPass():
		return letter + origin + "--"
	case from == to:
		return letter + origin + "x!" + v.SquareString(m.Via())
	}
	s := letter + origin
	if m.IsDouble() {
		s += "x" + v.SquareString(m.Via())
	}
	if p.At(to) != rules.NoPiece {
		s += "x"
	} else {
		s += "-"
	}
	s += v.SquareString(to)
	switch {
	case m.Promotes():
		s += "+"
	case declines(m, moves):
		s += "="
	}
	return s
}

// westernDrop returns the letters of a piece that is dropped: the quails of tori shogi must be told apart.
func westernDrop(n *name) string {
	if n.mark != "" {
		return n.letter + n.western
	}
	return n.western
}

// ParseWestern reads a move of p in Western notation, without regard to the case of letters. Squares may have a letter (7f)
// or on boards up to 9x9 a digit (76) for the rank. The sign of a compulsory promotion may be missing.
func ParseWestern(p *rules.Position, s string) (rules.Move, error) {
	w, ok := scanWestern(p.Variant(), strings.TrimSpace(s))
	if !ok {
		return rules.NoMove, fmt.Errorf("%w in Western notation: %.30q", rules.ErrMoveText, s)
	}
	return w.find(p)
}

func scanWestern(v *rules.Variant, s string) (*want, bool) {
	w := &want{text: s, from: rules.NoSquare, to: rules.NoSquare, via: rules.NoSquare}
	if s == "--" {
		w.pass = true
		return w, true
	}
	upper := cursor{strings.ToUpper(s)}
	if len(upper.rest) != len(s) {
		return nil, false
	}
	promoted := upper.eat("+") != ""
	base := upper.word(lexicons[v.Name()].western)
	if base == nil {
		return nil, false
	}
	w.piece = base
	if promoted {
		w.piece = &word{text: "+" + base.text}
		for _, l := range base.letters {
			w.piece.letters = append(w.piece.letters, "+"+l)
		}
	}
	c := cursor{strings.ToLower(s[len(s)-len(upper.rest):])}
	if sq, ok := c.square(v); ok {
		w.from = sq
	}
	if c.rest == "--" {
		w.pass = true
		return w, true
	}
	var ok bool
	switch c.eat("x!", "-", "x", "*") {
	case "x!":
		w.igui = true
		w.via, ok = c.square(v)
		return w, ok && c.rest == ""
	case "*":
		w.drop = true
	case "":
		return nil, false
	default:
		w.board = true
	}
	if w.to, ok = c.square(v); !ok || w.drop && w.from != rules.NoSquare {
		return nil, false
	}
	if w.board && c.eat("-", "x") != "" {
		w.via = w.to
		if w.to, ok = c.square(v); !ok {
			return nil, false
		}
	}
	switch c.eat("+", "=") {
	case "+":
		w.promotes = true
	case "=":
		w.declines = true
	}
	if w.via != rules.NoSquare && w.to == w.from && w.from != rules.NoSquare { // Ln7gx7f-7g
		w.igui, w.to = true, rules.NoSquare
	}
	return w, c.rest == ""
}

// MoveList writes the game's moves in Western notation with numbers: "1. P-7f P-3d 2. P-2f". Where White moves first, the
// first move of Black is an ellipsis: "1. ... P-3d 2. P-7f".
func (g *Game) MoveList() (string, error) {
	p, err := g.Position(0)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	number := 0
	for i, m := range g.Moves {
		if i > 0 {
			b.WriteByte(' ')
		}
		if p.Side() == rules.Sente || i == 0 {
			number++
			fmt.Fprintf(&b, "%d. ", number)
			if p.Side() == rules.Gote {
				b.WriteString("... ")
			}
		}
		if err := g.check(p, m); err != nil {
			return "", err
		}
		b.WriteString(Western(p, m))
		p.Do(m)
	}
	return b.String(), nil
}

// ReadMoveList reads moves in Western notation from a start position (the SFEN start, or the even start if it is empty).
// Numbers and ellipses may be missing.
func ReadMoveList(v *rules.Variant, start, text string) (*Game, error) {
	g := &Game{Variant: v, Start: start}
	p, err := g.Position(0)
	if err != nil {
		return nil, err
	}
	for n, line := range strings.Split(text, "\n") {
		for _, t := range strings.Fields(line) {
			t = strings.TrimLeft(t, "0123456789")
			t = strings.TrimLeft(t, ".…")
			if t == "" {
				continue
			}
			m, err := ParseWestern(p, t)
			if err != nil {
				return nil, &FileError{"move list", n + 1, fmt.Errorf("ply %d: %w", len(g.Moves)+1, err)}
			}
			g.Moves = append(g.Moves, m)
			p.Do(m)
		}
	}
	g.Moves = slices.Clip(g.Moves)
	g.Outcome = finalOutcome(p)
	return g, nil
}
