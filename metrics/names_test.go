package metrics

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"net/http/httptest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares text with a file of testdata, or rewrites the file.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (go test -update rewrites it):\n%s", file, diff)
	}
}

// everySet sets every metric at least once.
func everySet() *Metrics {
	m := New()
	var visit func(v reflect.Value)
	visit = func(v reflect.Value) {
		for i := range v.NumField() {
			f := v.Field(i)
			if !v.Type().Field(i).IsExported() {
				continue
			}
			switch x := f.Interface().(type) {
			case Gauge:
				x.Set(0.5)
			case prometheus.Counter:
				x.Add(2)
			case *prometheus.GaugeVec:
				label := "head"
				if f.Addr().Interface() == &m.Disk.Used {
					label = "kind"
				}
				x.With(prometheus.Labels{label: "policy"}).Set(1.5)
			default:
				visit(f)
			}
		}
	}
	visit(reflect.ValueOf(m).Elem())
	m.SetBuild("v0.1.0", "abc", "avx2")
	m.SetRun("run", "minishogi", "default", "4x64")
	ratings := []Rating{{Name: "random", Step: -1, Elo: -800, Anchor: true}, {Name: "step 10", Step: 10, Elo: 5, Low: 1, High: 9}, {Name: "step 5", Step: 5}}
	m.SetRatings(ratings, NewestRated(ratings, 0))
	m.GameOver("sente", "checkmate", 44)
	m.Stepped(12, 256)
	m.Wait("train", WaitGames)
	m.Spend(PartSearch, time.Second)
	m.FleetRefused("illegal_move")
	m.FleetVerified("same")
	m.FleetStored(time.Second)
	m.FleetSent(time.Millisecond)
	m.clients.Set(1)
	return m
}

func exposition(t testing.TB, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

func TestTheListOfNamesIsTheGoldenOne(t *testing.T) {
	var b strings.Builder
	for _, n := range Names() {
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s\t%s\n", n.Name, n.Kind, n.Unit, strings.Join(n.Labels, ","), n.Help)
	}
	golden(t, "testdata/names.tsv", b.String())
}

func TestEveryNameIsServedWithItsHelpAndKind(t *testing.T) {
	text := exposition(t, everySet())
	for _, n := range Names() {
		if n.Name == "kirin_cpu_steal_seconds_total" {
			if _, ok := stolenSeconds(); !ok {
				continue
			}
		}
		for _, want := range []string{"# HELP " + n.Name + " " + n.Help + "\n", "# TYPE " + n.Name + " " + string(n.Kind) + "\n"} {
			if !strings.Contains(text, want) {
				t.Errorf("/metrics lacks %q", want)
			}
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (kirin_\S+)`).FindAllStringSubmatch(text, -1) {
		if !slices.ContainsFunc(names, func(n Name) bool { return n.Name == m[1] }) {
			t.Errorf("%s is served but not in the table", m[1])
		}
	}
}

func TestNamesFollowTheirPattern(t *testing.T) {
	pattern := regexp.MustCompile(`^kirin_[a-z]+(_[a-z]+)*$`)
	seen := map[string]bool{}
	for _, n := range Names() {
		if !pattern.MatchString(n.Name) || seen[n.Name] || n.Help == "" || n.Unit == "" || !strings.HasSuffix(n.Help, ".") {
			t.Errorf("%+v", n)
		}
		if strings.HasSuffix(n.Name, "_total") != (n.Kind == KindCounter) {
			t.Errorf("%s is a %s", n.Name, n.Kind)
		}
		seen[n.Name] = true
	}
}

func TestAGaugeIsAbsentUntilItIsMeasured(t *testing.T) {
	m := New()
	if text := exposition(t, m); strings.Contains(text, "kirin_selfplay_policy_entropy_nats ") {
		t.Error("an entropy that nobody measured is served")
	}
	m.Selfplay.PolicyEntropy.Set(0.7)
	if text := exposition(t, m); !strings.Contains(text, "kirin_selfplay_policy_entropy_nats 0.7\n") {
		t.Error("the measured entropy is not served")
	}
}

func TestOnlyAnchorsAndTheNewestNetHaveARatingInPrometheus(t *testing.T) {
	m := everySet()
	values, err := m.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{`kirin_rating_elo{player="random"}`: -800, `kirin_rating_elo{player="newest"}`: 5, `kirin_rating_low_elo{player="newest"}`: 1} {
		if got, ok := values[name]; !ok || got != want {
			t.Errorf("%s = %g, want %g", name, got, want)
		}
	}
	if _, ok := values[`kirin_rating_elo{player="step 5"}`]; ok {
		t.Error("an old net has a series of its own")
	}
}

func TestAPartWaitsForOneReasonAtATime(t *testing.T) {
	m := New()
	m.Wait("train", WaitGames, "120 of 2000")
	since := m.Waits()[0].Since
	m.Wait("train", WaitGames, "130 of 2000")
	if w := m.Waits()[0]; w.Detail != "130 of 2000" || w.Since != since {
		t.Errorf("wait %+v, want the newer detail and the older time", w)
	}
	m.Wait("train", WaitDiskFull)
	m.Wait("selfplay", "the dog ate the games")
	text := exposition(t, m)
	for _, want := range []string{
		`kirin_waiting{part="train",reason="few_games"} 0`, `kirin_waiting{part="train",reason="disk_full"} 1`, `kirin_waiting{part="selfplay",reason="other"} 1`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	if w := m.Waits(); len(w) != 2 || w[0].Part != "selfplay" || w[0].Detail != "the dog ate the games" {
		t.Errorf("waits %+v", w)
	}
	m.Working("train")
	m.Working("selfplay")
	m.Working("rating")
	values, err := m.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for name := range values {
		if strings.HasPrefix(name, "kirin_waiting") {
			t.Errorf("%s is still in the snapshot", name)
		}
	}
}

func TestTheHistoryNamesLabelsAsPrometheusDoes(t *testing.T) {
	m := New()
	m.GameOver("gote", "we\"ird\n\\", 3)
	values, err := m.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	text := exposition(t, m)
	for name := range values {
		if strings.HasPrefix(name, "kirin_") && !strings.Contains(text, "\n"+name+" ") {
			t.Errorf("%s is not a line of /metrics", name)
		}
	}
}

func TestTheRatingThatIsShownHasItsGames(t *testing.T) {
	rows := []Rating{
		{Name: "step 200", Step: 200, Games: 13}, {Name: "material", Step: -1, Games: 90, Anchor: true}, {Name: "step 300", Step: 300, Games: 2},
		{Name: "step 100", Step: 100, Games: 30},
	}
	for games, want := range map[int]string{12: "step 200", 14: "step 100", 40: "step 300", 0: "step 300"} {
		if r := NewestRated(rows, games); r == nil || r.Name != want {
			t.Errorf("with %d games: %+v, want %s", games, r, want)
		}
	}
	if r := NewestRated(rows[1:2], 0); r != nil {
		t.Errorf("no net is rated, but %+v", r)
	}
}
