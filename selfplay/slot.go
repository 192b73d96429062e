package selfplay

import (
	"fmt"
	"math"
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
	playOut bool         // goes on after a proven result
	through bool         // goes on although a side would resign
	resigns rules.Result // of a game played through: how it would have ended
	lows    [2]int       // searches in a row, by side, that said that it has nothing to hope for
	opening int          // random plies still to be drawn from the net's policy
	asking  bool         // the leaf pending is no tree's but the next of these
	keep    float64      // the share of such searches that become targets
	inTree  bool         // a search is under way
	full    bool         // the search under way has the full budget

	pending bool // a leaf waits for its answer
	leaf    int32
	width   int // moves of the pending leaf
	value   rules.Value
	logits  []float32
	moves   []rules.Move
	policy  []float32
}

// begin sets up a game: its record, its randomness and its random opening.
func (w *Worker) begin(s *slot, a Assignment) {
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
	o := w.cfg.Options
	s.playOut = s.rng.Float64() < o.PlayOutMates
	s.opening, s.asking, s.lows, s.resigns = 0, false, [2]int{}, rules.Ongoing
	if o.OpeningPlies > 0 && s.rng.Float64() < o.OpeningShare {
		n := s.rng.IntN(o.OpeningPlies + 1)
		if o.OpeningTemperature > 0 {
			s.opening = n
		} else {
			w.open(s, n)
		}
	}
	s.through = s.playOut
	if o.ResignBelow > 0 {
		s.through = s.rng.Float64() < o.ResignPlayOut || s.playOut
	}
}

// open plays n uniformly random plies, and fewer when the game would end.
func (w *Worker) open(s *slot, n int) {
	for range n {
		s.moves = s.pos.AppendMoves(s.moves[:0])
		if s.pos.Outcome(len(s.moves)).Result != rules.Ongoing || !w.vary(s, s.moves[s.rng.IntN(len(s.moves))]) {
			return
		}
	}
}

// vary plays a random ply, if it does not end the game.
func (w *Worker) vary(s *slot, m rules.Move) bool {
	s.pos.Do(m)
	s.moves = s.pos.AppendMoves(s.moves[:0])
	if s.pos.Outcome(len(s.moves)).Result != rules.Ongoing {
		s.pos.Undo()
		return false
	}
	s.game.Plies = append(s.game.Plies, dataset.Ply{Move: m, Flags: dataset.Random})
	w.Stats.Plies.Add(1)
	return true
}

// askOpening asks for the policy from which the next random ply is drawn; false: the
// game ends here.
func (w *Worker) askOpening(s *slot) bool {
	s.moves = s.pos.AppendMoves(s.moves[:0])
	if s.pos.Outcome(len(s.moves)).Result != rules.Ongoing {
		s.opening = 0
		return false
	}
	s.asking = true
	w.ask(s, 0, s.moves)
	return true
}

// drawOpening draws a random ply from the policy that askOpening asked for.
func (w *Worker) drawOpening(s *slot) {
	s.asking = false
	s.opening--
	logits := s.logits[:s.width]
	high := logits[0]
	for _, x := range logits {
		high = max(high, x)
	}
	sum := 0.0
	weight := func(x float32) float64 { return math.Exp(float64(x-high) / w.cfg.Options.OpeningTemperature) }
	for _, x := range logits {
		sum += weight(x)
	}
	last, left := 0, s.rng.Float64()*sum
	for i, x := range logits {
		last = i
		if left -= weight(x); left < 0 {
			break
		}
	}
	if !w.vary(s, s.moves[last]) {
		s.opening = 0
	}
}

