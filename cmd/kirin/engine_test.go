package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"kirin/network"
	"kirin/rules"
)

// usiGames asks for the long measurement: go test ./cmd/kirin -run USIGames -usi-games 100 -timeout 0 -v
var usiGames = flag.Int("usi-games", 0, "whole games of each variant that kirin engine plays over USI (0: a short one)")

// untrained writes the weights of a net that knows nothing.
func untrained(t testing.TB, variant, spec string) string {
	t.Helper()
	s, err := network.ParseSpec(spec)
	if err != nil {
		t.Fatal(err)
	}
	w, _, err := randomNet(variant, s)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), variant+".safetensors")
	if _, err := network.WriteWeights(file, w); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestWhoNamesNoNetIsToldHowToGetOne(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range rules.Names() {
		if _, err := network.Shipped(name); err == nil {
			continue
		}
		v, err := rules.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range map[string]string{"": "kirin train --config " + name, "shipped": "no net is built into this program"} {
			if _, err := openEngineNet(v, text); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, net %q: %v, want %q", name, text, err, want)
			}
		}
	}
}

// TestUSIGamesBreakNoRuleAndLoseNoTime plays whole games through a process of kirin engine and its protocol alone: every
// move under a clock, most of them stopped at a random moment, many on ponder hits and misses.
func TestUSIGamesBreakNoRuleAndLoseNoTime(t *testing.T) {
	for _, name := range rules.Names() {
		t.Run(name, func(t *testing.T) {
			clocks, spec, games, longest := usiClocks(name), "1x16", 1, 24
			if *usiGames > 0 {
				spec, games, longest = "4x64", *usiGames, 1000
			}
			u := startUSI(t, name, untrained(t, name, spec))
			ends := map[string]int{}
			plies := 0
			for i := range games {
				end, n := u.game(clocks[i%len(clocks)], longest)
				ends[end]++
				plies += n
				if i%10 == 9 {
					t.Logf("%d games, %d plies", i+1, plies)
				}
			}
			u.send("quit")
			if err := u.cmd.Wait(); err != nil {
				t.Errorf("the engine ended with %v", err)
			}
			slices.Sort(u.stops)
			slices.Sort(u.readies)
			p99 := u.stops[len(u.stops)*99/100]
			t.Logf("%d games, %d plies, ends %v; %d times lost on the clock, least time left at a move %v", games, plies, ends, u.late, u.margin)
			t.Logf("%d stops: median %v, p99 %v, worst %v; %d ponder hits, %d misses; isready at worst %v",
				len(u.stops), u.stops[len(u.stops)/2], p99, u.stops[len(u.stops)-1], u.hits, u.misses, u.readies[len(u.readies)-1])
			if *usiGames == 0 {
				return // the machine may be busy with other tests
			}
			if u.late > 0 {
				t.Errorf("%d moves came too late", u.late)
			}
			if p99 > 50*time.Millisecond {
				t.Errorf("stop took %v at the 99th percentile", p99)
			}
			if worst := u.readies[len(u.readies)-1]; worst > 2*time.Second {
				t.Errorf("isready took %v", worst)
			}
		})
	}
}

// usiClock is a time control.
type usiClock struct{ main, increment, byoyomi time.Duration }

// usiClocks are the time controls of a game: one second a move, and a short clock.
func usiClocks(variant string) []usiClock {
	short := usiClock{main: 10 * time.Second, increment: 100 * time.Millisecond}
	if variant == "minishogi" {
		short = usiClock{main: time.Second}
	}
	return []usiClock{{byoyomi: time.Second}, short}
}

// usiProcess is a client of kirin engine.
type usiProcess struct {
	t       *testing.T
	v       *rules.Variant
	cmd     *exec.Cmd
	errs    *bytes.Buffer
	to      io.Writer
	lines   chan string
	rng     *rand.Rand
	stops   []time.Duration // from "stop" to "bestmove"
	readies []time.Duration
	margin  time.Duration // the least time that was left when a move came
	late    int
	hits    int
	misses  int
}

func startUSI(t *testing.T, variant, net string) *usiProcess {
	t.Helper()
	v, err := rules.Load(variant)
	if err != nil {
		t.Fatal(err)
	}
	u := &usiProcess{t: t, v: v, lines: make(chan string, 1000), rng: rand.New(rand.NewPCG(3, 4)), margin: time.Hour}
	u.cmd, u.errs = program(t, "engine", "--variant", variant, "--net", net)
	if u.to, err = u.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := u.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := u.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { u.cmd.Process.Kill() })
	go func() {
		defer close(u.lines)
		for in := bufio.NewScanner(out); in.Scan(); {
			u.lines <- in.Text()
		}
	}()
	u.send("usi")
	u.wait("usiok")
	return u
}

