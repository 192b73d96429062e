package kernel

// Error bounds against float64, as a share of the largest absolute result, for weights of variance 1/(9*cin) and
// inputs of variance one. The tests hold every kernel set to them. The largest that were measured are half of these, for F(6x6).
const (
	ConvError       = 2e-5 // Conv, forward and input gradient
	WeightGradError = 2e-5 // WeightGrad
	GemmError       = 2e-6 // Gemm and GemmWeightGrad with up to 1024 terms
)
