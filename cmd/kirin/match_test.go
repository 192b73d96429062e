package main

import (
	"path/filepath"
	"strings"
	"testing"

	"kirin/selfplay/match"
)

func TestAClockHasSomeSlack(t *testing.T) {
	out := mustRun(t, "match", "--a", "material", "--b", "random", "--games", "2", "--max-plies", "12", "--byoyomi", "1ns")
	if !strings.Contains(out, "2 games") || strings.Contains(out, "time 2") {
		t.Errorf("%s", out)
	}
}

func TestASequentialTestSaysWhatItHasShown(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "match.jsonl")
	args := []string{"match", "--a", "material", "--b", "random", "--games", "2", "--sprt", "0,20", "--journal", journal}
	if out := mustRun(t, args...); !strings.Contains(out, "SPRT [0, 20]: undecided, LLR ") || !strings.Contains(out, "more games are needed\n") {
		t.Errorf("%s", out)
	}
	for decision, want := range map[string]string{
		match.Undecided: "SPRT [0, 40]: undecided, LLR 1.00 is still between -2.94 and 2.94: more games are needed",
		match.AcceptH0:  "SPRT [0, 40]: H0, the difference is rather 0 than 40 Elo (LLR 1.00, at most -2.94)",
		match.AcceptH1:  "SPRT [0, 40]: H1, the difference is rather 40 than 0 Elo (LLR 1.00, at least 2.94)",
	} {
		if got := verdict(&match.SPRTStatus{Elo1: 40, LLR: 1, Lower: -2.94, Upper: 2.94, Decision: decision}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
