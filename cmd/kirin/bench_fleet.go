package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"kirin/configs"
	"kirin/dataset"
	"kirin/metrics"
	"kirin/selfplay/fleet"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"
)

// fleetBench measures the way of games from many workers into shards.
type fleetBench struct {
	dir      string
	rate     float64
	workers  int
	duration time.Duration
	asJSON   bool
}

// fleetRow is its result.
type fleetRow struct {
	Workers     int     `json:"workers"`
	Wanted      float64 `json:"wanted_games_per_second"`
	Sent        int64   `json:"sent"`
	Stored      int     `json:"stored"`
	Lost        int64   `json:"lost"`
	Failed      int64   `json:"failed"` // tries that were repeated later
	Rate        float64 `json:"games_per_second"`
	Median      float64 `json:"send_median_seconds"`
	Slow        float64 `json:"send_99th_percentile_seconds"`
	Drain       float64 `json:"drain_seconds"` // from the last game sent until all are in shards
	CPU         float64 `json:"cpu_milliseconds_per_game"`
	Memory      float64 `json:"memory_bytes"`
	StartMillis float64 `json:"start_milliseconds"`
	Bytes       int     `json:"bytes_per_game"`
}

func newBenchFleet() *cobra.Command {
	f := fleetBench{dir: "runs/" + configs.Presets()[0]}
	cmd := &cobra.Command{
		Use:   "fleet",
		Short: "Measure the way of games from many workers into one trainer's shards",
		Long: `Fleet starts the trainer's side of a run on several machines (queue, checks,
shards; no training) and simulated workers in the same process, which send the
recorded games of a run at a given rate, each game under a new number so that
none is a duplicate. It ends when every game is in a shard. The workers take part
of the CPU time that is shown.`,
		Example: "  kirin bench fleet --dir runs/minishogi --workers 200 --rate 1000 --for 5m",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.workers < 1 || f.workers > 100_000 || !(f.rate > 0) || f.duration <= 0 {
				return errors.New("--workers must be from 1 to 100000, --rate and --for above 0")
			}
			row, err := f.run(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return row.write(cmd.OutOrStdout(), f.asJSON)
		},
	}
	cmd.Flags().Var((*given)(&f.dir), "dir", "run whose games are sent")
	cmd.Flags().Float64Var(&f.rate, "rate", 1000, "games a second, of all workers together")
	cmd.Flags().IntVar(&f.workers, "workers", 100, "simulated workers, each with a connection of its own")
	cmd.Flags().DurationVar(&f.duration, "for", 10*time.Second, "how long they send")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON object")
	return cmd
}

