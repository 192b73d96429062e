package kernel

// tile holds the matrices of the minimal filtering algorithm F(m,3) (Winograd 1980; Lavin and Gray, "Fast
// Algorithms for Convolutional Neural Networks", CVPR 2016). With n = m+2 and a patch d of n by n inputs, a filter
// g of 3 by 3 gives m by m outputs:
//
//	Y = At [ (G g Gt) * (Bt d B) ] A        * is element by element
//
// and, because every step is linear, the gradient of the filter is
//
//	dg = Gt [ (A dY At) * (Bt d B) ] G.
type tile struct {
	m, n  int
	in    linear // Bt, n by n
	whole linear // Bt without its first and last column, which meet the border of a board of m by m: n by m
	out   linear // At, m by n
	rise  linear // A, n by m
	wgt   linear // G, n by 3
	fall  linear // Gt, 3 by n
}

// linear is a small matrix, row-major.
type linear struct {
	rows, cols int
	v          []float32
}

// chooseTile picks the tile of a board: the one with the fewest multiplications for an image, the smaller one when
// they are equal.
func chooseTile(b Board) *tile {
	best, cost := tiles[minTile], 0
	for m := minTile; m <= maxTile; m++ {
		c := ceilDiv(b.H, m) * ceilDiv(b.W, m) * (m + 2) * (m + 2)
		if cost == 0 || c < cost {
			best, cost = tiles[m], c
		}
	}
	return best
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// maxSide is the largest n of a tile.
const (
	maxSide   = maxTile + 2
	maxPoints = maxSide * maxSide
)
