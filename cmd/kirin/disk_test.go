package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"kirin/configs"
	"kirin/metrics"
)

func TestTheRoomOfARunIsMeasuredWithoutLookingAtEveryFileAgain(t *testing.T) {
	cfg, err := configs.Load("")
	if err != nil {
		t.Fatal(err)
	}
	r, m := &runDir{dir: t.TempDir(), cfg: cfg}, metrics.New()
	write := func(bytes int, parts ...string) {
		t.Helper()
		file := r.path(parts...)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, make([]byte, bytes), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var d diskMeter
	measure := func(what string, games, weights, checkpoints, other float64) {
		t.Helper()
		d.measure(r, m)
		s, err := m.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		for kind, want := range map[string]float64{"games": games, "weights": weights, "checkpoints": checkpoints, "other": other} {
			if got := s[`kirin_disk_used_bytes{kind="`+kind+`"}`]; got != want {
				t.Errorf("%s: %s takes %g bytes, not %g", what, kind, got, want)
			}
		}
	}
	shard := []string{"games", "minishogi", "00000001-ab", "w00a-000001.parquet"}
	journal := []string{"games", "minishogi", "journals", "w00a-000002.journal"}
	write(100, shard...)
	write(10, journal...)
	write(1000, "weights", "00000001.safetensors")
	write(500, "train", "00000001", "loop.json")
	write(7, "log.jsonl")
	write(3, "fleet", "queue", "x")
	measure("at first", 110, 1000, 500, 10)
	write(101, shard...) // a folder that has just changed is not trusted
	measure("just after", 111, 1000, 500, 10)

	long := time.Now().Add(-time.Hour)
	for _, folder := range []string{filepath.Dir(r.path(shard...)), r.path("weights"), r.path("train", "00000001")} {
		if err := os.Chtimes(folder, long, long); err != nil {
			t.Fatal(err)
		}
	}
	measure("an hour later", 111, 1000, 500, 10)
	write(999, shard...) // which shards never do
	write(20, journal...)
	write(8, "log.jsonl")
	measure("files that grow are looked at, those that do not are not", 121, 1000, 500, 11)
	write(30, "games", "minishogi", "00000001-ab", "w00a-000003.parquet")
	if err := os.RemoveAll(r.path("train", "00000001")); err != nil {
		t.Fatal(err)
	}
	measure("after a new shard and a checkpoint that went", 999+30+20, 1000, 0, 11)
	d.looked = long.Add(-time.Hour)
	write(998, shard...)
	measure("after a while everything is looked at", 998+30+20, 1000, 0, 11)
}
