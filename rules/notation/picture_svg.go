package notation

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"kirin/rules"
)

// Measures of a picture in user units.
const (
	cellWidth  = 44.0
	cellHeight = 48.0
	frame      = 20.0 // around the board, for the coordinates
	gap        = 8.0  // between the board and the hands
	tray       = 52.0 // width of a hand
)

// Colours. Everything is drawn on wood, so the picture fits light and dark pages.
const (
	woodFrame  = "#c08a45"
	woodBoard  = "#eec27a"
	woodPiece  = "#fbe6ba"
	woodTray   = "#d9a65e"
	lineColour = "#5b3a12"
	edgeColour = "#7a5423"
	inkColour  = "#1c130a"
	redColour  = "#b5121b"
	lastColour = "#f08a24"
	dotColour  = "#1f7a4d"
	checkGlow  = "#e0301e"
)

const (
	kanjiFonts  = "'Noto Serif CJK JP','Noto Serif JP','Hiragino Mincho ProN','Yu Mincho','YuMincho','MS Mincho','IPAMincho',serif"
	letterFonts = "'DejaVu Sans','Noto Sans','Segoe UI','Helvetica Neue',Arial,sans-serif"
)

// SVG draws the position as an SVG document without outside parts: it may stand in a file or inside a page. The squares of
// the last move are coloured, promoted pieces are red, a royal in check glows, the hands stand beside the board, and a small
// piece in the frame shows who is to move.
func SVG(p *rules.Position, o Picture) string {
	v := p.Variant()
	d := &drawing{p: p, v: v, o: o}
	boardWidth := cellWidth * float64(v.Width())
	boardHeight := cellHeight * float64(v.Height())
	d.left = frame
	total := boardWidth + 2*frame
	if v.HandKinds() != nil {
		d.left += tray + gap
		total += 2 * (tray + gap)
	}
	height := boardHeight + 2*frame
	d.f(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%s" height="%s" lang="ja" role="img">`,
		number(total), number(height), number(total), number(height))
	d.f(`<title>%s %s</title>`, v.Name(), p.SFEN())
	d.f(`<rect x="%s" y="0" width="%s" height="%s" rx="5" fill="%s"/>`,
		number(d.left-frame), number(boardWidth+2*frame), number(height), woodFrame)
	d.f(`<rect x="%s" y="%s" width="%s" height="%s" fill="%s" stroke="%s" stroke-width="2"/>`,
		number(d.left), number(frame), number(boardWidth), number(boardHeight), woodBoard, lineColour)
	d.lastMove()
	d.lines(boardWidth, boardHeight)
	d.coordinates(boardWidth)
	for sq := range rules.Square(v.Squares()) {
		if pc := p.At(sq); pc != rules.NoPiece {
			x, y := d.centre(sq)
			d.piece(pc.Kind(), pc.Side(), x, y, 1)
		}
	}
	for _, sq := range o.Dots {
		d.dot(sq)
	}
	if v.HandKinds() != nil {
		d.hand(rules.Gote, d.left-frame-gap-tray, height)
		d.hand(rules.Sente, d.left+boardWidth+frame+gap, height)
	}
	d.turn(boardWidth, boardHeight)
	d.b.WriteString("</svg>\n")
	return d.b.String()
}

// drawing is an SVG document in the making.
type drawing struct {
	b    strings.Builder
	p    *rules.Position
	v    *rules.Variant
	o    Picture
	left float64 // of the board
}

func (d *drawing) f(format string, args ...any) {
	fmt.Fprintf(&d.b, format, args...)
	d.b.WriteByte('\n')
}

// number writes a length with at most one decimal.
func number(x float64) string { return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64) }

// corner returns the upper left corner of a square.
func (d *drawing) corner(sq rules.Square) (x, y float64) {
	w := d.v.Width()
	return d.left + cellWidth*float64(int(sq)%w), frame + cellHeight*float64(int(sq)/w)
}

func (d *drawing) centre(sq rules.Square) (x, y float64) {
	x, y = d.corner(sq)
	return x + cellWidth/2, y + cellHeight/2
}

