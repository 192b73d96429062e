package notation

import (
	"fmt"
	"strings"

	"golang.org/x/text/width"

	"kirin/rules"
)

// Picture says what a picture of a position shows besides the pieces and the last move.
type Picture struct {
	// Dots are squares to mark, such as those that legal moves lead to.
	Dots []rules.Square
	// Letters shows letters instead of kanji: those of SFEN in text, those of Western notation in SVG.
	Letters bool
}

// Columns returns how many columns of a terminal s takes: full-width characters take two.
func Columns(s string) int {
	n := 0
	for _, r := range s {
		switch width.LookupRune(r).Kind() {
		case width.EastAsianWide, width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}

// Text draws the position for a terminal, all ranks of equal width. Pieces of gote have a v before them or are lower case, a
// + after them marks a promoted piece, l and r the quails of tori shogi, a star a square of Dots.
func Text(p *rules.Position, o Picture) string {
	v := p.Variant()
	var dots [256]bool
	for _, sq := range o.Dots {
		dots[sq] = true
	}
	var b strings.Builder
	b.WriteString(handText(p, rules.Gote, o.Letters))
	for file := v.Width(); file > 0; file-- {
		switch {
		case o.Letters:
			fmt.Fprintf(&b, "%4d", file)
		case file < 10:
			b.WriteString("  " + fullWidth(file))
		default:
			fmt.Fprintf(&b, "  %d", file)
		}
	}
	border := "+" + strings.Repeat("-", 4*v.Width()) + "+"
	b.WriteString("\n" + border + "\n")
	for y := range v.Height() {
		b.WriteByte('|')
		for x := range v.Width() {
			sq := rules.Square(y*v.Width() + x)
			b.WriteString(cellText(v, p.At(sq), dots[sq], o.Letters))
		}
		fmt.Fprintf(&b, "|%c", 'a'+y)
		if !o.Letters {
			b.WriteString(" " + kanjiNumeral(y+1))
		}
		b.WriteByte('\n')
	}
	b.WriteString(border + "\n")
	b.WriteString(handText(p, rules.Sente, o.Letters))
	fmt.Fprintf(&b, "%s to move, move %d", p.Side(), p.MoveNumber())
	if p.InCheck() {
		b.WriteString(", in check")
	}
	if m := p.LastMove(); m != rules.NoMove {
		q := p.Clone()
		q.Undo()
		text := Japanese(q, m)
		if o.Letters {
			text = Western(q, m)
		}
		fmt.Fprintf(&b, "; last move %s (%s)", text, q.FormatMove(m))
	}
	if sq := p.BanSquare(); sq != rules.NoSquare {
		fmt.Fprintf(&b, "; a lion was taken on %s", v.SquareString(sq))
	}
	b.WriteByte('\n')
	return b.String()
}

// cellText draws one square in four columns.
func cellText(v *rules.Variant, pc rules.Piece, dot, letters bool) string {
	mark := " "
	if dot {
		mark = "*"
	}
	if pc == rules.NoPiece {
		if letters {
			return "  ." + mark
		}
		return " ・" + mark
	}
	n := of(v, pc.Kind())
	if letters {
		s := n.letter
		if pc.Side() == rules.Gote {
			s = strings.ToLower(s)
		}
		return fmt.Sprintf("%3s%s", s, mark)
	}
	switch {
	case dot:
	case n.letter[0] == '+':
		mark = "+"
	case n.mark != "":
		mark = strings.ToLower(n.letter)
	}
	side := " "
	if pc.Side() == rules.Gote {
		side = "v"
	}
	return side + n.kanji + mark
}

// handText is the line of a hand, empty in games without hands.
func handText(p *rules.Position, s rules.Side, letters bool) string {
	v := p.Variant()
	if v.HandKinds() == nil {
		return ""
	}
	var parts []string
	for _, k := range v.HandKinds() {
		n := p.Hand(s, k)
		if n == 0 {
			continue
		}
		text := of(v, k).letter
		if !letters {
			text = of(v, k).kif
		}
		if n > 1 {
			text += fmt.Sprint(n)
		}
		parts = append(parts, text)
	}
	if parts == nil {
		parts = []string{"-"}
	}
	return fmt.Sprintf("%-5s in hand: %s\n", s, strings.Join(parts, " "))
}
