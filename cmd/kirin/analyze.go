package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"kirin/rules"
	"kirin/selfplay/engine"

	"github.com/spf13/cobra"
)

// maxQueryLine bounds a line of input.
const maxQueryLine = 1 << 20

// analyzeFlags are the flags of analyze.
type analyzeFlags struct {
	game    gameFlags
	net     string
	atOnce  int
	d       defaults
	options engine.Options
}

func newAnalyze() *cobra.Command {
	f := analyzeFlags{options: engine.DefaultOptions()}
	f.options.HashMB = 64
	cmd := &cobra.Command{
		Use:   "analyze",
		Short: "Answer questions about positions and games, as JSON lines",
		Long: `Analyze reads one JSON object a line and writes one for each position asked about,
in the order in which they are finished. Nothing but the end of the input (all
questions are answered first) or Ctrl-C ends it: a line that is wrong gets an
answer with "error".

A question has
  id              text or number, repeated in every answer
  sfen, moves     a position: start (default: the even one) and moves in USI,
                  Western or Japanese notation
  game            or a whole game: the text of a KIF, CSA or USI file
  analyze_turns   after how many moves: [0,10,11] or "all" (default: all made)
  max_visits, max_time (seconds), lines, include_policy
An answer has
  id, turn, sfen, side (to move), over (the result, of a finished game)
  visits, value   chances of win, draw and loss for the side to move
  moves           the best first: move, visits, prior, win, draw, loss, pv,
                  proven with plies
  mate            a forced mate: plies, moves
  policy          every legal move's probability before any search
{"id":1,"action":"query_version"} tells the program's version and net,
{"id":2,"action":"terminate","terminate_id":1} ends a question early (what has been
begun is answered with what is known, what has not with "no_more").`,
		Example: `  echo '{"id":1,"moves":["3e3d","3a3b"],"max_visits":500}' | kirin analyze --net runs/minishogi
  kirin analyze --variant shogi --at-once 2 < questions.jsonl > answers.jsonl`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.game.add(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.net, "net", "", "net: FILE, RUN or RUN@latest, RUN@first, RUN@STEP, shipped (default as kirin engine)")
	fl.IntVar(&f.atOnce, "at-once", 1, "positions analyzed at the same time")
	fl.IntVar(&f.options.Threads, "threads", 1, "threads for each position")
	fl.IntVar(&f.options.HashMB, "hash", f.options.HashMB, "memory of each search tree in MB")
	fl.IntVar(&f.options.MateNodes, "mate-nodes", f.options.MateNodes, "positions of the mate search; 0 none")
	fl.Int64Var(&f.d.visits, "visits", 500, "visits where a question does not say")
	fl.IntVar(&f.d.lines, "lines", 10, "moves reported where a question does not say")
	return cmd
}

func (f *analyzeFlags) run(ctx context.Context, in io.Reader, out, stderr io.Writer) error {
	switch {
	case f.atOnce < 1 || f.atOnce > 256:
		return fmt.Errorf("--at-once %d is not in 1..256", f.atOnce)
	case f.d.visits < 1 || f.d.visits > maxQueryVisits:
		return fmt.Errorf("--visits %d is not in 1..%d", f.d.visits, maxQueryVisits)
	case f.d.lines < 1:
		return fmt.Errorf("--lines %d is below 1", f.d.lines)
	}
	v, err := f.game.load()
	if err != nil {
		return err
	}
	net, err := openEngineNet(v, f.net)
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "kirin analyze: %s with %s\n", v.Name(), net.Name)
	a := &analyst{v: v, net: net, d: f.d, out: out, todo: make(chan job, 1024), running: map[string][]*task{}}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a.fail = cancel
	var workers sync.WaitGroup
	for range f.atOnce {
		s, err := engine.NewSolo(v, net, f.options)
		if err != nil {
			return err
		}
		workers.Go(func() { a.work(ctx, s) })
	}
	a.read(ctx, in)
	close(a.todo)
	workers.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return nil
}

// analyst answers queries.
type analyst struct {
	v    *rules.Variant
	net  engine.Net
	d    defaults
	todo chan job
	fail context.CancelCauseFunc

	mu      sync.Mutex
	out     io.Writer
	running map[string][]*task // by id: the queries that are not yet answered
}

// task is a query that is not yet answered.
type task struct {
	left int // positions
	halt []context.CancelFunc
	cut  bool
}

// write sends a reply.
func (a *analyst) write(r reply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := writeReply(a.out, r); err != nil {
		a.fail(fmt.Errorf("analyze: write: %w", err))
	}
}

