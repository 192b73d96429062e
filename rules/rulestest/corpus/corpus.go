// Package corpus gives fuzz tests the inputs that earlier, longer fuzzing found interesting.
//
// A corpus is a zip archive of files as go test writes them, one for each fuzz test, kept beside the test in
// testdata/corpus. After a long run it is made anew from Go's cache:
//
//	go test -run '^$' -fuzz '^FuzzSFEN$' -fuzztime 10m ./rules
//	zip -qjX rules/testdata/corpus/FuzzSFEN.zip $(go env GOCACHE)/fuzz/kirin/rules/FuzzSFEN/*
package corpus

import (
	"archive/zip"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// version is the first line of every file.
const version = "go test fuzz v1"

// Add adds the inputs of testdata/corpus/NAME.zip to the fuzz test of that name.
func Add(f *testing.F) {
	f.Helper()
	r, err := zip.OpenReader(filepath.Join("testdata", "corpus", f.Name()+".zip"))
	if err != nil {
		f.Fatal(err)
	}
	defer r.Close()
	for _, file := range r.File {
		args, err := read(file)
		if err != nil {
			f.Fatalf("%s: %s: %v", f.Name(), file.Name, err)
		}
		f.Add(args...)
	}
}

func read(file *zip.File) ([]any, error) {
	r, err := file.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return parse(string(b))
}

// parse reads the arguments of one call of a fuzz test: bytes, strings and slices of bytes, a line each.
func parse(text string) ([]any, error) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if lines[0] != version {
		return nil, fmt.Errorf("the first line is not %q", version)
	}
	var args []any
	for _, line := range lines[1:] {
		kind, quoted, ok := strings.Cut(line, "(")
		quoted, closed := strings.CutSuffix(quoted, ")")
		if !ok || !closed {
			return nil, fmt.Errorf("%q is no argument", line)
		}
		s, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		switch r := []rune(s); {
		case kind == "byte" && len(r) == 1 && r[0] <= 0xff:
			args = append(args, byte(r[0]))
		case kind == "byte" && len(s) == 1: // '\x80' to '\xff'
			args = append(args, s[0])
		case kind == "string":
			args = append(args, s)
		case kind == "[]byte":
			args = append(args, []byte(s))
		default:
			return nil, fmt.Errorf("%q is no byte, string or slice of bytes", line)
		}
	}
	return args, nil
}
