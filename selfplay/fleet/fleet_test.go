package fleet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"kirin/dataset"
	"kirin/metrics"
	"kirin/rules"
)

// trainer is a trainer's side in a test: everything but the training.
type trainer struct {
	t       *testing.T
	dir     string
	variant *rules.Variant
	server  *Server
	web     *Web
	intake  *Intake
	keys    *Keys
	nets    *Nets
	metrics *metrics.Metrics
	store   *dataset.Store
	queue   string // address
	http    string
	net     []byte // the newest weights
	url     string // of an external queue
	secured bool
	options Options
	verify  func(context.Context, *dataset.Game) (Verification, error)
	oldest  string
	seal    dataset.Options
}

const testHash = "c0ffee"

func newTrainer(t *testing.T) *trainer {
	t.Helper()
	v, err := rules.Load("minishogi")
	if err != nil {
		t.Fatal(err)
	}
	x := &trainer{t: t, dir: t.TempDir(), variant: v, queue: "127.0.0.1:0", http: "127.0.0.1:0", options: DefaultOptions(), oldest: "0.1.0", seal: dataset.DefaultOptions()}
	x.options.MaxBytes, x.options.Batch, x.options.MaxOpen = 64<<20, 64, 256
	x.seal.SealGames, x.seal.SealAfter = 32, time.Second
	return x
}

// start starts the trainer, again at the addresses it had.
func (x *trainer) start() {
	x.t.Helper()
	must := func(err error) {
		x.t.Helper()
		if err != nil {
			x.t.Fatal(err)
		}
	}
	var err error
	x.metrics = metrics.New()
	x.store, err = dataset.OpenStore(filepath.Join(x.dir, "games"), x.seal)
	must(err)
	_, err = x.store.Recover()
	must(err)
	dir := filepath.Join(x.dir, "fleet")
	x.keys, err = OpenKeys(dir)
	must(err)
	x.nets, err = OpenNets(dir)
	must(err)
	names := Names{DefaultQueue}
	sc := ServerConfig{Address: x.queue, Dir: filepath.Join(dir, "queue"), Names: names, Say: x.t.Logf}
	wc := WebConfig{Address: x.http, Keys: x.keys, Options: x.options, File: func(sum string) (string, error) {
		return filepath.Join(x.dir, "weights", sum), nil
	}}
	scheme := "http"
	if x.secured {
		a, err := OpenAuthority(dir, time.Now())
		must(err)
		config, err := a.Server(time.Now())
		must(err)
		sc.Keys, sc.TLS, wc.TLS, scheme = x.keys, config, config, "https"
	}
	if x.url == "" {
		x.server, err = StartServer(sc)
		must(err)
		x.queue = x.server.Address()
	}
	x.web, err = NewWeb(wc)
	must(err)
	x.http = x.web.Address()
	x.intake, err = StartIntake(x.t.Context(), IntakeConfig{
		Names: names, Options: x.options, Server: x.server, URL: x.url, Dir: dir, Keys: x.keys, Store: x.store, Seal: x.seal, Metrics: x.metrics,
		Judge:   &Judge{Codec: x.store.Codec(), Variant: x.variant, Hash: testHash, Published: x.nets.Has, Prove: NewProver(x.variant, 200).Prove},
		Welcome: Welcome{Protocol: Protocol, Version: "0.1.0", Oldest: x.oldest, Run: "test", Encoder: "planes", Hash: testHash, Web: scheme + "://" + x.http},
		Verify:  x.verify, Say: x.t.Logf, Patient: func(err error) bool { return errors.Is(err, syscall.ENOSPC) },
	})
	must(err)
	x.web.Serve(x.intake)
	if x.net == nil {
		x.publish(1)
	} else {
		x.announce(1)
	}
}

// publish makes a new net of 300 kB.
func (x *trainer) publish(step int64) string {
	x.t.Helper()
	x.net = bytes.Repeat(fmt.Appendf(nil, "net of step %d. ", step), 20_000)
	return x.announce(step)
}

func (x *trainer) sum() string {
	sum := sha256.Sum256(x.net)
	return hex.EncodeToString(sum[:])
}

func (x *trainer) announce(step int64) string {
	x.t.Helper()
	sum := x.sum()
	dir := filepath.Join(x.dir, "weights")
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, sum), x.net, 0o644), x.nets.Add(sum, step)); err != nil {
		x.t.Fatal(err)
	}
	x.intake.Announce(State{Net: sum, Step: step, Size: int64(len(x.net))})
	return sum
}

// stop ends the trainer as Ctrl-C does.
func (x *trainer) stop() {
	x.t.Helper()
	err := errors.Join(x.web.Close(), x.intake.Close())
	if x.server != nil {
		err = errors.Join(err, x.server.Close())
	}
	if err != nil {
		x.t.Errorf("the trainer ends with %v", err)
	}
}

