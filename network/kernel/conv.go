package kernel

import "fmt"

// Conv3x3 is a 3x3 convolution with stride one and zero padding on boards of one size, its weights transformed for
// Winograd's algorithm and packed for the kernels. The plan is fixed when it is made; Pack may be called again
// whenever the weights change, but not while another goroutine uses the convolution.
type Conv3x3 struct {
	board     Board
	cin, cout int
	t         *tile
	spots     []spot
	whole     bool      // the only tile is the whole board
	block     int       // images that go through the scratch memory at once
	u         []float32 // [n*n][cout/16][cin][16]
	work      []float32 // weights on their way, [9][cout/16][cin][16], and room for a transform
}

// spot is one tile of a board.
type spot struct {
	row, col   int     // its first output square
	rows, cols int     // outputs that are on the board
	patch      []int32 // offsets of its n by n inputs (m by m on a whole board) in the padded source image; 0, a border pixel, where there is none
	core       []int32 // the same for its m by m outputs in the padded result
}

// NewConv3x3 plans a convolution from cin to cout channels, both multiples of Lane. Its weights are zero until Pack.
func NewConv3x3(b Board, cin, cout int) (*Conv3x3, error) {
	if b.H < 1 || b.W < 1 || b.H > 64 || b.W > 64 {
		return nil, fmt.Errorf("kernel: board of %d by %d: sides go from 1 to 64", b.H, b.W)
	}
	if cin < Lane || cout < Lane || cin%Lane != 0 || cout%Lane != 0 {
		return nil, fmt.Errorf("kernel: convolution from %d to %d channels: both must be multiples of %d", cin, cout, Lane)
	}
	return newConv3x3(b, cin, cout, chooseTile(b), nil), nil
}

// NewConv3x3Like is NewConv3x3 for a convolution that is packed by the same goroutine as another one, like, of the same
// numbers of channels, whose memory for packing it uses. like may be nil.
func NewConv3x3Like(b Board, cin, cout int, like *Conv3x3) (*Conv3x3, error) {
	if like == nil || like.cin != cin || like.cout != cout {
		return NewConv3x3(b, cin, cout)
	}
	return newConv3x3(b, cin, cout, chooseTile(b), like.work), nil
}

// newConv3x3 allocates memory for packing if work is nil.
func newConv3x3(b Board, cin, cout int, t *tile, work []float32) *Conv3x3 {
	c := &Conv3x3{board: b, cin: cin, cout: cout, t: t, work: work}
	c.whole = b.H == t.m && b.W == t.m
	c.u = Alloc(t.n * t.n * cin * cout)
	if work == nil {
		c.work = Alloc(9*cin*cout + tmpLen)
	}
	for r := 0; r < b.H; r += t.m {
		for q := 0; q < b.W; q += t.m {
			p := spot{row: r, col: q, rows: min(t.m, b.H-r), cols: min(t.m, b.W-q)}
			if c.whole {
				for i := range t.m * t.m {
					p.patch = append(p.patch, b.pixel(1+i%t.m, 1+i/t.m)*int32(cin))
				}
			} else {
				for i := range t.n * t.n {
					p.patch = append(p.patch, b.pixel(r+i%t.n, q+i/t.n)*int32(cin))
				}
			}
			for i := range t.m * t.m {
				px := int32(0)
				if i%t.m < p.rows && i/t.m < p.cols {
					px = b.pixel(r+1+i%t.m, q+1+i/t.m) * int32(cout)
				}
				p.core = append(p.core, px)
			}
			c.spots = append(c.spots, p)
		}
	}
	c.block = blockImages(t.n*t.n*(cin+cout), len(c.spots))
	return c
}

// blockImages chooses how many images go through the scratch memory at once, for tiles of so many transformed floats
// each: as many as fit into half a megabyte, the size of many second-level caches, but enough for the products to
// have blockRows rows, since each reads its weights from an outer cache.
func blockImages(floats, spots int) int {
	rows := blockRows
	if spots == 1 {
		rows *= 2 // such a product reads as many weights as activations
	}
	return max(1, blockFloats/floats/spots, ceilDiv(rows, spots))
}

const (
	blockFloats = 1 << 17
	blockRows   = 24
)

// pixel is the number of a pixel of the padded image, 0 outside it.
func (b Board) pixel(row, col int) int32 {
	if row >= b.H+2 || col >= b.W+2 {
		return 0
	}
	return int32(row*(b.W+2) + col)
}

// Board is the board the convolution was planned for.
func (c *Conv3x3) Board() Board { return c.board }

// Block is the largest number of images that go through the scratch memory at once. Any number may be given: it is
// cut into equal parts.
func (c *Conv3x3) Block() int { return c.block }

// Pack takes weights [cout][cin][3][3] (cross-correlation, as in ONNX and PyTorch).
func (s *Set) Pack(c *Conv3x3, w []float32) {
	size := c.cin * c.cout
	for o := 0; o < c.cout; o += Lane {
		for i := range c.cin {
			d := c.work[(o/Lane*c.cin+i)*Lane:]
			for l := range Lane {
				taps := (*[9]float32)(w[((o+l)*c.cin+i)*9:])
				for t, v := range taps {
					d[t*size+l] = v
				}
			}
		}
	}
	s.packWork(c)
}

// PackInputGrad takes the weights w [cin][cout][3][3] of a forward convolution from cout to cin channels, so that c
// carries gradients from its outputs back to its inputs: channels exchanged, taps turned by 180 degrees.
func (s *Set) PackInputGrad(c *Conv3x3, w []float32) {
	size := c.cin * c.cout
	for i := range c.cin {
		for o := range c.cout {
			d := c.work[(o/Lane*c.cin+i)*Lane+o%Lane:]
			taps := (*[9]float32)(w[(i*c.cout+o)*9:])
			for t, v := range taps {
				d[(8-t)*size] = v
			}
		}
	}
	s.packWork(c)
}

func (s *Set) packWork(c *Conv3x3) {
	n := c.cin * c.cout
	s.planes(c.t.m, stepWeights, &tileArgs{tmp: c.work[9*n:], src: c.work, srcPlane: n, dst: c.u, plane: n, lanes: n / Lane})
}

// ConvArgs says what a convolution works on. All images are padded NHWC with a zero border, which the convolution
// reads and never writes.
type ConvArgs struct {
	Dst        []float32 // [N][H+2][W+2][cout]; must not overlap Src
	Src        []float32 // [N][H+2][W+2][cin]
	N          int       // images
	Bias       []float32 // [cout], or nil
	BiasStride int       // floats from the bias of one image to the next: 0 one bias for all, cout one for each
	Residual   []float32 // same shape as Dst, added before ReLU, may be Dst itself; or nil
	ReLU       bool      // max(0, ...) at the end
	Mask       []float32 // same shape as Dst: results where Mask is not above zero become zero (gradient of a ReLU whose output was Mask); or nil
}

// tileArgs describes the transform of one tile, lanes*Lane channels of it. The assembly reads it by field offset.
type tileArgs struct {
	src, dst             []float32
	bias, res, mask      []float32
	table                []int32 // scatter: offsets of the points in src, in floats
	tmp                  []float32
	lanes                int // groups of Lane channels
	srcPlane, plane      int // floats from one point to the next in src and dst
	rows, cols           int // gather: outputs on the board
	rowStride, pixStride int // gather: floats between rows and pixels of dst
	relu                 int
}
