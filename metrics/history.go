package metrics

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
)

// Point is one line of the history: the values of a run at one moment.
type Point struct {
	Time    float64            `json:"time"`    // seconds since 1970
	Session int                `json:"session"` // set by Append
	Step    int64              `json:"step"`    // training steps done
	Games   int64              `json:"games"`   // games finished
	Values  map[string]float64 `json:"values"`
}

// History is the run's log.jsonl, on disk in full and in memory thinned out:
// see the package comment for the format. It may be used from any goroutine.
type History struct {
	path string

	mu      sync.RWMutex
	file    logFile // nil when only read
	size    int64   // bytes of whole lines
	session int     // of the next Append
	damaged int
	table   *table
	totals  map[string]float64 // last value of every counter
	last    Point
	points  int
}

// logFile is the part of *os.File that a history writes to.
type logFile interface {
	io.WriterAt
	Sync() error
	Truncate(size int64) error
	Close() error
}

// ErrReadOnly is returned by Append on a history that was opened to be read.
var ErrReadOnly = errors.New("this history was opened to be read only")

const (
	maxLine    = 1 << 20 // bytes; a longer line counts as damaged
	maxRows    = 4096    // rows in memory
	maxKeys    = 1024    // values followed; further names are left out
	maxSession = 1 << 30
)

// OpenHistory opens or makes the history of a run that this process goes on
// with. A last line that a crash cut short is taken off the file.
func OpenHistory(path string) (*History, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the history: %w", err)
	}
	h := newHistory(path)
	if err := h.read(f); err != nil {
		f.Close()
		return nil, err
	}
	end, err := f.Seek(0, io.SeekEnd)
	if err == nil && end > h.size {
		err = f.Truncate(h.size)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("repairing the end of %s: %w", path, err)
	}
	h.file = f
	if h.points > 0 {
		h.session = min(h.last.Session+1, maxSession)
	}
	return h, nil
}

// ReadHistory opens the history of a run that another process may be writing.
// Refresh reads what was added since.
func ReadHistory(path string) (*History, error) {
	h := newHistory(path)
	if _, err := h.Refresh(); err != nil {
		return nil, err
	}
	return h, nil
}

func newHistory(path string) *History {
	return &History{path: path, table: newTable(maxRows), totals: map[string]float64{}}
}

// Refresh reads the lines that another process has added and returns their
// number. On a history that this process writes it does nothing.
func (h *History) Refresh() (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.file != nil {
		return 0, nil
	}
	f, err := os.Open(h.path)
	if err != nil {
		return 0, fmt.Errorf("opening the history: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() < h.size {
		// Replaced or cut by its writer: begin again.
		h.size, h.damaged, h.points, h.last = 0, 0, 0, Point{}
		h.table, h.totals = newTable(maxRows), map[string]float64{}
	}
	if _, err := f.Seek(h.size, io.SeekStart); err != nil {
		return 0, fmt.Errorf("reading %s: %w", h.path, err)
	}
	before := h.points
	err = h.read(f)
	return h.points - before, err
}

// read takes in the whole lines of r, which stands at h.size.
func (h *History) read(r io.Reader) error {
	buf := make([]byte, 0, 64<<10)
	var dropped int64 // bytes let go of a line longer than maxLine
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		start := 0
		for {
			i := bytes.IndexByte(buf[start:], '\n')
			if i < 0 {
				break
			}
			if dropped > 0 {
				h.damaged++
			} else {
				h.line(buf[start : start+i])
			}
			h.size += dropped + int64(i) + 1
			dropped = 0
			start += i + 1
		}
		buf = buf[:copy(buf, buf[start:])]
		if len(buf) > maxLine {
			dropped += int64(len(buf))
			buf = buf[:0]
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading %s at byte %d: %w", h.path, h.size, err)
		}
	}
}

// line takes in one line or counts it as damaged.
func (h *History) line(b []byte) {
	if len(bytes.TrimSpace(b)) == 0 {
		return
	}
	var p Point
	if err := json.Unmarshal(b, &p); err != nil || !p.sound() {
		h.damaged++
		return
	}
	h.add(p)
}

// sound reports whether a point can stand in a history.
func (p *Point) sound() bool {
	return p.Time > 0 && p.Time < 1e11 && p.Session >= 0 && p.Session <= maxSession && p.Step >= 0 && p.Games >= 0
}

func (h *History) add(p Point) {
	h.table.add(p)
	for k, v := range p.Values {
		if isCounter(k) && (len(h.totals) < maxKeys || hasKey(h.totals, k)) {
			h.totals[k] = v
		}
	}
	h.last = p
	h.points++
}

func hasKey(m map[string]float64, k string) bool { _, ok := m[k]; return ok }

// isCounter reports whether a value of this name never falls.
func isCounter(key string) bool {
	base, _, _ := strings.Cut(key, "{")
	return strings.HasSuffix(base, "_total") || strings.HasSuffix(base, "_sum") || strings.HasSuffix(base, "_count")
}

// Append writes a point behind the others and gives it this start's session
// number. Values that are not finite are left out. When the disk is full the
// error says so and the file stays as it was.
func (h *History) Append(p Point) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.file == nil {
		return ErrReadOnly
	}
	p.Session = h.session
	values := make(map[string]float64, len(p.Values))
	for k, v := range p.Values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			values[k] = v
		}
	}
	p.Values = values
	if !p.sound() {
		return fmt.Errorf("a point of the history has time %g, step %d, games %d: none may be negative, and the time must be real", p.Time, p.Step, p.Games)
	}
	line, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("writing a point of the history: %w", err)
	}
	line = append(line, '\n')
	if _, err = h.file.WriteAt(line, h.size); err == nil {
		err = h.file.Sync()
	}
	if err != nil {
		err = fmt.Errorf("writing to %s: %w", h.path, err)
		if cut := h.file.Truncate(h.size); cut != nil {
			err = errors.Join(err, fmt.Errorf("taking the torn line off again: %w", cut))
		}
		return err
	}
	h.size += int64(len(line))
	h.add(p)
	return nil
}

// Close closes the file. The points stay readable.
func (h *History) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.file == nil {
		return nil
	}
	f := h.file
	h.file = nil
	if err := f.Close(); err != nil {
		return fmt.Errorf("closing the history: %w", err)
	}
	return nil
}

// Last is the newest point; false when there is none yet.
func (h *History) Last() (Point, bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.last, h.points > 0
}

// Points is the number of points in the file.
func (h *History) Points() int {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.points
}

// Damaged is the number of lines that could not be read and were skipped.
func (h *History) Damaged() int {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.damaged
}

// Totals is a copy of the last value of every counter in the file.
func (h *History) Totals() map[string]float64 {
	h.mu.RLock()
	defer h.mu.RUnlock()
	out := make(map[string]float64, len(h.totals))
	for k, v := range h.totals {
		out[k] = v
	}
	return out
}

// Series gives the values whose name, without labels, is in keys, in at most
// about n rows (one more for every start of the run).
func (h *History) Series(keys []string, n int) Series {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.table.series(keys, n)
}
