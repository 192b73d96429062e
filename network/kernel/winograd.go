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
	m, n int
	in   linear // Bt, n by n
	out  linear // At, m by n
	rise linear // A, n by m
	wgt  linear // G, n by 3
	fall linear // Gt, 3 by n
}

// linear is a small matrix, row-major.
type linear struct {
	rows, cols int
	v          []float32
}

// minTile and maxTile bound the tile sizes m that exist.
const minTile, maxTile = 3, 6

// tiles holds F(m,3) at index m.
var tiles = [maxTile + 1]*tile{
	3: newTile([]float64{0, 1, -1, 2}),
	4: newTile([]float64{0, 1, -1, 2, -2}),
	5: newTile([]float64{0, 1, -1, 2, -2, 0.5}),
	6: newTile([]float64{0, 1, -1, 2, -2, 0.5, -0.5}),
}

// newTile builds F(m,3) for m = len(points)-1 by the construction of Toom and Cook: the finite points and infinity.
// Rows of Bt are scaled so that their leading coefficient is one; G carries the inverse.
func newTile(points []float64) *tile {
	n := len(points) + 1
	m := n - 2
	bt, at, g := matrix(n, n), matrix(m, n), matrix(n, 3)
	for j, p := range points {
		c := []float64{1} // coefficients of the product of (x - q) over the other points, constant first
		norm := 1.0
		for l, q := range points {
			if l != j {
				c = timesRoot(c, q)
				norm *= p - q
			}
		}
		copy(bt[j], c)
		pow := 1.0
		for i := range max(m, 3) {
			if i < m {
				at[i][j] = pow
			}
			if i < 3 {
				g[j][i] = pow / norm
			}
			pow *= p
		}
	}
	c := []float64{1}
	for _, q := range points {
		c = timesRoot(c, q)
	}
	copy(bt[n-1], c)
	at[m-1][n-1], g[n-1][2] = 1, 1
	return &tile{m: m, n: n, in: flat(bt), out: flat(at), rise: flat(transpose(at)), wgt: flat(g), fall: flat(transpose(g))}
}

// timesRoot multiplies the polynomial c (constant first) by (x - q).
func timesRoot(c []float64, q float64) []float64 {
	o := make([]float64, len(c)+1)
	for i, v := range c {
		o[i] -= v * q
		o[i+1] += v
	}
	return o
}

func matrix(rows, cols int) [][]float64 {
	m := make([][]float64, rows)
	for i := range m {
		m[i] = make([]float64, cols)
	}
	return m
}

func transpose(a [][]float64) [][]float64 {
	o := matrix(len(a[0]), len(a))
	for i := range a {
		for j := range a[i] {
			o[j][i] = a[i][j]
		}
	}
	return o
}

func flat(a [][]float64) linear {
	l := linear{rows: len(a), cols: len(a[0])}
	for _, r := range a {
		for _, v := range r {
			l.v = append(l.v, float32(v))
		}
	}
	return l
}

// chooseTile picks the tile of a board: the one with the fewest multiplications for an image, the smaller one when
// they are equal.
func chooseTile(b Board) *tile {
	best, cost := tiles[minTile], 0
	for m := minTile; m <= maxTile-1; m++ {
		c := ceilDiv(b.H, m) * ceilDiv(b.W, m) * (m + 2) * (m + 2)
		if cost == 0 || c < cost {
			best, cost = tiles[m], c
		}
	}
	return best
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
