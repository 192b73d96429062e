package train

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"kirin/dataset"
	"kirin/rules"
)

// window returns a window with random games, whose targets prefer the move
// that was played.
func window(t testing.TB, game string, games int) *dataset.Window {
	t.Helper()
	v, err := rules.Load(game)
	if err != nil {
		t.Fatal(err)
	}
	w, err := dataset.NewWindow(v, dataset.DefaultWindowOptions())
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(31, 32))
	for n := range games {
		g := &dataset.Game{Variant: v.Name(), Rules: v.Rules(), Start: v.Start().SFEN(), Number: int64(n)}
		for p := v.Start(); ; {
			moves := p.AppendMoves(nil)
			if g.Outcome = p.Outcome(len(moves)); g.Outcome.Result != rules.Ongoing {
				break
			}
			if n%3 == 1 && len(g.Plies) > 20 {
				g.Truncated = true
				break
			}
			if n%3 == 2 && len(g.Plies) > 30 {
				g.Outcome = rules.Outcome{Result: rules.GoteWins, Reason: rules.Resignation}
				break
			}
			policy := make([]float32, len(moves))
			i := rng.IntN(len(moves))
			for j := range policy {
				policy[j] = 0.5 / float32(len(moves))
			}
			policy[i] += 0.5
			g.Plies = append(g.Plies, dataset.Ply{Move: moves[i], Value: rules.Value{Win: 0.5, Draw: 0.25, Loss: 0.25}, Target: dataset.PackPolicy(nil, moves, policy)})
			p.Do(moves[i])
		}
		g.SetID()
		if ok, err := w.Add(g); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	return w
}

