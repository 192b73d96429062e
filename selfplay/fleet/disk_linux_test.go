package fleet

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// smallDisk mounts a disk of 24 MB at a folder. The test is skipped where that is
// not allowed, as it is to root alone, unless KIRIN_REQUIRE=all says that every
// test must run.
func smallDisk(t *testing.T, dir string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=24m"); err != nil {
		if os.Getenv("KIRIN_REQUIRE") == "all" {
			t.Fatalf("a small disk cannot be mounted, and KIRIN_REQUIRE=all asks for it: %v", err)
		}
		t.Skipf("a small disk cannot be mounted: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
}

func TestAFullDiskPausesTheTrainerAndLosesNothing(t *testing.T) {
	x := newTrainer(t)
	work := x.dir
	x.dir = filepath.Join(work, "disk")
	if err := os.Mkdir(x.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	smallDisk(t, x.dir)
	x.options.MaxBytes = 4 << 20
	x.start()
	games := x.games("a", 120)
	c := x.linkConfig("a")
	c.Dir = filepath.Join(work, "worker")
	w := join(t, c)
	w.send(games[:40])
	w.Drained(t.Context())

	filler := filepath.Join(x.dir, "filler")
	f, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	block := bytes.Repeat([]byte{1}, 4096)
	for err == nil {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	f.Close()
	w.send(games[40:80])
	eventually(t, "the trainer or the worker says that it waits", func() bool {
		return len(x.metrics.Waits()) > 0 || len(c.Metrics.Waits()) > 0
	})
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	w.send(games[80:])
	if !w.Drained(t.Context()) {
		t.Error("not drained")
	}
	x.waitFor(games)
	w.leave()
	x.stop()
}