// inputLine is a line of input, or what is wrong with it.
type inputLine struct {
	text []byte
	err  error
}

// read takes queries until the input or ctx ends.
func (a *analyst) read(ctx context.Context, in io.Reader) {
	lines := make(chan inputLine)
	go func() { // outlives the call if the input blocks
		defer close(lines)
		for r := bufio.NewReaderSize(in, 64<<10); ; {
			text, err := readLine(r, maxQueryLine)
			if len(bytes.TrimSpace(text)) > 0 || errors.Is(err, errLongLine) {
				l := inputLine{text: text}
				if errors.Is(err, errLongLine) {
					l.err = err
				}
				select {
				case lines <- l:
				case <-ctx.Done():
					return
				}
			}
			if err != nil && !errors.Is(err, errLongLine) {
				return
			}
		}
	}()
	for number := 1; ; number++ {
		select {
		case <-ctx.Done():
			return
		case l, ok := <-lines:
			if !ok {
				return
			}
			q, err := query{}, l.err
			if err == nil {
				if q, err = parseQuery(l.text); err == nil {
					err = a.take(ctx, q)
				}
			}
			if err != nil {
				a.write(reply{ID: q.ID, Line: number, Error: err.Error()})
			}
		}
	}
}

var errLongLine = errors.New("the line is too long")

// readLine reads one line without its end; of a line longer than most it reads all and gives nothing but errLongLine.
func readLine(r *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > most; !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case long:
			return nil, errLongLine
		}
		return line, err
	}
}

// take does what a query asks for.
func (a *analyst) take(ctx context.Context, q query) error {
	switch q.Action {
	case "":
	case "query_version":
		a.write(reply{ID: q.ID, Action: q.Action, Info: map[string]string{
			"version": version, "net": a.net.Name, "variant": a.v.Name(), "rules": a.v.Rules(),
		}})
		return nil
	case "terminate":
		a.mu.Lock()
		for _, t := range a.running[string(q.Terminate)] {
			t.cut = true
			for _, halt := range t.halt {
				halt()
			}
		}
		a.mu.Unlock()
		a.write(reply{ID: q.ID, Action: q.Action})
		return nil
	default:
		return fmt.Errorf("action: %q is unknown (query_version, terminate)", q.Action)
	}
	jobs, err := q.jobs(a.v, a.d)
	if err != nil {
		return err
	}
	t := &task{left: len(jobs)}
	if len(jobs) > 0 {
		a.mu.Lock()
		a.running[string(q.ID)] = append(a.running[string(q.ID)], t)
		a.mu.Unlock()
	}
	for _, j := range jobs {
		j.task = t
		select {
		case a.todo <- j:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// work answers until nothing is left to do.
func (a *analyst) work(ctx context.Context, s *engine.Solo) {
	for j := range a.todo {
		if ctx.Err() != nil {
			return
		}
		a.write(a.answer(ctx, s, j))
	}
}

// answer analyzes one position.
func (a *analyst) answer(ctx context.Context, s *engine.Solo, j job) reply {
	ctx, halt := context.WithCancel(ctx)
	defer halt()
	cut := a.begin(j, halt)
	defer a.end(j)
	r := reply{ID: j.id, Turn: &j.turn}
	p, err := j.game.Position(j.turn)
	if err != nil {
		r.Error = err.Error()
		return r
	}
	r.SFEN, r.Side = p.SFEN(), p.Side().String()
	if out := p.Outcome(p.CountMoves()); out.Result != rules.Ongoing {
		r.Over = out.String()
		return r
	}
	if cut {
		r.Cut = true
		return r
	}
	s.Forget()
	found, err := s.Analyze(ctx, p, j.limits, j.lines)
	if err != nil {
		r.Error = err.Error()
		return r
	}
	r.tell(j, p, found)
	return r
}

// begin notes that a job is being done; true: its query has been terminated.
func (a *analyst) begin(j job, halt context.CancelFunc) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	j.task.halt = append(j.task.halt, halt)
	return j.task.cut
}

// end notes that a job is done.
func (a *analyst) end(j job) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if j.task.left--; j.task.left > 0 {
		return
	}
	id := string(j.id)
	rest := a.running[id][:0]
	for _, t := range a.running[id] {
		if t != j.task {
			rest = append(rest, t)
		}
	}
	if a.running[id] = rest; len(rest) == 0 {
		delete(a.running, id)
	}
}
