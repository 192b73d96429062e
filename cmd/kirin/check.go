package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"kirin/configs"
	"kirin/dataset"
	"kirin/metrics"
	"kirin/network"
	"kirin/network/encode"
	"kirin/network/kernel"
	"kirin/network/train"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"
)

// checkReport is what check found.
type checkReport struct {
	Run         string          `json:"run"`
	Variant     string          `json:"variant"`
	Rules       string          `json:"rules"`
	Step        int             `json:"step"`
	Positions   int64           `json:"positions"`
	Samples     int64           `json:"samples"`
	Trainer     bool            `json:"trainer_running"`
	Weights     int             `json:"weights"`
	Checkpoints int             `json:"checkpoints"`
	Games       *dataset.Report `json:"games"`
	Notes       []string        `json:"notes"`  // what is worth knowing
	Faults      []string        `json:"faults"` // what is damaged
	Waiting     string          `json:"waiting"`
}

func newCheck() *cobra.Command {
	dir := "runs/" + configs.Presets()[0]
	var deep, asJSON bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Look whether a run is whole, what is in it and what it is waiting for",
		Long: `Check reads everything in a run's folder: configuration, games, weights,
checkpoints, curves. With --deep every game is replayed: all moves legal, the
result the one the rules give. It changes nothing; the exit status is 1 when
something is damaged.`,
		Example: "  kirin check --dir runs/minishogi --deep",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rep, err := checkRun(dir, deep)
			if err != nil {
				return err
			}
			if asJSON {
				err = json.NewEncoder(cmd.OutOrStdout()).Encode(rep)
			} else {
				rep.write(cmd.OutOrStdout())
			}
			if err == nil && len(rep.Faults) > 0 {
				return quiet{1}
			}
			return err
		},
	}
	cmd.Flags().Var((*given)(&dir), "dir", "folder of the run")
	cmd.Flags().BoolVar(&deep, "deep", false, "replay every game")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func checkRun(dir string, deep bool) (*checkReport, error) {
	r, err := openRun(dir)
	if err != nil {
		return nil, err
	}
	rep := &checkReport{Run: dir, Variant: r.variant.Name(), Rules: r.variant.Rules()}
	fault := func(err error) {
		if err != nil {
			rep.Faults = append(rep.Faults, err.Error())
		}
	}
	if rep.Games, err = dataset.Check(r.path("games"), deep); err != nil {
		fault(err)
	} else {
		for _, d := range rep.Games.Damaged {
			rep.Faults = append(rep.Faults, d.String())
		}
	}
	fault(rep.checkWeights(r))
	fault(rep.checkCheckpoints(r))
	if h, err := metrics.ReadHistory(r.path("log.jsonl")); err == nil {
		if n := h.Damaged(); n > 0 {
			rep.Faults = append(rep.Faults, fmt.Sprintf("%s: %d lines cannot be read; the page leaves them out", r.path("log.jsonl"), n))
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		fault(err)
	}
	_, err = r.readRatings()
	fault(err)
	_, _, err = r.readRatedGames()
	fault(err)
	_, err = r.sessions()
	fault(err)
	progress, err := r.readProgress()
	fault(err)
	rep.Step, rep.Samples, rep.Positions = progress.Step, progress.Samples, progress.Played
	rep.Trainer = r.locked()
	rep.explain(r)
	return rep, nil
}

// locked tells whether a trainer works on the run now.
func (r *runDir) locked() bool {
	if _, err := os.Stat(r.path("LOCK")); err != nil {
		return false
	}
	l := flock.New(r.path("LOCK"))
	ok, err := l.TryRLock()
	if ok {
		l.Unlock()
	}
	return err == nil && !ok
}

func (rep *checkReport) checkWeights(r *runDir) error {
	all, err := steps(r.path("weights"), weightsSuffix)
	if err != nil {
		return err
	}
	enc, err := encode.New(r.variant)
	if err != nil {
		return err
	}
	var faults []error
	for _, step := range all {
		w, err := network.ReadWeights(r.weightsFile(step))
		if errors.Is(err, fs.ErrNotExist) {
			continue // the trainer has removed it since
		}
		if err == nil {
			err = fits(w, r.variant, enc)
		}
		if err != nil {
			faults = append(faults, err)
			continue
		}
		rep.Weights++
	}
	p, err := r.latest()
	switch {
	case errors.Is(err, fs.ErrNotExist) && (len(all) == 0 || all[len(all)-1] == 0): // perhaps killed right after the first net
		rep.Notes = append(rep.Notes, "no weights have been published yet")
	case errors.Is(err, fs.ErrNotExist):
		faults = append(faults, fmt.Errorf("%s is missing; kirin train writes it anew", r.path("weights", "latest")))
	case err != nil:
		faults = append(faults, err)
	default:
		// What is wrong with the file itself has been said above.
		if _, err := r.readNet(p); err != nil && len(faults) == 0 {
			faults = append(faults, fmt.Errorf("%s: %w", r.path("weights", "latest"), err))
		}
	}
	return errors.Join(faults...)
}

func (rep *checkReport) checkCheckpoints(r *runDir) error {
	all, err := r.checkpoints()
	if err != nil {
		return err
	}
	if len(all) == 0 {
		rep.Notes = append(rep.Notes, "there is no checkpoint yet")
		return nil
	}
	enc, err := encode.New(r.variant)
	if err != nil {
		return err
	}
	spec, err := network.ParseSpec(r.cfg.Net.Spec)
	if err != nil {
		return err
	}
	blank, err := blankWeights(r, spec, enc)
	if err != nil {
		return err
	}
	t, err := train.NewOn(blank, r.cfg.Train, kernel.Best())
	if err != nil {
		return err
	}
	var faults []error
	for _, step := range all {
		if _, err := r.loadCheckpoint(t, step); err != nil {
			if _, gone := os.Stat(r.checkpointDir(step)); errors.Is(gone, fs.ErrNotExist) {
				continue // the trainer has removed it since
			}
			faults = append(faults, err)
			continue
		}
		rep.Checkpoints++
	}
	if rep.Checkpoints > 0 || len(faults) == 0 {
		return errors.Join(faults...)
	}
	return errors.Join(append(faults, fmt.Errorf("no checkpoint can be read: training cannot go on"))...)
}

// explain says why the run is not getting on, if it is not.
func (rep *checkReport) explain(r *runDir) {
	h, err := metrics.ReadHistory(r.path("log.jsonl"))
	if err == nil {
		if last, ok := h.Last(); ok {
			age := time.Since(time.UnixMilli(int64(last.Time * 1000)))
			rep.Notes = append(rep.Notes, fmt.Sprintf("the last point of the curves is %s old, at step %d", span(age), last.Step))
		}
	}
	need := int64(r.cfg.Loop.FirstPositions)
	var have int64
	if rep.Games != nil {
		have = rep.Games.Positions
	}
	switch {
	case !rep.Trainer:
		rep.Waiting = fmt.Sprintf("no trainer works on it: kirin train --dir %s goes on", r.dir)
	case rep.Step == 0 && have < need:
		rep.Waiting = fmt.Sprintf("the first step needs %d positions (loop.first_positions), the games hold %d", need, have)
	case float64(rep.Samples) > 0.99*r.cfg.Loop.SamplesPerPosition*float64(rep.Positions):
		rep.Waiting = fmt.Sprintf("the trainer is ahead: it may use each position %g times (loop.samples_per_position) and waits for games", r.cfg.Loop.SamplesPerPosition)
	default:
		rep.Waiting = "nothing"
	}
}

func (rep *checkReport) write(w io.Writer) {
	fmt.Fprintf(w, "%s: %s, rules %s\n", rep.Run, rep.Variant, rep.Rules)
	fmt.Fprintf(w, "step %d, %d samples drawn from %d positions, %d nets, %d checkpoints\n", rep.Step, rep.Samples, rep.Positions, rep.Weights, rep.Checkpoints)
	if rep.Games != nil {
		rep.Games.Write(w)
	}
	for _, n := range rep.Notes {
		fmt.Fprintln(w, n)
	}
	fmt.Fprintf(w, "waiting for: %s\n", rep.Waiting)
	for _, f := range rep.Faults {
		fmt.Fprintf(w, "FAULT %s\n", f)
	}
	if len(rep.Faults) == 0 {
		fmt.Fprintln(w, "no faults")
	}
}
