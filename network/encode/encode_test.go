package encode_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"kirin/network/encode"
	"kirin/rules"
)

func load(t testing.TB, name string, settings ...string) (*rules.Variant, *encode.Encoder) {
	t.Helper()
	v, err := rules.Load(name, settings...)
	if err != nil {
		t.Fatal(err)
	}
	e, err := encode.New(v)
	if err != nil {
		t.Fatal(err)
	}
	return v, e
}

// playAll calls f for the positions of random games from every start position.
func playAll(t *testing.T, v *rules.Variant, games, plies int, f func(p *rules.Position, moves []rules.Move)) {
	rng := rand.New(rand.NewPCG(1, 2))
	starts := v.Starts()
	for g := range games {
		p, err := v.ParseSFEN(starts[g%len(starts)].SFEN)
		if err != nil {
			t.Fatal(err)
		}
		for range plies {
			moves := p.AppendMoves(nil)
			f(p, moves)
			if p.Outcome(len(moves)).Result != rules.Ongoing {
				break
			}
			p.Do(moves[rng.IntN(len(moves))])
		}
	}
}

func TestThePolicyPlanesComeFromTheMoveTables(t *testing.T) {
	// shogi: 64 queen moves and 2 knight jumps, the same promoting, 7 drops.
	// minishogi: 32, the same promoting, 5 drops.
	// torishogi: 36 queen moves but 2 sideways steps for 12, promoting moves of
	// falcon and swallow, 6 drops.
	// chushogi: 88 queen moves and 8 knight jumps, 88 promoting, 64 double moves, a pass.
	for name, want := range map[string]int{"shogi": 139, "minishogi": 69, "torishogi": 38 + 7 + 6, "chushogi": 96 + 88 + 64 + 1} {
		if _, e := load(t, name); e.PolicyPlanes() != want {
			t.Errorf("%s: %d policy planes, not %d", name, e.PolicyPlanes(), want)
		}
	}
}

func TestNoTwoLegalMovesShareAnIndex(t *testing.T) {
	for _, name := range rules.Names() {
		v, e := load(t, name)
		seen := make([]int, e.PolicySize())
		stamp, positions := 0, 0
		check := func(p *rules.Position, moves []rules.Move) {
			stamp++
			positions++
			for _, m := range moves {
				i := e.Index(p, m)
				if i < 0 || i >= len(seen) {
					t.Fatalf("%s: %s in %s has index %d of %d", name, p.FormatMove(m), p.SFEN(), i, len(seen))
				}
				if seen[i] == stamp {
					t.Fatalf("%s: %s in %s shares index %d", name, p.FormatMove(m), p.SFEN(), i)
				}
				seen[i] = stamp
			}
		}
		playAll(t, v, 30, 200, check)
		for depth, limit := 0, 400; depth <= 2; depth++ {
			tree(v.Start(), depth, &limit, check)
		}
		t.Logf("%s: %d positions", name, positions)
	}
}

// tree visits the positions of a game tree, at most limit of them.
func tree(p *rules.Position, depth int, limit *int, f func(p *rules.Position, moves []rules.Move)) {
	moves := p.AppendMoves(nil)
	f(p, moves)
	for _, m := range moves {
		if depth == 0 || *limit == 0 {
			return
		}
		*limit--
		p.Do(m)
		tree(p, depth-1, limit, f)
		p.Undo()
	}
}

func TestAnIndexOfSenteMeansTheMoveItself(t *testing.T) {
	for _, name := range rules.Names() {
		v, e := load(t, name)
		playAll(t, v, 10, 120, func(p *rules.Position, moves []rules.Move) {
			if p.Side() != rules.Sente {
				return
			}
			for _, m := range moves {
				got, ok := e.Move(e.Index(p, m))
				if !ok || got != m {
					t.Fatalf("%s: %s in %s came back as %v", name, p.FormatMove(m), p.SFEN(), got)
				}
			}
		})
	}
}

// turned is the SFEN of a position with the sides exchanged and the board
// turned by 180 degrees.
func turned(t *testing.T, v *rules.Variant, p *rules.Position) *rules.Position {
	fields := strings.Fields(p.SFEN())
	ranks := strings.Split(fields[0], "/")
	var out []string
	for i := len(ranks) - 1; i >= 0; i-- {
		out = append(out, reversed(swapCase(ranks[i])))
	}
	fields[0] = strings.Join(out, "/")
	fields[1] = map[string]string{"b": "w", "w": "b"}[fields[1]]
	if sq := p.BanSquare(); sq != rules.NoSquare {
		fields[2] = v.SquareString(rules.Square(v.Squares() - 1 - int(sq)))
	} else {
		fields[2] = swapCase(fields[2])
	}
	q, err := v.ParseSFEN(strings.Join(fields, " "))
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if s := strings.ToLower(string(r)); s != string(r) {
			return []rune(s)[0]
		}
		return []rune(strings.ToUpper(string(r)))[0]
	}, s)
}

