package kernel

// Pool computes the mean and the maximum of each channel over the squares of each of n padded images: dst [n][2*c],
// first the c means, then the c maxima.
func (s *Set) Pool(dst, src []float32, b Board, c, n int) {
	for i := range n {
		img := src[i*b.Len(c) : (i+1)*b.Len(c)]
		mean, top := dst[i*2*c:i*2*c+c], dst[i*2*c+c:i*2*c+2*c]
		clear(mean)
		copy(top, img[b.Offset(0, 0, c):])
		for r := range b.H {
			for q := range b.W {
				at := b.Offset(r, q, c)
				plainPool(mean, top, img[at:at+c])
			}
		}
		f := 1 / float32(b.Pixels())
		for j := range mean {
			mean[j] *= f
		}
	}
}

func plainPool(sum, top, x []float32) {
	top = top[:len(x)]
	sum = sum[:len(x)]
	for j, v := range x {
		sum[j] += v
		if v > top[j] {
			top[j] = v
		}
	}
}

// PoolGrad adds to dx [n][H+2][W+2][c] the gradient of Pool: src and pooled are its input and result, dpooled
// [n][2*c] the gradient of the result. The gradient of a maximum goes to the first square, row by row, that has it.
func (s *Set) PoolGrad(dx, src, pooled, dpooled []float32, b Board, c, n int) {
	f := 1 / float32(b.Pixels())
	for i := range n {
		x, d := src[i*b.Len(c):(i+1)*b.Len(c)], dx[i*b.Len(c):(i+1)*b.Len(c)]
		top := pooled[i*2*c+c : i*2*c+2*c]
		dmean, dtop := dpooled[i*2*c:i*2*c+c], dpooled[i*2*c+c:i*2*c+2*c]
		for r := range b.H {
			at := b.Offset(r, 0, c)
			for k, n := at, at+b.W*c; k < n; k += c {
				for j, g := range dmean {
					d[k+j] += float32(g * f)
				}
			}
		}
		for j, v := range top {
			if at := b.firstSquare(x, c, j, v); at >= 0 {
				d[at] += dtop[j]
			}
		}
	}
}

// firstSquare finds the first square of a padded image whose channel j equals v; -1 if there is none.
func (b Board) firstSquare(x []float32, c, j int, v float32) int {
	for r := range b.H {
		at := b.Offset(r, 0, c) + j
		for range b.W {
			if x[at] == v {
				return at
			}
			at += c
		}
	}
	return -1
}
