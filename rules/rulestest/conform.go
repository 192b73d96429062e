package rulestest

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"kirin/rules"
)

// Options says how much Conform does.
type Options struct {
	Games     int
	Plies     int    // a game is broken off after that many
	Seed      uint64 // of the random games
	TwinEvery int    // every so many plies the slow second implementation is compared; 0 never
}

// Conform plays random games of v and checks that everything a Position says agrees with everything else. It returns the
// first disagreement.
//
// Checked at every ply: moves are distinct and lead to distinct positions; counting agrees with making them; Undo restores
// every bit; USI and SFEN round trips; equal keys for equal positions and for no others; GivesCheck against InCheck;
// occurrences and runs of checks against the history; the board rotated by 180 degrees with the sides swapped, and the
// left-right mirror image, give the same moves; a game is over exactly when Outcome says so.
func Conform(v *rules.Variant, o Options) error {
	c := conformer{v: v, rng: rand.New(rand.NewPCG(o.Seed, 1)), keys: map[uint64]string{}, sfens: map[string]uint64{}}
	for g := range o.Games {
		start := v.Starts()[g%len(v.Starts())]
		if err := c.game(start.SFEN, o); err != nil {
			return fmt.Errorf("%s %s, game %d (%s), ply %d, %s: %w", v.Name(), v.Rules(), g, start.Name, c.p.Ply(), c.p.SFEN(), err)
		}
	}
	return nil
}

type conformer struct {
	v     *rules.Variant
	rng   *rand.Rand
	p     *rules.Position
	keys  map[uint64]string // SFEN without number by key
	sfens map[string]uint64
	seen  []string // this game's positions
	check []bool   // by ply: the move to it gave check
}

func (c *conformer) game(sfen string, o Options) error {
	p, err := c.v.ParseSFEN(sfen)
	if err != nil {
		return err
	}
	c.p, c.seen, c.check = p, nil, nil
	start := p.Clone()
	for range o.Plies {
		moves := p.AppendMoves(nil)
		if err := c.position(moves, o); err != nil {
			return err
		}
		out := p.Outcome(len(moves))
		if (out.Result == rules.Ongoing) != (out.Reason == rules.None) {
			return fmt.Errorf("outcome %v with reason %v", out.Result, out.Reason)
		}
		if out.Result != rules.Ongoing {
			break
		}
		m := moves[c.rng.IntN(len(moves))]
		gives := p.GivesCheck(m)
		p.Do(m)
		if gives != p.InCheck() {
			return fmt.Errorf("GivesCheck(%v) is %t before, InCheck %t after", m, gives, p.InCheck())
		}
		c.check = append(c.check, gives)
	}
	for p.Ply() > 0 {
		p.Undo()
	}
	if !reflect.DeepEqual(p, start) {
		return fmt.Errorf("undoing the whole game does not restore the start")
	}
	return nil
}

// position checks everything that holds of one position.
func (c *conformer) position(moves []rules.Move, o Options) error {
	p := c.p
	for _, check := range []func([]rules.Move) error{c.identity, c.history, c.moves, c.text, c.rotated, c.mirrored} {
		if err := check(moves); err != nil {
			return err
		}
	}
	if o.TwinEvery > 0 && p.Ply()%o.TwinEvery == 0 {
		return CompareTwin(p)
	}
	return nil
}

func withoutNumber(sfen string) string { return sfen[:strings.LastIndexByte(sfen, ' ')] }

// identity: equal keys and equal positions go together.
func (c *conformer) identity([]rules.Move) error {
	s, k := withoutNumber(c.p.SFEN()), c.p.Key()
	if other, ok := c.keys[k]; ok && other != s {
		return fmt.Errorf("%s has the same key", other)
	}
	if other, ok := c.sfens[s]; ok && other != k {
		return fmt.Errorf("the position had the key %x and now has %x", other, k)
	}
	c.keys[k], c.sfens[s] = s, k
	c.seen = append(c.seen, s)
	return nil
}

