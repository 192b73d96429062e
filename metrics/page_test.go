package metrics

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

var screenshots = flag.String("screenshots", "", "folder for pictures of the page, to look at after a change")

// tool finds an outside program. It skips the test when the program is missing,
// or fails it when KIRIN_REQUIRE=all says that every program must be there.
func tool(t *testing.T, names ...string) string {
	t.Helper()
	for _, n := range names {
		if path, err := exec.LookPath(n); err == nil {
			return path
		}
	}
	if os.Getenv("KIRIN_REQUIRE") == "all" {
		t.Fatalf("%s is not installed, and KIRIN_REQUIRE=all asks for it", names[0])
	}
	t.Skipf("%s is not installed", names[0])
	return ""
}

var browsers = []string{"chromium", "chromium-browser", "google-chrome"}

// chromium opens a page without a screen and returns what it prints.
func chromium(t *testing.T, args ...string) string {
	t.Helper()
	path := tool(t, browsers...)
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	args = append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--hide-scrollbars", "--enable-logging=stderr", "--user-data-dir=" + t.TempDir(), "--virtual-time-budget=5000"}, args...)
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = 5 * time.Second
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("chromium: %v", err)
	}
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "CONSOLE") {
			t.Errorf("the page complains: %s", line)
		}
	}
	return string(out)
}

// livePage serves a made-up live run with a board.
func livePage(t *testing.T) (*Server, string) {
	t.Helper()
	end := float64(time.Now().Unix())
	m := New()
	s, url := serve(t, Options{Title: "minishogi", Metrics: m, Runs: []Run{madeUpRun(t, "minishogi", "minishogi", 1, 3.3, end, true)}})
	g := recordedGames(t)[0]
	s.SetBoard(Board{Variant: g.Variant, SFEN: g.SFENs[20], LastMove: g.Moves[19], Ply: 20, GameID: g.ID, Net: "step 11500", Value: 0.64})
	s.SetProgress(Progress{Done: 0.62, Left: 41 * time.Minute})
	return s, url
}

// serve starts a server on a free port until the test ends.
func serve(t *testing.T, o Options) (*Server, string) {
	t.Helper()
	o.Addr = "127.0.0.1:0"
	s, err := NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	url, err := s.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, url
}

// drawn gives the number of curves in each chart of a page.
func drawn(dom string) map[string]int {
	charts := map[string]int{}
	for _, m := range regexp.MustCompile(`data-chart="([^"]+)"[^>]*data-drawn="(\d+)"`).FindAllStringSubmatch(dom, -1) {
		charts[m[1]], _ = strconv.Atoi(m[2])
	}
	return charts
}

func TestThePageDrawsItsCharts(t *testing.T) {
	tool(t, browsers...)
	_, url := livePage(t)
	dom := chromium(t, "--dump-dom", url+"/?still")
	charts := drawn(dom)
	for id, least := range map[string]int{
		"rating": 3, "policy": 2, "value": 2, "plies-left": 1, "entropy": 2, "accuracy": 1, "calibration": 1, "gradient": 1, "activation": 1, "rate": 1,
		"cpu": 7, "games-rate": 1, "plies-rate": 1, "positions-rate": 1, "samples-rate": 1, "reasons": 6, "results": 3, "fps": 1, "length": 1, "variety": 3,
		"mate": 1, "window": 2, "ratio": 2, "staleness": 1, "memory": 2, "disk": 4, "dropped": 0, "quarantine": 0, "resign": 0,
	} {
		if got, ok := charts[id]; !ok || got < least || least == 0 && got > 0 {
			t.Errorf("chart %s has %d curves, want %d", id, got, least)
		}
	}
	for _, want := range []string{`class="board"`, "Being played now", "step 11500", "62 %, 41 min left", "<b>589</b>"} {
		if !strings.Contains(dom, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
	if n := strings.Count(dom, `class="result `); n < 10 {
		t.Errorf("%d results in the list of games", n)
	}
	takePictures(t, url)
}

func TestThePageLaysRunsOverEachOther(t *testing.T) {
	tool(t, browsers...)
	end := float64(time.Now().Unix())
	_, url := serve(t, Options{Title: "three runs", Runs: []Run{
		madeUpRun(t, "base", "torishogi", 3, 2.2, end-5e4, false), madeUpRun(t, "<b>wide</b> & deep", "minishogi", 2, 3.0, end-9e4, false), madeUpRun(t, "gumbel-32", "chushogi", 5, 3.4, end-2e4, false)}})
	dom := chromium(t, "--dump-dom", url+"/?still")
	charts := drawn(dom)
	for id, want := range map[string]int{"rating": 5, "policy": 6, "games-rate": 3, "length": 3} {
		if charts[id] != want {
			t.Errorf("chart %s has %d curves, want %d", id, charts[id], want)
		}
	}
	for _, want := range []string{"鵬", "雉", "&lt;b&gt;wide&lt;/b&gt; &amp; deep", "3 runs, laid over each other"} {
		if !strings.Contains(dom, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
	takePictures(t, url)
}

// takePictures saves the page as it looks on a desk and at night, if asked.
func takePictures(t *testing.T, url string) {
	if *screenshots == "" {
		return
	}
	for name, night := range map[string]string{"light": "1", "dark": "0"} {
		file := filepath.Join(*screenshots, t.Name()+"-"+name+".png")
		chromium(t, "--screenshot="+file, "--window-size=1440,2300", "--blink-settings=preferredColorScheme="+night, url+"/?still")
	}
}
