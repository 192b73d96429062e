package metrics

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// promtool runs promtool with a text as its input.
func promtool(t *testing.T, input string, args ...string) {
	t.Helper()
	cmd := exec.Command(tool(t, "promtool"), args...)
	cmd.Stdin = strings.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestPromtoolFindsNoFaultInTheMetrics(t *testing.T) {
	promtool(t, exposition(t, everySet()), "check", "metrics")
}

func TestPromtoolAcceptsTheAlertRules(t *testing.T) {
	path := filepath.Join(t.TempDir(), "alerts.yaml")
	if err := os.WriteFile(path, []byte(AlertRules), 0o644); err != nil {
		t.Fatal(err)
	}
	promtool(t, "", "check", "rules", "--lint=all", "--lint-fatal", path)
}

func TestAlertsFireWhenTheyShouldAndOnlyThen(t *testing.T) {
	promtool(t, "", "test", "rules", "testdata/alerts_test.yaml")
}

// kirinNames are the names of metrics in a query.
var kirinNames = regexp.MustCompile(`\bkirin_[a-z_]+`)

func checkQuery(t *testing.T, query string) {
	t.Helper()
	for _, name := range kirinNames.FindAllString(query, -1) {
		known := false
		for _, n := range names {
			known = known || n.Name == name || n.Kind == KindHistogram && strings.HasPrefix(name, n.Name+"_")
		}
		if !known {
			t.Errorf("%s is not in the table: %s", name, query)
		}
	}
}

func TestAlertsAskForMetricsThatExist(t *testing.T) {
	for _, line := range strings.Split(AlertRules, "\n") {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
			checkQuery(t, strings.ReplaceAll(line, "`kirin check`", ""))
		}
	}
}

func TestTheGrafanaDashboardIsTheGoldenOne(t *testing.T) {
	golden(t, "testdata/grafana.json", string(GrafanaDashboard()))
}

func TestTheGrafanaDashboardHasQueriesThatPrometheusReads(t *testing.T) {
	var board struct {
		Panels []struct {
			ID      int
			Type    string
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(GrafanaDashboard(), &board); err != nil {
		t.Fatal(err)
	}
	rules := "groups:\n- name: panels\n  rules:\n"
	ids, places, queries := map[int]bool{}, map[string]bool{}, 0
	for _, p := range board.Panels {
		place := fmt.Sprint(p.GridPos)
		if ids[p.ID] || places[place] || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %q shares its number or place", p.Title)
		}
		ids[p.ID], places[place] = true, true
		if p.Type == "timeseries" && len(p.Targets) == 0 {
			t.Errorf("panel %q has no query", p.Title)
		}
		for _, q := range p.Targets {
			checkQuery(t, q.Expr)
			expr := strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*").Replace(q.Expr)
			if strings.Contains(expr, "$") {
				t.Errorf("%s has a variable that nobody fills", q.Expr)
			}
			rules += fmt.Sprintf("  - record: panel:%d\n    expr: %q\n", queries, expr)
			queries++
		}
	}
	if queries < 30 {
		t.Errorf("%d queries", queries)
	}
	path := filepath.Join(t.TempDir(), "panels.yaml")
	if err := os.WriteFile(path, []byte(rules), 0o644); err != nil {
		t.Fatal(err)
	}
	promtool(t, "", "check", "rules", path)
}

func TestThePagesKeysAreMetricsThatExist(t *testing.T) {
	for _, file := range []string{"catalogue.js", "main.js"} {
		text, err := webFiles.ReadFile("web/" + file)
		if err != nil {
			t.Fatal(err)
		}
		checkQuery(t, strings.ReplaceAll(string(text), "kirin_train_${", ""))
	}
}

// freePort is a port that was free a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestAPrometheusScrapesALiveServerAndLoadsTheRules(t *testing.T) {
	program := tool(t, "prometheus")
	m := everySet()
	_, page := serve(t, Options{Metrics: m, Runs: []Run{madeUpRun(t, "a", "minishogi", 1, 0.1, 1.7e9, true)}})
	dir := t.TempDir()
	config := fmt.Sprintf("global: {scrape_interval: 200ms, evaluation_interval: 200ms}\nrule_files: [alerts.yaml]\nscrape_configs:\n- job_name: kirin\n  static_configs: [{targets: [%q]}]\n", strings.TrimPrefix(page, "http://"))
	for name, text := range map[string]string{"prometheus.yml": config, "alerts.yaml": AlertRules} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	addr := freePort(t)
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, program, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+addr, "--log.level=warn")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var log strings.Builder
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	end := func() {
		if !ended {
			ended = true
			cancel()
			cmd.Wait()
		}
	}
	defer end()

	ask := func(path string, into any) error {
		r, err := http.Get("http://" + addr + path)
		if err != nil {
			return err
		}
		defer r.Body.Close()
		return json.NewDecoder(r.Body).Decode(into)
	}
	var found struct {
		Data struct {
			Result []struct{ Value [2]any }
		}
	}
	query := "/api/v1/query?query=" + url.QueryEscape(`kirin_selfplay_games_total{job="kirin",result="sente",reason="checkmate"} and on(instance) up == 1`)
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := ask(query, &found)
		if err == nil && len(found.Data.Result) == 1 {
			break
		}
		if time.Now().After(deadline) {
			end()
			t.Fatalf("nothing was scraped: %v\n%s", err, log.String())
		}
		time.Sleep(100 * time.Millisecond)
	}
	if got := found.Data.Result[0].Value[1]; got != "1" {
		t.Errorf("Prometheus has %v games, want 1", got)
	}
	var loaded struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
	}
	for {
		if err := ask("/api/v1/rules", &loaded); err != nil {
			t.Fatal(err)
		}
		waiting, rules := 0, 0
		for _, g := range loaded.Data.Groups {
			for _, r := range g.Rules {
				rules++
				if r.Health == "unknown" {
					waiting++
				} else if r.Health != "ok" {
					t.Errorf("rule %s: %s %s", r.Name, r.Health, r.LastError)
				}
			}
		}
		if rules > 0 && waiting == 0 {
			if want := strings.Count(AlertRules, "- alert:"); rules != want {
				t.Errorf("%d rules are loaded, want %d", rules, want)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d rules were never evaluated", waiting, rules)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
