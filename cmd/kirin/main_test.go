package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// asProgram makes the test binary be kirin itself, so that tests can kill it.
const asProgram = "KIRIN_TEST_AS_PROGRAM"

// printTime as the only argument makes that program print its time, to show
// what its clock says.
const printTime = "test-print-time"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		if len(os.Args) == 2 && os.Args[1] == printTime {
			fmt.Println(time.Now().Unix())
			return
		}
		main()
		return
	}
	os.Exit(m.Run())
}

// kirin runs the program inside the test.
func kirin(t testing.TB, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	status = run(ctx, args, strings.NewReader(""), &out, &errs)
	return status, out.String(), errs.String()
}

// mustRun is kirin that has to succeed.
func mustRun(t testing.TB, args ...string) (stdout string) {
	t.Helper()
	status, out, errs := kirin(t, args...)
	if status != 0 {
		t.Fatalf("kirin %s: exit status %d\n%s%s", strings.Join(args, " "), status, out, errs)
	}
	return out
}

// program starts kirin as a process of its own.
func program(t testing.TB, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, args...)
	c.Env = append(os.Environ(), asProgram+"=1")
	var errs bytes.Buffer
	c.Stderr = &errs
	return c, &errs
}

// tiny are settings with which a run takes a second.
func tiny(dir string, more ...string) []string {
	args := []string{
		"train", "--dir", dir,
		"--set", "net.spec=1x16", "--set", "search.simulations=4", "--set", "selfplay.games=4", "--set", "selfplay.mate_nodes=30",
		"--set", "rules.max_plies=40", "--set", "train.batch_size=16", "--set", "train.slices=2", "--set", "train.warmup_steps=2",
		"--set", "loop.first_positions=50", "--set", "loop.publish_steps=10", "--set", "loop.checkpoint_steps=5",
		"--set", "loop.lockstep_games=6", "--set", "loop.lockstep_steps=10", "--set", "rating.every=0", "--set", "web.address=",
	}
	return append(args, more...)
}

