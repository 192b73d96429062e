package network_test

import (
	"math"
	"slices"
	"testing"

	"kirin/network"
	"kirin/network/kernel"
	"kirin/rules"
)

func TestTheForwardPassAgreesWithItsSlowTwin(t *testing.T) {
	for _, set := range kernel.Sets() {
		s, err := kernel.Lookup(set)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct{ game, spec string }{
			{"minishogi", "2x16"}, {"minishogi", "2x32g2"}, {"torishogi", "1x32g1"}, {"shogi", "2x16g2"}, {"chushogi", "1x16g1"},
		} {
			w := weights(t, c.spec, c.game)
			n, err := network.NewOn(w, s)
			if err != nil {
				t.Fatal(err)
			}
			r := request(t, c.game, 5)
			n.Forward(network.NewScratch(n), r)
			twin := &reference{w, network.NewLayout(w.Form)}
			size := w.Form.Squares() * w.Form.Planes
			worst := 0.0
			for i := range r.N {
				policy, wdl, plies := twin.forward(r.Planes[i*size : (i+1)*size])
				for j := r.Offsets[i]; j < r.Offsets[i+1]; j++ {
					worst = max(worst, math.Abs(float64(r.Logits[j])-policy[r.Index[j]]))
				}
				v := r.Values[i]
				worst = max(worst, math.Abs(float64(v.Win)-wdl[0]), math.Abs(float64(v.Draw)-wdl[1]), math.Abs(float64(v.Loss)-wdl[2]), math.Abs(float64(r.Plies[i])-plies)/network.PliesScale)
			}
			if !(worst < 1e-4) {
				t.Errorf("%s, %s %s: differs from the twin by %v", set, c.game, c.spec, worst)
			}
		}
	}
}

// answers runs positions of a request in batches of the given size.
func answers(n *network.Net, all *network.Request, size int) ([]float32, []rules.Value, []float32) {
	s := network.NewScratch(n)
	planes := n.Form().Squares() * n.Form().Planes
	var logits, plies []float32
	var values []rules.Value
	for i := 0; i < all.N; i += size {
		m := min(size, all.N-i)
		r := &network.Request{N: m, Planes: all.Planes[i*planes:], Values: make([]rules.Value, m), Plies: make([]float32, m)}
		for j := 0; j <= m; j++ {
			r.Offsets = append(r.Offsets, all.Offsets[i+j]-all.Offsets[i])
		}
		r.Index = all.Index[all.Offsets[i]:all.Offsets[i+m]]
		r.Logits = make([]float32, len(r.Index))
		n.Forward(s, r)
		logits, values, plies = append(logits, r.Logits...), append(values, r.Values...), append(plies, r.Plies...)
	}
	return logits, values, plies
}

func TestAnAnswerHasTheSameBitsInEveryBatch(t *testing.T) {
	for _, set := range kernel.Sets() {
		s, err := kernel.Lookup(set)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			game, spec string
			positions  int
		}{{"minishogi", "2x32g2", 60}, {"torishogi", "1x16", 26}, {"shogi", "1x16g1", 16}, {"chushogi", "1x16", 12}} {
			n, err := network.NewOn(weights(t, c.spec, c.game), s)
			if err != nil {
				t.Fatal(err)
			}
			all := request(t, c.game, c.positions)
			logits, values, plies := answers(n, all, 1)
			for _, size := range []int{2, 3, 7, 11, 25, 49, 60} {
				l, v, p := answers(n, all, size)
				if !slices.Equal(l, logits) || !slices.Equal(v, values) || !slices.Equal(p, plies) {
					t.Errorf("%s, %s %s: batches of %d give other bits", set, c.game, c.spec, size)
				}
			}
		}
	}
}

func TestForwardDoesNotAllocate(t *testing.T) {
	n, err := network.New(weights(t, "2x16g2", "minishogi"))
	if err != nil {
		t.Fatal(err)
	}
	s, r := network.NewScratch(n), request(t, "minishogi", 70)
	if a := testing.AllocsPerRun(5, func() { n.Forward(s, r) }); a != 0 {
		t.Errorf("%v allocations", a)
	}
}

func TestANetRefusesWrongParameters(t *testing.T) {
	w := weights(t, "1x16", "minishogi")
	short := w.Clone()
	short.Params = short.Params[1:]
	if _, err := network.New(short); err == nil {
		t.Error("a missing parameter was not noticed")
	}
	w.Params[77] = float32(math.NaN())
	if _, err := network.New(w); err == nil {
		t.Error("a NaN was not noticed")
	}
}

func TestFreshNetsAreCalm(t *testing.T) {
	for _, c := range []struct{ game, spec string }{{"minishogi", "3x32"}, {"shogi", "6x32g2"}, {"chushogi", "2x64"}, {"torishogi", "12x16"}} {
		n, err := network.New(weights(t, c.spec, c.game))
		if err != nil {
			t.Fatal(err)
		}
		r := request(t, c.game, 24)
		n.Forward(network.NewScratch(n), r)
		largest := float32(0)
		for _, x := range r.Logits {
			largest = max(largest, x, -x)
		}
		for _, v := range r.Values {
			if v.Win < 0.1 || v.Draw < 0.1 || v.Loss < 0.1 {
				t.Errorf("%s %s: value %v", c.game, c.spec, v)
			}
		}
		t.Logf("%s %s: largest logit %.2f, first value %.2v", c.game, c.spec, largest, r.Values[0])
		if largest > 4 {
			t.Errorf("%s %s: a logit of %v", c.game, c.spec, largest)
		}
	}
}

func benchmark(b *testing.B, game, spec string, batch int) {
	n, err := network.New(weights(b, spec, game))
	if err != nil {
		b.Fatal(err)
	}
	s, r := network.NewScratch(n), request(b, game, batch)
	for b.Loop() {
		n.Forward(s, r)
	}
	b.ReportMetric(float64(batch*b.N)/b.Elapsed().Seconds(), "positions/s")
}

func BenchmarkForwardMinishogi3x32(b *testing.B) { benchmark(b, "minishogi", "3x32", 64) }
func BenchmarkForwardMinishogi4x64(b *testing.B) { benchmark(b, "minishogi", "4x64", 64) }
func BenchmarkForwardTorishogi4x64(b *testing.B) { benchmark(b, "torishogi", "4x64", 64) }
func BenchmarkForwardShogi4x64(b *testing.B)     { benchmark(b, "shogi", "4x64", 64) }
func BenchmarkForwardChushogi4x64(b *testing.B)  { benchmark(b, "chushogi", "4x64", 64) }
