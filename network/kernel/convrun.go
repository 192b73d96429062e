package kernel

// planeGap keeps the planes of the scratch memory from falling on the same cache sets.
const planeGap = Lane

// planeLen is the distance between two planes of transformed points of images images with c channels.
func (c *Conv3x3) planeLen(images, channels int) int {
	return images*len(c.spots)*channels + planeGap
}

// tmpLen is the room a transform needs for half-done points.
const tmpLen = maxPoints * Lane

// ScratchLen is the number of floats Conv needs as scratch memory, whatever the number of images.
func (c *Conv3x3) ScratchLen() int {
	points := c.t.n * c.t.n
	return tmpLen + points*(c.planeLen(c.block, c.cin)+c.planeLen(c.block, c.cout))
}

// Conv computes Dst = conv(Src) (+ Bias) (+ Residual), then ReLU, then Mask, for N images. What comes out for an
// image depends on that image alone, bit for bit. scratch has ScratchLen floats and holds nothing between calls.
func (s *Set) Conv(c *Conv3x3, a ConvArgs, scratch []float32) {
	blocks := ceilDiv(a.N, c.block)
	for i := range blocks {
		first := a.N * i / blocks
		s.convBlock(c, &a, first, a.N*(i+1)/blocks-first, scratch)
	}
}

// convBlock runs images first to first+n-1.
func (s *Set) convBlock(c *Conv3x3, a *ConvArgs, first, n int, scratch []float32) {
	points := c.t.n * c.t.n
	vp, mp := c.planeLen(n, c.cin), c.planeLen(n, c.cout)
	tmp := scratch[:tmpLen]
	v := scratch[tmpLen : tmpLen+points*vp]
	m := scratch[tmpLen+points*vp : tmpLen+points*(vp+mp)]
	s.scatterPatches(c, v, a.Src[first*c.board.Len(c.cin):], n, tmp)
	g := gemmArgs{rows: n * len(c.spots), k: c.cin, panels: c.cout / Lane, aRow: c.cin, aCol: 1, bRow: Lane,
		bPanel: c.cin * Lane, cRow: c.cout}
	for p := range points {
		g.a, g.b, g.c = v[p*vp:], c.u[p*c.cin*c.cout:], m[p*mp:]
		s.gemm(&g)
	}
	t := tileArgs{tmp: tmp, lanes: c.cout / Lane, srcPlane: mp, rowStride: (c.board.W + 2) * c.cout, pixStride: c.cout}
	if a.ReLU {
		t.relu = 1
	}
	for i := range n {
		base := (first + i) * c.board.Len(c.cout)
		if a.Bias != nil {
			t.bias = a.Bias[(first+i)*a.BiasStride:]
		}
		for j := range c.spots {
			p := &c.spots[j]
			at := base + c.board.Offset(p.row, p.col, c.cout)
			t.src, t.dst = m[(i*len(c.spots)+j)*c.cout:], a.Dst[at:]
			t.rows, t.cols = p.rows, p.cols
			if a.Residual != nil {
				t.res = a.Residual[at:]
			}
			if a.Mask != nil {
				t.mask = a.Mask[at:]
			}
			s.gather(c.t.m, &t)
		}
	}
}

// scatterPatches transforms the input patches of n images into planes.
func (s *Set) scatterPatches(c *Conv3x3, v, src []float32, n int, tmp []float32) {
	st := stepPatch
	if c.whole {
		st = stepWhole
	}
	t := tileArgs{tmp: tmp, lanes: c.cin / Lane, plane: c.planeLen(n, c.cin)}
	for i := range n {
		t.src = src[i*c.board.Len(c.cin):]
		for j := range c.spots {
			t.table, t.dst = c.spots[j].patch, v[(i*len(c.spots)+j)*c.cin:]
			s.scatter(c.t.m, st, &t)
		}
	}
}

// WeightGradScratchLen is the number of floats WeightGrad needs as scratch memory.
func (c *Conv3x3) WeightGradScratchLen() int {
	points := c.t.n * c.t.n
	return tmpLen + points*(c.planeLen(gradBlocks*c.block, c.cin)+c.planeLen(gradBlocks*c.block, c.cout)+c.cin*c.cout) + 9*c.cin*c.cout
}

// WeightGrad computes the gradient of the weights of c over n images, dw [cout][cin][3][3], from its inputs src
// [n][H+2][W+2][cin] and the gradient of its results dy [n][H+2][W+2][cout] (before ReLU; use ReLUGrad first). dw is
// overwritten; images are summed in order. It needs no packed weights.
func (s *Set) WeightGrad(c *Conv3x3, dw, src, dy []float32, n int, scratch []float32) {
	points, size := c.t.n*c.t.n, c.cin*c.cout
	sum := scratch[tmpLen : tmpLen+points*size]
	work := scratch[tmpLen+points*size : tmpLen+(points+9)*size]
	rest := scratch[tmpLen+(points+9)*size:]
	if n == 0 {
		clear(sum)
	}
	for i := 0; i < n; i += gradBlocks * c.block {
		count := min(gradBlocks*c.block, n-i)
		s.weightGradBlock(c, sum, src[i*c.board.Len(c.cin):], dy[i*c.board.Len(c.cout):], i, count, scratch[:tmpLen], rest)
	}
	s.planes(c.t.m, stepWeightGrad, &tileArgs{tmp: scratch[:tmpLen], src: sum, srcPlane: size, dst: work, plane: size, lanes: size / Lane})
	interleave(dw[:9*size], work, size)
}

// interleave turns nine planes of size floats into size rows of nine.
func interleave(dst, planes []float32, size int) {
	var p [9][]float32
	for t := range p {
		p[t] = planes[t*size : (t+1)*size]
	}
	p0, p1, p2, p3, p4, p5, p6, p7, p8 := p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8]
	for i := range p0 {
		*(*[9]float32)(dst[i*9:]) = [9]float32{p0[i], p1[i], p2[i], p3[i], p4[i], p5[i], p6[i], p7[i], p8[i]}
	}
}

// gradBlocks is how many blocks WeightGrad takes at once: their tiles are what its products sum over.
const gradBlocks = 2

// weightGradBlock adds the gradient of n images to sum, in transformed form: [n*n][cout][cin]. The first block of
// images starts it.
func (s *Set) weightGradBlock(c *Conv3x3, sum, src, dy []float32, first, n int, tmp, rest []float32) {
	points, size := c.t.n*c.t.n, c.cin*c.cout
	vp, zp := c.planeLen(n, c.cin), c.planeLen(n, c.cout)
	v, z := rest[:points*vp], rest[points*vp:points*(vp+zp)]
	s.scatterPatches(c, v, src, n, tmp)
	t := tileArgs{tmp: tmp, lanes: c.cout / Lane, plane: zp}
	for i := range n {
		t.src = dy[i*c.board.Len(c.cout):]
		for j := range c.spots {
			t.table, t.dst = c.spots[j].core, z[(i*len(c.spots)+j)*c.cout:]
			s.scatter(c.t.m, stepCore, &t)
		}
	}
	g := gemmArgs{rows: c.cout, k: n * len(c.spots), panels: c.cin / Lane, aRow: 1, aCol: c.cout, bRow: c.cin, bPanel: Lane, cRow: c.cin}
	for p := range points {
		g.a, g.b, g.c = z[p*zp:], v[p*vp:], sum[p*size:]
		if first > 0 {
			g.acc = g.c
		}
		s.gemm(&g)
	}
}
