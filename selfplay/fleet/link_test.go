package fleet

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kirin/dataset"
	"kirin/metrics"
)

func TestGamesOfSeveralWorkersComeIntoShardsExactlyOnce(t *testing.T) {
	x := newTrainer(t)
	x.start()
	var all []*dataset.Game
	for _, name := range []string{"a", "b", "c"} {
		games := x.games(name, 40)
		w := join(t, x.linkConfig(name))
		w.send(games)
		w.send(games[:5]) // a worker that plays a game again after a crash
		if !w.Drained(t.Context()) {
			t.Fatal("not drained")
		}
		w.leave()
		all = append(all, games...)
	}
	x.waitFor(all)
	x.stop()
	for range 2 { // started again it still knows them
		x.start()
		w := join(t, x.linkConfig("a"))
		w.send(all[:40])
		w.Drained(t.Context())
		w.leave()
		eventually(t, "duplicates counted", func() bool { return x.refusals(RefusedDuplicate) >= 40 })
		x.stop()
	}
	if n := len(x.stored()); n != len(all) {
		t.Errorf("%d games are stored, want %d", n, len(all))
	}
}

func TestWorkersFetchNewWeightsAndKeepTwo(t *testing.T) {
	x := newTrainer(t)
	x.start()
	c := x.linkConfig("a")
	w := join(t, c)
	for step := int64(1); step <= 4; step++ {
		sum := x.publish(step)
		eventually(t, "the new net", func() bool { return w.State().Net == sum })
		eventually(t, "its weights", func() bool {
			file, s, err := w.Weights(t.Context())
			if err != nil {
				return false
			}
			b, err := os.ReadFile(file)
			return err == nil && s.Step == step && bytes.Equal(b, x.net)
		})
		eventually(t, "the followers' housekeeping", func() bool { return w.store.has(sum) })
	}
	eventually(t, "only two nets are kept", func() bool {
		entries, err := os.ReadDir(filepath.Join(c.Dir, "weights"))
		return err == nil && len(entries) == 2
	})
	w.leave()
	x.stop()
}

func TestADownloadGoesOnWhereItWasAndDamageIsFetchedAnew(t *testing.T) {
	x := newTrainer(t)
	x.start()
	c := x.linkConfig("a")
	part := filepath.Join(c.Dir, "weights", x.sum()+partExt)
	if err := os.MkdirAll(filepath.Dir(part), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, start := range [][]byte{x.net[:1000], x.net, {}, bytes.Repeat([]byte("x"), 1000), append(bytes.Clone(x.net), 1)} {
		if err := os.WriteFile(part, start, 0o644); err != nil {
			t.Fatal(err)
		}
		before := x.sent()
		w := join(t, c)
		var file string
		eventually(t, "the weights", func() (ok bool) {
			var err error
			file, _, err = w.Weights(t.Context())
			return err == nil
		})
		if b, err := os.ReadFile(file); err != nil || !bytes.Equal(b, x.net) {
			t.Errorf("after %d bytes: other weights (%v)", len(start), err)
		}
		if len(start) == 1000 && start[0] != 'x' && x.sent()-before > float64(len(x.net)-1000) {
			t.Errorf("%v bytes were sent, %d were missing", x.sent()-before, len(x.net)-1000)
		}
		w.leave()
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	x.stop()
}

func TestWhoIsToldToStopDoesNotWaitForADownload(t *testing.T) {
	asked, never := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(asked)
		<-never
	}))
	defer server.Close()
	defer close(never)
	w := &weights{dir: t.TempDir(), base: server.URL, client: server.Client(), busy: make(chan struct{}, 1)}
	sum := strings.Repeat("ab", 32)
	follows, stopFollowing := context.WithCancel(t.Context())
	followed := make(chan error, 1)
	go func() {
		_, err := w.get(follows, sum)
		followed <- err
	}()
	<-asked
	player, stop := context.WithCancel(t.Context())
	stop()
	if _, err := w.get(player, sum); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	stopFollowing()
	if err := <-followed; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func (x *trainer) sent() float64 {
	s, err := x.metrics.Snapshot()
	if err != nil {
		x.t.Fatal(err)
	}
	return s["kirin_fleet_weights_sent_bytes_total"]
}

