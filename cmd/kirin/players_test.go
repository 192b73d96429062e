package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"kirin/configs"
	"kirin/dataset"
	"kirin/metrics"
	"kirin/network"
	"kirin/network/kernel"
	"kirin/selfplay"
)

func TestAnErrorBesideTheEndOfAContextIsNoMereEnd(t *testing.T) {
	full := errors.New("the disk is full")
	for _, c := range []struct {
		err  error
		mere bool
	}{
		{nil, false},
		{full, false},
		{context.Canceled, true},
		{fmt.Errorf("run a: %w", context.DeadlineExceeded), true},
		{errors.Join(context.Canceled, fmt.Errorf("run b: %w", context.Canceled)), true},
		{errors.Join(fmt.Errorf("run a: %w", full), context.Canceled), false},
		{fmt.Errorf("train: %w", errors.Join(context.Canceled, full)), false},
	} {
		if got := ignoreCancel(c.err) == nil; got != (c.mere || c.err == nil) || ended(c.err) != c.mere {
			t.Errorf("%v is dropped: %v", c.err, got)
		}
	}
}

// brokenNets is a source whose nets cannot be read.
type brokenNets struct{ err error }

func (b *brokenNets) latest() (pointer, error)                  { return pointer{step: 7}, nil }
func (b *brokenNets) readNet(pointer) (*network.Weights, error) { return nil, b.err }

func TestANewNetThatCannotBeReadIsMentionedOnce(t *testing.T) {
	var said bytes.Buffer
	nets := &brokenNets{errors.New("its checksum does not match")}
	s := newNetServer(nets, nil, nil, nil, func(format string, a ...any) { fmt.Fprintf(&said, format+"\n", a...) })
	s.net, s.now = &network.Net{}, pointer{step: 5, sum: "five"}
	ask := func() {
		t.Helper()
		s.at = time.Time{}
		if n, p, err := s.take("five"); n != s.net || p.step != 5 || err != nil {
			t.Errorf("%v, %v", p, err)
		}
	}
	ask()
	ask()
	if want := "the net of step 5 stays in use: its checksum does not match\n"; said.String() != want {
		t.Errorf("%q", said.String())
	}
	nets.err = errors.New("it is empty")
	ask()
	nets.err = fmt.Errorf("fetch: %w", context.Canceled)
	ask()
	if n := strings.Count(said.String(), "\n"); n != 2 {
		t.Errorf("%q", said.String())
	}
}

// noStore takes games and forgets them.
type noStore struct{}

func (noStore) append(context.Context, *dataset.Game) error { return nil }
func (noStore) retire(string) error                         { return nil }
func (noStore) close() error                                { return nil }

// aPlayer is a player of minishogi with nets of the given steps; next begins a
// game with the newest, end ends one.
func aPlayer(t *testing.T, r *runDir) (p *player, next func(step int) selfplay.Evaluator, end func(step int)) {
	t.Helper()
	v, enc := minishogi(t)
	starts, err := selfplay.NewStarts(v, r.cfg.Selfplay.Options)
	if err != nil {
		t.Fatal(err)
	}
	nets := &freshNets{enc: enc}
	p = &player{
		server: newNetServer(nets, v, kernel.Best(), enc, t.Logf), games: noStore{}, metrics: metrics.New(), number: &atomic.Int64{}, starts: starts,
		play: func(net *network.Net) selfplay.Evaluator { return r.evaluator(net, 1) }, blind: r.blind,
		running: map[string]int{}, nets: map[string]*network.Net{}, evals: map[string]selfplay.Evaluator{},
	}
	next = func(step int) selfplay.Evaluator {
		t.Helper()
		nets.step, p.server.at = step, time.Time{}
		a, ok := p.Next(t.Context())
		if !ok || a.Step != int64(step) || a.Net != fmt.Sprint(step) {
			t.Fatalf("step %d: %+v", step, a)
		}
		return a.Eval
	}
	end = func(step int) {
		t.Helper()
		if err := p.Append(&dataset.Game{Net: fmt.Sprint(step)}); err != nil {
			t.Fatal(err)
		}
	}
	return p, next, end
}

func TestANetThatComesBackWhileItsGamesRunIsTheOneThatTheyHave(t *testing.T) {
	cfg, err := configs.Load("")
	if err != nil {
		t.Fatal(err)
	}
	p, next, end := aPlayer(t, &runDir{cfg: cfg})
	first := next(1)
	next(2)
	if again := next(1); again != first { // the trainer went back to its last checkpoint
		t.Error("the games of one net have two evaluators")
	}
	for _, step := range []int{1, 2, 1} {
		end(step)
	}
	next(3)
	end(3)
	if len(p.server.uses) != 1 || len(p.nets) != 1 || len(p.evals) != 1 {
		t.Errorf("%d nets are in use, the player has %d with %d evaluators", len(p.server.uses), len(p.nets), len(p.evals))
	}
}

func TestACheapStartIsBlindAlsoWhenTheTrainerGoesBackToIt(t *testing.T) {
	cfg, err := configs.Load("", "loop.cheap_start=true")
	if err != nil {
		t.Fatal(err)
	}
	_, next, end := aPlayer(t, &runDir{cfg: cfg})
	for _, step := range []int{0, 1, 2, 0, 3, 0} {
		_, blind := next(step).(indifferent)
		if blind != (step == 0) {
			t.Errorf("step %d: it plays without the net: %v", step, blind)
		}
		end(step)
	}
}

// fullFS has no room for folders while it is full.
type fullFS struct {
	dataset.FS
	full bool
}

func (f *fullFS) MkdirAll(path string) error {
	if f.full {
		return syscall.ENOSPC
	}
	return f.FS.MkdirAll(path)
}

func TestAPlayerWaitsForRoomAlsoWhenItOpensItsJournal(t *testing.T) {
	fsys := &fullFS{FS: dataset.OS()}
	o := dataset.DefaultOptions()
	o.FS = fsys
	store, err := dataset.OpenStore(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	m := metrics.New()
	f := folders(store, m)("w00").(*folder)
	fsys.full = true
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.append(stopped, &dataset.Game{Net: "a"}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v", err)
	}
	if waits := m.Waits(); len(waits) != 1 || waits[0].Part != "w00" {
		t.Errorf("%+v", waits)
	}
}
