package selfplay

import (
	"fmt"
	"math/rand/v2"

	"kirin/dataset"
	"kirin/mcts"
	"kirin/mcts/mate"
	"kirin/rules"
)

// slot is one game under way, with the buffers it owns.
type slot struct {
	index   int
	playing bool
	job     Assignment
	pos     *rules.Position
	tree    *mcts.Tree
	rng     *rand.Rand
	game    *dataset.Game
	playOut bool // goes on after a proven result
	inTree  bool // a search is under way
	full    bool // the search under way has the full budget

	pending bool // a leaf waits for its answer
	leaf    int32
	width   int // moves of the pending leaf
	value   rules.Value
	logits  []float32
	moves   []rules.Move
	policy  []float32
}

// begin sets up a game: its record, its randomness and its random opening.
func (w *Worker) begin(s *slot, a Assignment) error {
	s.job = a
	// The second word keeps games of neighbouring seeds apart.
	s.rng = rand.New(rand.NewPCG(a.Seed, 0x6b6972696e)) // "kirin"
	if a.Start != nil {
		s.pos.CopyFrom(a.Start)
	} else {
		s.pos.CopyFrom(w.cfg.Variant.Start())
	}
	g := w.cfg.Template
	g.Variant, g.Rules = w.cfg.Variant.Name(), w.cfg.Variant.Rules()
	g.Number, g.Seed, g.Net, g.Step, g.Start = a.Number, a.Seed, a.Net, a.Step, s.pos.SFEN()
	g.Plies = make([]dataset.Ply, 0, 64)
	s.game = &g
	s.playing, s.inTree, s.pending = true, false, false
	s.playOut = s.rng.Float64() < w.cfg.Options.PlayOutMates
	if o := w.cfg.Options; o.OpeningPlies > 0 && s.rng.Float64() < o.OpeningShare {
		w.open(s, s.rng.IntN(o.OpeningPlies+1))
	}
	return nil
}

// open plays n uniformly random plies, and fewer when the game would end.
func (w *Worker) open(s *slot, n int) {
	for range n {
		s.moves = s.pos.AppendMoves(s.moves[:0])
		if s.pos.Outcome(len(s.moves)).Result != rules.Ongoing {
			return
		}
		m := s.moves[s.rng.IntN(len(s.moves))]
		s.pos.Do(m)
		s.moves = s.pos.AppendMoves(s.moves[:0])
		if s.pos.Outcome(len(s.moves)).Result != rules.Ongoing {
			s.pos.Undo()
			return
		}
		s.game.Plies = append(s.game.Plies, dataset.Ply{Move: m, Flags: dataset.Random})
		w.Stats.Plies.Add(1)
	}
}

// advance runs s until a leaf waits for the evaluator or the game has ended.
func (w *Worker) advance(s *slot, sink Sink) error {
	for s.playing {
		if !s.inTree {
			done, err := w.root(s, sink)
			if err != nil {
				return err
			}
			if done {
				continue
			}
		}
		leaf, moves, ok := s.tree.Next(s.pos)
		if ok {
			w.ask(s, leaf, moves)
			s.tree.Unwind(s.pos)
			return nil
		}
		s.inTree = false
		if err := w.choose(s, sink); err != nil {
			return err
		}
	}
	return nil
}

