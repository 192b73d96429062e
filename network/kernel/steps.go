package kernel

// step names a transform of a tile.
type step uint8

const (
	stepPatch      step = iota // Bt d B: inputs into points
	stepWhole                  // the same for a tile that is the whole board, inside its border
	stepCore                   // A dY At: gradients of outputs into points
	stepWeights                // G g Gt: weights into points
	stepWeightGrad             // Gt U G: points into gradients of weights
)

// matrix gives the matrix of a step.
func (t *tile) matrix(st step) *linear {
	switch st {
	case stepPatch:
		return &t.in
	case stepWhole:
		return &t.whole
	case stepCore:
		return &t.rise
	case stepWeights:
		return &t.wgt
	}
	return &t.fall
}
