package train

import (
	"math"

	"kirin/network"
)

// auxiliary tells which heads a trainer has that the net does not: they see the
// policy head's features, teach the tower, and stay behind when a net is
// written (compare Wu, "Accelerating Self-Play Learning in Go", 2019, section
// 3.4, and KataGo's methods, "auxiliary soft policy target").
type auxiliary struct {
	soft  bool // the policy target with a higher temperature
	reply bool // the policy target of the opponent's next move
}

func (o *Options) auxiliary() auxiliary {
	return auxiliary{soft: o.SoftWeight > 0, reply: o.ReplyWeight > 0}
}

// names are the parameters of the auxiliary heads, in order; they follow those
// of the other heads in the trainer's memory.
func (a auxiliary) names() []string {
	var names []string
	if a.soft {
		names = append(names, "soft.move.weight", "soft.move.bias")
	}
	if a.reply {
		names = append(names, "reply.move.weight", "reply.move.bias")
	}
	return names
}

// extend returns the layout of a net with the auxiliary heads' parameters
// behind it. They begin at zero, where they disturb nothing.
func (a auxiliary) extend(l *network.Layout) *network.Layout {
	out := &network.Layout{Form: l.Form, Slots: append([]network.Slot(nil), l.Slots...), Size: l.Size}
	planes, c := l.Form.PolicyPlanes, l.Form.Spec.Channels
	for i, name := range a.names() {
		s := network.Slot{Name: name, Shape: []int{planes, c}, Offset: out.Size, Size: planes * c, Fan: c}
		if i%2 == 1 {
			s.Shape, s.Size, s.Fan = []int{planes}, planes, 0
		}
		out.Slots = append(out.Slots, s)
		out.Size += s.Size
	}
	return out
}

// moveHead is a head that gives a logit to each of some moves.
type moveHead struct {
	loss             int // which of the losses is its own
	chances          []float32
	dchances, target []float32 // target: only where it is not the batch's own
}

// index returns where the moves of sample i stand in the head's memory, and
// their policy indices.
func (m *moveHead) index(b *Batch, i int) (from, to int32, index []int32) {
	if m.loss == replyLoss {
		from, to = b.ReplyOffsets[i], b.ReplyOffsets[i+1]
		return from, to, b.ReplyIndex[from:to]
	}
	from, to = b.Offsets[i], b.Offsets[i+1]
	return from, to, b.Index[from:to]
}

// grow makes room for the moves of a batch.
func (m *moveHead) grow(b *Batch) {
	n := len(b.Index)
	if m.loss == replyLoss {
		n = len(b.ReplyIndex)
	}
	if cap(m.chances) < n {
		m.chances, m.dchances = make([]float32, n+n/4), make([]float32, n+n/4)
		if m.loss == softLoss {
			m.target = make([]float32, n+n/4)
		}
	}
	m.chances, m.dchances, m.target = m.chances[:cap(m.chances)], m.dchances[:cap(m.dchances)], m.target[:cap(m.target)]
}

// targets returns what the head should learn of the moves from..to.
func (m *moveHead) targets(b *Batch, from, to int32) []float32 {
	switch m.loss {
	case softLoss:
		return m.target[from:to]
	case replyLoss:
		return b.Reply[from:to]
	}
	return b.Target[from:to]
}

// soften writes target^(1/temperature), scaled to the same sum. Moves without a
// share get none.
func soften(dst, target []float32, temperature float64) {
	share, sum := 0.0, 0.0
	for i, t := range target {
		share += float64(t)
		x := 0.0
		if t > 0 {
			x = math.Pow(float64(t), 1/temperature)
		}
		dst[i] = float32(x)
		sum += x
	}
	if sum == 0 {
		return
	}
	scale := float32(share / sum)
	for i := range dst {
		dst[i] *= scale
	}
}

// entropy of a target, in nats.
func entropy(target []float32) float64 {
	h := 0.0
	for _, t := range target {
		if t > 0 {
			h -= float64(t) * math.Log(float64(t))
		}
	}
	return h
}

// surprised multiplies the weights of each sample by 1 - share + share *
// kl/mean(kl): samples whose policy target surprises the net count more, the
// batch as a whole counts as before. (KataGo weights positions so by the net that
// played them, when they are written; here it is the net that learns.)
func surprised(weights, kl []float32, share float64) {
	mean := 0.0
	for _, x := range kl {
		mean += float64(max(x, 0)) / float64(len(kl))
	}
	if !(mean > 0) || math.IsInf(mean, 0) {
		return
	}
	for i, x := range kl {
		f := float32(1 - share + share*float64(max(x, 0))/mean)
		for k := range losses {
			weights[i*losses+k] *= f
		}
	}
}
