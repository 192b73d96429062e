package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"kirin/configs"
	"kirin/dataset"
	"kirin/metrics"
	"kirin/network"
	"kirin/network/encode"
	"kirin/rules"
	"kirin/selfplay/fleet"
)

// drainFor is how long a worker that stops tries to send its last games.
const drainFor = 20 * time.Second

// joined is a worker of a trainer on another machine.
type joined struct {
	link *fleet.Link
	ctx  context.Context
	last string // file that latest found
}

func (j *joined) latest() (pointer, error) {
	file, s, err := j.link.Weights(j.ctx)
	if err != nil {
		return pointer{}, fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	j.last = file
	return pointer{int(s.Step), s.Net}, nil
}

// readNet reads what latest has found: the file's name is its sha256, which was
// checked when it was fetched.
func (j *joined) readNet(p pointer) (*network.Weights, error) {
	w, err := network.ReadWeights(j.last)
	if err != nil {
		return nil, err
	}
	if sum, err := w.Sum(); err != nil || sum != p.sum {
		return nil, errors.Join(fmt.Errorf("%s is damaged and is fetched again", j.last), os.Remove(j.last))
	}
	return w, nil
}

// outbox is where the games of a joined player go.
type outbox struct {
	link    *fleet.Link
	metrics *metrics.Metrics
	name    string
}

func (o *outbox) append(ctx context.Context, g *dataset.Game) error {
	return patiently(ctx, o.metrics, o.name, func() error { return o.link.Append(ctx, g) })
}

func (o *outbox) retire(string) error { return nil }
func (o *outbox) close() error        { return nil }

// joinRun plays for a trainer on another machine until ctx ends.
func (f *selfplayFlags) joinRun(ctx context.Context, stderr io.Writer) error {
	c, err := f.linkConfig()
	if err != nil {
		return err
	}
	p := newProgress(stderr)
	unlock, err := f.workerFolder(c.Name)
	if err != nil {
		return err
	}
	defer unlock()
	if c.Name, err = workerName(f.dir, c.Name); err != nil {
		return err
	}
	r := &runDir{dir: f.dir}
	m := metrics.New()
	closeWeb, err := f.serveMetrics(m, p)
	if err != nil {
		return err
	}
	defer closeWeb()
	var enc *encode.Encoder
	c.Dir, c.Codec, c.Metrics, c.Say = f.dir, dataset.NewCodec(), m, p.say
	c.Check = func(w *fleet.Welcome) error {
		cfg, v, e, err := understand(w)
		if err != nil {
			return err
		}
		if r.cfg != nil && cfg.Hash() != r.cfg.Hash() {
			return fmt.Errorf("%w: the trainer has another run now (%s): start this worker again", fleet.ErrUpdate, w.Run)
		}
		if r.cfg == nil {
			r.cfg, r.variant, enc = cfg, v, e
		}
		return nil
	}
	ctx, cancel := f.bounded(ctx)
	defer cancel()
	link, err := fleet.Join(ctx, c)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		p.say("stopped before the trainer answered")
		return nil
	}
	if err != nil {
		return err
	}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	link.Run(run)
	finish := func(played error) error {
		if link.Fault() == nil {
			last, cancel := context.WithTimeout(run, drainFor)
			link.Drained(last)
			cancel()
		}
		stop()
		left := link.Pending()
		err := errors.Join(played, link.Close(), link.Fault())
		if left > 0 {
			p.say("%d finished games could not be sent: they are in %s and go with the next start", left, f.dir)
		}
		return err
	}
	if f.workers != -1 {
		r.cfg.Selfplay.Workers = f.workers
		if err := checkConfig(r.cfg); err != nil {
			return finish(fmt.Errorf("--workers: %w", err))
		}
	}
	if text := link.Welcome().Starts; text != "" {
		if err := os.WriteFile(r.path("starts.sfen"), []byte(text), 0o644); err != nil {
			return finish(err)
		}
	}
	return finish(f.playJoined(ctx, r, m, link, enc, c.Name, p))
}

// linkConfig reads --join and --name; without a name the worker's folder has one.
func (f *selfplayFlags) linkConfig() (fleet.LinkConfig, error) {
	c := fleet.LinkConfig{URL: f.join, Name: f.name, Queue: f.queue, Quota: int64(f.quota)}
	if !strings.Contains(f.join, "://") {
		inv, err := fleet.ReadInvitation(f.join)
		if err != nil {
			return c, fmt.Errorf("--join: neither a URL such as nats://host:5475 nor an invitation: %w", err)
		}
		if f.name != "" && f.name != inv.Name {
			return c, fmt.Errorf("--name: the invitation is for %s", inv.Name)
		}
		c.URL, c.Invitation, c.Name = "", inv, inv.Name
	}
	if c.Name != "" {
		if err := fleet.CheckName(c.Name); err != nil {
			return c, fmt.Errorf("--name: %w", err)
		}
	}
	return c, nil
}

// understand reads the configuration of a trainer and says whether this
// program can play it.
func understand(w *fleet.Welcome) (*configs.Run, *rules.Variant, *encode.Encoder, error) {
	// What a program of another version has written may not be readable, and the
	// versions are the better explanation.
	if err := w.Check(version, w.Encoder); err != nil {
		return nil, nil, nil, err
	}
	cfg, err := joinConfig(w)
	if err != nil {
		return nil, nil, nil, err
	}
	v, err := cfg.Load()
	if err != nil {
		return nil, nil, nil, err
	}
	enc, err := encode.New(v)
	if err != nil {
		return nil, nil, nil, err
	}
	return cfg, v, enc, w.Check(version, enc.Name())
}

// playJoined plays until ctx ends, the wanted number of games is reached or the
// link fails.
func (f *selfplayFlags) playJoined(ctx context.Context, r *runDir, m *metrics.Metrics, link *fleet.Link, enc *encode.Encoder, name string, p *progress) error {
	set, err := r.prepare(m)
	if err != nil {
		return err
	}
	w := link.Welcome()
	m.SetRun(w.Run, r.variant.Name(), r.variant.Rules(), r.cfg.Net.Spec)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-link.Ended():
			cancel()
		case <-ctx.Done():
		}
	}()
	crew := &crew{}
	mon := newMonitor(m, crew)
	balance := newBalance(r.cfg.Loop.SamplesPerPosition, slack(r.cfg))
	// A seed that nobody can guess: nobody can play its games before it does.
	var random [8]byte
	rand.Read(random[:])
	server := newNetServer(&joined{link: link, ctx: ctx}, r.variant, set, enc, p.say)
	crew.raise(link.State().Games)
	err = crew.start(ctx, r, crewConfig{
		games: func(player string) gameStore { return &outbox{link, m, player} },
		seed:  binary.LittleEndian.Uint64(random[:]), metrics: m, server: server, balance: balance, limit: f.games,
		prefix: fleet.PlayerName(name), onFault: cancel, finished: mon.finished, watch: func(*dataset.Game, *rules.Position) {},
	})
	if err != nil {
		return err
	}
	p.say("playing %s for the run %s as %s, kernel set %s", r.variant.Name(), w.Run, name, set.Name())
	return f.watch(ctx, cancel, m, mon, crew, p, func(q rates) {
		s := link.State()
		balance.set(s.Played, s.Samples)
		crew.raise(s.Games)
		link.Tell(fleet.Beat{Version: version, Kernel: set.Name(), Step: s.Step, Rate: q.games})
	})
}
