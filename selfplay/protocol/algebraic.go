package protocol

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"kirin/rules"
)

// passText is a pass in CECP.
const passText = "@@@@"

// FormatAlgebraic writes a move with files lettered from the left and ranks numbered from the bottom, as UCI and CECP
// do: "c3c4", promotion "a7a8+", drop "P@c3", double move "f4f5,f5g6" by its two steps, pass "@@@@".
func FormatAlgebraic(v *rules.Variant, m rules.Move) string {
	switch {
	case m.IsPass():
		return passText
	case m.IsDrop():
		return v.Info(m.DropKind()).Letter + "@" + algebraicSquare(v, m.To())
	case m.IsDouble():
		via := algebraicSquare(v, m.Via())
		return algebraicSquare(v, m.From()) + via + "," + via + algebraicSquare(v, m.To())
	}
	s := algebraicSquare(v, m.From()) + algebraicSquare(v, m.To())
	if m.Promotes() {
		s += "+"
	}
	return s
}

// algebraicSquare writes a square as "c3".
func algebraicSquare(v *rules.Variant, sq rules.Square) string {
	row, col := int(sq)/v.Width(), int(sq)%v.Width()
	return string(rune('a'+col)) + strconv.Itoa(v.Height()-row)
}

// parseAlgebraicSquare reads a square at the head of s and returns the rest.
func parseAlgebraicSquare(v *rules.Variant, s string) (rules.Square, string, error) {
	if s == "" {
		return 0, "", errors.New("a square is missing")
	}
	col := int(s[0]) - 'a'
	n := 1
	for n < len(s) && n < 4 && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	rank, err := strconv.Atoi(s[1:n])
	if err != nil || col < 0 || col >= v.Width() || rank < 1 || rank > v.Height() {
		return 0, "", fmt.Errorf("%q does not start with a square", s)
	}
	return rules.Square((v.Height()-rank)*v.Width() + col), s[n:], nil
}

// ParseAlgebraic reads a legal move of p in the writing of FormatAlgebraic. A promotion that the rules force may be
// left out, "=" declines one, and a double move through an empty square is taken for what it amounts to. Text that is
// no move, and a move that is not legal, are errors; the latter wraps rules.ErrIllegalMove.
func ParseAlgebraic(p *rules.Position, s string) (rules.Move, error) {
	v := p.Variant()
	if s == passText || s == "--" {
		for _, m := range p.AppendMoves(nil) {
			if m.IsPass() {
				return m, nil
			}
		}
		return rules.NoMove, fmt.Errorf("move %q: %w: no piece may pass", s, rules.ErrIllegalMove)
	}
	usi, err := algebraicToUSI(v, s)
	if err != nil {
		return rules.NoMove, fmt.Errorf("move %q: %w", s, err)
	}
	m, err := p.ParseMove(usi)
	if err != nil && errors.Is(err, rules.ErrIllegalMove) && !strings.ContainsAny(s, "+=@*,") {
		if from, _, e := parseAlgebraicSquare(v, s); e == nil && v.Info(p.At(from).Kind()).Promotes != rules.NoKind {
			if forced, e := p.ParseMove(usi + "+"); e == nil {
				return forced, nil
			}
		}
	}
	if err != nil {
		return rules.NoMove, fmt.Errorf("move %q: %w", s, err)
	}
	return m, nil
}

// algebraicToUSI rewrites the squares of a move.
func algebraicToUSI(v *rules.Variant, s string) (string, error) {
	if letter, to, ok := strings.Cut(s, "@"); ok {
		return dropToUSI(v, letter, to)
	}
	if letter, to, ok := strings.Cut(s, "*"); ok {
		return dropToUSI(v, letter, to)
	}
	from, rest, err := parseAlgebraicSquare(v, s)
	if err != nil {
		return "", err
	}
	to, rest, err := parseAlgebraicSquare(v, rest)
	if err != nil {
		return "", err
	}
	usi := v.SquareString(from) + v.SquareString(to)
	if second, ok := strings.CutPrefix(rest, ","); ok {
		from, rest, err = parseAlgebraicSquare(v, second)
		if err != nil {
			return "", err
		}
		if from != to {
			return "", errors.New("the second step does not start where the first ended")
		}
		to, rest, err = parseAlgebraicSquare(v, rest)
		if err != nil {
			return "", err
		}
		usi += v.SquareString(to)
	}
	switch rest {
	case "", "=":
		return usi, nil
	case "+":
		return usi + "+", nil
	}
	return "", fmt.Errorf("%q is no ending of a move", rest)
}

func dropToUSI(v *rules.Variant, letter, to string) (string, error) {
	sq, rest, err := parseAlgebraicSquare(v, to)
	if err != nil {
		return "", err
	}
	if rest != "" {
		return "", fmt.Errorf("%q is no ending of a drop", rest)
	}
	return strings.ToUpper(letter) + "*" + v.SquareString(sq), nil
}

// FormatFEN writes a position as UCI engines with shogi variants read it: board, pieces in hand in brackets, "w" for
// the side that SFEN calls "b" (it moves up the board), no half-move count.
func FormatFEN(p *rules.Position) string {
	board, hands, side, number := fenFields(p)
	return board + "[" + hands + "] " + side + " 0 " + number
}

func fenFields(p *rules.Position) (board, hands, side, number string) {
	f := strings.Fields(p.SFEN())
	side = "w"
	if f[1] == "w" {
		side = "b"
	}
	hands = "-"
	if f[2] != "-" {
		var b strings.Builder
		count := 0
		for _, c := range f[2] {
			if c >= '0' && c <= '9' {
				count = count*10 + int(c-'0')
				continue
			}
			b.WriteString(strings.Repeat(string(c), max(count, 1)))
			count = 0
		}
		hands = b.String()
	}
	if len(p.Variant().HandKinds()) == 0 {
		hands = "-" // the third field of chu shogi's SFEN is no hand
	}
	return f[0], hands, side, f[3]
}
