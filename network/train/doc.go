// Package train turns samples of finished games into better weights.
//
// A [Trainer] owns the parameters, the optimiser's moments and the moving
// average of the weights, each one flat slice in the order of network.Layout:
//
//	t, err := train.New(weights, train.DefaultOptions())
//	err = t.Fill(samples)    // replay and encode up to BatchSize samples
//	stats, err := t.Step()   // forward, backward, one step of AdamW
//	net := t.Averaged()      // the weights to play with
//	err = t.Save(folder)     // everything that Load needs to go on bit for bit
//
// # The graph
//
// Gorgonia holds and differentiates the training graph. Its nodes are fused
// operations of this package over the kernels that also play the games: the
// stem, each residual block, the heads with their losses, and the weighted sum
// of the losses. An operation's result lies in memory that the operation owns;
// its gradient node computes the gradients of all its inputs at once, hands the
// one of its activations on along the graph, and leaves those of the
// parameters in the trainer's flat gradient, from where small "take" nodes show
// them to Gorgonia. Thus every node has a single reader, and Gorgonia never
// adds, copies or overwrites a tensor. Tests compare the graph with the same
// net built from Gorgonia's stock operations, and with finite differences.
//
// # Determinism
//
// A batch is cut into a fixed number of slices (Options.Slices). Each slice
// sums its own gradients, image by image, and the slices are added in order, so
// that the result depends on neither the number of threads nor their timing. It
// does depend on the set of kernels, in the last bits.
//
// # Losses
//
// Policy: cross-entropy of the target with the softmax over the legal moves
// only. Value: cross-entropy over win, draw and loss. Plies left: Huber's loss
// in units of network.PliesScale plies. Each is masked by a weight of the
// sample, and the sum over the batch is divided by the number of samples.
//
// Two auxiliary heads may learn beside them from the policy's features, and stay
// behind when a net is written: the policy target with a higher temperature
// (Options.SoftWeight), and the opponent's reply (Options.ReplyWeight). With
// Options.Surprise the samples whose policy target surprises the net count more.
//
// A Trainer is used by one goroutine; it spreads the work over the cores itself.
package train
