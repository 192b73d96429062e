package engine

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"kirin/rules"
	"kirin/selfplay"
	"kirin/selfplay/protocol"
)

// Net is a loaded net for one variant.
type Net struct {
	Name string // what it is, for the user: file, step, version
	// NewEvaluator gives an evaluator of its own to each search thread.
	NewEvaluator func() selfplay.Evaluator
}

// Config says who the engine is and where its nets come from.
type Config struct {
	Name    string // with version, such as "kirin 1.0"
	Author  string
	Variant string   // at the start; may be changed by the client
	Rules   []string // settings for rules.Load, such as "preset=lishogi"
	Net     string   // at the start, in the writing that Open understands; "" is its default
	// Open loads a net for a variant; it fails with one clear sentence.
	Open func(v *rules.Variant, net string) (Net, error)

	Options Options
}

// Options are the settings that a client can change.
type Options struct {
	Threads      int           `yaml:"threads"`
	HashMB       int           `yaml:"hash_mb"`       // memory of the search tree
	MultiPV      int           `yaml:"multi_pv"`      // lines reported
	Level        string        `yaml:"level"`         // a handicap by name, see protocol.Levels
	MoveOverhead time.Duration `yaml:"move_overhead"` // kept back from every time limit
	ResignBelow  int           `yaml:"resign_below"`  // gives up below this winning chance, in percent; 0 never
	// OpeningTemperature, in hundredths, draws the first moves of a game by their visits to the power of 100/OpeningTemperature,
	// so that games differ; 0: always the best move.
	OpeningTemperature int  `yaml:"opening_temperature"`
	MateNodes          int  `yaml:"mate_nodes"`      // positions of the mate search before each move; 0 none
	LeafMateNodes      int  `yaml:"leaf_mate_nodes"` // and of that at each leaf, at full strength; 0 none
	ShowWDL            bool `yaml:"show_wdl"`
	Ponder             bool `yaml:"ponder"`
}

// DefaultOptions is full strength on one thread.
func DefaultOptions() Options {
	return Options{
		Threads: 1, HashMB: 256, MultiPV: 1, Level: "max", MoveOverhead: 50 * time.Millisecond, MateNodes: 5000, ShowWDL: true, Ponder: true,
	}
}

// The largest values of Options.
const (
	maxThreads  = 256
	maxHashMB   = 4096
	minHashMB   = 16
	maxMultiPV  = 50
	maxOverhead = 5000 // ms
	maxMate     = 10_000_000
	maxLeafMate = 10_000
	maxOpening  = 500 // hundredths
)

// Validate reports every fault at once.
func (o Options) Validate() error {
	var errs []error
	bad := func(cond bool, format string, args ...any) {
		if cond {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(o.Threads < 1 || o.Threads > maxThreads, "threads: %d is not in 1..%d", o.Threads, maxThreads)
	bad(o.HashMB < minHashMB || o.HashMB > maxHashMB, "hash_mb: %d is not in %d..%d", o.HashMB, minHashMB, maxHashMB)
	bad(o.MultiPV < 1 || o.MultiPV > maxMultiPV, "multi_pv: %d is not in 1..%d", o.MultiPV, maxMultiPV)
	_, err := protocol.ParseLevel(o.Level)
	bad(err != nil, "%v", err)
	bad(o.MoveOverhead < 0 || o.MoveOverhead > maxOverhead*time.Millisecond, "move_overhead: %v is not in 0..5s", o.MoveOverhead)
	bad(o.ResignBelow < 0 || o.ResignBelow > 49, "resign_below: %d is not in 0..49", o.ResignBelow)
	bad(o.OpeningTemperature < 0 || o.OpeningTemperature > maxOpening, "opening_temperature: %d is not in 0..%d", o.OpeningTemperature, maxOpening)
	bad(o.MateNodes < 0 || o.MateNodes > maxMate, "mate_nodes: %d is not in 0..%d", o.MateNodes, maxMate)
	bad(o.LeafMateNodes < 0 || o.LeafMateNodes > maxLeafMate, "leaf_mate_nodes: %d is not in 0..%d", o.LeafMateNodes, maxLeafMate)
	return errors.Join(errs...)
}

// Validate reports every fault at once.
func (c Config) Validate() error {
	var errs []error
	if c.Name == "" || strings.ContainsAny(c.Name, "\n\"") {
		errs = append(errs, fmt.Errorf("name: %q", c.Name))
	}
	if !slices.Contains(rules.Names(), c.Variant) {
		errs = append(errs, fmt.Errorf("variant: %q is unknown (%s)", c.Variant, strings.Join(rules.Names(), ", ")))
	}
	if c.Open == nil {
		errs = append(errs, errors.New("open: no way to load nets"))
	}
	return errors.Join(append(errs, c.Options.Validate())...)
}

// threadChoice is the largest number of threads offered.
func threadChoice() int { return max(runtime.NumCPU(), 1) }
