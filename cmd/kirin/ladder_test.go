package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestALadderPlaysAnOutsideEngine(t *testing.T) {
	path, err := exec.LookPath("/usr/games/fairy-stockfish")
	if err != nil {
		if os.Getenv("KIRIN_REQUIRE") == "all" {
			t.Fatal("fairy-stockfish is not installed")
		}
		t.Skip("fairy-stockfish is not installed")
	}
	args := []string{"rate", "--player", "material", "--ladder", "uci:" + path, "--from", "1", "--to", "100", "--games", "4"}
	var r ladderReport
	if out := mustRun(t, append(args, "--json")...); json.Unmarshal([]byte(out), &r) != nil || r.Games != 4 || r.By != "nodes" || len(r.Rungs) == 0 {
		t.Errorf("%s", out)
	}
	journal := filepath.Join(t.TempDir(), "ladder.jsonl")
	args = append(args, "--journal", journal)
	first := mustRun(t, args...)
	if !strings.Contains(first, "material scores 50 % at about") || !strings.Contains(first, " games  score ") {
		t.Errorf("%s", first)
	}
	was, err := os.ReadFile(journal)
	if err != nil || strings.Count(string(was), "\n") != 3 {
		t.Fatalf("%s, %v", was, err)
	}
	again := mustRun(t, args...)
	if is, err := os.ReadFile(journal); err != nil || string(is) != string(was) || again != first {
		t.Errorf("a complete ladder plays on: %s, %v\n%s", is, err, again)
	}
	if status, _, errs := kirin(t, append(args, "--seed", "2")...); status == 0 || !strings.Contains(errs, "belongs to another ladder") {
		t.Errorf("%s", errs)
	}
}
