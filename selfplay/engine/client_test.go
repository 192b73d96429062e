package engine

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"kirin/rules"
	"kirin/selfplay"
)

// long is how long the servers are fed with garbage: go test -run Garbage -long 1h.
var long = flag.Duration("long", 0, "feed the servers with garbage for so long")

// flatEval answers every position alike, after a pause if one is set.
type flatEval struct{ pause time.Duration }

func (e *flatEval) Add(p *rules.Position, moves []rules.Move, logits []float32, v *rules.Value) {
	clear(logits)
	*v = rules.Value{Win: 0.4, Draw: 0.2, Loss: 0.4}
}

func (e *flatEval) Flush() error {
	if e.pause > 0 {
		time.Sleep(e.pause)
	}
	return nil
}

// testConfig is an engine with a net that knows nothing.
func testConfig(variant string, pause time.Duration) Config {
	return Config{
		Name: "kirin test", Author: "nobody", Variant: variant, Options: DefaultOptions(),
		Open: func(v *rules.Variant, net string) (Net, error) {
			if net == "missing" {
				return Net{}, errors.New("no net called missing")
			}
			return Net{Name: "flat", NewEvaluator: func() selfplay.Evaluator { return &flatEval{pause} }}, nil
		},
	}
}

// client talks with an engine served on pipes.
type client struct {
	t     *testing.T
	to    io.WriteCloser
	lines chan string
	ended chan error
}

// serve starts an engine and a client to it. The engine must have ended, and its goroutines be gone, when the test ends.
func serve(t *testing.T, run func(ctx context.Context, in io.Reader, out io.Writer) error) *client {
	t.Helper()
	before := runtime.NumGoroutine()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &client{t: t, to: inW, lines: make(chan string, 10000), ended: make(chan error, 1)}
	go func() {
		err := run(context.Background(), inR, outW)
		outW.Close()
		inR.Close()
		c.ended <- err
	}()
	go func() {
		defer close(c.lines)
		in := bufio.NewScanner(outR)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			c.lines <- in.Text()
		}
	}()
	t.Cleanup(func() {
		inW.Close()
		select {
		case err := <-c.ended:
			if err != nil {
				t.Errorf("the engine ended with %v", err)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("the engine does not end")
		}
		for range 200 {
			if runtime.NumGoroutine() <= before {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Errorf("%d goroutines before, %d after", before, runtime.NumGoroutine())
	})
	return c
}

func serveUSIClient(t *testing.T, c Config) *client {
	return serve(t, func(ctx context.Context, in io.Reader, out io.Writer) error { return ServeUSI(ctx, in, out, c) })
}

func (c *client) send(format string, args ...any) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.to, format+"\n", args...); err != nil {
		c.t.Fatalf("the engine does not listen: %v", err)
	}
}

// patience bounds every wait of the tests.
const patience = 20 * time.Second

// until reads lines up to the first that starts with one of the words and returns all of them.
func (c *client) until(words ...string) []string {
	c.t.Helper()
	var got []string
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				c.t.Fatalf("the engine ended while %q was waited for, after %q", words, got)
			}
			got = append(got, line)
			for _, w := range words {
				if strings.HasPrefix(line, w) {
					return got
				}
			}
		case <-timer.C:
			c.t.Fatalf("no %q in %v, only %q", words, patience, got)
		}
	}
}

// last is until's last line.
func (c *client) last(words ...string) string {
	c.t.Helper()
	lines := c.until(words...)
	return lines[len(lines)-1]
}

// quiet fails if a line comes within d.
func (c *client) quiet(d time.Duration, prefix string) {
	c.t.Helper()
	timer := time.After(d)
	for {
		select {
		case line := <-c.lines:
			if strings.HasPrefix(line, prefix) {
				c.t.Errorf("unasked: %q", line)
			}
		case <-timer:
			return
		}
	}
}
