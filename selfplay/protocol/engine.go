package protocol

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"kirin/rules"
)

// Protocols lists the languages an Engine can speak.
var Protocols = []string{"usi", "uci", "cecp", "gnu"}

// Setting is one option of the outside program, set by its own name.
type Setting struct{ Name, Value string }

// Options say which program to run and how. The zero value of a duration means its default.
type Options struct {
	Protocol string         // one of Protocols
	Command  string         // program and arguments, see SplitCommand
	Variant  *rules.Variant // the game to be played
	Threads  int            // search threads asked for, 0: 1
	Settings []Setting      // sent as the program's own options

	StartTimeout  time.Duration // to the end of the greeting; default 10 s
	AnswerTimeout time.Duration // for a move where no time limit binds; default 60 s
	Grace         time.Duration // added to a limit in time before the program counts as hung; default 3 s
}

// Validate reports every fault at once.
func (o Options) Validate() error {
	var errs []error
	if _, ok := dialects[o.Protocol]; !ok {
		errs = append(errs, fmt.Errorf("protocol: %q is unknown (%s)", o.Protocol, strings.Join(Protocols, ", ")))
	}
	if _, err := SplitCommand(o.Command); err != nil {
		errs = append(errs, fmt.Errorf("command: %w", err))
	}
	if o.Variant == nil {
		errs = append(errs, errors.New("variant: none given"))
	}
	if o.Threads < 0 {
		errs = append(errs, fmt.Errorf("threads: %d is negative", o.Threads))
	}
	if o.StartTimeout < 0 || o.AnswerTimeout < 0 || o.Grace < 0 {
		errs = append(errs, errors.New("timeout: a negative duration"))
	}
	return errors.Join(errs...)
}

func orDefault(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return d
}

// Answer is what an engine chose.
type Answer struct {
	Move   rules.Move // NoMove with Resign, and with a Claim alone
	Resign bool       // the engine gives up, or claims to have lost
	Claim  Claim      // the engine says that the game is over; it may have moved all the same
	Ponder string     // the reply it expects, in its own writing
	Score  Score
	Depth  int
	Nodes  int64
	PV     string // in its own writing
}

// Claim is an engine's word that the game is over.
type Claim struct {
	Result rules.Result // Ongoing: nothing claimed
	Text   string
}

// Failure says that a program did not do its part: it could not be started, did not answer, ended, or wrote nonsense.
type Failure struct {
	Engine     string
	Doing      string // what it was asked for
	Err        error
	Transcript []string // the last lines of the conversation, oldest first: '>' sent, '<' received, '!' error output
}

func (f *Failure) Error() string { return fmt.Sprintf("engine %s: %s: %v", f.Engine, f.Doing, f.Err) }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// IllegalMove says that an engine played what the rules do not allow.
type IllegalMove struct {
	Engine, Text, SFEN string
	Err                error
}

func (e *IllegalMove) Error() string {
	return fmt.Sprintf("engine %s played %q in %s: %v", e.Engine, e.Text, e.SFEN, e.Err)
}

// Unwrap returns the cause.
func (e *IllegalMove) Unwrap() error { return e.Err }

// Refusal says that an engine does not accept a move that the rules allow. SFEN is the position in which it was made.
type Refusal struct {
	Engine, Move, SFEN, Reply string
}

func (e *Refusal) Error() string {
	return fmt.Sprintf("engine %s refuses %s in %s: %q", e.Engine, e.Move, e.SFEN, e.Reply)
}

// before is the position after the first n moves of a game, as SFEN.
func before(start *rules.Position, moves []rules.Move, n int) string {
	p := start.Clone()
	for _, m := range moves[:n] {
		p.Do(m)
	}
	return p.SFEN()
}

// dialect is one language, spoken over one process from its greeting on.
type dialect interface {
	// greet brings the program up for the variant and returns its name for itself.
	greet(ctx context.Context) (string, error)
	// newGame tells that a game starts.
	newGame(ctx context.Context, start *rules.Position) error
	// search asks for a move in p, which arose from start by moves.
	search(ctx context.Context, start *rules.Position, moves []rules.Move, p *rules.Position, l Limits) (Answer, error)
	// stop asks for an answer at once; used when time is up.
	stop(c *process)
	// quit says good-bye.
	quit(c *process)
}

// dialects makes a dialect of each language.
var dialects = map[string]func(*conn) dialect{
	"usi":  func(c *conn) dialect { return &usiDialect{conn: c} },
	"uci":  func(c *conn) dialect { return &usiDialect{conn: c, chess: true} },
	"cecp": func(c *conn) dialect { return &cecpDialect{conn: c} },
	"gnu":  func(c *conn) dialect { return &gnuDialect{conn: c} },
}

// conn is what a dialect works with.
type conn struct {
	*process
	o Options
}

