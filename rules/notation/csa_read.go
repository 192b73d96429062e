package notation

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"kirin/rules"
)

// ReadCSA reads the first game of a CSA file (versions 1 to 3; UTF-8 or Shift-JIS). Times are ignored. Without any start
// position it is the even one. With v nil the rules are shogi's default ones, unless a remark 'kirin says otherwise. Errors
// are a *FileError.
func ReadCSA(data []byte, v *rules.Variant) (*Game, error) {
	text, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("CSA: %w", err)
	}
	r := &csaReader{kifReader: kifReader{v: v, g: &Game{}, remark: map[string]string{}}}
	for i, line := range splitLines(text) {
		r.line = i + 1
		line = strings.TrimRight(line, " \t")
		if line == "/" {
			break
		}
		if err := r.statements(line); err != nil {
			return nil, &FileError{"CSA", r.line, err}
		}
	}
	if r.p == nil {
		if err := r.begin(rules.Sente); err != nil {
			return nil, &FileError{"CSA", r.line, err}
		}
	}
	if err := r.finish(); err != nil {
		return nil, &FileError{"CSA", r.line, err}
	}
	return r.g, nil
}

// csaReader reads a CSA file; it shares with the KIF reader what both keep of a game.
type csaReader struct {
	kifReader
	squares [81]string // letter in SFEN, "" empty
	inHand  [2]map[string]int
	placed  bool // some line of the position has been read
	rest    [2]bool
}

// statements reads a line; some files divide several statements by commas.
func (r *csaReader) statements(line string) error {
	if line == "" {
		return nil
	}
	switch line[0] {
	case '\'':
		r.remarkOrComment(line[1:])
		return nil
	case 'N', '$':
		return r.statement(line)
	}
	for s := range strings.SplitSeq(line, ",") {
		if s == "" {
			continue
		}
		if err := r.statement(s); err != nil {
			return err
		}
	}
	return nil
}

func (r *csaReader) remarkOrComment(s string) {
	if rest, ok := strings.CutPrefix(s, "kirin "); ok && r.p == nil {
		r.readRemark(rest)
	} else if rest, ok := strings.CutPrefix(s, "**"); ok {
		if f := strings.Fields(rest); len(f) > 0 {
			if cp, err := strconv.Atoi(f[0]); err == nil {
				r.g.addEval(len(r.g.Moves), cp)
			}
		}
	} else if rest, ok := strings.CutPrefix(s, "*"); ok {
		r.note(rest)
	}
}

func (r *csaReader) statement(s string) error {
	switch s[0] {
	case 'V', 'T':
		return nil
	case 'N':
		if len(s) > 1 && (s[1] == '+' || s[1] == '-') {
			r.g.Names[strings.IndexByte("+-", s[1])] = oneLine(s[2:])
		}
		return nil
	case '$':
		r.csaTag(s[1:])
		return nil
	case 'P':
		if r.p != nil {
			return errors.New("a part of the start position stands among the moves")
		}
		return r.place(s)
	case '+', '-':
		side := rules.Side(strings.IndexByte("+-", s[0]))
		if len(s) == 1 {
			if r.p != nil {
				return errors.New("the side to move is told twice")
			}
			return r.begin(side)
		}
		if r.p == nil {
			if err := r.begin(side); err != nil {
				return err
			}
		}
		return r.move(s, side)
	case '%':
		return r.special(s[1:])
	}
	return fmt.Errorf("%.40q is no statement", s)
}

func (r *csaReader) csaTag(s string) {
	key, value, _ := strings.Cut(s, ":")
	key, value = oneLine(key), oneLine(value)
	switch {
	case value == "" || key == "":
	case key == csaEvent:
		r.g.Event = value
	case key == csaSite:
		r.g.Place = value
	case key == csaStart:
		r.g.Date = value
	default:
		r.g.Tags = append(r.g.Tags, Tag{key, value})
	}
}

// csaLetters gives the SFEN letter for a CSA piece.
var csaLetters = func() map[string]string {
	m := map[string]string{}
	for _, n := range shogiNames {
		m[n.csa] = n.letter
	}
	return m
}()

