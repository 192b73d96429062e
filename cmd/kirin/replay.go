package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"kirin/configs"
	"kirin/dataset"
	"kirin/network"
	"kirin/rules"
	"kirin/selfplay"

	"github.com/spf13/cobra"
)

// replayFlags are the flags of replay.
type replayFlags struct {
	dir    string
	verify bool
	last   int
	asJSON bool
}

// replayed is the verdict on one game.
type replayed struct {
	ID     string `json:"id"`
	Plies  int    `json:"plies"`
	Result string `json:"result"`
	Reason string `json:"reason"`
	Legal  bool   `json:"legal"`
	Exact  bool   `json:"exact"`         // played again, bit for bit the same
	Why    string `json:"why,omitempty"` // it was not, or could not be, played again
	Faulty bool   `json:"-"`
}

func newReplay() *cobra.Command {
	f := replayFlags{dir: "runs/" + configs.Presets()[0]}
	cmd := &cobra.Command{
		Use:   "replay [ID...]",
		Short: "Show stored games, or play them again bit for bit",
		Long: `Replay prints stored games move by move. With --verify it plays each again from
its seed with the net that played it, and compares every move, value and target
bit for bit. That takes the same kernel set, program version and weights; where
one of them differs, moves and result are checked by the rules and the reason is
given. The exit status is 1 when a game is not what it should be.`,
		Example: "  kirin replay --dir runs/minishogi --last 1\n  kirin replay --dir runs/minishogi --last 20 --verify",
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), cmd.OutOrStdout(), args)
		},
	}
	cmd.Flags().Var((*given)(&f.dir), "dir", "folder of the run")
	cmd.Flags().BoolVar(&f.verify, "verify", false, "play the games again and compare")
	cmd.Flags().IntVar(&f.last, "last", 0, "take the newest games, this many")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON object a game")
	return cmd
}

func (f *replayFlags) run(ctx context.Context, stdout io.Writer, ids []string) error {
	if len(ids) == 0 && f.last <= 0 {
		return fmt.Errorf("name games by their ids, or give --last N")
	}
	r, err := openRun(f.dir)
	if err != nil {
		return err
	}
	store, err := dataset.OpenStore(r.path("games"), r.cfg.Data)
	if err != nil {
		return err
	}
	var games []*dataset.Game
	for _, text := range ids {
		id, err := dataset.ParseID(text)
		if err != nil {
			return err
		}
		g, err := store.Find(id)
		if err != nil {
			return fmt.Errorf("game %s: %w", text, err)
		}
		games = append(games, g)
	}
	if f.last > 0 {
		newest, err := store.Newest(f.last)
		if err != nil {
			return err
		}
		games = append(games, newest...)
	}
	faulty := false
	for _, g := range games {
		if !f.verify {
			if err := f.print(stdout, r.variant, g); err != nil {
				return err
			}
			continue
		}
		v, err := verify(ctx, r, store.Codec(), g)
		if err != nil {
			return err
		}
		faulty = faulty || v.Faulty
		if f.asJSON {
			err = json.NewEncoder(stdout).Encode(v)
		} else {
			_, err = fmt.Fprintf(stdout, "%s  %d plies, %s by %s: %s\n", v.ID, v.Plies, v.Result, v.Reason, v.words())
		}
		if err != nil {
			return err
		}
	}
	if faulty {
		return quiet{1}
	}
	return nil
}

func (v replayed) words() string {
	switch {
	case v.Exact:
		return "the same bit for bit"
	case v.Legal && !v.Faulty:
		return "legal and with the right result; not played again: " + v.Why
	}
	return "FAULT: " + v.Why
}

func (f *replayFlags) print(w io.Writer, v *rules.Variant, g *dataset.Game) error {
	rec, err := record(v, g)
	if err != nil {
		return err
	}
	if f.asJSON {
		return json.NewEncoder(w).Encode(rec)
	}
	fmt.Fprintf(w, "game %s  number %d  net of step %d  %s by %s\n", g.ID, g.Number, g.Step, g.Outcome.Result, g.Outcome.Reason)
	for i, m := range rec.Moves {
		value := ""
		if x := rec.Values[i]; x >= 0 {
			value = fmt.Sprintf("%5.1f %%", 100*x)
		}
		fmt.Fprintf(w, "%4d %-8s %8s  %s\n", i+1, m, value, rec.SFENs[i+1])
	}
	return nil
}

