// Package network holds a net's description, its weights and their file, and
// the fused forward pass that plays the games.
//
// A [Spec] such as "4x64" is the size of the body; a [Form] adds the board,
// input planes and policy planes of a game; a [Layout] says where each named
// tensor lies in the flat parameters of a form. [Weights] are those parameters
// with a description, kept in a safetensors file; a [Net] is weights packed for
// the kernels of this machine.
//
//	w, err := network.ReadWeights("runs/mini/weights/1200.safetensors")
//	net, err := network.New(w)
//	scratch := network.NewScratch(net)   // one for each goroutine
//	net.Forward(scratch, &request)
//
// # The net
//
//	planes -> stem: 3x3 convolution, ReLU
//	       -> residual blocks: relu(conv(relu(conv(x))) + x), 3x3, with biases
//	       -> policy head: 1x1 convolution plus the pooled tower, ReLU; one row of
//	          weights a policy plane, of which only legal moves are multiplied
//	       -> value head: 1x1 convolution to 16 channels, ReLU, hidden layer of 64,
//	          ReLU; logits of win, draw and loss, and the plies left
//
// A block with a pooling path adds, on every square, a linear function of the
// mean and maximum of each channel after its first convolution ("g2" in the
// Spec: every second block; Wu, "Accelerating Self-Play Learning in Go", 2019,
// section 4.1). There is no batch norm: training and play compute the same, and
// fixed-variance initialisation keeps activations in range.
//
// # Weights file
//
// One safetensors file: a float32 tensor for each [Slot], in order; metadata
// keys format ("kirin-net-1"), spec, height, width, planes, policy_planes,
// encoder, variant, rules, step, parent, version, checksum, and whatever else
// the writer added. See package safetensors for the checksum.
//
// # Forward pass
//
// A group of positions goes through all layers before the next one starts, so
// that activations stay in the cache of the core. A position's answer is the
// same bits whatever the batch and its place in it. [WriteONNX] writes the same
// net for other programs.
package network
