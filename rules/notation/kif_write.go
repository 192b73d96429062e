package notation

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"kirin/rules"
)

// Charset is how a text file is encoded.
type Charset int

// The character sets of KIF files.
const (
	UTF8     Charset = iota // without byte order mark
	UTF8Mark                // with byte order mark
	ShiftJIS                // characters that it lacks become ?
)

// kifHeadings are the keys of the header that a Game has fields for.
const (
	kifDate  = "開始日時"
	kifEvent = "棋戦"
	kifPlace = "場所"
	kifTitle = "手合割"
)

// WriteKIF writes the game as a KIF file.
func (g *Game) WriteKIF(w io.Writer, set Charset) error {
	text, err := g.kif(set)
	if err != nil {
		return err
	}
	var data []byte
	switch set {
	case ShiftJIS:
		data = encodeShiftJIS(text)
	case UTF8Mark:
		data = append(slices.Clone(utf8Mark), text...)
	default:
		data = []byte(text)
	}
	_, err = w.Write(data)
	return err
}

func (g *Game) kif(set Charset) (string, error) {
	p, err := g.Position(0)
	if err != nil {
		return "", err
	}
	start := p.Clone()
	var moves strings.Builder
	g.kifComment(&moves, 0)
	for i, m := range g.Moves {
		if err := g.check(p, m); err != nil {
			return "", err
		}
		if p.Variant().Name() == "chushogi" {
			chuKIFMove(&moves, p, m)
		} else {
			fmt.Fprintf(&moves, "%4d %s\n", i+1, kifMove(p, m))
		}
		p.Do(m)
		g.kifComment(&moves, i+1)
	}
	end := endingFor(kifEndings, g.Outcome, p.Side())
	fmt.Fprintf(&moves, "%4d %s\n", len(g.Moves)+1, end.word)
	if s := summary(g.Outcome, len(g.Moves)); s != "" {
		moves.WriteString(s + "\n")
	}

	var b strings.Builder
	encoding := "UTF-8"
	if set == ShiftJIS {
		encoding = "Shift_JIS"
	}
	b.WriteString("#KIF version=2.0 encoding=" + encoding + "\n")
	if s := g.remark(start, p, end); s != "" {
		b.WriteString("#kirin " + s + "\n")
	}
	g.kifHeader(&b, start)
	b.WriteString("手数----指手---------消費時間--\n")
	b.WriteString(moves.String())
	return b.String(), nil
}

// remark returns what the words of a file cannot give back, for its line #kirin.
func (g *Game) remark(start, end *rules.Position, word *ending) string {
	var parts []string
	v := g.Variant
	outcome := settle(end, word.outcome(end.Side())) != g.Outcome
	_, rest, _ := strings.Cut(start.SFEN(), " ")
	usual := g.even() || start.MoveNumber() == 1 && (v.HandKinds() != nil || strings.HasPrefix(rest[1:], " - "))
	if v.Rules() != "default" || outcome || !usual {
		parts = append(parts, "variant="+v.Name(), "rules="+v.Rules())
	}
	if outcome {
		parts = append(parts, "result="+g.Outcome.Result.String(), "reason="+g.Outcome.Reason.String())
	}
	if !usual {
		parts = append(parts, "sfen="+start.SFEN())
	}
	return strings.Join(parts, " ")
}

// sideNames returns the words for both sides, which are others in handicap games.
func (g *Game) sideNames() [2]string {
	for _, s := range g.Variant.Starts()[1:] {
		if s.SFEN == g.Start {
			return [2]string{"下手", "上手"}
		}
	}
	return [2]string{"先手", "後手"}
}

func (g *Game) kifHeader(b *strings.Builder, start *rules.Position) {
	line := func(key, value string) {
		if value = oneLine(value); value != "" {
			b.WriteString(key + "：" + value + "\n")
		}
	}
	line(kifDate, g.Date)
	line(kifEvent, g.Event)
	line(kifPlace, g.Place)
	for _, t := range g.Tags {
		if key := oneLine(t.Key); key != "" && !strings.ContainsAny(key, " :：#*&|+") {
			line(key, t.Value)
		}
	}
	lex := lexicons[g.Variant.Name()]
	title := lex.title
	shogi := g.Variant.Name() == "shogi"
	for _, s := range g.Variant.Starts() {
		if shogi && s.SFEN == g.Start {
			title = s.Kanji
		}
	}
	// Some programs do not know the handicaps with an odd number of pieces, so the board is drawn for them too.
	odd := title == "三枚落ち" || strings.HasSuffix(title, "五枚落ち")
	board := !g.even() && (!shogi || title == lex.title || odd)
	if !board || !shogi || odd {
		line(kifTitle, title)
	}
	sides := g.sideNames()
	if board {
		kifBoard(b, start, sides)
	}
	for _, s := range []rules.Side{rules.Sente, rules.Gote} {
		b.WriteString(sides[s] + "：" + oneLine(g.Names[s]) + "\n")
	}
}

