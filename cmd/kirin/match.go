package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"kirin/network"
	"kirin/network/encode"
	"kirin/network/eval"
	"kirin/network/kernel"
	"kirin/rules"
	"kirin/selfplay"
	"kirin/selfplay/match"

	"github.com/spf13/cobra"
)

// matchFlags are the flags of match.
type matchFlags struct {
	gameFlags
	a, b         string
	games        int
	concurrency  int
	seed         uint64
	openingPlies int
	book         string
	journal      string
	sprt         string
	maxPlies     int
	clock        match.Clock
	asJSON       bool
}

// playerHelp tells how players are written.
const playerHelp = `A player is one of
  net:FILE  net:RUN or net:RUN@latest  net:RUN@first  net:RUN@STEP  net:shipped
  random  material                                     fixed anchors
  usi:COMMAND  uci:COMMAND  cecp:COMMAND  gnu:COMMAND  another engine
followed by settings after commas:
  net        sims=64 (default; a search as in training), or nodes=1000,
             movetime=100ms, level=easy; mate=5000 threads=1 batch=4
  usi, uci   nodes=1000 depth=3 movetime=100ms threads=1 timeout=60s
             option.NAME=VALUE
  cecp       the same without nodes
  gnu        depth=3 (needed) timeout=60s
  all        name=TEXT
The search of a net has no depth.`

