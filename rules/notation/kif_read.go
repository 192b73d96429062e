package notation

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"kirin/rules"
)

// ReadKIF reads a KIF file, also one with moves in the manner of KI2 (▲７六歩 △３四歩). With v nil the game is told from the
// file (header, size of the board, chu shogi's way of writing moves) and has its default rules, unless a remark #kirin says
// otherwise. Variations are skipped; times and bookmarks are ignored. Errors are a *FileError.
func ReadKIF(data []byte, v *rules.Variant) (*Game, error) {
	text, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("KIF: %w", err)
	}
	r := &kifReader{lines: splitLines(text), v: v, g: &Game{}, remark: map[string]string{}}
	if err := r.read(); err != nil {
		return nil, &FileError{"KIF", r.line, err}
	}
	return r.g, nil
}

// kifReader reads a KIF file line by line.
type kifReader struct {
	lines  []string
	line   int // number of the current line, from 1
	v      *rules.Variant
	g      *Game
	p      *rules.Position // nil in the header
	remark map[string]string
	notes  [][]string // lines of comments by ply

	title     string
	titleLine int
	board     []string // between the bars
	boardLine int
	hands     [2]string
	handLine  [2]int
	goteFirst bool

	first int // number written at the first move
	step  *want
	ended bool
	said  rules.Outcome
	done  bool // variations follow
}

func (r *kifReader) read() error {
	for i, line := range r.lines {
		r.line = i + 1
		line = strings.Trim(line, " \t　")
		if line == "" || r.done {
			continue
		}
		var err error
		if r.p == nil && !startsMove(line) {
			err = r.headerLine(line)
		} else {
			err = r.moveLine(line)
		}
		if err != nil {
			return err
		}
	}
	return r.finish()
}

// startsMove tells whether a line begins the moves of a game: a number, or a side with a move.
func startsMove(line string) bool {
	c := cursor{line}
	if c.eat("▲", "△", "☗", "☖", "▼", "▽") != "" {
		return true
	}
	if line == "" || line[0] < '0' || line[0] > '9' || strings.Trim(line, " 　0123456789") == "" { // file numbers stand above the board
		return false
	}
	c.digits(9)
	return c.eat(" ", "　", "\t", ".", "手目") != ""
}

func (r *kifReader) headerLine(line string) error {
	switch line[0] {
	case '#':
		if rest, ok := strings.CutPrefix(line, "#kirin "); ok {
			r.readRemark(rest)
		}
		return nil
	case '*':
		r.comment(line[1:])
		return nil
	case '&', '+':
		return nil
	case '|':
		if r.boardLine == 0 {
			r.boardLine = r.line
		}
		cells, _, _ := strings.Cut(line[1:], "|")
		r.board = append(r.board, cells)
		return nil
	}
	for i, words := range [2][2]string{{"先手番", "下手番"}, {"後手番", "上手番"}} {
		if strings.HasPrefix(line, words[0]) || strings.HasPrefix(line, words[1]) {
			r.goteFirst = i == 1
			return nil
		}
	}
	if strings.HasPrefix(line, "まで") {
		return r.summary(line)
	}
	key, value, ok := strings.Cut(strings.Replace(line, "：", ":", 1), ":")
	if !ok {
		return nil // such as the line of file numbers, or the rule above the moves
	}
	r.tag(strings.Trim(key, " 　"), strings.Trim(value, " \t　"))
	return nil
}

// readRemark reads the line #kirin: words key=value, the SFEN last.
func (r *kifReader) readRemark(s string) {
	s, sfen, ok := strings.Cut(s, "sfen=")
	if ok {
		r.remark["sfen"] = strings.TrimSpace(sfen)
	}
	for _, f := range strings.Fields(s) {
		if key, value, ok := strings.Cut(f, "="); ok {
			r.remark[key] = value
		}
	}
}

