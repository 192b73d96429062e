package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestGeneratedFilesAreThoseOfThisGenerator writes everything anew and compares it with what is in the tree, except
// the first line, which holds the command.
func TestGeneratedFilesAreThoseOfThisGenerator(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "asm")
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	run("go", "build", "-o", bin, ".")
	run(bin, "-tables", filepath.Join(dir, "tiles.go"), "-switches", filepath.Join(dir, "tiles_amd64.go"))
	files := []string{"tiles.go", "tiles_amd64.go"}
	for _, set := range []string{"avx2", "avx512"} {
		for _, part := range []string{"gemm", "tiles", "elements"} {
			name := part + "_" + set + "_amd64"
			run(bin, "-set", set, "-part", part, "-pkg", "kernel", "-out", filepath.Join(dir, name+".s"), "-stubs", filepath.Join(dir, name+".go"))
			files = append(files, name+".s", name+".go")
		}
	}
	for _, f := range files {
		got, err := os.ReadFile(filepath.Join(dir, f))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join("..", f))
		if err != nil {
			t.Fatal(err)
		}
		_, got, _ = bytes.Cut(got, []byte("\n"))
		_, want, _ = bytes.Cut(want, []byte("\n"))
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs: run go generate in network/kernel", f)
		}
	}
}
