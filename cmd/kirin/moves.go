package main

import (
	"encoding/json"
	"fmt"
	"slices"

	"kirin/rules"

	"github.com/spf13/cobra"
)

func newMoves() *cobra.Command {
	var g gameFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "moves [MOVE ...]",
		Short: "List the legal moves of a position",
		Long: `Moves plays the given USI moves from the start position (or --sfen) and lists
the legal moves of the position reached, sorted, one a line.`,
		Example: "  kirin moves --variant minishogi 5d5c\n  kirin moves --variant shogi --sfen \"4k4/9/9/9/9/9/9/9/4K4 b P 1\" --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			v, p, err := g.position()
			if err != nil {
				return err
			}
			if err := playMoves(p, args); err != nil {
				return err
			}
			moves := p.AppendMoves(nil)
			o := p.Outcome(len(moves))
			texts := make([]string, len(moves))
			for i, m := range moves {
				texts[i] = p.FormatMove(m)
			}
			slices.Sort(texts)
			out := cmd.OutOrStdout()
			if asJSON {
				return json.NewEncoder(out).Encode(struct {
					Variant string   `json:"variant"`
					Rules   string   `json:"rules"`
					SFEN    string   `json:"sfen"`
					Moves   []string `json:"moves"`
					Result  string   `json:"result"`
					Reason  string   `json:"reason"`
					Check   bool     `json:"check"`
				}{v.Name(), v.Rules(), p.SFEN(), texts, o.Result.String(), o.Reason.String(), p.InCheck()})
			}
			for _, t := range texts {
				fmt.Fprintln(out, t)
			}
			if o.Result != rules.Ongoing {
				fmt.Fprintf(cmd.ErrOrStderr(), "the game is over: %s (%s)\n", o.Result, o.Reason)
			}
			return nil
		},
	}
	g.add(cmd)
	g.addSFEN(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
