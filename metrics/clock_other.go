//go:build !linux

package metrics

import "time"

// threadSeconds is wall time: see [Clock].
func threadSeconds() float64 { return float64(time.Now().UnixNano()) / 1e9 }

// processSeconds is wall time: see [ProcessSeconds].
func processSeconds() float64 { return threadSeconds() }

// stolenSeconds is not told here.
func stolenSeconds() (float64, bool) { return 0, false }