// history: occurrences and runs of checks are what the game shows.
func (c *conformer) history([]rules.Move) error {
	p := c.p
	n := 0
	for _, s := range c.seen {
		if s == c.seen[len(c.seen)-1] {
			n++
		}
	}
	if n != p.Occurrences() {
		return fmt.Errorf("occurs %d times, Occurrences %d", n, p.Occurrences())
	}
	for i, s := range []rules.Side{p.Side().Other(), p.Side()} {
		run := 0
		for ply := len(c.check) - 1 - i; ply >= 0 && c.check[ply]; ply -= 2 {
			run++
		}
		if run != p.CheckRun(s) {
			return fmt.Errorf("%s has given check %d times in a row, CheckRun %d", s, run, p.CheckRun(s))
		}
	}
	return nil
}

// moves: distinct moves to distinct positions, rightly counted, perfectly undone, USI round trip.
func (c *conformer) moves(moves []rules.Move) error {
	p := c.p
	board := p.AppendBoardMoves(nil)
	if n := p.CountMoves(); n != len(board) {
		return fmt.Errorf("CountMoves %d, AppendBoardMoves %d", n, len(board))
	}
	if p.HasMoves() != (len(board) > 0) {
		return fmt.Errorf("HasMoves %t, AppendBoardMoves %d", p.HasMoves(), len(board))
	}
	if len(board) > p.Variant().MaxMoves() {
		return fmt.Errorf("%d moves, MaxMoves %d", len(board), p.Variant().MaxMoves())
	}
	before := p.Clone()
	checks := p.AppendChecks(nil)
	after := map[uint64]rules.Move{}
	for _, m := range moves {
		if !slices.Contains(board, m) {
			return fmt.Errorf("AppendMoves has %s, AppendBoardMoves not", p.FormatMove(m))
		}
		text := p.FormatMove(m)
		if got, err := p.ParseMove(text); err != nil || got != m {
			return fmt.Errorf("%s is read as %x (%v), not %x", text, got, err, m)
		}
		gives := p.GivesCheck(m)
		if gives != slices.Contains(checks, m) {
			return fmt.Errorf("GivesCheck(%s) is %t, AppendChecks does not agree", text, gives)
		}
		p.Do(m)
		if other, ok := after[p.Key()]; ok {
			return fmt.Errorf("%s leads to the same position as %x", text, other)
		}
		after[p.Key()] = m
		if gives != p.InCheck() {
			return fmt.Errorf("GivesCheck(%s) is %t before, InCheck %t after", text, gives, p.InCheck())
		}
		p.Undo()
	}
	if !reflect.DeepEqual(p, before) {
		return fmt.Errorf("a move undone leaves a trace")
	}
	return nil
}

// text: the SFEN gives the same position with the same moves, and the same key.
func (c *conformer) text([]rules.Move) error {
	q, err := c.v.ParseSFEN(c.p.SFEN())
	if err != nil {
		return err
	}
	if q.SFEN() != c.p.SFEN() || q.Key() != c.p.Key() || q.InCheck() != c.p.InCheck() {
		return fmt.Errorf("read again it is %s with key %x, not %x", q.SFEN(), q.Key(), c.p.Key())
	}
	if !slices.Equal(q.AppendBoardMoves(nil), c.p.AppendBoardMoves(nil)) {
		return fmt.Errorf("read again it has other moves")
	}
	return nil
}

// rotated: the board turned round with the sides swapped has the same moves, turned round.
func (c *conformer) rotated([]rules.Move) error {
	n := rules.Square(c.v.Squares())
	return c.transformed(true, func(sq rules.Square) rules.Square { return n - 1 - sq }, func(k rules.Kind) rules.Kind { return k })
}

// mirrored: so has the mirror image.
func (c *conformer) mirrored([]rules.Move) error {
	w := rules.Square(c.v.Width())
	return c.transformed(false, func(sq rules.Square) rules.Square { return sq/w*w + w - 1 - sq%w }, c.v.MirrorKind)
}

