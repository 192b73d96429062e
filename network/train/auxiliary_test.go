package train

import (
	"math"
	"slices"
	"testing"

	"kirin/network"
)

// helped makes a trainer with everything that is off by default.
func helped(t *testing.T) *Trainer {
	t.Helper()
	return small(t, func(o *Options) { o.SoftWeight, o.ReplyWeight, o.Surprise = 2, 0.5, 0.5 })
}

func TestAuxiliaryHeadsLearnAndStayOutOfTheNet(t *testing.T) {
	plain, tr := small(t, nil), helped(t)
	list := samples(t, window(t, "minishogi", 6), 16)
	var first, last Stats
	for i := range 30 {
		if err := tr.Fill(list); err != nil {
			t.Fatal(err)
		}
		s, err := tr.Step()
		if err != nil {
			t.Fatal(err)
		}
		if last = s; i == 0 {
			first = s
		}
	}
	if !(last.Soft < first.Soft && last.Reply < first.Reply && last.Policy < first.Policy) || first.Reply == 0 {
		t.Errorf("losses did not fall: %+v, then %+v", first, last)
	}
	w := tr.Averaged()
	if len(w.Params) != len(plain.Averaged().Params) {
		t.Errorf("the net has %d numbers, without the auxiliary heads %d", len(w.Params), len(plain.Averaged().Params))
	}
	if _, err := network.New(w); err != nil {
		t.Error(err)
	}
	dir := t.TempDir()
	if err := tr.Save(dir); err != nil {
		t.Fatal(err)
	}
	again := helped(t)
	if err := again.Load(dir); err != nil {
		t.Fatal(err)
	}
	for _, x := range []*Trainer{tr, again} {
		if err := x.Fill(list); err != nil {
			t.Fatal(err)
		}
		if _, err := x.Step(); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(tr.params, again.params) {
		t.Error("a saved trainer with auxiliary heads goes on differently")
	}
	if err := plain.Load(dir); err == nil {
		t.Error("a trainer without auxiliary heads took their checkpoint")
	}
}

func TestEvaluateGivesTheLossesOfAStepAndChangesNothing(t *testing.T) {
	list := samples(t, window(t, "minishogi", 6), 16)
	for _, tr := range []*Trainer{small(t, func(o *Options) { o.Mirror = false }), small(t, func(o *Options) { o.Mirror, o.SoftWeight, o.ReplyWeight = false, 1, 1 })} {
		before := slices.Clone(tr.params)
		got, err := tr.Evaluate(list)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(before, tr.params) || tr.StepCount() != 0 {
			t.Error("the trainer has changed")
		}
		if err := tr.Fill(list); err != nil {
			t.Fatal(err)
		}
		want, err := tr.Step()
		if err != nil {
			t.Fatal(err)
		}
		got.Step, got.Total, got.GradNorm, got.Rate = want.Step, want.Total, want.GradNorm, want.Rate
		if got != want {
			t.Errorf("got %+v, the step has %+v", got, want)
		}
	}
	a, b := small(t, nil), small(t, nil)
	if _, err := a.Evaluate(list); err != nil {
		t.Fatal(err)
	}
	for _, tr := range []*Trainer{a, b} {
		if err := tr.Fill(list); err != nil {
			t.Fatal(err)
		}
		if _, err := tr.Step(); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(a.params, b.params) {
		t.Error("the next step is another one, since the choice of mirrored samples went on")
	}
}

func TestSoftTargetsKeepTheirOrderAndSum(t *testing.T) {
	soft := make([]float32, 4)
	soften(soft, []float32{0.81, 0.16, 0.03, 0}, 2)
	sum := float32(0)
	for _, x := range soft {
		sum += x
	}
	if ratio := float64(soft[0] / soft[1]); math.Abs(ratio-2.25) > 1e-5 || math.Abs(float64(sum)-1) > 1e-6 || soft[3] != 0 || soft[2] < 0.03 {
		t.Errorf("got %v", soft)
	}
	soften(soft, make([]float32, 4), 2)
	if !slices.Equal(soft, make([]float32, 4)) {
		t.Errorf("no target became %v", soft)
	}
}

func TestSurpriseMovesWeightBetweenSamplesAndKeepsTheirSum(t *testing.T) {
	weights := make([]float32, 3*losses)
	for i := range weights {
		weights[i] = 1
	}
	surprised(weights, []float32{0, 1, 2}, 0.5)
	for i, want := range []float32{0.5, 1, 1.5} {
		if weights[i*losses] != want || weights[i*losses+pliesLoss] != want {
			t.Errorf("sample %d weighs %v, want %v", i, weights[i*losses], want)
		}
	}
	surprised(weights, []float32{0, 0, 0}, 1)
	surprised(weights, []float32{0, 0, float32(math.NaN())}, 1)
	if weights[0] != 0.5 {
		t.Error("no surprise at all changed the weights")
	}
}
