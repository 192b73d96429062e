package metrics

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// small is a server of a short run without a port.
func small(t testing.TB) *Server {
	t.Helper()
	s, err := NewServer(Options{Metrics: New(), Runs: []Run{madeUpRun(t, "a", "minishogi", 1, 0.1, 1.7e9, true), madeUpRun(t, "b", "shogi", 2, 0.1, 1.7e9, false)}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func get(t testing.TB, url string) (*http.Response, string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r, string(body)
}

func TestEveryAddressAnswersWithItsKindAndAPolicy(t *testing.T) {
	s, url := livePage(t)
	id := s.options.Runs[0].Source.Recent(1)[0].ID
	for _, c := range []struct {
		path, kind, contains string
		code                 int
	}{
		{"/", "text/html; charset=utf-8", "<title>kirin</title>", 200},
		{"/web/main.js", "text/javascript; charset=utf-8", "EventSource", 200},
		{"/web/style.css", "text/css; charset=utf-8", "light-dark", 200},
		{"/web/none.js", "application/json", "no file", 404},
		{"/web/..%2fdoc.go", "application/json", "no file", 404},
		{"/none", "text/plain; charset=utf-8", "", 404},
		{"/metrics", "text/plain; version=0.0.4; charset=utf-8; escaping=underscores", "kirin_selfplay_plies_total 0", 200},
		{"/api/status", "application/json", `"title":"minishogi"`, 200},
		{"/api/series?keys=kirin_train_loss&n=5", "application/json", `"kirin_train_loss{head=\"policy\"}":[`, 200},
		{"/api/series?n=1", "application/json", `n: \"1\" is not a whole number from 2 to 2000`, 400},
		{"/api/series?run=1", "application/json", `run: \"1\" is not a whole number from 0 to 0`, 400},
		{"/api/series?run=x", "application/json", "not a whole number", 400},
		{"/api/series?keys=" + strings.Repeat(",", maxKeys), "application/json", "names are more than", 400},
		{"/api/ratings", "application/json", `"name":"random"`, 200},
		{"/api/games?n=3", "application/json", `"result":"sente"`, 200},
		{"/api/games?n=-1", "application/json", "not a whole number", 400},
		{"/api/game/" + id, "application/json", `"sfens":["rbsgk/4p/5/P4/KGSBR b - 1"`, 200},
		{"/api/game/none", "application/json", `run minishogi has no game \"none\"`, 404},
		{"/api/board", "application/json", `"ply":20`, 200},
		{"/kirin-alerts.yaml", "application/yaml", "KirinOverfitting", 200},
		{"/kirin-grafana.json", "application/json", `"uid": "kirin"`, 200},
	} {
		r, body := get(t, url+c.path)
		if r.StatusCode != c.code || r.Header.Get("Content-Type") != c.kind || !strings.Contains(body, c.contains) {
			t.Errorf("%s: %d %s %.200q, want %d %s with %q", c.path, r.StatusCode, r.Header.Get("Content-Type"), body, c.code, c.kind, c.contains)
		}
		if p := r.Header.Get("Content-Security-Policy"); !strings.HasPrefix(p, "default-src 'none'; script-src 'self'") || strings.Contains(p, "unsafe") {
			t.Errorf("%s: policy %q", c.path, p)
		}
		if c.kind == "application/json" && !json.Valid([]byte(body)) {
			t.Errorf("%s: not JSON: %.200q", c.path, body)
		}
	}
	r, err := http.Post(url+"/api/status", "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", r.StatusCode)
	}
}

func TestThePageAsksForNothingFromOutside(t *testing.T) {
	s := small(t)
	for name, a := range s.static {
		text := strings.ReplaceAll(string(a.body), "http://www.w3.org/2000/svg", "")
		if strings.Contains(text, "http:") || strings.Contains(text, "https:") || strings.Contains(text, "//cdn") {
			t.Errorf("%s names an address outside", name)
		}
		if a.kind == "" {
			t.Errorf("%s has no media type", name)
		}
	}
}

func TestAnUnchangedFileIsNotSentAgain(t *testing.T) {
	_, url := serve(t, small(t).options)
	r, _ := get(t, url+"/web/style.css")
	req, _ := http.NewRequest("GET", url+"/web/style.css", nil)
	req.Header.Set("If-None-Match", r.Header.Get("ETag"))
	again, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	again.Body.Close()
	if again.StatusCode != http.StatusNotModified {
		t.Errorf("status %d", again.StatusCode)
	}
}

func TestAServerWithoutALiveRunHasNoMetrics(t *testing.T) {
	_, url := serve(t, Options{Runs: []Run{madeUpRun(t, "a", "minishogi", 1, 0.1, 1.7e9, false)}})
	if r, body := get(t, url+"/metrics"); r.StatusCode != 404 || !strings.Contains(body, "no run is live") {
		t.Errorf("%d %s", r.StatusCode, body)
	}
	if _, err := NewServer(Options{}); err == nil {
		t.Error("a page without a run was made")
	}
	if _, err := NewServer(Options{Runs: []Run{{Name: "x"}}}); err == nil || !strings.Contains(err.Error(), "run x has no history") {
		t.Errorf("a run without a history: %v", err)
	}
}

// broken fails and panics.
type broken struct{}

func (broken) Recent(int) []GameSummary        { panic("the list is gone") }
func (broken) Game(string) (GameRecord, error) { return GameRecord{}, errors.New("bad checksum") }

func TestAFaultOfTheSourceIsAnAnswer(t *testing.T) {
	o := small(t).options
	o.Runs[0].Source = broken{}
	_, url := serve(t, o)
	for path, want := range map[string]string{"/api/games": "the list is gone", "/api/game/1": "bad checksum"} {
		if r, body := get(t, url+path); r.StatusCode != 500 || !strings.Contains(body, want) || !json.Valid([]byte(body)) {
			t.Errorf("%s: %d %s", path, r.StatusCode, body)
		}
	}
}

func TestATakenPortIsOneSentenceWithTheKey(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for addr, want := range map[string]string{
		l.Addr().String():     "web.address: " + l.Addr().String() + " is taken by another program, perhaps another run; set web.address to a free address, or to 127.0.0.1:0 for any free port",
		"192.0.2.1:5474":      "web.address: 192.0.2.1:5474 is not an address of this machine",
		"5474":                `web.address: "5474" is not HOST:PORT`,
		"127.0.0.1:notaport!": "web.address: listening on 127.0.0.1:notaport!",
	} {
		o := small(t).options
		o.Addr = addr
		s, err := NewServer(o)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Start()
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", addr, err, want)
		}
		if addr == l.Addr().String() && !errors.Is(err, syscall.EADDRINUSE) && !errors.Is(err, wsaAddrInUse) {
			t.Errorf("%v does not wrap the system's error", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestGarbageOnThePortHarmsNobody(t *testing.T) {
	_, url := serve(t, small(t).options)
	rng := rand.New(rand.NewPCG(1, 2))
	junk := make([]byte, 64<<10)
	for i := range junk {
		junk[i] = byte(rng.Uint32())
	}
	for _, text := range [][]byte{
		junk, []byte("\n\n\n"), []byte("usi\nisready\n"), []byte("PUB kirin 5\r\nhello\r\n"), []byte("GET / HTTP/9.9\r\n\r\n"),
		[]byte("GET /api/series?run=%zz HTTP/1.1\r\nHost: x\r\n\r\n"), []byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
		bytes.Repeat([]byte("X"), 1<<20), []byte("GET /" + strings.Repeat("a", 1<<19) + " HTTP/1.1\r\n\r\n"), {},
		[]byte("GET /events HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n"),
	} {
		c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(5 * time.Second))
		c.Write(text)
		c.(*net.TCPConn).CloseWrite()
		answer, _ := io.ReadAll(c)
		if bytes.HasPrefix(answer, []byte("HTTP/1.1 200")) {
			t.Errorf("%.30q was answered with %.60q", text, answer)
		}
		c.Close()
		if r, _ := get(t, url+"/api/status"); r.StatusCode != 200 {
			t.Fatalf("after %.30q the page answers %d", text, r.StatusCode)
		}
	}
}

func TestASilentCrowdDoesNotLockTheRunOut(t *testing.T) {
	s, url := serve(t, small(t).options)
	var crowd []net.Conn
	for range maxConns + 40 {
		c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			break
		}
		crowd = append(crowd, c)
	}
	s.SetBoard(Board{Ply: 1}) // the loop goes on meanwhile
	for _, c := range crowd {
		c.Close()
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		r, err := http.Get(url + "/api/status")
		if err == nil {
			r.Body.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the page does not come back: %v", err)
		}
	}
}

// events opens the event stream and gives its events, one a string.
func events(t *testing.T, url string) (<-chan string, func()) {
	t.Helper()
	r, err := http.Get(url + "/events")
	if err != nil {
		t.Fatal(err)
	}
	if r.StatusCode != 200 || r.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("/events: %d %s", r.StatusCode, r.Header.Get("Content-Type"))
	}
	out := make(chan string, 1000)
	go func() {
		defer close(out)
		scan := bufio.NewScanner(r.Body)
		scan.Buffer(nil, 1<<20)
		name := ""
		for scan.Scan() {
			if n, ok := strings.CutPrefix(scan.Text(), "event: "); ok {
				name = n
			}
			if d, ok := strings.CutPrefix(scan.Text(), "data: "); ok {
				out <- name + " " + d
			}
		}
	}()
	return out, func() { r.Body.Close() }
}

func waitFor(t *testing.T, stream <-chan string, want string) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		select {
		case e, ok := <-stream:
			if !ok {
				t.Fatalf("the stream ended before %q", want)
			}
			if strings.Contains(e, want) {
				return
			}
		case <-deadline:
			t.Fatalf("no event with %q", want)
		}
	}
}

