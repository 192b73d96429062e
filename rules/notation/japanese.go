package notation

import (
	"fmt"
	"slices"
	"strings"

	"kirin/rules"
)

// SideMark returns ▲ for sente and △ for gote.
func SideMark(s rules.Side) string {
	if s == rules.Sente {
		return "▲"
	}
	return "△"
}

// Japanese writes m, a legal move of p, in Japanese notation: ▲７六歩, △同銀不成. 同 stands for the square to which the last
// move went. Where several pieces of one name could go there, marks follow the name: 上 forward, 寄 sideways, 引 backward, 直
// straight forward, 右 左 中 by their places, 跳 a leap over a square, and where even these do not tell them apart the origin
// in parentheses. 打 marks a drop where a piece on the board could go there too, 成 a promotion, 不成 one declined. Chu shogi
// writes double moves ７六・７五獅, igui ７六居喰い and a pass じっと.
func Japanese(p *rules.Position, m rules.Move) string {
	return SideMark(p.Side()) + japaneseText(p, m)
}

func japaneseText(p *rules.Position, m rules.Move) string {
	v := p.Variant()
	var buf moveBuffer
	moves := p.AppendMoves(buf[:0])
	to := m.To()
	dest := japaneseSquare(v, to)
	if last := p.LastMove(); last != rules.NoMove && last.To() == to {
		dest = "同"
	}
	if k := m.DropKind(); k != rules.NoKind {
		n := of(v, k)
		s := n.kanji
		if n.mark != "" {
			s = n.kif
		}
		if rivals(nil, p, m, moves, sameKanji(v, n)) != nil {
			s += "打"
		}
		return dest + s
	}
	n := of(v, p.At(m.From()).Kind())
	switch {
	case m.IsPass():
		return whoStays(p, m, n, moves) + "じっと"
	case m.From() == to:
		return japaneseSquare(v, m.Via()) + whoStays(p, m, n, moves) + "居喰い"
	}
	s := dest + n.kanji + marks(p, m, rivals(nil, p, m, moves, sameKanji(v, n)))
	switch {
	case m.IsDouble():
		return japaneseSquare(v, m.Via()) + "・" + japaneseSquare(v, to) + strings.TrimPrefix(s, dest)
	case m.Promotes():
		return s + "成"
	case declines(m, moves):
		return s + "不成"
	}
	return s
}

func sameKanji(v *rules.Variant, n *name) func(rules.Kind) bool {
	return func(k rules.Kind) bool { return of(v, k).kanji == n.kanji }
}

// whoStays names the piece that passes or captures without moving where several could: by its name, or by name and square.
func whoStays(p *rules.Position, m rules.Move, n *name, moves []rules.Move) string {
	v := p.Variant()
	if rivals(nil, p, m, moves, func(rules.Kind) bool { return true }) == nil {
		return ""
	}
	if rivals(nil, p, m, moves, sameKanji(v, n)) == nil {
		return n.kanji
	}
	return n.kanji + "（" + japaneseSquare(v, m.From()) + "）"
}

// japaneseSquare writes a square like ７六 or １２十一.
func japaneseSquare(v *rules.Variant, sq rules.Square) string {
	file, rank := fileRank(v, sq)
	return fullWidth(file) + kanjiNumeral(rank)
}

// approach is how a piece comes to its target as its owner sees it.
type approach struct {
	right   int // squares that it starts to the right of the target
	forward int // squares that it goes forward
	slides  bool
}

func approachOf(p *rules.Position, from, to rules.Square) approach {
	v := p.Variant()
	w := v.Width()
	a := approach{right: int(from)%w - int(to)%w, forward: int(from)/w - int(to)/w}
	if p.At(from).Side() == rules.Gote {
		a.right, a.forward = -a.right, -a.forward
	}
	for _, d := range v.Vectors(p.At(from).Kind()) {
		a.slides = a.slides || d.Max > 2
	}
	return a
}

func (a approach) length() int { return max(a.right, -a.right, a.forward, -a.forward) }

func sign(n int) int {
	return min(max(n, -1), 1)
}

