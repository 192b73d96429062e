package rules

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrSFEN marks every error of ParseSFEN.
var ErrSFEN = errors.New("bad SFEN")

const maxMoveNumber = 1 << 20

// ParseSFEN reads a position: board, side to move, hands (in chu shogi the ban square), and the move number, which may be
// missing. It refuses what makes no game: too many pieces of a kind; in the games with drops a side without king; in shogi
// and minishogi the side to move able to take the king (in tori shogi, whose diagrams have that, the phoenix cannot be
// taken all the same). Composed positions pass: in minishogi and chu shogi up to twice the number of pieces of a kind, more
// pawns on a file than may be dropped there, pieces that can never move, and in chu shogi missing royals (diagrams of lion
// rules). Fields are separated by one space.
func (v *Variant) ParseSFEN(s string) (*Position, error) {
	p := newPosition(v)
	if err := p.parse(s); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSFEN, err)
	}
	return p, nil
}

func (p *Position) parse(s string) error {
	fields := strings.Split(s, " ")
	if len(fields) != 3 && len(fields) != 4 {
		return fmt.Errorf("%d fields instead of board, side, hands and move number", len(fields))
	}
	if err := p.parseBoard(fields[0]); err != nil {
		return err
	}
	switch fields[1] {
	case "b":
	case "w":
		p.side = Gote
		p.st.key ^= p.v.zobristSide
	default:
		return fmt.Errorf("side to move %q is neither b nor w", fields[1])
	}
	p.first = p.side
	var err error
	if p.v.hasHands {
		err = p.parseHands(fields[2])
	} else {
		err = p.parseBan(fields[2])
	}
	if err != nil {
		return err
	}
	p.startNumber = 1
	if len(fields) == 4 {
		n, err := strconv.ParseUint(fields[3], 10, 32)
		if err != nil || n < 1 || n > maxMoveNumber || fields[3][0] == '0' {
			return fmt.Errorf("move number %q is not a whole number from 1 to %d", fields[3], maxMoveNumber)
		}
		p.startNumber = int(n)
	}
	if err := p.validate(); err != nil {
		return err
	}
	p.findChecks()
	p.countOccurrence()
	return nil
}

func (p *Position) parseBoard(s string) error {
	w, h := p.v.game.width, p.v.game.height
	rows := strings.Split(s, "/")
	if len(rows) != h {
		return fmt.Errorf("%d ranks instead of %d", len(rows), h)
	}
	for y, row := range rows {
		rank := string(rune('a' + y))
		x := 0
		digits := false // the last item was a number
		for i := 0; i < len(row); {
			if c := row[i]; c >= '0' && c <= '9' {
				j := i
				for j < len(row) && row[j] >= '0' && row[j] <= '9' {
					j++
				}
				n, err := strconv.Atoi(row[i:j])
				if err != nil || c == '0' || n > w-x || digits {
					return fmt.Errorf("rank %s: %q is no number of empty squares there", rank, row[i:j])
				}
				x += n
				i = j
				digits = true
				continue
			}
			digits = false
			j := i + 1
			if row[i] == '+' && j < len(row) {
				j++
			}
			pc := p.v.pieceByText[row[i:j]]
			if pc == NoPiece {
				return fmt.Errorf("rank %s: %q is no piece of %s", rank, row[i:j], p.v.Name())
			}
			if x >= w {
				return fmt.Errorf("rank %s has more than %d squares", rank, w)
			}
			p.put(pc, Square(y*w+x))
			x++
			i = j
		}
		if x != w {
			return fmt.Errorf("rank %s has %d squares instead of %d", rank, x, w)
		}
	}
	return nil
}

func (p *Position) parseHands(s string) error {
	if s == "-" {
		return nil
	}
	if s == "" {
		return errors.New("the hands are empty; none is written -")
	}
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && s[j] >= '0' && s[j] <= '9' {
			j++
		}
		if j == len(s) {
			return fmt.Errorf("hands: a piece is missing after %q", s[i:])
		}
		n := 1
		if j > i {
			var err error
			n, err = strconv.Atoi(s[i:j])
			if err != nil || n < 2 || n >= maxHand || s[i] == '0' {
				return fmt.Errorf("hands: %q is no number of pieces", s[i:j])
			}
		}
		pc := p.v.pieceByText[s[j:j+1]]
		if pc == NoPiece || !p.v.kinds[pc.Kind()].Droppable {
			return fmt.Errorf("hands: %q cannot be in hand", s[j:j+1])
		}
		if p.hand[pc.Side()][pc.Kind()] > 0 {
			return fmt.Errorf("hands: %q appears twice", s[j:j+1])
		}
		for range n {
			p.addHand(pc.Side(), pc.Kind())
		}
		i = j + 1
	}
	return nil
}

