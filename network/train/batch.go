package train

import "fmt"

// Batch is what one step learns from: N positions with their targets. N may be
// smaller than the batch size. It is filled by Trainer.Fill, or by hand.
type Batch struct {
	N      int
	Planes []float32 // [N][squares][planes], as encode.Encoder writes them

	// Policy targets: position i has the legal moves with the policy indices
	// Index[Offsets[i]:Offsets[i+1]] and the shares Target, aligned with them,
	// which sum to 1, or are all 0 where there is no policy to learn.
	Offsets []int32 // [N+1]
	Index   []int32
	Target  []float32

	// The same for the opponent's reply to the move that was played, for the
	// auxiliary head that learns it: squares are those of the mover's planes. A
	// position without a known reply has no moves here.
	ReplyOffsets []int32 // [N+1]
	ReplyIndex   []int32
	Reply        []float32

	WDL         []float32 // [N][3]: probabilities of win, draw, loss for the mover
	ValueWeight []float32 // [N]: weight of the value loss; 0 masks it
	PliesLeft   []float32 // [N]: plies to the end of the game
	PliesWeight []float32 // [N]: weight of the plies-left loss; 0 masks it
	Weight      []float32 // [N]: weight of all losses of the sample
}

// NewBatch returns an empty batch with room for n positions of size floats
// each.
func NewBatch(n, size int) *Batch {
	return &Batch{
		Planes:       make([]float32, n*size),
		Offsets:      make([]int32, n+1),
		ReplyOffsets: make([]int32, n+1),
		WDL:          make([]float32, 3*n),
		ValueWeight:  make([]float32, n),
		PliesLeft:    make([]float32, n),
		PliesWeight:  make([]float32, n),
		Weight:       make([]float32, n),
	}
}

// check returns an error if the batch's slices do not fit each other, the
// limits, or the number of policy indices.
func (b *Batch) check(limit, size, policy int) error {
	if b.N < 1 || b.N > limit {
		return fmt.Errorf("a batch of %d samples; the trainer was made for 1 to %d", b.N, limit)
	}
	if len(b.Planes) < b.N*size || len(b.WDL) < 3*b.N || len(b.ValueWeight) < b.N || len(b.PliesLeft) < b.N || len(b.PliesWeight) < b.N || len(b.Weight) < b.N {
		return fmt.Errorf("the slices of a batch of %d samples are too short", b.N)
	}
	if err := checkMoves(b.N, b.Offsets, b.Index, b.Target, policy); err != nil {
		return err
	}
	if err := checkMoves(b.N, b.ReplyOffsets, b.ReplyIndex, b.Reply, policy); err != nil {
		return fmt.Errorf("replies: %w", err)
	}
	return nil
}

// checkMoves checks a policy target.
func checkMoves(n int, offsets, index []int32, target []float32, policy int) error {
	if len(offsets) <= n || len(target) != len(index) {
		return fmt.Errorf("the slices of a batch of %d samples are too short", n)
	}
	for i := range n {
		if offsets[i] < 0 || offsets[i] > offsets[i+1] || int(offsets[i+1]) > len(index) {
			return fmt.Errorf("sample %d of the batch: its moves have no place", i)
		}
	}
	for i, x := range index[:offsets[n]] {
		if x < 0 || int(x) >= policy {
			return fmt.Errorf("entry %d of the batch: policy index %d of %d", i, x, policy)
		}
	}
	return nil
}
