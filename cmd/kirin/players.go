package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"kirin/dataset"
	"kirin/metrics"
	"kirin/network"
	"kirin/network/encode"
	"kirin/network/eval"
	"kirin/network/kernel"
	"kirin/rules"
	"kirin/selfplay"
)

// retryEvery is how long a part waits before it tries again what failed for
// lack of room or of a net.
const retryEvery = time.Second

// fits refuses weights that were trained for something else.
func fits(w *network.Weights, v *rules.Variant, enc *encode.Encoder) error {
	m := w.Meta
	switch {
	case m.Variant != v.Name():
		return fmt.Errorf("these weights play %s, not %s", m.Variant, v.Name())
	case m.Encoder != enc.Name():
		return fmt.Errorf("these weights read the planes %q, this program makes %q: use the version of kirin that trained them", m.Encoder, enc.Name())
	}
	return nil
}

// player is the Source and Sink of one worker: it names the games, gives each
// the newest net and stores it, whatever it takes, when it has ended.
type player struct {
	server  *netServer
	games   gameStore
	metrics *metrics.Metrics
	name    string
	seed    uint64        // of this process's games
	number  *atomic.Int64 // next game, shared by the workers of the process
	started *atomic.Int64 // games begun, against limit
	limit   int64         // 0: none
	starts  *selfplay.Starts

	finished func(*dataset.Game)

	current string // net of the evaluator
	eval    selfplay.Evaluator
	play    func(*network.Net) selfplay.Evaluator // what plays with a net
	blind   func(*network.Net) bool               // its games are played without it
	nets    map[string]*network.Net               // by sum, while games use it
	evals   map[string]selfplay.Evaluator         // by sum of its net, while games use it
	spare   *eval.Evaluator                       // one that no game uses any more, for the next net
	running map[string]int
	ctx     context.Context
	clock   *metrics.Clock
}

// parts tells where the worker's kinds of work are accounted.
var parts = [...]metrics.Part{
	selfplay.Searching:  metrics.PartSearch,
	selfplay.Evaluating: metrics.PartNetwork,
	selfplay.Mating:     metrics.PartMate,
}

func (p *player) Next(ctx context.Context) (selfplay.Assignment, bool) {
	p.ctx = ctx
	if p.limit > 0 && p.started.Add(1) > p.limit {
		return selfplay.Assignment{}, false
	}
	net, ptr, err := p.server.take(p.current)
	for err != nil {
		reason := metrics.WaitOther
		if errors.Is(err, fs.ErrNotExist) {
			reason = metrics.WaitWeights
		}
		p.metrics.Wait(p.name, reason, err.Error())
		if !sleep(ctx, retryEvery) {
			return selfplay.Assignment{}, false
		}
		net, ptr, err = p.server.take(p.current)
	}
	p.metrics.Working(p.name)
	if ptr.sum != p.current {
		p.current = ptr.sum
		if _, back := p.nets[ptr.sum]; back { // the trainer went back to a net whose games are under way still
			p.server.release(net)
			p.eval = p.evals[ptr.sum]
		} else {
			p.eval = p.evaluator(net)
			p.nets[ptr.sum], p.evals[ptr.sum] = net, p.eval
		}
		p.metrics.Selfplay.NetStep.Set(float64(ptr.step))
	}
	n := p.number.Add(1) - 1
	p.running[ptr.sum]++
	seed := mix(p.seed, uint64(n))
	return selfplay.Assignment{
		Number: n,
		Seed:   seed,
		Start:  p.starts.Pick(seed),
		Net:    ptr.sum,
		Step:   int64(ptr.step),
		Eval:   p.eval,
	}, true
}

// evaluator returns what plays with a net, in memory that the player has if it
// can.
func (p *player) evaluator(net *network.Net) selfplay.Evaluator {
	now, _ := p.eval.(*eval.Evaluator)
	switch {
	case p.blind(net):
		return p.play(net)
	case p.spare != nil:
		e := p.spare
		p.spare = nil
		e.SetNet(net)
		return e
	case now != nil:
		return now.Beside(net)
	}
	return p.play(net)
}

// gameStore is where a player's finished games go.
type gameStore interface {
	// append returns when the game is safe, or with an error that lasts.
	append(ctx context.Context, g *dataset.Game) error
	// retire is told of a net that no running game uses any more.
	retire(net string) error
	close() error
}

