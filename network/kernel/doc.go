// Package kernel holds the float32 loops of the neural net, in assembly for amd64 and in plain Go for every machine.
//
// # Sets
//
// A [Set] is one implementation of all loops: "avx512", "avx2" (with FMA) or "plain". [Best] is the fastest one that
// this machine can run, [Lookup] finds one by name, [Sets] lists them. Sets are values: a net or a trainer holds the
// one it was given, and there is no global switch. All sets compute the same sums in the same order; they differ in
// the last bits, because assembly fuses multiplications with additions.
//
// Before a set of assembly is offered it passes a self-check against the plain twins, a few hundredths of a second at
// the first use: a machine that runs it wrongly falls back to the next set. The tests run on every set that the machine
// has; the AVX-512 set comes from the same generator as the AVX2 set, with longer vectors, and the same tests cover it
// on machines, or under emulators (Bochs with the model corei7_skylake_x), that have AVX-512 F, BW, DQ and VL.
//
// # Memory
//
// Activations are padded NHWC: [image][H+2][W+2][C] with a zero border, C a multiple of 16 ([Lane]); callers that
// have fewer channels fill up with zeros and zero weights. [Alloc] gives aligned memory, [Board] computes places in
// it, [Pad] and [Unpad] copy between padded and unpadded images [image][H*W][C]. Nobody but its owner ever writes to
// a border: the convolutions read it as their zero padding, and [Set.RowSums] sums straight over it.
//
// No function allocates, except the constructors. Scratch memory is handed in ([Conv3x3.ScratchLen]); it may be
// shared by all convolutions of one goroutine, and nothing is kept in it from one call to the next. Functions check
// nothing that the slices do not check by themselves: lengths are the caller's duty.
//
// # Convolutions
//
//	c, err := kernel.NewConv3x3(kernel.Board{H: 5, W: 5}, 64, 64)  // plan; chooses the tile
//	set.Pack(c, w)                                                 // w [cout][cin][3][3]; again after each change
//	set.Conv(c, kernel.ConvArgs{Dst: y, Src: x, N: n, Bias: b, Residual: h, ReLU: true}, scratch)
//
// A 3x3 convolution runs by Winograd's algorithm with the tile that suits the board: F(5x5) on 5x5 and 9x9, F(7x7) on
// 7x7, F(6x6) on 12x12, and whatever multiplies least on other boards. Every patch of inputs is transformed into n*n
// points, each point is a matrix product over the channels, and the results are transformed back, with bias, residual,
// ReLU and mask fused into the last step. Where one tile is the whole board, the outermost inputs are its zero border,
// and the transform leaves them out. The answer for an image has the same bits whatever the batch and its place in
// it. A bias may differ from image to image (BiasStride), as a global-pooling path wants it. [Conv3x3.Error] bounds the
// errors; they grow with the tile, which is why there is no larger one.
//
// Images go through the scratch memory in blocks of [Conv3x3.Block]; a forward pass stays in the second-level cache
// when it takes a block, or a few, through all its layers before it starts the next.
//
// # Gradients
//
// For y = ReLU(conv(x) + bias + h) and dy the gradient of y:
//
//	set.ReLUGrad(g, dy, y)                    // gradient before ReLU; also the gradient of h
//	set.RowSums(dbias, g, n*b.Padded(), cout) // or ImageSums where each image has its own bias
//	set.WeightGrad(c, dw, x, g, n, scratch)   // scratch of WeightGradScratchLen; dw [cout][cin][3][3], overwritten
//	set.PackInputGrad(back, w)                // back planned from cout to cin channels
//	set.Conv(back, kernel.ConvArgs{Dst: dx, Src: g, N: n, Residual: more, Mask: x}, scratch)
//
// The last call computes the gradient of x, adds what else flows into x and, when x itself came from a ReLU, masks
// with it, so that ReLUGrad is needed only where no convolution follows. Everything works on a range of images: cut
// the batch into a fixed number of slices, give each its own gradients, and add them with [Set.SumSlices]; then the
// result does not depend on the number of threads. Large slices are cheaper: with 64 channels WeightGrad has a fixed
// cost of about the work of fifteen images of 5x5.
//
// # The rest
//
// [Matrix] and [Set.Gemm] are 1x1 convolutions (rows are the pixels of an unpadded image) and linear layers, with
// [Set.GemmWeightGrad] and a transposed packing for the gradients; [Set.Logits] computes the wanted logits of a head
// and no other; [Set.Pool] is global mean and maximum pooling; [Set.AdamStep] is one fused step of AdamW with
// clipping and the moving average; [Set.SumSquares], [Set.MaxAbs] and [Set.Finite] watch over it.
package kernel
