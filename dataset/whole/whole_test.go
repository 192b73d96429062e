package whole

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestWriteFileReplacesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	for _, text := range []string{"one", "two"} {
		if err := WriteFile(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != text {
			t.Fatalf("read %q, %v; want %q", b, err, text)
		}
	}
	if n := names(t, dir); len(n) != 1 {
		t.Errorf("files left: %q", n)
	}
}

func TestAnAbortedFileLeavesTheOldOneAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := WriteFile(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("half")); err != nil {
		t.Fatal(err)
	}
	if err := f.Abort(); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(path); string(b) != "old" {
		t.Errorf("the old file reads %q", b)
	}
	if n := names(t, dir); len(n) != 1 {
		t.Errorf("files left: %q", n)
	}
}

func TestWriteDirIsWholeOrAbsent(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "step")
	fault := errors.New("disk full")
	err := WriteDir(path, func(tmp string) error {
		if err := os.WriteFile(filepath.Join(tmp, "x"), []byte("1"), 0o644); err != nil {
			return err
		}
		return fault
	})
	if !errors.Is(err, fault) {
		t.Fatalf("got %v", err)
	}
	if n := names(t, dir); len(n) != 0 {
		t.Fatalf("a failed folder left %q", n)
	}
	for range 2 {
		if err := WriteDir(path, func(tmp string) error {
			return os.WriteFile(filepath.Join(tmp, "x"), []byte("1"), 0o644)
		}); err != nil {
			t.Fatal(err)
		}
	}
	if n := names(t, dir); len(n) != 1 || n[0] != "step" {
		t.Errorf("files: %q", n)
	}
}

func TestSweepRemovesOnlyTemporaries(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []string{"a", ".hidden", ".a.123.tmp", "b.tmp"} {
		if err := os.WriteFile(filepath.Join(dir, n), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := Sweep(dir); err != nil {
		t.Fatal(err)
	}
	if n := names(t, dir); len(n) != 3 {
		t.Errorf("left: %q", n)
	}
	if err := Sweep(filepath.Join(dir, "none")); err != nil {
		t.Errorf("a missing folder: %v", err)
	}
}

func TestRemoveDirTakesEverythingAndMindsNoMissingFolder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "step")
	if err := os.MkdirAll(filepath.Join(path, "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := RemoveDir(path); err != nil {
			t.Fatal(err)
		}
		if n := names(t, dir); len(n) != 0 {
			t.Errorf("left: %q", n)
		}
	}
}
