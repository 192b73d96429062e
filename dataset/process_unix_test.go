//go:build unix

package dataset

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"kirin/rules"
)

const (
	childDir = "KIRIN_DATASET_CHILD"
	limitDir = "KIRIN_DATASET_LIMIT"
)

// TestMain lets the test program be the process that a test kills.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		fmt.Fprintln(os.Stderr, appendForEver(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// appendForEver goes on with the first game that is not stored and prints the number of each game that is.
func appendForEver(dir string) error {
	o := DefaultOptions()
	o.SealGames = 5
	s, err := OpenStore(dir, o)
	if err != nil {
		return err
	}
	w, err := s.Writer("w0")
	if err != nil {
		return err
	}
	stored, err := s.Numbers()
	if err != nil {
		return err
	}
	v, err := rules.Load("minishogi")
	if err != nil {
		return err
	}
	for n := int64(0); ; n++ {
		if stored[n] {
			continue
		}
		g := randomGame(v, n, 12)
		g.Step, g.ID = n/17, ID{}
		if err := w.Append(g); err != nil {
			return err
		}
		fmt.Println("stored", n)
	}
}

func TestAKilledProcessLosesNoStoredGame(t *testing.T) {
	dir, rng := t.TempDir(), rand.New(rand.NewPCG(1, 2))
	last := int64(-1)
	kills := 10
	if testing.Short() {
		kills = 3
	}
	for kill := range kills {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childDir+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		deadline := time.AfterFunc(30*time.Second, func() { cmd.Process.Kill() })
		want := 1 + rng.IntN(25)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var n int64
			if _, err := fmt.Sscanf(lines.Text(), "stored %d", &n); err != nil {
				continue
			}
			last = max(last, n)
			if want--; want == 0 {
				time.AfterFunc(time.Duration(rng.IntN(3000))*time.Microsecond, func() { cmd.Process.Kill() })
			}
		}
		_ = cmd.Wait() // killed
		deadline.Stop()
		if want > 0 {
			t.Fatalf("kill %d: the process ended by itself", kill)
		}
		r, err := Check(dir, false)
		if err != nil || len(r.Damaged) > 0 || r.Duplicates > 0 || len(r.Quarantined) > 0 {
			t.Fatalf("kill %d: %+v %v", kill, r, err)
		}
		if r.Games != last+1 && r.Games != last+2 { // one may be stored that could not be told any more
			t.Fatalf("kill %d: %d games, of which %d were acknowledged", kill, r.Games, last+1)
		}
		last = r.Games - 1
	}
	s := openStore(t, dir, nil)
	if _, err := s.Recover(); err != nil {
		t.Fatal(err)
	}
	var numbers []int64
	for g, err := range s.All() {
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, g.Number)
	}
	slices.Sort(numbers)
	for i, n := range numbers {
		if n != int64(i) {
			t.Fatalf("game %d is missing", i)
		}
	}
	if r, err := Check(dir, true); err != nil || len(r.Damaged)+len(r.Unfinished)+r.Journals > 0 || r.Games != last+1 {
		t.Fatalf("after recovery: %+v %v", r, err)
	}
	t.Logf("%d games over %d kills", len(numbers), kills)
}

func TestAFileSizeLimitIsACleanErrorAndTheWorkerGoesOn(t *testing.T) {
	dir := os.Getenv(limitDir)
	if dir == "" { // the limit would hold for the other tests too: a process of its own
		cmd := exec.Command(os.Args[0], "-test.run=^TestAFileSizeLimitIsACleanErrorAndTheWorkerGoesOn$", "-test.v")
		cmd.Env = append(os.Environ(), limitDir+"="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	// The signal that goes with the limit would end the process; ignored, the write fails with EFBIG.
	signal.Ignore(syscall.SIGXFSZ)
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	limit := old
	limit.Cur = 6000
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, dir, func(o *Options) { o.FS = nil })
	w := openWriter(t, s, "w0")
	games := randomGames(loadGame(t, "minishogi"), 0, 12, 20)
	failed := 0
	for i, g := range games {
		err := w.Append(g)
		if err == nil {
			continue
		}
		if !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), "w0-000001.journal") {
			t.Fatalf("game %d: %v", i, err)
		}
		failed++
		stillWhole(t, s, games[:i])
		if err := w.Flush(); !errors.Is(err, syscall.EFBIG) { // a shard of these games is larger than a journal
			t.Fatalf("sealing under the limit: %v", err)
		}
		stillWhole(t, s, games[:i])
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
			t.Fatal(err)
		}
		if err := w.Append(g); err != nil {
			t.Fatalf("with room again: %v", err)
		}
	}
	if failed != 1 {
		t.Fatalf("%d writes failed", failed)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	wantOnce(t, s, games)
}
