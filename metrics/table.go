package metrics

import (
	"math"
	"slices"
	"strings"
)

// table holds the points of a history in columns, in at most limit rows. When
// it is full neighbours are merged in pairs, and from then on each new row
// takes twice as many points.
type table struct {
	limit   int
	stride  int // points in a row
	time    []float64
	elapsed []float64 // running time: pauses between sessions left out
	step    []int64
	games   []int64
	session []int32
	count   []int32 // points in this row
	columns map[string]*column
	names   []string // of the columns, sorted

	lastTime, lastElapsed float64
}

// column is one value over all rows; NaN where it was not known. Counters
// have no low and high.
type column struct {
	counter         bool
	mean, low, high []float64
}

// firstRows is the room that a column has from the start: at the pace of a run,
// a point in ten seconds, that of the first hour and a half. A run's memory then
// does not grow by the curves of its first hours.
const firstRows = 512

func newColumn(counter bool) *column {
	c := &column{counter: counter, mean: make([]float64, 0, firstRows)}
	if !counter {
		c.low, c.high = make([]float64, 0, firstRows), make([]float64, 0, firstRows)
	}
	return c
}

func newTable(limit int) *table {
	return &table{limit: limit, stride: 1, columns: map[string]*column{}}
}

func (t *table) add(p Point) {
	n := len(t.time)
	sameSession := n > 0 && t.session[n-1] == int32(p.Session)
	if sameSession {
		t.lastElapsed += max(0, p.Time-t.lastTime)
	}
	t.lastTime = p.Time
	if sameSession && int(t.count[n-1]) < t.stride {
		t.merge(n-1, p)
		return
	}
	if n == t.limit {
		t.halve()
	}
	t.time = append(t.time, p.Time)
	t.elapsed = append(t.elapsed, t.lastElapsed)
	t.step = append(t.step, p.Step)
	t.games = append(t.games, p.Games)
	t.session = append(t.session, int32(p.Session))
	t.count = append(t.count, 1)
	n = len(t.time)
	t.learn(p)
	for _, name := range t.names {
		c := t.columns[name]
		v, ok := p.Values[name]
		if !ok {
			v = math.NaN()
		}
		c.fill(n - 1)
		c.mean = append(c.mean, v)
		if !c.counter {
			c.low, c.high = append(c.low, v), append(c.high, v)
		}
	}
}

// learn makes columns for the names that are new, while there is room.
func (t *table) learn(p Point) {
	var fresh []string
	for name := range p.Values {
		if t.columns[name] == nil {
			fresh = append(fresh, name)
		}
	}
	slices.Sort(fresh)
	for _, name := range fresh[:min(len(fresh), maxKeys-len(t.names))] {
		t.columns[name] = newColumn(isCounter(name))
		t.names = append(t.names, name)
	}
	if fresh != nil {
		slices.Sort(t.names)
	}
}

// fill makes the column n rows long.
func (c *column) fill(n int) {
	for len(c.mean) < n {
		c.mean = append(c.mean, math.NaN())
		if !c.counter {
			c.low, c.high = append(c.low, math.NaN()), append(c.high, math.NaN())
		}
	}
}

// merge adds a point to row i, the last.
func (t *table) merge(i int, p Point) {
	t.time[i], t.elapsed[i], t.step[i], t.games[i] = p.Time, t.lastElapsed, p.Step, p.Games
	t.learn(p)
	for name, v := range p.Values {
		if c := t.columns[name]; c != nil {
			c.fill(i + 1)
			c.take(i, float64(t.count[i]), v, v, v, 1)
		}
	}
	t.count[i]++
}

// take merges a value of weight w into row i of weight weight.
func (c *column) take(i int, weight, mean, low, high, w float64) {
	switch {
	case math.IsNaN(mean):
	case c.counter:
		c.mean[i] = mean
	case math.IsNaN(c.mean[i]):
		c.mean[i], c.low[i], c.high[i] = mean, low, high
	default:
		c.mean[i] += (mean - c.mean[i]) * (w / (weight + w))
		c.low[i], c.high[i] = min(c.low[i], low), max(c.high[i], high)
	}
}

// halve merges neighbours of a session, and where a run was started so often
// that this frees too little, neighbours of different sessions too.
func (t *table) halve() {
	t.squeeze(func(i, j int) bool { return t.session[i] == t.session[j] })
	if len(t.time) > t.limit*3/4 {
		t.squeeze(func(i, j int) bool { return true })
	}
	t.stride *= 2
}

// squeeze merges rows 2 and 2 where may allows it.
func (t *table) squeeze(may func(i, j int) bool) {
	pairs := make([][2]int, 0, len(t.time))
	for i := 0; i < len(t.time); {
		j := i
		if i+1 < len(t.time) && may(i, i+1) {
			j = i + 1
		}
		pairs = append(pairs, [2]int{i, j})
		i = j + 1
	}
	old := *t
	*t = table{limit: old.limit, stride: old.stride, columns: map[string]*column{}, names: old.names,
		lastTime: old.lastTime, lastElapsed: old.lastElapsed}
	old.group(pairs, t)
}

// group writes the rows first to last of each pair as one row into dst, which
// is empty. It copies the columns that dst.names lists.
func (t *table) group(spans [][2]int, dst *table) {
	for _, s := range spans {
		last := s[1]
		dst.time = append(dst.time, t.time[last])
		dst.elapsed = append(dst.elapsed, t.elapsed[last])
		dst.step = append(dst.step, t.step[last])
		dst.games = append(dst.games, t.games[last])
		dst.session = append(dst.session, t.session[last])
		count := int32(0)
		for i := s[0]; i <= last; i++ {
			count += t.count[i]
		}
		dst.count = append(dst.count, count)
	}
	for _, name := range dst.names {
		c := t.columns[name]
		d := &column{counter: c.counter}
		d.fill(len(spans))
		for row, s := range spans {
			weight := 0.0
			for i := s[0]; i <= s[1] && i < len(c.mean); i++ {
				w := float64(t.count[i])
				if c.counter {
					d.take(row, weight, c.mean[i], 0, 0, w)
				} else {
					d.take(row, weight, c.mean[i], c.low[i], c.high[i], w)
				}
				weight += w
			}
		}
		dst.columns[name] = d
	}
}

// series groups the rows into at most about n spans of equal running time.
func (t *table) series(keys []string, n int) Series {
	n = max(n, 1)
	rows := len(t.time)
	spans := make([][2]int, 0, min(rows, 2*n))
	width := t.lastElapsed / float64(n)
	bucket := func(i int) int { return int(t.elapsed[i] / width) }
	for i := range rows {
		last := len(spans) - 1
		if rows > n && last >= 0 && width > 0 && t.session[i] == t.session[i-1] && bucket(i) == bucket(spans[last][0]) {
			spans[last][1] = i
		} else {
			spans = append(spans, [2]int{i, i})
		}
	}
	d := &table{columns: map[string]*column{}}
	for _, name := range t.names {
		base, _, _ := strings.Cut(name, "{")
		if slices.Contains(keys, base) {
			d.names = append(d.names, name)
		}
	}
	t.group(spans, d)
	return Series{Time: d.time, Elapsed: d.elapsed, Step: d.step, Games: d.games, Session: d.session, names: d.names, columns: d.columns}
}
