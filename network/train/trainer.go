package train

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"kirin/dataset"
	"kirin/network"
	"kirin/network/encode"
	"kirin/network/kernel"
	"kirin/rules"
)

// Trainer improves a net step by step. See the package comment.
type Trainer struct {
	options Options
	layout  *network.Layout // of the net, with the auxiliary heads behind it
	net     int             // numbers of the net alone
	meta    network.Meta    // of the weights that Weights returns
	encoder *encode.Encoder
	set     *kernel.Set
	graph   *graph
	batch   *Batch
	fillers []filler

	// All in the order of layout.
	params, grads, first, second, average []float32

	step    int64 // steps taken
	source  *rand.PCG
	random  *rand.Rand
	encoded []byte // memory of Save
}

// Stats says how a step went. Losses are means over the samples that have
// them, in nats (policy, value) and units of network.PliesScale plies squared
// (plies left), before their factors.
type Stats struct {
	Step      int64   // steps taken, this one included if it counted
	Samples   int     // positions of the batch
	Policy    float64 // cross-entropy of the policy
	Value     float64 // cross-entropy of the value
	Plies     float64 // Huber's loss of the plies left
	Total     float64 // what the step minimises: the weighted sum over the batch
	Soft      float64 // cross-entropy of the soft policy, 0 without that head
	Reply     float64 // cross-entropy of the opponent's reply, 0 without that head
	Entropy   float64 // mean entropy of the net's policy
	Accuracy  float64 // share of the samples whose most likely move is the target's
	GradNorm  float64 // before clipping
	Rate      float64 // learning rate
	Largest   float64 // largest activation at the end of the tower
	NonFinite bool    // a loss or gradient was not finite: the step was dropped and changed nothing
}

// Finite tells whether all losses are finite numbers.
func (s *Stats) Finite() bool { return !bad(s.Policy + s.Value + s.Plies + s.Soft + s.Reply) }

// New returns a trainer that goes on from weights with the fastest kernels of
// this machine. Its steps count from zero; the weights become the parent of
// those it makes.
func New(w *network.Weights, o Options) (*Trainer, error) { return NewOn(w, o, kernel.Best()) }

// NewOn returns a trainer that uses one set of kernels.
func NewOn(w *network.Weights, o Options, set *kernel.Set) (*Trainer, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	v, err := rules.Load(w.Meta.Variant, strings.Split(w.Meta.Rules, ",")...)
	if err != nil {
		return nil, fmt.Errorf("train: rules of the weights: %w", err)
	}
	enc, err := encode.New(v)
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	if form := network.NewForm(w.Form.Spec, enc); form != w.Form || enc.Name() != w.Meta.Encoder {
		return nil, fmt.Errorf("train: weights of encoder %s and form %+v, but %s has %s and %+v", w.Meta.Encoder, w.Form, v.Name(), enc.Name(), form)
	}
	parent, err := w.Sum()
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	t := &Trainer{options: o, layout: o.auxiliary().extend(network.NewLayout(w.Form)), net: len(w.Params), meta: w.Meta, encoder: enc, set: set}
	t.meta.Parent = parent
	n := t.layout.Size
	t.params, t.grads, t.first, t.second, t.average = kernel.Alloc(n), kernel.Alloc(n), kernel.Alloc(n), kernel.Alloc(n), kernel.Alloc(n)
	copy(t.params, w.Params)
	copy(t.average, w.Params)
	t.source = rand.NewPCG(o.Seed, 0x7261696e)
	t.random = rand.New(t.source)
	t.batch = NewBatch(o.BatchSize, enc.Size())
	if t.graph, err = newGraph(set, t.layout, t.params, t.grads, &t.options); err != nil {
		return nil, err
	}
	t.fillers = newFillers(v, len(t.graph.scratch))
	return t, nil
}

// Close releases the training graph.
func (t *Trainer) Close() error { return t.graph.close() }

// Account has every goroutine of a step do its share of the work through f,
// which must call its argument once: so the caller can measure the CPU time.
func (t *Trainer) Account(f func(work func())) { t.graph.account = f }

// Batch returns the batch of the next step, to be filled by hand instead of by
// Fill.
func (t *Trainer) Batch() *Batch { return t.batch }

// StepCount returns the number of steps taken.
func (t *Trainer) StepCount() int64 { return t.step }

// Weights returns a copy of the parameters as they are being trained.
func (t *Trainer) Weights() *network.Weights { return t.weights(t.params) }

// Averaged returns a copy of the moving average of the parameters: the weights
// to play with.
func (t *Trainer) Averaged() *network.Weights { return t.weights(t.average) }

func (t *Trainer) weights(params []float32) *network.Weights {
	w := &network.Weights{Form: t.layout.Form, Meta: t.meta, Params: slices.Clone(params[:t.net])}
	w.Meta.Step = t.step
	return w.Clone()
}

