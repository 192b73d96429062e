package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"kirin/configs"
	"kirin/dataset"
	"kirin/metrics"
	"kirin/rules"
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
	nats     string
	replicas int
	asJSON   bool

	to    string // not empty: this process sends
	first int
}

// benchQueue is the name of its queue, which disturbs no run on the same server.
const benchQueue = "kirin-bench"

// fleetRow is its result.
type fleetRow struct {
	Workers     int     `json:"workers"`
	Connected   int     `json:"most_connections"`
	Wanted      float64 `json:"wanted_games_per_second"`
	Sent        int64   `json:"sent"`
	Stored      int     `json:"stored"`
	Refused     int64   `json:"refused"`
	Lost        int64   `json:"lost"`   // neither stored nor refused
	Failed      int64   `json:"failed"` // tries that were repeated later
	Rate        float64 `json:"games_per_second"`
	Median      float64 `json:"send_median_seconds"`
	Slow        float64 `json:"send_99th_percentile_seconds"`
	Drain       float64 `json:"drain_seconds"` // from the last game sent until all are in shards
	CPU         float64 `json:"cpu_milliseconds_per_game"`
	SenderCPU   float64 `json:"sender_cpu_milliseconds_per_game"`
	Memory      float64 `json:"memory_bytes"` // of the trainer's side, at most
	StartMillis float64 `json:"start_milliseconds"`
	Bytes       int     `json:"bytes_per_game"`
}