func (c *conformer) transformed(swap bool, square func(rules.Square) rules.Square, kind func(rules.Kind) rules.Kind) error {
	q, err := Transform(c.p, swap, square, kind)
	if err != nil {
		return err
	}
	want := q.AppendBoardMoves(nil)
	got := c.p.AppendBoardMoves(nil)
	for i, m := range got {
		got[i] = transformMove(m, square, kind)
		if from := got[i].From(); from == got[i].To() {
			// Passes and captures without moving are made for one piece only.
			if got[i], err = q.ParseMove(q.FormatMove(got[i])); err != nil {
				return fmt.Errorf("in the image %s: %w", q.SFEN(), err)
			}
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		return fmt.Errorf("the image %s has %d moves, not the same %d", q.SFEN(), len(want), len(got))
	}
	if q.InCheck() != c.p.InCheck() {
		return fmt.Errorf("the image %s differs in check", q.SFEN())
	}
	return nil
}

func transformMove(m rules.Move, square func(rules.Square) rules.Square, kind func(rules.Kind) rules.Kind) rules.Move {
	switch {
	case m.IsDrop():
		return rules.NewDrop(kind(m.DropKind()), square(m.To()))
	case m.IsDouble():
		return rules.NewDouble(square(m.From()), square(m.Via()), square(m.To()))
	}
	return rules.NewMove(square(m.From()), square(m.To()), m.Promotes())
}

// Transform returns the image of p, without its history, under a mapping of squares and kinds; swap exchanges the sides.
func Transform(p *rules.Position, swap bool, square func(rules.Square) rules.Square, kind func(rules.Kind) rules.Kind) (*rules.Position, error) {
	v := p.Variant()
	cells := make([]rules.Piece, v.Squares())
	side := func(s rules.Side) rules.Side {
		if swap {
			return s.Other()
		}
		return s
	}
	for i := range cells {
		if pc := p.At(rules.Square(i)); pc != rules.NoPiece {
			cells[square(rules.Square(i))] = rules.MakePiece(kind(pc.Kind()), side(pc.Side()))
		}
	}
	var b strings.Builder
	for i, pc := range cells {
		if i > 0 && i%v.Width() == 0 {
			b.WriteByte('/')
		}
		if pc == rules.NoPiece {
			n := 1
			for i%v.Width() > 0 && cells[i-1] == rules.NoPiece {
				i--
				n++
			}
			if end := i + n; end%v.Width() == 0 || cells[end] != rules.NoPiece {
				fmt.Fprint(&b, n)
			}
			continue
		}
		b.WriteString(letter(v, pc))
	}
	fmt.Fprintf(&b, " %c ", "bw"[side(p.Side())])
	third := strings.Split(p.SFEN(), " ")[2]
	if len(v.HandKinds()) > 0 {
		third = "-"
		for _, s := range []rules.Side{rules.Sente, rules.Gote} {
			for _, k := range v.HandKinds() {
				if n := p.Hand(s, k); n > 0 {
					third += count(n) + letter(v, rules.MakePiece(kind(k), side(s)))
				}
			}
		}
		if third != "-" {
			third = third[1:]
		}
	} else {
		third = mapSquares(v, third, square)
	}
	b.WriteString(third)
	b.WriteString(" 1")
	return v.ParseSFEN(b.String())
}

// count writes a number of pieces in hand; one is written as nothing.
func count(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprint(n)
}

func letter(v *rules.Variant, pc rules.Piece) string {
	if pc.Side() == rules.Gote {
		return strings.ToLower(v.Info(pc.Kind()).Letter)
	}
	return v.Info(pc.Kind()).Letter
}

// mapSquares maps the ban square and the marks of chu shogi's third field.
func mapSquares(v *rules.Variant, field string, square func(rules.Square) rules.Square) string {
	one := func(s string) string {
		if sq, err := v.ParseSquare(s); err == nil {
			return v.SquareString(square(sq))
		}
		return s
	}
	ban, marks, ok := strings.Cut(field, "!")
	if !ok {
		return one(ban)
	}
	parts := strings.Split(marks, ",")
	for i := range parts {
		parts[i] = one(parts[i])
	}
	return one(ban) + "!" + strings.Join(parts, ",")
}

// CompareTwin compares the moves of p with those of the slow second implementation, by what they lead to.
func CompareTwin(p *rules.Position) error {
	want := newTwin(p).results()
	for _, m := range p.AppendBoardMoves(nil) {
		text := p.FormatMove(m)
		p.Do(m)
		after := newTwin(p).text()
		p.Undo()
		if !want[after] {
			return fmt.Errorf("%s is no move for the second implementation, or made twice", text)
		}
		delete(want, after)
	}
	if len(want) > 0 {
		return fmt.Errorf("%d moves of the second implementation are missing", len(want))
	}
	return nil
}
