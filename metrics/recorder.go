package metrics

import "time"

// Recorder turns the metrics of this process into points of the run's
// history. The counters of a process start at 0; a recorder adds what the
// history had reached before, so that its curves go on over a restart.
type Recorder struct {
	metrics *Metrics
	history *History
	base    map[string]float64
	started time.Time
	last    time.Time
}

// NewRecorder makes the recorder of a history that was just opened.
func NewRecorder(m *Metrics, h *History) *Recorder {
	return &Recorder{metrics: m, history: h, base: h.Totals()}
}

// Record appends a point: step is the number of training steps and games the
// number of finished games of the run.
func (r *Recorder) Record(now time.Time, step, games int64) error {
	values, err := r.metrics.Snapshot()
	if err != nil {
		return err
	}
	for k, v := range r.base {
		values[k] += v
	}
	if r.started.IsZero() {
		r.started = now
	}
	r.last = now
	return r.history.Append(Point{Time: seconds(now), Step: step, Games: games, Values: values})
}

// Due reports whether it is time for the next point: at once, then every 5
// seconds, and more seldom the longer the process runs (every minute after
// six hours), so that the file of a long run stays small.
func (r *Recorder) Due(now time.Time) bool {
	if r.started.IsZero() {
		return true
	}
	every := min(max(now.Sub(r.started)/360, 5*time.Second), time.Minute)
	return now.Sub(r.last) >= every
}
