package train

import (
	"fmt"

	"kirin/dataset"
	"kirin/rules"
)

// filler is the memory that one goroutine needs to fill a batch.
type filler struct {
	pos   *rules.Position
	moves []rules.Move
}

func newFillers(v *rules.Variant, n int) []filler {
	f := make([]filler, n)
	for i := range f {
		f[i] = filler{v.Start(), make([]rules.Move, 0, v.MaxMoves())}
	}
	return f
}

// Fill makes the batch of the next step from samples of the trainer's game, at
// most BatchSize of them: it replays and encodes each one. The work is spread
// over the cores; what is filled does not depend on how.
//
// The value target is the game's result, blended with the search's root value
// (Options.ValueBlend). Where the game was cut short, value and plies left are
// masked; plies left also where the game ended without the board's rules, as by
// resignation.
func (t *Trainer) Fill(samples []dataset.Sample) error { return t.fillBatch(samples, t.options.Mirror) }

func (t *Trainer) fillBatch(samples []dataset.Sample, reflect bool) error {
	if len(samples) < 1 || len(samples) > t.options.BatchSize {
		return fmt.Errorf("train: %d samples for a batch of %d", len(samples), t.options.BatchSize)
	}
	b := t.batch
	b.N = len(samples)
	total, replies := int32(0), int32(0)
	mirror := make([]bool, b.N)
	reflect = reflect && t.encoder.Symmetric()
	for i, s := range samples {
		b.Offsets[i], b.ReplyOffsets[i] = total, replies
		total += int32(s.LegalMoves())
		if r, ok := s.Reply(); ok && t.graph.heads.aux.reply {
			replies += int32(r.LegalMoves())
		}
		mirror[i] = reflect && t.random.Uint32()&1 == 1
	}
	b.Offsets[b.N], b.ReplyOffsets[b.N] = total, replies
	b.Index, b.Target = room(b.Index, total), room(b.Target, total)
	b.ReplyIndex, b.Reply = room(b.ReplyIndex, replies), room(b.Reply, replies)
	faults := make([]error, b.N)
	fillers := make(chan *filler, len(t.fillers))
	for i := range t.fillers {
		fillers <- &t.fillers[i]
	}
	t.graph.all(b.N, func(i int, _ []float32) {
		f := <-fillers
		faults[i] = t.fill(i, samples[i], mirror[i], f)
		fillers <- f
	})
	for i, err := range faults {
		if err != nil {
			return fmt.Errorf("train: sample %d: %w", i, err)
		}
	}
	return nil
}

// room makes a slice n long, with memory to spare when it has to grow.
func room[T any](x []T, n int32) []T {
	if cap(x) < int(n) {
		x = make([]T, n+n/4)
	}
	return x[:n]
}

// fill writes sample s as number i of the batch.
func (t *Trainer) fill(i int, s dataset.Sample, mirror bool, f *filler) error {
	b, e := t.batch, t.encoder
	s.Replay(f.pos)
	if v := f.pos.Variant(); v.Name() != t.meta.Variant {
		return fmt.Errorf("ply %d of a game of %s, but the net plays %s", s.Ply, v.Name(), t.meta.Variant)
	}
	f.moves = f.pos.AppendMoves(f.moves[:0])
	index := b.Index[b.Offsets[i]:b.Offsets[i+1]]
	if len(f.moves) != len(index) {
		return fmt.Errorf("ply %d has %d legal moves, but the record says %d", s.Ply, len(f.moves), len(index))
	}
	planes := b.Planes[i*e.Size() : (i+1)*e.Size()]
	at := e.Index
	if mirror {
		e.EncodeMirror(f.pos, planes)
		at = e.IndexMirror
	} else {
		e.Encode(f.pos, planes)
	}
	for j, m := range f.moves {
		index[j] = int32(at(f.pos, m))
	}
	if reply := b.ReplyIndex[b.ReplyOffsets[i]:b.ReplyOffsets[i+1]]; len(reply) > 0 {
		r, _ := s.Reply()
		f.pos.Do(s.Move())
		f.moves = f.pos.AppendMoves(f.moves[:0])
		if len(f.moves) != len(reply) {
			return fmt.Errorf("ply %d has %d legal moves, but the record says %d", r.Ply, len(f.moves), len(reply))
		}
		for j, m := range f.moves {
			reply[j] = t.turned(at(f.pos, m))
		}
		r.Target(b.Reply[b.ReplyOffsets[i]:b.ReplyOffsets[i+1]])
	}
	s.Target(b.Target[b.Offsets[i]:b.Offsets[i+1]])
	b.Weight[i] = 1
	b.ValueWeight[i] = s.ValueWeight()
	b.PliesWeight[i] = 0
	if reason := s.Game.Outcome().Reason; reason > rules.None && reason < rules.Resignation {
		b.PliesWeight[i] = s.ValueWeight()
	}
	b.PliesLeft[i] = float32(s.PliesLeft())
	value := s.Outcome()
	if root, ok := s.RootValue(); ok {
		x := float32(t.options.ValueBlend)
		value = rules.Value{Win: (1-x)*value.Win + x*root.Win, Draw: (1-x)*value.Draw + x*root.Draw, Loss: (1-x)*value.Loss + x*root.Loss}
	}
	b.WDL[3*i], b.WDL[3*i+1], b.WDL[3*i+2] = value.Win, value.Draw, value.Loss
	return nil
}

// turned is the policy index of the opponent's move with its square as the
// mover's planes show it; which plane stands for which move stays as it is.
func (t *Trainer) turned(index int) int32 {
	planes := t.encoder.PolicyPlanes()
	square, plane := index/planes, index%planes
	return int32((t.encoder.PolicySize()/planes-1-square)*planes + plane)
}
