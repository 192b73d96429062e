package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExportedKIFReadsBackAsTheSameGames(t *testing.T) {
	dir, out := trained(t), t.TempDir()
	folder := filepath.Join(out, "kif")
	mustRun(t, "export", "--games", dir, "--format", "kif", "--out", folder)
	lines := strings.Split(strings.TrimSpace(mustRun(t, "export", "--games", dir, "--format", "usi", "--out", "-")), "\n")
	files, err := filepath.Glob(filepath.Join(folder, "*.kif"))
	if err != nil || len(files) != len(lines) {
		t.Fatalf("%d files for %d games, %v", len(files), len(lines), err)
	}
	all := strings.Join(lines, "\n")
	for _, file := range files[:min(len(files), 5)] {
		usi := strings.TrimSpace(mustRun(t, "show", "--game", file, "--as", "usi"))
		_, moves, _ := strings.Cut(usi, " moves ")
		if !strings.Contains(all, " moves "+moves+"\t") {
			t.Errorf("%s: no game has these moves: %s", file, usi)
		}
		if b, err := os.ReadFile(file); err != nil || !strings.Contains(string(b), "評価値=") {
			t.Errorf("%s has no evaluations, %v", file, err)
		}
	}
	if status, _, errs := kirin(t, "export", "--games", dir, "--format", "kif", "--out", folder); status == 0 || !strings.Contains(errs, "exists already") {
		t.Errorf("a folder that exists: status %d, %s", status, errs)
	}
	if status, _, errs := kirin(t, "export", "--games", dir, "--format", "csa", "--out", "-"); status == 0 || !strings.Contains(errs, "for shogi only") {
		t.Errorf("minishogi as CSA: status %d, %s", status, errs)
	}
}

func TestGamesOfAMatchBecomeGameFiles(t *testing.T) {
	dir := t.TempDir()
	journal, folder := filepath.Join(dir, "match.jsonl"), filepath.Join(dir, "kif")
	net := untrained(t, "minishogi", "1x16")
	mustRun(t, "match", "--a", "net:"+net+",sims=4,name=net", "--b", "material", "--games", "4", "--journal", journal)
	mustRun(t, "export", "--games", journal, "--format", "kif", "--out", folder)
	lines := strings.Split(strings.TrimSpace(mustRun(t, "export", "--games", journal, "--format", "usi", "--out", "-")), "\n")
	if len(lines) != 4 || !strings.Contains(lines[0], "\tcheckmate") && !strings.Contains(lines[0], "\t") {
		t.Fatalf("%q", lines)
	}
	b, err := os.ReadFile(filepath.Join(folder, "00002.kif"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"先手：material", "後手：net", "評価値="} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%q is missing in\n%s", want, b)
		}
	}
	for format, want := range map[string]string{"parquet": "written as usi, kif or csa", "csa": "for shogi only"} {
		if status, _, errs := kirin(t, "export", "--games", journal, "--format", format, "--out", filepath.Join(dir, "x")); status == 0 || !strings.Contains(errs, want) {
			t.Errorf("%s: %d, %s", format, status, errs)
		}
	}
}