// advance runs s until a leaf waits for the evaluator or the game has ended.
func (w *Worker) advance(s *slot, sink Sink) error {
	for s.playing {
		if s.opening > 0 {
			if w.askOpening(s) {
				return nil
			}
			continue
		}
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
			if w.leaves != nil && s.tree.Nodes() > 1 && w.prove(s, leaf) {
				continue
			}
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

// prove looks for a mate at the leaf at which s.pos stands, which is not the root;
// true: the leaf is settled.
func (w *Worker) prove(s *slot, leaf int32) bool {
	before := w.leaves.Nodes
	o, plies := w.leaves.Prove(s.pos)
	w.Stats.MateNodes.Add(w.leaves.Nodes - before)
	if o.Result == rules.Ongoing {
		return false
	}
	w.Stats.LeafMates.Add(1)
	s.tree.Unwind(s.pos)
	s.tree.Prove(leaf, o, plies)
	return true
}

// decided tells how far the game is decided, from 0 to 1: how much of the way from
// DecidedAbove to certainty the least of the last scores has gone.
func (w *Worker) decided(s *slot) float64 {
	o := w.cfg.Options
	n := len(s.game.Plies)
	if o.DecidedAbove == 0 || n < o.DecidedPlies {
		return 0
	}
	least := 1.0
	side := s.pos.Side()
	var leader rules.Side
	for i := range o.DecidedPlies {
		side = side.Other()
		v := s.game.Plies[n-1-i].Value
		if v == (rules.Value{}) { // not searched
			return 0
		}
		score, ahead := float64(v.Score()), side
		if score < 0.5 {
			score, ahead = 1-score, side.Other()
		}
		if i > 0 && ahead != leader {
			return 0
		}
		leader = ahead
		least = min(least, score)
	}
	return min(max((least-o.DecidedAbove)/(1-o.DecidedAbove), 0), 1)
}

// resign tells whether the side to move, whose position is worth v, gives up, and
// remembers it in a game that is played through.
func (w *Worker) resign(s *slot, v rules.Value) bool {
	o := w.cfg.Options
	if o.ResignBelow == 0 {
		return false
	}
	side := s.pos.Side()
	if float64(v.Score()) >= o.ResignBelow {
		s.lows[side] = 0
		return false
	}
	if s.lows[side]++; s.lows[side] < o.ResignMoves {
		return false
	}
	if s.through {
		if s.resigns == rules.Ongoing {
			s.resigns = rules.Winner(side.Other())
		}
		return false
	}
	return true
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
	s.full, s.keep = full, 1
	if far := w.decided(s); far > 0 {
		least := min(w.cfg.Options.DecidedSimulations, budget)
		budget -= int(far * float64(budget-least))
		s.keep = 1 - far*(1-w.cfg.Options.DecidedShare)
		w.Stats.DecidedPlies.Add(1)
	}
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
	for i := range moves {
		ply.Visits += uint32(s.tree.Visits(i))
	}
	w.Stats.Simulations.Add(int64(ply.Visits))
	if !isProven && w.resign(s, ply.Value) {
		return w.finish(s, rules.Outcome{Result: rules.Winner(s.pos.Side().Other()), Reason: rules.Resignation}, sink)
	}
	if s.full {
		ply.Flags |= dataset.Noise
	}
	if s.full && (s.keep == 1 || s.rng.Float64() < s.keep) {
		ply.Flags |= dataset.Full
		s.policy = s.policy[:len(moves)]
		s.tree.ImprovedPolicy(s.policy)
		ply.Target = dataset.PackPolicy(make([]dataset.MoveWeight, 0, 16), moves, s.policy)
		w.Stats.FullSearches.Add(1)
	} else {
		ply.Flags |= dataset.Cheap
		w.Stats.CheapSearches.Add(1)
	}
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
	if s.resigns != rules.Ongoing && !s.game.Truncated {
		w.Stats.ResignChecked.Add(1)
		if o.Result != s.resigns {
			w.Stats.ResignFalse.Add(1)
		}
	}
	if err := sink.Append(s.game); err != nil {
		return fmt.Errorf("store game %d: %w", s.game.Number, err)
	}
	s.game = nil
	return nil
}
