package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// near compares an assembled kernel with its plain twin: same sums, other rounding.
func near(t *testing.T, what string, got, want []float32, bound float64) {
	t.Helper()
	top := 0.0
	for _, v := range want {
		top = max(top, math.Abs(float64(v)))
	}
	for i, v := range got {
		if d := math.Abs(float64(v) - float64(want[i])); !(d <= bound*top) {
			t.Errorf("%s: element %d is %v, the plain twin has %v (largest %.3g)", what, i, v, want[i], top)
			return
		}
	}
}

func TestTransformsAgreeWithTheirPlainTwins(t *testing.T) {
	forEachSet(t, func(t *testing.T, s *Set) {
		r := rand.New(rand.NewPCG(7, 7))
		for m := minTile; m <= maxTile; m++ {
			for lanes := 1; lanes <= 3; lanes++ {
				for st := stepPatch; st <= stepWeightGrad; st++ {
					l := tiles[m].matrix(st)
					a := tileArgs{tmp: Alloc(tmpLen), lanes: lanes, plane: lanes*Lane + 5, srcPlane: lanes*Lane + 3}
					in, out := l.cols*l.cols, l.rows*l.rows
					a.src = noise(r, in*a.srcPlane, 1)
					for range in {
						a.table = append(a.table, int32(r.IntN(in))*int32(a.srcPlane))
					}
					b := a
					a.dst, b.dst = Alloc(out*a.plane), Alloc(out*a.plane)
					if st == stepPatch || st == stepCore {
						s.scatter(m, st, &a)
						plainScatter(l, &b)
					} else {
						s.planes(m, st, &a)
						plainPlanes(l, &b)
					}
					near(t, fmt.Sprintf("F(%d,3) step %d of %d channels", m, st, lanes*Lane), a.dst, b.dst, 1e-6)
				}
			}
		}
	})
}

func TestLastTransformAgreesWithItsPlainTwin(t *testing.T) {
	forEachSet(t, func(t *testing.T, s *Set) {
		r := rand.New(rand.NewPCG(8, 8))
		for m := minTile; m <= maxTile; m++ {
			l := &tiles[m].out
			for lanes := 1; lanes <= 3; lanes++ {
				for mode := range 16 {
					c := lanes * Lane
					a := tileArgs{tmp: Alloc(tmpLen), lanes: lanes, srcPlane: c + 3, rows: 1 + r.IntN(m), cols: 1 + r.IntN(m), pixStride: c, rowStride: c * (m + 1)}
					a.src = noise(r, l.cols*l.cols*a.srcPlane, 1)
					size := a.rowStride * (m + 1)
					if mode&1 != 0 {
						a.bias = noise(r, c, 1)
					}
					if mode&2 != 0 {
						a.res = noise(r, size, 1)
					}
					if mode&4 != 0 {
						a.mask = noise(r, size, 1)
					}
					a.relu = mode >> 3
					b := a
					a.dst, b.dst = Alloc(size), Alloc(size)
					s.gather(m, &a)
					plainGather(l, &b)
					near(t, fmt.Sprintf("F(%d,3) of %d channels, mode %d", m, c, mode), a.dst, b.dst, 1e-6)
				}
			}
		}
	})
}