// csaSquare returns the index of a square such as 77 on the board, -1 if it is none.
func csaSquare(s string) int {
	if len(s) != 2 || s[0] < '1' || s[0] > '9' || s[1] < '1' || s[1] > '9' {
		return -1
	}
	return int(s[1]-'1')*9 + 9 - int(s[0]-'0')
}

// place reads a line of the start position: PI, P1 to P9, P+, P-.
func (r *csaReader) place(s string) error {
	r.placed = true
	if len(s) < 2 {
		return fmt.Errorf("%q is no part of a start position", s)
	}
	body := s[2:]
	switch kind := s[1]; {
	case kind == 'I':
		r.setEven()
		for ; len(body) >= 4; body = body[4:] {
			i := csaSquare(body[:2])
			if i < 0 || !strings.EqualFold(r.squares[i], csaLetters[body[2:4]]) || r.squares[i] == "" {
				return fmt.Errorf("there is no %s to remove", body[:4])
			}
			r.squares[i] = ""
		}
		if body != "" {
			return fmt.Errorf("%q is no square with a piece", body)
		}
		return nil
	case kind >= '1' && kind <= '9':
		return r.placeRank(int(kind-'1'), body)
	case kind == '+' || kind == '-':
		return r.placePieces(rules.Side(strings.IndexByte("+-", kind)), body)
	}
	return fmt.Errorf("%.40q is no part of a start position", s)
}

// setEven puts the pieces of the even start on the board.
func (r *csaReader) setEven() {
	board, _, _ := strings.Cut(shogiStart, " ")
	i := 0
	for _, c := range board {
		switch {
		case c == '/':
		case c >= '1' && c <= '9':
			for range c - '0' {
				r.squares[i] = ""
				i++
			}
		default:
			r.squares[i] = string(c)
			i++
		}
	}
}

const shogiStart = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"

func (r *csaReader) placeRank(rank int, body string) error {
	for x := range 9 {
		i := rank*9 + x
		r.squares[i] = ""
		if len(body) >= 2 && body[:2] == " *" {
			body = strings.TrimPrefix(body[2:], " ")
			if x < 8 && strings.HasPrefix(body, "*") { // runs of blanks may have been closed up
				body = " " + body
			}
			continue
		}
		if x == 8 && body == "" || len(body) < 3 || csaLetters[body[1:3]] == "" || body[0] != '+' && body[0] != '-' {
			return fmt.Errorf("rank %d: %q is no square", rank+1, body)
		}
		r.squares[i] = csaLetters[body[1:3]]
		if body[0] == '-' {
			r.squares[i] = strings.ToLower(r.squares[i])
		}
		body = body[3:]
	}
	if body != "" {
		return fmt.Errorf("rank %d has more than 9 squares", rank+1)
	}
	return nil
}

func (r *csaReader) placePieces(side rules.Side, body string) error {
	if r.inHand[side] == nil {
		r.inHand[side] = map[string]int{}
	}
	for ; len(body) >= 4; body = body[4:] {
		at, code := body[:2], body[2:4]
		if at == "00" && code == "AL" {
			r.rest[side] = true
			continue
		}
		letter := csaLetters[code]
		i := csaSquare(at)
		switch {
		case letter == "" || i < 0 && at != "00":
			return fmt.Errorf("%q is no square with a piece", body[:4])
		case at == "00":
			r.inHand[side][letter]++
			continue
		case r.squares[i] != "":
			return fmt.Errorf("there is a piece on %s already", at)
		}
		if side == rules.Gote {
			letter = strings.ToLower(letter)
		}
		r.squares[i] = letter
	}
	if body != "" {
		return fmt.Errorf("%q is no square with a piece", body)
	}
	return nil
}