// vertical returns the mark for the direction forward, sideways or backward.
func (a approach) vertical() string {
	return [...]string{"引", "寄", "上"}[sign(a.forward)+1]
}

// markRules are the ways to tell a from others, in the order in which they are tried.
var markRules = []func(a approach, others []approach) string{
	func(a approach, others []approach) string {
		if slices.ContainsFunc(others, func(o approach) bool { return o.vertical() == a.vertical() }) {
			return ""
		}
		return a.vertical()
	},
	func(a approach, _ []approach) string {
		if a.right == 0 && a.forward == 1 && !a.slides {
			return "直"
		}
		return ""
	},
	place,
	func(a approach, others []approach) string {
		s := place(a, slices.DeleteFunc(slices.Clone(others), func(o approach) bool { return o.vertical() != a.vertical() }))
		if s == "" {
			return ""
		}
		return s + a.vertical()
	},
	func(a approach, others []approach) string {
		if a.length() == 2 && !slices.ContainsFunc(others, func(o approach) bool { return o.length() == 2 }) {
			return "跳"
		}
		return ""
	},
}

// place returns 右 or 左 for the outermost of the pieces, 中 for the middle one of three.
func place(a approach, others []approach) string {
	right, left := 0, 0 // others that stand further right, further left
	for _, o := range others {
		if o.right > a.right {
			right++
		}
		if o.right < a.right {
			left++
		}
	}
	switch n := len(others); {
	case left == n:
		return "右"
	case right == n:
		return "左"
	case n == 2 && left == 1 && right == 1:
		return "中"
	}
	return ""
}

// marks returns what tells m apart from the same move by the pieces on others.
func marks(p *rules.Position, m rules.Move, others []rules.Square) string {
	if len(others) == 0 {
		return ""
	}
	a := approachOf(p, m.From(), m.To())
	rest := make([]approach, len(others))
	for i, sq := range others {
		rest[i] = approachOf(p, sq, m.To())
	}
	for _, rule := range markRules {
		s := rule(a, rest)
		if s == "" {
			continue
		}
		unique := true
		for i := range rest { // no other piece may earn the same mark
			them := append([]approach{a}, rest[:i]...)
			unique = unique && rule(rest[i], append(them, rest[i+1:]...)) != s
		}
		if unique {
			return s
		}
	}
	return "（" + japaneseSquare(p.Variant(), m.From()) + "）"
}

// chooseMarks keeps the moves that the marks mean: those for which exactly these marks would be written, else those that
// the marks are true of.
func (w *want) chooseMarks(p *rules.Position, found []rules.Move) []rules.Move {
	var buf moveBuffer
	moves := p.AppendMoves(buf[:0])
	exact := slices.DeleteFunc(slices.Clone(found), func(m rules.Move) bool {
		if m.IsDrop() || m.IsPass() || m.From() == m.To() {
			return true
		}
		n := of(p.Variant(), p.At(m.From()).Kind())
		return marks(p, m, rivals(nil, p, m, moves, sameKanji(p.Variant(), n))) != w.marks
	})
	if len(exact) == 1 {
		return exact
	}
	board := slices.DeleteFunc(slices.Clone(found), rules.Move.IsDrop)
	all := make([]approach, len(board))
	for i, m := range board {
		all[i] = approachOf(p, m.From(), m.To())
	}
	var kept []rules.Move
	for i, m := range board {
		others := slices.Delete(slices.Clone(all), i, i+1)
		if trueMarks(w.marks, all[i], others) {
			kept = append(kept, m)
		}
	}
	if w.marks == "" {
		return found
	}
	return kept
}

// trueMarks tells whether every mark is true of a.
func trueMarks(text string, a approach, others []approach) bool {
	for _, r := range text {
		ok := false
		switch r {
		case '上', '行', '入':
			ok = a.forward > 0
		case '引', '下':
			ok = a.forward < 0
		case '寄':
			ok = a.forward == 0
		case '直':
			ok = a.right == 0 && a.forward > 0
		case '右':
			ok = a.right > 0 || !slices.ContainsFunc(others, func(o approach) bool { return o.right > a.right })
		case '左':
			ok = a.right < 0 || !slices.ContainsFunc(others, func(o approach) bool { return o.right < a.right })
		case '中':
			ok = place(a, others) != "右" && place(a, others) != "左"
		case '跳':
			ok = a.length() == 2
		}
		if !ok {
			return false
		}
	}
	return true
}

