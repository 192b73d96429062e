// Package configs gathers the options of every part of kirin into one Run, reads
// them from YAML and explains what is wrong with them.
//
// A configuration is built in layers: the embedded preset minishogi.yaml names
// and documents every key; another preset or a file given with --config changes
// some of them ("base:" names what it builds on, minishogi when absent); each
// --set key=value changes one more. The result is complete, is checked as a
// whole, and is written once into the run's folder.
//
// A key that does not exist is an error which names the file, the line and the
// nearest key that does. Validate reports every fault at once.
//
// Keys marked changeable (see Changeable) may differ when a run is continued:
// they change where and how fast the work is done, not what is learned.
package configs

import (
	"errors"
	"fmt"
	"strings"

	"kirin/dataset"
	"kirin/mcts"
	"kirin/network"
	"kirin/network/train"
	"kirin/rules"
	"kirin/selfplay"
)

// Run is a complete configuration of one training run.
type Run struct {
	// Variant is the game: shogi, minishogi, torishogi, chushogi.
	Variant string `yaml:"variant"`
	// Rules are rule options that differ from the game's defaults.
	Rules map[string]string `yaml:"rules"`
	// Seed fixes every random choice of the run.
	Seed uint64 `yaml:"seed"`
	// Schedule is "free" or "lockstep".
	Schedule string `yaml:"schedule"`
	// Kernel names the set of loops, "auto" for the best this CPU has.
	Kernel string `yaml:"kernel"`

	Net      Net                   `yaml:"net"`
	Selfplay Selfplay              `yaml:"selfplay"`
	Search   mcts.Options          `yaml:"search"`
	Data     dataset.Options       `yaml:"data"`
	Window   dataset.WindowOptions `yaml:"window"`
	Train    train.Options         `yaml:"train"`
	Loop     Loop                  `yaml:"loop"`
	Rating   Rating                `yaml:"rating"`
	Web      Web                   `yaml:"web"`
}

// Net describes the network.
type Net struct {
	// Spec is blocks x channels, e.g. "4x64"; see network.ParseSpec.
	Spec string `yaml:"spec"`
}

// Selfplay is selfplay.Options with the number of workers.
type Selfplay struct {
	// Workers is the number of playing goroutines, 0 for one per core.
	Workers          int `yaml:"workers"`
	selfplay.Options `yaml:",inline"`
}

// Loop couples self-play and training.
type Loop struct {
	// SamplesPerPosition is how often the trainer looks at a position on average.
	SamplesPerPosition float64 `yaml:"samples_per_position"`
	// CheapStart plays the games before the first step without the net, which
	// knows nothing yet.
	CheapStart bool `yaml:"cheap_start"`
	// FirstPositions is how many positions there must be before the first step.
	FirstPositions int `yaml:"first_positions"`
	// PublishSteps is the number of steps between two nets for the workers.
	PublishSteps int `yaml:"publish_steps"`
	// CheckpointSteps is the number of steps between two checkpoints.
	CheckpointSteps int `yaml:"checkpoint_steps"`
	// KeepCheckpoints is how many old checkpoints stay.
	KeepCheckpoints int `yaml:"keep_checkpoints"`
	// KeepWeights is how many nets there may be. With each one more another goes, so
	// that those that stay are spread evenly over the run; the first and the newest
	// quarter always stay.
	KeepWeights int `yaml:"keep_weights"`
	// LockstepGames and LockstepSteps are one generation of the lockstep schedule.
	LockstepGames int `yaml:"lockstep_games"`
	LockstepSteps int `yaml:"lockstep_steps"`
	// BadSteps is how many non-finite steps in a row restore the last checkpoint.
	BadSteps int `yaml:"bad_steps"`
}

// Rating says how the run measures itself while it learns.
type Rating struct {
	// Every is the number of steps between two rated nets, 0 for no rating games.
	Every int `yaml:"every"`
	// Games is the number of games a newly rated net plays, in pairs.
	Games int `yaml:"games"`
	// Simulations is the search budget of each side, without noise.
	Simulations int `yaml:"simulations"`
	// OpeningPlies is the number of random plies before a rating game.
	OpeningPlies int `yaml:"opening_plies"`
	// Share is the largest share of the CPU that rating games may take.
	Share float64 `yaml:"share"`
}

// Web is the dashboard and metrics server.
type Web struct {
	// Address is host:port; an empty one turns the server off.
	Address string `yaml:"address"`
}

