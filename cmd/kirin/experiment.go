package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"kirin/configs"
	"kirin/dataset/whole"
	"kirin/rules"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"
)

// experimentFlags are the flags of experiment.
type experimentFlags struct {
	dir    string
	out    string
	jobs   int
	dryRun bool
	report bool
	asJSON bool
}

func newExperiment() *cobra.Command {
	f := experimentFlags{}
	cmd := &cobra.Command{
		Use:   "experiment FILE",
		Short: "Train a table of configurations for the same CPU time and rate the nets together",
		Long: `Experiment trains every configuration that FILE lists from every seed for the same
CPU time, lets the nets that result play each other and fixed opponents, fits
one rating over all games, and writes a table and a plot into a Markdown page,
between marks that carry the experiment's name.

Everything lies in one folder (runs/experiments/NAME, or --dir): stopped at any
moment and started again, also in the middle of a run or a match, it goes on
where it was. A configuration or seed that is added to FILE later adds its runs;
a larger CPU budget lets the runs go on. Of a finished run only results/ and
matches/ are needed: its own folder in runs/ may be deleted, and the rest carried
to another machine that trains what is missing.

The CPU time is that of play, training and storage; it does not matter for it
what else the machine does. One run at a time uses all cores; with --jobs
several go side by side.`,
		Example: `  kirin experiment configs/experiments/minishogi.yaml --dry-run
  kirin experiment configs/experiments/minishogi.yaml
  kirin watch runs/experiments/minishogi/runs/*`,
		Args: exactly("the FILE of an experiment"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	fl := cmd.Flags()
	fl.Var((*given)(&f.dir), "dir", "folder of the experiment (default runs/experiments/NAME)")
	fl.StringVar(&f.out, "out", filepath.Join("docs", "experiments.md"), "Markdown page for the table; the plot is put into the folder experiments beside it")
	fl.IntVar(&f.jobs, "jobs", 1, "runs, later matches, at the same time")
	fl.BoolVar(&f.dryRun, "dry-run", false, "say what there is to do, and do nothing")
	fl.BoolVar(&f.report, "report", false, "write the page from what there is, and train and play nothing")
	fl.BoolVar(&f.asJSON, "json", false, "print one JSON object at the end")
	return cmd
}

// experiment is an experiment under way. Its folder:
//
//	runs/<configuration>-<seed>/          a run's folder, as kirin train makes it
//	results/<configuration>-<seed>.json   what a finished run has come to; .yaml: its
//	                                      configuration, .safetensors: its net
//	matches/<a>--<b>-<key>.jsonl          journals; the key covers nets and conditions
//	ratings.json, experiment.json         the fit, and all that the page shows
type experiment struct {
	*configs.Experiment
	file    string
	dir     string
	jobs    int
	p       *progress
	variant *rules.Variant
	runs    []*experimentRun // all configurations of the first seed, then of the second ...
}

// experimentRun is one run of an experiment.
type experimentRun struct {
	of      int // configuration
	seed    uint64
	name    string // as ratings call its net: configuration/seed
	dir     string
	sets    []string
	cfg     *configs.Run
	record  string        // file of the result, and with these endings ...
	yaml    string        // of its configuration
	net     string        // and of its net
	used    time.Duration // CPU time so far
	result  *runResult    // nil until it is finished
	entrant *entrant      // nil until its net is opened
}

// runResult is what a finished run has come to.
type runResult struct {
	Config    string  `json:"config"` // hash
	Sum       string  `json:"sha256"`
	Step      int     `json:"step"`
	CPU       float64 `json:"cpu_seconds"`
	Games     int64   `json:"games"`
	Positions int64   `json:"positions"`
	Samples   int64   `json:"samples"`
	Version   string  `json:"version"`
	Machine   string  `json:"machine"`
}

func (f *experimentFlags) run(ctx context.Context, file string, stdout, stderr io.Writer) error {
	if f.jobs < 1 {
		return fmt.Errorf("--jobs %d is below 1", f.jobs)
	}
	spec, err := configs.ReadExperiment(file)
	if err != nil {
		return err
	}
	if f.dir == "" {
		f.dir = filepath.Join("runs", "experiments", spec.Name)
	}
	x := &experiment{Experiment: spec, file: file, dir: f.dir, jobs: f.jobs, p: newProgress(stderr)}
	if err := x.plan(); err != nil {
		return err
	}
	if f.dryRun {
		return x.describe(stdout, f.asJSON)
	}
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return fmt.Errorf("make the experiment's folder: %w", err)
	}
	lock := flock.New(filepath.Join(f.dir, "LOCK"))
	if ok, err := lock.TryLock(); err != nil || !ok {
		return errors.Join(err, fmt.Errorf("%s: another kirin experiment works there", f.dir))
	}
	defer lock.Unlock()
	if !f.report {
		err = x.train(ctx)
		if err == nil {
			err = x.play(ctx)
		}
		x.p.finish()
		if ctx.Err() != nil && ignoreCancel(err) == nil {
			x.p.say("stopped; the same command goes on")
			return quiet{130}
		}
		if err != nil {
			return err
		}
	}
	r, err := x.rate()
	if err != nil {
		return err
	}
	if err := x.publish(r, f.out); err != nil {
		return err
	}
	x.p.say("written: %s", f.out)
	if f.asJSON {
		return json.NewEncoder(stdout).Encode(r)
	}
	return r.print(stdout)
}

// plan lists the runs and looks how far each is.
func (x *experiment) plan() error {
	for _, seed := range x.Seeds {
		for i, v := range x.Variants {
			r := &experimentRun{of: i, seed: seed, name: fmt.Sprintf("%s/%d", v.Name, seed), sets: x.Settings(v, seed)}
			file := fmt.Sprintf("%s-%d", v.Name, seed)
			r.dir = filepath.Join(x.dir, "runs", file)
			kept := filepath.Join(x.dir, "results", file)
			r.record, r.yaml, r.net = kept+".json", kept+".yaml", kept+weightsSuffix
			var err error
			if r.cfg, err = configs.Load(x.Base, r.sets...); err != nil {
				return err
			}
			if x.variant == nil {
				if x.variant, err = r.cfg.Load(); err != nil {
					return err
				}
			}
			if err := r.look(x.CPU); err != nil {
				return fmt.Errorf("run %s: %w", r.name, err)
			}
			x.runs = append(x.runs, r)
		}
	}
	return nil
}

// look finds out how far a run is.
func (r *experimentRun) look(budget time.Duration) error {
	dir := &runDir{dir: r.dir}
	file := dir.path("config.yaml")
	stored, err := configs.Read(file)
	gone := errors.Is(err, fs.ErrNotExist)
	if gone {
		file = r.yaml
		stored, err = configs.Read(file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	if err != nil {
		return err
	}
	for _, d := range configs.Diff(stored, r.cfg) {
		if !d.Changeable {
			return fmt.Errorf("%s was made with %s=%s, the experiment now asks for %s: use another name or --dir", file, d.Key, d.Old, d.New)
		}
	}
	if !gone {
		all, err := dir.checkpoints()
		if err != nil || len(all) == 0 {
			return err
		}
		if s, err := dir.readLoop(all[0]); err == nil { // else the start will say what is wrong, and mend it
			r.used = time.Duration(s.CPU * float64(time.Second))
		}
	}
	b, err := os.ReadFile(r.record)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var done runResult
	if err := json.Unmarshal(b, &done); err != nil {
		return fmt.Errorf("%s: damaged: %w; delete it, and it is written anew", r.record, err)
	}
	if done.CPU < budget.Seconds() {
		return nil // the budget has grown
	}
	if done.CPU > 1.25*budget.Seconds()+10 {
		return fmt.Errorf("it has taken %s of CPU time already, more than the experiment's %s: use another --dir", span(time.Duration(done.CPU*float64(time.Second))), span(budget))
	}
	r.result, r.used = &done, time.Duration(done.CPU*float64(time.Second))
	return nil
}

// state is how far a run is, in words.
func (r *experimentRun) state(budget time.Duration) string {
	switch {
	case r.result != nil:
		return "finished"
	case r.used > 0:
		return fmt.Sprintf("at %s of %s", span(r.used), span(budget))
	}
	return "not begun"
}

// describe says what there is to do.
func (x *experiment) describe(w io.Writer, asJSON bool) error {
	type line struct {
		Run      string   `json:"run"`
		Settings []string `json:"settings"`
		State    string   `json:"state"`
		CPU      float64  `json:"cpu_seconds_left"`
	}
	plan := struct {
		Experiment string  `json:"experiment"`
		Dir        string  `json:"dir"`
		Runs       []line  `json:"runs"`
		CPU        float64 `json:"cpu_seconds_left"`
		Encounters int     `json:"encounters"`
		Games      int     `json:"games"`
	}{Experiment: x.Name, Dir: x.dir}
	for _, r := range x.runs {
		l := line{Run: r.name, Settings: x.Variants[r.of].Set, State: r.state(x.CPU)}
		if r.result == nil {
			l.CPU = max(x.CPU-r.used, 0).Seconds()
		}
		plan.CPU += l.CPU
		plan.Runs = append(plan.Runs, l)
	}
	for _, e := range x.encounters() {
		plan.Encounters++
		plan.Games += e.games
	}
	if asJSON {
		return json.NewEncoder(w).Encode(plan)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "run\tstate\tsettings")
	for _, l := range plan.Runs {
		fmt.Fprintf(t, "%s\t%s\t%s\n", l.Run, l.State, strings.Join(l.Settings, " "))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s of CPU time to train in %s, then %d games in %d matches (%s)\n",
		span(time.Duration(plan.CPU*float64(time.Second))), x.dir, plan.Games, plan.Encounters, x.Match.Limit)
	return err
}

// train brings every run to the CPU budget.
func (x *experiment) train(ctx context.Context) error {
	return parallel(ctx, x.jobs, len(x.runs), func(ctx context.Context, i int) error {
		r := x.runs[i]
		if r.result != nil {
			return nil
		}
		p := x.p.named(fmt.Sprintf("run %d of %d, %s: ", i+1, len(x.runs), r.name))
		var f loopFlags
		f.add(&cobra.Command{}) // for the defaults
		f.config, f.sets, f.dir, f.cpu = x.Base, r.sets, r.dir, x.CPU
		dir, l, err := f.train(ctx, p, true)
		if err != nil {
			return fmt.Errorf("run %s: %w", r.name, err)
		}
		r.used = l.cpu()
		if ctx.Err() != nil && r.used < x.CPU {
			return ctx.Err()
		}
		if err := r.finish(dir, l); err != nil {
			return fmt.Errorf("run %s: %w", r.name, err)
		}
		p.say("finished at step %d with %d games", l.state.Step, l.state.Games)
		return nil
	})
}

// finish keeps what the experiment needs of a run that has used up its budget;
// the result is written last, and counts with the others only.
func (r *experimentRun) finish(dir *runDir, l *learner) error {
	net, err := dir.latest()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(r.record), 0o755); err != nil {
		return err
	}
	for from, to := range map[string]string{dir.path("config.yaml"): r.yaml, dir.weightsFile(net.step): r.net} {
		b, err := os.ReadFile(from)
		if err == nil {
			err = whole.WriteFile(to, b)
		}
		if err != nil {
			return err
		}
	}
	r.result = &runResult{
		Config: dir.cfg.Hash(), Sum: net.sum, Step: l.state.Step, CPU: r.used.Seconds(),
		Games: l.state.Games, Positions: l.state.Played, Samples: l.state.Samples, Version: version, Machine: machine(),
	}
	return writeRecord(r.record, r.result)
}

// writeRecord writes a value as JSON, whole or not at all.
func writeRecord(file string, value any) error {
	b, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return whole.WriteFile(file, append(b, '\n'))
}

// parallel calls f for 0 to n-1, as many at a time as there are jobs, and ends
// early at the first error.
func parallel(ctx context.Context, jobs, n int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	next := 0
	var wg sync.WaitGroup
	for range min(jobs, n) {
		wg.Go(func() {
			for ctx.Err() == nil {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= n {
					return
				}
				if err := f(ctx, i); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}
