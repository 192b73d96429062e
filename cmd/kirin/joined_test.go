package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kirin/selfplay/fleet"
)

func TestAWorkerWithoutANameKeepsItsFolderAndItsNameOverStarts(t *testing.T) {
	t.Chdir(t.TempDir())
	start := func() (dir, name string, unlock func()) {
		t.Helper()
		f := selfplayFlags{}
		unlock, err := f.workerFolder("")
		if err != nil {
			t.Fatal(err)
		}
		if name, err = workerName(f.dir, ""); err != nil || fleet.CheckName(name) != nil {
			t.Fatalf("%q, %v", name, err)
		}
		return f.dir, name, unlock
	}
	dir, name, unlock := start()
	dir2, name2, unlock2 := start()
	if dir == dir2 || name == name2 {
		t.Errorf("two workers of one machine are %s in %s and %s in %s", name, dir, name2, dir2)
	}
	unlock()
	if d, n, free := start(); d != dir || n != name {
		t.Errorf("the next start is %s in %s, not %s in %s", n, d, name, dir)
	} else {
		free()
	}
	unlock2()
}

func TestAWorkerIsNotRenamedWhileItsFolderHoldsGames(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ given, want string }{{"a", "a"}, {"", "a"}, {"b", "b"}} {
		if got, err := workerName(dir, c.given); err != nil || got != c.want {
			t.Fatalf("--name %q: %q, %v", c.given, got, err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "outbox"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "outbox", "000001.journal"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := workerName(dir, "c"); err == nil || !strings.Contains(err.Error(), "of the worker b") {
		t.Errorf("%v", err)
	}
	if got, err := workerName(dir, ""); err != nil || got != "b" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAWorkerThatIsStoppedBeforeTheTrainerAnswersEndsWell(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	said := &lockedBuffer{}
	done := make(chan error, 1)
	f := selfplayFlags{join: "nats://127.0.0.1:1", quota: 1 << 20, workers: -1}
	go func() { done <- f.run(ctx, said) }()
	waitUntil(t, "it waits", func() bool {
		return strings.Contains(said.String(), "waiting for the trainer: no connection to nats://127.0.0.1:1\n")
	})
	cancel()
	select {
	case err := <-done:
		if err != nil || !strings.Contains(said.String(), "stopped before the trainer answered") {
			t.Errorf("%v\n%s", err, said.String())
		}
	case <-time.After(time.Minute):
		t.Error("it does not end")
	}
}

func TestForCountsWhileAWorkerWaitsForTheTrainer(t *testing.T) {
	t.Chdir(t.TempDir())
	said := &lockedBuffer{}
	f := selfplayFlags{join: "nats://127.0.0.1:1", quota: 1 << 20, workers: -1, duration: 50 * time.Millisecond}
	if err := f.run(t.Context(), said); err != nil || !strings.Contains(said.String(), "stopped before the trainer answered") {
		t.Errorf("%v\n%s", err, said.String())
	}
}
