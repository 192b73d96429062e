package eval_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kirin/network"
	"kirin/network/encode"
	"kirin/network/eval"
	"kirin/rules"
)

func net(t testing.TB, spec, game string, seed uint64) *network.Net {
	t.Helper()
	n, err := network.New(weights(t, spec, game, seed))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func weights(t testing.TB, spec, game string, seed uint64) *network.Weights {
	t.Helper()
	v, err := rules.Load(game)
	if err != nil {
		t.Fatal(err)
	}
	enc, err := encode.New(v)
	if err != nil {
		t.Fatal(err)
	}
	s, err := network.ParseSpec(spec)
	if err != nil {
		t.Fatal(err)
	}
	w, err := network.Init(s, enc, rand.New(rand.NewPCG(seed, 0)))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// asked is a position with its legal moves and its answer.
type asked struct {
	pos    *rules.Position
	moves  []rules.Move
	logits []float32
	value  rules.Value
	plies  float32
}

// positions returns n positions of random games.
func positions(t testing.TB, game string, n int) []asked {
	t.Helper()
	v, err := rules.Load(game)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	var list []asked
	for p := v.Start(); len(list) < n; {
		moves := p.AppendMoves(nil)
		if p.Outcome(len(moves)).Result != rules.Ongoing {
			p = v.Start()
			continue
		}
		list = append(list, asked{pos: p.Clone(), moves: moves, logits: make([]float32, len(moves))})
		p.Do(moves[rng.IntN(len(moves))])
	}
	return list
}

func ask(t testing.TB, e *eval.Evaluator, list []asked) {
	t.Helper()
	for i := range list {
		e.AddPlies(list[i].pos, list[i].moves, list[i].logits, &list[i].value, &list[i].plies)
	}
	if err := e.Flush(); err != nil {
		t.Fatal(err)
	}
}

func TestAnswersDependOnThePositionAlone(t *testing.T) {
	n := net(t, "1x16", "minishogi", 1)
	alone, together := positions(t, "minishogi", 50), positions(t, "minishogi", 50)
	for i := range alone {
		ask(t, eval.New(n, 1), alone[i:i+1])
	}
	e := eval.New(n, 7) // smaller than the batch: it runs in between
	ask(t, e, together)
	for i := range alone {
		if x := alone[i].plies; !(x > 0) || x != together[i].plies {
			t.Errorf("position %d: %v plies left alone, %v with others", i, x, together[i].plies)
		}
		if !slices.Equal(alone[i].logits, together[i].logits) || alone[i].value != together[i].value {
			t.Errorf("position %d: %v %v alone, %v %v with others", i, alone[i].value, alone[i].logits, together[i].value, together[i].logits)
		}
	}
	if e.Evaluated() != 50 || e.Hits() != 0 {
		t.Errorf("%d positions evaluated, %d from the cache", e.Evaluated(), e.Hits())
	}
}

func TestTheCacheAnswersWithTheSameBits(t *testing.T) {
	n := net(t, "1x16", "minishogi", 1)
	e := eval.New(n, 64)
	first, again := positions(t, "minishogi", 60), positions(t, "minishogi", 60)
	ask(t, e, first)
	ask(t, e, again)
	for i := range first {
		if !slices.Equal(first[i].logits, again[i].logits) || first[i].value != again[i].value {
			t.Errorf("position %d: another answer from the cache", i)
		}
	}
	if e.Hits() < 55 || e.Evaluated()+e.Hits() != 120 {
		t.Errorf("%d positions evaluated, %d from the cache", e.Evaluated(), e.Hits())
	}
}

func TestOldAnswersAreForgottenWhole(t *testing.T) {
	n := net(t, "1x16", "torishogi", 1)
	list := positions(t, "torishogi", 9000)
	want := make([]asked, len(list))
	logits := 0
	for i, a := range list {
		want[i] = asked{pos: a.pos, moves: a.moves, logits: make([]float32, len(a.moves))}
		logits += len(a.moves)
	}
	e := eval.New(n, 64)
	for range 3 {
		ask(t, e, list)
	}
	if all := uint64(3 * len(list)); e.Hits() == 0 || e.Evaluated()+e.Hits() != all || e.Hits() > 2*all/3 {
		t.Errorf("%d of %d positions with %d moves from the cache", e.Hits(), all, logits)
	}
	ask(t, eval.New(n, 64), want)
	for i := range list {
		if !slices.Equal(list[i].logits, want[i].logits) || list[i].value != want[i].value {
			t.Fatalf("position %d is answered by another one's logits", i)
		}
	}
}

func TestANewNetAnswersForItself(t *testing.T) {
	a, b := net(t, "1x16", "minishogi", 1), net(t, "1x16", "minishogi", 2)
	e := eval.New(a, 8)
	list, want := positions(t, "minishogi", 8), positions(t, "minishogi", 8)
	ask(t, e, list)
	e.SetNet(b)
	ask(t, e, list)
	ask(t, eval.New(b, 8), want)
	for i := range list {
		if list[i].value != want[i].value {
			t.Errorf("position %d is answered by the old net", i)
		}
	}
	c := net(t, "2x32", "minishogi", 3)
	e.SetNet(c)
	ask(t, e, list)
}

func TestEvaluatorsBesideEachOtherAnswerForThemselves(t *testing.T) {
	a, b := net(t, "2x16", "minishogi", 1), net(t, "2x16", "minishogi", 2)
	first := eval.New(a, 8)
	second := first.Beside(b)
	lists := [][]asked{positions(t, "minishogi", 8), positions(t, "minishogi", 8)}
	for i := range 8 { // both have positions that wait at the same time
		for k, e := range []*eval.Evaluator{first, second} {
			x := &lists[k][i]
			e.AddPlies(x.pos, x.moves, x.logits, &x.value, &x.plies)
		}
	}
	if err := first.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := second.Flush(); err != nil {
		t.Fatal(err)
	}
	for k, n := range []*network.Net{a, b} {
		want := positions(t, "minishogi", 8)
		ask(t, eval.New(n, 8), want)
		for i := range want {
			if !slices.Equal(lists[k][i].logits, want[i].logits) || lists[k][i].value != want[i].value {
				t.Errorf("evaluator %d answers position %d otherwise than alone", k, i)
			}
		}
	}
	second.Forget()
	second.SetNet(a)
	ask(t, second, lists[1])
	if !slices.Equal(lists[1][0].logits, lists[0][0].logits) {
		t.Error("a net that was given after Forget answers otherwise")
	}
	third := first.Beside(net(t, "1x16", "torishogi", 3)) // of another form
	ask(t, third, positions(t, "torishogi", 8))
}

func TestAReloadedNetAnswersForItself(t *testing.T) {
	a, b := net(t, "2x16", "minishogi", 1), weights(t, "2x16", "minishogi", 2)
	e := eval.New(a, 8)
	list, want := positions(t, "minishogi", 8), positions(t, "minishogi", 8)
	ask(t, e, list)
	if err := a.Reload(b); err != nil {
		t.Fatal(err)
	}
	e.SetNet(a)
	ask(t, e, list)
	ask(t, eval.New(net(t, "2x16", "minishogi", 2), 8), want)
	for i := range list {
		if !slices.Equal(list[i].logits, want[i].logits) || list[i].value != want[i].value || list[i].plies != want[i].plies {
			t.Errorf("position %d is not answered as by a new net of these weights", i)
		}
	}
	if e.Hits() != 0 {
		t.Errorf("%d answers of the old weights were used", e.Hits())
	}
	if err := a.Reload(weights(t, "1x16", "minishogi", 2)); err == nil {
		t.Error("weights of another form were taken")
	}
	broken := weights(t, "2x16", "minishogi", 3)
	broken.Params[7] = float32(math.NaN())
	if err := a.Reload(broken); err == nil {
		t.Error("weights that are not finite were taken")
	}
}

func TestAPositionMayChangeBetweenAddAndFlush(t *testing.T) {
	n := net(t, "1x16", "minishogi", 1)
	list, want := positions(t, "minishogi", 5), positions(t, "minishogi", 5)
	ask(t, eval.New(n, 8), want)
	e := eval.New(n, 8)
	for i := range list {
		a := &list[i]
		e.Add(a.pos, a.moves, a.logits, &a.value)
		a.pos.Do(a.moves[0])
		clear(a.moves)
	}
	if err := e.Flush(); err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if list[i].value != want[i].value || !slices.Equal(list[i].logits, want[i].logits) {
			t.Errorf("position %d: the change reached the evaluator", i)
		}
	}
}

func TestAnAnswerThatIsNotFiniteIsAnErrorWheneverItIsAskedFor(t *testing.T) {
	w := weights(t, "1x16", "minishogi", 1)
	for i := range w.Params {
		w.Params[i] *= 1e30 // finite, but not what comes of them
	}
	n, err := network.New(w)
	if err != nil {
		t.Fatal(err)
	}
	e := eval.New(n, 4)
	list := positions(t, "minishogi", 1)
	for range 2 {
		e.Add(list[0].pos, list[0].moves, list[0].logits, &list[0].value)
		if err := e.Flush(); err == nil || !strings.Contains(err.Error(), "not finite") {
			t.Errorf("error %v", err)
		}
	}
}

func TestAPositionOfAnotherGameIsAnError(t *testing.T) {
	e := eval.New(net(t, "1x16", "minishogi", 1), 4)
	list := positions(t, "torishogi", 1)
	e.Add(list[0].pos, list[0].moves, list[0].logits, &list[0].value)
	if err := e.Flush(); err == nil || !strings.Contains(err.Error(), "torishogi") {
		t.Errorf("error %v", err)
	}
	if err := e.Flush(); err != nil {
		t.Errorf("the error stayed: %v", err)
	}
}

func TestEvaluatingDoesNotAllocate(t *testing.T) {
	list := positions(t, "minishogi", 40)
	a, b := net(t, "1x16", "minishogi", 1), net(t, "1x16", "minishogi", 2)
	e := eval.New(a, 40)
	round := func() {
		for i := range list {
			e.Add(list[i].pos, list[i].moves, list[i].logits, &list[i].value)
		}
		if err := e.Flush(); err != nil {
			t.Error(err)
		}
	}
	round()
	if n := testing.AllocsPerRun(5, func() {
		e.SetNet(b)
		round()
		e.SetNet(a)
		round()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAdd(b *testing.B) {
	list := positions(b, "minishogi", 64)
	e := eval.New(net(b, "1x16", "minishogi", 1), 64)
	ask(b, e, list)
	b.ResetTimer()
	for b.Loop() {
		for i := range list {
			e.Add(list[i].pos, list[i].moves, list[i].logits, &list[i].value)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(64*b.N), "ns/position")
}
