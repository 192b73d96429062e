package main

import (
	"io/fs"
	"path/filepath"
	"strings"

	"kirin/metrics"
)

// measureDisk sets the gauges of the room a run takes.
func (r *runDir) measureDisk(m *metrics.Metrics) {
	used := map[string]int64{"games": 0, "weights": 0, "checkpoints": 0, "other": 0}
	filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // a file may vanish while we look
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		kind := "other"
		if rel, err := filepath.Rel(r.dir, path); err == nil {
			switch top, _, _ := strings.Cut(filepath.ToSlash(rel), "/"); top {
			case "games", "weights":
				kind = top
			case "train":
				kind = "checkpoints"
			}
		}
		used[kind] += info.Size()
		return nil
	})
	for kind, n := range used {
		m.Disk.Used.WithLabelValues(kind).Set(float64(n))
	}
	m.Disk.Limit.Set(float64(r.cfg.Data.MaxDisk))
	if free, ok := freeBytes(r.dir); ok {
		m.Disk.Free.Set(float64(free))
	}
}
