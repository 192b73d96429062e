package selfplay

import (
	"context"
	"fmt"
	"sync/atomic"

	"kirin/dataset"
	"kirin/mcts"
	"kirin/mcts/mate"
	"kirin/rules"
)

// Assignment is one game to play. Together with the Config it determines the
// game: net, seed, options and kernel set are all it depends on.
type Assignment struct {
	Number int64           // of the game within its run, or within its worker and session
	Seed   uint64          // every random choice of the game
	Net    string          // sha256 of the weights, recorded with the game
	Step   int64           // training step of the weights
	Eval   Evaluator       // answers for Net; games of one worker with the same Net share it
	Start  *rules.Position // nil: the variant's start position
}

// Source hands out games. It is called between games only, by one worker.
type Source interface {
	// Next returns the next game; false: none, the worker ends when its
	// running games have ended.
	Next(ctx context.Context) (Assignment, bool)
}

// Config is what all games of a worker share.
type Config struct {
	Variant  *rules.Variant
	Options  Options
	Search   mcts.Options
	Template dataset.Game // Config, Version, Kernel, Worker, copied into each game
	// Enter, if set, is called whenever the worker begins another kind of work,
	// to account its CPU time.
	Enter func(Phase)
	// Gate, if set, is called before each round and may block: it holds the
	// worker back when the trainer is behind.
	Gate func(ctx context.Context) error
	// Watch, if set, sees each ply of the worker's first game right after it
	// was played.
	Watch func(g *dataset.Game, p *rules.Position)
}

// Phase is a kind of work of a worker.
type Phase uint8

// The phases.
const (
	Searching  Phase = iota // trees, move generation, encoding
	Evaluating              // waiting for the evaluator's Flush
	Mating                  // mate search
)

// Stats counts what a worker has done. They may be read at any time.
type Stats struct {
	Games, Plies, Simulations, Evaluations, Batches atomic.Int64
	FullSearches, CheapSearches, ProvenRoots        atomic.Int64
	Mates, NoMates, UnknownMates, MateNodes         atomic.Int64
	LeafMates                                       atomic.Int64 // leaves at which a mate was found
	DecidedPlies                                    atomic.Int64 // searches made smaller in a decided game
	ResignChecked, ResignFalse                      atomic.Int64 // games played through, and those not lost by who would have resigned
}

// Worker plays games in step. It is not safe for concurrent use.
type Worker struct {
	cfg    Config
	solver *mate.Solver
	leaves *mate.Leaves // nil: none
	slots  []*slot
	evals  []Evaluator // distinct evaluators with unanswered positions
	Stats  Stats
}

// mateTableBytes is the mate search's memory: it looks at few positions, and
// the table is cleared before each of them.
const mateTableBytes = 1 << 18

// NewWorker allocates everything the worker will need.
func NewWorker(cfg Config) *Worker {
	w := &Worker{cfg: cfg}
	if cfg.Options.MateNodes > 0 {
		o := mate.DefaultOptions()
		o.Nodes = int64(cfg.Options.MateNodes)
		o.TableBytes = mateTableBytes
		w.solver = mate.New(o)
	}
	if n := cfg.Options.LeafMateNodes; n > 0 {
		w.leaves = mate.NewLeaves(n)
	}
	most := cfg.Variant.MaxMoves()
	for i := range cfg.Options.Games {
		w.slots = append(w.slots, &slot{
			index:  i,
			pos:    cfg.Variant.Start(),
			tree:   mcts.NewTree(cfg.Search, most),
			logits: make([]float32, most),
			moves:  make([]rules.Move, 0, most),
			policy: make([]float32, most),
		})
	}
	return w
}

// Run plays games from src until it has none left or ctx ends, and gives each
// finished one to sink. Games under way when ctx ends are given up: they are a
// function of their assignment and can be played again. The error is the
// sink's, the evaluator's or ctx's.
func (w *Worker) Run(ctx context.Context, src Source, sink Sink) error {
	for _, s := range w.slots {
		s.playing = false
	}
	dry := false
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if w.cfg.Gate != nil {
			if err := w.cfg.Gate(ctx); err != nil {
				return err
			}
		}
		w.evals = w.evals[:0]
		active := false
		for _, s := range w.slots {
			if !s.playing {
				if dry {
					continue
				}
				a, ok := src.Next(ctx)
				if !ok {
					dry = true
					continue
				}
				w.begin(s, a)
			}
			if err := w.advance(s, sink); err != nil {
				return err
			}
			active = active || s.playing
		}
		w.enter(Evaluating)
		for _, e := range w.evals {
			if err := e.Flush(); err != nil {
				return fmt.Errorf("evaluate: %w", err)
			}
			w.Stats.Batches.Add(1)
		}
		w.enter(Searching)
		for _, s := range w.slots {
			if s.pending {
				s.pending = false
				if s.asking {
					w.drawOpening(s)
					continue
				}
				s.tree.Expand(s.leaf, s.logits[:s.width], s.value)
			}
		}
		if dry && !active {
			return ctx.Err()
		}
	}
}

func (w *Worker) enter(p Phase) {
	if w.cfg.Enter != nil {
		w.cfg.Enter(p)
	}
}

// ask registers the leaf at which s.pos stands.
func (w *Worker) ask(s *slot, leaf int32, moves []rules.Move) {
	e := s.job.Eval
	known := false
	for _, have := range w.evals {
		if have == e {
			known = true
			break
		}
	}
	if !known {
		w.evals = append(w.evals, e)
	}
	s.leaf, s.width, s.pending = leaf, len(moves), true
	e.Add(s.pos, moves, s.logits[:len(moves)], &s.value)
	w.Stats.Evaluations.Add(1)
}
