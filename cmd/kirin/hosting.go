package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"kirin/configs"
	"kirin/dataset"
	"kirin/network"
	"kirin/network/encode"
	"kirin/network/kernel"
	"kirin/selfplay/fleet"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
)

// oldestPlayer is the oldest version whose games a run of this version takes.
const oldestPlayer = "0.1.0"

// hostFlags are the flags of train and learn for a run on several machines.
type hostFlags struct {
	listen, http, nats, creds string
	advertise, queue          string
	open                      bool
	options                   fleet.Options
	verify                    float64
}

func (f *hostFlags) add(cmd *cobra.Command) {
	f.options = fleet.DefaultOptions()
	fl := cmd.Flags()
	fl.Var((*given)(&f.listen), "listen", "let workers on other machines join: HOST:PORT of the embedded queue (kirin selfplay --join)")
	fl.Var((*given)(&f.nats), "nats", "use this NATS server or cluster with JetStream instead of an embedded queue: nats://HOST:PORT,...")
	fl.Var((*given)(&f.creds), "nats-creds", "credentials file for --nats")
	fl.Var((*given)(&f.http), "http", "HOST:PORT that serves weights (default: the port after --listen; with --nats it must be given)")
	fl.Var((*given)(&f.advertise), "advertise", "URL under which workers reach --http, where it is not the host that they join")
	fl.Var((*given)(&f.queue), "queue", "name of the queue, where several runs share a NATS cluster (default "+fleet.DefaultQueue+")")
	fl.BoolVar(&f.open, "open", false, "with --listen: let in everyone who reaches the port, without keys")
	fl.Float64Var(&f.verify, "verify", -1, "share of the workers' games that are played again with their net (default 0.001, of guests 0.02)")
	untold(cmd, "verify")
	fl.Var((*amount)(&f.options.MaxBytes), "queue-bytes", "most that the queue may hold")
	fl.IntVar(&f.options.Replicas, "replicas", 3, "copies of the queue in the cluster of --nats")
}

// wanted tells whether the run is to be open to other machines.
func (f *hostFlags) wanted() bool { return f.listen != "" || f.nats != "" }

// host is the part of a trainer that deals with workers on other machines.
type host struct {
	run    *runDir
	l      *learner
	nets   *fleet.Nets
	server *fleet.Server // nil with an external queue
	intake *fleet.Intake
	web    *fleet.Web
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu    sync.Mutex
	state fleet.State
}

// fleetDir is where a run keeps what belongs to its workers.
func (r *runDir) fleetDir() string { return r.path("fleet") }

// check finds what is wrong with the flags alone, before anything is begun.
func (f *hostFlags) check() error {
	switch {
	case !f.wanted():
		if f.http != "" || f.open || f.advertise != "" || f.queue != "" || f.creds != "" || f.verify >= 0 {
			return errors.New("--http, --open, --advertise, --queue, --nats-creds and --verify need --listen or --nats")
		}
		return nil
	case f.listen != "" && f.nats != "":
		return errors.New("give either --listen, for an embedded queue, or --nats, for one that runs elsewhere")
	case f.nats != "" && f.http == "":
		return errors.New("--nats: add --http HOST:PORT, where workers fetch weights")
	}
	for _, a := range [][2]string{{"--listen", f.listen}, {"--http", f.http}} {
		if a[1] == "" {
			continue
		}
		_, port, err := net.SplitHostPort(a[1])
		if err == nil {
			_, err = net.LookupPort("tcp", port)
		}
		if err != nil {
			return fmt.Errorf("%s: %q is not HOST:PORT, for example 127.0.0.1:5475: %w", a[0], a[1], err)
		}
	}
	if u, err := url.Parse(f.advertise); f.advertise != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "") {
		return fmt.Errorf("--advertise: %q is not a URL, for example http://desk.lan:5476", f.advertise)
	}
	if f.queue != "" {
		if err := fleet.CheckQueue(f.queue); err != nil {
			return fmt.Errorf("--%w", err)
		}
	}
	return nil
}