// parseBan reads the third field in chu shogi: the ban square or -, and after ! the marked squares, with commas.
func (p *Position) parseBan(s string) error {
	ban, marks, hasMarks := strings.Cut(s, "!")
	if ban != "-" {
		sq, err := p.v.ParseSquare(ban)
		if err != nil {
			return fmt.Errorf("ban square: %w", err)
		}
		if p.v.rule.senjishi == senjishiNone {
			return fmt.Errorf("ban square %s, but these rules know none", ban)
		}
		p.setBan(sq)
	}
	if !hasMarks {
		return nil
	}
	for _, m := range strings.Split(marks, ",") {
		sq, err := p.v.ParseSquare(m)
		if err != nil {
			return fmt.Errorf("marked square: %w", err)
		}
		if !p.v.flagged || p.board[sq] == NoPiece || p.v.promote[p.board[sq]] == NoPiece || p.st.flags.has(sq) {
			return fmt.Errorf("square %s cannot be marked", m)
		}
		p.setFlag(sq, true)
	}
	return nil
}

// validate refuses positions that no game can reach. It lets pass what is composed for studies and tests: in minishogi and
// chu shogi up to twice the number of pieces of a kind, several pawns on a file, pieces that can never move.
func (p *Position) validate() error {
	v := p.v
	var n [2][128]int
	for x := p.occ[0].or(p.occ[1]); !x.empty(); x = x.rest() {
		pc := p.board[x.first()]
		n[pc.Side()][v.base[pc.Kind()]]++
	}
	for k := Kind(1); int(k) < len(v.kinds); k++ {
		both := int(v.total[k])
		if !v.kinds[k].Royal {
			both *= v.game.composed
		}
		for s := range n {
			if k < handSlots {
				n[s][k] += int(p.hand[s][k])
			}
			if limit := both / 2; (!v.hasHands || v.kinds[k].Royal) && n[s][k] > limit {
				return fmt.Errorf("%s has %d pieces %s, at most %d are possible", Side(s), n[s][k], v.kinds[k].Letter, limit)
			}
		}
		if total := n[0][k] + n[1][k]; total > both {
			return fmt.Errorf("%d pieces %s, at most %d are possible", total, v.kinds[k].Letter, both)
		}
	}
	if !v.hasHands {
		return nil
	}
	for _, s := range []Side{Sente, Gote} {
		if p.royals[s].empty() && v.rule.mateEnds {
			return fmt.Errorf("%s has no %s", s, v.kinds[1].English)
		}
	}
	opp := p.side.Other()
	if p.royals[opp].empty() {
		return nil
	}
	p.odd = p.attacked(p.royals[opp].first(), p.side, p.occ[p.side], p.occ[0].or(p.occ[1]))
	if p.odd && v.rule.mateEnds && !v.game.diagrams {
		return fmt.Errorf("%s is to move and could take the %s", p.side, v.kinds[1].English)
	}
	return nil
}

// SFEN writes the position with its move number.
func (p *Position) SFEN() string {
	b := make([]byte, 0, 200)
	v := p.v
	w := v.game.width
	for i := 0; i < v.n; {
		if i > 0 && i%w == 0 {
			b = append(b, '/')
		}
		j := i
		for j < v.n && j/w == i/w && p.board[j] == NoPiece {
			j++
		}
		if j > i {
			b = strconv.AppendInt(b, int64(j-i), 10)
			i = j
			continue
		}
		b = append(b, v.pieceText[p.board[i]]...)
		i++
	}
	b = append(b, ' ')
	b = append(b, "bw"[p.side], ' ')
	if v.hasHands {
		b = p.appendHands(b)
	} else {
		b = p.appendBan(b)
	}
	b = append(b, ' ')
	return string(strconv.AppendInt(b, int64(p.MoveNumber()), 10))
}

func (p *Position) appendHands(b []byte) []byte {
	if p.handPieces[0]+p.handPieces[1] == 0 {
		return append(b, '-')
	}
	for _, s := range []Side{Sente, Gote} {
		for _, k := range p.v.handKinds {
			n := p.hand[s][k]
			if n > 1 {
				b = strconv.AppendInt(b, int64(n), 10)
			}
			if n > 0 {
				b = append(b, p.v.pieceText[MakePiece(k, s)]...)
			}
		}
	}
	return b
}

func (p *Position) appendBan(b []byte) []byte {
	if p.st.ban == NoSquare {
		b = append(b, '-')
	} else {
		b = append(b, p.v.SquareString(p.st.ban)...)
	}
	sep := byte('!')
	for x := p.st.flags; !x.empty(); x = x.rest() {
		b = append(b, sep)
		b = append(b, p.v.SquareString(x.first())...)
		sep = ','
	}
	return b
}
