package metrics

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// status is the answer of /api/status and the event of the same name.
type status struct {
	Title    string         `json:"title"`
	Live     bool           `json:"live"`
	Runs     []runStatus    `json:"runs"`
	Waiting  []Wait         `json:"waiting"`
	Progress progressStatus `json:"progress"`
}

type runStatus struct {
	Name    string `json:"name"`
	Variant string `json:"variant"`
	Live    bool   `json:"live"`
	Points  int    `json:"points"`
	Damaged int    `json:"damaged"` // lines of the history that could not be read
	Step    int64  `json:"step"`
	Games   int64  `json:"games"`
	HasList bool   `json:"has_games"`
}

type progressStatus struct {
	Done float64 `json:"done"`
	Left float64 `json:"left"` // seconds
}

func (s *Server) status() status {
	out := status{Title: s.options.Title, Waiting: []Wait{}}
	for _, r := range s.options.Runs {
		last, _ := r.History.Last()
		out.Runs = append(out.Runs, runStatus{Name: r.Name, Variant: r.Variant, Live: r.Live, Points: r.History.Points(),
			Damaged: r.History.Damaged(), Step: last.Step, Games: last.Games, HasList: r.Source != nil})
		out.Live = out.Live || r.Live
	}
	if s.options.Metrics != nil {
		out.Waiting = s.options.Metrics.Waits()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out.Progress = progressStatus{s.progress.Done, s.progress.Left.Seconds()}
	return out
}

func (s *Server) serveStatus(w http.ResponseWriter, r *http.Request) { writeValue(w, r, s.status()) }

func (s *Server) serveSeries(w http.ResponseWriter, r *http.Request) {
	run, ok := s.run(w, r)
	if !ok {
		return
	}
	n, ok := number(w, r, "n", 400, 2, 2000)
	if !ok {
		return
	}
	keys := strings.Split(r.FormValue("keys"), ",")
	if len(keys) > maxKeys {
		writeError(w, http.StatusBadRequest, fmt.Sprintf("keys: %d names are more than %d", len(keys), maxKeys))
		return
	}
	writeJSON(w, r, run.History.Series(keys, n).AppendJSON(nil))
}

func (s *Server) serveRatings(w http.ResponseWriter, r *http.Request) {
	run, ok := s.run(w, r)
	if !ok {
		return
	}
	list := []Rating{}
	if run.Ratings != nil {
		list = append(list, run.Ratings()...)
	}
	writeValue(w, r, list)
}

func (s *Server) serveGames(w http.ResponseWriter, r *http.Request) {
	run, ok := s.run(w, r)
	if !ok {
		return
	}
	n, ok := number(w, r, "n", 50, 1, 1000)
	if !ok {
		return
	}
	list := []GameSummary{}
	if run.Source != nil {
		list = append(list, run.Source.Recent(n)...)
	}
	writeValue(w, r, list)
}

func (s *Server) serveGame(w http.ResponseWriter, r *http.Request) {
	run, ok := s.run(w, r)
	if !ok {
		return
	}
	id := r.PathValue("id")
	if run.Source == nil {
		writeError(w, http.StatusNotFound, fmt.Sprintf("run %s has no games to show", run.Name))
		return
	}
	game, err := run.Source.Game(id)
	switch {
	case errors.Is(err, ErrNoGame):
		writeError(w, http.StatusNotFound, fmt.Sprintf("run %s has no game %q", run.Name, id))
	case err != nil:
		writeError(w, http.StatusInternalServerError, fmt.Sprintf("game %q cannot be read: %v", id, err))
	default:
		writeValue(w, r, game)
	}
}

func (s *Server) serveBoard(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	b := s.board
	s.mu.Unlock()
	writeValue(w, r, b) // null before the first
}

// run finds the run that the request names by its place in the list.
func (s *Server) run(w http.ResponseWriter, r *http.Request) (Run, bool) {
	i, ok := number(w, r, "run", 0, 0, len(s.options.Runs)-1)
	if !ok {
		return Run{}, false
	}
	return s.options.Runs[i], true
}

// number reads a whole number from the query, or answers with a sentence.
func number(w http.ResponseWriter, r *http.Request, key string, def, low, high int) (int, bool) {
	text := r.FormValue(key)
	if text == "" {
		return def, true
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		writeError(w, http.StatusBadRequest, fmt.Sprintf("%s: %q is not a whole number from %d to %d", key, text, low, high))
		return 0, false
	}
	return n, true
}

func writeError(w http.ResponseWriter, code int, sentence string) {
	body, _ := json.Marshal(map[string]string{"error": sentence}) // strings always have a JSON form
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	w.Write(append(body, '\n'))
}

func writeValue(w http.ResponseWriter, r *http.Request, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		writeError(w, http.StatusInternalServerError, fmt.Sprintf("%s has a value without a JSON form: %v", r.URL.Path, err))
		return
	}
	writeJSON(w, r, body)
}

// writeJSON sends JSON, packed when it is long and the client takes it.
func writeJSON(w http.ResponseWriter, r *http.Request, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	writePacked(w, r, body)
}

func writePacked(w http.ResponseWriter, r *http.Request, body []byte) {
	h := w.Header()
	h.Set("Vary", "Accept-Encoding")
	if len(body) > 1024 && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		var packed bytes.Buffer
		z, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed) // the level is valid
		z.Write(body)
		z.Close()
		h.Set("Content-Encoding", "gzip")
		body = packed.Bytes()
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body)
}