// root looks at the position on the board before it is searched. It reports
// true when the position was settled without a search: the game has ended, or
// a mate was found and its first move played.
func (w *Worker) root(s *slot, sink Sink) (bool, error) {
	s.moves = s.pos.AppendMoves(s.moves[:0])
	if o := s.pos.Outcome(len(s.moves)); o.Result != rules.Ongoing {
		return true, w.finish(s, o, sink)
	}
	if c := w.cfg.Options.CapPlies; c > 0 && len(s.game.Plies) >= c {
		s.game.Truncated = true
		return true, w.finish(s, rules.Outcome{Result: rules.Draw, Reason: rules.Adjudicated}, sink)
	}
	if w.solver != nil {
		w.enter(Mating)
		r := w.solver.SolveAll(s.pos)
		w.enter(Searching)
		w.Stats.MateNodes.Add(r.Nodes)
		switch r.Status {
		case mate.Mate:
			w.Stats.Mates.Add(1)
			return true, w.playMate(s, r, sink)
		case mate.NoMate:
			w.Stats.NoMates.Add(1)
		default:
			w.Stats.UnknownMates.Add(1)
		}
	}
	budget, full := w.cfg.Search.Budget(s.job.Number, s.rng)
	s.full = full
	noise := s.rng
	if !full {
		noise = nil
	}
	s.tree.Reset(s.pos, budget, noise)
	s.inTree = true
	return false, nil
}

// playMate records a proven win: the target is uniform over the winning moves.
func (w *Worker) playMate(s *slot, r mate.Result, sink Sink) error {
	wins := r.First
	if len(wins) == 0 {
		wins = r.PV[:1]
	}
	ply := dataset.Ply{
		Move:   r.PV[0],
		Value:  rules.Value{Win: 1},
		Flags:  dataset.Full | dataset.Proven,
		Target: make([]dataset.MoveWeight, len(wins)),
	}
	for i, m := range wins {
		ply.Target[i] = dataset.MoveWeight{Move: m, Weight: uint16(65535 / len(wins))}
	}
	side := s.pos.Side()
	w.play(s, ply)
	if s.playOut {
		return nil
	}
	return w.finish(s, rules.Outcome{Result: rules.Winner(side), Reason: rules.MateProven}, sink)
}

// choose turns a finished search into a move and its training target.
func (w *Worker) choose(s *slot, sink Sink) error {
	moves := s.tree.RootMoves()
	best := s.tree.Best()
	ply := dataset.Ply{Move: moves[best], Value: s.tree.RootValue()}
	proven, isProven := s.tree.Proven()
	if isProven {
		ply.Flags |= dataset.Proven
		w.Stats.ProvenRoots.Add(1)
	}
	if s.full {
		ply.Flags |= dataset.Full | dataset.Noise
		s.policy = s.policy[:len(moves)]
		s.tree.ImprovedPolicy(s.policy)
		ply.Target = dataset.PackPolicy(make([]dataset.MoveWeight, 0, 16), moves, s.policy)
		w.Stats.FullSearches.Add(1)
	} else {
		ply.Flags |= dataset.Cheap
		w.Stats.CheapSearches.Add(1)
	}
	for i := range moves {
		ply.Visits += uint32(s.tree.Visits(i))
	}
	w.Stats.Simulations.Add(int64(ply.Visits))
	w.play(s, ply)
	if isProven && proven.Result != rules.Draw && !s.playOut {
		// The move itself may have ended the game: then the rules name the reason.
		s.moves = s.pos.AppendMoves(s.moves[:0])
		if o := s.pos.Outcome(len(s.moves)); o.Result != rules.Ongoing {
			return w.finish(s, o, sink)
		}
		return w.finish(s, rules.Outcome{Result: proven.Result, Reason: rules.MateProven}, sink)
	}
	return nil
}

func (w *Worker) play(s *slot, ply dataset.Ply) {
	s.pos.Do(ply.Move)
	s.game.Plies = append(s.game.Plies, ply)
	w.Stats.Plies.Add(1)
	if s.index == 0 && w.cfg.Watch != nil {
		w.cfg.Watch(s.game, s.pos)
	}
}

// finish records the outcome and hands the game on.
func (w *Worker) finish(s *slot, o rules.Outcome, sink Sink) error {
	s.playing = false
	s.game.Outcome = o
	s.game.SetID()
	w.Stats.Games.Add(1)
	if err := sink.Append(s.game); err != nil {
		return fmt.Errorf("store game %d: %w", s.game.Number, err)
	}
	s.game = nil
	return nil
}
