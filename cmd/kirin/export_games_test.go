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