// ParseJapanese reads a move of p in Japanese notation. The sign ▲ or △ may be missing (☗ ☖ ▼ ▽ are read too); files and
// ranks may be digits of any width, 同 may be followed by blanks, pieces may have their long names, 行 and 入 mean 上, 下
// means 引, 生 means 不成, and the origin may stand in parentheses.
func ParseJapanese(p *rules.Position, s string) (rules.Move, error) {
	c := cursor{strings.TrimSpace(s)}
	switch c.eat("▲", "△", "☗", "☖", "▼", "▽") {
	case "▲", "☗", "▼":
		if p.Side() != rules.Sente {
			return rules.NoMove, fmt.Errorf("%w %.30s: it is gote's turn", rules.ErrIllegalMove, s)
		}
	case "△", "☖", "▽":
		if p.Side() != rules.Gote {
			return rules.NoMove, fmt.Errorf("%w %.30s: it is sente's turn", rules.ErrIllegalMove, s)
		}
	}
	w := &want{text: strings.TrimSpace(s), from: rules.NoSquare, to: rules.NoSquare, via: rules.NoSquare}
	if !w.scanJapanese(p, &c) || c.rest != "" {
		return rules.NoMove, fmt.Errorf("%w in Japanese notation: %.60q", rules.ErrMoveText, s)
	}
	return w.find(p)
}

// target reads 同 or a square.
func target(p *rules.Position, c *cursor) (rules.Square, bool) {
	if c.eat("同", "仝") != "" {
		c.space()
		if last := p.LastMove(); last != rules.NoMove {
			return last.To(), true
		}
		return rules.NoSquare, false
	}
	return c.square(p.Variant())
}

func (w *want) scanJapanese(p *rules.Position, c *cursor) bool {
	v := p.Variant()
	words := lexicons[v.Name()].words
	c.space()
	var ok bool
	if w.to, ok = target(p, c); ok && c.eat("・") != "" {
		w.via = w.to
		if w.to, ok = c.square(v); !ok {
			return false
		}
	}
	c.space()
	w.piece = c.word(words)
	if !w.scanMarks(v, c) {
		return false
	}
	switch {
	case c.eat("じっと", "ジット") != "":
		w.pass = true
		return !ok && w.marks == ""
	case c.eat("居喰い", "居喰", "居食い", "居食") != "":
		w.igui, w.via, w.to = true, w.to, rules.NoSquare
		return ok && w.marks == ""
	case !ok || w.piece == nil:
		return false
	case c.eat("打") != "":
		w.drop = true
		return w.from == rules.NoSquare && w.marks == ""
	case c.eat("不成", "生") != "":
		w.declines = true
	case c.eat("成") != "":
		w.promotes = true
	}
	if w.from == rules.NoSquare {
		return w.scanOrigin(v, c)
	}
	return true
}

func (w *want) scanMarks(v *rules.Variant, c *cursor) bool {
	for {
		m := c.eat("右", "左", "直", "上", "引", "寄", "行", "入", "下", "中", "跳")
		if m == "" {
			return w.scanOrigin(v, c)
		}
		w.marks += m
	}
}

// scanOrigin reads an origin in parentheses, if there is one, and the word that some KIF files put before it.
func (w *want) scanOrigin(v *rules.Variant, c *cursor) bool {
	start := *c
	c.space()
	c.eat("（居食い）", "(居食い)", "（じっと）", "(じっと)", "まで")
	c.space()
	if c.eat("（", "(") == "" {
		*c = start
		return true
	}
	c.eat("←")
	var ok bool
	if w.from, ok = c.square(v); !ok || c.eat("）", ")") == "" {
		w.from = rules.NoSquare
		*c = start
	}
	return true
}
