package metrics

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// A made-up run: what a run of a few hours looks like on the page.

// recordedGames reads the games of testdata: two to six of each variant,
// played at random by other programs, with made-up values.
func recordedGames(t testing.TB) []GameRecord {
	t.Helper()
	f, err := os.Open("testdata/games.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var games []GameRecord
	if err := json.NewDecoder(z).Decode(&games); err != nil {
		t.Fatal(err)
	}
	return games
}

// shelf is a Source over recorded games of one variant.
type shelf struct {
	games []GameRecord
	now   float64
}

func newShelf(games []GameRecord, variant string, now float64) *shelf {
	s := &shelf{now: now}
	for _, g := range games {
		if g.Variant == variant {
			s.games = append(s.games, g)
		}
	}
	return s
}

func (s *shelf) Recent(n int) []GameSummary {
	var out []GameSummary
	for i := range min(n, 5*len(s.games)) {
		g := s.games[i%len(s.games)]
		id := g.ID
		if i >= len(s.games) {
			id = fmt.Sprintf("%s-%d", g.ID, i)
		}
		out = append(out, GameSummary{ID: id, Variant: g.Variant, Net: g.Net, Result: g.Result, Reason: g.Reason, Plies: len(g.Moves), Time: s.now - float64(7+i*i*11)})
	}
	return out
}

func (s *shelf) Game(id string) (GameRecord, error) {
	for _, g := range s.games {
		if len(id) >= 16 && g.ID == id[:16] {
			return g, nil
		}
	}
	return GameRecord{}, fmt.Errorf("game %s: %w", id, ErrNoGame)
}

// writeRun writes a history that ends at a given time: hours of training with
// two restarts and a long pause.
func writeRun(t testing.TB, path string, seed uint64, hours, end float64) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	enc := json.NewEncoder(f)
	rng := rand.New(rand.NewPCG(seed, 7))
	noise := func(size float64) float64 { return 1 + size*rng.NormFloat64() }
	quality := 0.9 + 0.2*rng.Float64()
	v := map[string]float64{"kirin_cpu_cores": 2, "kirin_train_samples_per_position_target_ratio": 4}
	reasons := []struct{ result, reason string }{
		{"sente", "checkmate"}, {"gote", "checkmate"}, {"sente", "mate_proven"}, {"gote", "mate_proven"},
		{"gote", "repetition"}, {"draw", "ply_limit"}, {"sente", "perpetual_check"}, {"gote", "resignation"}, {"sente", "resignation"},
	}
	var plies, games, samples float64
	session, wall := 0, end-hours*3600-1800
	const dt = 15.0
	n := int(hours * 3600 / dt)
	for i := range n {
		h := float64(i) * dt / 3600
		if i == n/5 || i == n/2 {
			session++
			wall += 900
			samples -= 2000
		}
		wall += dt
		length := 46 + 34*math.Exp(-h/0.35) + 9*math.Sin(h*1.3)
		dp := max(0, 62*quality*noise(0.06)*dt)
		dg := dp / length
		plies += dp
		games += dg
		if h > 0.02 {
			samples += 248 * quality * noise(0.05) * dt
		}
		step := samples / 256
		for k, w := range []float64{0.3, 0.27, 0.17 * (1 - math.Exp(-h)), 0.15 * (1 - math.Exp(-h)), 0.05 + 0.05*math.Sin(h), 0.4 * math.Exp(-h/0.15), 0.015, 0.06 * h / hours, 0.05 * h / hours} {
			v[fmt.Sprintf(`kirin_selfplay_games_total{reason="%s",result="%s"}`, reasons[k].reason, reasons[k].result)] += max(0, dg*w*noise(0.3))
		}
		v["kirin_selfplay_plies_total"] = plies
		v["kirin_selfplay_game_plies_sum"] += dp
		v["kirin_selfplay_game_plies_count"] += dg
		v["kirin_network_positions_total"] += dp * 29 * noise(0.03)
		v["kirin_train_samples_total"] = samples
		v["kirin_train_step"] = math.Floor(step)
		busy := 1.93 * noise(0.01)
		for part, share := range map[string]float64{"network": 0.47, "search": 0.13, "mate": 0.07, "train": 0.29, "rating": 0.035, "storage": 0.005} {
			v[`kirin_cpu_seconds_total{part="`+part+`"}`] += max(0, busy*share*dt*noise(0.05))
		}
		v["kirin_cpu_steal_seconds_total"] += 0.03 * dt
		v[`kirin_train_loss{head="policy"}`] = (1.15 + 1.5*math.Exp(-h/0.3) - 0.06*h/hours*quality) * noise(0.018)
		v[`kirin_train_fresh_loss{head="policy"}`] = (1.19 + 1.5*math.Exp(-h/0.3) - 0.05*h/hours*quality) * noise(0.03)
		v[`kirin_train_loss{head="value"}`] = (0.61 + 0.4*math.Exp(-h/0.2)) * noise(0.03)
		v[`kirin_train_fresh_loss{head="value"}`] = (0.66 + 0.38*math.Exp(-h/0.2)) * noise(0.04)
		v[`kirin_train_loss{head="plies_left"}`] = (0.21 + 0.3*math.Exp(-h/0.2)) * noise(0.03)
		v["kirin_train_gradient_norm"] = (0.7 + 2.5*math.Exp(-h/0.1)) * math.Exp(0.25*rng.NormFloat64())
		v["kirin_train_largest_activation"] = 9 + 31*(1-math.Exp(-h/0.8)) + rng.Float64()
		v["kirin_train_learning_rate"] = 0.002 * min(1, step/500) * (0.55 + 0.45*math.Cos(math.Pi*h/hours))
		v["kirin_train_policy_accuracy_ratio"] = (0.62 - 0.4*math.Exp(-h/0.4)) * noise(0.02)
		v["kirin_train_samples_per_position_ratio"] = 4 * (1 - math.Exp(-h/0.03)) * noise(0.01)
		v["kirin_train_staleness_steps"] = 200 + 900*math.Pow(h/hours, 0.7)
		v["kirin_selfplay_policy_entropy_nats"] = (0.95 + 1.6*math.Exp(-h/0.35)) * noise(0.02)
		v["kirin_selfplay_target_entropy_nats"] = (0.78 + 1.3*math.Exp(-h/0.35)) * noise(0.02)
		v["kirin_selfplay_first_move_ratio"] = min(1, (0.22+0.2*h/hours)*noise(0.05))
		v["kirin_selfplay_first_player_score_ratio"] = (0.52 + 0.03*math.Sin(h*2)) * noise(0.02)
		v["kirin_selfplay_repetition_ratio"] = (0.06 + 0.03*math.Sin(h)) * noise(0.1)
		v["kirin_selfplay_value_error_ratio"] = (0.025 + 0.12*math.Exp(-h/0.3)) * noise(0.08)
		v["kirin_window_duplicate_positions_ratio"] = (0.11 + 0.05*h/hours) * noise(0.02)
		limit := 20000 * math.Pow(max(1, plies/20000), 0.65)
		v["kirin_window_limit_positions"] = limit
		v["kirin_window_positions"] = min(plies, limit*0.99)
		v["kirin_window_games"] = v["kirin_window_positions"] / length
		v["kirin_window_bytes"] = v["kirin_window_positions"] * 190
		v["process_resident_memory_bytes"] = 310e6 + v["kirin_window_bytes"] + 4e6*rng.Float64()
		v[`kirin_disk_used_bytes{kind="games"}`] = plies * 42
		v[`kirin_disk_used_bytes{kind="weights"}`] = 1.4e6 * (1 + math.Floor(step/500))
		v[`kirin_disk_used_bytes{kind="checkpoints"}`] = 13e6
		v["kirin_disk_limit_bytes"] = 2e9
		v[`kirin_mate_searches_total{result="mate"}`] += dp * 0.03 * (1 + math.Exp(-h))
		v[`kirin_mate_searches_total{result="no_mate"}`] += dp * 0.8
		v[`kirin_mate_searches_total{result="unknown"}`] += dp * 0.1
		if err := enc.Encode(Point{Time: wall, Session: session, Step: int64(step), Games: int64(games), Values: v}); err != nil {
			t.Fatal(err)
		}
	}
}

