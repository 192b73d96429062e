package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"kirin/dataset/whole"
	"kirin/metrics"
	"kirin/network"
	"kirin/network/eval"
	"kirin/network/kernel"
	"kirin/rules"
	"kirin/selfplay"
	"kirin/selfplay/match"
	"kirin/selfplay/protocol"
)

// anchors are the fixed opponents of every run; random stands at 0.
var anchors = []string{"random", "material"}

// rater measures the nets of a run while it learns: each net that is due plays
// pairs of games against the anchors and earlier nets, and all games so far are
// fitted together.
type rater struct {
	run     *runDir
	set     *kernel.Set
	metrics *metrics.Metrics
	table   *ratingTable
	status  *loopStatus
	rng     *rand.Rand
	say     func(format string, a ...any)
	games   []match.RatedGame
	file    ratingFile
	whole   int64  // bytes of whole lines in file
	unsaved []byte // lines that there was no room for
	ratings *match.Ratings
	began   time.Time
	spent   time.Duration // in the players' moves
	fitting time.Duration // in fits
	unfit   bool          // there are games since the last one
	faults  map[int]bool  // nets that could not be read

	// What rating games use is kept for the next ones: made anew for each pair, it would be most of the program's garbage.
	nets  map[int]*network.Net // by step, at most two: the net that is due and its opponent
	last  int                  // step of the one asked for last
	evals []*eval.Evaluator
	used  int // of evals, by this pair
}

// ratingFile is the part of *os.File that rating games are written to.
type ratingFile interface {
	io.WriterAt
	io.Closer
	Truncate(size int64) error
}