func TestAWorkerPlaysOnWithoutATrainerUntilItsOutboxIsFull(t *testing.T) {
	x := newTrainer(t)
	x.start()
	games := x.games("a", 60)
	c := x.linkConfig("a")
	c.Quota = int64(40 * len(x.record(games[0])))
	w := join(t, c)
	w.send(games[:10])
	w.Drained(t.Context())
	x.stop()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for _, g := range games[10:] {
			if err := w.Append(w.ctx, g); err != nil {
				t.Error(err)
			}
		}
	}()
	eventually(t, "the worker says that it waits, and why", func() bool {
		for _, wait := range c.Metrics.Waits() {
			if wait.Reason == metrics.WaitOutbox {
				return true
			}
		}
		return false
	})
	x.start()
	<-sent
	if !w.Drained(t.Context()) {
		t.Error("the outbox is not empty")
	}
	x.waitFor(games)
	w.leave()
	x.stop()
}

func TestAWorkerThatDiedSendsWhatItHadFinished(t *testing.T) {
	x := newTrainer(t)
	x.start()
	games := x.games("a", 70)
	c := x.linkConfig("a")
	l, err := Join(t.Context(), c) // it never runs, so it sends nothing
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range games {
		if err := l.Append(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	l.way.close() // as a killed process leaves it: nothing closed in order
	torn := l.outbox.path(l.outbox.seq)
	b, err := os.ReadFile(torn)
	if err == nil {
		err = os.WriteFile(torn, append(b, x.record(x.play("a", 999))[:100]...), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	w := join(t, c)
	if !w.Drained(t.Context()) {
		t.Fatal("not drained")
	}
	x.waitFor(games)
	w.leave()
	if entries, err := os.ReadDir(filepath.Join(c.Dir, "outbox")); err != nil || len(entries) > 0 {
		t.Errorf("the outbox still holds %v (%v)", entries, err)
	}
	x.stop()
}

func TestProgramsThatDoNotFitSayWhatToDo(t *testing.T) {
	good := Welcome{Protocol: Protocol, Version: "0.3.0", Oldest: "0.2.0", Encoder: "planes"}
	if err := good.Check("0.2.0", "planes"); err != nil {
		t.Error(err)
	}
	if err := good.Check("0.10.1", "planes"); err != nil {
		t.Error(err)
	}
	newer, olderOne := good, good
	newer.Protocol++
	olderOne.Protocol--
	for _, c := range []struct {
		w                *Welcome
		version, encoder string
		want             string
	}{
		{&good, "0.1.9", "planes", "update this worker"},
		{&good, "0.2.0", "others", "use the trainer's version, kirin 0.3.0"},
		{&newer, "0.2.0", "planes", "update this worker"},
		{&olderOne, "0.2.0", "planes", "update the trainer"},
	} {
		if err := c.w.Check(c.version, c.encoder); !errors.Is(err, ErrUpdate) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %q", c.version, c.encoder, err, c.want)
		}
	}
}

func TestARollingUpdateLosesNoGame(t *testing.T) {
	x := newTrainer(t)
	x.start()
	games := x.games("a", 30)
	w := join(t, x.linkConfig("a"))
	w.send(games[:20])
	x.stop()
	w.send(games[20:])
	x.oldest = "0.2.0" // the trainer is updated, and wants newer workers
	x.start()
	if !w.Drained(t.Context()) {
		t.Error("the old worker's finished games are not taken")
	}
	if err := w.readWelcome(t.Context()); !errors.Is(err, ErrUpdate) {
		t.Errorf("the old worker goes on: %v", err)
	}
	w.leave()
	if _, err := Join(t.Context(), x.linkConfig("a")); !errors.Is(err, ErrUpdate) {
		t.Errorf("an old worker joins: %v", err)
	}
	x.waitFor(games)
	x.stop()
}

func TestOptionsAreChecked(t *testing.T) {
	if err := DefaultOptions().Validate(); err != nil {
		t.Error(err)
	}
	bad := Options{VerifyGuest: 2, Replicas: 9}
	err := bad.Validate()
	for _, key := range []string{"max_bytes", "max_per_worker", "batch", "ack_wait", "verify_guest", "guest_games", "replicas"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s is missing in %v", key, err)
		}
	}
}

// has tells whether a net is among those that stay.
func (w *weights) has(sum string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.kept) > 0 && w.kept[len(w.kept)-1] == sum
}

// The queue reads the TLS configuration while the web server, which is given the
// same, would write to it.
func TestTheWebServerChangesNoTLSOfOthers(t *testing.T) {
	a, err := OpenAuthority(t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	config, err := a.Server(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWeb(WebConfig{Address: "127.0.0.1:0", TLS: config})
	if err != nil {
		t.Fatal(err)
	}
	w.Serve(nil)
	c, err := tls.Dial("tcp", w.Address(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if len(config.NextProtos) > 0 {
		t.Errorf("it speaks %v now", config.NextProtos)
	}
}
