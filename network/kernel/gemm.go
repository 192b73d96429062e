package kernel

// gemmArgs describes C = A B with A [rows][k], B [k][cols], C [rows][cols]; all strides are in floats. The assembly
// reads it by field offset (see layout_test.go).
type gemmArgs struct {
	a, b, c, acc, bias []float32
	rows, k            int
	panels             int // cols / Lane
	aRow, aCol         int // strides of A
	bRow, bPanel       int // strides of B: from one k to the next, from one panel of Lane columns to the next
	cRow               int // stride of C and acc
	relu               int // 1: negative results become zero
}

// Matrix is the right-hand side of a product, packed for the kernels: [ceil(n/16)][k][16].
type Matrix struct {
	k, n int
	data []float32
}

// NewMatrix makes a zero matrix with k rows (inputs) and n columns (outputs).
func NewMatrix(k, n int) *Matrix {
	return &Matrix{k: k, n: n, data: Alloc(k * RoundUp(n))}
}

// K is the number of inputs.
func (m *Matrix) K() int { return m.k }

// N is the number of outputs, rounded up to a multiple of Lane: the length of a row of the result.
func (m *Matrix) N() int { return RoundUp(m.n) }

// Pack takes weights [n][k], one row an output, as linear layers and 1x1 convolutions store them.
func (m *Matrix) Pack(w []float32) {
	for j := range m.n {
		d := m.data[j/Lane*m.k*Lane+j%Lane:]
		for p, v := range w[j*m.k : j*m.k+m.k] {
			d[p*Lane] = v
		}
	}
}

// PackTransposed takes weights [k][n], one row an input. For a layer with weights w [out][in], a matrix with k = out
// and n = in packed this way carries gradients from outputs to inputs.
func (m *Matrix) PackTransposed(w []float32) {
	for p := range m.k {
		row := w[p*m.n : p*m.n+m.n]
		for j := 0; j < m.n; j += Lane {
			copy(m.data[(j*m.k + p*Lane):][:Lane], row[j:min(j+Lane, m.n)])
		}
	}
}

// GemmArgs says what Gemm multiplies.
type GemmArgs struct {
	Dst       []float32 // [Rows][N]
	Src       []float32 // [Rows][K], rows SrcStride apart
	SrcStride int       // floats between rows of Src; 0 means K
	Rows      int
	Bias      []float32 // [N], or nil
	Residual  []float32 // [Rows][N] added to the result, may be Dst itself; or nil
	ReLU      bool      // max(0, ...) at the end
}

// Gemm computes Dst = Src * m (+ Bias) (+ Residual), then ReLU. Each output is one sum in the order of K: it does
// not depend on the number of rows.
func (s *Set) Gemm(m *Matrix, a GemmArgs) {
	if a.Rows == 0 {
		return
	}
	stride := a.SrcStride
	if stride == 0 {
		stride = m.k
	}
	g := gemmArgs{a: a.Src, b: m.data, c: a.Dst, acc: a.Residual, bias: a.Bias, rows: a.Rows, k: m.k,
		panels: m.N() / Lane, aRow: stride, aCol: 1, bRow: Lane, bPanel: m.k * Lane, cRow: m.N()}
	if a.ReLU {
		g.relu = 1
	}
	s.gemm(&g)
}

// gradRows is how many rows GemmWeightGrad takes at once, so that they stay in the nearest cache.
const gradRows = 128

// GemmWeightGrad computes the gradient of the weights of a linear layer, dw [n][k] = sum over rows of dy[row][j] *
// src[row][p], for src [rows][k] and dy [rows][RoundUp(n)]. k is a multiple of Lane. Rows are summed in order.
func (s *Set) GemmWeightGrad(dw, src, dy []float32, rows, k, n int) {
	clear(dw[:n*k])
	for r := 0; r < rows; r += gradRows {
		g := gemmArgs{a: dy[r*RoundUp(n):], b: src[r*k:], c: dw, acc: dw, rows: n, k: min(gradRows, rows-r), panels: k / Lane,
			aRow: 1, aCol: RoundUp(n), bRow: k, bPanel: Lane, cRow: k}
		s.gemm(&g)
	}
}