// Step learns from the batch: one forward and backward pass and one step of
// AdamW. A loss or gradient that is not finite drops the step, which then
// changes nothing and is not counted, and is reported in Stats. An error means
// that the batch does not fit the trainer.
func (t *Trainer) Step() (Stats, error) {
	b := t.batch
	if err := b.check(t.options.BatchSize, t.encoder.Size(), t.encoder.PolicySize()); err != nil {
		return Stats{}, err
	}
	t.weigh(b)
	if err := t.graph.run(b); err != nil {
		return Stats{}, err
	}
	s := t.stats(b)
	s.Total = float64(*t.graph.total.sum)
	norm := math.Sqrt(t.set.SumSquares(t.grads))
	s.GradNorm = norm
	if bad(s.Total) || bad(norm) {
		s.Step, s.NonFinite = t.step, true
		return s, nil
	}
	t.step++
	s.Step, s.Rate = t.step, t.options.Rate(t.step)
	t.update(float32(s.Rate), norm)
	return s, nil
}

func bad(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }

// weigh sets the weight of each loss of each sample in the total.
func (t *Trainer) weigh(b *Batch) {
	w := t.graph.total.weights
	clear(w)
	for i := range b.N {
		whole := float64(b.Weight[i]) / float64(b.N)
		w[i*losses+policyLoss] = float32(t.options.PolicyWeight * whole)
		w[i*losses+valueLoss] = float32(t.options.ValueWeight * whole * float64(b.ValueWeight[i]))
		w[i*losses+pliesLoss] = float32(t.options.PliesWeight * whole * float64(b.PliesWeight[i]))
		w[i*losses+softLoss] = float32(t.options.SoftWeight * whole)
		w[i*losses+replyLoss] = float32(t.options.ReplyWeight * whole)
	}
}

// update takes the step of the optimiser.
func (t *Trainer) update(rate float32, norm float64) {
	o := &t.options
	a := kernel.Adam{
		Rate: rate, Beta1: float32(o.Beta1), Beta2: float32(o.Beta2), Epsilon: float32(o.Epsilon), Clip: 1, Step: int(t.step),
		// The average starts fast, so that the first weights do not stay in it.
		Average: float32(min(o.Average, float64(1+t.step)/float64(10+t.step))),
	}
	if o.ClipNorm > 0 && norm > o.ClipNorm {
		a.Clip = float32(o.ClipNorm / norm)
	}
	for i := range t.layout.Slots {
		s := &t.layout.Slots[i]
		a.Decay = 0
		if s.Fan > 0 {
			a.Decay = float32(o.WeightDecay)
		}
		t.set.AdamStep(s.Of(t.params), s.Of(t.grads), s.Of(t.first), s.Of(t.second), s.Of(t.average), a)
	}
}

// stats gathers the figures of the pass that has just run, but for Total.
func (t *Trainer) stats(b *Batch) Stats {
	g := t.graph
	var sum, weight [losses]float64
	entropy, right := 0.0, 0.0
	share := func(target []float32) float64 {
		sum := float32(0)
		for _, x := range target {
			sum += x
		}
		return float64(sum)
	}
	for i := range b.N {
		of := float64(b.Weight[i])
		policy := of * share(b.Target[b.Offsets[i]:b.Offsets[i+1]])
		w := [losses]float64{
			policyLoss: policy, softLoss: policy, valueLoss: of * float64(b.ValueWeight[i]), pliesLoss: of * float64(b.PliesWeight[i]),
			replyLoss: of * share(b.Reply[b.ReplyOffsets[i]:b.ReplyOffsets[i+1]]),
		}
		for k := range losses {
			weight[k] += w[k]
			if w[k] != 0 {
				sum[k] += w[k] * float64(g.heads.loss[i*losses+k])
			}
		}
		entropy += policy * float64(g.heads.entropy[i])
		right += policy * float64(g.heads.right[i])
	}
	mean := func(k int) float64 { return sum[k] / max(weight[k], 1e-30) }
	return Stats{
		Samples:  b.N,
		Policy:   mean(policyLoss),
		Value:    mean(valueLoss),
		Plies:    mean(pliesLoss),
		Soft:     mean(softLoss),
		Reply:    mean(replyLoss),
		Entropy:  entropy / max(weight[policyLoss], 1e-30),
		Accuracy: right / max(weight[policyLoss], 1e-30),
		Largest:  float64(t.set.MaxAbs(g.tower[:b.N*g.board.Len(g.c)])),
	}
}

// Evaluate returns the losses on samples, at most BatchSize of them, without
// learning from them: the next steps are the same as without it. It overwrites
// the batch.
func (t *Trainer) Evaluate(samples []dataset.Sample) (Stats, error) {
	if err := t.fillBatch(samples, false); err != nil {
		return Stats{}, err
	}
	t.graph.evaluate(t.batch)
	s := t.stats(t.batch)
	s.Step = t.step
	return s, nil
}
