package fleet

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"kirin/dataset"
	"kirin/metrics"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// IntakeConfig is what the trainer's side needs.
type IntakeConfig struct {
	Names   Names
	Options Options
	Server  *Server // the embedded queue, or nil
	URL     string  // of an external queue, when Server is nil
	Connect []nats.Option
	Dir     string // the run's fleet folder: status, quarantine
	Keys    *Keys
	Judge   *Judge
	Store   *dataset.Store
	Seal    dataset.Options // of the store: when journals become shards
	Metrics *metrics.Metrics
	Welcome Welcome
	// Verify plays a game again with its net. It may be nil: then games whose
	// result only this could confirm are refused.
	Verify func(context.Context, *dataset.Game) (Verification, error)
	// Patient tells errors of storing that go away when room is made.
	Patient func(error) bool
	Say     func(format string, a ...any)
}

// Intake takes games from the queue and stores them. Announce, State and
// Publish may be called from any goroutine.
type Intake struct {
	c      IntakeConfig
	nc     *nats.Conn
	js     jetstream.JetStream
	stream jetstream.Stream
	cons   jetstream.Consumer
	kv     jetstream.KeyValue
	known  *known
	books  map[netKey]*book
	open   map[dataset.ID]*openGame // stored in a journal, not in a shard yet
	roster *roster
	aside  *Quarantine
	looked time.Time // at the list of aside; of the intake's own goroutine
	checks *checks
	news   *announcer
	reset  chan struct{}
	commit *committer // nil for an external queue

	cancel context.CancelFunc
	done   chan struct{}
	fault  error
}

const (
	keyWelcome = "welcome"
	keyState   = "state"
	consumer   = "trainer"
	fetchWait  = 250 * time.Millisecond
	setupWait  = 5 * time.Second
)

// StartIntake connects to the queue, makes its streams when they are missing,
// and begins to take games.
func StartIntake(ctx context.Context, c IntakeConfig) (*Intake, error) {
	if err := c.Options.Validate(); err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	if err := c.Welcome.fits(); err != nil {
		return nil, err
	}
	c.Options.AckWait = max(c.Options.AckWait, 2*c.Seal.SealAfter+30*time.Second)
	in := &Intake{
		c: c, known: newKnown(c.Store, c.Judge.Variant.Name()), books: map[netKey]*book{}, open: map[dataset.ID]*openGame{},
		roster: newRoster(), reset: make(chan struct{}, 1), done: make(chan struct{}),
	}
	var err error
	if in.aside, err = OpenQuarantine(c.Dir); err != nil {
		return nil, err
	}
	kick := func(*nats.Conn) {
		select {
		case in.reset <- struct{}{}:
		default:
		}
	}
	o := append([]nats.Option{
		nats.Name("kirin trainer"), nats.MaxReconnects(-1), nats.ReconnectWait(200 * time.Millisecond), nats.RetryOnFailedConnect(true),
		nats.ReconnectHandler(kick), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}, c.Connect...)
	url := c.URL
	if c.Server != nil {
		o, url = append(o, c.Server.options()...), ""
	}
	if in.nc, err = nats.Connect(url, o...); err != nil {
		return nil, fmt.Errorf("connect to the queue %s: %w", url, err)
	}
	if in.js, err = jetstream.New(in.nc); err != nil {
		return nil, err
	}
	in.checks = newChecks(c.Verify)
	in.news = newAnnouncer(in)
	first, cancelFirst := context.WithTimeout(ctx, time.Minute)
	defer cancelFirst()
	if err := in.setup(first); err != nil {
		in.nc.Close()
		return nil, err
	}
	if _, err := in.nc.Subscribe(c.Names.beat("*"), in.beat); err != nil {
		in.nc.Close()
		return nil, fmt.Errorf("listen to workers: %w", err)
	}
	if c.Server != nil {
		if in.commit, err = startCommitter(c.Server, c.Names); err != nil {
			in.nc.Close()
			return nil, err
		}
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	in.cancel = cancel
	go in.run(run)
	return in, nil
}

// setup makes stream, bucket and consumer, and tries again for as long as ctx
// lives: the first calls after the start of a cluster may fail.
func (in *Intake) setup(ctx context.Context) error {
	for {
		try, cancel := context.WithTimeout(ctx, setupWait)
		err := in.make(try)
		cancel()
		if err == nil {
			in.c.Metrics.Working(part)
			return nil
		}
		var api *jetstream.APIError
		if errors.As(err, &api) && api.Code/100 == 4 && api.ErrorCode != jetstream.JSErrCodeJetStreamNotEnabled && in.c.Server == nil {
			return fmt.Errorf("the queue refuses: %w", err)
		}
		in.c.Metrics.Wait(part, metrics.WaitFleet, fmt.Sprintf("the queue is not ready: %v", err))
		select {
		case <-ctx.Done():
			return fmt.Errorf("the queue is not ready: %w", err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// part is the name under which the trainer's side waits.
const part = "fleet"

func (in *Intake) make(ctx context.Context) error {
	o, n := in.c.Options, in.c.Names
	var err error
	in.stream, err = in.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: n.stream(), Subjects: []string{in.subject("*")}, Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage,
		Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, MaxBytes: int64(o.MaxBytes), MaxMsgsPerSubject: o.MaxPerWorker,
		MaxMsgSize: MaxRecord, Duplicates: 2 * time.Minute, Replicas: o.Replicas, AllowAtomicPublish: in.c.Server != nil,
	})
	if err != nil {
		return fmt.Errorf("stream %s: %w", n.stream(), err)
	}
	in.kv, err = in.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: n.bucket(), Replicas: o.Replicas, MaxBytes: 16 << 20, MaxValueSize: maxText})
	if err != nil {
		return fmt.Errorf("bucket %s: %w", n.bucket(), err)
	}
	// A consumer of its own for each start gets all that is not acknowledged at
	// once; an older one would wait for the games that a dead trainer had taken.
	if err := in.stream.DeleteConsumer(ctx, consumer); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return fmt.Errorf("consumer: %w", err)
	}
	in.cons, err = in.stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: consumer, AckPolicy: jetstream.AckExplicitPolicy, AckWait: o.AckWait, MaxAckPending: o.MaxOpen,
		DeliverPolicy: jetstream.DeliverAllPolicy,
	})
	if err != nil {
		return fmt.Errorf("consumer: %w", err)
	}
	return in.news.put(ctx)
}