// newRater opens the run's rating games; nil when the configuration asks for
// none.
func newRater(r *runDir, l *learner, set *kernel.Set, table *ratingTable) (*rater, error) {
	if r.cfg.Rating.Every == 0 {
		return nil, nil
	}
	games, whole, err := r.readRatedGames()
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(r.path("ratings.jsonl"), os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(whole); err != nil { // a line that a crash cut short
		return nil, errors.Join(fmt.Errorf("repair %s: %w", f.Name(), err), f.Close())
	}
	t := &rater{
		run: r, set: set, metrics: l.metrics, table: table, status: &l.status, say: l.say, games: games, file: f, whole: whole, began: time.Now(),
		rng: rand.New(rand.NewPCG(r.cfg.Seed, uint64(len(games)))), faults: map[int]bool{},
		nets: map[int]*network.Net{},
	}
	if err := t.fit(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return t, nil
}

// readRatedGames reads ratings.jsonl and tells how much of it is whole lines.
func (r *runDir) readRatedGames() (games []match.RatedGame, whole int64, err error) {
	file := r.path("ratings.jsonl")
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	b = b[:bytes.LastIndexByte(b, '\n')+1]
	for i, line := range bytes.Split(b, []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		var g match.RatedGame
		if err := json.Unmarshal(line, &g); err != nil {
			return nil, 0, fmt.Errorf("%s:%d: damaged: %w; delete the line to go on without that game", file, i+1, err)
		}
		games = append(games, g)
	}
	return games, int64(len(b)), nil
}

// play plays rating games until ctx ends.
func (t *rater) play(ctx context.Context) error {
	defer t.file.Close()
	cfg := t.run.cfg.Rating
	for ctx.Err() == nil {
		if err := t.write(nil); err != nil {
			return err
		}
		step, err := t.due()
		if err != nil {
			return err
		}
		over := (t.spent + t.fitting).Seconds() > cfg.Share*time.Since(t.began).Seconds()*float64(runtime.GOMAXPROCS(0))
		if step < 0 || over || len(t.unsaved) > 0 {
			sleep(ctx, pollEvery)
			continue
		}
		if err := t.playPair(ctx, step); err != nil {
			if ctx.Err() != nil {
				return t.refit(true)
			}
			return fmt.Errorf("rating games: %w", err)
		}
	}
	return errors.Join(t.write(nil), t.refit(true))
}

// due is the step of the net that should play next, -1 for none: the newest
// of those that have not played enough and belong to the table, because they have
// games or are rating.every steps away from all that have any, also from those
// whose weights are gone, and from each other.
func (t *rater) due() (int, error) {
	all, err := steps(t.run.path("weights"), weightsSuffix)
	if err != nil {
		return 0, err
	}
	every := t.run.cfg.Rating.Every
	played := gamesByStep(t.games)
	rated := slices.Sorted(maps.Keys(played))
	last, best := -every, -1
	for _, s := range all {
		n, known := played[s]
		if !known {
			i, _ := slices.BinarySearch(rated, s)
			if s < last+every || i > 0 && s < rated[i-1]+every || i < len(rated) && rated[i] < s+every {
				continue
			}
			last = s
		}
		if n < t.run.cfg.Rating.Games && !t.faults[s] {
			best = s
		}
	}
	return best, nil
}

// gamesByStep counts the games of each net that has any, by step.
func gamesByStep(games []match.RatedGame) map[int]int {
	n := map[int]int{}
	for _, g := range games {
		for _, name := range []string{g.First, g.Second} {
			if step, ok := netStep(name); ok {
				n[step]++
			}
		}
	}
	return n
}

// netStep is the step of the net that rating games call so; false: it is none.
func netStep(name string) (int, bool) {
	s, ok := strings.CutPrefix(name, "step ")
	step, err := strconv.Atoi(s)
	return step, ok && err == nil
}

// leaveOut goes on without a net that cannot be read.
func (t *rater) leaveOut(step int, err error) {
	t.faults[step] = true
	if !errors.Is(err, fs.ErrNotExist) { // else it was removed as one of too many
		t.say("the net of step %d gets no rating games: %v", step, err)
	}
}

// write appends lines, behind those that had no room before. While there is none
// the file ends with its last whole line.
func (t *rater) write(lines []byte) error {
	t.unsaved = append(t.unsaved, lines...)
	if len(t.unsaved) == 0 {
		return nil
	}
	if _, err := t.file.WriteAt(t.unsaved, t.whole); err != nil {
		err = errors.Join(err, t.file.Truncate(t.whole))
		if waitable(err) {
			t.metrics.Wait("rating", waitReason(err), err.Error())
			return nil
		}
		return err
	}
	t.whole += int64(len(t.unsaved))
	t.unsaved = t.unsaved[:0]
	t.metrics.Working("rating")
	return nil
}

// netName is how rating games call the net of a step.
func netName(step int) string { return "step " + strconv.Itoa(step) }

// playPair plays two games of a net against an opponent near its strength.
func (t *rater) playPair(ctx context.Context, step int) error {
	t.used = 0
	a, err := t.entrant(step)
	if err != nil {
		t.leaveOut(step, err)
		return nil
	}
	opponent := t.opponent(step)
	b, err := t.named(opponent)
	if err != nil {
		if other, ok := netStep(opponent); ok {
			t.leaveOut(other, err)
			return nil
		}
		return err
	}
	seed := mix(t.run.cfg.Seed, uint64(len(t.games))+1)
	journal := &bytes.Buffer{}
	_, err = match.Run(ctx, match.Options{
		Variant: t.run.variant, A: a, B: b, Games: 2, Seed: seed,
		Openings: match.Openings{Plies: t.run.cfg.Rating.OpeningPlies},
		Progress: func(g *match.Game, _ match.Result) {
			h := match.Header{A: a.Name, B: b.Name}
			for _, rg := range match.RatedGames(h, []*match.Game{g}, strconv.Itoa(len(t.games)/2)) {
				line, _ := json.Marshal(rg) // a struct of texts and a number
				journal.Write(append(line, '\n'))
				t.games = append(t.games, rg)
				t.metrics.Rating.Games.Inc()
			}
		},
	})
	if err != nil {
		return err
	}
	t.unfit = true
	return errors.Join(t.write(journal.Bytes()), t.refit(false))
}

// opponent chooses among the anchors and the earlier rated nets. A net that has no
// rating yet is taken to be as good as the last one before it.
func (t *rater) opponent(step int) string {
	names := append([]string(nil), anchors...)
	elos := []float64{0, t.elo("material", 200)}
	before, self := -1, elos[1]
	for _, p := range t.ratings.Players {
		n, ok := netStep(p.Name)
		if !ok || n >= step {
			continue
		}
		if n > before {
			before, self = n, p.Elo
		}
		if t.faults[n] {
			continue
		}
		if _, err := os.Stat(t.run.weightsFile(n)); err == nil {
			names, elos = append(names, p.Name), append(elos, p.Elo)
		}
	}
	return names[match.ChooseOpponent(t.rng, t.elo(netName(step), self), elos)]
}

func (t *rater) elo(name string, otherwise float64) float64 {
	if p, ok := t.ratings.Of(name); ok {
		return p.Elo
	}
	return otherwise
}

// named makes the player of a name that opponent returned.
func (t *rater) named(name string) (match.Entrant, error) {
	if step, ok := netStep(name); ok {
		return t.entrant(step)
	}
	s, err := match.ParsePlayer(name)
	if err != nil {
		return match.Entrant{}, err
	}
	e, err := s.Entrant(t.run.variant, nil)
	return t.timed(e), err
}

func (t *rater) entrant(step int) (match.Entrant, error) {
	n, err := t.net(step)
	if err != nil {
		return match.Entrant{}, err
	}
	search := match.DefaultSearch()
	search.Simulations, search.Tree = t.run.cfg.Rating.Simulations, t.run.cfg.Search
	return t.timed(match.NetPlayer(netName(step), t.run.variant, func() selfplay.Evaluator { return t.evaluator(n) }, search)), nil
}

// net returns the net of a step. The one asked for before stays as it is; any
// other gives its memory to the new one.
func (t *rater) net(step int) (*network.Net, error) {
	n := t.nets[step]
	if n == nil {
		file := t.run.weightsFile(step)
		w, err := network.ReadWeights(file)
		if err != nil {
			return nil, err
		}
		for s, old := range t.nets {
			if s != t.last && old.Form() == w.Form {
				n = old
				delete(t.nets, s)
			}
		}
		if n, err = repacked(n, w, t.run.variant, t.set, file); err != nil {
			return nil, err
		}
		t.nets[step] = n
	}
	t.last = step
	return n, nil
}

// evaluator returns one that this pair does not use yet.
func (t *rater) evaluator(n *network.Net) selfplay.Evaluator {
	if t.used == len(t.evals) {
		t.evals = append(t.evals, eval.New(n, maxLeaves))
	}
	e := t.evals[t.used]
	e.SetNet(n)
	t.used++
	return e
}

// timed accounts a player's CPU time to the rating games.
func (t *rater) timed(e match.Entrant) match.Entrant {
	open := e.Open
	e.Open = func(ctx context.Context) (match.Player, error) {
		p, err := open(ctx)
		if err != nil {
			return nil, err
		}
		return &timedPlayer{p, t}, nil
	}
	return e
}

type timedPlayer struct {
	match.Player
	rater *rater
}

func (p *timedPlayer) Seed(seed uint64) {
	if s, ok := p.Player.(match.Seeder); ok {
		s.Seed(seed)
	}
}

func (p *timedPlayer) Move(ctx context.Context, pos *rules.Position, l protocol.Limits) (match.Decision, error) {
	clock := p.rater.metrics.Clock(metrics.PartRating)
	began := time.Now()
	d, err := p.Player.Move(ctx, pos, l)
	p.rater.spent += time.Since(began)
	clock.Stop()
	return d, err
}

// refit fits the games since the last fit too. A fit takes the longer the more
// nets there are; so that most of the time is left to games, it waits until they
// have taken four times as long as the fits, or until the last one is over.
func (t *rater) refit(last bool) error {
	if !t.unfit || !last && 4*t.fitting > t.spent {
		return nil
	}
	clock := t.metrics.Clock(metrics.PartRating)
	defer clock.Stop()
	began := time.Now()
	defer func() { t.fitting += time.Since(began) }()
	err := t.fit()
	if errors.Is(err, match.ErrFit) { // the run goes on with the ratings that it had
		t.say("%v", err)
		return nil
	}
	return err
}

// learningSpread is how far nets of a run may be apart, in Elo, whose steps differ by a
// factor of e. With 150 to 300 the games of three runs of minishogi were foretold
// best from others that were left to the fit (docs/strength.md).
const learningSpread = 200

// fitOptions are those of a fit of the run's rating games. Each rated net is tied
// to the next one: a run learns in small steps, and the smaller ones the longer it
// lasts, so that what two dozen games say of a net holds nearly for its neighbours
// too.
func (r *runDir) fitOptions(games []match.RatedGame) match.FitOptions {
	o := match.DefaultFitOptions()
	every := float64(max(r.cfg.Rating.Every, 1))
	rated := slices.Sorted(maps.Keys(gamesByStep(games)))
	for i := 1; i < len(rated); i++ {
		a, b := rated[i-1], rated[i]
		factor := (float64(b) + every) / (float64(a) + every)
		o.Links = append(o.Links, match.Link{A: netName(a), B: netName(b), Spread: max(1, learningSpread*math.Sqrt(math.Log(factor)))})
	}
	return o
}

// fit rates all players over all games so far and shows the result.
func (t *rater) fit() error {
	ratings, err := match.Fit(t.games, t.run.fitOptions(t.games))
	t.unfit = false
	if err != nil {
		return err
	}
	t.ratings = ratings
	rows := ratingRows(ratings)
	t.table.set(rows)
	newest := metrics.NewestRated(rows, t.run.cfg.Rating.Games/2)
	t.metrics.SetRatings(rows, newest)
	if newest != nil {
		t.status.rating.Store(newest)
	}
	b, err := json.MarshalIndent(ratings, "", "  ")
	if err != nil {
		return err
	}
	if err := whole.WriteFile(t.run.path("rating.json"), append(b, '\n')); err != nil && !waitable(err) {
		return err
	}
	return nil
}

// ratingRows turns a fit into the page's rows.
func ratingRows(r *match.Ratings) []metrics.Rating {
	rows := make([]metrics.Rating, len(r.Players))
	for i, p := range r.Players {
		rows[i] = metrics.Rating{Name: p.Name, Step: -1, Elo: p.Elo, Low: p.Low, High: p.High, Games: p.Games, Anchor: true}
		if step, ok := netStep(p.Name); ok {
			rows[i].Step, rows[i].Anchor = int64(step), false
		}
	}
	return rows
}

// readRatings reads the table of the last fit; none gives no rows.
func (r *runDir) readRatings() ([]metrics.Rating, error) {
	b, err := os.ReadFile(r.path("rating.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var t match.Ratings
	if err := json.Unmarshal(b, &t); err != nil {
		return nil, fmt.Errorf("%s: damaged: %w; it is written anew with the next rating game", r.path("rating.json"), err)
	}
	return ratingRows(&t), nil
}
