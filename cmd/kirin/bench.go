package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"kirin/metrics"
	"kirin/network/kernel"
	"kirin/rules"

	"github.com/spf13/cobra"
)

func newBench() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure speeds, beside other programs where they are installed",
		Long: `Bench measures CPU time, several rounds in turn with the other program, and gives
the median. A figure says something on this machine only; a ratio says more.`,
		Example: "  kirin bench rules\n  kirin bench net --variant chushogi --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBenchRules(), newBenchNet(), newBenchTrain(), newBenchJob(), newBenchSearch(), newBenchFleet(), newBenchEndgame(), newBenchMates(), newBenchEndings())
	return cmd
}

// machine says what the figures were measured on.
func machine() string {
	return fmt.Sprintf("%s, %s/%s, %d cores, kernel set %s, %s", processor(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), kernel.Best().Name(), runtime.Version())
}

// processor is the name of the CPU where the system tells it in /proc/cpuinfo.
func processor() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown CPU"
	}
	for line := range strings.Lines(string(info)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown CPU"
}

func writeJSON(w io.Writer, row any) error { return json.NewEncoder(w).Encode(row) }

// randomPosition plays fewer than plies random moves.
func randomPosition(v *rules.Variant, rng *rand.Rand, plies int) *rules.Position {
	p := v.Start()
	for range rng.IntN(plies) {
		moves := p.AppendMoves(nil)
		if p.Outcome(len(moves)).Result != rules.Ongoing {
			return v.Start()
		}
		p.Do(moves[rng.IntN(len(moves))])
	}
	return p
}

// cpuOf is the CPU time of f in seconds.
func cpuOf(f func()) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := metrics.ThreadSeconds()
	f()
	return max(metrics.ThreadSeconds()-start, 1e-9)
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// spread gives the numbers below count to workers. Each of them is made by start:
// one does what a number asks for, and collect, which no two run at the same time,
// takes what it found. The first error ends all.
func spread(ctx context.Context, workers, count int, start func() (one func(n uint64) error, collect func())) error {
	var (
		mu    sync.Mutex
		fault error
		next  atomic.Int64
		wg    sync.WaitGroup
	)
	for range workers {
		wg.Go(func() {
			one, collect := start()
			for ctx.Err() == nil {
				n := next.Add(1) - 1
				if n >= int64(count) {
					return
				}
				err := one(uint64(n))
				mu.Lock()
				collect()
				if err != nil {
					fault = errors.Join(fault, fmt.Errorf("number %d: %w", n, err))
					next.Store(int64(count))
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if fault == nil {
		fault = ctx.Err()
	}
	return fault
}

// left estimates how long the rest takes.
func left(began time.Time, done, of int) time.Duration {
	return time.Since(began) / time.Duration(done+1) * time.Duration(of-done)
}

// tellFound writes what a comparison found, as JSON or for people; with wrong answers
// among it the exit status is 1.
func tellFound(out io.Writer, asJSON bool, found any, wrong int, print func(io.Writer) error) error {
	var err error
	if asJSON {
		err = writeJSON(out, found)
	} else {
		err = print(out)
	}
	if err == nil && wrong > 0 {
		return quiet{1}
	}
	return err
}