// reversed reads a rank of an SFEN backwards: letters with their "+", and
// numbers, keep together.
func reversed(rank string) string {
	var parts []string
	for i := 0; i < len(rank); {
		j := i + 1
		switch {
		case rank[i] == '+':
			j++
		case rank[i] >= '0' && rank[i] <= '9':
			for j < len(rank) && rank[j] >= '0' && rank[j] <= '9' {
				j++
			}
		}
		parts = append([]string{rank[i:j]}, parts...)
		i = j
	}
	return strings.Join(parts, "")
}

func TestBothSidesSeeTheSame(t *testing.T) {
	for _, name := range rules.Names() {
		v, e := load(t, name)
		a, b := make([]float32, e.Size()), make([]float32, e.Size())
		playAll(t, v, 12, 100, func(p *rules.Position, moves []rules.Move) {
			// The same position from its SFEN alone, so that both have no history.
			p, err := v.ParseSFEN(p.SFEN())
			if err != nil {
				t.Fatal(err)
			}
			moves = p.AppendMoves(moves[:0])
			q := turned(t, v, p)
			e.Encode(p, a)
			e.Encode(q, b)
			compare(t, e, name+" "+p.SFEN(), a, b)
			var other []rules.Move
			other = q.AppendMoves(other)
			sameIndices(t, p.SFEN(), moves, other, func(m rules.Move) int { return e.Index(p, m) }, func(m rules.Move) int { return e.Index(q, m) })
		})
	}
}

func compare(t *testing.T, e *encode.Encoder, what string, a, b []float32) {
	t.Helper()
	for i := range a {
		if a[i] != b[i] {
			t.Fatalf("%s: square %d, plane %q: %v and %v", what, i/e.Planes(), e.PlaneNames()[i%e.Planes()], a[i], b[i])
		}
	}
}

func sameIndices(t *testing.T, what string, a, b []rules.Move, ia, ib func(rules.Move) int) {
	t.Helper()
	set := map[int]bool{}
	for _, m := range a {
		set[ia(m)] = true
	}
	for _, m := range b {
		if !set[ib(m)] {
			t.Fatalf("%s: index %d of one side has no partner", what, ib(m))
		}
	}
	if len(a) != len(b) {
		t.Fatalf("%s: %d and %d moves", what, len(a), len(b))
	}
}

// reflected is the left-right mirror image of a position.
func reflected(t *testing.T, v *rules.Variant, p *rules.Position) *rules.Position {
	fields := strings.Fields(p.SFEN())
	mirror := map[string]string{}
	for k := rules.Kind(1); int(k) < v.KindCount(); k++ {
		a, b := v.Info(k).Letter, v.Info(v.MirrorKind(k)).Letter
		mirror[a], mirror[strings.ToLower(a)] = b, strings.ToLower(b)
	}
	letters := func(s string) string {
		return strings.Map(func(r rune) rune {
			if m, ok := mirror[string(r)]; ok {
				return []rune(m)[0]
			}
			return r
		}, s)
	}
	var ranks []string
	for _, r := range strings.Split(fields[0], "/") {
		ranks = append(ranks, letters(reversed(r)))
	}
	fields[0] = strings.Join(ranks, "/")
	if sq := p.BanSquare(); sq != rules.NoSquare {
		fields[2] = v.SquareString(rules.Square(int(sq) + v.Width() - 1 - 2*(int(sq)%v.Width())))
	} else {
		fields[2] = letters(fields[2])
	}
	q, err := v.ParseSFEN(strings.Join(fields, " "))
	if err != nil {
		t.Fatalf("%s: %v", strings.Join(fields, " "), err)
	}
	return q
}

func TestTheMirrorImageIsASymmetryOfTheRules(t *testing.T) {
	for _, name := range rules.Names() {
		v, e := load(t, name)
		if !e.Symmetric() {
			t.Errorf("%s: not symmetric", name)
			continue
		}
		a, b := make([]float32, e.Size()), make([]float32, e.Size())
		playAll(t, v, 12, 100, func(p *rules.Position, moves []rules.Move) {
			p, err := v.ParseSFEN(p.SFEN())
			if err != nil {
				t.Fatal(err)
			}
			moves = p.AppendMoves(moves[:0])
			q := reflected(t, v, p)
			e.EncodeMirror(p, a)
			e.Encode(q, b)
			compare(t, e, name+" "+p.SFEN(), a, b)
			sameIndices(t, p.SFEN(), moves, q.AppendMoves(nil), func(m rules.Move) int { return e.IndexMirror(p, m) }, func(m rules.Move) int { return e.Index(q, m) })
		})
	}
}

