package train

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"kirin/network"
)

func small(t testing.TB, change func(o *Options)) *Trainer {
	t.Helper()
	w, _ := weights(t, "1x16g1", "minishogi")
	o := DefaultOptions()
	o.BatchSize, o.WarmupSteps = 16, 2
	if change != nil {
		change(&o)
	}
	tr, err := New(w, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	})
	return tr
}

// steps takes n steps on batches that depend on the step alone.
func steps(t testing.TB, tr *Trainer, n int) Stats {
	t.Helper()
	var s Stats
	for range n {
		randomBatch(tr, tr.options.BatchSize, uint64(tr.StepCount())+100)
		var err error
		if s, err = tr.Step(); err != nil || s.NonFinite {
			t.Fatalf("%+v, %v", s, err)
		}
	}
	return s
}

func TestWeightsDoNotDependOnTheNumberOfThreads(t *testing.T) {
	one := small(t, nil)
	before := runtime.GOMAXPROCS(1)
	a := steps(t, one, 4)
	runtime.GOMAXPROCS(max(4, before))
	many := small(t, nil)
	many.graph.scratch = append(many.graph.scratch, one.graph.scratch...) // more workers than cores
	b := steps(t, many, 4)
	runtime.GOMAXPROCS(before)
	if a != b || !slices.Equal(one.params, many.params) || !slices.Equal(one.average, many.average) {
		t.Errorf("one thread: %+v\nmany threads: %+v", a, b)
	}
}

func TestASmallBatchIsTheSameInARoomyTrainer(t *testing.T) {
	tight, roomy := small(t, func(o *Options) { o.BatchSize = 5 }), small(t, func(o *Options) { o.BatchSize = 40 })
	randomBatch(roomy, 40, 7)
	if _, err := roomy.Step(); err != nil { // leaves its numbers in all buffers
		t.Fatal(err)
	}
	copy(roomy.params, tight.params)
	for _, tr := range []*Trainer{tight, roomy} {
		randomBatch(tr, 5, 8)
		tr.weigh(tr.batch)
		if err := tr.graph.run(tr.batch); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(tight.grads, roomy.grads) || *tight.graph.total.sum != *roomy.graph.total.sum {
		t.Error("the gradient of five samples depends on the room for more")
	}
}

func TestASavedTrainerGoesOnBitForBit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "train", "3")
	straight := small(t, nil)
	steps(t, straight, 3)
	if err := straight.Save(dir); err != nil {
		t.Fatal(err)
	}
	straight.random.Uint64()
	last := steps(t, straight, 3)

	resumed := small(t, nil)
	steps(t, resumed, 1) // is forgotten
	if err := resumed.Load(dir); err != nil {
		t.Fatal(err)
	}
	resumed.random.Uint64()
	if again := steps(t, resumed, 3); again != last {
		t.Errorf("without a break: %+v\nresumed: %+v", last, again)
	}
	if a, b := resumed.random.Uint64(), straight.random.Uint64(); a != b {
		t.Error("the random state differs")
	}
	ends := t.TempDir()
	for name, tr := range map[string]*Trainer{"a": straight, "b": resumed} {
		if err := tr.Save(filepath.Join(ends, name)); err != nil {
			t.Fatal(err)
		}
	}
	a, errA := os.ReadFile(filepath.Join(ends, "a", checkpointFile))
	b, errB := os.ReadFile(filepath.Join(ends, "b", checkpointFile))
	if errA != nil || errB != nil || !slices.Equal(a, b) {
		t.Errorf("checkpoints differ (%v, %v)", errA, errB)
	}
	sumA, errA := straight.Averaged().Sum()
	sumB, errB := resumed.Averaged().Sum()
	if errA != nil || errB != nil || sumA != sumB || straight.Averaged().Meta.Step != 6 {
		t.Errorf("averaged weights differ: %s, %s, %v, %v", sumA, sumB, errA, errB)
	}
}

