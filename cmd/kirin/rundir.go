package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"kirin/configs"
	"kirin/dataset/whole"
	"kirin/rules"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"
)

// runDir is the folder of one training run:
//
//	config.yaml                 complete, written once
//	games/                      dataset's store
//	starts.sfen                 copy of selfplay.start_file, if the run has one
//	weights/<step>.safetensors  nets for the workers; weights/latest names the newest
//	train/<step>/               checkpoints
//	ratings.jsonl, rating.json  rating games, and the table fitted over them
//	progress.json               what the trainer has used, for workers in other processes
//	log.jsonl                   the curves of the page
//	session, LOCK               number of starts; held by the trainer
type runDir struct {
	dir     string
	cfg     *configs.Run
	variant *rules.Variant
	fresh   bool // made by this start
}

func (r *runDir) path(parts ...string) string {
	return filepath.Join(append([]string{r.dir}, parts...)...)
}

// runFlags name a run and its configuration.
type runFlags struct {
	configFlags
	dir string
}

func (f *runFlags) add(cmd *cobra.Command) {
	f.configFlags.add(cmd)
	cmd.Flags().Var((*given)(&f.dir), "dir", "folder of the run (default runs/PRESET)")
}

// folder is --dir or the preset's folder under runs.
func (f *runFlags) folder() string {
	if f.dir != "" {
		return f.dir
	}
	name := f.config
	if name == "" {
		name = configs.Presets()[0]
	}
	name = filepath.Base(name)
	return filepath.Join("runs", strings.TrimSuffix(name, filepath.Ext(name)))
}

// open opens the run, making it when it does not exist and create is set.
func (f *runFlags) open(create bool) (*runDir, error) {
	r := &runDir{dir: f.folder()}
	file := r.path("config.yaml")
	stored, err := configs.Read(file)
	switch {
	case err == nil:
		if r.cfg, err = f.continued(stored); err != nil {
			return nil, err
		}
	case errors.Is(err, fs.ErrNotExist) && create:
		if err := f.refuseForeign(r.dir); err != nil {
			return nil, err
		}
		if r.cfg, err = f.load(); err != nil {
			return nil, err
		}
		if err := r.create(file); err != nil {
			return nil, err
		}
		r.fresh = true
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s is not a run: it has no config.yaml (kirin train --dir %s makes one)", r.dir, r.dir)
	default:
		return nil, err
	}
	if r.variant, err = r.cfg.Load(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

// openRun opens an existing run as it is.
func openRun(dir string) (*runDir, error) {
	f := runFlags{dir: dir}
	return f.open(false)
}

// continued checks the flags against the stored configuration.
func (f *runFlags) continued(stored *configs.Run) (*configs.Run, error) {
	if err := checkConfig(stored); err != nil {
		return nil, err
	}
	var wanted *configs.Run
	var err error
	if f.config != "" {
		wanted, err = configs.Load(f.config, f.sets...)
	} else {
		wanted, err = stored.With(f.sets...)
	}
	if err != nil {
		return nil, err
	}
	if err := checkConfig(wanted); err != nil {
		return nil, err
	}
	var lines []string
	for _, d := range configs.Diff(stored, wanted) {
		if !d.Changeable {
			lines = append(lines, fmt.Sprintf("  %s: the run has %s, you ask for %s", d.Key, d.Old, d.New))
		}
	}
	if len(lines) > 0 {
		return nil, fmt.Errorf("%s was started with other settings:\n%s\nleave them out to continue it, or start another run with --dir", f.folder(), strings.Join(lines, "\n"))
	}
	return wanted, nil
}

// refuseForeign keeps a new run out of a folder that holds other things.
func (f *runFlags) refuseForeign(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case name == "LOCK", name == "session", strings.HasPrefix(name, ".config.yaml."): // left by a start that did not get further
		case name == "games", name == "weights", name == "train":
			if inside, err := os.ReadDir(filepath.Join(dir, name)); err != nil || len(inside) > 0 {
				return fmt.Errorf("%s holds a run without its config.yaml: put the file back, or use another --dir", dir)
			}
		default:
			return fmt.Errorf("%s is not empty and not a run: use another --dir", dir)
		}
	}
	return nil
}

func (r *runDir) create(file string) error {
	for _, d := range []string{"", "games", "weights", "train"} {
		if err := os.MkdirAll(r.path(d), 0o755); err != nil {
			return fmt.Errorf("make the run's folder: %w", err)
		}
	}
	text, err := r.cfg.Stored()
	if err != nil {
		return err
	}
	return whole.WriteFile(file, text)
}

// lock takes the trainer's place in the run.
func (r *runDir) lock() (func(), error) {
	l := flock.New(r.path("LOCK"))
	ok, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", r.dir, err)
	}
	if !ok {
		who := ""
		if b, err := os.ReadFile(r.path("trainer.pid")); err == nil {
			who = " (process " + strings.TrimSpace(string(b)) + ")"
		}
		return nil, fmt.Errorf("another trainer%s works on %s: stop it first, or use another --dir", who, r.dir)
	}
	if err := os.WriteFile(r.path("trainer.pid"), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644); err != nil {
		l.Unlock()
		return nil, err
	}
	for _, dir := range []string{"train", "weights", ""} { // what a killed trainer left unfinished
		if err := whole.Sweep(r.path(dir)); err != nil {
			l.Unlock()
			return nil, err
		}
	}
	return func() {
		os.Remove(r.path("trainer.pid"))
		l.Unlock()
	}, nil
}

// session counts the starts of programs that play for the run, so that no two
// play the same games.
func (r *runDir) session() (int, error) {
	l := flock.New(r.path("session.lock"))
	if err := l.Lock(); err != nil {
		return 0, fmt.Errorf("lock %s: %w", l.Path(), err)
	}
	defer l.Unlock()
	n, err := r.sessions()
	if err != nil {
		return 0, err
	}
	n++
	return n, whole.WriteFile(r.path("session"), []byte(strconv.Itoa(n)+"\n"))
}

// sessions reads the number of starts so far.
func (r *runDir) sessions() (int, error) {
	b, err := os.ReadFile(r.path("session"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	text := strings.TrimSpace(string(b))
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s: damaged: %q is not a number; write the number of starts so far into it (any larger number will do)", r.path("session"), text)
	}
	return n, nil
}

// steps lists the numbered entries of a folder, ascending.
func steps(dir, suffix string) ([]int, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []int
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), suffix)
		if n, err := strconv.Atoi(name); ok && err == nil && n >= 0 {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out, nil
}

// stepName is a step as a file name: eight digits, so that names sort.
func stepName(step int) string { return fmt.Sprintf("%08d", step) }