func (d *drawing) shade(sq rules.Square, colour string, opacity float64) {
	x, y := d.corner(sq)
	d.f(`<rect x="%s" y="%s" width="%s" height="%s" fill="%s" fill-opacity="%s"/>`,
		number(x), number(y), number(cellWidth), number(cellHeight), colour, strconv.FormatFloat(opacity, 'f', -1, 64))
}

func (d *drawing) lastMove() {
	if m := d.p.LastMove(); m != rules.NoMove {
		if from := m.From(); from != rules.NoSquare && from != m.To() {
			d.shade(from, lastColour, 0.3)
		}
		if via := m.Via(); via != rules.NoSquare {
			d.shade(via, lastColour, 0.45)
		}
		d.shade(m.To(), lastColour, 0.65)
	}
	if d.p.InCheck() {
		for _, sq := range d.p.AppendRoyals(nil, d.p.Side()) {
			d.shade(sq, checkGlow, 0.45)
		}
	}
}

func (d *drawing) lines(boardWidth, boardHeight float64) {
	var path strings.Builder
	for x := 1; x < d.v.Width(); x++ {
		fmt.Fprintf(&path, "M%s %sv%s", number(d.left+cellWidth*float64(x)), number(frame), number(boardHeight))
	}
	for y := 1; y < d.v.Height(); y++ {
		fmt.Fprintf(&path, "M%s %sh%s", number(d.left), number(frame+cellHeight*float64(y)), number(boardWidth))
	}
	d.f(`<path d="%s" stroke="%s" stroke-width="1" fill="none"/>`, path.String(), lineColour)
	// The four points of a shogi board mark the corners of the promotion zones.
	w, h, z := d.v.Width(), d.v.Height(), d.zoneRanks()
	if w >= 9 {
		for _, x := range []int{w / 3, w - w/3} {
			for _, y := range []int{z, h - z} {
				d.f(`<circle cx="%s" cy="%s" r="2.6" fill="%s"/>`, number(d.left+cellWidth*float64(x)), number(frame+cellHeight*float64(y)), lineColour)
			}
		}
	}
}

func (d *drawing) zoneRanks() int {
	n := 0
	for n < d.v.Height() && d.v.InZone(rules.Sente, rules.Square(n*d.v.Width())) {
		n++
	}
	return n
}

func (d *drawing) coordinates(boardWidth float64) {
	d.f(`<g font-family="%s" font-size="12" text-anchor="middle" fill="%s">`, letterFonts, inkColour)
	for x := range d.v.Width() {
		d.f(`<text x="%s" y="%s">%d</text>`, number(d.left+cellWidth*(float64(x)+0.5)), number(frame-6), d.v.Width()-x)
	}
	for y := range d.v.Height() {
		middle := frame + cellHeight*(float64(y)+0.5)
		d.f(`<text x="%s" y="%s">%c</text>`, number(d.left+boardWidth+frame/2), number(middle+4), 'a'+y)
		d.f(`<text x="%s" y="%s" font-family="%s" font-size="%s">%s</text>`, number(d.left-frame/2), number(middle+4), kanjiFonts,
			number(12-3*float64(y/10)), kanjiNumeral(y+1))
	}
	d.f(`</g>`)
}

// outline returns the outline of a piece of the given size around the origin, its tip up.
func outline(width, height float64) string {
	return fmt.Sprintf("M0 %sL%s %sL%s %sH%sL%s %sZ", number(-height/2), number(width*0.36), number(-height*0.36),
		number(width/2), number(height/2), number(-width/2), number(-width*0.36), number(-height*0.36))
}