func TestArgumentsThatAreWrongGetOneSentence(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args string
		want string
	}{
		{"nonsense", `unknown command "nonsense"`},
		{"trian", "did you mean train?"},
		{"bench foo", `unknown command "foo"`},
		{"help trian", `unknown command "trian"; did you mean train?`},
		{"help fleet invte", `unknown command "invte"; did you mean invite? (kirin fleet --help lists them)`},
		{"completion foo", `unknown command "foo"`},
		{"watch", "name the run to look at"},
		{"experiment", "0 arguments; give one, the FILE"},
		{"fleet revoke a b", "2 arguments; give one, the NAME"},
		{"selfplay", "give --dir, the folder of a run, or --join"},
		{"config foo", `unknown command "foo"`},
		{"check --dir=", "--dir"},
		{"show --sfen=", "--sfen"},
		{"show --ply -7", "--ply -7 is negative"},
		{"show --svg x.svg --as kif", "either --svg or --as"},
		{"engine --net nowhere", "there is no such file or run"},
		{"train --from nowhere --dir " + dir + "/new", "there is no such file or run"},
		{"match --a usi:no-such-engine --b random --games 2", "no-such-engine"},
		{"match --a random --b uci:no-such-engine --games 2", "no-such-engine"},
		{"export --net x --format onnx --out -", "--out -: only usi and csa"},
		{"train --config nowhere.yaml", "nowhere.yaml: no such file, and no preset of that name"},
		{"train --set train.bach_size=1 --dir " + dir, `did you mean "train.batch_size"?`},
		{"train --for -1s --dir " + dir, "cannot be negative"},
		{"learn --for x", `invalid argument "x" for "--for" flag: it takes a duration such as 90s, 10m or 2h`},
		{"train --games many", `invalid argument "many" for "--games" flag: it takes a whole number`},
		{"train --json=perhaps", "it takes true or false"},
		{"train --steps 99999999999999999999", "it takes no number as large as that"},
		{"train --workers 2", "unknown flag: --workers (kirin train --help lists them)"},
		{"selfplay --games -1 --dir " + dir, "cannot be negative"},
		{"selfplay --dir " + dir, "is not a run"},
		{"check --dir " + dir, "is not a run"},
		{"watch " + dir, "is not a run"},
		{"replay --dir " + dir, "--last N"},
		{"rate --dir " + dir, "is not a run"},
		{"rate --dir " + dir + " --player random", "--player does nothing without --ladder"},
		{"rate --dir " + dir + " --set max_plies=0 --games 10", "--set does nothing without --ladder"},
		{"rate --dir " + dir + " --ladder usi:x --plot y.svg", "--plot draws the ratings of a run"},
		{"rate --ladder random", "only another engine has levels"},
		{"rate --ladder cecp:x --by nodes", "has only depth"},
		{"rate --ladder usi:x --games 5", "--games 5 is odd"},
		{"rate --ladder usi:x --from 9 --to 3", "low, high"},
		{"rate --ladder gnu:x --player king", `unknown kind "king"`},
		{"match --a random", `required flag(s) "b" not set`},
		{"match --a random --b king", `unknown kind "king"`},
		{"match --a random --b net:" + dir, "holds no weights yet"},
		{"match --a random --b net:nowhere", "there is no such file or run"},
		{"match --a random --b random --games 0", "games: 0 is below 1"},
		{"match --a random --b random --games 3", "--games 3 is odd"},
		{"match --a random --b net:x,depth=3", "the search of a net has no depth"},
		{"match --a random --b material --sprt 1", "elo0,elo1"},
		{"match --a random --b material --book nowhere", "nowhere"},
		{"match --a random --b material --book nowhere --opening-plies 4", "either --book or --opening-plies"},
		{"match --a random --b material --increment 1s", "an increment alone leaves no time"},
		{"mate --check nowhere.tsv 5d5c", "neither moves nor --sfen"},
		{"mate --check nowhere.tsv --sfen x", "--sfen"},
		{"export --net x", `required flag(s) "format", "out" not set`},
		{"export --net x --format gif --out y", "a net is written as onnx or safetensors"},
		{"export --format onnx --out y", "give either --net or --games"},
		{"perft --depth 99", "not between 0 and 20"},
		{"perft --variant go", "go"},
		{"perft --check nowhere.tsv", "nowhere.tsv"},
		{"moves --sfen x", "--sfen"},
		{"moves 5d5c 5d5c", "ply 2"},
		{"config check nowhere.yaml", "nowhere.yaml"},
		{"config show --config nowhere", "no such file"},
	} {
		status, out, errs := kirin(t, strings.Fields(c.args)...)
		if status == 0 || !strings.Contains(errs, c.want) {
			t.Errorf("kirin %s: exit status %d, %q; want %q", c.args, status, errs, c.want)
		}
		if out != "" {
			t.Errorf("kirin %s writes to stdout: %q", c.args, out)
		}
		if strings.Count(strings.TrimSpace(errs), "\n") > 1 || strings.Contains(errs, "goroutine") {
			t.Errorf("kirin %s: more than a sentence:\n%s", c.args, errs)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("failed commands left %v", entries)
	}
}

func TestAnInterruptEndsACommandWithItsStatusAndNoError(t *testing.T) {
	mates := filepath.Join(t.TempDir(), "mates.tsv")
	row := "4k4/9/9/9/9/9/9/9/4K4 b R2B4Lr4g4s4n18p 1\tnone\t39\t-\n" // there is no end to the checks
	if err := os.WriteFile(mates, []byte(row), 0o644); err != nil {
		t.Fatal(err)
	}
	sfen := strings.TrimSuffix(row, "\tnone\t39\t-\n")
	journal := filepath.Join(t.TempDir(), "match.jsonl")
	for _, args := range [][]string{
		{"engine"},
		{"analyze", "--net", untrained(t, "minishogi", "1x16")},
		{"mate", "--variant", "shogi", "--nodes", "2000000000", "--sfen", sfen},
		{"mate", "--variant", "shogi", "--nodes", "2000000000", "--check", mates},
		{"match", "--a", "random", "--b", "random", "--games", "1000000", "--json", "--journal", journal},
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		in, never := io.Pipe()
		ended := make(chan struct{})
		go func() {
			defer interrupt()
			if args[0] != "match" {
				time.Sleep(200 * time.Millisecond) // earlier or later is as good
				return
			}
			for ctx.Err() == nil { // until games have ended
				if b, _ := os.ReadFile(journal); bytes.Count(b, []byte("\n")) > 4 {
					return
				}
				select {
				case <-ended:
					return
				case <-time.After(20 * time.Millisecond):
				}
			}
		}()
		var out, errs bytes.Buffer
		status := run(ctx, args, in, &out, &errs)
		close(ended)
		if status != 130 || strings.Contains(errs.String(), "canceled") {
			t.Errorf("kirin %s: exit status %d, %s", strings.Join(args, " "), status, errs.String())
		}
		if args[0] == "match" && !strings.HasPrefix(out.String(), `{"a":"random (A)"`) {
			t.Errorf("kirin match --json prints %q", out.String())
		}
		never.Close()
	}
}

