package notation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kirin/rules"
)

// begin ends the header: it settles which game this is and sets up the start position.
func (r *kifReader) begin() error {
	here := r.line
	v, err := load(r.v, r.game(), r.remark["rules"])
	if err != nil {
		return err
	}
	r.v, r.g.Variant = v, v
	var sfen string
	if r.board != nil {
		r.line = r.boardLine
		sfen, err = r.boardSFEN()
	} else {
		r.line = r.titleLine
		sfen, err = r.titleSFEN()
	}
	if err != nil {
		return err
	}
	// The remark may know more of the same position: the move number, what a lion may not be taken by.
	if known, ok := r.remark["sfen"]; ok && samePosition(known, sfen) {
		sfen = known
	}
	p, err := v.ParseSFEN(sfen)
	if err != nil {
		return err
	}
	r.line = here
	r.p = p
	if sfen != v.Starts()[0].SFEN {
		r.g.Start = sfen
	}
	return nil
}

// samePosition tells whether two SFENs have the same board and side to move, and hands where there are some.
func samePosition(a, b string) bool {
	x, y := strings.Split(a, " "), strings.Split(b, " ")
	if len(x) < 3 || len(y) < 3 {
		return false
	}
	return x[0] == y[0] && x[1] == y[1] && (x[2] == y[2] || gameOfSFEN(a) == "chushogi")
}

const evenTitle = "平手"

// game returns the name of the game, "" if the file leaves it open. The header 平手 says nothing: lishogi writes it for chu
// shogi too.
func (r *kifReader) game() string {
	if name, ok := r.remark["variant"]; ok {
		return name
	}
	title := strings.ToLower(r.title)
	for _, name := range rules.Names() {
		if title != evenTitle && slices.Contains(lexicons[name].titles, title) {
			return name
		}
	}
	if r.board != nil {
		return gameOfRanks(len(r.board))
	}
	for _, line := range r.lines {
		if startsMove(strings.Trim(line, " \t　")) && (strings.Contains(line, "←") || strings.Contains(line, "一歩目")) {
			return "chushogi"
		}
	}
	return ""
}

func (r *kifReader) titleSFEN() (string, error) {
	starts := r.v.Starts()
	if r.title == "" || r.title == evenTitle || slices.Contains(lexicons[r.v.Name()].titles, strings.ToLower(r.title)) {
		return starts[0].SFEN, nil
	}
	for _, s := range starts {
		if s.Kanji == r.title {
			return s.SFEN, nil
		}
	}
	return "", fmt.Errorf("the start position %.60q is unknown and no board is given", r.title)
}

// boardSFEN turns the diagram of the header into SFEN.
func (r *kifReader) boardSFEN() (string, error) {
	if len(r.board) != r.v.Height() {
		return "", fmt.Errorf("the board has %d ranks, %s has %d", len(r.board), r.v.Name(), r.v.Height())
	}
	var b strings.Builder
	for y, row := range r.board {
		if y > 0 {
			b.WriteByte('/')
		}
		if err := r.rankSFEN(&b, row); err != nil {
			return "", fmt.Errorf("rank %d of the board: %w", y+1, err)
		}
	}
	side := "b"
	if r.goteFirst {
		side = "w"
	}
	hands := ""
	for _, s := range []rules.Side{rules.Sente, rules.Gote} {
		h, err := r.handSFEN(s)
		if err != nil {
			r.line = r.handLine[s]
			return "", err
		}
		hands += h
	}
	if hands == "" {
		hands = "-"
	}
	return b.String() + " " + side + " " + hands + " 1", nil
}

func (r *kifReader) rankSFEN(b *strings.Builder, row string) error {
	lex := lexicons[r.v.Name()]
	c := cursor{row}
	empty, count := 0, 0
	for c.space(); c.rest != ""; c.space() {
		count++
		if c.eat("・", "．", ".", "·") != "" {
			empty++
			continue
		}
		gote := c.eat("v", "V") != ""
		c.space()
		w := c.word(lex.words)
		if w == nil {
			return fmt.Errorf("%.12q is no piece of %s", c.rest, r.v.Name())
		}
		letter := w.letters[0]
		if lex.byLetter[letter].mark != "" && len(w.letters) > 1 {
			return fmt.Errorf("%s does not say which of %s and %s it is", w.text, lex.byLetter[w.letters[0]].kif, lex.byLetter[w.letters[1]].kif)
		}
		if empty > 0 {
			b.WriteString(strconv.Itoa(empty))
			empty = 0
		}
		if gote {
			letter = strings.ToLower(letter)
		}
		b.WriteString(letter)
	}
	if empty > 0 {
		b.WriteString(strconv.Itoa(empty))
	}
	if count != r.v.Width() {
		return fmt.Errorf("it has %d squares instead of %d", count, r.v.Width())
	}
	return nil
}

// handSFEN turns a hand like 飛　金二　歩十八 into SFEN.
func (r *kifReader) handSFEN(s rules.Side) (string, error) {
	c := cursor{r.hands[s]}
	c.space()
	if c.rest == "" || strings.HasPrefix(c.rest, "なし") {
		return "", nil
	}
	lex := lexicons[r.v.Name()]
	counts := map[string]int{}
	for ; c.rest != ""; c.space() {
		w := c.word(lex.words)
		if w == nil {
			return "", fmt.Errorf("%.12q is no piece of %s", c.rest, r.v.Name())
		}
		n := c.kanjiNumber()
		if n == 0 {
			if d, count := c.digits(2); count > 0 {
				n = d
			} else {
				n = 1
			}
		}
		counts[w.letters[0]] += n
	}
	out := ""
	for _, k := range r.v.HandKinds() {
		letter := r.v.Info(k).Letter
		n := counts[letter]
		delete(counts, letter)
		if n > 1 {
			out += strconv.Itoa(n)
		}
		if s == rules.Gote {
			letter = strings.ToLower(letter)
		}
		if n > 0 {
			out += letter
		}
	}
	for _, w := range lex.names {
		if counts[w.letter] > 0 {
			return "", fmt.Errorf("%s cannot be in hand", w.kanji)
		}
	}
	return out, nil
}
