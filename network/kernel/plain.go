package kernel

// The plain twins: what the assembly must compute, in Go. Products are rounded before they are added
// (float32(x*y)+z), so that no compiler fuses them and the plain set gives the same bits on every machine.

// plainGemm is the twin of gemm.
func plainGemm(g *gemmArgs) {
	for p := range g.panels {
		for r := 0; r < g.rows; r += 2 {
			for j := 0; j < Lane; j += 4 {
				if r+1 < g.rows {
					plainGemm2x4(g, p, r, j)
				} else {
					plainGemm1x4(g, p, r, j)
				}
			}
		}
	}
}

func plainGemm2x4(g *gemmArgs, p, r, j int) {
	a0, a1 := g.a[r*g.aRow:], g.a[(r+1)*g.aRow:]
	b := g.b[p*g.bPanel+j:]
	var s, t [4]float32
	for i := range g.k {
		w := b[i*g.bRow : i*g.bRow+4 : i*g.bRow+4]
		x, y := a0[i*g.aCol], a1[i*g.aCol]
		s[0] += float32(x * w[0])
		s[1] += float32(x * w[1])
		s[2] += float32(x * w[2])
		s[3] += float32(x * w[3])
		t[0] += float32(y * w[0])
		t[1] += float32(y * w[1])
		t[2] += float32(y * w[2])
		t[3] += float32(y * w[3])
	}
	plainStore(g, &s, p, r, j)
	plainStore(g, &t, p, r+1, j)
}

func plainGemm1x4(g *gemmArgs, p, r, j int) {
	a0 := g.a[r*g.aRow:]
	b := g.b[p*g.bPanel+j:]
	var s [4]float32
	for i := range g.k {
		w := b[i*g.bRow : i*g.bRow+4 : i*g.bRow+4]
		x := a0[i*g.aCol]
		s[0] += float32(x * w[0])
		s[1] += float32(x * w[1])
		s[2] += float32(x * w[2])
		s[3] += float32(x * w[3])
	}
	plainStore(g, &s, p, r, j)
}

// plainStore finishes four results: bias, then the residual, then ReLU.
func plainStore(g *gemmArgs, s *[4]float32, p, r, j int) {
	col := p*Lane + j
	at := r*g.cRow + col
	for i, v := range s {
		if g.bias != nil {
			v += g.bias[col+i]
		}
		if g.acc != nil {
			v += g.acc[at+i]
		}
		if g.relu != 0 && v < 0 {
			v = 0
		}
		g.c[at+i] = v
	}
}

// times is l v for one vector.
func (l *linear) times(dst, src []float32) {
	for i := range l.rows {
		var s float32
		for j, c := range l.v[i*l.cols : i*l.cols+l.cols] {
			if c != 0 {
				s += float32(c * src[j])
			}
		}
		dst[i] = s
	}
}

// sandwich is l S lt for one channel: src [cols][cols] gives dst [rows][rows]. Columns first.
func (l *linear) sandwich(dst, src []float32) {
	var half [maxPoints]float32
	var col, res [maxSide]float32
	for j := range l.cols {
		for i := range l.cols {
			col[i] = src[i*l.cols+j]
		}
		l.times(res[:], col[:l.cols])
		for i := range l.rows {
			half[i*l.cols+j] = res[i]
		}
	}
	for i := range l.rows {
		l.times(dst[i*l.rows:i*l.rows+l.rows], half[i*l.cols:i*l.cols+l.cols])
	}
}

// plainScatter is the twin of scatter: it reads the points of a patch through a table of offsets and writes the
// transformed points one plane apart.
func plainScatter(l *linear, t *tileArgs) {
	var p, q [maxPoints]float32
	for c := range t.lanes * Lane {
		for i := range l.cols {
			for j := range l.cols {
				p[i*l.cols+j] = t.src[int(t.table[j*l.cols+i])+c]
			}
		}
		l.sandwich(q[:], p[:])
		for i := range l.rows * l.rows {
			t.dst[i*t.plane+c] = q[i]
		}
	}
}

// plainPlanes is the twin of planes: it reads points that are one plane apart and writes points one plane apart.
func plainPlanes(l *linear, t *tileArgs) {
	var p, q [maxPoints]float32
	for c := range t.lanes * Lane {
		for i := range l.cols * l.cols {
			p[i] = t.src[i*t.srcPlane+c]
		}
		l.sandwich(q[:], p[:])
		for i := range l.rows * l.rows {
			t.dst[i*t.plane+c] = q[i]
		}
	}
}

// plainGather is the twin of gather: it reads points one plane apart and writes the outputs of a tile into the
// image, as far as the board reaches, with bias, residual, ReLU and mask.
func plainGather(l *linear, t *tileArgs) {
	var p, q [maxPoints]float32
	for c := range t.lanes * Lane {
		for i := range l.cols * l.cols {
			p[i] = t.src[i*t.srcPlane+c]
		}
		l.sandwich(q[:], p[:])
		for i := range t.rows {
			for j := range t.cols {
				at := i*t.rowStride + j*t.pixStride + c
				v := q[i*l.rows+j]
				if t.bias != nil {
					v += t.bias[c]
				}
				if t.res != nil {
					v += t.res[at]
				}
				if t.relu != 0 && v < 0 {
					v = 0
				}
				if t.mask != nil && !(t.mask[at] > 0) {
					v = 0
				}
				t.dst[at] = v
			}
		}
	}
}

// plainPeak does n times eight multiplications and additions and returns the number of operations.
func plainPeak(n int) int {
	var a [8]float32
	x := float32(n & 1)
	for range n {
		a[0] += float32(x * x)
		a[1] += float32(x * x)
		a[2] += float32(x * x)
		a[3] += float32(x * x)
		a[4] += float32(x * x)
		a[5] += float32(x * x)
		a[6] += float32(x * x)
		a[7] += float32(x * x)
	}
	if a[0] != a[7] {
		return 0
	}
	return n * 16
}
