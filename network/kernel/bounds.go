package kernel

// Error bounds against float64, as a share of the largest absolute result, for weights of variance 1/(9*cin) and
// inputs of variance one. The tests hold every kernel set to them. Nothing worse than about half of them was seen.
const (
	GemmError = 2e-6 // Gemm and GemmWeightGrad with up to 1024 terms

	// Convolutions that run by F(m,3): forward, input gradient and weight gradient.
	convError3 = 2e-6
	convError4 = 6e-6
	convError5 = 1e-5
	convError6 = 2.5e-5
	convError7 = 9e-5
)

// Error is the error bound of Conv and WeightGrad with the tile of c; see [GemmError] for what it is a share of.
func (c *Conv3x3) Error() float64 {
	return [maxTile + 1]float64{3: convError3, 4: convError4, 5: convError5, 6: convError6, 7: convError7}[c.t.m]
}