// subject is that of a worker's games in the stream.
func (in *Intake) subject(key string) string {
	if in.c.Server != nil {
		return in.c.Names.queued(key)
	}
	return in.c.Names.games(key)
}

// message is a game on its way from the queue.
type message struct {
	key   string
	data  []byte
	reply string
	at    time.Time // when the queue got it, by the queue's clock
	also  []string  // replies of the same game in the same batch
	twice bool      // delivered before
	found *checked  // what playing it again has shown
	verdict
}

// run takes games until ctx ends, then seals what is open.
func (in *Intake) run(ctx context.Context) {
	defer close(in.done)
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	in.checks.start(ctx)
	announced := make(chan struct{})
	go func() { defer close(announced); in.news.run(ctx) }()
	for ctx.Err() == nil {
		if err := in.round(ctx, ticker.C); err != nil {
			in.fault = err
			break
		}
	}
	in.cancel()
	<-announced
	if in.commit != nil {
		in.commit.close()
	}
	in.checks.wait()
	in.fault = errors.Join(in.fault, in.closeBooks())
	in.c.Metrics.Working(part)
	in.writeStatus()
	in.nc.Close()
}

// round takes one batch.
func (in *Intake) round(ctx context.Context, tick <-chan time.Time) error {
	select {
	case <-in.reset:
		if err := in.setup(ctx); err != nil {
			return ignoreEnd(ctx, err)
		}
	case <-tick:
		in.measure(ctx)
		if err := in.tickBooks(ctx); err != nil {
			return err
		}
	default:
	}
	batch, err := in.fetch(ctx)
	if err != nil {
		in.c.Metrics.Wait(part, metrics.WaitFleet, err.Error())
		if !pause(ctx, fetchWait) {
			return nil
		}
		if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrConsumerDeleted) || errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, nats.ErrNoResponders) {
			return ignoreEnd(ctx, in.setup(ctx))
		}
	} else if len(batch) > 0 {
		in.c.Metrics.Working(part)
	}
	in.judgeAll(batch)
	batch = append(batch, in.checks.finished()...)
	if now := time.Now(); now.Sub(in.looked) >= watchEvery {
		in.looked = now
		if err := in.aside.Refresh(); err != nil {
			in.c.Say("the quarantine stays as it was: %v", err)
		}
	}
	return in.take(ctx, batch)
}

