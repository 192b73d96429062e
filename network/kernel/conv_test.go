package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// noise fills a slice with normal deviates.
func noise(r *rand.Rand, n int, scale float64) []float32 {
	o := Alloc(n)
	for i := range o {
		o[i] = float32(r.NormFloat64() * scale)
	}
	return o
}

// images makes n padded images of normal deviates with a zero border.
func images(r *rand.Rand, b Board, c, n int) []float32 {
	o := Alloc(n * b.Len(c))
	Pad(o, noise(r, n*b.Pixels()*c, 1), b, c, n)
	return o
}

// convTruth is the convolution in float64, straight from its definition.
func convTruth(b Board, cin, cout int, w []float32, a ConvArgs) []float64 {
	out := make([]float64, a.N*b.Len(cout))
	for n := range a.N {
		for r := range b.H {
			for q := range b.W {
				for k := range cout {
					at := n*b.Len(cout) + b.Offset(r, q, cout) + k
					v := 0.0
					for t := range 9 {
						x := a.Src[n*b.Len(cin)+b.Offset(r+t/3-1, q+t%3-1, cin):]
						for c := range cin {
							v += float64(x[c]) * float64(w[(k*cin+c)*9+t])
						}
					}
					if a.Bias != nil {
						v += float64(a.Bias[n*a.BiasStride+k])
					}
					if a.Residual != nil {
						v += float64(a.Residual[at])
					}
					if a.ReLU && v < 0 || a.Mask != nil && a.Mask[at] <= 0 {
						v = 0
					}
					out[at] = v
				}
			}
		}
	}
	return out
}

func gap(got []float32, want []float64) float64 {
	worst := 0.0
	for i, v := range got {
		d := math.Abs(float64(v) - want[i])
		if math.IsNaN(d) {
			return math.Inf(1)
		}
		worst = max(worst, d)
	}
	return worst
}

func span64(x []float64) float64 {
	m := 0.0
	for _, v := range x {
		m = max(m, math.Abs(v))
	}
	return m
}

var testBoards = []Board{{3, 3}, {4, 5}, {5, 5}, {6, 6}, {7, 7}, {8, 11}, {9, 9}, {12, 12}, {13, 10}}

var testChannels = [][2]int{{16, 16}, {16, 48}, {32, 32}, {48, 16}, {64, 64}, {80, 128}, {128, 32}}

// forEachSet runs a test on every kernel set of this machine.
func forEachSet(t *testing.T, f func(t *testing.T, s *Set)) {
	for _, s := range supported() {
		t.Run(s.name, func(t *testing.T) { f(t, s) })
	}
}

func TestConvolutionsAgreeWithFloat64OnEveryBoard(t *testing.T) {
	forEachSet(t, func(t *testing.T, s *Set) {
		for _, b := range testBoards {
			for i, ch := range testChannels {
				if b.Pixels() > 50 && i%2 == 1 {
					continue
				}
				r := rand.New(rand.NewPCG(uint64(b.H*100+b.W), uint64(i)))
				cin, cout := ch[0], ch[1]
				c, err := NewConv3x3(b, cin, cout)
				if err != nil {
					t.Fatal(err)
				}
				w := noise(r, cin*cout*9, 1/math.Sqrt(float64(9*cin)))
				s.Pack(c, w)
				n := 2
				a := ConvArgs{Dst: Alloc(n * b.Len(cout)), Src: images(r, b, cin, n), N: n}
				check := func(name string) {
					t.Helper()
					want := convTruth(b, cin, cout, w, a)
					s.Conv(c, a, Alloc(c.ScratchLen()))
					if d := gap(a.Dst, want); d > c.Error()*span64(want) {
						t.Errorf("%v %d to %d channels, %s: off by %.2e of %.2g", b, cin, cout, name, d, span64(want))
					}
				}
				check("bare")
				a.Bias, a.ReLU = noise(r, cout, 1), true
				check("bias and ReLU")
				a.Residual = images(r, b, cout, n)
				a.Bias, a.BiasStride = noise(r, n*cout, 1), cout
				check("bias of each image, residual and ReLU")
				a.Bias, a.ReLU, a.Mask = nil, false, images(r, b, cout, n)
				check("residual and mask")
			}
		}
	})
}

func TestGradientsOfConvolutionsAgreeWithFloat64(t *testing.T) {
	forEachSet(t, func(t *testing.T, s *Set) {
		for _, b := range testBoards {
			for i, ch := range testChannels {
				if i%3 != 0 && b.Pixels() > 50 {
					continue
				}
				r := rand.New(rand.NewPCG(uint64(b.H*100+b.W), uint64(i)))
				cin, cout := ch[0], ch[1]
				n := 3
				w := noise(r, cin*cout*9, 1/math.Sqrt(float64(9*cin)))
				src, dy := images(r, b, cin, n), images(r, b, cout, n)
				back, err := NewConv3x3(b, cout, cin)
				if err != nil {
					t.Fatal(err)
				}
				s.PackInputGrad(back, w)
				dx := Alloc(n * b.Len(cin))
				s.Conv(back, ConvArgs{Dst: dx, Src: dy, N: n}, Alloc(back.ScratchLen()))
				wantX, wantW := gradTruth(b, cin, cout, n, w, src, dy)
				if d := gap(dx, wantX); d > back.Error()*span64(wantX) {
					t.Errorf("%v %d to %d channels: input gradient off by %.2e of %.2g", b, cin, cout, d, span64(wantX))
				}
				forth, err := NewConv3x3(b, cin, cout)
				if err != nil {
					t.Fatal(err)
				}
				dw := Alloc(len(w))
				s.WeightGrad(forth, dw, src, dy, n, Alloc(forth.WeightGradScratchLen()))
				if d := gap(dw, wantW); d > forth.Error()*span64(wantW) {
					t.Errorf("%v %d to %d channels: weight gradient off by %.2e of %.2g", b, cin, cout, d, span64(wantW))
				}
			}
		}
	})
}

// gradTruth is the gradient of a convolution in float64, from its definition.
func gradTruth(b Board, cin, cout, n int, w, src, dy []float32) (dx, dw []float64) {
	dx, dw = make([]float64, n*b.Len(cin)), make([]float64, len(w))
	for i := range n {
		for r := range b.H {
			for q := range b.W {
				g := dy[i*b.Len(cout)+b.Offset(r, q, cout):]
				for t := range 9 {
					rr, qq := r+t/3-1, q+t%3-1
					if rr < 0 || qq < 0 || rr >= b.H || qq >= b.W {
						continue
					}
					at := i*b.Len(cin) + b.Offset(rr, qq, cin)
					for k := range cout {
						for c := range cin {
							dx[at+c] += float64(g[k]) * float64(w[(k*cin+c)*9+t])
							dw[(k*cin+c)*9+t] += float64(g[k]) * float64(src[at+c])
						}
					}
				}
			}
		}
	}
	return dx, dw
}

func ExampleNewConv3x3() {
	_, err := NewConv3x3(Board{5, 5}, 16, 20)
	fmt.Println(err)
	// Output: kernel: convolution from 16 to 20 channels: both must be multiples of 16
}
