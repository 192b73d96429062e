package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// FleetMetrics describes a run that is spread over several machines: the
// trainer's side, then a worker's. [Metrics.FleetRefused] and
// [Metrics.FleetVerified] count what has a label.
type FleetMetrics struct {
	Workers, Wanted, Connections Gauge
	Games, Redelivered           prometheus.Counter
	BacklogGames, BacklogBytes   Gauge
	Unacknowledged               Gauge
	Staleness                    Gauge
	Quarantined                  Gauge
	WeightsSent                  prometheus.Counter

	OutboxGames, OutboxBytes Gauge
	Sent                     prometheus.Counter

	refused, verified *prometheus.CounterVec
	delay, send       prometheus.Histogram
}

func (m *Metrics) wireFleet(r *wiring) {
	waits := []float64{0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 3000}
	m.Fleet = FleetMetrics{
		Workers:        r.gauge("kirin_fleet_workers"),
		Wanted:         r.gauge("kirin_fleet_wanted_workers"),
		Connections:    r.gauge("kirin_fleet_connections"),
		Games:          r.counter("kirin_fleet_games_total"),
		Redelivered:    r.counter("kirin_fleet_redelivered_total"),
		BacklogGames:   r.gauge("kirin_fleet_backlog_games"),
		BacklogBytes:   r.gauge("kirin_fleet_backlog_bytes"),
		Unacknowledged: r.gauge("kirin_fleet_unacknowledged_games"),
		Staleness:      r.gauge("kirin_fleet_staleness_steps"),
		Quarantined:    r.gauge("kirin_fleet_quarantined_workers"),
		WeightsSent:    r.counter("kirin_fleet_weights_sent_bytes_total"),
		OutboxGames:    r.gauge("kirin_fleet_outbox_games"),
		OutboxBytes:    r.gauge("kirin_fleet_outbox_bytes"),
		Sent:           r.counter("kirin_fleet_sent_total"),
		refused:        r.counters("kirin_fleet_refused_total"),
		verified:       r.counters("kirin_fleet_verified_total"),
		delay:          r.histogram("kirin_fleet_delay_seconds", waits),
		send:           r.histogram("kirin_fleet_send_seconds", waits),
	}
}

// FleetRefused counts what was turned away: a game, a message or a connection.
// The caller's reasons must be few, since they are label values.
func (m *Metrics) FleetRefused(reason string) { m.Fleet.refused.WithLabelValues(reason).Inc() }

// FleetVerified counts a game that was played again with its net: result is
// same, different or impossible.
func (m *Metrics) FleetVerified(result string) { m.Fleet.verified.WithLabelValues(result).Inc() }

// FleetStored counts a game that has come into a shard, and how long that took
// since the queue had it, nothing if the queue's clock was ahead.
func (m *Metrics) FleetStored(delay time.Duration) {
	m.Fleet.Games.Inc()
	m.Fleet.delay.Observe(max(0, delay.Seconds()))
}

// FleetSent counts a game that the queue has taken, and how long it took to
// hand it over.
func (m *Metrics) FleetSent(took time.Duration) {
	m.Fleet.Sent.Inc()
	m.Fleet.send.Observe(took.Seconds())
}
