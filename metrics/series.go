package metrics

import (
	"encoding/json"
	"math"
	"strconv"
)

// Series is a history thinned out for drawing: one row for each span of time.
// A row carries the time, step and games at its end; counters have their value
// there, gauges their mean over the span with lowest and highest.
type Series struct {
	Time    []float64 // seconds since 1970
	Elapsed []float64 // seconds that the run was running
	Step    []int64
	Games   []int64
	Session []int32

	names   []string
	columns map[string]*column
}

// Names lists the values, sorted, in Prometheus' text form.
func (s Series) Names() []string { return s.names }

// Values are the rows of one value, NaN where it was not known.
func (s Series) Values(name string) []float64 {
	if c := s.columns[name]; c != nil {
		return c.mean
	}
	return nil
}

// Range is the lowest and highest value of each row of a gauge, nil for a
// counter.
func (s Series) Range(name string) (low, high []float64) {
	if c := s.columns[name]; c != nil {
		return c.low, c.high
	}
	return nil, nil
}

// AppendJSON writes the series as one object of columns:
//
//	{"time":[..],"elapsed":[..],"step":[..],"games":[..],"session":[..],
//	 "values":{NAME:[..]},"low":{NAME:[..]},"high":{NAME:[..]}}
//
// Unknown values are null. A value whose range is its mean in every row is
// left out of low and high.
func (s Series) AppendJSON(b []byte) []byte {
	b = append(b, `{"time":`...)
	b = appendFloats(b, s.Time, 13)
	b = append(b, `,"elapsed":`...)
	b = appendFloats(b, s.Elapsed, 9)
	b = append(b, `,"step":`...)
	b = appendInts(b, s.Step)
	b = append(b, `,"games":`...)
	b = appendInts(b, s.Games)
	b = append(b, `,"session":`...)
	b = appendInts(b, s.Session)
	b = append(b, `,"values":{`...)
	b = s.appendColumns(b, func(c *column) []float64 { return c.mean })
	b = append(b, `},"low":{`...)
	b = s.appendColumns(b, func(c *column) []float64 { return c.spread(c.low) })
	b = append(b, `},"high":{`...)
	b = s.appendColumns(b, func(c *column) []float64 { return c.spread(c.high) })
	return append(b, `}}`...)
}

// spread gives the bound if it differs from the mean in any row, else nil.
func (c *column) spread(bound []float64) []float64 {
	for i, v := range bound {
		if v != c.mean[i] && !math.IsNaN(v) {
			return bound
		}
	}
	return nil
}

func (s Series) appendColumns(b []byte, of func(*column) []float64) []byte {
	first := true
	for _, name := range s.names {
		c := s.columns[name]
		v := of(c)
		if v == nil {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		quoted, _ := json.Marshal(name) // a string always has a JSON form
		b = append(append(b, quoted...), ':')
		digits := 6
		if c.counter {
			digits = 12
		}
		b = appendFloats(b, v, digits)
	}
	return b
}

func appendFloats(b []byte, v []float64, digits int) []byte {
	b = append(b, '[')
	for i, x := range v {
		if i > 0 {
			b = append(b, ',')
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			b = append(b, "null"...)
		} else {
			b = strconv.AppendFloat(b, x, 'g', digits, 64)
		}
	}
	return append(b, ']')
}

func appendInts[T int32 | int64](b []byte, v []T) []byte {
	b = append(b, '[')
	for i, x := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(x), 10)
	}
	return append(b, ']')
}