// Load returns the game the configuration plays.
func (r *Run) Load() (*rules.Variant, error) {
	settings := make([]string, 0, len(r.Rules))
	for _, k := range sortedKeys(r.Rules) {
		settings = append(settings, k+"="+r.Rules[k])
	}
	return rules.Load(r.Variant, settings...)
}

// maxWorkers bounds the memory of a process: a worker takes some MB.
const maxWorkers = 256

// Validate reports every fault at once, one line each, starting with the key.
func (r *Run) Validate() error {
	var errs []error
	bad := func(key string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", key, err))
		}
	}
	section := func(name string, err error) { errs = append(errs, prefixed(name, err)...) }

	if _, err := r.Load(); err != nil {
		bad("variant, rules", err)
	}
	if r.Schedule != "free" && r.Schedule != "lockstep" {
		bad("schedule", fmt.Errorf("%q is neither free nor lockstep", r.Schedule))
	}
	if _, err := network.ParseSpec(r.Net.Spec); err != nil {
		bad("net.spec", err)
	}
	if w := r.Selfplay.Workers; w < 0 || w > maxWorkers {
		bad("selfplay.workers", fmt.Errorf("%d is not between 0 (one per core) and %d", w, maxWorkers))
	}
	section("selfplay", r.Selfplay.Options.Validate())
	section("search", r.Search.Validate())
	section("data", r.Data.Validate())
	section("window", r.Window.Validate())
	section("train", r.Train.Validate())
	section("loop", r.Loop.Validate())
	section("rating", r.Rating.Validate())
	return errors.Join(errs...)
}

// Validate reports every fault at once.
func (l Loop) Validate() error {
	var errs []error
	if !(l.SamplesPerPosition > 0 && l.SamplesPerPosition <= 1000) {
		errs = append(errs, fmt.Errorf("samples_per_position: %g is not above 0 and at most 1000", l.SamplesPerPosition))
	}
	for _, c := range []struct {
		key    string
		n, min int
	}{
		{"first_positions", l.FirstPositions, 1},
		{"publish_steps", l.PublishSteps, 1},
		{"checkpoint_steps", l.CheckpointSteps, 1},
		{"keep_checkpoints", l.KeepCheckpoints, 1},
		{"keep_weights", l.KeepWeights, 2},
		{"lockstep_games", l.LockstepGames, 1},
		{"lockstep_steps", l.LockstepSteps, 1},
		{"bad_steps", l.BadSteps, 1},
	} {
		if c.n < c.min {
			errs = append(errs, fmt.Errorf("%s: %d is below %d", c.key, c.n, c.min))
		}
	}
	return errors.Join(errs...)
}

// Validate reports every fault at once.
func (r Rating) Validate() error {
	var errs []error
	if r.Every < 0 {
		errs = append(errs, fmt.Errorf("every: %d is negative (0 turns rating games off)", r.Every))
	}
	if r.Games < 2 || r.Games%2 != 0 {
		errs = append(errs, fmt.Errorf("games: %d is not an even number from 2 on (openings are played from both sides)", r.Games))
	}
	if r.Simulations < 1 {
		errs = append(errs, fmt.Errorf("simulations: %d is below 1", r.Simulations))
	}
	if r.OpeningPlies < 0 {
		errs = append(errs, fmt.Errorf("opening_plies: %d is negative", r.OpeningPlies))
	}
	if !(r.Share >= 0 && r.Share <= 1) {
		errs = append(errs, fmt.Errorf("share: %g is not between 0 and 1", r.Share))
	}
	return errors.Join(errs...)
}

// prefixed splits a joined error and puts the section's name before each fault.
func prefixed(section string, err error) []error {
	if err == nil {
		return nil
	}
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		var out []error
		for _, e := range j.Unwrap() {
			out = append(out, prefixed(section, e)...)
		}
		return out
	}
	return []error{fmt.Errorf("%s.%w", section, err)}
}

// changeable lists the keys that may differ when a run is continued; a
// trailing dot stands for the whole section.
var changeable = []string{"web.", "rating.", "selfplay.workers", "selfplay.games", "kernel", "data.max_disk", "window.max_bytes", "loop.keep_checkpoints", "loop.keep_weights", "loop.checkpoint_steps"}

// Changeable tells whether a run may be continued with another value of key.
func Changeable(key string) bool {
	for _, c := range changeable {
		if key == c || strings.HasSuffix(c, ".") && strings.HasPrefix(key, c) {
			return true
		}
	}
	return false
}