func TestAPageIsToldOfBoardsPointsAndWaits(t *testing.T) {
	o := small(t).options
	s, url := serve(t, o)
	if s.WantsBoard() {
		t.Error("a board is wanted though nobody looks")
	}
	stream, stop := events(t, url)
	defer stop()
	waitFor(t, stream, `status {"title":"a"`)
	if !s.WantsBoard() {
		t.Error("no board is wanted though a page looks")
	}
	now := time.Now()
	s.mu.Lock()
	s.now = func() time.Time { return now } // however long the next lines take
	s.mu.Unlock()
	s.SetBoard(Board{Variant: "minishogi", SFEN: "rbsgk/4p/5/P4/KGSBR b - 1", Ply: 7, Value: 0.5})
	if s.WantsBoard() {
		t.Error("the next board is wanted at once")
	}
	waitFor(t, stream, `board {"variant":"minishogi"`)
	appendPoint(t, o.Runs[0].History, Point{Time: 1.8e9, Step: 99})
	waitFor(t, stream, `points {"points":`)
	o.Metrics.Wait("train", WaitGames, "120 of 2000 positions")
	waitFor(t, stream, `"detail":"120 of 2000 positions"`)
	s.SetProgress(Progress{Done: 0.5, Left: time.Minute})
	waitFor(t, stream, `"progress":{"done":0.5,"left":60}`)
	late, stopLate := events(t, url)
	defer stopLate()
	waitFor(t, late, `"ply":7`)
	if text := exposition(t, o.Metrics); !strings.Contains(text, "kirin_page_clients 2") {
		t.Error("two pages are not counted")
	}
}

func TestAPageFollowsARunOfAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	w := openHistory(t, path)
	appendPoint(t, w, point(0))
	r, err := ReadHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	_, url := serve(t, Options{Runs: []Run{{Name: "watched", History: r}}})
	stream, stop := events(t, url)
	defer stop()
	waitFor(t, stream, `"points":1`)
	appendPoint(t, w, point(1))
	waitFor(t, stream, `points {"points":2,"run":0}`)
}

func TestAClientThatDoesNotReadIsCutOff(t *testing.T) {
	s, url := serve(t, small(t).options)
	slow, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	slow.(*net.TCPConn).SetReadBuffer(4 << 10)
	fmt.Fprintf(slow, "GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
	quick, stop := events(t, url)
	defer stop()
	read := make(chan bool)
	go func() {
		for e := range quick {
			if strings.Contains(e, `"ply":-1`) {
				close(read)
				return
			}
		}
	}()
	for s.hub.count() < 2 {
		time.Sleep(5 * time.Millisecond)
	}
	long := event("board", Board{SFEN: strings.Repeat("x", 300_000)})
	deadline := time.Now().Add(20 * time.Second)
	for s.hub.count() == 2 {
		start := time.Now()
		s.hub.send(long)
		if d := time.Since(start); d > time.Second {
			t.Fatalf("sending waited %v for a client", d)
		}
		if time.Now().After(deadline) {
			t.Fatal("the slow client is still there")
		}
		time.Sleep(2 * time.Millisecond)
	}
	s.hub.send(event("board", Board{Ply: -1}))
	select {
	case <-read:
	case <-time.After(10 * time.Second):
		t.Error("the quick client was cut off too")
	}
	if text := exposition(t, s.options.Metrics); !strings.Contains(text, "kirin_page_dropped_clients_total 1") {
		t.Error("the dropped client is not counted")
	}
}

func TestTooManyPagesAreTurnedAway(t *testing.T) {
	h := newHub(nil)
	for range maxClients {
		if h.join() == nil {
			t.Fatal("a client was turned away early")
		}
	}
	if h.join() != nil {
		t.Error("one client too many was taken")
	}
	h.close()
	if h.count() != 0 || h.join() != nil {
		t.Error("a closed hub still has or takes clients")
	}
}

func TestClosingEndsTheStreams(t *testing.T) {
	o := small(t).options
	o.Addr = "127.0.0.1:0"
	s, err := NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	url, err := s.Start()
	if err != nil {
		t.Fatal(err)
	}
	stream, stop := events(t, url)
	defer stop()
	start := time.Now()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for range stream {
	}
	if d := time.Since(start); d > 3*time.Second {
		t.Errorf("closing took %v", d)
	}
	if _, err := http.Get(url); err == nil {
		t.Error("the port is still open")
	}
}

func TestAllAddressesAreShownAsOneToOpenHere(t *testing.T) {
	for addr, want := range map[string]string{"0.0.0.0": "localhost:99", "::": "localhost:99", "::1": "[::1]:99", "127.0.0.1": "127.0.0.1:99"} {
		if got := pageHost(&net.TCPAddr{IP: net.ParseIP(addr), Port: 99}); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
}

func FuzzAnyQueryIsAnswered(f *testing.F) {
	s, err := NewServer(Options{Runs: []Run{{Name: "a", History: newHistory("none")}}})
	if err != nil {
		f.Fatal(err)
	}
	h := s.Handler()
	f.Add("/api/series?run=0&n=10&keys=kirin_train_loss")
	f.Add("/api/game/%00?run=-1")
	f.Add("/web/%2e%2e/x")
	f.Fuzz(func(t *testing.T, path string) {
		req, err := http.NewRequest("GET", "http://x/"+strings.TrimPrefix(path, "/"), nil)
		if err != nil || strings.Contains(path, "events") {
			return
		}
		w := &answer{header: http.Header{}}
		h.ServeHTTP(w, req)
		if w.code >= 500 {
			t.Errorf("%s: %d %s", path, w.code, w.body.String())
		}
	})
}

// answer keeps what a handler wrote.
type answer struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(code int)        { a.code = code }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }
