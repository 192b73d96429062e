package kernel

import "unsafe"

// Lane is the channel granularity of the package: every channel count is a multiple of it.
const Lane = 16

// Board is the size of a board in squares.
type Board struct{ H, W int }

// Pixels is the number of squares of one image.
func (b Board) Pixels() int { return b.H * b.W }

// Padded is the number of pixels of one image with its border.
func (b Board) Padded() int { return (b.H + 2) * (b.W + 2) }

// Len is the number of floats of one padded image with c channels.
func (b Board) Len(c int) int { return b.Padded() * c }

// Offset is the place of square (row, col) with c channels inside its padded image, in floats.
func (b Board) Offset(row, col, c int) int { return ((row+1)*(b.W+2) + col + 1) * c }

// RoundUp gives the smallest multiple of Lane that is not below n.
func RoundUp(n int) int { return (n + Lane - 1) / Lane * Lane }

// Alloc returns n zeroed floats that start on a 64-byte boundary. The kernels accept any alignment; this one is
// the fastest.
func Alloc(n int) []float32 {
	s := make([]float32, n+15)
	off := int(-(uintptr(unsafe.Pointer(unsafe.SliceData(s))) / 4)) & 15
	return s[off : off+n : off+n]
}

// Pad copies n unpadded images [n][H*W][c] into the inside of padded images [n][H+2][W+2][c]. The border of dst is
// not touched.
func Pad(dst, src []float32, b Board, c, n int) {
	for i := range n {
		for r := range b.H {
			copy(dst[i*b.Len(c)+b.Offset(r, 0, c):][:b.W*c], src[(i*b.H+r)*b.W*c:][:b.W*c])
		}
	}
}

// Unpad copies the inside of n padded images [n][H+2][W+2][c] into unpadded images [n][H*W][c].
func Unpad(dst, src []float32, b Board, c, n int) {
	for i := range n {
		for r := range b.H {
			copy(dst[(i*b.H+r)*b.W*c:][:b.W*c], src[i*b.Len(c)+b.Offset(r, 0, c):][:b.W*c])
		}
	}
}

// PadChannels copies n unpadded images with from channels into the inside of padded images with to channels
// (to >= from); channels beyond from and the border are left as they are (zero after Alloc).
func PadChannels(dst, src []float32, b Board, from, to, n int) {
	for i := range n {
		for r := range b.H {
			d := dst[i*b.Len(to)+b.Offset(r, 0, to):]
			s := src[(i*b.H+r)*b.W*from:]
			for q := range b.W {
				copy(d[q*to:q*to+from], s[q*from:q*from+from])
			}
		}
	}
}