// start opens the run to workers; nil when no flag asks for it. fault is called
// when it fails later.
func (f *hostFlags) start(ctx context.Context, r *runDir, l *learner, fault func()) (_ *host, err error) {
	if !f.wanted() {
		return nil, nil
	}
	if r.cfg.Schedule != "free" {
		return nil, fmt.Errorf("%s: the %s schedule plays and trains in one process: --listen and --nats need the free schedule", r.dir, r.cfg.Schedule)
	}
	if f.queue == "" {
		f.queue = fleet.DefaultQueue
	}
	o := f.options
	if f.listen != "" {
		o.Replicas = 1
		if free, ok := freeBytes(r.dir); ok {
			o.MaxBytes = min(o.MaxBytes, max(dataset.Bytes(free/2), 1<<20))
		}
	}
	if f.verify >= 0 {
		o.VerifyWorker, o.VerifyGuest = f.verify, f.verify
	}
	if _, err := r.starts(); err != nil { // copies the file of start positions into the run
		return nil, err
	}
	h := &host{run: r, l: l}
	if h.nets, err = openNets(r); err != nil {
		return nil, err
	}
	keys, err := fleet.OpenKeys(r.fleetDir())
	if err != nil {
		return nil, err
	}
	c := fleet.ServerConfig{Address: f.listen, Dir: filepath.Join(r.fleetDir(), "queue"), Names: fleet.Names{Queue: f.queue}, Say: l.say}
	w := fleet.WebConfig{Address: f.http, Keys: keys, Options: o, File: h.netFile}
	if err := f.secure(r, keys, &c, &w); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.stop())
		}
	}()
	if f.listen != "" {
		if h.server, err = fleet.StartServer(c); err != nil {
			return nil, err
		}
		if w.Address == "" {
			if w.Address, err = nextPort(h.server.Address()); err != nil {
				return nil, err
			}
		}
	}
	if h.web, err = fleet.NewWeb(w); err != nil {
		return nil, err
	}
	if h.intake, err = fleet.StartIntake(ctx, f.intakeConfig(r, l, h, keys, o, w.TLS != nil)); err != nil {
		return nil, err
	}
	h.web.Serve(h.intake)
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	h.cancel = cancel
	h.wg.Go(func() { h.report(run) })
	h.wg.Go(func() {
		select {
		case <-h.intake.Done():
			fault()
		case <-run.Done():
		}
	})
	p, err := r.latest()
	if err == nil {
		err = h.published(p)
	}
	if err != nil {
		return nil, err
	}
	l.published = h.published
	f.greet(h, c.TLS != nil, l.say)
	return h, nil
}

// secure decides who may join.
func (f *hostFlags) secure(r *runDir, keys *fleet.Keys, c *fleet.ServerConfig, w *fleet.WebConfig) error {
	if f.open || !keys.Any() {
		if f.open || f.nats != "" { // who reaches a cluster is its own business
			return nil
		}
		for _, a := range [][2]string{{"--listen", f.listen}, {"--http", f.http}} {
			if name, _, err := net.SplitHostPort(a[1]); err == nil && !loopback(name) {
				return fmt.Errorf("%s %s would let in everyone on the network: invite workers (kirin fleet invite --dir %s --url nats://HOST:PORT NAME), or add --open on a network that is yours alone", a[0], a[1], r.dir)
			}
		}
		return nil
	}
	authority, err := fleet.OpenAuthority(r.fleetDir(), time.Now())
	if err != nil {
		return err
	}
	var names []string
	if u, err := url.Parse(f.advertise); err == nil {
		names = append(names, u.Hostname())
	}
	config, err := authority.Server(time.Now(), names...)
	if err != nil {
		return err
	}
	c.Keys, c.TLS, w.TLS = keys, config, config
	return nil
}