// madeUpRatings are nets of a history that become stronger, and two anchors.
func madeUpRatings(h *History, seed uint64) []Rating {
	rng := rand.New(rand.NewPCG(seed, 9))
	last, _ := h.Last()
	out := []Rating{{Name: "random", Step: -1, Elo: -820, Low: -860, High: -780, Games: 400, Anchor: true}, {Name: "material", Step: -1, Elo: -250, Low: -280, High: -220, Games: 400, Anchor: true}}
	const n = 24
	for i := range n {
		x := float64(i) / (n - 1)
		elo := -840 + 1500*(1-math.Exp(-x*3.2)) + 22*rng.NormFloat64()
		half := 38 + 45*x*x
		out = append(out, Rating{Name: fmt.Sprintf("step %d", int(x*float64(last.Step))), Step: int64(x * float64(last.Step)), Elo: elo, Low: elo - half, High: elo + half, Games: 120})
	}
	return out
}

// madeUpRun opens a written run as the page shows it.
func madeUpRun(t testing.TB, name, variant string, seed uint64, hours, end float64, live bool) Run {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log.jsonl")
	writeRun(t, path, seed, hours, end)
	h, err := OpenHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	ratings := madeUpRatings(h, seed)
	return Run{Name: name, Variant: variant, Live: live, History: h, Source: newShelf(recordedGames(t), variant, end), Ratings: func() []Rating { return ratings }}
}
