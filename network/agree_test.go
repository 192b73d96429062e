package network_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"kirin/network"
	"kirin/network/kernel"
	"kirin/rules"
)

// The figures of docs/speed.md are those of -positions 1000 -spec 4x64.
var (
	positions = flag.Int("positions", 40, "positions of each game in the comparisons of kernel sets and with onnxruntime")
	spec      = flag.String("spec", "2x32g2", "net in the comparison of kernel sets")
	beside    = flag.String("beside", "plain", "kernel set that the others are compared with; in an emulator plain is slow")
)

// setBound is how far the logits and probabilities of two kernel sets may lie
// apart for a fresh net, whose logits are of the order of one.
const setBound = 1e-4

func TestKernelSetsAgreeAboutTheBestMove(t *testing.T) {
	for _, game := range rules.Names() {
		t.Run(game, func(t *testing.T) {
			w, want := weights(t, *spec, game), request(t, game, *positions)
			answer := func(name string, r *network.Request) {
				set, err := kernel.Lookup(name)
				if err != nil {
					t.Fatal(err)
				}
				n, err := network.NewOn(w, set)
				if err != nil {
					t.Fatal(err)
				}
				n.Forward(network.NewScratch(n), r)
			}
			answer(*beside, want)
			for _, set := range kernel.Sets() {
				if set == *beside {
					continue
				}
				t.Run(set, func(t *testing.T) {
					r := *want
					r.Logits, r.Values, r.Plies = slices.Clone(r.Logits), slices.Clone(r.Values), slices.Clone(r.Plies)
					answer(set, &r)
					compareAnswers(t, &r, want)
				})
			}
		})
	}
}

// compareAnswers fails where answers lie further apart than setBound, or name
// another best move without need.
func compareAnswers(t *testing.T, r, want *network.Request) {
	worst, far, wrong := 0.0, 0, 0
	for i := range r.N {
		v, u := r.Values[i], want.Values[i]
		worst = max(worst, math.Abs(float64(v.Win-u.Win)), math.Abs(float64(v.Draw-u.Draw)), math.Abs(float64(v.Loss-u.Loss)))
		got, best, gap := top(r.Logits[r.Offsets[i]:r.Offsets[i+1]], want.Logits[r.Offsets[i]:r.Offsets[i+1]], &worst)
		if gap > 2*setBound {
			far++
			if got != best {
				wrong++
			}
		}
	}
	t.Logf("%s: it and %s differ by at most %.1e; the best move is the same in %d of %d positions where the first two are more than %.0e apart; closer are %.1f %%",
		*spec, *beside, worst, far-wrong, far, 2*setBound, 100*float64(r.N-far)/float64(r.N))
	if wrong > 0 || !(worst <= setBound) {
		t.Errorf("%s: it and %s differ by %v, and in the best move of %d positions", *spec, *beside, worst, wrong)
	}
}

// top returns the best moves by both logits, and how far the second of want is
// behind its first. worst grows to the largest difference.
func top(got, want []float32, worst *float64) (g, w int, gap float64) {
	second := math.Inf(-1)
	for j := range want {
		*worst = max(*worst, math.Abs(float64(got[j]-want[j])))
		if got[j] > got[g] {
			g = j
		}
		if want[j] > want[w] {
			second, w = float64(want[w]), j
		} else if j != w {
			second = max(second, float64(want[j]))
		}
	}
	return g, w, float64(want[w]) - second
}

func TestAPositionHasTheSameBitsInFiftyBatches(t *testing.T) {
	const game, some = "minishogi", 30
	w, all := weights(t, *spec, game), request(t, game, some)
	size := w.Form.Squares() * w.Form.Planes
	for _, name := range kernel.Sets() {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(5, 6))
			set, err := kernel.Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			n, err := network.NewOn(w, set)
			if err != nil {
				t.Fatal(err)
			}
			scratch := network.NewScratch(n)
			var logits []float32
			var value rules.Value
			for batch := range 50 {
				r := network.Request{N: 1 + rng.IntN(40), Offsets: []int32{0}}
				place := rng.IntN(r.N)
				for i := range r.N {
					k := 0
					if i != place {
						k = rng.IntN(some)
					}
					r.Planes = append(r.Planes, all.Planes[k*size:(k+1)*size]...)
					r.Index = append(r.Index, all.Index[all.Offsets[k]:all.Offsets[k+1]]...)
					r.Offsets = append(r.Offsets, int32(len(r.Index)))
				}
				r.Logits, r.Values = make([]float32, len(r.Index)), make([]rules.Value, r.N)
				n.Forward(scratch, &r)
				got := r.Logits[r.Offsets[place]:r.Offsets[place+1]]
				if batch == 0 {
					logits, value = slices.Clone(got), r.Values[place]
				} else if !slices.Equal(got, logits) || r.Values[place] != value {
					t.Errorf("place %d of a batch of %d gives other bits", place, r.N)
				}
			}
		})
	}
}