func (f *fleetBench) run(ctx context.Context, stderr io.Writer) (*fleetRow, error) {
	r, err := openRun(f.dir)
	if err != nil {
		return nil, err
	}
	old, err := dataset.OpenStore(r.path("games"), r.cfg.Data)
	if err != nil {
		return nil, err
	}
	games, err := old.Newest(2000)
	if err != nil {
		return nil, err
	}
	if len(games) == 0 {
		return nil, fmt.Errorf("%s holds no games to send", f.dir)
	}
	dir, err := os.MkdirTemp("", "kirin-bench-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	store, err := dataset.OpenStore(filepath.Join(dir, "games"), r.cfg.Data)
	if err != nil {
		return nil, err
	}
	p := newProgress(stderr)
	m := metrics.New()
	names := fleet.Names{Queue: fleet.DefaultQueue}
	keys, err := fleet.OpenKeys(dir)
	if err != nil {
		return nil, err
	}
	row := &fleetRow{Workers: f.workers, Wanted: f.rate}
	start := time.Now()
	server, err := fleet.StartServer(fleet.ServerConfig{Address: "127.0.0.1:0", Dir: filepath.Join(dir, "queue"), Names: names, Say: p.say})
	if err != nil {
		return nil, err
	}
	defer server.Close()
	intake, err := fleet.StartIntake(ctx, fleet.IntakeConfig{
		Names: names, Options: fleet.DefaultOptions(), Server: server, Dir: dir, Keys: keys, Store: store, Seal: r.cfg.Data, Metrics: m,
		Judge: &fleet.Judge{
			Codec: store.Codec(), Variant: r.variant, Hash: games[0].Config, CapPlies: r.cfg.Selfplay.CapPlies,
			Published: func(string, int64) bool { return true }, Prove: fleet.NewProver(r.variant, r.cfg.Selfplay.MateNodes).Prove,
		},
		Say: p.say, Patient: waitable,
	})
	if err != nil {
		return nil, err
	}
	row.StartMillis = float64(time.Since(start).Microseconds()) / 1000
	crowd := &crowd{games: games, url: "nats://" + server.Address(), names: names, codec: dataset.NewCodec()}
	cpu := metrics.ProcessSeconds()
	began := time.Now()
	sending, stop := context.WithTimeout(ctx, f.duration)
	defer stop()
	err = crowd.send(sending, f.workers, f.rate, func() {
		p.show(fmt.Sprintf("%d sent, %d failed", crowd.sent.Load(), crowd.failed.Load()))
	})
	last := time.Now()
	row.Sent, row.Failed = crowd.sent.Load(), crowd.failed.Load()
	row.Rate = float64(row.Sent) / last.Sub(began).Seconds()
	for err == nil && ctx.Err() == nil && time.Since(last) < 10*time.Minute {
		if s := intake.Status(); s.Time.After(last) && s.Backlog <= s.Open {
			break
		}
		sleep(ctx, 200*time.Millisecond)
	}
	err = errors.Join(err, intake.Close()) // makes shards of the journals
	row.Drain = time.Since(last).Seconds()
	row.CPU = (metrics.ProcessSeconds() - cpu) * 1000 / float64(max(row.Sent, 1))
	if figures, err := m.Snapshot(); err == nil {
		row.Memory = figures["process_resident_memory_bytes"]
	}
	if err != nil {
		return nil, err
	}
	index, err := store.Index()
	if err != nil {
		return nil, err
	}
	row.Stored, row.Lost = len(index), row.Sent-int64(len(index))
	row.Bytes = int(crowd.bytes.Load() / max(row.Sent, 1))
	row.Median, row.Slow = crowd.quantile(0.5), crowd.quantile(0.99)
	return row, nil
}

func (r *fleetRow) write(w io.Writer, asJSON bool) error {
	if asJSON {
		return writeJSON(w, r)
	}
	_, err := fmt.Fprintf(w, "%s\n%d workers, %.0f games/s wanted: %d games of %d bytes sent (%.0f/s), %d stored, %d lost, %d tries failed\nsending %.1f ms (median), %.0f ms (99 of 100); all in shards %.1f s after the last; %.2f ms CPU a game with its sender; %.0f MB; start %.0f ms\n",
		machine(), r.Workers, r.Wanted, r.Sent, r.Bytes, r.Rate, r.Stored, r.Lost, r.Failed, 1000*r.Median, 1000*r.Slow, r.Drain, r.CPU, r.Memory/1e6, r.StartMillis)
	return err
}

// crowd are the simulated workers.
type crowd struct {
	games []*dataset.Game
	url   string
	names fleet.Names
	codec *dataset.Codec

	number, sent, failed, bytes atomic.Int64

	mu    sync.Mutex
	times []float64 // seconds, a sample
}

// send lets n workers send rate games a second until ctx ends; what was begun
// is finished.
func (c *crowd) send(ctx context.Context, n int, rate float64, tick func()) error {
	var wg sync.WaitGroup
	faults := make(chan error, n)
	every := time.Duration(float64(n) / rate * float64(time.Second))
	start := time.Now()
	for i := range n {
		wg.Go(func() {
			// The first games are spread over one interval.
			if err := c.worker(ctx, i, every, start.Add(every*time.Duration(i)/time.Duration(n))); err != nil {
				faults <- err
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for {
		select {
		case <-done:
			select {
			case err := <-faults:
				return err
			default:
				return nil
			}
		case <-time.After(time.Second):
			tick()
		}
	}
}

func (c *crowd) worker(ctx context.Context, i int, every time.Duration, next time.Time) error {
	if !sleep(ctx, time.Until(next)) {
		return nil
	}
	name := fmt.Sprintf("sim%d", i)
	nc, err := nats.Connect(c.url, nats.MaxReconnects(-1), nats.CustomInboxPrefix("_INBOX."+name), nats.Timeout(time.Minute), nats.ReconnectBufSize(-1))
	if err != nil {
		return fmt.Errorf("worker %s: %w", name, err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	for sleep(ctx, time.Until(next)) {
		next = next.Add(every)
		g := *c.games[int(c.number.Load())%len(c.games)]
		g.Number = c.number.Add(1)
		g.Worker, g.Config = fleet.PlayerName(name)+"w00", c.games[0].Config
		g.SetID()
		record, err := c.codec.Encode(nil, &g)
		if err != nil {
			return err
		}
		if err := c.publish(ctx, js, name, record); err != nil {
			return err
		}
	}
	return nil
}

// publish repeats until the queue has the game.
func (c *crowd) publish(ctx context.Context, js jetstream.JetStream, name string, record []byte) error {
	for {
		start := time.Now()
		try, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		_, err := js.PublishMsg(try, &nats.Msg{Subject: c.names.Queue + ".games." + name, Data: record})
		cancel()
		if err == nil {
			took := time.Since(start).Seconds()
			if n := c.sent.Add(1); n%8 == 0 {
				c.mu.Lock()
				c.times = append(c.times, took)
				c.mu.Unlock()
			}
			c.bytes.Add(int64(len(record)))
			return nil
		}
		c.failed.Add(1)
		time.Sleep(200 * time.Millisecond)
	}
}

func (c *crowd) quantile(q float64) float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.times) == 0 {
		return 0
	}
	slices.Sort(c.times)
	return c.times[int(q*float64(len(c.times)-1))]
}