func newBenchFleet() *cobra.Command {
	f := fleetBench{dir: "runs/" + configs.Presets()[0]}
	cmd := &cobra.Command{
		Use:   "fleet",
		Short: "Measure the way of games from many workers into one trainer's shards",
		Long: `Fleet starts the trainer's side of a run on several machines (queue, checks,
shards; no training) and, in processes of their own, simulated workers with a
connection each, which send the recorded games of a run at a given rate, each
game under a new number so that none is a duplicate. It ends when every game is
in a shard. CPU time and memory are those of the trainer's side; the senders
share the machine. Each connection is an open file on both ends (ulimit -n).
With --nats the games go through your own servers, over which the connections are
spread, in a queue called kirin-bench that is deleted at the end.`,
		Example: "  kirin bench fleet --dir runs/minishogi --workers 200 --rate 1000 --for 5m\n" +
			"  kirin bench fleet --nats nats://a:4222,nats://b:4222,nats://c:4222 --replicas 3",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.workers < 1 || f.workers > 100_000 || !(f.rate > 0) || f.duration <= 0 {
				return errors.New("--workers must be from 1 to 100000, --rate and --for above 0")
			}
			if f.replicas < 1 || f.replicas > 5 {
				return errors.New("--replicas must be from 1 to 5")
			}
			if f.to != "" {
				return f.sendTo(cmd.Context(), cmd.OutOrStdout())
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
	cmd.Flags().Var((*given)(&f.nats), "nats", "use this NATS server or cluster with JetStream instead of an embedded queue: nats://HOST:PORT,...")
	cmd.Flags().IntVar(&f.replicas, "replicas", 1, "copies of the queue in the cluster of --nats")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON object")
	cmd.Flags().StringVar(&f.to, "to", "", "be a sender: the queue's URL")
	cmd.Flags().IntVar(&f.first, "first", 0, "number of the sender's first worker")
	for _, name := range []string{"to", "first"} { // for the processes that it starts
		if err := cmd.Flags().MarkHidden(name); err != nil {
			panic(err)
		}
	}
	return cmd
}

// queue starts the embedded queue, unless there is one already.
func (f *fleetBench) queue(dir string, names fleet.Names, say func(string, ...any)) (*fleet.Server, string, error) {
	if f.nats != "" { // what a killed measurement left would be counted
		return nil, f.nats, f.deleteQueue(names)
	}
	server, err := fleet.StartServer(fleet.ServerConfig{Address: "127.0.0.1:0", Dir: dir, Names: names, Say: say})
	if err != nil {
		return nil, "", err
	}
	return server, "nats://" + server.Address(), nil
}

// deleteQueue leaves nothing on servers that are not ours.
func (f *fleetBench) deleteQueue(names fleet.Names) error {
	nc, err := nats.Connect(f.nats)
	if err != nil {
		return fmt.Errorf("delete the queue %s: %w", names.Queue, err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := names.Delete(ctx, js); err != nil {
		return fmt.Errorf("delete the queue %s: %w", names.Queue, err)
	}
	return nil
}

func (f *fleetBench) run(ctx context.Context, stderr io.Writer) (row *fleetRow, fault error) {
	r, err := openRun(f.dir)
	if err != nil {
		return nil, err
	}
	games, err := f.games(r)
	if err != nil {
		return nil, err
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
	names := fleet.Names{Queue: benchQueue}
	keys, err := fleet.OpenKeys(dir)
	if err != nil {
		return nil, err
	}
	row = &fleetRow{Workers: f.workers, Wanted: f.rate}
	start := time.Now()
	server, url, err := f.queue(filepath.Join(dir, "queue"), names, p.say)
	if err != nil {
		return nil, err
	}
	if server != nil {
		defer server.Close()
	} else {
		defer func() { fault = errors.Join(fault, f.deleteQueue(names)) }()
	}
	options := fleet.DefaultOptions()
	options.Replicas = f.replicas
	intake, err := fleet.StartIntake(ctx, fleet.IntakeConfig{
		Names: names, Options: options, Server: server, URL: f.nats, Dir: dir, Keys: keys, Store: store, Seal: r.cfg.Data, Metrics: m,
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
	peak := watchMemory(m)
	cpu := metrics.ProcessSeconds()
	began := time.Now()
	sent, err := f.crowds(ctx, url, stderr)
	last := time.Now()
	row.Sent, row.Failed = sent.Sent, sent.Failed
	row.Rate = float64(row.Sent) / min(last.Sub(began), f.duration).Seconds()
	row.SenderCPU = 1000 * sent.CPU / float64(max(row.Sent, 1))
	for err == nil && ctx.Err() == nil && time.Since(last) < 10*time.Minute {
		if s := intake.Status(); s.Time.After(last) && s.Backlog <= s.Open {
			break
		}
		sleep(ctx, 200*time.Millisecond)
	}
	err = errors.Join(err, intake.Close()) // makes shards of the journals
	row.Drain = time.Since(last).Seconds()
	row.CPU = (metrics.ProcessSeconds() - cpu) * 1000 / float64(max(row.Sent, 1))
	row.Memory, row.Connected = peak(), sent.Connected
	if err != nil {
		return nil, err
	}
	index, err := store.Index()
	if err != nil {
		return nil, err
	}
	for _, n := range intake.Status().Refused {
		row.Refused += n
	}
	row.Stored = len(index)
	row.Lost = row.Sent - int64(len(index)) - row.Refused
	row.Bytes = int(sent.Bytes / max(row.Sent, 1))
	row.Median, row.Slow = quantile(sent.Times, 0.5), quantile(sent.Times, 0.99)
	return row, nil
}

// games are the ones that are sent: but for those that end in a mate too long
// to be proven again in passing, which a trainer would play again with the net.
func (f *fleetBench) games(r *runDir) ([]*dataset.Game, error) {
	store, err := dataset.OpenStore(r.path("games"), r.cfg.Data)
	if err != nil {
		return nil, err
	}
	games, err := store.Newest(2000)
	prover := fleet.NewProver(r.variant, r.cfg.Selfplay.MateNodes)
	games = slices.DeleteFunc(games, func(g *dataset.Game) bool {
		return g.Outcome.Reason == rules.MateProven && prover.Prove(g) != fleet.Proven
	})
	if err == nil && len(games) == 0 {
		err = fmt.Errorf("%s holds no games to send", f.dir)
	}
	return games, err
}

// watchMemory looks every second until it is asked for the most that it has seen.
func watchMemory(m *metrics.Metrics) func() (bytes float64) {
	stop, done := make(chan struct{}), make(chan struct{})
	bytes := 0.0
	go func() {
		defer close(done)
		t := time.NewTicker(time.Second)
		defer t.Stop()
		for {
			if figures, err := m.Snapshot(); err == nil {
				bytes = max(bytes, figures["process_resident_memory_bytes"])
			}
			select {
			case <-stop:
				return
			case <-t.C:
			}
		}
	}()
	return func() float64 {
		close(stop)
		<-done
		return bytes
	}
}

func (r *fleetRow) write(w io.Writer, asJSON bool) error {
	if asJSON {
		return writeJSON(w, r)
	}
	_, err := fmt.Fprintf(w, `%s
%d workers (at most %d connections), %.0f games/s wanted: %d games of %d bytes sent (%.0f/s), %d stored, %d refused, %d lost, %d tries failed
sending %.1f ms (median), %.0f ms (99 of 100); all in shards %.1f s after the last
CPU a game: %.2f ms here, %.2f ms at its sender; at most %.0f MB here; start %.0f ms
`,
		machine(), r.Workers, r.Connected, r.Wanted, r.Sent, r.Bytes, r.Rate, r.Stored, r.Refused, r.Lost, r.Failed,
		1000*r.Median, 1000*r.Slow, r.Drain, r.CPU, r.SenderCPU, r.Memory/1e6, r.StartMillis)
	return err
}