// begin sets up the start position with side to move.
func (r *csaReader) begin(side rules.Side) error {
	v, err := load(r.v, "shogi", r.remark["rules"])
	if err != nil {
		return err
	}
	r.v, r.g.Variant = v, v
	if !r.placed {
		r.setEven()
	}
	sfen, err := r.sfen(side)
	if err != nil {
		return err
	}
	if known, ok := r.remark["sfen"]; ok && samePosition(known, sfen) {
		sfen = known
	}
	if r.p, err = v.ParseSFEN(sfen); err != nil {
		return err
	}
	if sfen != v.Starts()[0].SFEN {
		r.g.Start = sfen
	}
	return nil
}

func (r *csaReader) sfen(side rules.Side) (string, error) {
	left := map[string]int{"R": 2, "B": 2, "G": 4, "S": 4, "N": 4, "L": 4, "P": 18}
	var b strings.Builder
	for i, letter := range r.squares {
		if i > 0 && i%9 == 0 {
			b.WriteByte('/')
		}
		if letter == "" {
			letter = "1"
		} else {
			left[strings.ToUpper(letter[len(letter)-1:])]--
		}
		b.WriteString(letter)
	}
	board := b.String()
	for n := 9; n > 1; n-- {
		board = strings.ReplaceAll(board, strings.Repeat("1", n), strconv.Itoa(n))
	}
	for s := range r.inHand {
		for letter, n := range r.inHand[s] {
			if left[letter] -= n; left[letter] < 0 {
				return "", fmt.Errorf("there are too many pieces %s", letter)
			}
		}
	}
	hands := ""
	for s := range r.inHand {
		for _, k := range r.v.HandKinds() {
			letter := r.v.Info(k).Letter
			n := r.inHand[s][letter]
			delete(r.inHand[s], letter)
			if r.rest[s] {
				n += max(left[letter], 0)
				left[letter] = 0
			}
			if n > 1 {
				hands += strconv.Itoa(n)
			}
			if s == 1 {
				letter = strings.ToLower(letter)
			}
			if n > 0 {
				hands += letter
			}
		}
		if len(r.inHand[s]) > 0 {
			return "", errors.New("a king or a promoted piece cannot be in hand")
		}
	}
	if hands == "" {
		hands = "-"
	}
	return board + " " + [2]string{"b", "w"}[side] + " " + hands + " 1", nil
}

func (r *csaReader) move(s string, side rules.Side) error {
	if r.ended {
		return errors.New("there is a move after the end of the game")
	}
	if side != r.p.Side() {
		return fmt.Errorf("%w %.20s: it is %s's turn", rules.ErrIllegalMove, s, r.p.Side())
	}
	if len(s) != 7 || csaLetters[s[5:]] == "" || csaSquare(s[3:5]) < 0 || csaSquare(s[1:3]) < 0 && s[1:3] != "00" {
		return fmt.Errorf("%w of CSA: %.20q", rules.ErrMoveText, s)
	}
	letter := csaLetters[s[5:]]
	to := r.v.SquareString(rules.Square(csaSquare(s[3:5])))
	usi := letter + "*" + to
	if s[1:3] != "00" {
		from := rules.Square(csaSquare(s[1:3]))
		usi = r.v.SquareString(from) + to
		info := r.v.Info(r.p.At(from).Kind())
		switch {
		case r.p.At(from) == rules.NoPiece || info.Letter == letter:
		case info.Promotes != rules.NoKind && r.v.Info(info.Promotes).Letter == letter:
			usi += "+"
		default:
			return fmt.Errorf("%w %s: the piece on %s is no %s", rules.ErrIllegalMove, s, s[1:3], s[5:])
		}
	}
	m, err := r.p.ParseMove(usi)
	if err != nil {
		return err
	}
	r.do(m)
	return nil
}

func (r *csaReader) special(word string) error {
	if r.p == nil {
		if err := r.begin(rules.Sente); err != nil {
			return err
		}
	}
	for i := range csaEndings {
		if csaEndings[i].word == word {
			if !r.ended {
				r.said = csaEndings[i].outcome(r.p.Side())
			}
			r.ended = true
			return nil
		}
	}
	return fmt.Errorf("%%%.30s is no special move", word)
}
