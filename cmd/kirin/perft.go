package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"kirin/rules/rulestest"

	"github.com/spf13/cobra"
)

func newPerft() *cobra.Command {
	var g gameFlags
	var depth int
	var file string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "perft",
		Short: "Count move sequences, or check a file of known counts, moves or games",
		Long: `Perft counts the sequences of legal moves of a given length: the standard test
of a move generator. Repetition, declaration and ply limits are ignored.

With --check it reads a file made by an independent program and compares:
  *.tsv            sfen depth nodes: counts
  *-moves.jsonl    {sfen, moves}: legal moves
  *-games.jsonl    {sfen_start, moves, result, reason}: whole games`,
		Example: "  kirin perft --variant minishogi --depth 6 --json\n  kirin perft --variant chushogi --rules lishogi --set max_plies=0 --check chushogi-moves.jsonl",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			v, p, err := g.position()
			if err != nil {
				return err
			}
			if file != "" {
				rep, err := rulestest.CheckFile(file, v)
				if err != nil {
					return err
				}
				return reportFile(out, &rep, asJSON)
			}
			if depth < 0 || depth > 20 {
				return fmt.Errorf("--depth: %d is not between 0 and 20", depth)
			}
			start := time.Now()
			nodes := rulestest.Perft(p, depth)
			took := time.Since(start)
			if asJSON {
				return json.NewEncoder(out).Encode(struct {
					Variant string  `json:"variant"`
					Rules   string  `json:"rules"`
					SFEN    string  `json:"sfen"`
					Depth   int     `json:"depth"`
					Nodes   uint64  `json:"nodes"`
					Seconds float64 `json:"seconds"`
				}{v.Name(), v.Rules(), p.SFEN(), depth, nodes, took.Seconds()})
			}
			_, err = fmt.Fprintf(out, "%s depth %d: %d nodes in %.2f s\n", v.Name(), depth, nodes, took.Seconds())
			return err
		},
	}
	g.add(cmd)
	g.addSFEN(cmd)
	cmd.Flags().IntVar(&depth, "depth", 4, "length of the sequences in plies")
	cmd.Flags().StringVar(&file, "check", "", "compare with this file instead")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// reportFile prints how a file of facts compares.
func reportFile(out io.Writer, rep *rulestest.Report, asJSON bool) error {
	type failure struct {
		Line    int    `json:"line"`
		Problem string `json:"problem"`
	}
	failures := []failure{}
	for _, row := range rep.Rows {
		if row.Problem != "" {
			failures = append(failures, failure{row.Line, row.Problem})
		}
	}
	var err error
	if asJSON {
		err = json.NewEncoder(out).Encode(struct {
			File     string    `json:"file"`
			Kind     string    `json:"kind"`
			Rows     int       `json:"rows"`
			Passed   int       `json:"passed"`
			Nodes    uint64    `json:"nodes"`
			Failures []failure `json:"failures"`
		}{rep.File, rep.Kind, len(rep.Rows), rep.Passed(), rep.Nodes, failures})
	} else {
		for _, f := range failures {
			fmt.Fprintf(out, "%s:%d: %s\n", rep.File, f.Line, f.Problem)
		}
		_, err = fmt.Fprintf(out, "%s: %d of %d rows agree (%s)\n", rep.File, rep.Passed(), len(rep.Rows), rep.Kind)
	}
	if err == nil && rep.Failed > 0 {
		return quiet{1}
	}
	return err
}