func (u *usiProcess) send(format string, args ...any) {
	u.t.Helper()
	if _, err := fmt.Fprintf(u.to, format+"\n", args...); err != nil {
		u.t.Fatal(err)
	}
}

// wait returns the first line that starts with word.
func (u *usiProcess) wait(word string) string {
	u.t.Helper()
	timer := time.NewTimer(time.Minute)
	defer timer.Stop()
	for {
		select {
		case line, ok := <-u.lines:
			if !ok || strings.Contains(line, "error") {
				u.t.Fatalf("waiting for %s: %q", word, line)
			}
			if strings.HasPrefix(line, word) {
				return line
			}
		case <-timer.C:
			_ = u.cmd.Process.Signal(syscall.SIGQUIT) // a Go program then says where it hangs
			u.cmd.Wait()
			u.t.Fatalf("no %s\n%s", word, u.errs)
		}
	}
}

// stopped sends "stop", unless the answer is there already, and returns the answer.
func (u *usiProcess) stopped() string {
	u.t.Helper()
	for range len(u.lines) {
		if line := <-u.lines; strings.HasPrefix(line, "bestmove") {
			return line
		}
	}
	began := time.Now()
	u.send("stop")
	line := u.wait("bestmove")
	u.stops = append(u.stops, time.Since(began))
	return line
}

// game plays one game to its end and returns how it ended and its plies.
func (u *usiProcess) game(c usiClock, longest int) (string, int) {
	u.t.Helper()
	began := time.Now()
	u.send("usinewgame")
	u.send("isready")
	u.wait("readyok")
	u.readies = append(u.readies, time.Since(began))
	p := u.v.Start()
	var texts []string
	left := [2]time.Duration{c.main, c.main}
	play := func(text string) {
		m, err := p.ParseMove(text)
		if err != nil {
			u.t.Fatalf("%v after %v", err, texts)
		}
		texts = append(texts, text)
		p.Do(m)
	}
	over := func() string {
		if out := p.Outcome(p.CountMoves()); out.Result != rules.Ongoing {
			return out.Reason.String()
		}
		if p.Ply() >= longest {
			return "cut"
		}
		return ""
	}
	position := func() string {
		if len(texts) == 0 {
			return "position startpos"
		}
		return "position startpos moves " + strings.Join(texts, " ")
	}
	clock := func() string {
		if c.byoyomi > 0 {
			return fmt.Sprintf("btime 0 wtime 0 byoyomi %d", c.byoyomi.Milliseconds())
		}
		// A GUI adds the increment before the move, so the clock shows it.
		return fmt.Sprintf("btime %d wtime %d binc %d winc %d", left[0].Milliseconds(), left[1].Milliseconds(), c.increment.Milliseconds(), c.increment.Milliseconds())
	}
	// answer waits for the move that is due since began, at most to the end of its time, and takes it from the clock.
	answer := func(began time.Time) []string {
		var line string
		if u.rng.IntN(30) == 0 {
			line = u.wait("bestmove")
		} else {
			time.Sleep(time.Duration(u.rng.IntN(20_000)) * time.Microsecond)
			line = u.stopped()
		}
		spent := time.Since(began)
		side := p.Side()
		rest := left[side] + c.byoyomi - spent
		if rest < 0 {
			u.late++
		}
		u.margin = min(u.margin, rest)
		left[side] = max(left[side]-spent, 0) + c.increment
		return strings.Fields(line)
	}
	for {
		if end := over(); end != "" {
			return end, p.Ply()
		}
		u.send("%s", position())
		began := time.Now()
		u.send("go %s", clock())
		best := answer(began)
		for {
			if best[1] == "win" {
				if _, ok := p.Declare(); !ok {
					u.t.Fatalf("a win is declared in %s", p.SFEN())
				}
				return "declaration", p.Ply()
			}
			play(best[1])
			if len(best) < 4 || over() != "" || u.rng.IntN(3) > 0 {
				break
			}
			// Ponder on the expected reply: a hit makes it the reply, a miss is stopped and forgotten.
			expected := best[3]
			u.send("%s %s", position(), expected)
			u.send("go ponder %s", clock())
			time.Sleep(time.Duration(u.rng.IntN(10_000)) * time.Microsecond)
			if u.rng.IntN(2) == 0 {
				u.misses++
				u.stopped()
				break
			}
			u.hits++
			play(expected)
			if over() != "" {
				u.stopped()
				break
			}
			began = time.Now()
			u.send("ponderhit")
			best = answer(began)
		}
	}
}