// verify checks a game by the rules and, where that is possible, by playing it
// again.
func verify(ctx context.Context, r *runDir, codec *dataset.Codec, g *dataset.Game) (replayed, error) {
	v := replayed{ID: g.ID.String(), Plies: len(g.Plies), Result: g.Outcome.Result.String(), Reason: g.Outcome.Reason.String()}
	// The window takes only games that the rules allow, with the result the
	// rules give.
	window, err := dataset.NewWindow(r.variant, r.cfg.Window)
	if err != nil {
		return v, err
	}
	if _, err := window.Add(g); err != nil {
		v.Faulty, v.Why = true, err.Error()
		return v, nil
	}
	v.Legal = true
	set, err := kernelSet(r.cfg.Kernel)
	if err != nil {
		return v, err
	}
	switch {
	case g.Config != r.cfg.Hash():
		v.Why = "it was played under another configuration"
	case g.Version != version:
		v.Why = fmt.Sprintf("it was played by version %s", g.Version)
	case g.Kernel != set.Name():
		v.Why = fmt.Sprintf("it was played with the kernel set %s, this is %s, which may differ in the last bits", g.Kernel, set.Name())
	}
	if v.Why != "" {
		return v, nil
	}
	w, err := network.ReadWeights(r.weightsFile(int(g.Step)))
	if err == nil {
		var sum string
		if sum, err = w.Sum(); err == nil && sum != g.Net {
			err = fmt.Errorf("the weights of step %d are not those that played it", g.Step)
		}
	}
	if err != nil {
		v.Why = err.Error()
		return v, nil
	}
	net, err := network.NewOn(w, set)
	if err != nil {
		return v, err
	}
	again, err := playAgain(ctx, r, g, r.evaluator(net, 1))
	if err != nil {
		return v, err
	}
	v.Why = sameGame(codec, r.variant, g, again)
	v.Exact = v.Why == ""
	v.Faulty = !v.Exact
	return v, nil
}

// sameGame tells in what a game differs from what its net plays, empty when in
// nothing.
func sameGame(codec *dataset.Codec, v *rules.Variant, g, again *dataset.Game) string {
	first, err := codec.Encode(nil, g)
	if err != nil {
		return err.Error()
	}
	second, err := codec.Encode(nil, again)
	if err != nil {
		return err.Error()
	}
	if bytes.Equal(first, second) {
		return ""
	}
	return difference(v, g, again)
}

// playAgain plays the game of a stored game's assignment.
func playAgain(ctx context.Context, r *runDir, g *dataset.Game, e selfplay.Evaluator) (*dataset.Game, error) {
	cfg := selfplay.Config{
		Variant: r.variant, Options: r.cfg.Selfplay.Options, Search: r.cfg.Search,
		Template: dataset.Game{Config: g.Config, Version: g.Version, Kernel: g.Kernel, Worker: g.Worker},
	}
	cfg.Options.Games = 1
	start, err := r.variant.ParseSFEN(g.Start)
	if err != nil {
		return nil, err
	}
	src := &oneGame{job: selfplay.Assignment{Number: g.Number, Seed: g.Seed, Net: g.Net, Step: g.Step, Eval: e, Start: start}}
	if err := selfplay.NewWorker(cfg).Run(ctx, src, src); err != nil {
		return nil, err
	}
	if src.game == nil {
		return nil, errors.New("the game did not end")
	}
	return src.game, nil
}

// oneGame is a Source of one game and its Sink.
type oneGame struct {
	job   selfplay.Assignment
	given bool
	game  *dataset.Game
}

func (o *oneGame) Next(context.Context) (selfplay.Assignment, bool) {
	given := o.given
	o.given = true
	return o.job, !given
}

func (o *oneGame) Append(g *dataset.Game) error {
	o.game = g
	return nil
}

// difference names the first ply in which two games differ.
func difference(v *rules.Variant, a, b *dataset.Game) string {
	for i := range min(len(a.Plies), len(b.Plies)) {
		x, y := &a.Plies[i], &b.Plies[i]
		switch {
		case x.Move != y.Move:
			return fmt.Sprintf("played again, ply %d is another move", i+1)
		case x.Value != y.Value:
			return fmt.Sprintf("played again, the value of ply %d is %v, not %v", i+1, y.Value, x.Value)
		case len(x.Target) != len(y.Target):
			return fmt.Sprintf("played again, the target of ply %d differs", i+1)
		}
		for j := range x.Target {
			if x.Target[j] != y.Target[j] {
				return fmt.Sprintf("played again, the target of ply %d differs", i+1)
			}
		}
	}
	if len(a.Plies) != len(b.Plies) {
		return fmt.Sprintf("played again it has %d plies, not %d", len(b.Plies), len(a.Plies))
	}
	return "played again, its record differs"
}
