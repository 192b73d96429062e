package metrics

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// hub hands events to the pages that follow the run. Each client has a buffer
// of its own; one whose buffer is full is cut off, and its browser connects
// again by itself.
type hub struct {
	metrics *Metrics // may be nil
	mu      sync.Mutex
	clients map[*client]struct{}
	closed  bool
}

// client is one open /events. events is closed when the client is cut off.
type client struct {
	events chan []byte
}

const clientBuffer = 32 // events

func newHub(m *Metrics) *hub { return &hub{metrics: m, clients: map[*client]struct{}{}} }

// join takes in a client, or returns nil when there are too many.
func (h *hub) join() *client {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || len(h.clients) >= maxClients {
		return nil
	}
	c := &client{events: make(chan []byte, clientBuffer)}
	h.clients[c] = struct{}{}
	h.show()
	return c
}

func (h *hub) leave(c *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.clients, c)
	h.show()
}

func (h *hub) show() {
	if h.metrics != nil {
		h.metrics.clients.Set(float64(len(h.clients)))
	}
}

func (h *hub) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.clients)
}

// send gives an event to every client without waiting for any.
func (h *hub) send(event []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.clients {
		select {
		case c.events <- event:
		default:
			delete(h.clients, c)
			close(c.events)
			if h.metrics != nil {
				h.metrics.dropped.Inc()
			}
		}
	}
	h.show()
}

// close cuts all clients off.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for c := range h.clients {
		delete(h.clients, c)
		close(c.events)
	}
	h.show()
}

// event writes a server-sent event (HTML standard, section 9.2).
func event(name string, v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, data)
}

// pump looks for what is new and sends it until the server stops.
func (s *Server) pump() {
	tick := time.NewTicker(boardEvery)
	defer tick.Stop()
	points := make([]int, len(s.options.Runs))
	var lastStatus []byte
	var statusAt, pingAt time.Time
	for {
		var now time.Time
		select {
		case <-s.stop:
			return
		case now = <-tick.C:
		}
		if e := s.takeBoard(); e != nil {
			s.hub.send(e)
		}
		if now.Sub(statusAt) >= statusEvery {
			statusAt = now
			for i, r := range s.options.Runs {
				r.History.Refresh() // a file that cannot be read now may be readable next time
				if n := r.History.Points(); n != points[i] {
					points[i] = n
					s.hub.send(event("points", map[string]int{"run": i, "points": n}))
				}
			}
			if e := event("status", s.status()); !bytes.Equal(e, lastStatus) {
				lastStatus = e
				s.hub.send(e)
			}
		}
		if now.Sub(pingAt) >= pingEvery {
			pingAt = now
			s.hub.send([]byte(": still here\n\n"))
		}
	}
}

// takeBoard is the event of the live board if it changed, else nil.
func (s *Server) takeBoard() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.fresh {
		return nil
	}
	s.fresh = false
	return event("board", s.board)
}

func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	c := s.hub.join()
	if c == nil {
		writeError(w, http.StatusServiceUnavailable, fmt.Sprintf("%d pages follow this run already; close one", maxClients))
		return
	}
	defer s.hub.leave(c)
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(e []byte) bool {
		if control.SetWriteDeadline(time.Now().Add(readTimeout)) != nil {
			return false
		}
		_, err := w.Write(e)
		return err == nil && control.Flush() == nil
	}
	s.mu.Lock()
	board := s.board
	s.mu.Unlock()
	first := append([]byte("retry: 2000\n\n"), event("status", s.status())...)
	if board != nil {
		first = append(first, event("board", board)...)
	}
	if !send(first) {
		return
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case e, ok := <-c.events:
			if !ok || !send(e) {
				return
			}
		}
	}
}