// Engine is one outside program that plays.
type Engine struct {
	o        Options
	argv     []string
	name     string
	log      transcript
	proc     *process
	talk     dialect
	start    *rules.Position // of the current game, nil before the first
	restarts int
}

// Open starts the program and brings it up for the variant.
func Open(ctx context.Context, o Options) (*Engine, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	argv, err := SplitCommand(o.Command)
	if err != nil {
		return nil, err
	}
	o.StartTimeout = orDefault(o.StartTimeout, 10*time.Second)
	o.AnswerTimeout = orDefault(o.AnswerTimeout, time.Minute)
	o.Grace = orDefault(o.Grace, 3*time.Second)
	o.Threads = max(o.Threads, 1)
	e := &Engine{o: o, argv: argv, name: o.Command}
	if err := e.launch(ctx); err != nil {
		return nil, err
	}
	return e, nil
}

// Name returns the program's name for itself.
func (e *Engine) Name() string { return e.name }

// Restarts returns how often the program had to be started again.
func (e *Engine) Restarts() int { return e.restarts }

// Transcript returns the last lines of the conversation, oldest first.
func (e *Engine) Transcript() []string { return e.log.all() }

// launch starts the process and greets it; on error nothing is left running.
func (e *Engine) launch(ctx context.Context) error {
	proc, err := startProcess(e.argv, &e.log)
	if err != nil {
		return e.failure("start", err)
	}
	e.proc = proc
	e.talk = dialects[e.o.Protocol](&conn{process: proc, o: e.o})
	ctx, cancel := context.WithTimeout(ctx, e.o.StartTimeout)
	defer cancel()
	name, err := e.talk.greet(ctx)
	if err != nil {
		e.shut(0)
		return e.failure("greeting", err)
	}
	if name != "" {
		e.name = name
	}
	return nil
}

// shut ends the process, if one runs.
func (e *Engine) shut(grace time.Duration) {
	if e.proc == nil {
		return
	}
	if grace > 0 {
		e.talk.quit(e.proc)
	}
	e.proc.close(grace)
	e.proc, e.talk = nil, nil
}

func (e *Engine) failure(doing string, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer in time: %w", err)
	}
	return &Failure{Engine: e.name, Doing: doing, Err: err, Transcript: e.log.all()}
}

// NewGame tells the program that a game starts from start. A program that has ended, or fails here, is started again.
func (e *Engine) NewGame(ctx context.Context, start *rules.Position) error {
	e.start = start.Clone()
	return e.retry(ctx, "new game", func(ctx context.Context) error { return nil })
}

// Search asks for a move in p, which must stand in the game begun by NewGame: its moves are told to the program. It
// returns an *IllegalMove or a *Refusal when program and rules disagree, and a *Failure when the program failed twice.
func (e *Engine) Search(ctx context.Context, p *rules.Position, l Limits) (Answer, error) {
	if e.start == nil {
		return Answer{}, errors.New("protocol: Search before NewGame")
	}
	moves := make([]rules.Move, p.Ply())
	for i := range moves {
		moves[i] = p.MoveAt(i)
	}
	wait := e.o.AnswerTimeout
	if t, ok := l.Allotted(p.Side()); ok {
		wait = t + e.o.Grace
	}
	var a Answer
	err := e.retry(ctx, "search", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		var err error
		a, err = e.talk.search(ctx, e.start, moves, p, l)
		return err
	})
	return a, err
}

// retry runs f with a program that knows the current game, once more with a fresh one if the program fails.
func (e *Engine) retry(ctx context.Context, doing string, f func(context.Context) error) error {
	fresh := doing == "new game"
	for attempt := 0; ; attempt++ {
		err := e.attempt(ctx, fresh, f)
		var illegal *IllegalMove
		var refusal *Refusal
		if err == nil || errors.As(err, &illegal) || errors.As(err, &refusal) {
			return err
		}
		var failed *Failure
		if !errors.As(err, &failed) {
			err = e.failure(doing, err)
		}
		e.shut(0)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if attempt > 0 {
			return err
		}
		e.log.add('#', "started again")
		e.restarts++
		fresh = true
	}
}

func (e *Engine) attempt(ctx context.Context, fresh bool, f func(context.Context) error) error {
	if e.proc == nil {
		fresh = true
		if err := e.launch(ctx); err != nil {
			return err
		}
	}
	if fresh {
		begin, cancel := context.WithTimeout(ctx, e.o.StartTimeout)
		defer cancel()
		if err := e.talk.newGame(begin, e.start); err != nil {
			return err
		}
	}
	return f(ctx)
}

// Close ends the program: politely, then for sure. The Engine may not be used after.
func (e *Engine) Close() error {
	e.shut(closeGrace)
	return nil
}
