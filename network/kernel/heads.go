package kernel

// Choices describes the logits that are wanted of a head with one row of weights a plane: logit = x[pixel] .
// w[plane] + bias[plane]. Only the chosen ones are computed.
type Choices struct {
	X      []float32 // [pixels][C], unpadded, of one image
	C      int       // channels, a multiple of Lane
	W      []float32 // [Planes][C]
	Bias   []float32 // [Planes]
	Planes int
	Index  []int32 // chosen logits, each pixel*Planes + plane
}

// Logits computes the chosen logits, dst[i] for Index[i].
func (s *Set) Logits(dst []float32, h Choices) {
	for i, v := range h.Index {
		px, pl := int(v)/h.Planes, int(v)%h.Planes
		dst[i] = s.Dot(h.X[px*h.C:px*h.C+h.C], h.W[pl*h.C:pl*h.C+h.C]) + h.Bias[pl]
	}
}

// LogitsGrad adds the gradients of the chosen logits, dlogits[i] for Index[i], to those of x, w and bias (same
// shapes as in h), in the order of Index.
func (s *Set) LogitsGrad(dx, dw, dbias, dlogits []float32, h Choices) {
	for i, v := range h.Index {
		px, pl := int(v)/h.Planes, int(v)%h.Planes
		g := dlogits[i]
		s.Axpy(dx[px*h.C:px*h.C+h.C], h.W[pl*h.C:pl*h.C+h.C], g)
		s.Axpy(dw[pl*h.C:pl*h.C+h.C], h.X[px*h.C:px*h.C+h.C], g)
		dbias[pl] += g
	}
}
