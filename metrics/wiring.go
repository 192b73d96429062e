package metrics

import "github.com/prometheus/client_golang/prometheus"

// Gauge is a value that can go up and down. It is not there before it is first
// set: what has not been measured yet is no zero.
type Gauge struct{ vec *prometheus.GaugeVec }

// Set sets the value.
func (g Gauge) Set(v float64) { g.vec.WithLabelValues().Set(v) }

// wiring makes collectors from the table of names. A name that the table does
// not have, or has with another kind, is a mistake in this package and panics
// in New.
type wiring struct {
	registry *prometheus.Registry
}

func (w *wiring) entry(name string, kind Kind) Name {
	for _, n := range names {
		if n.Name == name && n.Kind == kind {
			return n
		}
	}
	panic("metrics: the table has no " + string(kind) + " " + name)
}

func (w *wiring) counters(name string) *prometheus.CounterVec {
	n := w.entry(name, KindCounter)
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: n.Name, Help: n.Help}, n.Labels)
	w.registry.MustRegister(v)
	return v
}

func (w *wiring) counter(name string) prometheus.Counter {
	return w.counters(name).WithLabelValues()
}

func (w *wiring) gauges(name string) *prometheus.GaugeVec {
	n := w.entry(name, KindGauge)
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: n.Name, Help: n.Help}, n.Labels)
	w.registry.MustRegister(v)
	return v
}

func (w *wiring) gauge(name string) Gauge { return Gauge{w.gauges(name)} }

func (w *wiring) histogram(name string, buckets []float64) prometheus.Histogram {
	n := w.entry(name, KindHistogram)
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: n.Name, Help: n.Help, Buckets: buckets})
	w.registry.MustRegister(h)
	return h
}

// steal registers the machine's stolen CPU time where the system tells it.
func (w *wiring) steal(name string) {
	n := w.entry(name, KindCounter)
	start, ok := stolenSeconds()
	if !ok {
		return
	}
	w.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: n.Name, Help: n.Help}, func() float64 {
		now, _ := stolenSeconds()
		return max(0, now-start)
	}))
}