func loopback(name string) bool {
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

// nextPort is the address of the port after another.
func nextPort(address string) (string, error) {
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(name, strconv.Itoa(n+1)), nil
}

func (f *hostFlags) intakeConfig(r *runDir, l *learner, h *host, keys *fleet.Keys, o fleet.Options, secured bool) fleet.IntakeConfig {
	text, err := r.cfg.Text()
	if err != nil {
		panic("the configuration cannot be written: " + err.Error()) // it was read
	}
	starts := ""
	if b, err := os.ReadFile(r.path("starts.sfen")); err == nil {
		starts = string(b)
	}
	scheme := "http"
	if secured {
		scheme = "https"
	}
	c := fleet.IntakeConfig{
		Names: fleet.Names{Queue: f.queue}, Options: o, Server: h.server, URL: f.nats, Dir: r.fleetDir(), Keys: keys,
		Store: l.store, Seal: r.cfg.Data, Metrics: l.metrics, Patient: waitable, Say: l.say,
		Judge: &fleet.Judge{
			Codec: l.store.Codec(), Variant: r.variant, Hash: r.cfg.Hash(), CapPlies: r.cfg.Selfplay.CapPlies, ResignBelow: r.cfg.Selfplay.ResignBelow,
			Published: h.nets.Has, Prove: fleet.NewProver(r.variant, r.cfg.Selfplay.MateNodes).Prove,
		},
		Welcome: fleet.Welcome{
			Protocol: fleet.Protocol, Version: version, Oldest: oldestPlayer, Run: filepath.Base(r.dir), Variant: r.variant.Name(),
			Starts: starts, Rules: r.variant.Rules(), Encoder: l.enc.Name(), Config: string(text), Hash: r.cfg.Hash(), Web: f.webURL(scheme, h.web.Address()),
		},
		Verify: (&verifier{run: r, enc: l.enc, codec: l.store.Codec()}).verify,
	}
	if f.creds != "" {
		c.Connect = append(c.Connect, nats.UserCredentials(f.creds))
	}
	return c
}

// webURL is what workers are told: without a host when they find it where they
// joined.
func (f *hostFlags) webURL(scheme, address string) string {
	if f.advertise != "" {
		return f.advertise
	}
	name, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(name); err != nil || ip == nil || ip.IsUnspecified() || f.nats == "" {
		return scheme + "://:" + port
	}
	return scheme + "://" + address
}

func (f *hostFlags) greet(h *host, secured bool, say func(string, ...any)) {
	where, reach := f.nats, f.nats
	if h.server != nil {
		where = "nats://" + h.server.Address()
		reach = "nats://" + f.reachable(h.server.Address())
	}
	how := "join with: kirin selfplay --join " + reach
	if secured {
		how = "join with: kirin selfplay --join INVITATION"
	}
	say("workers %s   weights %s   %s", where, h.web.Address(), how)
}

// reachable is an address as other machines write it: one that stands for all of
// this machine's is replaced by the host of --advertise or by the machine's name.
func (f *hostFlags) reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || host != "" && (ip == nil || !ip.IsUnspecified()) {
		return address
	}
	if u, err := url.Parse(f.advertise); err == nil && u.Hostname() != "" {
		host = u.Hostname()
	} else if host, err = os.Hostname(); err != nil {
		host = "HOST"
	}
	return net.JoinHostPort(host, port)
}

// openNets lists the nets that the run has published, also before it was open
// to workers.
func openNets(r *runDir) (*fleet.Nets, error) {
	nets, err := fleet.OpenNets(r.fleetDir())
	if err != nil {
		return nil, err
	}
	all, err := steps(r.path("weights"), weightsSuffix)
	if err != nil {
		return nil, err
	}
	for _, step := range all {
		w, err := network.ReadWeights(r.weightsFile(step))
		if err != nil {
			continue // kirin check names it
		}
		sum, err := w.Sum()
		if err == nil {
			err = nets.Add(sum, int64(step))
		}
		if err != nil {
			return nil, err
		}
	}
	return nets, nil
}

// netFile finds the weights of a net.
func (h *host) netFile(sum string) (string, error) {
	step, ok := h.nets.Step(sum)
	if !ok {
		return "", fmt.Errorf("the run has published no net %.12s", sum)
	}
	return h.run.weightsFile(int(step)), nil
}

