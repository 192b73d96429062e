package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func TestBenchFleetLosesNoGame(t *testing.T) {
	benchFleet(t)
}

// benchFleet runs the measurement with a few workers.
func benchFleet(t *testing.T, more ...string) {
	t.Helper()
	t.Setenv(asProgram, "1") // for the senders
	out := mustRun(t, append([]string{"bench", "fleet", "--dir", trained(t), "--workers", "5", "--rate", "40", "--for", "2s", "--json"}, more...)...)
	var row fleetRow
	if err := json.Unmarshal([]byte(out), &row); err != nil {
		t.Fatal(err)
	}
	if row.Sent < 5 || row.Lost != 0 || row.Sent != int64(row.Stored)+row.Refused || row.Connected != 5 || row.CPU <= 0 || row.SenderCPU <= 0 {
		t.Errorf("got %s", out)
	}
}

func TestBenchFleetThroughAServerOfOnesOwnLeavesNothingThere(t *testing.T) {
	ns, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(),
		JetStreamMaxStore: 4 << 30, JetStreamMaxMemory: 64 << 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	go ns.Start()
	defer ns.Shutdown()
	if !ns.ReadyForConnections(30 * time.Second) {
		t.Fatal("the server does not start")
	}
	nc, err := nats.Connect(ns.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	// What a killed measurement left.
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "kirin-bench-games", Subjects: []string{"kirin-bench.games.*"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "kirin-bench.games.old", []byte("old")); err != nil {
		t.Fatal(err)
	}
	benchFleet(t, "--nats", strings.Join([]string{ns.ClientURL(), ns.ClientURL()}, ","))
	for name := range js.StreamNames(t.Context()).Name() {
		t.Errorf("the server still has the stream %s", name)
	}
}

func TestBenchFleetReplicas(t *testing.T) {
	if status, _, errs := kirin(t, "bench", "fleet", "--replicas", "0"); status == 0 || !strings.Contains(errs, "--replicas must be from 1 to 5") {
		t.Errorf("got %d %s", status, errs)
	}
}
