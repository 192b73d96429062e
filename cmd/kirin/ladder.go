package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"kirin/rules"
	"kirin/selfplay/match"

	"github.com/spf13/cobra"
)

// ladderFlags are the flags of rate's ladder mode.
type ladderFlags struct {
	gameFlags
	player string
	engine string
	by     string
	o      match.LadderOptions
	games  int
	plies  int
	seed   uint64
	asJSON bool
}

func (f *ladderFlags) add(cmd *cobra.Command) {
	f.gameFlags.add(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.engine, "ladder", "", "find the level of this engine at which the player scores 50 %: usi:, uci:, cecp: or gnu:COMMAND[,SETTINGS]")
	fl.StringVar(&f.player, "player", "", "with --ladder: the player (default: net:DIR, 64 simulations a move)")
	fl.StringVar(&f.by, "by", "", "with --ladder: what makes a level, nodes or depth (default: nodes where the protocol has them)")
	fl.Int64Var(&f.o.Low, "from", 0, "with --ladder: the weakest level (default: 10 nodes, depth 1)")
	fl.Int64Var(&f.o.High, "to", 0, "with --ladder: the strongest level (default: 1000000 nodes, depth 12)")
	fl.Float64Var(&f.o.Width, "width", 2, "with --ladder: enough when the ends of the 95 % interval differ by this factor")
	fl.IntVar(&f.games, "games", 200, "with --ladder: games at most, an even number")
	fl.IntVar(&f.plies, "opening-plies", 6, "with --ladder: random plies before each pair of games")
	fl.Uint64Var(&f.seed, "seed", 1, "with --ladder: of openings and players")
	fl.StringVar(&f.o.Journal, "journal", "", "with --ladder: file for the results; a ladder with the same file goes on")
}

// ladderOnly are the flags of rate that do nothing without --ladder.
var ladderOnly = []string{"variant", "rules", "set", "player", "by", "from", "to", "width", "games", "opening-plies", "seed", "journal"}

// alone refuses flags that would do nothing; changed tells which are given.
func (f *ladderFlags) alone(changed func(name string) bool) error {
	if f.engine != "" {
		if changed("plot") {
			return errors.New("--plot draws the ratings of a run, and does nothing with --ladder")
		}
		return nil
	}
	if at := slices.IndexFunc(ladderOnly, changed); at >= 0 {
		return fmt.Errorf("--%s does nothing without --ladder", ladderOnly[at])
	}
	return nil
}

// ladderReport is the result for machines.
type ladderReport struct {
	Player  string `json:"player"`
	Engine  string `json:"engine"`
	By      string `json:"by"`
	Variant string `json:"variant"`
	match.LadderResult
}

// complete checks the flags and fills in what depends on others.
func (f *ladderFlags) complete(dir string) error {
	if f.player == "" {
		f.player = "net:" + dir
	}
	s, err := match.ParsePlayer(f.engine)
	if s.Kind == "gnu" && s.Depth == 0 { // the depth comes with the level
		s, err = match.ParsePlayer(f.engine + ",depth=1")
	}
	switch {
	case err != nil:
		return fmt.Errorf("--ladder: %w", err)
	case !slices.Contains([]string{"usi", "uci", "cecp", "gnu"}, s.Kind):
		return fmt.Errorf("--ladder %s: only another engine has levels (usi:, uci:, cecp:, gnu:)", f.engine)
	}
	counts := s.Kind == "usi" || s.Kind == "uci"
	if f.by == "" {
		f.by = map[bool]string{true: "nodes", false: "depth"}[counts]
	}
	switch {
	case f.by != "nodes" && f.by != "depth":
		return fmt.Errorf("--by %s: write nodes or depth", f.by)
	case f.by == "nodes" && !counts:
		return fmt.Errorf("--by nodes: %s: has only depth", s.Kind)
	case f.games%2 != 0:
		return fmt.Errorf("--games %d is odd: each opening is played twice, with colours changed", f.games)
	}
	low, high := int64(10), int64(1_000_000)
	if f.by == "depth" {
		low, high = 1, 12
	}
	if f.o.Low == 0 {
		f.o.Low = low
	}
	if f.o.High == 0 {
		f.o.High = high
	}
	f.o.Pairs = f.games / 2
	return f.o.Validate()
}

