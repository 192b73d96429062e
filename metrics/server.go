package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Options say what a [Server] serves and where.
type Options struct {
	// Addr is HOST:PORT; port 0 takes any free one.
	Addr string
	// AddrKey is the name of the setting that Addr came from, for the errors
	// of Start. Default "web.address".
	AddrKey string
	// Title stands at the top of the page. Default: the name of the run.
	Title string
	// Metrics is served under /metrics; nil when there is no live run.
	Metrics *Metrics
	// Runs are the runs on the page, at least one. Of several, the curves are
	// laid over each other.
	Runs []Run
}

// Run is one run on the page.
type Run struct {
	Name    string
	Variant string
	// Live says that this process works on the run: its board and its waits
	// are shown.
	Live    bool
	History *History
	// Source gives the games, Ratings the present ratings of all rated nets
	// and anchors. Both may be nil, and are called from any goroutine.
	Source  Source
	Ratings func() []Rating
}

// Progress is how far a run with a set end has come.
type Progress struct {
	Done float64       // 0 to 1; 0 when no end is set
	Left time.Duration // 0 when not known
}

// Server serves the page of one or several runs. Its methods may be called
// from any goroutine, and those that the loop calls never wait for a client.
type Server struct {
	options Options
	static  map[string]asset
	hub     *hub
	http    *http.Server
	stop    chan struct{}
	once    sync.Once
	wg      sync.WaitGroup
	now     func() time.Time

	mu       sync.Mutex
	board    *Board
	fresh    bool // the board has not been sent yet
	boardAt  time.Time
	progress Progress
}

// How long a client may take, and how many there may be.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = time.Minute
	maxConns      = 256
	maxClients    = 64 // that follow /events
	maxHeader     = 16 << 10
	boardEvery    = 250 * time.Millisecond
	statusEvery   = time.Second
	pingEvery     = 15 * time.Second
)

// NewServer prepares a server; Start opens the port.
func NewServer(o Options) (*Server, error) {
	if len(o.Runs) == 0 {
		return nil, errors.New("the page needs at least one run")
	}
	for _, r := range o.Runs {
		if r.History == nil {
			return nil, fmt.Errorf("run %s has no history to show", r.Name)
		}
	}
	if o.AddrKey == "" {
		o.AddrKey = "web.address"
	}
	if o.Title == "" {
		o.Title = o.Runs[0].Name
	}
	s := &Server{options: o, hub: newHub(o.Metrics), stop: make(chan struct{}), now: time.Now}
	var err error
	if s.static, err = loadAssets(); err != nil {
		return nil, err
	}
	return s, nil
}

// Start listens and serves, and returns the address of the page. The error
// is one sentence that names the setting to change.
func (s *Server) Start() (page string, err error) {
	l, err := listen(s.options.Addr, s.options.AddrKey)
	if err != nil {
		return "", err
	}
	s.http = &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          log.New(io.Discard, "", 0), // what strangers send is no news
	}
	s.wg.Add(2)
	go func() {
		defer s.wg.Done()
		s.http.Serve(&limitListener{Listener: l, slots: make(chan struct{}, maxConns)})
	}()
	go func() {
		defer s.wg.Done()
		s.pump()
	}()
	return "http://" + pageHost(l.Addr().(*net.TCPAddr)), nil
}

// pageHost is the address to open in a browser on this machine.
func pageHost(a *net.TCPAddr) string {
	if a.IP.IsUnspecified() {
		return fmt.Sprintf("localhost:%d", a.Port)
	}
	return a.String()
}

// Close stops serving: it lets answers under way finish for a second. A
// second call does nothing.
func (s *Server) Close() (err error) {
	s.once.Do(func() { err = s.close() })
	return err
}

func (s *Server) close() error {
	close(s.stop)
	s.hub.close()
	if s.http == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	s.wg.Wait()
	if err != nil {
		return fmt.Errorf("closing the page: %w", err)
	}
	return nil
}

// WantsBoard reports whether someone looks at the live board and the last one
// is old enough for a new one; ask it before making the SFEN.
func (s *Server) WantsBoard() bool {
	if s.hub.count() == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now().Sub(s.boardAt) >= boardEvery
}

// SetBoard shows a position on the live board. Boards that come faster than
// pages take them replace each other.
func (s *Server) SetBoard(b Board) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.board, s.fresh, s.boardAt = &b, true, s.now()
}

// SetProgress shows how far the run has come.
func (s *Server) SetProgress(p Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress = p
}

// Handler is what Start serves; for tests and for servers of the caller's.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	if s.options.Metrics != nil {
		mux.Handle("GET /metrics", promhttp.HandlerFor(s.options.Metrics.registry, promhttp.HandlerOpts{}))
	} else {
		mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "no run is live in this process, so it has no metrics", http.StatusNotFound)
		})
	}
	mux.HandleFunc("GET /{$}", s.serveAsset)
	mux.HandleFunc("GET /web/{file}", s.serveAsset)
	mux.HandleFunc("GET /kirin-alerts.yaml", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		io.WriteString(w, AlertRules)
	})
	mux.HandleFunc("GET /kirin-grafana.json", func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, r, GrafanaDashboard())
	})
	mux.HandleFunc("GET /api/status", s.serveStatus)
	mux.HandleFunc("GET /api/series", s.serveSeries)
	mux.HandleFunc("GET /api/ratings", s.serveRatings)
	mux.HandleFunc("GET /api/games", s.serveGames)
	mux.HandleFunc("GET /api/game/{id}", s.serveGame)
	mux.HandleFunc("GET /api/board", s.serveBoard)
	mux.HandleFunc("GET /events", s.serveEvents)
	return guard(mux)
}

// guard sets the headers that every answer has and turns a panic into an
// answer.
func guard(next http.Handler) http.Handler {
	policy := strings.Join([]string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:",
		"connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
	}, "; ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		defer func() {
			if p := recover(); p != nil {
				if p == http.ErrAbortHandler {
					panic(p)
				}
				writeError(w, http.StatusInternalServerError, fmt.Sprintf("the program failed to answer %s: %v", r.URL.Path, p))
			}
		}()
		if _, err := url.ParseQuery(r.URL.RawQuery); err != nil {
			writeError(w, http.StatusBadRequest, fmt.Sprintf("the query %q cannot be read: %v", r.URL.RawQuery, err))
			return
		}
		next.ServeHTTP(w, r)
	})
}