func (r *kifReader) tag(key, value string) {
	switch key {
	case kifTitle:
		r.title, r.titleLine = value, r.line
	case "先手", "下手":
		r.g.Names[rules.Sente] = value
	case "後手", "上手":
		r.g.Names[rules.Gote] = value
	case "先手の持駒", "下手の持駒":
		r.hands[rules.Sente], r.handLine[rules.Sente] = value, r.line
	case "後手の持駒", "上手の持駒":
		r.hands[rules.Gote], r.handLine[rules.Gote] = value, r.line
	case kifDate:
		r.g.Date = value
	case kifEvent:
		r.g.Event = value
	case kifPlace:
		r.g.Place = value
	default:
		if value != "" && key != "" {
			r.g.Tags = append(r.g.Tags, Tag{key, value})
		}
	}
}

// comment reads a line of a comment, without its star.
func (r *kifReader) comment(s string) {
	ply := len(r.g.Moves)
	if value, ok := strings.CutPrefix(s, evalMark); ok {
		if cp, err := strconv.Atoi(strings.TrimSpace(value)); err == nil {
			r.g.addEval(ply, cp)
			return
		}
	}
	r.note(s)
}

// note adds a line to the comment on the current position.
func (r *kifReader) note(line string) {
	for len(r.notes) <= len(r.g.Moves) {
		r.notes = append(r.notes, nil)
	}
	last := len(r.notes) - 1
	r.notes[last] = append(r.notes[last], oneLine(line))
}

func (r *kifReader) moveLine(line string) error {
	switch {
	case line[0] == '*':
		r.comment(line[1:])
		return nil
	case line[0] == '#' || line[0] == '&':
		return nil
	case strings.HasPrefix(line, "変化"):
		r.done = true
		return nil
	case strings.HasPrefix(line, "まで"):
		return r.summary(line)
	}
	if r.p == nil {
		if err := r.begin(); err != nil {
			return err
		}
	}
	c := cursor{line}
	number, count := c.digits(9)
	if count == 0 {
		if strings.ContainsAny(string(c.peek()), "▲△☗☖▼▽") {
			return r.sidedMoves(line)
		}
		if r.ended || strings.ContainsAny(line, ":：") {
			return nil
		}
		return fmt.Errorf("%.60q is no move", line)
	}
	c.eat("手目")
	c.eat(".")
	c.space()
	if r.ended {
		return errors.New("there is a move after the end of the game")
	}
	if len(r.g.Moves) == 0 && r.step == nil {
		r.first = number
	}
	if want := r.first + len(r.g.Moves); number != want {
		return fmt.Errorf("move %d stands where move %d should", number, want)
	}
	return r.numbered(&c)
}

// numbered reads what follows a move's number: a move, one step of a double move, or how the game ended.
func (r *kifReader) numbered(c *cursor) error {
	word := c.rest
	if i := strings.IndexAny(word, " 　\t("); i >= 0 {
		word = word[:i]
	}
	for i := range kifEndings {
		if kifEndings[i].word == word && r.step == nil {
			r.ended = true
			r.said = kifEndings[i].outcome(r.p.Side())
			return nil
		}
	}
	text := c.rest
	switch c.eat("一歩目", "二歩目") {
	case "一歩目":
		w, err := r.scanMove(c)
		if err != nil {
			return err
		}
		if w.from == rules.NoSquare || r.step != nil {
			return fmt.Errorf("%.60q is no first step of a double move", text)
		}
		r.step = w
		return nil
	case "二歩目":
		return r.secondStep(c, text)
	}
	if r.step != nil {
		return errors.New("the second step of the double move is missing")
	}
	w, err := r.scanMove(c)
	if err != nil {
		return err
	}
	m, err := w.find(r.p)
	if err != nil {
		return err
	}
	r.do(m)
	return nil
}

func (r *kifReader) secondStep(c *cursor, text string) error {
	first := r.step
	if first == nil {
		return errors.New("the first step of the double move is missing")
	}
	w, err := r.scanMove(c)
	if err != nil {
		return err
	}
	if w.from != first.to {
		return fmt.Errorf("%.60q does not go on from the first step", text)
	}
	if pc := r.p.At(first.from); pc == rules.NoPiece || !first.piece.has(r.v.Info(pc.Kind()).Letter) {
		return fmt.Errorf("%w: there is no %s on %s", rules.ErrIllegalMove, first.piece.text, r.v.SquareString(first.from))
	}
	m, err := r.p.ParseMove(r.v.SquareString(first.from) + r.v.SquareString(first.to) + r.v.SquareString(w.to))
	if err != nil {
		return err
	}
	r.step = nil
	r.do(m)
	return nil
}

