package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestBenchPrintsOneObjectALine(t *testing.T) {
	out := mustRun(t, "bench", "rules", "--rounds", "1", "--shallower", "3", "--json")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d lines:\n%s", len(lines), out)
	}
	for _, line := range lines {
		var r rulesRow
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Nodes == 0 || r.Speed <= 0 {
			t.Errorf("%s: %v", line, err)
		}
	}
	out = mustRun(t, "bench", "search", "--rounds", "1", "--searches", "3", "--json")
	lines = strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 8 {
		t.Fatalf("%d lines:\n%s", len(lines), out)
	}
	for _, line := range lines {
		var r searchRow
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Speed <= 0 {
			t.Errorf("%s: %v", line, err)
		}
	}
}
