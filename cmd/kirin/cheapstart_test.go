package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestACheapStartPlaysTheFirstGamesWithoutANetAndTheyCanBeReplayed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	mustRun(t, tiny(dir, "--games", "8", "--set", "loop.first_positions=1000000", "--set", "loop.cheap_start=true")...)
	allExact(t, dir, 3)
	other := filepath.Join(t.TempDir(), "other")
	status, _, errs := kirin(t, tiny(other, "--from", dir, "--set", "loop.cheap_start=true")...)
	if status == 0 || !strings.Contains(errs, "loop.cheap_start") || strings.Count(strings.TrimSpace(errs), "\n") > 0 {
		t.Errorf("--from: exit status %d\n%s", status, errs)
	}
	trainedDir := filepath.Join(t.TempDir(), "trained")
	mustRun(t, tiny(trainedDir, "--steps", "20", "--set", "loop.cheap_start=true")...)
	allExact(t, trainedDir, 3)
}