func samples(t testing.TB, w *dataset.Window, n int) []dataset.Sample {
	t.Helper()
	s := make([]dataset.Sample, n)
	if err := w.Sample(rand.New(rand.NewPCG(1, 1)), s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFillEncodesTheSampledPositions(t *testing.T) {
	w := window(t, "minishogi", 9)
	list := samples(t, w, 64)
	tr := small(t, func(o *Options) { o.BatchSize, o.Mirror, o.ValueBlend = 64, false, 0.5 })
	if err := tr.Fill(list); err != nil {
		t.Fatal(err)
	}
	b, e := tr.Batch(), tr.encoder
	p := e.Variant().Start()
	truncated, resigned := 0, 0
	for i, s := range list {
		s.Replay(p)
		want := make([]float32, e.Size())
		e.Encode(p, want)
		if !slices.Equal(want, b.Planes[i*e.Size():(i+1)*e.Size()]) {
			t.Fatalf("sample %d: other planes", i)
		}
		moves := p.AppendMoves(nil)
		target := make([]float32, len(moves))
		s.Target(target)
		sum := float32(0)
		for j, m := range moves {
			at := int(b.Offsets[i]) + j
			if int(b.Index[at]) != e.Index(p, m) || b.Target[at] != target[j] {
				t.Fatalf("sample %d: move %d has index %d and share %v", i, j, b.Index[at], b.Target[at])
			}
			sum += b.Target[at]
		}
		if math.Abs(float64(sum)-1) > 1e-4 {
			t.Errorf("sample %d: target sums to %v", i, sum)
		}
		outcome := s.Outcome()
		if got, want := b.WDL[3*i], 0.5*outcome.Win+0.25; math.Abs(float64(got-want)) > 1e-3 {
			t.Errorf("sample %d: win %v, not %v", i, got, want)
		}
		if b.PliesLeft[i] != float32(s.Game.Plies()-s.Ply) || b.Weight[i] != 1 {
			t.Errorf("sample %d: %v plies left, weight %v", i, b.PliesLeft[i], b.Weight[i])
		}
		switch {
		case s.ValueWeight() == 0:
			truncated++
			if b.ValueWeight[i] != 0 || b.PliesWeight[i] != 0 {
				t.Errorf("sample %d of a truncated game teaches a value", i)
			}
		case s.Game.Outcome().Reason == rules.Resignation:
			resigned++
			if b.ValueWeight[i] != 1 || b.PliesWeight[i] != 0 {
				t.Errorf("sample %d of a resigned game: value weight %v, plies weight %v", i, b.ValueWeight[i], b.PliesWeight[i])
			}
		default:
			if b.ValueWeight[i] != 1 || b.PliesWeight[i] != 1 {
				t.Errorf("sample %d: value weight %v, plies weight %v", i, b.ValueWeight[i], b.PliesWeight[i])
			}
		}
	}
	if truncated == 0 || resigned == 0 {
		t.Errorf("%d truncated and %d resigned samples", truncated, resigned)
	}
	if _, err := tr.Step(); err != nil {
		t.Error(err)
	}
}

func TestFillDoesNotDependOnTheNumberOfThreads(t *testing.T) {
	list := samples(t, window(t, "torishogi", 3), 48)
	w, _ := weights(t, "1x16", "torishogi")
	o := DefaultOptions()
	o.BatchSize = 48
	var batches []*Batch
	before := runtime.GOMAXPROCS(0)
	for _, n := range []int{1, 4} {
		runtime.GOMAXPROCS(n)
		tr, err := New(w, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := tr.Fill(list); err != nil {
			t.Fatal(err)
		}
		batches = append(batches, tr.Batch())
	}
	runtime.GOMAXPROCS(before)
	a, b := batches[0], batches[1]
	if !slices.Equal(a.Planes, b.Planes) || !slices.Equal(a.Index, b.Index) || !slices.Equal(a.Target, b.Target) || !slices.Equal(a.WDL, b.WDL) {
		t.Error("the batches differ")
	}
}

func TestHalfOfTheSamplesAreMirrored(t *testing.T) {
	list := samples(t, window(t, "minishogi", 3), 200)
	plain, mirrored := small(t, func(o *Options) { o.BatchSize, o.Mirror = 200, false }), small(t, func(o *Options) { o.BatchSize = 200 })
	for _, tr := range []*Trainer{plain, mirrored} {
		if err := tr.Fill(list); err != nil {
			t.Fatal(err)
		}
	}
	size, same := plain.encoder.Size(), 0
	for i := range list {
		if slices.Equal(plain.Batch().Planes[i*size:(i+1)*size], mirrored.Batch().Planes[i*size:(i+1)*size]) {
			same++
		}
	}
	if same < 60 || same > 140 {
		t.Errorf("%d of 200 samples are not mirrored", same)
	}
}

func TestFillRefusesWhatDoesNotFit(t *testing.T) {
	tr := small(t, nil)
	if err := tr.Fill(nil); err == nil {
		t.Error("no samples were accepted")
	}
	if err := tr.Fill(samples(t, window(t, "minishogi", 1), 17)); err == nil {
		t.Error("too many samples were accepted")
	}
	if err := tr.Fill(samples(t, window(t, "torishogi", 1), 4)); err == nil || !strings.Contains(err.Error(), "torishogi") {
		t.Errorf("samples of another game: %v", err)
	}
}

func TestRepliesAreTheOpponentsNextTargetsAsTheMoverSeesThem(t *testing.T) {
	list := samples(t, window(t, "minishogi", 9), 64)
	tr := small(t, func(o *Options) { o.BatchSize, o.Mirror, o.ReplyWeight = 64, false, 1 })
	if err := tr.Fill(list); err != nil {
		t.Fatal(err)
	}
	b, e := tr.Batch(), tr.encoder
	planes, squares := e.PolicyPlanes(), e.PolicySize()/e.PolicyPlanes()
	p := e.Variant().Start()
	replies := 0
	for i, s := range list {
		reply := b.ReplyIndex[b.ReplyOffsets[i]:b.ReplyOffsets[i+1]]
		r, ok := s.Reply()
		if ok != (len(reply) > 0) {
			t.Fatalf("sample %d: %d moves of the reply, there is one: %v", i, len(reply), ok)
		}
		if !ok {
			continue
		}
		replies++
		r.Replay(p)
		target := make([]float32, r.LegalMoves())
		r.Target(target)
		for j, m := range p.AppendMoves(nil) {
			own := e.Index(p, m)
			if want := (squares-1-own/planes)*planes + own%planes; int(reply[j]) != want || b.Reply[int(b.ReplyOffsets[i])+j] != target[j] {
				t.Fatalf("sample %d: reply %d has index %d, not %d", i, j, reply[j], want)
			}
		}
	}
	if replies < 40 {
		t.Errorf("%d of 64 samples have a reply", replies)
	}
	if _, err := tr.Step(); err != nil {
		t.Error(err)
	}
}
