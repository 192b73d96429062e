package metrics

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Metrics holds the collectors of one process, grouped by part. All of them
// may be used from any goroutine. What each one means is in the table of
// [Names].
type Metrics struct {
	Disk     DiskMetrics
	Selfplay SelfplayMetrics
	Search   SearchMetrics
	Mate     MateMetrics
	Network  NetworkMetrics
	Train    TrainMetrics
	Window   WindowMetrics
	Dataset  DatasetMetrics
	Rating   RatingMetrics
	Fleet    FleetMetrics

	registry *prometheus.Registry
	build    *prometheus.GaugeVec
	run      *prometheus.GaugeVec
	cpu      [PartCount]prometheus.Counter
	spent    [PartCount]atomic.Int64 // the same in nanoseconds
	waiting  *prometheus.GaugeVec
	games    *prometheus.CounterVec
	lengths  prometheus.Histogram
	elo      [3]*prometheus.GaugeVec // rating, low, high
	clients  Gauge
	dropped  prometheus.Counter

	mu    sync.Mutex
	waits map[string]Wait
	now   func() time.Time
}

// DiskMetrics is the room that the run takes; Used has the label kind.
type DiskMetrics struct {
	Used        *prometheus.GaugeVec
	Limit, Free Gauge
}

// SelfplayMetrics counts what the workers do; games are counted by
// [Metrics.GameOver]. FullSearches and CheapSearches count moves searched.
type SelfplayMetrics struct {
	Plies                       prometheus.Counter
	FullSearches, CheapSearches prometheus.Counter
	Workers                     Gauge
	NetStep                     Gauge
	PolicyEntropy               Gauge
	TargetEntropy               Gauge
	FirstMove, Repetition       Gauge
	FirstPlayerScore            Gauge
	ValueError                  Gauge
	ResignationsChecked         prometheus.Counter
	ResignationsFalse           prometheus.Counter
	DecidedPlies                prometheus.Counter
	lastGame                    Gauge
}

// SearchMetrics counts the work of the tree search.
type SearchMetrics struct {
	Simulations, ProvenRoots prometheus.Counter
}

// MateMetrics counts the work of the mate search.
type MateMetrics struct {
	Mates, NoMates, Unknown, Nodes, Leaves prometheus.Counter
}

// NetworkMetrics counts evaluations in play.
type NetworkMetrics struct {
	Positions, Batches prometheus.Counter
}

// TrainMetrics follows the trainer; Loss and FreshLoss have the label head.
// [Metrics.Stepped] counts steps.
type TrainMetrics struct {
	Loss, FreshLoss         *prometheus.GaugeVec
	PolicyAccuracy          Gauge
	GradientNorm            Gauge
	LargestActivation       Gauge
	LearningRate            Gauge
	SamplesPerPosition      Gauge
	SamplesTarget           Gauge
	Staleness               Gauge
	CheckpointStep          Gauge
	DroppedSteps, Restored  prometheus.Counter
	step, lastStep          Gauge
	stepsTotal, sampleTotal prometheus.Counter
}

// WindowMetrics describes the training window.
type WindowMetrics struct {
	Games, Positions, LimitPositions, Bytes Gauge
	DuplicateGames                          prometheus.Counter
	DuplicatePositions                      Gauge
}

// DatasetMetrics describes the games on disk.
type DatasetMetrics struct {
	Quarantined, Removed prometheus.Counter
}

// RatingMetrics counts rating games; ratings are set by [Metrics.SetRatings].
type RatingMetrics struct {
	Games prometheus.Counter
}