// Append stores a game and retires the nets that no running game uses any more.
func (p *player) Append(g *dataset.Game) error {
	if err := p.games.append(p.ctx, g); err != nil {
		return err
	}
	p.starts.Add(g)
	if p.finished != nil {
		p.finished(g)
	}
	p.running[g.Net]--
	for net, n := range p.running {
		if net != p.current && n == 0 {
			if err := p.games.retire(net); err != nil {
				return err
			}
			delete(p.running, net)
			if e, ok := p.evals[net].(*eval.Evaluator); ok {
				e.Forget()
				p.spare = e
			}
			p.server.release(p.nets[net])
			delete(p.nets, net)
			delete(p.evals, net)
		}
	}
	return nil
}

// folder stores the games of one player in the run's folder.
type folder struct {
	store   *dataset.Store
	name    string
	metrics *metrics.Metrics
	writers map[string]netWriter
}

func (f *folder) append(ctx context.Context, g *dataset.Game) error {
	return patiently(ctx, f.metrics, f.name, func() error {
		w, err := f.writer(g.Net)
		if err != nil {
			return err
		}
		return w.Append(g)
	})
}

// retire closes the writer of a net.
func (f *folder) retire(net string) error {
	w, ok := f.writers[net]
	if !ok {
		return nil
	}
	if err := w.Close(); err != nil && !waitable(err) {
		return err
	}
	delete(f.writers, net)
	return nil
}

// patientSink stores games. While there is no room it waits and tries again: a
// finished game is not given up.
type patientSink struct {
	ctx     context.Context
	name    string
	metrics *metrics.Metrics
	writer  *dataset.Writer
}

func (s *patientSink) Append(g *dataset.Game) error {
	return patiently(s.ctx, s.metrics, s.name, func() error { return s.writer.Append(g) })
}

// patiently repeats what fails for lack of room, until ctx ends.
func patiently(ctx context.Context, m *metrics.Metrics, name string, f func() error) error {
	for {
		err := f()
		if err == nil {
			m.Working(name)
			return nil
		}
		if !waitable(err) {
			return err
		}
		m.Wait(name, waitReason(err), err.Error())
		if !sleep(ctx, retryEvery) {
			return err
		}
	}
}

// writer returns the writer of a net's games. Games of two nets overlap for a
// while after a change; each net has its own writer, "w00a", "w00b", so that
// they do not tear each other's shards apart.
func (f *folder) writer(net string) (*dataset.Writer, error) {
	if w, ok := f.writers[net]; ok {
		return w.Writer, nil
	}
	used := [26]bool{}
	for _, w := range f.writers {
		used[w.letter] = true
	}
	letter := slices.Index(used[:], false)
	if letter < 0 {
		return nil, fmt.Errorf("games of more than %d nets are under way at once", len(used))
	}
	w, err := f.store.Writer(fmt.Sprintf("%s%c", f.name, 'a'+letter))
	if err != nil {
		return nil, err
	}
	f.writers[net] = netWriter{w, letter}
	return w, nil
}

// netWriter is the writer of one net's games.
type netWriter struct {
	*dataset.Writer
	letter int
}

// close seals what the player has written.
func (f *folder) close() error {
	var err error
	for _, w := range f.writers {
		err = errors.Join(err, w.Close())
	}
	return err
}

// crew is the self-play side of a process.
type crew struct {
	wg     sync.WaitGroup
	number atomic.Int64 // of the next game of the free schedule

	mu      sync.Mutex
	workers []*selfplay.Worker
	left    []*selfplay.Worker // have ended and are counted once more
	fault   error
}

// join adds a worker to those whose work is counted.
func (cr *crew) join(w *selfplay.Worker) {
	cr.mu.Lock()
	defer cr.mu.Unlock()
	cr.workers = append(cr.workers, w)
}

// leave forgets a worker that has ended, as soon as its work is counted.
func (cr *crew) leave(w *selfplay.Worker) {
	cr.mu.Lock()
	defer cr.mu.Unlock()
	cr.workers = slices.DeleteFunc(slices.Clone(cr.workers), func(x *selfplay.Worker) bool { return x == w })
	cr.left = append(cr.left, w)
}

// raise tells that the run has this many games: the numbers of further ones begin
// there, also when others have played them, since settings such as
// search.progressive_games go by a game's number.
func (cr *crew) raise(games int64) {
	for {
		n := cr.number.Load()
		if n >= games || cr.number.CompareAndSwap(n, games) {
			return
		}
	}
}