func TestADamagedCheckpointIsReportedAndChangesNothing(t *testing.T) {
	dir := t.TempDir()
	tr := small(t, nil)
	steps(t, tr, 1)
	if err := tr.Save(dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, checkpointFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before := slices.Clone(tr.params)
	fail := func(what string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := tr.Load(dir); err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for i := 0; i < len(data); i += len(data)/50 + 1 {
		data[i] ^= 4
		fail("a flipped bit", data)
		data[i] ^= 4
	}
	fail("half a file", data[:len(data)/2])
	fail("an empty file", nil)
	w := tr.Weights()
	weightsFile, err := w.Encode()
	if err != nil {
		t.Fatal(err)
	}
	fail("a weights file", weightsFile)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := tr.Load(dir); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("no file: %v", err)
	}
	if !slices.Equal(before, tr.params) || tr.StepCount() != 1 {
		t.Error("the trainer changed")
	}
}

func TestACheckpointOfAnotherNetIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := small(t, nil).Save(dir); err != nil {
		t.Fatal(err)
	}
	w, _ := weights(t, "1x32", "minishogi")
	o := DefaultOptions()
	o.BatchSize = 4
	other, err := New(w, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Load(dir); err == nil || !strings.Contains(err.Error(), "1x16g1") {
		t.Errorf("error %v", err)
	}
}

func TestAStepThatIsNotFiniteIsDropped(t *testing.T) {
	tr := small(t, nil)
	steps(t, tr, 2)
	params, average, second := slices.Clone(tr.params), slices.Clone(tr.average), slices.Clone(tr.second)
	for _, x := range []float32{float32(math.NaN()), float32(math.Inf(1)), 1e38} {
		randomBatch(tr, 16, 3)
		tr.batch.Planes[5] = x
		s, err := tr.Step()
		if err != nil || !s.NonFinite || s.Step != 2 {
			t.Errorf("input %v: %+v, %v", x, s, err)
		}
	}
	randomBatch(tr, 16, 3)
	tr.batch.WDL[4] = float32(math.NaN())
	if s, err := tr.Step(); err != nil || !s.NonFinite {
		t.Errorf("a target that is no number: %+v, %v", s, err)
	}
	if !slices.Equal(params, tr.params) || !slices.Equal(average, tr.average) || !slices.Equal(second, tr.second) || tr.StepCount() != 2 {
		t.Error("a dropped step changed the trainer")
	}
	steps(t, tr, 1)
}

func TestMaskedTargetsTeachNothing(t *testing.T) {
	tr := small(t, nil)
	gradient := func(change func(b *Batch)) []float32 {
		randomBatch(tr, 16, 9)
		change(tr.batch)
		tr.weigh(tr.batch)
		if err := tr.graph.run(tr.batch); err != nil {
			t.Fatal(err)
		}
		return slices.Clone(tr.grads)
	}
	mask := func(b *Batch) { b.ValueWeight[3], b.PliesWeight[3] = 0, 0 }
	a := gradient(mask)
	b := gradient(func(b *Batch) {
		mask(b)
		copy(b.WDL[9:12], []float32{1, 0, 0})
		b.PliesLeft[3] = 500
	})
	if !slices.Equal(a, b) {
		t.Error("masked targets reach the gradient")
	}
	if c := gradient(func(*Batch) {}); slices.Equal(a, c) {
		t.Error("the mask has no effect")
	}
	if d := gradient(func(b *Batch) { clear(b.Weight) }); slices.Max(d) != 0 || slices.Min(d) != 0 {
		t.Error("samples without weight have a gradient")
	}
}

func TestLongGradientsAreClipped(t *testing.T) {
	tr := small(t, func(o *Options) { o.ClipNorm, o.Beta1, o.WarmupSteps = 1e-3, 0, 0 })
	s := steps(t, tr, 1)
	norm := math.Sqrt(tr.set.SumSquares(tr.first))
	if s.GradNorm < 0.01 || math.Abs(norm-1e-3) > 1e-5 {
		t.Errorf("norm %v before, %v after clipping", s.GradNorm, norm)
	}
}

func TestBiasesDoNotDecay(t *testing.T) {
	with, without := small(t, func(o *Options) { o.WeightDecay = 0.5 }), small(t, func(o *Options) { o.WeightDecay = 0 })
	steps(t, with, 1)
	steps(t, without, 1)
	for i := range with.layout.Slots {
		s := &with.layout.Slots[i]
		if same := slices.Equal(s.Of(with.params), s.Of(without.params)); same != (s.Fan == 0) {
			t.Errorf("%s: decayed %v", s.Name, !same)
		}
	}
}

func TestWeightsNameTheirParentAndStep(t *testing.T) {
	w, _ := weights(t, "1x16g1", "minishogi")
	sum, err := w.Sum()
	if err != nil {
		t.Fatal(err)
	}
	tr := small(t, nil)
	steps(t, tr, 2)
	for _, got := range []*network.Weights{tr.Weights(), tr.Averaged()} {
		if got.Meta.Parent != sum || got.Meta.Step != 2 || got.Meta.Variant != "minishogi" || got.Form != w.Form {
			t.Errorf("%+v", got.Meta)
		}
		got.Params[0], got.Meta.Free["x"] = 99, "y"
	}
	if tr.params[0] == 99 || tr.average[0] == 99 || tr.meta.Free["x"] == "y" {
		t.Error("the weights handed out share memory with the trainer")
	}
}

func TestAWrongBatchIsAnError(t *testing.T) {
	tr := small(t, nil)
	for what, change := range map[string]func(b *Batch){
		"none":     func(b *Batch) { b.N = 0 },
		"too many": func(b *Batch) { b.N = 17 },
		"index":    func(b *Batch) { b.Index[0] = int32(tr.encoder.PolicySize()) },
		"offsets":  func(b *Batch) { b.Offsets[2] = b.Offsets[3] + 1 },
		"targets":  func(b *Batch) { b.Target = b.Target[1:] },
		"planes":   func(b *Batch) { b.Planes = b.Planes[1:] },
	} {
		randomBatch(tr, 16, 1)
		whole := *tr.batch
		whole.Offsets, whole.Index = slices.Clone(whole.Offsets), slices.Clone(whole.Index)
		change(tr.batch)
		if _, err := tr.Step(); err == nil {
			t.Errorf("%s: no error", what)
		}
		*tr.batch = whole
	}
}

func TestOptionsReportEveryFault(t *testing.T) {
	o := DefaultOptions()
	if err := o.Validate(); err != nil {
		t.Errorf("the defaults are wrong: %v", err)
	}
	o.BatchSize, o.LearningRate, o.Schedule, o.Beta2, o.ValueBlend, o.Average = 0, math.NaN(), "sine", 1, -1, 1.5
	err := o.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, key := range []string{"batch_size: 0", "learning_rate: NaN", "schedule: sine", "beta2: 1", "value_blend: -1", "average: 1.5"} {
		if !strings.Contains(err.Error(), key) {
			t.Errorf("%q is missing in %q", key, err)
		}
	}
	if n := len(strings.Split(err.Error(), "\n")); n != 6 {
		t.Errorf("%d faults", n)
	}
	w, _ := weights(t, "1x16", "minishogi")
	if _, err := New(w, o); err == nil {
		t.Error("a trainer was made")
	}
}

func TestOptionsReadBackFromYAML(t *testing.T) {
	want := DefaultOptions()
	text, err := yaml.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Options
	if err := yaml.UnmarshalWithOptions(text, &got, yaml.Strict()); err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v\n%s", err, cmp.Diff(want, got))
	}
	if !strings.Contains(string(text), "batch_size: 256") || strings.Contains(string(text), "batchsize") {
		t.Errorf("keys are not in snake case:\n%s", text)
	}
}
