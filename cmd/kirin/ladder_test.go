package main

import (
	"encoding/json"
	"os"
	"os/exec"
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
	if out := mustRun(t, args...); !strings.Contains(out, "material scores 50 % at about") || !strings.Contains(out, " games  score ") {
		t.Errorf("%s", out)
	}
}
