package metrics

import (
	"slices"
	"strings"
	"time"
)

// Wait is a part of the run that waits now.
type Wait struct {
	Part   string    `json:"part"`
	Reason string    `json:"reason"`
	Detail string    `json:"detail"` // a sentence for the reader, or empty
	Since  time.Time `json:"since"`
}

// Wait says that a part of the run (train, selfplay, rating, ...) waits for a
// reason, one of the Wait constants; the details say how far it is ("the
// window holds 120 of 2000 positions") and may change from call to call. A
// part waits for one reason at a time. A reason that is not listed goes out as
// "other" with its text as detail, so that the number of series stays small.
func (m *Metrics) Wait(part, reason string, details ...string) {
	if !slices.Contains(waitReasons, reason) {
		details = append([]string{reason}, details...)
		reason = WaitOther
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	w, waits := m.waits[part]
	if !waits || w.Reason != reason {
		if waits {
			m.waiting.WithLabelValues(part, w.Reason).Set(0)
		}
		w = Wait{Part: part, Reason: reason, Since: m.now()}
		m.waiting.WithLabelValues(part, reason).Set(1)
	}
	w.Detail = strings.Join(details, "; ")
	m.waits[part] = w
}

// Working says that a part of the run does not wait any more. It costs a lock
// and a map look-up when it did not wait.
func (m *Metrics) Working(part string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if w, ok := m.waits[part]; ok {
		m.waiting.WithLabelValues(part, w.Reason).Set(0)
		delete(m.waits, part)
	}
}

// Waits lists the parts that wait now, by name.
func (m *Metrics) Waits() []Wait {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]Wait, 0, len(m.waits))
	for _, w := range m.waits {
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b Wait) int { return strings.Compare(a.Part, b.Part) })
	return out
}
