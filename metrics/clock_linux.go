package metrics

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// threadSeconds is the CPU time of the calling thread.
func threadSeconds() float64 { return readClock(unix.CLOCK_THREAD_CPUTIME_ID) }

// processSeconds is the CPU time of the process.
func processSeconds() float64 { return readClock(unix.CLOCK_PROCESS_CPUTIME_ID) }

func readClock(clock int32) float64 {
	var t unix.Timespec
	if unix.ClockGettime(clock, &t) != nil {
		return 0
	}
	return float64(t.Sec) + float64(t.Nsec)/1e9
}

// stolenSeconds is the steal column of /proc/stat: time that the host of a
// virtual machine gave to others, summed over its cores, in ticks of 1/100 s
// (proc_stat(5)).
func stolenSeconds() (float64, bool) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, false
	}
	line, _, _ := bytes.Cut(stat, []byte("\n"))
	fields := bytes.Fields(line)
	if len(fields) < 9 || string(fields[0]) != "cpu" {
		return 0, false
	}
	ticks, err := strconv.ParseFloat(string(fields[8]), 64)
	return ticks / 100, err == nil
}
