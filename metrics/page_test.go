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

// chromium opens a page without a screen and returns what it prints.
func chromium(t *testing.T, args ...string) string {
	t.Helper()
	path := tool(t, "chromium", "chromium-browser", "google-chrome")
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	args = append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--hide-scrollbars", "--user-data-dir=" + t.TempDir(), "--virtual-time-budget=5000"}, args...)
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("chromium: %v", err)
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

func TestThePageDrawsItsCharts(t *testing.T) {
	tool(t, "chromium", "chromium-browser", "google-chrome")
	_, url := livePage(t)
	dom := chromium(t, "--dump-dom", url+"/?still")
	drawn := regexp.MustCompile(`<section class="card chart[^>]*data-chart="([^"]+)"[^>]*data-drawn="(\d+)"`).FindAllStringSubmatch(dom, -1)
	charts := map[string]int{}
	for _, m := range drawn {
		charts[m[1]], _ = strconv.Atoi(m[2])
	}
	for _, id := range []string{"rating", "policy", "value", "entropy", "gradient", "cpu", "games-rate", "plies-rate", "samples-rate", "reasons", "results", "length", "window", "ratio", "memory"} {
		if charts[id] == 0 {
			t.Errorf("chart %s has drawn nothing", id)
		}
	}
	if !strings.Contains(dom, `class="board"`) || !strings.Contains(dom, "Being played now") {
		t.Error("the live board is not there")
	}
	if n := strings.Count(dom, `class="result `); n < 10 {
		t.Errorf("%d results in the list of games", n)
	}
	if t.Failed() {
		os.WriteFile(filepath.Join(os.TempDir(), "kirin-page.html"), []byte(dom), 0o644)
	}
}

func TestPicturesOfThePageCanBeTaken(t *testing.T) {
	if *screenshots == "" {
		t.Skip("no -screenshots folder given")
	}
	_, live := livePage(t)
	end := float64(time.Now().Unix())
	_, several := serve(t, Options{Title: "three runs", Runs: []Run{
		madeUpRun(t, "base", "minishogi", 2, 3.0, end-9e4, false), madeUpRun(t, "wide-net", "torishogi", 3, 2.2, end-5e4, false), madeUpRun(t, "gumbel-32", "chushogi", 5, 3.4, end-2e4, false)}})
	_, shogi := serve(t, Options{Title: "shogi", Runs: []Run{madeUpRun(t, "shogi", "shogi", 4, 20, end-4e3, false)}})
	for _, shot := range []struct{ name, url, size, extra string }{
		{"live-light", live, "1440,2300", ""},
		{"live-dark", live, "1440,2300", "--blink-settings=preferredColorScheme=0"},
		{"live-phone", live, "500,7000", ""},
		{"several-light", several, "1440,2000", ""},
		{"several-phone", several, "500,5000", "--blink-settings=preferredColorScheme=0"},
		{"shogi-light", shogi, "1680,1600", ""},
	} {
		args := []string{"--screenshot=" + filepath.Join(*screenshots, shot.name+".png"), "--window-size=" + shot.size}
		if shot.extra != "" {
			args = append(args, shot.extra)
		}
		chromium(t, append(args, shot.url+"/?still")...)
	}
}
