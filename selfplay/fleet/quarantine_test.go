package fleet

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"kirin/dataset"
)

func TestAReleasedWorkerCountsAgainAtOnce(t *testing.T) {
	x := newTrainer(t)
	x.options.VerifyWorker = 1
	var honest atomic.Bool
	x.verify = func(context.Context, *dataset.Game) (Verification, error) {
		return Verification{Same: honest.Load(), Why: "the net plays another move"}, nil
	}
	x.start()
	w := join(t, x.linkConfig("a"))
	w.send([]*dataset.Game{x.play("a", 1)})
	x.countsOne(RefusedMismatch)
	w.send([]*dataset.Game{x.play("a", 2)})
	x.countsOne(RefusedQuarantined)

	honest.Store(true)
	// As kirin fleet release does, in a process of its own.
	q, err := OpenQuarantine(filepath.Join(x.dir, "fleet"))
	if err != nil || !strings.Contains(q.List()["a"], "the net plays another move") {
		t.Fatalf("%v, %v", q.List(), err)
	}
	if err := errors.Join(q.Release("a"), q.Release("b")); err == nil || !strings.Contains(err.Error(), "b is not quarantined") || strings.Contains(err.Error(), "a is not") {
		t.Errorf("%v", err)
	}
	eventually(t, "the trainer has read the list", func() bool { return !x.intake.aside.Has("a") })
	games := []*dataset.Game{x.play("a", 3), x.play("a", 4)}
	w.send(games)
	x.waitFor(games)
	w.leave()
	x.stop()
}

func TestTheQuarantineOfAnotherProcessIsKept(t *testing.T) {
	dir := t.TempDir()
	open := func() *Quarantine {
		t.Helper()
		q, err := OpenQuarantine(dir)
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	first, second := open(), open()
	if err := errors.Join(first.Add("a", "x"), second.Add("b", "y"), second.Release("a"), first.Add("c", "z")); err != nil {
		t.Fatal(err)
	}
	if got := open().List(); len(got) != 2 || got["b"] != "y" || got["c"] != "z" {
		t.Errorf("%v", got)
	}
	if err := os.WriteFile(first.file(), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := first.Refresh(); err == nil || !strings.Contains(err.Error(), "damaged") || !first.Has("c") {
		t.Errorf("%v, %v", err, first.List())
	}
	if err := first.Add("d", "v"); err != nil || !open().Has("c") || !open().Has("d") {
		t.Errorf("a damaged list is not replaced: %v, %v", err, open().List())
	}
}
