package match

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"

	"kirin/rules"
)

// Options say what is to be played.
type Options struct {
	Variant     *rules.Variant
	A, B        Entrant
	Games       int // at most, with an SPRT; an odd number leaves the last pair half
	Concurrency int // games at once, 0: 1
	Seed        uint64
	Openings    Openings
	Clock       Clock
	MaxPlies    int // a draw after so many plies, besides the variant's own limit; 0: 1000
	SPRT        *SPRT
	Journal     string // path of the journal, "": none
	// Progress, if set, is called after each finished game, one call at a time.
	Progress func(g *Game, r Result)
	// Watch, if set, is called with each decision before it is played, from several goroutines.
	Watch func(game int, p *rules.Position, d Decision)
}

// Validate reports every fault at once.
func (o Options) Validate() error {
	var errs []error
	bad := func(cond bool, format string, args ...any) {
		if cond {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(o.Variant == nil, "variant: none given")
	bad(o.A.Open == nil || o.B.Open == nil, "a, b: two players are needed")
	bad(o.Games < 1, "games: %d is below 1", o.Games)
	bad(o.Concurrency < 0, "concurrency: %d is negative", o.Concurrency)
	bad(o.MaxPlies < 0, "max_plies: %d is negative", o.MaxPlies)
	bad(min(o.Clock.Initial, o.Clock.Increment, o.Clock.Byoyomi, o.Clock.Slack) < 0, "clock: a negative time")
	bad(o.Clock.Increment > 0 && o.Clock.Initial == 0 && o.Clock.Byoyomi == 0, "clock: an increment alone leaves no time for the first move")
	if o.Variant != nil {
		errs = append(errs, o.Openings.validate(o.Variant))
	}
	if o.SPRT != nil {
		errs = append(errs, o.SPRT.Validate())
	}
	return errors.Join(errs...)
}

func (o Options) header() Header {
	h := fnv.New64a()
	for _, s := range o.Openings.Book {
		fmt.Fprintln(h, s)
	}
	// "balanced" was an option once: journals keep the word.
	words := fmt.Sprintf("plies %d, book %d (%x), balanced false", o.Openings.Plies, len(o.Openings.Book), h.Sum64())
	if o.Clock.on() {
		words += fmt.Sprintf(", clock %v+%v+%v", o.Clock.Initial, o.Clock.Increment, o.Clock.Byoyomi)
	}
	if o.MaxPlies > 0 {
		words += fmt.Sprintf(", at most %d plies", o.MaxPlies)
	}
	return Header{
		Version: journalVersion, Variant: o.Variant.Name(), Rules: o.Variant.Rules(), A: o.A.Name, B: o.B.Name, AKey: o.A.Key, BKey: o.B.Key,
		Seed: o.Seed, Opening: words,
	}
}

// Fault is a game that counts for nobody.
type Fault struct {
	Game   int      `json:"game"`
	Start  string   `json:"start"`
	Moves  string   `json:"moves"`
	Detail string   `json:"detail"`
	Log    []string `json:"log,omitempty"`
}

// SPRTStatus is where a sequential test stands.
type SPRTStatus struct {
	Elo0     float64 `json:"elo0"`
	Elo1     float64 `json:"elo1"`
	Alpha    float64 `json:"alpha"`
	Beta     float64 `json:"beta"`
	LLR      float64 `json:"llr"`
	Lower    float64 `json:"lower"`
	Upper    float64 `json:"upper"`
	Decision string  `json:"decision"`
}

// Result is a match seen from A. Elo is bounded by +-1600 (see Tally.Elo).
type Result struct {
	A             string         `json:"a"`
	B             string         `json:"b"`
	Variant       string         `json:"variant"`
	Rules         string         `json:"rules"`
	Games         int            `json:"games"`
	Wins          int            `json:"wins"`
	Draws         int            `json:"draws"`
	Losses        int            `json:"losses"`
	Score         float64        `json:"score"`
	Elo           float64        `json:"elo"`
	EloLow        float64        `json:"elo_low"`
	EloHigh       float64        `json:"elo_high"`
	LOS           float64        `json:"los"`
	ByReason      map[string]int `json:"by_reason"`
	WinsBy        map[string]int `json:"wins_by_reason"`
	LossesBy      map[string]int `json:"losses_by_reason"`
	Pairs         [5]int         `json:"pairs"`       // by A's score 0, 1/2, 1, 3/2, 2
	FirstScore    float64        `json:"first_score"` // score of whoever moves first
	MeanPlies     float64        `json:"mean_plies"`  // with the opening's
	SPRT          *SPRTStatus    `json:"sprt,omitempty"`
	Disagreements []Fault        `json:"disagreements,omitempty"`
	Failures      []Fault        `json:"failures,omitempty"`
	Claims        []string       `json:"claims,omitempty"` // ends that engines claimed and the rules did not see
}

// Tally returns the counts.
func (r Result) Tally() Tally {
	return Tally{Wins: r.Wins, Draws: r.Draws, Losses: r.Losses, Pairs: r.Pairs}
}

// Summarize counts the games of a match, in any order. With an SPRT it stops after the pair that decided: the test looks
// at pairs in their order, up to the first that is not whole.
func Summarize(h Header, games []*Game, test *SPRT) Result {
	r := Result{
		A: h.A, B: h.B, Variant: h.Variant, Rules: h.Rules,
		ByReason: map[string]int{}, WinsBy: map[string]int{}, LossesBy: map[string]int{},
	}
	byNumber := map[int]*Game{}
	last := -1
	for _, g := range games {
		byNumber[g.number()] = g
		last = max(last, g.Pair)
	}
	first, plies := 0.0, 0
	decided := Undecided
	inOrder := true
	for k := 0; k <= last && decided == Undecided; k++ {
		whole := true
		score := 0.0
		for _, number := range []int{2 * k, 2*k + 1} {
			g := byNumber[number]
			inOrder = inOrder && g != nil
			whole = whole && g != nil && g.Counts()
			if g == nil || !r.count(g) {
				continue
			}
			score += g.Score
			plies += len(strings.Fields(g.Moves))
			if g.Second {
				first += 1 - g.Score
			} else {
				first += g.Score
			}
		}
		if !whole {
			continue
		}
		r.Pairs[int(2*score+0.5)]++
		if test != nil && inOrder {
			decided = test.Decide(r.Pairs)
		}
	}
	t := r.Tally()
	r.Score = t.Score()
	r.Elo, r.EloLow, r.EloHigh = t.Elo()
	r.LOS = t.LOS()
	if r.Games > 0 {
		r.FirstScore = first / float64(r.Games)
		r.MeanPlies = float64(plies) / float64(r.Games)
	}
	if test != nil {
		lower, upper := test.Bounds()
		r.SPRT = &SPRTStatus{
			Elo0: test.Elo0, Elo1: test.Elo1, Alpha: test.Alpha, Beta: test.Beta,
			LLR: test.LLR(r.Pairs), Lower: lower, Upper: upper, Decision: decided,
		}
	}
	return r
}

// count adds one game and reports whether it counts.
func (r *Result) count(g *Game) bool {
	fault := Fault{Game: g.number() + 1, Start: g.Start, Moves: g.Moves, Detail: g.Detail, Log: g.Log}
	switch g.Fault {
	case FaultDisagreement:
		r.Disagreements = append(r.Disagreements, fault)
		return false
	case FaultFailure:
		r.Failures = append(r.Failures, fault)
		return false
	}
	for _, c := range g.Claims {
		r.Claims = append(r.Claims, fmt.Sprintf("game %d, %s", g.number()+1, c))
	}
	r.Games++
	r.ByReason[g.Reason]++
	switch g.Score {
	case 1:
		r.Wins++
		r.WinsBy[g.Reason]++
	case 0:
		r.Losses++
		r.LossesBy[g.Reason]++
	default:
		r.Draws++
	}
	return true
}

// failuresInARow ends a match: an engine that fails so often will not play.
const failuresInARow = 4

// DefaultMaxPlies ends games where no rule does.
const DefaultMaxPlies = 1000

// runner is a match being played.
type runner struct {
	o       Options
	header  Header
	referee referee
	log     *journal
	stop    context.CancelFunc

	mu     sync.Mutex
	games  []*Game
	played map[int]bool
	next   int // next pair to hand out
	failed int // failures in a row
	err    error
}

// Run plays the match, or what its journal lacks of it. When ctx ends it returns what was played and ctx's error.
func Run(ctx context.Context, o Options) (Result, error) {
	if err := o.Validate(); err != nil {
		return Result{}, fmt.Errorf("match: %w", err)
	}
	if o.MaxPlies == 0 {
		o.MaxPlies = DefaultMaxPlies
	}
	header := o.header()
	log, games, err := openJournal(o.Journal, header)
	if err != nil {
		return Result{}, err
	}
	inner, stop := context.WithCancel(ctx)
	defer stop()
	r := &runner{o: o, header: header, log: log, stop: stop, games: games, played: map[int]bool{}}
	r.referee = referee{v: o.Variant, clock: o.Clock, maxPlies: o.MaxPlies}
	for _, g := range games {
		r.played[g.number()] = true
	}
	var workers sync.WaitGroup
	if !r.over(Summarize(header, games, o.SPRT)) {
		for range min(max(o.Concurrency, 1), (o.Games+1)/2) {
			workers.Go(func() { r.work(inner) })
		}
	}
	workers.Wait()
	if err := log.close(); err != nil && r.err == nil {
		r.err = err
	}
	result := Summarize(header, r.games, o.SPRT)
	if r.err != nil {
		return result, fmt.Errorf("match %s - %s: %w", o.A.Name, o.B.Name, r.err)
	}
	if !r.over(result) {
		return result, ctx.Err()
	}
	return result, nil
}

// over tells whether the match is decided or complete.
func (r *runner) over(result Result) bool {
	if result.SPRT != nil && result.SPRT.Decision != Undecided {
		return true
	}
	for n := range r.o.Games {
		if !r.played[n] {
			return false
		}
	}
	return true
}

// work plays pairs until none is left.
func (r *runner) work(ctx context.Context) {
	var a, b Player
	defer func() {
		for _, p := range []Player{a, b} {
			if p != nil {
				if err := p.Close(); err != nil {
					r.fail(err)
				}
			}
		}
	}()
	for {
		pair, ok := r.take()
		if !ok || ctx.Err() != nil {
			return
		}
		if a == nil {
			var err error
			if a, err = r.o.A.Open(ctx); err == nil {
				b, err = r.o.B.Open(ctx)
			}
			if err != nil {
				r.fail(err)
				return
			}
		}
		if err := r.playPair(ctx, pair, a, b); err != nil {
			r.fail(err)
			return
		}
	}
}

// take hands out the next pair that has a game to play.
func (r *runner) take() (int, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for ; 2*r.next < r.o.Games; r.next++ {
		if !r.played[2*r.next] || 2*r.next+1 < r.o.Games && !r.played[2*r.next+1] {
			r.next++
			return r.next - 1, true
		}
	}
	return 0, false
}

// fail keeps the first error and stops the match.
func (r *runner) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil && !errors.Is(err, context.Canceled) {
		r.err = err
	}
	r.stop()
}

// playPair plays what is missing of a pair.
func (r *runner) playPair(ctx context.Context, pair int, a, b Player) error {
	o, err := r.o.Openings.pick(r.o.Variant, r.o.Seed, pair)
	if err != nil {
		return err
	}
	for second := range 2 {
		number := 2*pair + second
		r.mu.Lock()
		skip := number >= r.o.Games || r.played[number]
		r.mu.Unlock()
		if skip {
			continue
		}
		players := [2]Player{a, b}
		names := [2]string{r.o.A.Name, r.o.B.Name}
		if second == 1 {
			players[0], players[1] = b, a
			names[0], names[1] = names[1], names[0]
		}
		for i, pl := range players {
			if s, ok := pl.(Seeder); ok {
				s.Seed(gameSeed(r.o.Seed, number, fmt.Sprint(names[i], i)))
			}
		}
		ref := r.referee
		if r.o.Watch != nil {
			ref.watch = func(p *rules.Position, d Decision) { r.o.Watch(number, p, d) }
		}
		g, err := ref.play(ctx, o, players)
		if err != nil {
			return err
		}
		g.Pair, g.Second, g.First = pair, second == 1, names[0]
		g.Score = scoreOfA(g, o.first)
		if err := r.finished(g); err != nil {
			return err
		}
	}
	return nil
}

// scoreOfA is A's score in a game whose first mover was the given side.
func scoreOfA(g *Game, first rules.Side) float64 {
	a := first
	if g.Second {
		a = first.Other()
	}
	switch g.Result {
	case rules.Winner(a).String():
		return 1
	case rules.Winner(a.Other()).String():
		return 0
	}
	return 0.5
}

// finished records a game and tells about it.
func (r *runner) finished(g *Game) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.log.append(g); err != nil {
		return err
	}
	r.games = append(r.games, g)
	r.played[g.number()] = true
	result := Summarize(r.header, r.games, r.o.SPRT)
	if r.o.Progress != nil {
		r.o.Progress(g, result)
	}
	if result.SPRT != nil && result.SPRT.Decision != Undecided {
		r.stop()
	}
	if g.Fault != FaultFailure {
		r.failed = 0
		return nil
	}
	if r.failed++; r.failed >= failuresInARow {
		return fmt.Errorf("%d games in a row failed, the last: %s", r.failed, g.Detail)
	}
	return nil
}