func TestPlanesShowWhatTheBoardDoesNot(t *testing.T) {
	v, e := load(t, "minishogi")
	plane := func(name string) int {
		for i, n := range e.PlaneNames() {
			if n == name {
				return i
			}
		}
		t.Fatalf("no plane %q in %q", name, e.PlaneNames())
		return 0
	}
	if e.Planes() != 48 {
		t.Errorf("%d planes, not 48", e.Planes())
	}
	value := func(p *rules.Position, name string) float32 {
		dst := make([]float32, e.Size())
		e.Encode(p, dst)
		for sq := 1; sq < v.Squares(); sq++ {
			if dst[sq*e.Planes()+plane(name)] != dst[plane(name)] {
				t.Fatalf("plane %q is not the same everywhere", name)
			}
		}
		return dst[plane(name)]
	}
	p := v.Start()
	if value(p, "mover moved first in the game") != 1 || value(p, "one") != 1 || value(p, "position occurred before") != 0 {
		t.Error("the start position is not encoded as such")
	}
	for i := range 4 {
		if before := value(p, "position occurred before"); before != 0 {
			t.Errorf("ply %d occurred before", i)
		}
		m, err := p.ParseMove([]string{"1e1d", "5a5b", "1d1e", "5b5a"}[i])
		if err != nil {
			t.Fatal(err)
		}
		p.Do(m)
	}
	if value(p, "position occurred before") != 1 || value(p, "position occurred twice before") != 0 {
		t.Error("the second occurrence is not shown")
	}
	q, err := v.ParseSFEN("4k/5/5/5/K4 w 2Pr2b 7")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float32{
		"own hand has 1 or more R": 1, "own hand has 2 or more R": 0, "own hand has 2 or more B": 1,
		"enemy hand has 2 or more P": 1, "enemy hand has 1 or more R": 0, "mover moved first in the game": 1, "mover is in check": 0,
	} {
		if got := value(q, name); got != want {
			t.Errorf("%s: %v, not %v", name, got, want)
		}
	}
	short, e2 := load(t, "minishogi", "max_plies=16")
	dst := make([]float32, e2.Size())
	e2.Encode(short.Start(), dst)
	if got := dst[plane("plies left to the limit / 64, at most 1")]; got != 0.25 {
		t.Errorf("16 plies left are shown as %v", got)
	}
}

func TestEveryPlaneChangesSomewhere(t *testing.T) {
	for _, name := range rules.Names() {
		v, e := load(t, name)
		low, high := make([]float32, e.Planes()), make([]float32, e.Planes())
		dst := make([]float32, e.Size())
		playAll(t, v, 40, 300, func(p *rules.Position, _ []rules.Move) {
			e.Encode(p, dst)
			for i, x := range dst {
				low[i%e.Planes()], high[i%e.Planes()] = min(low[i%e.Planes()], x), max(high[i%e.Planes()], x)
			}
		})
		var still []string
		for i, n := range e.PlaneNames() {
			if low[i] == high[i] {
				still = append(still, n)
			}
			if low[i] < 0 || high[i] > 1 {
				t.Errorf("%s: plane %q runs from %v to %v", name, n, low[i], high[i])
			}
		}
		t.Logf("%s: %d planes, never set in random games: %q", name, e.Planes(), still)
		if len(still) > e.Planes()/4 {
			t.Errorf("%s: %d of %d planes are never set", name, len(still), e.Planes())
		}
	}
}

func TestEncodingDoesNotAllocate(t *testing.T) {
	for _, name := range rules.Names() {
		v, e := load(t, name)
		p := v.Start()
		moves := p.AppendMoves(nil)
		dst := make([]float32, e.Size())
		sum := 0
		if n := testing.AllocsPerRun(10, func() {
			e.Encode(p, dst)
			e.EncodeMirror(p, dst)
			for _, m := range moves {
				sum += e.Index(p, m) + e.IndexMirror(p, m)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestTheTableNamesEveryMoveInUSI(t *testing.T) {
	for _, name := range rules.Names() {
		v, e := load(t, name)
		var b bytes.Buffer
		if err := e.WriteMoves(&b); err != nil {
			t.Fatal(err)
		}
		table := map[int][2]string{}
		for i, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
			if i == 0 {
				continue
			}
			var index, square, plane int
			var usi [2]string
			if n, err := fmt.Sscanf(line, "%d\t%d\t%d\t%s\t%s", &index, &square, &plane, &usi[0], &usi[1]); n != 5 || err != nil {
				t.Fatalf("line %q: %v", line, err)
			}
			if index != square*e.PolicyPlanes()+plane {
				t.Fatalf("line %q: the index is not made of square and plane", line)
			}
			table[index] = usi
		}
		playAll(t, v, 10, 150, func(p *rules.Position, moves []rules.Move) {
			for _, m := range moves {
				want := p.FormatMove(m)
				if m.IsPass() {
					want = v.SquareString(m.From()) + v.SquareString(m.From())
				}
				if got := table[e.Index(p, m)][p.Side()]; got != want {
					t.Fatalf("%s: %s is %q in the table", name, want, got)
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, name := range rules.Names() {
		b.Run(name, func(b *testing.B) {
			v, e := load(b, name)
			p := v.Start()
			dst := make([]float32, e.Size())
			for b.Loop() {
				e.Encode(p, dst)
			}
		})
	}
}
