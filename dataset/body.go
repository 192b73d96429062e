package dataset

import (
	"encoding/binary"
	"fmt"
	"math"

	"kirin/rules"
)

func (c *Codec) encodeBody(g *Game) ([]byte, error) {
	if err := g.validate(); err != nil {
		return nil, err
	}
	v, err := c.Variant(g.Variant, g.Rules)
	if err != nil {
		return nil, err
	}
	texts, err := collectTexts(v, g)
	if err != nil {
		return nil, err
	}
	b := binary.AppendUvarint(nil, bodyVersion)
	b = append(b, g.ID[:]...)
	for _, s := range [...]string{g.Variant, g.Rules, g.Start, g.Outcome.Result.String(), g.Outcome.Reason.String()} {
		b = appendText(b, s)
	}
	flags := uint64(0)
	if g.Truncated {
		flags |= gameTruncated
	}
	b = binary.AppendUvarint(b, flags)
	b = binary.LittleEndian.AppendUint64(b, g.Seed)
	b = binary.AppendVarint(b, g.Number)
	b = binary.AppendVarint(b, g.Step)
	for _, s := range [...]string{g.Net, g.Config, g.Version, g.Kernel, g.Worker} {
		b = appendText(b, s)
	}
	b = binary.AppendUvarint(b, uint64(len(texts.list)))
	for _, s := range texts.list {
		b = appendText(b, s)
	}
	b = binary.AppendUvarint(b, uint64(len(g.Plies)))
	return appendPlies(b, g.Plies, texts), nil
}

