//go:build !amd64

package kernel

// Machines without assembly run the plain twins alone.

func supported() []*Set { return only }

var only = []*Set{plainSet}

func (s *Set) gemm(g *gemmArgs) { plainGemm(g) }

func (s *Set) scatter(m int, st step, t *tileArgs) { plainScatter(tiles[m].matrix(st), t) }

func (s *Set) planes(m int, st step, t *tileArgs) { plainPlanes(tiles[m].matrix(st), t) }

func (s *Set) gather(m int, t *tileArgs) { plainGather(&tiles[m].out, t) }

func (s *Set) reluGrad(_, _, _ []float32) int { return 0 }

func (s *Set) add(_, _ []float32) int { return 0 }

func (s *Set) axpy(_, _ []float32, _ float32) int { return 0 }

func (s *Set) dot(a, b []float32) float32 { return plainDot(a, b) }

func (s *Set) rowSums(dst, src []float32, rows, c int) { plainRowSums(dst, src, rows, c) }

func (s *Set) sumSquares(_ *[Lane]float64, _ []float32) int { return 0 }

func (s *Set) maxAbs(_ *[Lane]uint32, _ []float32) int { return 0 }

func (s *Set) pool(p *poolArgs) { plainPool(p) }

func (s *Set) poolGrad(p *poolArgs) { plainPoolGrad(p) }

func (s *Set) adam(_, _, _, _, _ []float32, _ *adamArgs) int { return 0 }

func (s *Set) peak(n int) int { return plainPeak(n) }
