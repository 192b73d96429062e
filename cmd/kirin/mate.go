package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"kirin/mcts/mate"

	"github.com/spf13/cobra"
)

func newMate() *cobra.Command {
	var g gameFlags
	var nodes int64
	var file string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "mate [MOVE ...]",
		Short: "Look for a forced mate, or check a file of known mates",
		Long: `Mate looks for a mate by checks alone (tsume) from the start position or --sfen,
after the given USI moves; in chu shogi for the forced capture of the last royal.
The last move need not give check if the other side has no move left after it.

With --check it solves every row of a file (columns sfen, kind, plies,
first_moves) and counts by kind and length what was found, wrong and not found.
Of a position in which there is no mate it tells how many plies that is known for;
without a number there is none of any length.`,
		Example: "  kirin mate --variant minishogi --sfen \"4k/5/4G/5/K4 b G 1\"\n  kirin mate --variant shogi --check shogi.tsv --nodes 200000",
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.OutOrStdout()
			v, p, err := g.position()
			if err != nil {
				return err
			}
			if nodes < 1 {
				return fmt.Errorf("--nodes: %d is below 1", nodes)
			}
			if file != "" {
				if len(args) > 0 || g.sfen != "" {
					return errors.New("--check takes its positions from the file: give neither moves nor --sfen")
				}
				rep, err := mate.CheckFile(cmd.Context(), file, v, nodes)
				if err != nil {
					return err
				}
				if asJSON {
					err = json.NewEncoder(out).Encode(rep)
				} else {
					for _, t := range rep.Tallies {
						fmt.Fprintf(out, "%-8s %3s  %5d rows  %5d found  %3d wrong  %5d not found\n", t.Kind, t.Plies, t.Found+t.Wrong+t.NotFound, t.Found, t.Wrong, t.NotFound)
					}
					for _, m := range rep.Mistakes {
						fmt.Fprintln(out, m)
					}
					_, err = fmt.Fprintf(out, "%s: %d rows, %d found, %d wrong, %d not found\n", file, rep.Rows, rep.Found, rep.Wrong, rep.NotFound)
				}
				if err == nil && rep.Wrong > 0 {
					return quiet{1}
				}
				return err
			}
			if err := playMoves(p, args); err != nil {
				return err
			}
			o := mate.DefaultOptions()
			o.Nodes = nodes
			solver := mate.New(o)
			solver.Interrupt = func() bool { return cmd.Context().Err() != nil }
			r := solver.SolveAll(p)
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			pv, first := []string{}, []string{}
			q := p.Clone()
			for _, m := range r.First {
				first = append(first, p.FormatMove(m))
			}
			for _, m := range r.PV {
				pv = append(pv, q.FormatMove(m))
				q.Do(m)
			}
			if asJSON {
				return json.NewEncoder(out).Encode(struct {
					SFEN   string   `json:"sfen"`
					Status string   `json:"status"`
					Plies  int      `json:"plies"`
					Nodes  int64    `json:"nodes"`
					PV     []string `json:"pv"`
					First  []string `json:"first_moves"`
				}{p.SFEN(), r.Status.String(), r.Plies, r.Nodes, pv, first})
			}
			switch {
			case r.Status == mate.Mate:
				fmt.Fprintf(out, "mate in %d: %v\nfirst moves: %v\n", r.Plies, pv, first)
			case r.Status == mate.NoMate && r.Plies > 0:
				fmt.Fprintf(out, "%s within %d plies (%d positions looked at)\n", r.Status, r.Plies, r.Nodes)
			default:
				fmt.Fprintf(out, "%s (%d positions looked at)\n", r.Status, r.Nodes)
			}
			return nil
		},
	}
	g.add(cmd)
	g.addSFEN(cmd)
	cmd.Flags().Int64Var(&nodes, "nodes", 200000, "positions to look at")
	cmd.Flags().StringVar(&file, "check", "", "solve the rows of this file instead")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
