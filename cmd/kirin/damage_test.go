package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// flip changes one bit in the middle of a file.
func flip(t *testing.T, file string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 4
	if err := os.WriteFile(file, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// newest returns the file of a kind that sorts last.
func newest(t *testing.T, dir, suffix string) string {
	t.Helper()
	var files []string
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, suffix) {
			files = append(files, path)
		}
		return nil
	})
	if len(files) == 0 {
		t.Fatalf("%s holds no *%s", dir, suffix)
	}
	slices.Sort(files)
	return files[len(files)-1]
}

func TestDamageIsFoundNamedAndSurvived(t *testing.T) {
	for _, c := range []struct {
		name string
		file func(t *testing.T, dir string) string
		hurt func(t *testing.T, file string)
		goes bool // training goes on by itself
	}{
		{"shard", func(t *testing.T, dir string) string { return newest(t, filepath.Join(dir, "games"), ".parquet") }, flip, true},
		{"truncated shard", func(t *testing.T, dir string) string { return newest(t, filepath.Join(dir, "games"), ".parquet") }, func(t *testing.T, file string) {
			info, err := os.Stat(file)
			if err == nil {
				err = os.Truncate(file, info.Size()*2/3)
			}
			if err != nil {
				t.Fatal(err)
			}
		}, true},
		{"weights", func(t *testing.T, dir string) string { return newest(t, filepath.Join(dir, "weights"), ".safetensors") }, flip, true},
		{"checkpoint", func(t *testing.T, dir string) string {
			return newest(t, filepath.Join(dir, "train"), "trainer.safetensors")
		}, flip, true},
		{"missing loop state", func(t *testing.T, dir string) string { return newest(t, filepath.Join(dir, "train"), "loop.json") }, func(t *testing.T, file string) {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"pointer to the weights", func(t *testing.T, dir string) string { return filepath.Join(dir, "weights", "latest") }, flip, true},
		{"loop state", func(t *testing.T, dir string) string { return newest(t, filepath.Join(dir, "train"), "loop.json") }, flip, true},
		{"configuration", func(t *testing.T, dir string) string { return filepath.Join(dir, "config.yaml") }, flip, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := trained(t)
			before, err := checkRun(dir, true)
			if err != nil || len(before.Faults) > 0 {
				t.Fatalf("%v %q", err, before.Faults)
			}
			file := c.file(t, dir)
			c.hurt(t, file)
			status, out, errs := kirin(t, "check", "--dir", dir)
			if status == 0 || !strings.Contains(out+errs, filepath.Base(file)) {
				t.Errorf("check: exit status %d\n%s%s", status, out, errs)
			}
			if !c.goes {
				status, _, errs := kirin(t, "train", "--dir", dir, "--steps", "25")
				if status == 0 || !strings.Contains(errs, file) || strings.Count(strings.TrimSpace(errs), "\n") > 0 {
					t.Errorf("train: exit status %d\n%s", status, errs)
				}
				return
			}
			mustRun(t, "train", "--dir", dir, "--steps", "30")
			after, err := checkRun(dir, true)
			if err != nil || len(after.Faults) > 0 {
				t.Errorf("after going on: %v %q", err, after.Faults)
			}
			if after.Step < 30 {
				t.Errorf("step %d", after.Step)
			}
		})
	}
}

func TestDamageToSmallFilesIsNamedByCheck(t *testing.T) {
	dir := trained(t)
	for _, name := range []string{"session", "ratings.jsonl", "rating.json", "progress.json"} {
		file := filepath.Join(dir, name)
		old, err := os.ReadFile(file)
		if err != nil {
			old = nil
		}
		if err := os.WriteFile(file, []byte("{x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if status, out, _ := kirin(t, "check", "--dir", dir); status == 0 || !strings.Contains(out, name) {
			t.Errorf("%s: exit status %d\n%s", name, status, out)
		}
		if old == nil {
			os.Remove(file)
		} else if err := os.WriteFile(file, old, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "weights", "latest")); err != nil {
		t.Fatal(err)
	}
	if status, out, _ := kirin(t, "check", "--dir", dir); status == 0 || !strings.Contains(out, "latest is missing") {
		t.Errorf("a missing pointer: exit status %d\n%s", status, out)
	}
}

func TestARunThatWasKilledBeforeItsFirstNetWasNamedIsWhole(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	mustRun(t, tiny(dir, "--games", "1", "--set", "loop.first_positions=1000000")...)
	if err := os.Remove(filepath.Join(dir, "weights", "latest")); err != nil {
		t.Fatal(err)
	}
	if rep, err := checkRun(dir, true); err != nil || len(rep.Faults) > 0 {
		t.Errorf("%v, %q", err, rep.Faults)
	}
	mustRun(t, "train", "--dir", dir, "--games", "1")
	if rep, err := checkRun(dir, true); err != nil || len(rep.Faults) > 0 || strings.Contains(strings.Join(rep.Notes, " "), "no weights") {
		t.Errorf("%v, %q, %q", err, rep.Faults, rep.Notes)
	}
}
