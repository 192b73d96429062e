package metrics

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func openHistory(t *testing.T, path string) *History {
	t.Helper()
	h, err := OpenHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func appendPoint(t *testing.T, h *History, p Point) {
	t.Helper()
	if err := h.Append(p); err != nil {
		t.Fatal(err)
	}
}

func point(i int) Point {
	return Point{Time: 1.7e9 + 5*float64(i), Step: int64(10 * i), Games: int64(3 * i),
		Values: map[string]float64{"kirin_train_step": float64(10 * i), "kirin_selfplay_plies_total": float64(100 * i)}}
}

func TestAHistoryGoesOnOverARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	h := openHistory(t, path)
	for i := range 10 {
		appendPoint(t, h, point(i))
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if err := h.Append(point(10)); !errors.Is(err, ErrReadOnly) {
		t.Errorf("Append after Close: %v", err)
	}
	h = openHistory(t, path)
	appendPoint(t, h, point(10))
	last, ok := h.Last()
	want := point(10)
	want.Session = 1
	if diff := cmp.Diff(want, last); !ok || diff != "" {
		t.Error(diff)
	}
	if h.Points() != 11 || h.Damaged() != 0 {
		t.Errorf("%d points, %d damaged", h.Points(), h.Damaged())
	}
	s := h.Series([]string{"kirin_train_step"}, 400)
	if len(s.Time) != 11 || s.Session[9] != 0 || s.Session[10] != 1 || s.Elapsed[10] != s.Elapsed[9] {
		t.Errorf("rows %v, sessions %v, elapsed %v", s.Time, s.Session, s.Elapsed)
	}
	if diff := cmp.Diff([]string{"kirin_train_step"}, s.Names()); diff != "" {
		t.Error(diff)
	}
}

func TestATornLastLineIsTakenOffAtTheNextStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	h := openHistory(t, path)
	for i := range 3 {
		appendPoint(t, h, point(i))
	}
	h.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	two := len(lines[0]) + len(lines[1])
	for cut := two; cut < len(whole); cut++ {
		if err := os.WriteFile(path, whole[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		h := openHistory(t, path)
		if h.Points() != 2 || h.Damaged() != 0 {
			t.Fatalf("cut at %d: %d points, %d damaged", cut, h.Points(), h.Damaged())
		}
		appendPoint(t, h, point(2))
		h.Close()
		again := openHistory(t, path)
		if again.Points() != 3 || again.Damaged() != 0 {
			t.Fatalf("cut at %d, then continued: %d points, %d damaged", cut, again.Points(), again.Damaged())
		}
		again.Close()
	}
}

func TestADamagedLineIsSkippedAndCounted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	h := openHistory(t, path)
	for i := range 5 {
		appendPoint(t, h, point(i))
	}
	h.Close()
	text, _ := os.ReadFile(path)
	text[len(text)/2] ^= 0x80
	text = append(text, "\x00\x00\x00\n"...)
	text = append(text, `{"time":-1,"values":{}}`+"\n"...)
	text = append(text, strings.Repeat("x", 2*maxLine)+"\n"...)
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	h = openHistory(t, path)
	if h.Points()+h.Damaged() != 8 || h.Damaged() < 3 {
		t.Errorf("%d points, %d damaged", h.Points(), h.Damaged())
	}
	appendPoint(t, h, point(9))
	if last, _ := h.Last(); last.Step != 90 {
		t.Errorf("last step %d", last.Step)
	}
}

func TestAReaderFollowsARunThatAnotherProcessWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	w := openHistory(t, path)
	appendPoint(t, w, point(0))
	r, err := ReadHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Append(point(1)); !errors.Is(err, ErrReadOnly) {
		t.Errorf("Append on a reader: %v", err)
	}
	appendPoint(t, w, point(1))
	// Half a line of the writer is left alone until it is whole.
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.WriteString(`{"time":1700000100,"session":0,"step":77,`)
	if n, err := r.Refresh(); n != 1 || err != nil {
		t.Errorf("Refresh: %d points, %v", n, err)
	}
	f.WriteString(`"games":1,"values":{}}` + "\n")
	if n, err := r.Refresh(); n != 1 || err != nil {
		t.Errorf("Refresh: %d points, %v", n, err)
	}
	if last, _ := r.Last(); last.Step != 77 {
		t.Errorf("last step %d", last.Step)
	}
	// A file made anew is read anew.
	os.WriteFile(path, []byte(`{"time":1700000000,"step":5,"games":1,"values":{}}`+"\n"), 0o644)
	if _, err := r.Refresh(); err != nil || r.Points() != 1 {
		t.Errorf("after a new file: %d points, %v", r.Points(), err)
	}
	if _, err := ReadHistory(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a history that does not exist was opened")
	}
}

