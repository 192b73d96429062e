package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"kirin/dataset"
	"kirin/metrics"
	"kirin/rules"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// web is the page of a live run and its history.
type web struct {
	url      string
	server   *metrics.Server // nil without an address
	history  *metrics.History
	recorder *metrics.Recorder
	monitor  *monitor
	board    liveBoard
	ratings  ratingTable
	disk     diskMeter
	fault    error // of the last point that could not be written
}

// serve opens the history and, if the configuration names an address, the page.
func serve(r *runDir, m *metrics.Metrics, mon *monitor, store *dataset.Store) (*web, error) {
	h, err := metrics.OpenHistory(r.path("log.jsonl"))
	if err != nil {
		return nil, err
	}
	w := &web{history: h, recorder: metrics.NewRecorder(m, h), monitor: mon}
	w.board.variant = r.variant
	if r.cfg.Web.Address == "" {
		return w, nil
	}
	w.server, err = metrics.NewServer(metrics.Options{
		Addr:    r.cfg.Web.Address,
		Metrics: m,
		Runs: []metrics.Run{{
			Name: filepath.Base(r.dir), Variant: r.variant.Name(), Live: true, History: h,
			Source:  &gameSource{variant: r.variant, store: store, monitor: mon},
			Ratings: w.ratings.get,
		}},
	})
	if err == nil {
		w.url, err = w.server.Start()
	}
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	w.board.server = w.server
	return w, nil
}

// record writes a point of the curves when one is due.
func (w *web) record(now time.Time, l *learner) {
	if w.recorder.Due(now) {
		w.point(now, l)
	}
}

// point writes a point of the curves.
func (w *web) point(now time.Time, l *learner) {
	w.monitor.health()
	w.disk.measure(l.run, l.metrics)
	err := w.recorder.Record(now, l.status.step.Load(), l.status.games.Load())
	if err != nil && waitable(err) {
		l.metrics.Wait("log", waitReason(err), err.Error())
	} else {
		l.metrics.Working("log")
		if err != nil && (w.fault == nil || w.fault.Error() != err.Error()) {
			l.say("the curves lack a point: %v", err)
		}
	}
	w.fault = err
}

func (w *web) close() error {
	var err error
	if w.server != nil {
		err = w.server.Close()
	}
	return errors.Join(err, w.history.Close())
}

// ratingTable holds the ratings the page shows.
type ratingTable struct {
	mu   sync.Mutex
	rows []metrics.Rating
}

func (t *ratingTable) set(rows []metrics.Rating) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = rows
}

func (t *ratingTable) get() []metrics.Rating {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rows
}

// liveBoard shows one game of the run as it is played.
type liveBoard struct {
	variant *rules.Variant
	server  *metrics.Server
}

// show is called by a worker after each ply of the game that is watched.
func (b *liveBoard) show(g *dataset.Game, p *rules.Position) {
	if b.server == nil || !b.server.WantsBoard() {
		return
	}
	last := &g.Plies[len(g.Plies)-1]
	b.server.SetBoard(metrics.Board{
		Variant:  b.variant.Name(),
		SFEN:     p.SFEN(),
		LastMove: p.FormatMove(last.Move),
		Ply:      len(g.Plies),
		GameID:   fmt.Sprintf("game %d", g.Number),
		Net:      fmt.Sprintf("step %d", g.Step),
		Value:    senteScore(last, p.Side().Other()),
	})
}

// senteScore is the root value of a ply as sente's expected score, negative
// when the ply was not searched.
func senteScore(p *dataset.Ply, mover rules.Side) float32 {
	if p.Value == (rules.Value{}) {
		return -1
	}
	if mover == rules.Gote {
		return p.Value.Flip().Score()
	}
	return p.Value.Score()
}

// gameSource gives the page its games: the recent ones from memory, others
// from the store.
type gameSource struct {
	variant *rules.Variant
	store   *dataset.Store
	monitor *monitor // nil for a run that is not live

	searching sync.Mutex // an id that no game has takes reading all of them: one at a time
}

func (s *gameSource) Recent(n int) []metrics.GameSummary {
	var games []*dataset.Game
	if s.monitor != nil {
		games = s.monitor.recent(n)
	}
	if len(games) == 0 {
		var err error
		if games, err = s.store.Newest(n); err != nil {
			return nil
		}
	}
	out := make([]metrics.GameSummary, len(games))
	for i, g := range games {
		out[i] = metrics.GameSummary{
			ID: g.ID.String(), Variant: g.Variant, Net: netLabel(g), Result: g.Outcome.Result.String(),
			Reason: g.Outcome.Reason.String(), Plies: len(g.Plies),
		}
	}
	return out
}

func (s *gameSource) Game(id string) (metrics.GameRecord, error) {
	g, err := s.find(id)
	if err != nil {
		return metrics.GameRecord{}, err
	}
	return record(s.variant, g)
}

func (s *gameSource) find(text string) (*dataset.Game, error) {
	id, err := dataset.ParseID(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", metrics.ErrNoGame, err)
	}
	if s.monitor != nil {
		if g := s.monitor.find(id); g != nil {
			return g, nil
		}
	}
	s.searching.Lock()
	defer s.searching.Unlock()
	g, err := s.store.Find(id)
	if errors.Is(err, dataset.ErrNotFound) {
		return nil, fmt.Errorf("%w: %s", metrics.ErrNoGame, text)
	}
	return g, err
}

// record makes a game ready to be stepped through.
func record(v *rules.Variant, g *dataset.Game) (metrics.GameRecord, error) {
	out := metrics.GameRecord{
		ID: g.ID.String(), Variant: g.Variant, Net: netLabel(g),
		Result: g.Outcome.Result.String(), Reason: g.Outcome.Reason.String(),
	}
	p, err := v.ParseSFEN(g.Start)
	if err != nil {
		return out, fmt.Errorf("game %s: start: %w", g.ID, err)
	}
	out.SFENs = append(out.SFENs, p.SFEN())
	for i := range g.Plies {
		ply := &g.Plies[i]
		out.Moves = append(out.Moves, p.FormatMove(ply.Move))
		out.Values = append(out.Values, senteScore(ply, p.Side()))
		p.Do(ply.Move)
		out.SFENs = append(out.SFENs, p.SFEN())
	}
	return out, nil
}

func netLabel(g *dataset.Game) string { return fmt.Sprintf("step %d", g.Step) }

// recent lists up to n finished games, newest first.
func (o *monitor) recent(n int) []*dataset.Game {
	o.mu.Lock()
	defer o.mu.Unlock()
	n = min(n, len(o.games))
	out := make([]*dataset.Game, n)
	for i := range n {
		out[i] = o.games[(o.next-1-i)%recentGames]
	}
	return out
}

func (o *monitor) find(id dataset.ID) *dataset.Game {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, g := range o.games {
		if g.ID == id {
			return g
		}
	}
	return nil
}

// serveMetrics serves /metrics alone, for players without a page.
func serveMetrics(address string, m *metrics.Metrics) (url string, closeServer func(), err error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return "", nil, fmt.Errorf("--web %s: %w", address, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.Registry(), promhttp.HandlerOpts{}))
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second}
	go s.Serve(l)
	return "http://" + l.Addr().String(), func() { s.Close() }, nil
}
