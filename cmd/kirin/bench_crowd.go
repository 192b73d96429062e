package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"kirin/dataset"
	"kirin/metrics"
	"kirin/selfplay/fleet"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// sendReport is what a process of simulated workers has done.
type sendReport struct {
	Sent      int64     `json:"sent"`
	Failed    int64     `json:"failed"`
	Bytes     int64     `json:"bytes"`
	CPU       float64   `json:"cpu_seconds"`
	Connected int       `json:"connected"` // at most, at the same time
	Times     []float64 `json:"times"`     // seconds from sending a game until the queue has it, a sample
}

// crowdSize is the number of workers that one process simulates.
const crowdSize = 10_000

// crowds lets processes of their own send, and adds up what they report.
func (f *fleetBench) crowds(ctx context.Context, url string, stderr io.Writer) (*sendReport, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	total := &sendReport{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	var fault error
	for first := 0; first < f.workers; first += crowdSize {
		wg.Go(func() {
			n := min(crowdSize, f.workers-first)
			cmd := exec.CommandContext(ctx, self, "bench", "fleet", "--dir", f.dir, "--to", url, "--first", strconv.Itoa(first), "--workers", strconv.Itoa(n),
				"--rate", fmt.Sprint(f.rate*float64(n)/float64(f.workers)), "--for", f.duration.String())
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, stderr
			cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
			cmd.WaitDelay = time.Minute
			r := &sendReport{}
			err := cmd.Run()
			if err == nil {
				err = json.Unmarshal(out.Bytes(), r)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil && fault == nil {
				fault = fmt.Errorf("sender: %w", err)
			}
			total.Sent, total.Failed, total.Bytes, total.CPU = total.Sent+r.Sent, total.Failed+r.Failed, total.Bytes+r.Bytes, total.CPU+r.CPU
			total.Times, total.Connected = append(total.Times, r.Times...), total.Connected+r.Connected
		})
	}
	wg.Wait()
	return total, fault
}

// sendTo is such a process.
func (f *fleetBench) sendTo(ctx context.Context, stdout io.Writer) error {
	r, err := openRun(f.dir)
	if err != nil {
		return err
	}
	games, err := f.games(r)
	if err != nil {
		return err
	}
	c := &crowd{games: games, url: f.to, names: fleet.Names{Queue: benchQueue}, codec: dataset.NewCodec(), first: f.first}
	c.number.Store(int64(f.first) << 32)
	sending, stop := context.WithTimeout(ctx, f.duration)
	defer stop()
	if err := c.send(sending, f.workers, f.rate); err != nil {
		return err
	}
	c.report.CPU = metrics.ProcessSeconds()
	return writeJSON(stdout, c.report)
}

// crowd are the simulated workers of a process.
type crowd struct {
	games  []*dataset.Game
	url    string
	names  fleet.Names
	codec  *dataset.Codec
	first  int
	number atomic.Int64

	mu     sync.Mutex
	open   int // connections
	report sendReport
}

// send lets n workers send rate games a second until ctx ends; what was begun
// is finished.
func (c *crowd) send(ctx context.Context, n int, rate float64) error {
	var wg sync.WaitGroup
	faults := make(chan error, n)
	every := time.Duration(float64(n) / rate * float64(time.Second))
	start := time.Now()
	for i := range n {
		wg.Go(func() {
			// The first games are spread over one interval.
			if err := c.worker(ctx, c.first+i, every, start.Add(every*time.Duration(i)/time.Duration(n))); err != nil {
				faults <- err
			}
		})
	}
	wg.Wait()
	select {
	case err := <-faults:
		return err
	default:
		return nil
	}
}

func (c *crowd) worker(ctx context.Context, i int, every time.Duration, next time.Time) error {
	if !sleep(ctx, time.Until(next)) {
		return nil
	}
	name := fmt.Sprintf("sim%d", i)
	connect := func() (*nats.Conn, error) {
		return nats.Connect(c.url, nats.MaxReconnects(-1), nats.CustomInboxPrefix("_INBOX."+name), nats.Timeout(time.Minute), nats.ReconnectBufSize(-1))
	}
	nc, err := connect()
	for err != nil { // thousands that connect within seconds may be turned away at first
		if !sleep(ctx, time.Second) {
			return fmt.Errorf("worker %s: %w", name, err)
		}
		nc, err = connect()
	}
	defer nc.Close()
	c.count(1)
	defer c.count(-1)
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

// count notes a connection that is made or ends.
func (c *crowd) count(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open += n
	c.report.Connected = max(c.report.Connected, c.open)
}

// publish repeats until the queue has the game.
func (c *crowd) publish(ctx context.Context, js jetstream.JetStream, name string, record []byte) error {
	for {
		start := time.Now()
		try, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		_, err := js.PublishMsg(try, &nats.Msg{Subject: c.names.Queue + ".games." + name, Data: record})
		cancel()
		c.mu.Lock()
		r := &c.report
		if err == nil {
			if r.Sent++; r.Sent%8 == 0 {
				r.Times = append(r.Times, time.Since(start).Seconds())
			}
			r.Bytes += int64(len(record))
		} else {
			r.Failed++
		}
		c.mu.Unlock()
		if err == nil {
			return nil
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// quantile sorts x.
func quantile(x []float64, q float64) float64 {
	if len(x) == 0 {
		return 0
	}
	slices.Sort(x)
	return x[int(q*float64(len(x)-1))]
}
