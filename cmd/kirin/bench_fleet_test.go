package main

import (
	"encoding/json"
	"testing"
)

func TestBenchFleetLosesNoGame(t *testing.T) {
	t.Setenv(asProgram, "1") // for the senders
	out := mustRun(t, "bench", "fleet", "--dir", trained(t), "--workers", "5", "--rate", "40", "--for", "2s", "--json")
	var row fleetRow
	if err := json.Unmarshal([]byte(out), &row); err != nil {
		t.Fatal(err)
	}
	if row.Sent < 5 || row.Lost != 0 || row.Sent != int64(row.Stored)+row.Refused || row.Connected != 5 || row.CPU <= 0 || row.SenderCPU <= 0 {
		t.Errorf("got %s", out)
	}
}
