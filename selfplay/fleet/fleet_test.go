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