// appendPlies writes the plies column by column, which compresses better than ply by ply.
func appendPlies(b []byte, plies []Ply, t *moveTexts) []byte {
	for i := range plies {
		b = binary.AppendUvarint(b, uint64(t.moves[i]))
	}
	for i := range plies {
		b = binary.AppendUvarint(b, uint64(plies[i].Flags))
	}
	for i := range plies {
		b = binary.AppendUvarint(b, uint64(plies[i].Visits))
	}
	for i := range plies {
		v := plies[i].Value
		for _, x := range [...]float32{v.Win, v.Draw, v.Loss} {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	}
	for i := range plies {
		b = binary.AppendUvarint(b, uint64(len(plies[i].Target)))
	}
	for _, n := range t.targets {
		b = binary.AppendUvarint(b, uint64(n))
	}
	for i := range plies {
		for _, t := range plies[i].Target {
			b = binary.LittleEndian.AppendUint16(b, t.Weight)
		}
	}
	return b
}

// moveTexts are the moves of a game as text: the different texts in the order in which they first occur, and for each
// ply and each entry of each target the number of its text.
type moveTexts struct {
	list    []string
	moves   []uint32
	targets []uint32
}

// collectTexts replays g and writes its moves as text.
func collectTexts(v *rules.Variant, g *Game) (*moveTexts, error) {
	r, err := newReplayer(v, g.Start)
	if err != nil {
		return nil, err
	}
	defer r.release()
	targets := 0
	for i := range g.Plies {
		targets += len(g.Plies[i].Target)
	}
	t := &moveTexts{moves: make([]uint32, 0, len(g.Plies)), targets: make([]uint32, 0, targets)}
	clear(r.byText)
	clear(r.byMove)
	add := func(m rules.Move) uint32 {
		if n, ok := r.byMove[m]; ok {
			return n
		}
		s := r.pos.FormatMove(m)
		n, ok := r.byText[s]
		if !ok {
			n = uint32(len(t.list))
			r.byText[s] = n
			t.list = append(t.list, s)
		}
		if !m.IsPass() { // whose text depends on the squares around
			r.byMove[m] = n
		}
		return n
	}
	for i := range g.Plies {
		p := &g.Plies[i]
		if err := r.over(i); err != nil {
			return nil, err
		}
		hint := 0
		for _, mw := range p.Target {
			if hint = r.find(mw.Move, hint); hint < 0 {
				return nil, fmt.Errorf("ply %d: the target holds %s: %w", i+1, describe(r.pos, mw.Move), rules.ErrIllegalMove)
			}
			if !r.mark(hint) {
				return nil, fmt.Errorf("ply %d: the target holds %s twice", i+1, describe(r.pos, mw.Move))
			}
			t.targets = append(t.targets, add(mw.Move))
		}
		if r.find(p.Move, 0) < 0 {
			return nil, fmt.Errorf("ply %d: %s: %w", i+1, describe(r.pos, p.Move), rules.ErrIllegalMove)
		}
		t.moves = append(t.moves, add(p.Move))
		r.do(p.Move)
	}
	return t, r.finish(g)
}

// describe names a move that need not make sense on the board.
func describe(p *rules.Position, m rules.Move) string {
	v := p.Variant()
	switch {
	case m.IsDrop() && int(m.DropKind()) < v.KindCount():
		return v.Info(m.DropKind()).Letter + "*" + v.SquareString(m.To())
	case m.IsDrop():
		return fmt.Sprintf("move %#x", uint32(m))
	}
	return v.SquareString(m.From()) + v.SquareString(m.To())
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func (c *Codec) decodeBody(body []byte) (*Game, error) {
	r := &bodyReader{b: body}
	if v := r.uvarint(math.MaxUint32); r.err == nil && v != bodyVersion {
		if v > bodyVersion {
			return nil, fmt.Errorf("record of version %d: %w", v, ErrNewer)
		}
		return nil, damaged("a record of version %d does not exist", v)
	}
	g := &Game{}
	copy(g.ID[:], r.bytes(len(g.ID)))
	var result, reason string
	for _, s := range [...]*string{&g.Variant, &g.Rules, &g.Start, &result, &reason} {
		*s = r.text()
	}
	g.Truncated = r.uvarint(gameTruncated) != 0
	g.Seed = r.uint64()
	g.Number = r.varint()
	g.Step = r.varint()
	for _, s := range [...]*string{&g.Net, &g.Config, &g.Version, &g.Kernel, &g.Worker} {
		*s = r.text()
	}
	texts := make([]string, 0, r.count(len(body), 1))
	for range cap(texts) {
		texts = append(texts, r.text())
	}
	raw := r.plies(len(texts))
	if r.err == nil && len(r.b) > 0 {
		r.err = damaged("%d bytes follow the record", len(r.b))
	}
	if r.err != nil {
		return nil, r.err
	}
	var err error
	if g.Outcome, err = parseOutcome(result, reason); err != nil {
		return nil, err
	}
	v, err := c.Variant(g.Variant, g.Rules)
	if err != nil {
		return nil, err
	}
	text := func(i uint32) string { return texts[i] }
	if err := raw.resolve(v, g, text); err != nil {
		return nil, err
	}
	return g, nil
}

func parseOutcome(result, reason string) (o rules.Outcome, err error) {
	if o.Result, err = rules.ParseResult(result); err != nil {
		return o, damaged("%v", err)
	}
	if o.Reason, err = rules.ParseReason(reason); err != nil {
		return o, damaged("%v", err)
	}
	return o, nil
}

// rawPlies are plies whose moves are still numbers of texts.
type rawPlies struct {
	plies   []Ply
	moves   []uint32
	sizes   []int // of the targets
	targets []rawTarget
}

type rawTarget struct {
	move   uint32
	weight uint16
}

// resolve replays the game, fills in the moves that the numbers stand for and checks the whole game.
func (raw *rawPlies) resolve(v *rules.Variant, g *Game, text func(uint32) string) error {
	r, err := newReplayer(v, g.Start)
	if err != nil {
		return err
	}
	defer r.release()
	all := make([]MoveWeight, len(raw.targets))
	g.Plies = raw.plies
	for i := range g.Plies {
		p := &g.Plies[i]
		if err := r.over(i); err != nil {
			return err
		}
		n, hint := raw.sizes[i], 0
		if n > 0 {
			p.Target = all[:n:n]
		}
		for j := range p.Target {
			if hint, err = r.parse(text(raw.targets[j].move), hint); err != nil {
				return fmt.Errorf("ply %d: target: %w", i+1, err)
			}
			if !r.mark(hint) {
				return damaged("ply %d: the target holds %q twice", i+1, text(raw.targets[j].move))
			}
			p.Target[j] = MoveWeight{r.legal[hint], raw.targets[j].weight}
		}
		all, raw.targets = all[n:], raw.targets[n:]
		k, err := r.parse(text(raw.moves[i]), 0)
		if err != nil {
			return fmt.Errorf("ply %d: %w", i+1, err)
		}
		p.Move = r.legal[k]
		r.do(p.Move)
	}
	if err := g.validate(); err != nil {
		return damaged("%v", err)
	}
	return r.finish(g)
}

// bodyReader reads a body from its front; after the first error everything reads as zero.
type bodyReader struct {
	b   []byte
	err error
}

var errShort = fmt.Errorf("%w: the record ends early", ErrDamaged)

func (r *bodyReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.b = nil
}

func (r *bodyReader) bytes(n int) []byte {
	if len(r.b) < n {
		r.fail(errShort)
		return make([]byte, n)
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *bodyReader) uint64() uint64 { return binary.LittleEndian.Uint64(r.bytes(8)) }

func (r *bodyReader) uvarint(limit uint64) uint64 {
	x, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail(errShort)
		return 0
	}
	r.b = r.b[n:]
	if x > limit {
		r.fail(damaged("the number %d is out of range", x))
		return 0
	}
	return x
}

func (r *bodyReader) varint() int64 {
	x, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail(errShort)
		return 0
	}
	r.b = r.b[n:]
	return x
}

// count reads a number of things that take at least size bytes each.
func (r *bodyReader) count(limit, size int) int {
	n := int(r.uvarint(uint64(limit)))
	if n*size > len(r.b) {
		r.fail(errShort)
		return 0
	}
	return n
}

func (r *bodyReader) text() string {
	n := int(r.uvarint(maxText))
	if n > len(r.b) {
		r.fail(errShort)
		return ""
	}
	return string(r.bytes(n))
}

func (r *bodyReader) plies(texts int) *rawPlies {
	const least = 1 + 1 + 1 + 12 + 1 // bytes of the smallest ply
	n := r.count(maxPlies, least)
	if n > 0 && texts == 0 {
		r.fail(damaged("plies without moves"))
	}
	raw := &rawPlies{plies: make([]Ply, n), moves: make([]uint32, n), sizes: make([]int, n)}
	limit := uint64(max(texts-1, 0))
	for i := range n {
		raw.moves[i] = uint32(r.uvarint(limit))
	}
	for i := range n {
		raw.plies[i].Flags = Flags(r.uvarint(math.MaxUint16))
	}
	for i := range n {
		raw.plies[i].Visits = uint32(r.uvarint(math.MaxUint32))
	}
	for i := range n {
		v := &raw.plies[i].Value
		for _, x := range [...]*float32{&v.Win, &v.Draw, &v.Loss} {
			*x = math.Float32frombits(binary.LittleEndian.Uint32(r.bytes(4)))
		}
	}
	total := 0
	for i := range n {
		raw.sizes[i] = int(r.uvarint(maxTarget))
		total += raw.sizes[i]
	}
	if total*3 > len(r.b) {
		r.fail(errShort)
		return raw
	}
	raw.targets = make([]rawTarget, total)
	for i := range total {
		raw.targets[i].move = uint32(r.uvarint(limit))
	}
	for i := range total {
		raw.targets[i].weight = binary.LittleEndian.Uint16(r.bytes(2))
	}
	return raw
}