// fullDisk fails in the middle of a line.
type fullDisk struct {
	logFile
	room int
}

func (d *fullDisk) WriteAt(b []byte, at int64) (int, error) {
	if len(b) <= d.room {
		d.room -= len(b)
		return d.logFile.WriteAt(b, at)
	}
	n, _ := d.logFile.WriteAt(b[:d.room], at)
	d.room = 0
	return n, syscall.ENOSPC
}

func TestAFullDiskLeavesTheHistoryWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	h := openHistory(t, path)
	appendPoint(t, h, point(0))
	disk := &fullDisk{logFile: h.file, room: 40}
	h.file = disk
	err := h.Append(point(1))
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), path) {
		t.Errorf("Append on a full disk: %v", err)
	}
	disk.room = 1 << 20
	appendPoint(t, h, point(2))
	h.Close()
	h = openHistory(t, path)
	if h.Points() != 2 || h.Damaged() != 0 {
		t.Errorf("%d points, %d damaged", h.Points(), h.Damaged())
	}
}

func TestValuesThatAreNotFiniteAreLeftOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	h := openHistory(t, path)
	p := point(1)
	p.Values["kirin_train_gradient_norm"] = math.NaN()
	p.Values["kirin_train_learning_rate"] = math.Inf(1)
	appendPoint(t, h, p)
	if last, _ := h.Last(); len(last.Values) != 2 {
		t.Errorf("values %v", last.Values)
	}
	if err := h.Append(Point{Time: math.NaN()}); err == nil {
		t.Error("a point without a time was written")
	}
}

func TestCountersOfARecorderNeverFall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	now := time.UnixMilli(1.7e12)
	for start := range 3 {
		h := openHistory(t, path)
		m := New()
		r := NewRecorder(m, h)
		for i := range 4 {
			now = now.Add(5 * time.Second)
			m.Selfplay.Plies.Add(100)
			if start != 1 {
				m.GameOver("sente", "checkmate", 40)
			}
			if err := r.Record(now, int64(i), 0); err != nil {
				t.Fatal(err)
			}
		}
		h.Close()
	}
	h := openHistory(t, path)
	s := h.Series([]string{"kirin_selfplay_plies_total", "kirin_selfplay_games_total", "kirin_selfplay_game_plies_sum"}, 400)
	var want []float64
	for i := range 12 {
		want = append(want, float64(100*(i+1)))
	}
	if diff := cmp.Diff(want, s.Values("kirin_selfplay_plies_total")); diff != "" {
		t.Error(diff)
	}
	games := s.Values(`kirin_selfplay_games_total{result="sente",reason="checkmate"}`)
	if games == nil {
		games = s.Values(`kirin_selfplay_games_total{reason="checkmate",result="sente"}`)
	}
	if diff := cmp.Diff([]float64{1, 2, 3, 4, 4, 4, 4, 4, 5, 6, 7, 8}, games); diff != "" {
		t.Error(diff)
	}
	if v := s.Values("kirin_selfplay_game_plies_sum"); v[11] != 320 {
		t.Errorf("plies of finished games %v", v)
	}
}

func TestARecorderIsDueMoreSeldomInALongRun(t *testing.T) {
	h := openHistory(t, filepath.Join(t.TempDir(), "log.jsonl"))
	r := NewRecorder(New(), h)
	now := time.UnixMilli(1.7e12)
	points := 0
	for end := now.Add(24 * time.Hour); now.Before(end); now = now.Add(time.Second) {
		if r.Due(now) {
			r.last, points = now, points+1
			if r.started.IsZero() {
				r.started = now
			}
		}
	}
	if points < 1400 || points > 2600 {
		t.Errorf("%d points in a day", points)
	}
}

