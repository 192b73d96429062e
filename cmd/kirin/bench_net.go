package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"kirin/network"
	"kirin/network/encode"
	"kirin/network/kernel"
	"kirin/rules"

	"github.com/spf13/cobra"
)

// netFlags are the choices that bench net and bench train share.
type netFlags struct {
	games   []string
	spec    string
	kernels []string
	rounds  int
	seconds float64
	threads int
	peers   bool
	asJSON  bool
}

func (f *netFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.games, "variant", rules.Names(), "games")
	cmd.Flags().StringVar(&f.spec, "spec", "4x64", "size of the net: BLOCKSxCHANNELS[gN]")
	cmd.Flags().StringSliceVar(&f.kernels, "kernel", []string{kernel.Best().Name()}, "kernel sets; usable here: "+strings.Join(kernel.Sets(), ", "))
	cmd.Flags().IntVar(&f.rounds, "rounds", 5, "rounds, of which the median counts")
	cmd.Flags().Float64Var(&f.seconds, "seconds", 1, "CPU seconds of a round, at least one batch")
	cmd.Flags().IntVar(&f.threads, "threads", 1, "threads")
	cmd.Flags().BoolVar(&f.peers, "peers", true, "measure the other program too, if it is installed")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON object a line")
}

// plan checks the flags and returns what they name.
func (f *netFlags) plan() (network.Spec, []*kernel.Set, error) {
	if f.rounds < 1 || f.seconds <= 0 || f.threads < 1 || f.threads > 1024 {
		return network.Spec{}, nil, fmt.Errorf("--rounds and --threads are at least 1, --seconds more than 0")
	}
	spec, err := network.ParseSpec(f.spec)
	if err != nil {
		return spec, nil, fmt.Errorf("--spec: %w", err)
	}
	var sets []*kernel.Set
	for _, name := range f.kernels {
		set, err := kernel.Lookup(name)
		if err != nil {
			return spec, nil, fmt.Errorf("--kernel: %w", err)
		}
		sets = append(sets, set)
	}
	return spec, sets, nil
}

// netRow is one line of bench net.
type netRow struct {
	Game      string  `json:"game"`
	Spec      string  `json:"spec"`
	Kernel    string  `json:"kernel"`
	Batch     int     `json:"batch"`
	Threads   int     `json:"threads"`
	Speed     float64 `json:"positions_per_cpu_second"`
	Wall      float64 `json:"positions_per_second"`
	Peer      string  `json:"peer,omitempty"`
	PeerBatch int     `json:"peer_batch,omitempty"`
	PeerSpeed float64 `json:"peer_positions_per_cpu_second,omitempty"`
	Ratio     float64 `json:"ratio,omitempty"`
	PeakShare float64 `json:"peak_share"`
}

func newBenchNet() *cobra.Command {
	var f netFlags
	var batches []int
	cmd := &cobra.Command{
		Use:   "net",
		Short: "Measure the forward pass, beside onnxruntime where it is installed",
		Long: `Net answers positions of random games with a net of random weights. Where node
finds onnxruntime-node (NODE_PATH), the same net runs there in the same rounds
with one thread: batch against equal batch, then best against best. The share of
the peak counts convolutions the direct way and compares with a loop of
multiply-adds in registers, measured in the same rounds; Winograd's algorithm
multiplies less and can exceed 1.`,
		Example: "  kirin bench net --variant chushogi --spec 4x64 --batch 64 --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			spec, sets, err := f.plan()
			if err != nil {
				return err
			}
			for _, b := range batches {
				if b < 1 || b > 4096 {
					return fmt.Errorf("--batch: %d is not between 1 and 4096", b)
				}
			}
			if len(batches) == 0 {
				return fmt.Errorf("--batch: give at least one size")
			}
			if !f.asJSON {
				fmt.Fprintln(cmd.OutOrStdout(), machine())
			}
			for _, game := range f.games {
				if err := f.net(cmd.Context(), cmd.OutOrStdout(), game, spec, sets, batches); err != nil {
					return err
				}
			}
			return nil
		},
	}
	f.add(cmd)
	cmd.Flags().IntSliceVar(&batches, "batch", []int{16, 64, 256}, "batch sizes")
	return cmd
}

