package notation

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"kirin/rules"
)

// csaKeys are the keywords of the CSA header that a Game has fields for.
const (
	csaEvent = "EVENT"
	csaSite  = "SITE"
	csaStart = "START_TIME"
)

var errCSAGame = errors.New("CSA files are for shogi only")

// WriteCSA writes a game of shogi as a CSA file (version 2.2, UTF-8).
func (g *Game) WriteCSA(w io.Writer) error {
	if g.Variant.Name() != "shogi" {
		return fmt.Errorf("%s: %w", g.Variant.Name(), errCSAGame)
	}
	p, err := g.Position(0)
	if err != nil {
		return err
	}
	start := p.Clone()
	var moves strings.Builder
	g.csaComment(&moves, 0)
	for i, m := range g.Moves {
		if err := g.check(p, m); err != nil {
			return err
		}
		moves.WriteString(csaMove(p, m) + "\n")
		p.Do(m)
		g.csaComment(&moves, i+1)
	}
	end := endingFor(csaEndings, g.Outcome, p.Side())
	moves.WriteString("%" + end.word + "\n")

	var b strings.Builder
	b.WriteString("V2.2\n")
	if s := g.remark(start, p, end); s != "" {
		b.WriteString("'kirin " + s + "\n")
	}
	for s, sign := range [2]string{"N+", "N-"} {
		if name := oneLine(g.Names[s]); name != "" {
			b.WriteString(sign + name + "\n")
		}
	}
	tags := append([]Tag{{csaEvent, g.Event}, {csaSite, g.Place}, {csaStart, g.Date}}, g.Tags...)
	for _, t := range tags {
		key, value := oneLine(t.Key), oneLine(t.Value)
		if value != "" && key != "" && !strings.ContainsAny(key, ": ") {
			b.WriteString("$" + key + ":" + value + "\n")
		}
	}
	if g.even() {
		b.WriteString("PI\n")
	} else {
		csaBoard(&b, start)
	}
	b.WriteString(csaSign(start.Side()) + "\n")
	b.WriteString(moves.String())
	_, err = io.WriteString(w, b.String())
	return err
}

func csaSign(s rules.Side) string { return [2]string{"+", "-"}[s] }

func csaBoard(b *strings.Builder, p *rules.Position) {
	v := p.Variant()
	for rank := range v.Height() {
		fmt.Fprintf(b, "P%d", rank+1)
		for x := range v.Width() {
			pc := p.At(rules.Square(rank*v.Width() + x))
			if pc == rules.NoPiece {
				b.WriteString(" * ")
			} else {
				b.WriteString(csaSign(pc.Side()) + of(v, pc.Kind()).csa)
			}
		}
		b.WriteByte('\n')
	}
	for _, s := range []rules.Side{rules.Sente, rules.Gote} {
		hand := ""
		for _, k := range v.HandKinds() {
			hand += strings.Repeat("00"+of(v, k).csa, p.Hand(s, k))
		}
		if hand != "" {
			b.WriteString("P" + csaSign(s) + hand + "\n")
		}
	}
}

// csaMove writes a move like +7776FU: origin, target and the piece as it stands on the target.
func csaMove(p *rules.Position, m rules.Move) string {
	v := p.Variant()
	file, rank := fileRank(v, m.To())
	if k := m.DropKind(); k != rules.NoKind {
		return fmt.Sprintf("%s00%d%d%s", csaSign(p.Side()), file, rank, of(v, k).csa)
	}
	k := p.At(m.From()).Kind()
	if m.Promotes() {
		k = v.Info(k).Promotes
	}
	f, r := fileRank(v, m.From())
	return fmt.Sprintf("%s%d%d%d%d%s", csaSign(p.Side()), f, r, file, rank, of(v, k).csa)
}

// csaComment writes comments as lines '* and an evaluation as '** with hundredths of a pawn, as floodgate does.
func (g *Game) csaComment(b *strings.Builder, ply int) {
	for _, line := range commentLines(g.comment(ply)) {
		if strings.HasPrefix(line, "*") {
			line = " " + line
		}
		b.WriteString("'*" + line + "\n")
	}
	if cp, ok := g.eval(ply); ok {
		fmt.Fprintf(b, "'** %d\n", cp)
	}
}
