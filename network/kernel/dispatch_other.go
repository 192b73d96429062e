//go:build !amd64

package kernel

func supported() []*Set { return plainOnly }

var plainOnly = []*Set{plainSet}

func (s *Set) gemm(g *gemmArgs) { plainGemm(g) }

func (s *Set) scatter(m int, st step, t *tileArgs) { plainScatter(tiles[m].matrix(st), t) }

func (s *Set) planes(m int, st step, t *tileArgs) { plainPlanes(tiles[m].matrix(st), t) }

func (s *Set) gather(m int, t *tileArgs) { plainGather(&tiles[m].out, t) }

func (s *Set) peak(n int) int { return plainPeak(n) }