func newMatch() *cobra.Command {
	f := matchFlags{clock: match.Clock{Slack: match.DefaultSlack}}
	cmd := &cobra.Command{
		Use:   "match",
		Short: "Play two players against each other, with paired openings and error bars",
		Long: `Match plays A against B. Each opening is played twice, with colours changed.

` + playerHelp + `

With --journal the match can be stopped and started again. Games in which an
engine fails or disagrees about the rules are listed and count for nobody. A game
of --max-plies plies is a draw, whatever the rules say.

A clock (--time, --byoyomi, --increment besides one of them) takes the place of a
net's sims, nodes and movetime and of an engine's movetime. Who oversteps it by
more than ` + match.DefaultSlack.String() + ` has lost: the way to an engine and back costs time too.`,
		Example: `  kirin match --a net:runs/minishogi@latest --b net:runs/minishogi@first --games 100
  kirin match --a net:runs/minishogi,movetime=100ms --b usi:fairy-stockfish,nodes=100
  kirin match --a net:new.safetensors --b net:old.safetensors --games 2000 --sprt 0,20`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.book != "" && cmd.Flags().Changed("opening-plies") {
				return errors.New("give either --book or --opening-plies")
			}
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.gameFlags.add(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.a, "a", "", "player A")
	fl.StringVar(&f.b, "b", "", "player B")
	fl.IntVar(&f.games, "games", 100, "number of games, an even one (the most, with --sprt)")
	fl.IntVar(&f.concurrency, "concurrency", 1, "games played at the same time")
	fl.Uint64Var(&f.seed, "seed", 1, "of openings and players")
	fl.IntVar(&f.openingPlies, "opening-plies", 6, "random plies before each pair")
	fl.IntVar(&f.maxPlies, "max-plies", match.DefaultMaxPlies, "plies after which a game is a draw")
	fl.StringVar(&f.book, "book", "", "file of start positions, one SFEN a line, instead of random plies")
	fl.StringVar(&f.journal, "journal", "", "file for the games; a match with the same file goes on, kirin export --games FILE writes KIF")
	fl.StringVar(&f.sprt, "sprt", "", "stop when decided: elo0,elo1[,alpha,beta]")
	fl.DurationVar(&f.clock.Initial, "time", 0, "clock: main time of each side")
	fl.DurationVar(&f.clock.Increment, "increment", 0, "clock: added after each move")
	fl.DurationVar(&f.clock.Byoyomi, "byoyomi", 0, "clock: for each move after the main time")
	fl.BoolVar(&f.asJSON, "json", false, "print one JSON object at the end")
	cmd.MarkFlagRequired("a")
	cmd.MarkFlagRequired("b")
	return cmd
}

func (f *matchFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	v, err := f.load()
	if err != nil {
		return err
	}
	if f.games%2 != 0 {
		return fmt.Errorf("--games %d is odd: each opening is played twice, with colours changed", f.games)
	}
	o := match.Options{
		Variant: v, MaxPlies: f.maxPlies, Games: f.games, Concurrency: f.concurrency, Seed: f.seed, Journal: f.journal, Clock: f.clock,
		Openings: match.Openings{Plies: f.openingPlies},
	}
	if f.book != "" {
		if o.Openings.Book, err = readBook(f.book); err != nil {
			return err
		}
		o.Openings.Plies = 0
	}
	if f.sprt != "" {
		if o.SPRT, err = parseSPRT(f.sprt); err != nil {
			return err
		}
	}
	for _, side := range []struct {
		text string
		to   *match.Entrant
		flag string
	}{{f.a, &o.A, "--a"}, {f.b, &o.B, "--b"}} {
		s, err := match.ParsePlayer(side.text)
		if err != nil {
			return fmt.Errorf("%s: %w", side.flag, err)
		}
		if *side.to, err = s.Entrant(v, openNet); err != nil {
			return fmt.Errorf("%s: %w", side.flag, err)
		}
	}
	if o.A.Name == o.B.Name {
		o.A.Name += " (A)"
		o.B.Name += " (B)"
	}
	p := newProgress(stderr)
	began, first := time.Now(), -1
	o.Progress = func(_ *match.Game, r match.Result) {
		if first < 0 {
			first = r.Games - 1
		}
		left := remaining(began, float64(r.Games-first), float64(f.games-r.Games))
		p.show(fmt.Sprintf("%d of %d games  %s %d wins, %d draws, %d losses  score %.1f %%  Elo %+.0f [%+.0f, %+.0f]  %s",
			r.Games, f.games, r.A, r.Wins, r.Draws, r.Losses, 100*r.Score, r.Elo, r.EloLow, r.EloHigh, left))
	}
	r, err := match.Run(ctx, o)
	stopped := errors.Is(err, context.Canceled)
	if err != nil && !stopped {
		return err
	}
	p.finish()
	if stopped && r.Games == 0 {
		return fmt.Errorf("stopped before the first game had ended")
	}
	if f.asJSON {
		if err := json.NewEncoder(stdout).Encode(r); err != nil {
			return err
		}
	} else {
		writeResult(stdout, r)
	}
	if stopped {
		p.say("stopped%s", map[bool]string{true: "; the same command goes on", false: ""}[f.journal != ""])
		return quiet{130}
	}
	return nil
}

// writeResult prints a match for a reader.
func writeResult(w io.Writer, r match.Result) {
	fmt.Fprintf(w, "%s against %s, %s (%s rules)\n", r.A, r.B, r.Variant, r.Rules)
	fmt.Fprintf(w, "%d games: %d wins, %d draws, %d losses; score %.1f %%; Elo %+.0f [%+.0f, %+.0f]\n",
		r.Games, r.Wins, r.Draws, r.Losses, 100*r.Score, r.Elo, r.EloLow, r.EloHigh)
	var reasons []string
	for _, k := range slices.Sorted(maps.Keys(r.ByReason)) {
		reasons = append(reasons, fmt.Sprintf("%s %d", k, r.ByReason[k]))
	}
	fmt.Fprintf(w, "ends: %s; mean length %.0f plies; the first player scored %.1f %%\n", strings.Join(reasons, ", "), r.MeanPlies, 100*r.FirstScore)
	if s := r.SPRT; s != nil {
		fmt.Fprintln(w, verdict(s))
	}
	for _, c := range r.Claims {
		fmt.Fprintln(w, c)
	}
	for _, x := range r.Disagreements {
		fmt.Fprintf(w, "game %d not counted, the players disagree about the rules: %s\n  start %s moves %s\n", x.Game, x.Detail, x.Start, x.Moves)
	}
	for _, x := range r.Failures {
		fmt.Fprintf(w, "game %d not counted, a player failed: %s\n", x.Game, x.Detail)
		for _, line := range x.Log {
			fmt.Fprintf(w, "  | %s\n", line)
		}
	}
}

// verdict says in words what a sequential test has shown.
func verdict(s *match.SPRTStatus) string {
	said := fmt.Sprintf("undecided, LLR %.2f is still between %.2f and %.2f: more games are needed", s.LLR, s.Lower, s.Upper)
	switch s.Decision {
	case match.AcceptH0:
		said = fmt.Sprintf("H0, the difference is rather %g than %g Elo (LLR %.2f, at most %.2f)", s.Elo0, s.Elo1, s.LLR, s.Lower)
	case match.AcceptH1:
		said = fmt.Sprintf("H1, the difference is rather %g than %g Elo (LLR %.2f, at least %.2f)", s.Elo1, s.Elo0, s.LLR, s.Upper)
	}
	return fmt.Sprintf("SPRT [%g, %g]: %s", s.Elo0, s.Elo1, said)
}

func readBook(file string) ([]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	book, err := match.ReadBook(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return book, nil
}

// parseSPRT reads elo0,elo1[,alpha,beta].
func parseSPRT(text string) (*match.SPRT, error) {
	t := &match.SPRT{Alpha: 0.05, Beta: 0.05}
	parts := strings.Split(text, ",")
	to := []*float64{&t.Elo0, &t.Elo1, &t.Alpha, &t.Beta}
	if len(parts) != 2 && len(parts) != 4 {
		return nil, fmt.Errorf("--sprt %s: write elo0,elo1 or elo0,elo1,alpha,beta", text)
	}
	for i, s := range parts {
		if _, err := fmt.Sscanf(strings.TrimSpace(s), "%g", to[i]); err != nil {
			return nil, fmt.Errorf("--sprt %s: %q is not a number", text, s)
		}
	}
	if err := t.Validate(); err != nil {
		return nil, fmt.Errorf("--sprt %s: %w", text, err)
	}
	return t, nil
}

// openNet opens the net that a player's text names and returns its sum too.
func openNet(ref match.NetRef, v *rules.Variant) (newEval func() selfplay.Evaluator, sum string, err error) {
	text := ref.Path
	if ref.At != "" {
		text += "@" + ref.At
	}
	w, name, err := readNet(text, v.Name())
	if err != nil {
		return nil, "", err
	}
	if sum, err = w.Sum(); err != nil {
		return nil, "", fmt.Errorf("%s: %w", name, err)
	}
	newEval, err = evaluators(w, v, kernel.Best(), name)
	return newEval, sum, err
}

// maxLeaves bounds what one thread of a search asks a net at once.
const maxLeaves = 64

// evaluators returns a maker of evaluators for a net, each for one thread.
func evaluators(w *network.Weights, v *rules.Variant, set *kernel.Set, name string) (func() selfplay.Evaluator, error) {
	n, err := packed(w, v, set, name)
	if err != nil {
		return nil, err
	}
	return func() selfplay.Evaluator { return eval.New(n, maxLeaves) }, nil
}

// packed makes weights ready to play; name is the file in errors.
func packed(w *network.Weights, v *rules.Variant, set *kernel.Set, name string) (*network.Net, error) {
	return repacked(nil, w, v, set, name)
}

// repacked is packed into the memory of n, unless that is nil.
func repacked(n *network.Net, w *network.Weights, v *rules.Variant, set *kernel.Set, name string) (*network.Net, error) {
	enc, err := encode.New(v)
	if err != nil {
		return nil, err
	}
	if err := fits(w, v, enc); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if n == nil {
		n, err = network.NewOn(w, set)
	} else {
		err = n.Reload(w)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return n, nil
}
