package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kirin/network"
)

func TestFromThatDoesNotFitLeavesNoRunBehind(t *testing.T) {
	spec := shippedSpec(t)
	for _, c := range []struct {
		name, from string
		more       []string
		want       string
	}{
		{"size", "shipped", nil, "--from shipped: its net is " + spec + ", the configuration asks for 1x16: add --set net.spec=" + spec},
		{"game", "shipped", []string{"--config", "shogi"}, "--from: shogi: no net is built into this program"},
		{"nothing", "net:nowhere@latest", nil, `--from: net "nowhere@latest": there is no such file or run`},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		status, _, errs := kirin(t, tiny(dir, append(c.more, "--from", c.from, "--steps", "1")...)...)
		if status != 1 || strings.TrimSpace(errs) != "kirin: "+c.want {
			t.Errorf("%s: exit status %d\n%s", c.name, status, errs)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the folder is there: %v", c.name, err)
		}
	}
}

func TestTheShippedNetIsExportedAndStartsARunThatTheSameCommandContinues(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "net.safetensors")
	mustRun(t, "export", "--net", "shipped", "--format", "safetensors", "--out", file)
	run := filepath.Join(dir, "run")
	args := tiny(run, "--set", "net.spec="+shippedSpec(t), "--set", "train.batch_size=2", "--set", "train.slices=1", "--steps", "1")
	mustRun(t, append(args, "--from", "net:shipped")...)
	from, first := readWeights(t, file), readWeights(t, (&runDir{dir: run}).weightsFile(0))
	if sum, err := from.Sum(); err != nil || first.Meta.Parent != sum || first.Meta.Step != 0 || first.Meta.Version != version {
		t.Errorf("the first net is %+v, not a child of %s: %v", first.Meta, sum, err)
	}
	if status, _, errs := kirin(t, append(args, "--from", file)...); status != 0 || !strings.Contains(errs, "continuing "+run) {
		t.Errorf("the same weights by another name: exit status %d\n%s", status, errs)
	}
	status, _, errs := kirin(t, append(args, "--from", run+"@latest")...)
	if status != 1 || !strings.Contains(errs, "exists: leave --from out to go on with it, or use another --dir") {
		t.Errorf("other weights: exit status %d\n%s", status, errs)
	}
}

// shippedSpec is the size of the net in the program.
func shippedSpec(t *testing.T) string {
	t.Helper()
	w, err := network.Shipped("minishogi")
	if err != nil {
		t.Fatal(err)
	}
	return w.Form.Spec.String()
}

func readWeights(t *testing.T, file string) *network.Weights {
	t.Helper()
	w, err := network.ReadWeights(file)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestTheLatestNetIsThatToWhichTheRunHasGoneBack(t *testing.T) {
	r := &runDir{dir: t.TempDir()}
	if err := os.Mkdir(r.path("weights"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, step := range []int{0, 10, 20} {
		if err := os.WriteFile(r.weightsFile(step), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		pointer string
		step    int
	}{
		{"00000010.safetensors " + strings.Repeat("0", 64) + "\n", 10},
		{"00000030.safetensors " + strings.Repeat("0", 64) + "\n", 20}, // names a file that is not there
		{"damaged", 20},
	} {
		if err := os.WriteFile(r.path("weights", "latest"), []byte(c.pointer), 0o644); err != nil {
			t.Fatal(err)
		}
		if file, err := netFile(r.dir + "@latest"); err != nil || file != r.weightsFile(c.step) {
			t.Errorf("%q: %s, %v", c.pointer, file, err)
		}
	}
}