// piece draws a piece around x, y.
func (d *drawing) piece(k rules.Kind, side rules.Side, x, y, scale float64) {
	n := of(d.v, k)
	turn := ""
	if side == rules.Gote {
		turn = " rotate(180)"
	}
	colour := inkColour
	if n.letter[0] == '+' {
		colour = redColour
	}
	d.f(`<g transform="translate(%s %s)%s"><path d="%s" fill="%s" stroke="%s" stroke-width="1.2" stroke-linejoin="round"/>`,
		number(x), number(y), turn, outline(38*scale, 43*scale), woodPiece, edgeColour)
	text := func(s, fonts, weight string, size, dy float64) {
		d.f(`<text y="%s" font-family="%s" font-size="%s" font-weight="%s" text-anchor="middle" fill="%s">%s</text>`,
			number(dy*scale), fonts, number(size*scale), weight, colour, s)
	}
	switch {
	case d.o.Letters:
		s := n.western
		if n.mark != "" {
			s = westernDrop(n)
		}
		size := [...]float64{20, 20, 16, 12.5}[len(s)]
		if side == rules.Gote { // letters stay upright
			d.b.WriteString(`<g transform="rotate(180)">`)
			text(s, letterFonts, "bold", size, size*0.36-4)
			d.b.WriteString(`</g>`)
		} else {
			text(s, letterFonts, "bold", size, size*0.36+4)
		}
	case n.mark != "":
		text(n.kanji, kanjiFonts, "600", 21, 6)
		text(n.mark, kanjiFonts, "600", 10.5, 18)
	default:
		text(n.kanji, kanjiFonts, "600", 25, 11)
	}
	d.f(`</g>`)
}

// dot marks a square: a disc on an empty one, a ring around a piece.
func (d *drawing) dot(sq rules.Square) {
	if int(sq) >= d.v.Squares() {
		return
	}
	x, y := d.centre(sq)
	if d.p.At(sq) == rules.NoPiece {
		d.f(`<circle cx="%s" cy="%s" r="7" fill="%s" fill-opacity="0.8"/>`, number(x), number(y), dotColour)
	} else {
		d.f(`<circle cx="%s" cy="%s" r="20" fill="none" stroke="%s" stroke-width="3" stroke-opacity="0.85"/>`, number(x), number(y), dotColour)
	}
}

// hand draws side's hand in a tray whose left edge is x: gote's hangs from the top, sente's stands on the bottom.
func (d *drawing) hand(side rules.Side, x, height float64) {
	kinds := d.v.HandKinds()
	size := min(46, (height-8)/float64(len(kinds)))
	h := size*float64(len(kinds)) + 8
	y := 0.0
	if side == rules.Sente {
		y = height - h
	}
	d.f(`<rect x="%s" y="%s" width="%s" height="%s" rx="5" fill="%s"/>`, number(x), number(y), number(tray), number(h), woodTray)
	for i, k := range kinds {
		n := d.p.Hand(side, k)
		if n == 0 {
			continue
		}
		row := i
		if side == rules.Gote {
			row = len(kinds) - 1 - i
		}
		cy := y + 4 + size*(float64(row)+0.5)
		cx := x + tray/2
		if n > 1 {
			cx = x + 20
		}
		if side == rules.Gote && n > 1 {
			cx = x + tray - 20
		}
		d.piece(k, side, cx, cy, size/50)
		if n > 1 {
			tx := x + tray - 8
			ty := cy + size/2 - 4
			if side == rules.Gote {
				tx, ty = x+8, cy-size/2+13
			}
			d.f(`<text x="%s" y="%s" font-family="%s" font-size="13" font-weight="bold" text-anchor="middle" fill="%s">%d</text>`,
				number(tx), number(ty), letterFonts, inkColour, n)
		}
	}
}

// turn draws a small piece in the frame on the side of the player to move.
func (d *drawing) turn(boardWidth, boardHeight float64) {
	x, y, turn := d.left+boardWidth+frame/2, frame+boardHeight+frame/2, ""
	if d.p.Side() == rules.Gote {
		x, y, turn = d.left-frame/2, frame/2, " rotate(180)"
	}
	d.f(`<path transform="translate(%s %s)%s" d="%s" fill="%s" stroke="%s" stroke-width="1"/>`,
		number(x), number(y), turn, outline(12, 14), inkColour, woodPiece)
}
