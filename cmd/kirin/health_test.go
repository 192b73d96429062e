package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
)

func TestARunMeasuresItsHealth(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	// So many positions for the steps that they come in several lots, however fast the player is: the first one is
	// there before the first step, and only later ones are new to the net.
	mustRun(t, tiny(dir, "--steps", "200", "--set", "loop.samples_per_position=0.25", "--set", "train.soft_weight=1", "--set", "train.reply_weight=0.2", "--set", "train.surprise=0.5")...)
	log, err := os.ReadFile(filepath.Join(dir, "log.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]float64{}
	for line := range bytes.Lines(log) {
		var p struct {
			Values map[string]float64 `json:"values"`
		}
		if err := json.Unmarshal(line, &p); err != nil {
			t.Fatal(err)
		}
		for k, v := range p.Values {
			last[k] = v
		}
	}
	for _, c := range []struct {
		name      string
		low, high float64
	}{
		{"kirin_selfplay_policy_entropy_nats", 0.01, 5},
		{"kirin_selfplay_target_entropy_nats", 0.01, 5},
		{"kirin_selfplay_value_error_ratio", 0, 1},
		{"kirin_selfplay_first_move_ratio", 0.01, 1},
		{"kirin_selfplay_first_player_score_ratio", 0, 1},
		{"kirin_selfplay_repetition_ratio", 0, 1},
		{"kirin_selfplay_game_plies_count", 1, 1e6},
		{"kirin_train_staleness_steps", 0, 200},
		{"kirin_train_largest_activation", 0.01, 1e4},
		{"kirin_train_policy_accuracy_ratio", 0, 1},
		{`kirin_train_loss{head="policy"}`, 0.1, 5},
		{`kirin_train_loss{head="value"}`, 0.01, 3},
		{`kirin_train_loss{head="soft"}`, 0.1, 5},
		{`kirin_train_loss{head="reply"}`, 0.1, 5},
		{`kirin_train_fresh_loss{head="policy"}`, 0.1, 5},
		{`kirin_train_fresh_loss{head="value"}`, 0.01, 3},
		{`kirin_train_fresh_loss{head="plies_left"}`, 0, 3},
		{"kirin_window_duplicate_positions_ratio", 0, 1},
	} {
		if v, ok := last[c.name]; !ok || math.IsNaN(v) || v < c.low || v > c.high {
			t.Errorf("%s is %v (%v), want %v to %v", c.name, v, ok, c.low, c.high)
		}
	}
}