// kifBoard writes the position as a diagram.
func kifBoard(b *strings.Builder, p *rules.Position, sides [2]string) {
	v := p.Variant()
	cell := 2
	if v.Name() == "chushogi" || v.Name() == "torishogi" {
		cell = 3
	}
	pad := func(s string) string { return strings.Repeat(" ", max(cell-len([]rune(s)), 0)) + s }
	border := "+" + strings.Repeat("-", v.Width()*(cell+1)) + "+\n"
	if v.HandKinds() != nil {
		b.WriteString(sides[rules.Gote] + "の持駒：" + kifHand(p, rules.Gote) + "\n")
	}
	b.WriteString(kifFiles(v.Width(), cell))
	b.WriteString("\n" + border)
	for rank := range v.Height() {
		b.WriteByte('|')
		for x := range v.Width() {
			pc := p.At(rules.Square(rank*v.Width() + x))
			switch {
			case pc == rules.NoPiece:
				b.WriteString(pad("・"))
			case pc.Side() == rules.Gote:
				b.WriteString(pad("v" + of(v, pc.Kind()).board))
			default:
				b.WriteString(pad(of(v, pc.Kind()).board))
			}
		}
		b.WriteString("|" + kanjiNumeral(rank+1) + "\n")
	}
	b.WriteString(border)
	if v.HandKinds() != nil {
		b.WriteString(sides[rules.Sente] + "の持駒：" + kifHand(p, rules.Sente) + "\n")
	}
	b.WriteString(sides[p.Side()] + "番\n")
}

// kifFiles is the line of file numbers above a board; with numbers of two digits it is spaced as lishogi has it.
func kifFiles(width, cell int) string {
	s := ""
	if width <= 9 {
		s = " "
	}
	for file := width; file > 0; file-- {
		pad := cell - 1
		if width > 9 && file >= 9 {
			pad = 1
		}
		s += strings.Repeat(" ", pad) + fullWidth(file)
	}
	return s
}

func kifHand(p *rules.Position, s rules.Side) string {
	v := p.Variant()
	var parts []string
	for _, k := range v.HandKinds() {
		n := p.Hand(s, k)
		if n == 0 {
			continue
		}
		text := of(v, k).kif
		if n > 1 {
			text += kanjiNumeral(n)
		}
		parts = append(parts, text)
	}
	if parts == nil {
		return "なし"
	}
	return strings.Join(parts, "　")
}

// kifMove writes a move like ７六歩(77), 同　銀成(31) or ５五歩打.
func kifMove(p *rules.Position, m rules.Move) string {
	v := p.Variant()
	dest := japaneseSquare(v, m.To())
	if last := p.LastMove(); last != rules.NoMove && last.To() == m.To() {
		dest = "同　"
	}
	if k := m.DropKind(); k != rules.NoKind {
		return dest + of(v, k).kif + "打"
	}
	s := dest + of(v, p.At(m.From()).Kind()).kif
	if m.Promotes() {
		s += "成"
	}
	file, rank := fileRank(v, m.From())
	return fmt.Sprintf("%s(%d%d)", s, file, rank)
}

// chuKIFMove writes a move of chu shogi in lishogi's manner: half-width files, full names, the origin with an arrow, and the
// two steps of a double move on lines of their own with one number.
func chuKIFMove(b *strings.Builder, p *rules.Position, m rules.Move) {
	v := p.Variant()
	square := func(sq rules.Square) string {
		file, rank := fileRank(v, sq)
		return fmt.Sprint(file) + kanjiNumeral(rank)
	}
	piece := of(v, p.At(m.From()).Kind()).kif
	step := func(word string, to, from rules.Square, after string) {
		fmt.Fprintf(b, "%4d %s%s%s%s （←%s）\n", p.Ply()+1, word, square(to), piece, after, square(from))
	}
	if m.IsDouble() || m.IsPass() {
		via := m.Via()
		after := "（居食い）"
		if m.IsPass() {
			c := cursor{p.FormatMove(m)}
			c.square(v)
			via, _ = c.square(v)
			after = ""
		} else if m.From() != m.To() {
			after = ""
		}
		step("一歩目 ", via, m.From(), "")
		step("二歩目 ", m.To(), via, after)
		return
	}
	after := ""
	if m.Promotes() {
		after = "成"
	}
	if last := p.LastMove(); last != rules.NoMove && last.To() == m.To() {
		fmt.Fprintf(b, "%4d 仝%s%s （←%s）\n", p.Ply()+1, piece, after, square(m.From()))
		return
	}
	step("", m.To(), m.From(), after)
}

func (g *Game) kifComment(b *strings.Builder, ply int) {
	for _, line := range commentLines(g.comment(ply)) {
		b.WriteString("*" + line + "\n")
	}
	if cp, ok := g.eval(ply); ok {
		fmt.Fprintf(b, "*%s%d\n", evalMark, cp)
	}
}

// evalMark begins an evaluation in a comment, in hundredths of a pawn as sente sees it. The program ShogiHome writes it so.
const evalMark = "*評価値="

// summary is the last line of a KIF file.
func summary(o rules.Outcome, plies int) string {
	who := [2]string{"先手", "後手"}
	s := fmt.Sprintf("まで%d手で", plies)
	switch {
	case o.Result == rules.Ongoing:
		return s + "中断"
	case o.Result == rules.Draw && o.Reason == rules.Repetition:
		return s + "千日手"
	case o.Result == rules.Draw:
		return s + "持将棋"
	}
	winner := rules.Sente
	if o.Result == rules.GoteWins {
		winner = rules.Gote
	}
	switch o.Reason {
	case rules.Time:
		return fmt.Sprintf("まで%d手で時間切れにより%sの勝ち", plies, who[winner])
	case rules.Declaration:
		return s + who[winner] + "の入玉勝ち"
	case rules.IllegalMove, rules.PerpetualCheck, rules.Repetition:
		return s + who[winner.Other()] + "の反則負け"
	}
	return s + who[winner] + "の勝ち"
}