func TestANoMateTellsHowFarItIsKnown(t *testing.T) {
	for sfen, want := range map[string]string{
		"4k/5/5/5/K4 b - 1":   "no_mate (",
		"4k/5/5/5/K4 b R2P 1": "no_mate within ",
	} {
		if out := mustRun(t, "mate", "--sfen", sfen); !strings.HasPrefix(out, want) {
			t.Errorf("%s: %q", sfen, out)
		}
	}
}

func TestHelpTellsOneDefaultOfAFlagAndPositionsThatExist(t *testing.T) {
	example := regexp.MustCompile(`kirin (\w+) .*--variant (\w+) .*--sfen "([^"]*)"`)
	found := 0
	for cmds := newRoot().Commands(); len(cmds) > 0; cmds = cmds[1:] {
		cmd := cmds[0]
		cmds = append(cmds, cmd.Commands()...)
		for line := range strings.Lines(cmd.LocalFlags().FlagUsages()) {
			if strings.Count(line, "(default") > 1 {
				t.Errorf("%s has two defaults: %s", cmd.CommandPath(), line)
			}
		}
		for _, m := range example.FindAllStringSubmatch(cmd.Example, -1) {
			found++
			mustRun(t, m[1], "--variant", m[2], "--sfen", m[3])
		}
	}
	if found < 2 {
		t.Errorf("%d examples with a position", found)
	}
}

func TestTheShellIsToldTheWordsThatFlagsTake(t *testing.T) {
	for args, want := range map[string]string{
		"play --variant": "torishogi\n", "engine --level": "beginner\n", "config show --config": "minishogi-quick\n",
		"export --format": "onnx\n", "show --as": "kif-sjis\n", "export --net": "shipped\n",
	} {
		out := mustRun(t, append([]string{"__complete"}, append(strings.Fields(args), "")...)...)
		if !strings.Contains(out, want) {
			t.Errorf("%s: %q is missing in %q", args, want, out)
		}
	}
}

func TestHelpOfEveryCommandHasAnExample(t *testing.T) {
	root := newRoot()
	for _, c := range root.Commands() {
		if !strings.Contains(c.Example, "kirin ") || c.Short == "" {
			t.Errorf("%s has no example or no short text", c.Name())
		}
	}
}

func TestVersionNamesTheKernelSet(t *testing.T) {
	if out := mustRun(t, "version", "--json"); !strings.Contains(out, `"kernel":`) || !strings.Contains(out, `"version":"`+version) {
		t.Errorf("got %s", out)
	}
}

func TestMovesListsAPosition(t *testing.T) {
	if out := mustRun(t, "moves", "5d5c"); strings.Count(out, "\n") != 13 && strings.Count(out, "\n") != 14 {
		t.Errorf("got %q", out)
	}
	if out := mustRun(t, "moves", "--sfen", "4k/P4/5/5/4K b - 1", "--json"); !strings.Contains(out, `"5b5a+"`) {
		t.Errorf("got %s", out)
	}
}

func TestPerftCountsAndComparesFiles(t *testing.T) {
	if out := mustRun(t, "perft", "--depth", "4", "--json"); !strings.Contains(out, `"nodes":35401`) {
		t.Errorf("got %s", out)
	}
	file := filepath.Join(t.TempDir(), "x.tsv")
	good := "sfen\tdepth\tnodes\toracles\nrbsgk/4p/5/P4/KGSBR b - 1\t2\t181\ttest\n"
	if err := os.WriteFile(file, []byte(good), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := mustRun(t, "perft", "--check", file); !strings.Contains(out, "1 of 1 rows agree") {
		t.Errorf("got %s", out)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(good, "181", "180", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if status, out, _ := kirin(t, "perft", "--check", file); status != 1 || !strings.Contains(out, ":2:") {
		t.Errorf("a wrong count: exit status %d, %s", status, out)
	}
}

func TestConfigShowIsAConfiguration(t *testing.T) {
	out := mustRun(t, "config", "show", "--config", "minishogi-quick", "--set", "seed=9")
	file := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(file, []byte(out), 0o644); err != nil {
		t.Fatal(err)
	}
	if again := mustRun(t, "config", "show", "--config", file); again != out {
		t.Error("shown again it is another text")
	}
	if out := mustRun(t, "config", "check", file); !strings.Contains(out, "no faults") {
		t.Errorf("got %s", out)
	}
	if out := mustRun(t, "config", "list"); !strings.Contains(out, "minishogi-quick") {
		t.Errorf("got %s", out)
	}
}
