package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"kirin/configs"
	"kirin/dataset/whole"
	"kirin/selfplay/match"

	"github.com/spf13/cobra"
)

func newRate() *cobra.Command {
	dir, plot := "runs/"+configs.Presets()[0], ""
	var ladder ladderFlags
	cmd := &cobra.Command{
		Use:   "rate",
		Short: "Fit the ratings of a run's nets over all their rating games",
		Long: `Rate fits one rating per player over every rating game that the run has played:
its nets, and the fixed anchors random (0) and material. Draws and the advantage
of moving first are part of the model, and so is that a net is not far from the one
before it; the intervals are 95 %.

With --ladder it plays instead: pair after pair against another engine, each at the
level (nodes or depth) that tells most, until the level at which the player scores
50 % is known to within --width.`,
		Example: `  kirin rate --dir runs/minishogi --plot ratings.svg
  kirin rate --dir runs/minishogi --ladder uci:fairy-stockfish --games 100
  kirin rate --player net:new.safetensors,movetime=100ms --ladder "gnu:gnuminishogi -X 10"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := ladder.alone(cmd.Flags().Changed); err != nil {
				return err
			}
			if ladder.engine != "" {
				return ladder.run(cmd.Context(), dir, cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			r, err := openRun(dir)
			if err != nil {
				return err
			}
			games, _, err := r.readRatedGames()
			if err != nil {
				return err
			}
			if len(games) == 0 {
				return fmt.Errorf("%s has played no rating games yet (rating.every is %d steps)", dir, r.cfg.Rating.Every)
			}
			o := r.fitOptions(games)
			o.Resamples = 1000
			ratings, err := match.Fit(games, o)
			if err != nil {
				return err
			}
			if plot != "" {
				if err := writePlot(plot, ratings); err != nil {
					return err
				}
			}
			if ladder.asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(ratings)
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), ratings.Table())
			return err
		},
	}
	cmd.Flags().Var((*given)(&dir), "dir", "folder of the run")
	cmd.Flags().StringVar(&plot, "plot", "", "also draw the ratings into this .png or .svg file")
	ladder.add(cmd)
	cmd.Flags().BoolVar(&ladder.asJSON, "json", false, "print one JSON object")
	return cmd
}

// writePlot draws ratings into a file whose name tells the format.
func writePlot(file string, r *match.Ratings) error {
	f, err := whole.Create(file)
	if err != nil {
		return err
	}
	if err := r.Plot(f, strings.TrimPrefix(filepath.Ext(file), ".")); err != nil {
		return errors.Join(fmt.Errorf("--plot %s: %w", file, err), f.Abort())
	}
	return f.Commit()
}
