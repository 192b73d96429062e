package train

import (
	"math/rand/v2"
	"testing"

	"kirin/network"
	"kirin/network/encode"
	"kirin/rules"
)

func weights(t testing.TB, spec, game string) (*network.Weights, *encode.Encoder) {
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
	w, err := network.Init(s, enc, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	return w, enc
}

// randomBatch fills the trainer's batch with n positions of random games and
// targets that can be learned: the policy prefers one move of each position,
// the value depends on the side that moved first.
func randomBatch(t *Trainer, n int, seed uint64) {
	b, e := t.Batch(), t.encoder
	rng := rand.New(rand.NewPCG(seed, 3))
	b.N, b.Index, b.Target = n, b.Index[:0], b.Target[:0]
	p := e.Variant().Start()
	for i := range n {
		moves := p.AppendMoves(nil)
		if p.Outcome(len(moves)).Result != rules.Ongoing || rng.IntN(30) == 0 {
			p = e.Variant().Start()
			moves = p.AppendMoves(nil)
		}
		e.Encode(p, b.Planes[i*e.Size():])
		b.Offsets[i] = int32(len(b.Index))
		best := 0
		for j, m := range moves {
			b.Index = append(b.Index, int32(e.Index(p, m)))
			if e.Index(p, m) < e.Index(p, moves[best]) {
				best = j
			}
		}
		for j := range moves {
			share := float32(0.2) / float32(len(moves))
			if j == best {
				share += 0.8
			}
			b.Target = append(b.Target, share)
		}
		copy(b.WDL[3*i:], []float32{0.1, 0.1, 0.8})
		if p.Side() == p.FirstPlayer() {
			copy(b.WDL[3*i:], []float32{0.7, 0.2, 0.1})
		}
		b.PliesLeft[i], b.Weight[i] = float32(20+rng.IntN(40)), 1
		b.ValueWeight[i], b.PliesWeight[i] = 1, 1
		p.Do(moves[rng.IntN(len(moves))])
	}
	b.Offsets[n] = int32(len(b.Index))
}

func TestLossesFallOnARepeatedBatch(t *testing.T) {
	w, _ := weights(t, "2x16g2", "minishogi")
	o := DefaultOptions()
	o.BatchSize, o.WarmupSteps, o.LearningRate = 32, 5, 1e-2
	tr, err := New(w, o)
	if err != nil {
		t.Fatal(err)
	}
	randomBatch(tr, 32, 1)
	var first, last Stats
	for i := range 60 {
		s, err := tr.Step()
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = s
		}
		if i%10 == 0 {
			t.Logf("%+v", s)
		}
		last = s
	}
	t.Logf("%+v\n%+v", first, last)
	if last.Policy > 0.7*first.Policy || last.Value > 0.9*first.Value || last.Plies > 0.5*first.Plies {
		t.Errorf("losses did not fall: %+v, then %+v", first, last)
	}
}
