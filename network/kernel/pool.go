package kernel

// poolArgs describes the pooling of one image. The assembly reads it by field offset.
type poolArgs struct {
	src       []float32 // from the first square of the padded image
	pooled    []float32 // c means, c maxima
	dx        []float32 // gradient of src, from the first square
	dpooled   []float32
	rows      int
	cols      int
	rowGap    int // floats from the end of a row to the start of the next
	pixStride int // floats between squares: c
	lanes     int // c / Lane
	share     float32
}

func newPoolArgs(b Board, c int) poolArgs {
	return poolArgs{rows: b.H, cols: b.W, rowGap: 2 * c, pixStride: c, lanes: c / Lane, share: 1 / float32(b.Pixels())}
}

// Pool computes the mean and the maximum of each channel over the squares of each of n padded images: dst [n][2*c],
// first the c means, then the c maxima.
func (s *Set) Pool(dst, src []float32, b Board, c, n int) {
	p := newPoolArgs(b, c)
	for i := range n {
		p.src = src[i*b.Len(c)+b.Offset(0, 0, c) : (i+1)*b.Len(c)]
		p.pooled = dst[i*2*c : (i+1)*2*c]
		s.pool(&p)
	}
}

func plainPool(p *poolArgs) {
	c := p.pixStride
	sum, top := p.pooled[:c], p.pooled[c:2*c]
	clear(sum)
	copy(top, p.src[:c])
	for r := range p.rows {
		for q := range p.cols {
			x := p.src[r*(p.cols*c+p.rowGap)+q*c:][:c]
			for j, v := range x {
				sum[j] += v
				if v > top[j] {
					top[j] = v
				}
			}
		}
	}
	for j := range sum {
		sum[j] *= p.share
	}
}

// PoolGrad adds to dx [n][H+2][W+2][c] the gradient of Pool: src and pooled are its input and result, dpooled
// [n][2*c] the gradient of the result. The gradient of a maximum goes to the first square, row by row, that has it.
func (s *Set) PoolGrad(dx, src, pooled, dpooled []float32, b Board, c, n int) {
	p := newPoolArgs(b, c)
	for i := range n {
		at := i*b.Len(c) + b.Offset(0, 0, c)
		p.src, p.dx = src[at:(i+1)*b.Len(c)], dx[at:(i+1)*b.Len(c)]
		p.pooled, p.dpooled = pooled[i*2*c:(i+1)*2*c], dpooled[i*2*c:(i+1)*2*c]
		s.poolGrad(&p)
	}
}

func plainPoolGrad(p *poolArgs) {
	c := p.pixStride
	for j := range c {
		mean, top, dtop := float32(p.dpooled[j]*p.share), p.pooled[c+j], p.dpooled[c+j]
		for r := range p.rows {
			for q := range p.cols {
				at := r*(p.cols*c+p.rowGap) + q*c + j
				p.dx[at] += mean
				if p.src[at] == top {
					p.dx[at] += dtop
					dtop = 0
				}
			}
		}
	}
}