// published is called when there is a new net.
func (h *host) published(p pointer) error {
	if err := h.nets.Add(p.sum, int64(p.step)); err != nil {
		return err
	}
	info, err := os.Stat(h.run.weightsFile(p.step))
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.state.Net, h.state.Step, h.state.Size = p.sum, int64(p.step), info.Size()
	h.mu.Unlock()
	h.announce()
	return nil
}

func (h *host) announce() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state.Net == "" {
		return
	}
	h.state.Played, h.state.Samples = h.l.balance.counts()
	h.state.Games = h.l.status.games.Load()
	h.intake.Announce(h.state)
}

// report tells the workers how far the trainer is.
func (h *host) report(ctx context.Context) {
	for sleep(ctx, time.Second) {
		h.announce()
	}
}

// stop takes no more games; what has arrived is in shards when it returns.
func (h *host) stop() error {
	if h == nil {
		return nil
	}
	if h.cancel != nil {
		h.cancel()
		h.wg.Wait()
	}
	var err error
	if h.web != nil {
		err = h.web.Close()
	}
	if h.intake != nil {
		err = errors.Join(err, h.intake.Close())
	}
	if h.server != nil {
		err = errors.Join(err, h.server.Close())
	}
	return err
}

// verifier plays workers' games again with the net and the kernel set that
// they were played with.
type verifier struct {
	run   *runDir
	enc   *encode.Encoder
	codec *dataset.Codec

	net  *network.Net // of the last game
	name string       // and which it is
}

func (v *verifier) verify(ctx context.Context, g *dataset.Game) (fleet.Verification, error) {
	impossible := func(format string, a ...any) (fleet.Verification, error) {
		return fleet.Verification{Impossible: true, Why: fmt.Sprintf(format, a...)}, nil
	}
	if g.Version != version {
		return impossible("it was played by version %s", g.Version)
	}
	set, err := kernel.Lookup(g.Kernel)
	if err != nil {
		return impossible("its kernel set: %v", err)
	}
	if name := g.Net + " " + g.Kernel; name != v.name {
		w, err := v.run.readNet(pointer{int(g.Step), g.Net})
		if err != nil {
			return impossible("its net: %v", err)
		}
		if err := fits(w, v.run.variant, v.enc); err != nil {
			return impossible("its net: %v", err)
		}
		n, err := network.NewOn(w, set)
		if err != nil {
			return fleet.Verification{}, err
		}
		v.net, v.name = n, name
	}
	again, err := playAgain(ctx, v.run, g, v.run.evaluator(v.net, 1))
	if err != nil {
		return fleet.Verification{}, err
	}
	if why := sameGame(v.codec, v.run.variant, g, again); why != "" {
		return fleet.Verification{Why: why}, nil
	}
	return fleet.Verification{Same: true}, nil
}

// joinConfig reads the configuration that a trainer sends.
func joinConfig(w *fleet.Welcome) (*configs.Run, error) {
	file, err := os.CreateTemp("", "kirin-*.yaml")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	_, err = strings.NewReader(w.Config).WriteTo(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	c, err := configs.Load(file.Name())
	if err == nil {
		err = checkConfig(c)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the configuration of the trainer (kirin %s) cannot be read by this worker (kirin %s): %w; use the trainer's version", fleet.ErrUpdate, w.Version, version, err)
	}
	if c.Hash() != w.Hash {
		return nil, fmt.Errorf("%w: the trainer (kirin %s) and this worker (kirin %s) understand the run's settings differently: use the trainer's version", fleet.ErrUpdate, w.Version, version)
	}
	return c, nil
}

// amount is a flag of bytes.
type amount dataset.Bytes

func (a *amount) String() string           { return dataset.Bytes(*a).String() }
func (a *amount) Type() string             { return "amount" }
func (a *amount) Set(s string) (err error) { return (*dataset.Bytes)(a).UnmarshalText([]byte(s)) }