// net measures one game.
func (f *netFlags) net(ctx context.Context, out io.Writer, game string, spec network.Spec, sets []*kernel.Set, batches []int) error {
	weights, enc, err := randomNet(game, spec)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "kirin-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	peer := f.peers && hasONNXRuntime(ctx)
	file := filepath.Join(dir, "net.onnx")
	if peer {
		if err := network.WriteONNX(file, weights); err != nil {
			return err
		}
	}
	requests := make([]*network.Request, len(batches))
	for i, b := range batches {
		requests[i] = randomRequest(enc, b)
	}
	nets := make([]*network.Net, len(sets))
	for i, set := range sets {
		if nets[i], err = network.NewOn(weights, set); err != nil {
			return err
		}
	}
	ours, wall, peaks := grid(len(sets), len(batches)), grid(len(sets), len(batches)), make([][]float64, len(sets))
	theirs := make([][]float64, len(batches))
	for range f.rounds {
		for j, b := range batches {
			for i, set := range sets {
				cpu, clock := f.forward(nets[i], requests[j])
				ours[i][j] = append(ours[i][j], cpu)
				wall[i][j] = append(wall[i][j], clock)
				flops := 0
				spent := cpuOf(func() { flops = set.Peak(1 << 18) })
				peaks[i] = append(peaks[i], float64(flops)/spent)
			}
			if peer {
				speed, err := onnxSpeed(ctx, file, weights.Form, b, f.seconds)
				if err != nil {
					return err
				}
				theirs[j] = append(theirs[j], speed)
			}
		}
	}
	flops := forwardFLOPs(weights, requests[0])
	for i, set := range sets {
		best, bestPeer := netRow{}, netRow{}
		peak := slices.Max(peaks[i])
		for j, b := range batches {
			row := netRow{Game: game, Spec: spec.String(), Kernel: set.Name(), Batch: b, Threads: f.threads, Speed: median(ours[i][j]), Wall: median(wall[i][j])}
			row.PeakShare = row.Speed * flops / peak
			if peer {
				row.Peer, row.PeerBatch, row.PeerSpeed = "onnxruntime", b, median(theirs[j])
				row.Ratio = row.Speed / row.PeerSpeed
				if row.PeerSpeed > bestPeer.PeerSpeed {
					bestPeer = row
				}
			}
			if row.Speed > best.Speed {
				best = row
			}
			if err := row.write(out, f.asJSON); err != nil {
				return err
			}
		}
		if peer && len(batches) > 1 {
			best.Peer, best.PeerBatch, best.PeerSpeed = "onnxruntime best", bestPeer.PeerBatch, bestPeer.PeerSpeed
			best.Ratio = best.Speed / best.PeerSpeed
			if err := best.write(out, f.asJSON); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r netRow) write(w io.Writer, asJSON bool) error {
	if asJSON {
		return writeJSON(w, r)
	}
	peer := ""
	if r.Peer != "" {
		peer = fmt.Sprintf("   %s batch %d: %.0f   ratio %.2f", r.Peer, r.PeerBatch, r.PeerSpeed, r.Ratio)
	}
	_, err := fmt.Fprintf(w, "%-10s %s %-6s batch %4d threads %d  %8.0f positions per CPU-second  %8.0f a second  %3.0f%% of peak%s\n",
		r.Game, r.Spec, r.Kernel, r.Batch, r.Threads, r.Speed, r.Wall, 100*r.PeakShare, peer)
	return err
}

// forward answers the request over and over on every thread; it returns the
// positions per CPU-second and per second.
func (f *netFlags) forward(net *network.Net, r *network.Request) (cpu, wall float64) {
	spent, done := make([]float64, f.threads), make([]int, f.threads)
	var wait sync.WaitGroup
	start := time.Now()
	for t := range f.threads {
		wait.Go(func() {
			scratch, own := network.NewScratch(net), *r
			own.Logits, own.Values = make([]float32, len(r.Logits)), make([]rules.Value, r.N)
			net.Forward(scratch, &own)
			for spent[t] < f.seconds {
				spent[t] += cpuOf(func() { net.Forward(scratch, &own) })
				done[t] += r.N
			}
		})
	}
	wait.Wait()
	seconds, positions := 0.0, 0
	for t := range f.threads {
		seconds += spent[t]
		positions += done[t]
	}
	return float64(positions) / seconds, float64(positions) / time.Since(start).Seconds()
}

// grid holds the speeds of all rounds by kernel set and batch.
func grid(rows, columns int) [][][]float64 {
	g := make([][][]float64, rows)
	for i := range g {
		g[i] = make([][]float64, columns)
	}
	return g
}

// randomNet returns fresh weights for a game.
func randomNet(game string, spec network.Spec) (*network.Weights, *encode.Encoder, error) {
	v, err := rules.Load(game)
	if err != nil {
		return nil, nil, err
	}
	enc, err := encode.New(v)
	if err != nil {
		return nil, nil, err
	}
	w, err := network.Init(spec, enc, rand.New(rand.NewPCG(1, 1)))
	return w, enc, err
}

// randomRequest holds n positions of random games.
func randomRequest(enc *encode.Encoder, n int) *network.Request {
	v := enc.Variant()
	size := v.Squares() * enc.Planes()
	r := &network.Request{N: n, Planes: make([]float32, n*size), Offsets: make([]int32, 1, n+1), Values: make([]rules.Value, n)}
	rng := rand.New(rand.NewPCG(2, 3))
	for i := range n {
		p := randomPosition(v, rng, 100)
		enc.Encode(p, r.Planes[i*size:(i+1)*size])
		for _, m := range p.AppendMoves(nil) {
			r.Index = append(r.Index, int32(enc.Index(p, m)))
		}
		r.Offsets = append(r.Offsets, int32(len(r.Index)))
	}
	r.Logits = make([]float32, len(r.Index))
	return r
}

// forwardFLOPs counts the multiplications and additions of one position done the
// direct way: weights of convolutions once a square, logits of legal moves only.
func forwardFLOPs(w *network.Weights, r *network.Request) float64 {
	n := 0.0
	for _, s := range network.NewLayout(w.Form).Slots {
		switch {
		case s.Fan == 0:
		case s.Name == "policy.move.weight":
			n += float64(len(r.Index)) / float64(r.N) * float64(s.Fan)
		case strings.Contains(s.Name, "conv") || strings.HasPrefix(s.Name, "stem"):
			n += float64(s.Size * w.Form.Squares())
		default:
			n += float64(s.Size)
		}
	}
	return 2 * n
}