// scanMove reads a move up to its time or a comment on the same line.
func (r *kifReader) scanMove(c *cursor) (*want, error) {
	c.space()
	text := c.rest
	c.eat("▲", "△", "☗", "☖", "▼", "▽")
	w := &want{text: text, from: rules.NoSquare, to: rules.NoSquare, via: rules.NoSquare}
	ok := w.scanJapanese(r.p, c)
	if i := strings.IndexAny(text, "( \t*"); i > 0 {
		w.text = text[:i]
	}
	c.space()
	if !ok || w.piece == nil || w.to == rules.NoSquare || c.rest != "" && !strings.ContainsAny(c.rest[:1], "(+*/") && c.eat("（") == "" {
		return nil, fmt.Errorf("%w: %.60q", rules.ErrMoveText, text)
	}
	return w, nil
}

func (r *kifReader) do(m rules.Move) {
	r.p.Do(m)
	r.g.Moves = append(r.g.Moves, m)
}

// sidedMoves reads a line of moves that begin with the sign of a side.
func (r *kifReader) sidedMoves(line string) error {
	if r.ended {
		return errors.New("there is a move after the end of the game")
	}
	isSign := func(c rune) bool { return strings.ContainsRune("▲△☗☖▼▽", c) }
	for line != "" {
		sign := strings.IndexFunc(line, isSign)
		next := strings.IndexFunc(line[sign+len("▲"):], isSign)
		text := line
		if next >= 0 {
			text = line[:sign+len("▲")+next]
		}
		line = line[len(text):]
		m, err := ParseJapanese(r.p, strings.Trim(text, " 　\t"))
		if err != nil {
			return fmt.Errorf("ply %d: %w", len(r.g.Moves)+1, err)
		}
		r.do(m)
	}
	return nil
}

// summary reads the line まで...手で..., which counts only where no word ended the moves.
func (r *kifReader) summary(line string) error {
	if r.p == nil {
		if err := r.begin(); err != nil {
			return err
		}
	}
	if r.ended {
		return nil
	}
	r.ended = true
	side := -1
	for i, words := range [2][2]string{{"先手の", "下手の"}, {"後手の", "上手の"}} {
		if strings.Contains(line, words[0]) || strings.Contains(line, words[1]) {
			side = i
		}
	}
	if side < 0 {
		for i := range kifEndings {
			if e := &kifEndings[i]; strings.HasSuffix(line, e.word) {
				r.said = e.outcome(r.p.Side())
			}
		}
		return nil
	}
	winner := rules.Side(side)
	reason := rules.Resignation
	switch {
	case strings.Contains(line, "時間切れ"), strings.Contains(line, "切れ負け"):
		reason = rules.Time
	case strings.Contains(line, "反則"):
		reason = rules.IllegalMove
	case strings.Contains(line, "入玉"):
		reason = rules.Declaration
	}
	if strings.HasSuffix(line, "負け") {
		winner = winner.Other()
	}
	r.said = rules.Outcome{Result: rules.Winner(winner), Reason: reason}
	return nil
}

func (r *kifReader) finish() error {
	for _, lines := range r.notes {
		r.g.Comments = append(r.g.Comments, strings.Join(lines, "\n"))
	}
	if r.p == nil {
		if r.title == "" && r.board == nil && r.v == nil && r.remark["variant"] == "" {
			return errors.New("there is neither a move nor a start position")
		}
		if err := r.begin(); err != nil {
			return err
		}
	}
	if r.step != nil {
		return errors.New("the second step of the double move is missing")
	}
	if !r.ended {
		r.g.Outcome = finalOutcome(r.p)
		return nil
	}
	r.g.Outcome = settle(r.p, r.said)
	result, err1 := rules.ParseResult(r.remark["result"])
	reason, err2 := rules.ParseReason(r.remark["reason"])
	if err1 == nil && err2 == nil {
		r.g.Outcome = rules.Outcome{Result: result, Reason: reason}
	}
	return nil
}
