package main

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"kirin/metrics"
)

// diskMeter measures the room that a run takes. A long run has tens of thousands
// of files. Most are shards, nets and checkpoints, which appear and go but never
// change: their folder's own time tells when to look into it again.
type diskMeter struct {
	settled map[string]folderSize // by folder
	looked  time.Time             // when all was looked at
}

// folderSize is what the files of a folder take.
type folderSize struct {
	changed time.Time // the folder
	bytes   int64
}

const (
	// settledAfter is how long a folder must have been as it is: a file system's
	// time may not tell two changes shortly after each other apart.
	settledAfter = 2 * time.Second
	// forgetDisk is how long measured sizes hold at most.
	forgetDisk = time.Hour
)

// measure sets the gauges of the room a run takes.
func (d *diskMeter) measure(r *runDir, m *metrics.Metrics) {
	if now := time.Now(); d.settled == nil || now.Sub(d.looked) > forgetDisk {
		d.settled, d.looked = map[string]folderSize{}, now
	}
	used := map[string]int64{"games": 0, "weights": 0, "checkpoints": 0, "other": 0}
	d.walk(r, "", used)
	for kind, n := range used {
		m.Disk.Used.WithLabelValues(kind).Set(float64(n))
	}
	m.Disk.Limit.Set(float64(r.cfg.Data.MaxDisk))
	if free, ok := freeBytes(r.dir); ok {
		m.Disk.Free.Set(float64(free))
	}
}

// walk adds up the files below a folder of the run. What vanishes meanwhile takes
// no room.
func (d *diskMeter) walk(r *runDir, folder string, used map[string]int64) {
	kind, fixed := kindOf(folder)
	var changed time.Time
	if fixed {
		info, err := os.Stat(r.path(folder))
		if err != nil {
			return
		}
		changed = info.ModTime()
		if was, ok := d.settled[folder]; ok && was.changed.Equal(changed) {
			used[kind] += was.bytes
			return
		}
	}
	entries, err := os.ReadDir(r.path(folder))
	if err != nil {
		return
	}
	bytes := int64(0)
	for _, e := range entries {
		if e.IsDir() {
			d.walk(r, filepath.Join(folder, e.Name()), used)
			fixed = false
		} else if info, err := e.Info(); err == nil {
			bytes += info.Size()
		}
	}
	used[kind] += bytes
	if fixed && time.Since(changed) > settledAfter {
		d.settled[folder] = folderSize{changed, bytes}
	}
}

// kindOf tells what a folder of a run holds, and whether its files never change.
func kindOf(folder string) (kind string, fixed bool) {
	switch parts := strings.Split(filepath.ToSlash(folder), "/"); parts[0] {
	case "games": // VARIANT/NET has shards
		return "games", len(parts) == 3 && parts[2] != "journals"
	case "weights":
		return "weights", true
	case "train": // STEP
		return "checkpoints", len(parts) == 2
	}
	return "other", false
}