// New makes the collectors of a process, all at zero, and those of the Go
// runtime and the operating system's view of the process.
func New() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), waits: map[string]Wait{}, now: time.Now}
	r := &wiring{registry: m.registry}

	m.build = r.gauges("kirin_build_info")
	m.run = r.gauges("kirin_run_info")
	r.gauge("kirin_run_start_time_seconds").Set(seconds(time.Now()))
	m.waiting = r.gauges("kirin_waiting")
	cpu := r.counters("kirin_cpu_seconds_total")
	for p := range m.cpu {
		m.cpu[p] = cpu.WithLabelValues(Part(p).String())
	}
	r.gauge("kirin_cpu_cores").Set(float64(runtime.GOMAXPROCS(0)))
	r.steal("kirin_cpu_steal_seconds_total")
	m.Disk = DiskMetrics{
		Used:  r.gauges("kirin_disk_used_bytes"),
		Limit: r.gauge("kirin_disk_limit_bytes"),
		Free:  r.gauge("kirin_disk_free_bytes"),
	}

	m.games = r.counters("kirin_selfplay_games_total")
	m.lengths = r.histogram("kirin_selfplay_game_plies",
		[]float64{10, 20, 30, 40, 60, 80, 100, 130, 160, 200, 250, 300, 400, 600, 1000})
	searches := r.counters("kirin_selfplay_searches_total")
	m.Selfplay = SelfplayMetrics{
		Plies:               r.counter("kirin_selfplay_plies_total"),
		FullSearches:        searches.WithLabelValues("full"),
		CheapSearches:       searches.WithLabelValues("cheap"),
		Workers:             r.gauge("kirin_selfplay_workers"),
		NetStep:             r.gauge("kirin_selfplay_net_step"),
		PolicyEntropy:       r.gauge("kirin_selfplay_policy_entropy_nats"),
		TargetEntropy:       r.gauge("kirin_selfplay_target_entropy_nats"),
		FirstMove:           r.gauge("kirin_selfplay_first_move_ratio"),
		Repetition:          r.gauge("kirin_selfplay_repetition_ratio"),
		FirstPlayerScore:    r.gauge("kirin_selfplay_first_player_score_ratio"),
		ValueError:          r.gauge("kirin_selfplay_value_error_ratio"),
		ResignationsChecked: r.counter("kirin_selfplay_resignations_checked_total"),
		ResignationsFalse:   r.counter("kirin_selfplay_resignations_false_total"),
		DecidedPlies:        r.counter("kirin_selfplay_decided_plies_total"),
		lastGame:            r.gauge("kirin_selfplay_last_game_timestamp_seconds"),
	}

	m.Search = SearchMetrics{
		Simulations: r.counter("kirin_search_simulations_total"),
		ProvenRoots: r.counter("kirin_search_proven_roots_total"),
	}
	mates := r.counters("kirin_mate_searches_total")
	m.Mate = MateMetrics{
		Mates:   mates.WithLabelValues("mate"),
		NoMates: mates.WithLabelValues("no_mate"),
		Unknown: mates.WithLabelValues("unknown"),
		Nodes:   r.counter("kirin_mate_nodes_total"),
		Leaves:  r.counter("kirin_mate_leaves_total"),
	}
	m.Network = NetworkMetrics{
		Positions: r.counter("kirin_network_positions_total"),
		Batches:   r.counter("kirin_network_batches_total"),
	}

	m.Train = TrainMetrics{
		Loss:               r.gauges("kirin_train_loss"),
		FreshLoss:          r.gauges("kirin_train_fresh_loss"),
		PolicyAccuracy:     r.gauge("kirin_train_policy_accuracy_ratio"),
		GradientNorm:       r.gauge("kirin_train_gradient_norm"),
		LargestActivation:  r.gauge("kirin_train_largest_activation"),
		LearningRate:       r.gauge("kirin_train_learning_rate"),
		SamplesPerPosition: r.gauge("kirin_train_samples_per_position_ratio"),
		SamplesTarget:      r.gauge("kirin_train_samples_per_position_target_ratio"),
		Staleness:          r.gauge("kirin_train_staleness_steps"),
		CheckpointStep:     r.gauge("kirin_train_checkpoint_step"),
		DroppedSteps:       r.counter("kirin_train_dropped_steps_total"),
		Restored:           r.counter("kirin_train_restored_checkpoints_total"),
		step:               r.gauge("kirin_train_step"),
		lastStep:           r.gauge("kirin_train_last_step_timestamp_seconds"),
		stepsTotal:         r.counter("kirin_train_steps_total"),
		sampleTotal:        r.counter("kirin_train_samples_total"),
	}

	m.Window = WindowMetrics{
		Games:              r.gauge("kirin_window_games"),
		Positions:          r.gauge("kirin_window_positions"),
		LimitPositions:     r.gauge("kirin_window_limit_positions"),
		Bytes:              r.gauge("kirin_window_bytes"),
		DuplicateGames:     r.counter("kirin_window_duplicate_games_total"),
		DuplicatePositions: r.gauge("kirin_window_duplicate_positions_ratio"),
	}
	m.Dataset = DatasetMetrics{
		Quarantined: r.counter("kirin_dataset_quarantined_files_total"),
		Removed:     r.counter("kirin_dataset_removed_files_total"),
	}
	m.elo = [3]*prometheus.GaugeVec{r.gauges("kirin_rating_elo"), r.gauges("kirin_rating_low_elo"), r.gauges("kirin_rating_high_elo")}
	m.Rating = RatingMetrics{Games: r.counter("kirin_rating_games_total")}
	m.wireFleet(r)
	m.clients = r.gauge("kirin_page_clients")
	m.dropped = r.counter("kirin_page_dropped_clients_total")

	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Registry is the registry that /metrics serves.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }

// SetBuild names the program: its version, source revision and kernel set.
func (m *Metrics) SetBuild(version, revision, kernels string) {
	m.build.Reset()
	m.build.WithLabelValues(version, revision, runtime.Version(), kernels).Set(1)
}

// SetRun names the run: its folder's name, game, rule options and net.
func (m *Metrics) SetRun(run, variant, rules, net string) {
	m.run.Reset()
	m.run.WithLabelValues(run, variant, rules, net).Set(1)
}

// GameOver counts a finished self-play game: result is sente, gote or draw,
// reason what ended it, plies its length.
func (m *Metrics) GameOver(result, reason string, plies int) {
	m.games.WithLabelValues(result, reason).Inc()
	m.lengths.Observe(float64(plies))
	m.Selfplay.lastGame.Set(seconds(m.now()))
}

// Stepped counts a training step: step is the run's step after it, samples
// the positions in its batch.
func (m *Metrics) Stepped(step int64, samples int) {
	m.SetStep(step)
	m.Train.stepsTotal.Inc()
	m.Train.sampleTotal.Add(float64(samples))
	m.Train.lastStep.Set(seconds(m.now()))
}

// SetStep sets the run's step without counting one: after a start from a
// checkpoint and after a restored one.
func (m *Metrics) SetStep(step int64) { m.Train.step.Set(float64(step)) }

// SetRatings replaces the ratings on /metrics: of the anchors, and of one net
// under the name "newest", if there is one; see [NewestRated].
func (m *Metrics) SetRatings(ratings []Rating, newest *Rating) {
	for _, v := range m.elo {
		v.Reset()
	}
	set := func(name string, r Rating) {
		m.elo[0].WithLabelValues(name).Set(r.Elo)
		m.elo[1].WithLabelValues(name).Set(r.Low)
		m.elo[2].WithLabelValues(name).Set(r.High)
	}
	for _, r := range ratings {
		if r.Anchor {
			set(r.Name, r)
		}
	}
	if newest != nil {
		set("newest", *newest)
	}
}

// NewestRated is the net of the highest step that has so many games: one with
// fewer would make the figure jump. If none has, it is the newest net; nil if no
// net is rated.
func NewestRated(ratings []Rating, games int) *Rating {
	var newest, settled *Rating
	for i := range ratings {
		r := &ratings[i]
		if r.Anchor {
			continue
		}
		if newest == nil || r.Step > newest.Step {
			newest = r
		}
		if r.Games >= games && (settled == nil || r.Step > settled.Step) {
			settled = r
		}
	}
	return cmp.Or(settled, newest)
}

// Spend accounts CPU time to a part, for callers that measure it themselves.
// [Clock] does it for one goroutine.
func (m *Metrics) Spend(p Part, cpu time.Duration) {
	if cpu > 0 {
		m.cpu[p].Add(cpu.Seconds())
		m.spent[p].Add(int64(cpu))
	}
}

// Spent is the CPU time accounted to the parts of the work since New, rating
// games left out: they measure a run and do not belong to it.
func (m *Metrics) Spent() time.Duration {
	sum := int64(0)
	for p := range m.spent {
		if Part(p) != PartRating {
			sum += m.spent[p].Load()
		}
	}
	return time.Duration(sum)
}

// Snapshot reads every sample of kirin and two of the process (CPU seconds,
// resident memory) under its name in Prometheus' text form. Values that are
// not finite are left out, and so are waits that are over.
func (m *Metrics) Snapshot() (map[string]float64, error) {
	families, err := m.registry.Gather()
	if err != nil {
		return nil, fmt.Errorf("reading the metrics: %w", err)
	}
	out := make(map[string]float64, 128)
	put := func(name string, v float64) {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			out[name] = v
		}
	}
	for _, f := range families {
		name := f.GetName()
		if !strings.HasPrefix(name, "kirin_") && name != "process_cpu_seconds_total" && name != "process_resident_memory_bytes" {
			continue
		}
		for _, s := range f.GetMetric() {
			labels := ""
			for i, l := range s.GetLabel() {
				if i > 0 {
					labels += ","
				}
				labels += l.GetName() + "=" + quoteLabel(l.GetValue())
			}
			if labels != "" {
				labels = "{" + labels + "}"
			}
			switch {
			case s.GetCounter() != nil:
				put(name+labels, s.GetCounter().GetValue())
			case s.GetHistogram() != nil:
				put(name+"_sum"+labels, s.GetHistogram().GetSampleSum())
				put(name+"_count"+labels, float64(s.GetHistogram().GetSampleCount()))
			case s.GetGauge() != nil:
				if v := s.GetGauge().GetValue(); name != "kirin_waiting" || v != 0 {
					put(name+labels, v)
				}
			}
		}
	}
	return out, nil
}

func quoteLabel(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
