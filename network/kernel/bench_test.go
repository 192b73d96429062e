package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// benchSets runs a benchmark on every set, with the multiply-add peak of one core of this machine.
func benchSets(b *testing.B, f func(b *testing.B, s *Set, share func(flops int))) {
	for _, s := range supported() {
		b.Run(s.name, func(b *testing.B) {
			best := 0.0
			for range 5 {
				start := time.Now()
				n := s.peak(1 << 18)
				best = max(best, float64(n)/time.Since(start).Seconds())
			}
			f(b, s, func(flops int) {
				rate := float64(flops) * float64(b.N) / b.Elapsed().Seconds()
				b.ReportMetric(rate/1e9, "GFLOP/s")
				b.ReportMetric(100*rate/best, "%peak")
				b.ReportMetric(best/1e9, "peak-GFLOP/s")
			})
		})
	}
}

// convFLOPs counts a convolution the direct way, borders included, so that Winograd may exceed the peak.
func convFLOPs(b Board, cin, cout int) int { return 2 * 9 * b.Pixels() * cin * cout }

var benchCases = []struct {
	board    Board
	channels int
	images   int
}{{Board{5, 5}, 32, 48}, {Board{5, 5}, 64, 48}, {Board{7, 7}, 64, 48}, {Board{9, 9}, 64, 24}, {Board{12, 12}, 64, 16}}

func BenchmarkConv(b *testing.B) {
	for _, bc := range benchCases {
		b.Run(fmt.Sprintf("%dx%dx%d", bc.board.H, bc.board.W, bc.channels), func(b *testing.B) {
			benchSets(b, func(b *testing.B, s *Set, share func(int)) {
				r := rand.New(rand.NewPCG(1, 1))
				c, _ := NewConv3x3(bc.board, bc.channels, bc.channels)
				s.Pack(c, noise(r, 9*bc.channels*bc.channels, 0.05))
				x, y := images(r, bc.board, bc.channels, bc.images), Alloc(bc.images*bc.board.Len(bc.channels))
				a := ConvArgs{Dst: y, Src: x, N: bc.images, Bias: noise(r, bc.channels, 1), Residual: x, ReLU: true}
				scratch := Alloc(c.ScratchLen())
				for b.Loop() {
					s.Conv(c, a, scratch)
				}
				share(bc.images * convFLOPs(bc.board, bc.channels, bc.channels))
			})
		})
	}
}

func BenchmarkWeightGrad(b *testing.B) {
	for _, bc := range benchCases {
		b.Run(fmt.Sprintf("%dx%dx%d", bc.board.H, bc.board.W, bc.channels), func(b *testing.B) {
			benchSets(b, func(b *testing.B, s *Set, share func(int)) {
				r := rand.New(rand.NewPCG(1, 1))
				c, _ := NewConv3x3(bc.board, bc.channels, bc.channels)
				x, y := images(r, bc.board, bc.channels, bc.images), images(r, bc.board, bc.channels, bc.images)
				dw, scratch := Alloc(9*bc.channels*bc.channels), Alloc(c.WeightGradScratchLen())
				for b.Loop() {
					s.WeightGrad(c, dw, x, y, bc.images, scratch)
				}
				share(bc.images * convFLOPs(bc.board, bc.channels, bc.channels))
			})
		})
	}
}

func BenchmarkPack(b *testing.B) {
	benchSets(b, func(b *testing.B, s *Set, share func(int)) {
		r := rand.New(rand.NewPCG(1, 1))
		c, _ := NewConv3x3(Board{5, 5}, 64, 64)
		w := noise(r, 9*64*64, 1)
		for b.Loop() {
			s.Pack(c, w)
		}
	})
}

// BenchmarkTower runs the convolutions of a net of four residual blocks with 64 channels, 64 images at a time, a block of
// images through all layers before the next.
func BenchmarkTower(b *testing.B) {
	const channels, layers, n = 64, 9, 64
	for _, board := range []Board{{5, 5}, {7, 7}, {9, 9}, {12, 12}} {
		b.Run(fmt.Sprintf("%dx%d", board.H, board.W), func(b *testing.B) {
			benchSets(b, func(b *testing.B, s *Set, share func(int)) {
				r := rand.New(rand.NewPCG(1, 1))
				var convs []*Conv3x3
				for range layers {
					c, _ := NewConv3x3(board, channels, channels)
					s.Pack(c, noise(r, 9*channels*channels, 0.03))
					convs = append(convs, c)
				}
				block := convs[0].Block()
				in, bias := images(r, board, channels, n), noise(r, channels, 0.1)
				buf := [3][]float32{}
				for i := range buf {
					buf[i] = Alloc(block * board.Len(channels))
				}
				scratch := Alloc(convs[0].ScratchLen())
				best := time.Duration(1 << 62)
				for b.Loop() {
					start := time.Now()
					for i := 0; i < n; i += block {
						a := ConvArgs{Dst: buf[0], Src: in[i*board.Len(channels):], N: min(block, n-i), Bias: bias, ReLU: true}
						s.Conv(convs[0], a, scratch)
						for l := 1; l < layers; l += 2 {
							a.Dst, a.Src, a.Residual = buf[1], buf[0], nil
							s.Conv(convs[l], a, scratch)
							a.Dst, a.Src, a.Residual = buf[2], buf[1], buf[0]
							s.Conv(convs[l+1], a, scratch)
							buf[0], buf[2] = buf[2], buf[0]
						}
					}
					best = min(best, time.Since(start))
				}
				share(n * layers * convFLOPs(board, channels, channels))
				b.ReportMetric(n/best.Seconds(), "best-positions/s")
			})
		})
	}
}