// crewConfig is what start needs besides the run.
type crewConfig struct {
	games    func(player string) gameStore // of each player
	seed     uint64                        // of all games of this process
	metrics  *metrics.Metrics
	server   *netServer
	balance  *balance
	prefix   string // of the workers' names: no two living processes may share one
	limit    int64  // games to play, 0 for no end
	watch    func(g *dataset.Game, p *rules.Position)
	onFault  func()              // a worker has failed
	finished func(*dataset.Game) // each stored game, from any worker; may be nil
}

// start starts the workers of the free schedule.
func (cr *crew) start(ctx context.Context, r *runDir, c crewConfig) error {
	starts, err := r.starts()
	if err != nil {
		return err
	}
	n := r.cfg.Selfplay.Workers
	if n == 0 {
		n = runtime.GOMAXPROCS(0)
	}
	var started atomic.Int64
	for i := range n {
		if ctx.Err() != nil {
			return nil
		}
		name := fmt.Sprintf("%sw%02d", c.prefix, i)
		p := &player{
			server: c.server, games: c.games(name), metrics: c.metrics, name: name,
			seed:     c.seed,
			number:   &cr.number,
			started:  &started,
			limit:    c.limit,
			starts:   starts,
			play:     func(net *network.Net) selfplay.Evaluator { return r.evaluator(net, r.cfg.Selfplay.Games) },
			blind:    r.blind,
			finished: c.finished,
			running:  map[string]int{},
			nets:     map[string]*network.Net{},
			evals:    map[string]selfplay.Evaluator{},
		}
		cfg := workerConfig(r, c.server.set, p.name)
		cfg.Gate = func(ctx context.Context) error {
			return c.balance.holdPlayer(ctx, patience(i, n),
				func() { c.metrics.Wait(p.name, metrics.WaitTrainer) },
				func() { c.metrics.Working(p.name) })
		}
		cfg.Enter = func(ph selfplay.Phase) { p.clock.Enter(parts[ph]) }
		if i == 0 {
			cfg.Watch = c.watch
		}
		w := selfplay.NewWorker(cfg)
		cr.join(w)
		cr.wg.Go(func() { cr.run(ctx, w, p, c.onFault) })
	}
	c.metrics.Selfplay.Workers.Set(float64(n))
	return nil
}

// folders stores each player's games in the run's folder.
func folders(s *dataset.Store, m *metrics.Metrics) func(string) gameStore {
	return func(name string) gameStore {
		return &folder{store: s, name: name, metrics: m, writers: map[string]netWriter{}}
	}
}

// sessionSeed is the seed of the games of one start: no two starts play the
// same games.
func (r *runDir) sessionSeed() (uint64, error) {
	session, err := r.session()
	return mix(r.cfg.Seed, uint64(session)), err
}

// workerConfig is what every worker of a run shares.
func workerConfig(r *runDir, set *kernel.Set, name string) selfplay.Config {
	return selfplay.Config{
		Variant: r.variant,
		Options: r.cfg.Selfplay.Options,
		Search:  r.cfg.Search,
		Template: dataset.Game{
			Config: r.cfg.Hash(), Version: version, Kernel: set.Name(), Worker: name,
		},
	}
}

// run drives one worker on a thread of its own, so that its CPU time can be
// told apart.
func (cr *crew) run(ctx context.Context, w *selfplay.Worker, p *player, onFault func()) {
	p.clock = p.metrics.Clock(metrics.PartSearch)
	defer p.clock.Stop()
	err := w.Run(ctx, p, p)
	err = errors.Join(ignoreCancel(err), p.games.close())
	if err != nil {
		cr.mu.Lock()
		cr.fault = errors.Join(cr.fault, fmt.Errorf("worker %s: %w", p.name, err))
		cr.mu.Unlock()
		onFault()
	}
}

// wait returns when all workers have ended.
func (cr *crew) wait() error {
	cr.wg.Wait()
	return cr.fault
}

// mix derives a seed from two numbers.
func mix(a, b uint64) uint64 { return rand.NewPCG(a, b).Uint64() }

// ignoreCancel drops an error that says only that a context has ended.
func ignoreCancel(err error) error {
	if ended(err) {
		return nil
	}
	return err
}

// ended tells whether an error says only that a context has ended; of several
// joined ones each must.
func ended(err error) bool {
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return ended(e.Unwrap())
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(e.Unwrap(), func(one error) bool { return !ended(one) })
	}
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// sleep waits and reports whether ctx is still alive.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