func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (in *Intake) fetch(ctx context.Context) ([]*message, error) {
	room := in.c.Options.MaxOpen - len(in.open)
	if room < 1 {
		return nil, nil
	}
	got, err := in.cons.Fetch(min(in.c.Options.Batch, room), jetstream.FetchMaxWait(fetchWait))
	if err != nil {
		return nil, err
	}
	var batch []*message
	for m := range got.Messages() {
		meta, err := m.Metadata()
		if err != nil {
			continue // not from a stream
		}
		subject := m.Subject()
		batch = append(batch, &message{
			key: subject[strings.LastIndexByte(subject, '.')+1:], data: m.Data(), reply: m.Reply(), at: meta.Timestamp, twice: meta.NumDelivered > 1,
		})
	}
	if err := got.Error(); err != nil && !errors.Is(err, nats.ErrTimeout) {
		return batch, ignoreEnd(ctx, err)
	}
	return batch, nil
}

// judgeAll decodes and replays the games of a batch on all cores.
func (in *Intake) judgeAll(batch []*message) {
	n := min(runtime.GOMAXPROCS(0), len(batch))
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			for k := i; k < len(batch); k += n {
				m := batch[k]
				m.verdict = in.c.Judge.judge(m.key, m.data)
			}
		})
	}
	wg.Wait()
}

// take sorts out a batch and stores what may count.
func (in *Intake) take(ctx context.Context, batch []*message) error {
	groups := map[netKey][]*message{}
	var order []netKey
	admitted := map[dataset.ID]*message{}
	for _, m := range batch {
		ok, err := in.admit(m)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if first := admitted[m.game.ID]; first != nil {
			first.also = append(first.also, m.reply)
			in.refused(nil, refuse(RefusedDuplicate, "game %v", m.game.ID))
			continue
		}
		admitted[m.game.ID] = m
		n := netKey{m.game.Net, m.game.Step}
		if groups[n] == nil {
			order = append(order, n)
		}
		groups[n] = append(groups[n], m)
	}
	for _, n := range order {
		if err := in.store(ctx, n, groups[n]); err != nil {
			return err
		}
	}
	if len(batch) > 0 {
		// An acknowledgement that is lost means that the game comes again and is
		// known then.
		in.nc.FlushTimeout(time.Second)
	}
	return in.relieve(ctx)
}

// admit tells whether a game is to be stored now. What is not has been dealt
// with.
func (in *Intake) admit(m *message) (bool, error) {
	if m.twice {
		in.c.Metrics.Fleet.Redelivered.Inc()
		in.roster.redelivered()
	}
	if m.no != nil {
		in.refused(m, m.no)
		return false, nil
	}
	g := m.game
	if o := in.open[g.ID]; o != nil {
		o.replies = append(o.replies, m.reply)
		if !m.twice {
			in.refused(nil, refuse(RefusedDuplicate, "game %v", g.ID))
		}
		return false, nil
	}
	ids, err := in.known.of(netKey{g.Net, g.Step})
	if err != nil {
		return false, err
	}
	if _, ok := ids[g.ID]; ok {
		in.refused(m, refuse(RefusedDuplicate, "game %v", g.ID))
		return false, nil
	}
	if in.aside.Has(m.key) {
		return false, in.putAside(m, refuse(RefusedQuarantined, "the worker is quarantined"))
	}
	return in.verified(m)
}

// refused counts a game that does not count and takes it out of the queue; m
// is nil when its message stays.
func (in *Intake) refused(m *message, r *refusal) {
	in.c.Metrics.FleetRefused(r.reason)
	if m == nil {
		return
	}
	in.roster.refused(m.key, r)
	in.ack(m.reply)
}

func (in *Intake) ack(reply string) { in.nc.Publish(reply, []byte("+ACK")) }

// Refused counts what other parts of the trainer's side turn away.
func (in *Intake) Refused(key string, reason string, err error) {
	in.c.Metrics.FleetRefused(reason)
	in.roster.refused(key, &refusal{reason, err})
}

// Publish puts a game of a guest into the queue, under an id that this side
// chooses.
func (in *Intake) Publish(ctx context.Context, key string, record []byte, id string) error {
	_, err := in.js.PublishMsg(ctx, &nats.Msg{Subject: in.subject(key), Data: record}, jetstream.WithMsgID("guest "+key+" "+id))
	return err
}

// Close takes no more games, seals and acknowledges what is open, and
// disconnects. It returns what made the intake end early, if anything did.
func (in *Intake) Close() error {
	in.cancel()
	<-in.done
	return in.fault
}

// Done is closed when the intake has ended, by Close or by an error that
// Close returns.
func (in *Intake) Done() <-chan struct{} { return in.done }

// pause waits and tells whether ctx still lives.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
