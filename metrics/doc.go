// Package metrics is how a run is watched: the metrics of this process for
// Prometheus, the history of the run on disk, and the dashboard page.
//
// It imports nothing of ours. The parts of kirin write into it; it never asks
// them for anything except games and ratings to show, through [Source].
//
//   - [Metrics] holds one typed collector for every entry of [Names], in a
//     registry of its own. Counters start at 0 with the process, as Prometheus
//     expects.
//   - [Clock] accounts the CPU time of one goroutine to the parts of the work.
//   - [History] is the run's log.jsonl. A [Recorder] turns the state of
//     Metrics into its points; there, counters go on over restarts.
//   - [Server] serves /metrics, the page and its data. It listens on one
//     address, keeps going whatever is sent to it, and drops clients that do
//     not keep up.
//   - [AlertRules] and [GrafanaDashboard] are files for a Prometheus and a
//     Grafana that watch several runs.
//
// # The history file
//
// log.jsonl has one JSON object a line:
//
//	{"time":1764475000.25,"session":2,"step":1200,"games":5310,"values":{"kirin_train_step":1200,...}}
//
//	time     seconds since 1970
//	session  how many times the run had been started before, from 0
//	step     training steps done
//	games    games finished
//	values   one number for each sample, under its name in Prometheus' text
//	         form (kirin_cpu_seconds_total{part="search"}); histograms give
//	         their _sum and _count. Names ending in _total, _sum and _count
//	         never fall within the file, also over restarts. A value that is
//	         not finite is left out.
//
// One process at a time writes the file, and only at its end, one whole line
// in one write, followed by fsync. A line that a crash or a full disk cut
// short is taken off at the next start. Any other line that cannot be read is
// left in the file, skipped and counted ([History.Damaged]).
//
// In memory a history keeps at most a few thousand rows: when they are full,
// neighbours are merged (counters keep the later value; gauges keep mean,
// lowest and highest), so a run of a year draws as fast as one of an hour.
package metrics
