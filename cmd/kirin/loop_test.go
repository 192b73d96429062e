package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kirin/dataset"
)

// runState is what a run has come to: its newest net and checkpoint, and its
// games by number.
func runState(t *testing.T, dir string) (weights, checkpoint string, games map[int64]string) {
	t.Helper()
	r, err := openRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.latest()
	if err != nil {
		t.Fatal(err)
	}
	all, err := r.checkpoints()
	if err != nil || len(all) == 0 {
		t.Fatalf("checkpoints %v, %v", all, err)
	}
	b, err := os.ReadFile(filepath.Join(r.checkpointDir(all[0]), "trainer.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	store, err := dataset.OpenStore(r.path("games"), r.cfg.Data)
	if err != nil {
		t.Fatal(err)
	}
	games = map[int64]string{}
	for g, err := range store.All() {
		if err != nil {
			t.Fatal(err)
		}
		if _, twice := games[g.Number]; twice {
			t.Errorf("game %d is stored twice", g.Number)
		}
		g.Worker = ""
		text, err := json.Marshal(g)
		if err != nil {
			t.Fatal(err)
		}
		games[g.Number] = fmt.Sprintf("%x", sha256.Sum256(text))
	}
	return fmt.Sprintf("%d %s", p.step, p.sum), fmt.Sprintf("%d %x", all[0], sha256.Sum256(b)), games
}

func TestLockstepIsAFunctionOfItsConfigurationHoweverOftenItIsKilled(t *testing.T) {
	dir := t.TempDir()
	whole, broken := filepath.Join(dir, "whole"), filepath.Join(dir, "broken")
	settings := []string{"--set", "schedule=lockstep", "--set", "selfplay.side_share=0.4", "--set", "selfplay.opening_temperature=1", "--steps", "40"}
	mustRun(t, tiny(whole, append(slices.Clone(settings), "--set", "selfplay.workers=1")...)...)

	rng := rand.New(rand.NewPCG(1, 2))
	for attempt := 0; ; attempt++ {
		if attempt > 40 {
			t.Fatal("the killed run does not get to its end")
		}
		c, errs := program(t, tiny(broken, append(slices.Clone(settings), "--set", "selfplay.workers=3", "--set", "selfplay.games=3")...)...)
		if _, err := os.Stat(filepath.Join(broken, "config.yaml")); err == nil {
			c, errs = program(t, "train", "--dir", broken, "--steps", "40", "--set", fmt.Sprint("selfplay.workers=", 1+attempt%3))
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- c.Wait() }()
		wait := time.Duration(100+rng.IntN(400+100*attempt)) * time.Millisecond
		if attempt == 6 {
			wait = time.Minute // then let it come to its end
		}
		select {
		case err := <-done:
			if err != nil {
				t.Fatalf("%v\n%s", err, errs)
			}
		case <-time.After(wait):
			c.Process.Kill()
			<-done
			continue
		}
		break
	}

	w1, c1, g1 := runState(t, whole)
	w2, c2, g2 := runState(t, broken)
	if w1 != w2 {
		t.Errorf("weights: %s and %s", w1, w2)
	}
	if c1 != c2 {
		t.Errorf("checkpoint: %s and %s", c1, c2)
	}
	if len(g1) != 24 || len(g1) != len(g2) {
		t.Errorf("%d and %d games, want 24", len(g1), len(g2))
	}
	for n, g := range g1 {
		if g2[n] != g {
			t.Errorf("game %d differs", n)
		}
	}
}

func TestAKillLosesNoFinishedGameAndAtMostOneCheckpoint(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	rng := rand.New(rand.NewPCG(3, 4))
	step, games := 0, int64(0)
	args := tiny(dir)
	for range 5 {
		c, errs := program(t, args...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(700+rng.IntN(800)) * time.Millisecond)
		c.Process.Kill()
		c.Wait()
		args = []string{"train", "--dir", dir}
		if _, err := os.Stat(filepath.Join(dir, "config.yaml")); err != nil {
			args = tiny(dir) // killed before the run existed
			continue
		}
		rep, err := checkRun(dir, true)
		if err != nil {
			t.Fatalf("%v\n%s", err, errs)
		}
		if len(rep.Faults) > 0 {
			t.Fatalf("after a kill: %q\n%s", rep.Faults, errs)
		}
		if rep.Step < step-5 {
			t.Errorf("step fell from %d to %d", step, rep.Step)
		}
		if rep.Games.Games < games {
			t.Errorf("games fell from %d to %d", games, rep.Games.Games)
		}
		step, games = rep.Step, rep.Games.Games
	}
	mustRun(t, "train", "--dir", dir, "--steps", fmt.Sprint(step+10))
	rep, err := checkRun(dir, true)
	if err != nil || len(rep.Faults) > 0 {
		t.Fatalf("%v %q", err, rep.Faults)
	}
	if rep.Step < step+10 || rep.Games.Games < games {
		t.Errorf("step %d, games %d after step %d, games %d", rep.Step, rep.Games.Games, step, games)
	}
}

func TestASelfplayProcessFeedsALearner(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	args := tiny(dir, "--steps", "12")
	args[0] = "learn"
	learner, lerr := program(t, args...)
	if err := learner.Start(); err != nil {
		t.Fatal(err)
	}
	defer learner.Process.Kill()
	waitUntil(t, "weights are published", func() bool {
		_, err := os.Stat(filepath.Join(dir, "weights", "latest"))
		return err == nil
	})
	player, perr := program(t, "selfplay", "--dir", dir, "--name", "friend")
	if err := player.Start(); err != nil {
		t.Fatal(err)
	}
	defer player.Process.Kill()
	done := make(chan error, 1)
	go func() { done <- learner.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("learn: %v\n%s", err, lerr)
		}
	case <-time.After(2 * time.Minute):
		t.Errorf("the learner got no games\n%s\n%s", lerr, perr)
	}
	player.Process.Signal(os.Interrupt)
	if err := player.Wait(); err != nil {
		t.Errorf("selfplay: %v\n%s", err, perr)
	}
	if rep, err := checkRun(dir, true); err != nil || len(rep.Faults) > 0 || rep.Step < 12 {
		t.Errorf("%v %+v", err, rep)
	}
}

// trained makes a small finished run.
func trained(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	mustRun(t, tiny(dir, "--steps", "20")...)
	return dir
}

func TestARunIsContinuedOnlyWithItsOwnSettings(t *testing.T) {
	dir := trained(t)
	status, _, errs := kirin(t, "train", "--dir", dir, "--set", "train.batch_size=32", "--set", "search.simulations=9")
	if status == 0 || !strings.Contains(errs, "train.batch_size: the run has 16, you ask for 32") || !strings.Contains(errs, "search.simulations: the run has 4, you ask for 9") {
		t.Errorf("other settings: exit status %d\n%s", status, errs)
	}
	if status, _, errs := kirin(t, "train", "--dir", dir, "--config", "minishogi"); status == 0 || !strings.Contains(errs, "was started with other settings") {
		t.Errorf("another preset: exit status %d\n%s", status, errs)
	}
	if status, _, errs := kirin(t, "train", "--dir", dir, "--from", dir); status == 0 || !strings.Contains(errs, "--from starts a new run") {
		t.Errorf("--from: exit status %d\n%s", status, errs)
	}
	mustRun(t, "train", "--dir", dir, "--set", "selfplay.workers=1", "--steps", "21")
}

func TestAStartThatWasKilledBeforeTheRunExistedIsBegunAgain(t *testing.T) {
	dir := t.TempDir()
	r := &runDir{dir: dir}
	for _, name := range []string{"games", "weights", "train"} {
		if err := os.Mkdir(r.path(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(r.path(".config.yaml.123.tmp"), []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	var f runFlags
	if err := f.refuseForeign(dir); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(r.path("games", "x"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := f.refuseForeign(dir); err == nil || !strings.Contains(err.Error(), "a run without its config.yaml") {
		t.Errorf("%v", err)
	}
}

func TestASecondTrainerIsKeptOut(t *testing.T) {
	dir := trained(t)
	r, err := openRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := r.lock()
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	status, _, errs := kirin(t, "train", "--dir", dir)
	if status == 0 || !strings.Contains(errs, "another trainer") || !strings.Contains(errs, fmt.Sprint(os.Getpid())) {
		t.Errorf("exit status %d\n%s", status, errs)
	}
}

func TestATakenPortGetsOneSentence(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dir := filepath.Join(t.TempDir(), "run")
	status, _, errs := kirin(t, tiny(dir, "--set", "web.address="+l.Addr().String())...)
	if status == 0 || !strings.Contains(errs, "web.address") || strings.Count(strings.TrimSpace(errs), "\n") > 0 {
		t.Errorf("exit status %d\n%s", status, errs)
	}
}

func TestAFolderThatCannotBeWrittenGetsOneSentence(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	status, _, errs := kirin(t, tiny(filepath.Join(file, "run"))...)
	if status == 0 || !strings.Contains(errs, "run") || strings.Count(strings.TrimSpace(errs), "\n") > 0 {
		t.Errorf("exit status %d\n%s", status, errs)
	}
	if err := os.WriteFile(filepath.Join(dir, "letter.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if status, _, errs := kirin(t, tiny(dir)...); status == 0 || !strings.Contains(errs, "is not empty and not a run") {
		t.Errorf("a folder with other things: exit status %d\n%s", status, errs)
	}
}

// allExact plays the newest games of a run again, at most the given number: how
// many there are depends on how fast players and trainer were.
func allExact(t *testing.T, dir string, most int) {
	t.Helper()
	n := min(len(indexOfRun(t, dir)), most)
	out := mustRun(t, "replay", "--dir", dir, "--last", fmt.Sprint(n), "--verify", "--json")
	if exact := strings.Count(out, `"exact":true`); exact != n || n == 0 {
		t.Errorf("%d of %d games are exact:\n%s", exact, n, out)
	}
}

func TestStoredGamesAreReproducedBitForBit(t *testing.T) {
	dir := trained(t)
	allExact(t, dir, 5)
	if out := mustRun(t, "replay", "--dir", dir, "--last", "1"); !strings.Contains(out, "game ") {
		t.Errorf("got %q", out)
	}
}

func TestNetsAndGamesAreExported(t *testing.T) {
	dir, out := trained(t), t.TempDir()
	for _, c := range []struct{ from, at, format, file string }{
		{"--net", dir + "@first", "safetensors", "x.safetensors"},
		{"--net", dir + "@latest", "onnx", "x.onnx"},
		{"--games", dir, "usi", "x.usi"},
		{"--games", dir, "parquet", "x.parquet"},
	} {
		mustRun(t, "export", c.from, c.at, "--format", c.format, "--out", filepath.Join(out, c.file))
		if info, err := os.Stat(filepath.Join(out, c.file)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", c.file, err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(out, "x.moves.tsv")); err != nil || !bytes.Contains(b, []byte("5d5c")) {
		t.Errorf("the table of moves: %v", err)
	}
	mustRun(t, "match", "--a", "net:"+filepath.Join(out, "x.safetensors")+",sims=4", "--b", "random", "--games", "2", "--set", "max_plies=40")
	for _, format := range []string{"usi", "parquet"} {
		for _, file := range []string{out, filepath.Join(out, "none", "x")} {
			if status, _, errs := kirin(t, "export", "--games", dir, "--format", format, "--out", file); status != 1 || !strings.Contains(errs, "--out: write "+file+": ") {
				t.Errorf("%s into %s: exit status %d\n%s", format, file, status, errs)
			}
		}
	}
	other := filepath.Join(out, "second")
	mustRun(t, tiny(other, "--from", dir+"@latest", "--steps", "1")...)
	if status, _, errs := kirin(t, "match", "--variant", "shogi", "--a", "net:"+dir, "--b", "random"); status == 0 || !strings.Contains(errs, "play minishogi, not shogi") {
		t.Errorf("a net of another game: exit status %d\n%s", status, errs)
	}
}

func TestTheNetPlaysAsAnEngineWithAndWithoutTheSubcommand(t *testing.T) {
	dir := trained(t)
	for _, c := range []struct {
		args []string
		in   string
		want string
	}{
		{[]string{"engine", "--net", dir, "--set", "max_plies=40"}, "usi\nisready\nposition startpos\ngo nodes 10\n", "bestmove "},
		{[]string{"engine", "--net", dir}, "usi\nquit\n", "usiok"},
		{nil, "usi\nquit\n", "usiok"},
		{[]string{"engine", "--net", dir}, "xboard\nprotover 2\nquit\n", "feature"},
	} {
		c2, _ := program(t, c.args...)
		in, err := c2.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		var out lockedBuffer
		c2.Stdout = &out
		if err := c2.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c2.Process.Kill() })
		fmt.Fprint(in, c.in)
		waitUntil(t, fmt.Sprintf("kirin %v answers %s", c.args, c.want), func() bool { return strings.Contains(out.String(), c.want) })
		in.Close()
		if err := c2.Wait(); err != nil || !strings.Contains(out.String(), c.want) {
			t.Errorf("kirin %v: %v\n%s", c.args, err, out.String())
		}
	}
}

// lockedBuffer is a buffer that may be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestMatesAreFoundAndFilesOfThemChecked(t *testing.T) {
	if out := mustRun(t, "mate", "--sfen", "4k/5/4G/5/K4 b G 1"); !strings.Contains(out, "mate in 1: [G*") {
		t.Errorf("got %q", out)
	}
	file := filepath.Join(t.TempDir(), "m.tsv")
	text := "sfen\tkind\tplies\tfirst_moves\n4k/5/4G/5/K4 b G 1\ttsume\t1\tG*1b G*2b G*3a G*3b\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := mustRun(t, "mate", "--check", file); !strings.Contains(out, "1 rows, 1 found, 0 wrong") {
		t.Errorf("got %q", out)
	}
}

func TestAStartCountsTheGamesThatAreStored(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	mustRun(t, tiny(dir, "--games", "8", "--set", "loop.first_positions=1000000")...)
	rep, err := checkRun(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	out := mustRun(t, "train", "--dir", dir, "--games", "8", "--json")
	var end struct{ Games int64 }
	if err := json.Unmarshal([]byte(out), &end); err != nil || end.Games < rep.Games.Games || rep.Games.Games < 8 {
		t.Errorf("%d games stored, the next start ends with %s (%v)", rep.Games.Games, out, err)
	}
}

func TestExportWritesOverNothingThatIsNotItsOwn(t *testing.T) {
	dir := trained(t)
	for _, out := range []string{filepath.Join(dir, "weights", "latest"), filepath.Join(dir, "x.onnx"), t.TempDir()} {
		if status, _, errs := kirin(t, "export", "--net", dir, "--format", "onnx", "--out", out); status == 0 || strings.Count(strings.TrimSpace(errs), "\n") > 0 {
			t.Errorf("--out %s: exit status %d\n%s", out, status, errs)
		}
	}
	if rep, err := checkRun(dir, false); err != nil || len(rep.Faults) > 0 {
		t.Errorf("%v %q", err, rep.Faults)
	}
}

func TestABudgetOfCPUTimeCoversAllStartsTogether(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	cpu := 0.0
	for _, c := range []struct {
		budget string
		least  float64
		more   bool
	}{{"1500ms", 1.5, true}, {"1500ms", 1.5, false}, {"2500ms", 2.5, true}} {
		args := []string{"train", "--dir", dir, "--cpu", c.budget, "--json"}
		if cpu == 0 {
			args = tiny(dir, "--cpu", c.budget, "--json")
		}
		var end struct {
			CPU float64 `json:"cpu_seconds"`
		}
		if err := json.Unmarshal([]byte(mustRun(t, args...)), &end); err != nil {
			t.Fatal(err)
		}
		if end.CPU < c.least-0.01 || end.CPU > c.least+1 || !c.more && end.CPU > cpu+0.3 {
			t.Errorf("--cpu %s after %g s: the run has taken %g s", c.budget, cpu, end.CPU)
		}
		cpu = end.CPU
	}
	if status, _, errs := kirin(t, "train", "--dir", dir, "--cpu", "-1s"); status == 0 || !strings.Contains(errs, "cannot be negative") {
		t.Errorf("exit status %d\n%s", status, errs)
	}
}