// stored lists the ids of the games in shards, and fails when one is there
// twice.
func (x *trainer) stored() map[dataset.ID]bool {
	x.t.Helper()
	list, err := x.store.Index()
	if err != nil {
		x.t.Fatal(err)
	}
	ids := map[dataset.ID]bool{}
	for _, e := range list {
		if ids[e.ID] {
			x.t.Errorf("game %v is stored twice", e.ID)
		}
		ids[e.ID] = strings.HasSuffix(e.Path, ".parquet")
	}
	return ids
}

// waitFor waits until the games are in shards and nothing is left in the queue.
func (x *trainer) waitFor(games []*dataset.Game) {
	x.t.Helper()
	eventually(x.t, "all games in shards", func() bool {
		ids := x.stored()
		for _, g := range games {
			if !ids[g.ID] {
				return false
			}
		}
		return true
	})
	if n := len(x.stored()); n != len(games) {
		x.t.Errorf("%d games are stored, %d were sent", n, len(games))
	}
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(90 * time.Second); !f(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 90 s: %s", what)
		}
	}
}

// refusals reads the counter of a reason.
func (x *trainer) refusals(reason string) int {
	x.t.Helper()
	s, err := x.metrics.Snapshot()
	if err != nil {
		x.t.Fatal(err)
	}
	return int(s[fmt.Sprintf("kirin_fleet_refused_total{reason=%q}", reason)])
}

func (x *trainer) countsOne(reason string) {
	x.t.Helper()
	eventually(x.t, "a refusal counted as "+reason, func() bool { return x.refusals(reason) > 0 })
}

// play makes a short random game of a worker.
func (x *trainer) play(worker string, number int64) *dataset.Game {
	x.t.Helper()
	rng := rand.New(rand.NewPCG(uint64(number), uint64(worker[0])))
	for {
		g := &dataset.Game{
			Variant: x.variant.Name(), Rules: x.variant.Rules(), Seed: rng.Uint64(), Number: number, Net: x.sum(), Step: 1,
			Config: testHash, Version: "0.1.0", Kernel: "go", Worker: PlayerName(worker) + "w00",
		}
		for s, step := range x.nets.step {
			if s == g.Net {
				g.Step = step
			}
		}
		pos := x.variant.Start()
		g.Start = pos.SFEN()
		for len(g.Plies) < 300 {
			moves := pos.AppendMoves(nil)
			if g.Outcome = pos.Outcome(len(moves)); g.Outcome.Result != rules.Ongoing {
				g.SetID()
				return g
			}
			m := moves[rng.IntN(len(moves))]
			p := dataset.Ply{Move: m, Visits: 1, Flags: dataset.Full, Value: rules.Value{Win: 0.5, Loss: 0.5}, Target: []dataset.MoveWeight{{Move: m, Weight: 65535}}}
			g.Plies = append(g.Plies, p)
			pos.Do(m)
		}
	}
}

func (x *trainer) games(worker string, n int) []*dataset.Game {
	games := make([]*dataset.Game, n)
	for i := range games {
		games[i] = x.play(worker, int64(i))
	}
	return games
}

func (x *trainer) record(g *dataset.Game) []byte {
	x.t.Helper()
	b, err := dataset.NewCodec().Encode(nil, g)
	if err != nil {
		x.t.Fatal(err)
	}
	return b
}

// worker is a worker's side in a test.
type worker struct {
	*Link
	t    *testing.T
	stop context.CancelFunc
	ctx  context.Context
}

func (x *trainer) linkConfig(name string) LinkConfig {
	url := "nats://" + x.queue
	if x.url != "" {
		url = x.url
	}
	return LinkConfig{
		URL: url, Name: name, Dir: filepath.Join(x.dir, "worker-"+name), Quota: 64 << 20, Codec: dataset.NewCodec(), Metrics: metrics.New(), Say: x.t.Logf,
		Check: func(w *Welcome) error { return w.Check("0.1.0", "planes") },
	}
}

func join(t *testing.T, c LinkConfig) *worker {
	t.Helper()
	l, err := Join(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	w := &worker{Link: l, t: t}
	w.ctx, w.stop = context.WithCancel(t.Context())
	l.Run(w.ctx)
	return w
}

func (w *worker) send(games []*dataset.Game) {
	w.t.Helper()
	for _, g := range games {
		if err := w.Append(w.t.Context(), g); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *worker) leave() {
	w.t.Helper()
	w.stop()
	if err := w.Close(); err != nil {
		w.t.Errorf("the worker ends with %v", err)
	}
}

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