// run climbs the ladder.
func (f *ladderFlags) run(ctx context.Context, dir string, stdout, stderr io.Writer) error {
	if err := f.complete(dir); err != nil {
		return err
	}
	v, err := f.load()
	if err != nil {
		return err
	}
	s, err := match.ParsePlayer(f.player)
	if err != nil {
		return fmt.Errorf("--player: %w", err)
	}
	player, err := s.Entrant(v, openNet)
	if err != nil {
		return fmt.Errorf("--player: %w", err)
	}
	p := newProgress(stderr)
	began := time.Now()
	f.o.Header = match.LadderHeader{
		Variant: v.Name(), Rules: v.Rules(), Player: player.Name, Key: player.Key, Engine: f.engine, By: f.by, Seed: f.seed,
		Opening: fmt.Sprintf("plies %d", f.plies),
	}
	r, err := match.Ladder(ctx, f.o, func(ctx context.Context, level int64, pair int) (match.Tally, error) {
		return f.pair(ctx, v, player, level, pair)
	}, func(r match.LadderResult) {
		p.show(fmt.Sprintf("%d games  50 %% at %.3g %s [%.3g, %.3g]  %s", r.Games, r.Level, f.by, r.Low, r.High, time.Since(began).Round(time.Second)))
	})
	stopped := errors.Is(err, context.Canceled)
	if err != nil && (!stopped || r.Games == 0) {
		return err
	}
	p.finish()
	if f.asJSON {
		err = json.NewEncoder(stdout).Encode(ladderReport{Player: player.Name, Engine: f.engine, By: f.by, Variant: v.Name(), LadderResult: r})
	} else {
		err = f.write(stdout, player.Name, v.Name(), r)
	}
	if err == nil && stopped {
		p.say("stopped%s", map[bool]string{true: "; the same command goes on", false: ""}[f.o.Journal != ""])
		return quiet{130}
	}
	return err
}

// pair plays one pair of games at a level.
func (f *ladderFlags) pair(ctx context.Context, v *rules.Variant, player match.Entrant, level int64, pair int) (match.Tally, error) {
	s, err := match.ParsePlayer(fmt.Sprintf("%s,%s=%d", f.engine, f.by, level))
	if err != nil {
		return match.Tally{}, err
	}
	engine, err := s.Entrant(v, openNet)
	if err != nil {
		return match.Tally{}, err
	}
	r, err := match.Run(ctx, match.Options{
		Variant: v, A: player, B: engine, Games: 2, Seed: mix(f.seed, uint64(pair)), Openings: match.Openings{Plies: f.plies},
	})
	if err != nil {
		return match.Tally{}, err
	}
	if faults := append(r.Failures, r.Disagreements...); r.Games == 0 && len(faults) > 0 {
		return match.Tally{}, fmt.Errorf("neither game counts: %s", faults[0].Detail)
	}
	return r.Tally(), nil
}

func (f *ladderFlags) write(w io.Writer, player, variant string, r match.LadderResult) error {
	fmt.Fprintf(w, "%s, %s: %s scores 50 %% at about %.3g %s, 95 %% interval %.3g to %.3g, after %d games\n",
		variant, f.engine, player, r.Level, f.by, r.Low, r.High, r.Games)
	if r.Edge {
		fmt.Fprintf(w, "the interval reaches an end of the range %d to %d: the level may lie beyond\n", f.o.Low, f.o.High)
	}
	slices.SortFunc(r.Rungs, func(a, b match.Rung) int { return int(a.Level - b.Level) })
	for _, x := range r.Rungs {
		if _, err := fmt.Fprintf(w, "%10d %s  %4d games  score %5.1f %%\n", x.Level, f.by, x.Games, 100*x.Score); err != nil {
			return err
		}
	}
	return nil
}