func TestALongHistoryStaysBoundedAndExact(t *testing.T) {
	for _, limit := range []int{8, 64, 100} {
		tab := newTable(limit)
		const n = 10_000
		for i := range n {
			p := point(i)
			p.Session = i / 3000
			p.Values["kirin_train_loss"] = float64(i % 2)
			if i >= 5000 {
				p.Values["kirin_train_gradient_norm"] = 3
			}
			tab.add(p)
			if len(tab.time) > limit {
				t.Fatalf("limit %d: %d rows", limit, len(tab.time))
			}
		}
		s := tab.series([]string{"kirin_train_loss", "kirin_selfplay_plies_total", "kirin_train_gradient_norm"}, 50)
		last := len(s.Time) - 1
		if s.Step[last] != 10*(n-1) || s.Values("kirin_selfplay_plies_total")[last] != 100*(n-1) {
			t.Errorf("limit %d: last step %d, plies %v", limit, s.Step[last], s.Values("kirin_selfplay_plies_total")[last])
		}
		if want := 5.0 * (n - 4); math.Abs(s.Elapsed[last]-want) > 1e-6 {
			t.Errorf("limit %d: elapsed %g, want %g", limit, s.Elapsed[last], want)
		}
		low, high := s.Range("kirin_train_loss")
		if v := s.Values("kirin_train_loss")[0]; math.Abs(v-0.5) > 0.05 || low[0] != 0 || high[0] != 1 {
			t.Errorf("limit %d: loss %g in [%g, %g]", limit, v, low[0], high[0])
		}
		norm := s.Values("kirin_train_gradient_norm")
		if !math.IsNaN(norm[0]) || norm[last] != 3 {
			t.Errorf("limit %d: norm %v", limit, norm)
		}
	}
}

func TestARunStartedVeryOftenStaysBounded(t *testing.T) {
	tab := newTable(64)
	for i := range 5000 {
		p := point(i)
		p.Session = i
		tab.add(p)
	}
	if len(tab.time) > 64 {
		t.Errorf("%d rows", len(tab.time))
	}
}

func TestTooManyNamesAreLeftOutTheSameWayEachTime(t *testing.T) {
	tab := newTable(8)
	p := Point{Time: 1, Values: map[string]float64{}}
	for i := range 3 * maxKeys {
		p.Values[fmt.Sprintf("v%05d", i)] = 1
	}
	tab.add(p)
	tab.add(p)
	if len(tab.names) != maxKeys || tab.names[maxKeys-1] != fmt.Sprintf("v%05d", maxKeys-1) {
		t.Errorf("%d names, last %s", len(tab.names), tab.names[len(tab.names)-1])
	}
}

func FuzzAHistoryFileOfAnyBytesIsReadAndContinued(f *testing.F) {
	f.Add([]byte(`{"time":1764475000.25,"session":2,"step":1200,"games":5310,"values":{"kirin_train_step":1200}}` + "\n"))
	f.Add([]byte(`{"time":1,"values":{"a_total":1,"b":null}}` + "\n" + `{"time":2,"sess`))
	f.Add([]byte("\x00\n\n[]\n{\"time\":1e999}\n{\"time\":5,\"session\":2147483646}\n"))
	f.Add([]byte(`{"time":1,"session":-1}` + "\n" + `{"time":3,"values":{"kirin_waiting{part=\"a\\\"":1}}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "log.jsonl")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		h := openHistory(t, path)
		n, damaged := h.Points(), h.Damaged()
		appendPoint(t, h, point(1))
		keys := []string{"a_total", "b", "kirin_train_step", "kirin_waiting"}
		if b := h.Series(keys, 10).AppendJSON(nil); !validJSON(b) {
			t.Errorf("series is not JSON: %s", b)
		}
		h.Close()
		again := openHistory(t, path)
		if again.Points() != n+1 || again.Damaged() != damaged {
			t.Errorf("%d points, %d damaged; before %d, %d", again.Points(), again.Damaged(), n, damaged)
		}
	})
}
