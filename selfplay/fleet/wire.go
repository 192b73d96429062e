package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"kirin/dataset"

	"github.com/nats-io/nats.go/jetstream"
)

// Protocol is the version of what this package writes to the network. Programs
// of different protocols refuse each other.
const Protocol = 1

// DefaultQueue is the name of a run's queue unless one is given.
const DefaultQueue = "kirin"

// Limits of what travels.
const (
	MaxRecord = 4 << 20 // bytes of a game
	maxText   = 1 << 20 // bytes of a welcome or state
)

// Welcome is what a worker needs to know before it plays.
type Welcome struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version"`     // of the trainer's program
	Oldest   string `json:"min_version"` // the oldest program that may play
	Run      string `json:"run"`         // name of the run
	Variant  string `json:"variant"`
	Rules    string `json:"rules"`
	Encoder  string `json:"encoder"`          // planes that the nets read
	Config   string `json:"config"`           // the run's configuration as text
	Starts   string `json:"starts,omitempty"` // positions that games start from, a file's text
	Hash     string `json:"hash"`             // of the settings that decide how games are played
	Web      string `json:"web"`              // URL of weights; its host is empty where the worker's own way to the queue leads there
}

// State is what changes while a run goes on.
type State struct {
	Net     string `json:"net"`  // sha256 of the newest weights, hex
	Step    int64  `json:"step"` // of these weights
	Size    int64  `json:"size"` // of their file, bytes
	Samples int64  `json:"samples"`
	Played  int64  `json:"positions"`       // in finished games
	Games   int64  `json:"games,omitempty"` // finished; 0 of a trainer that does not tell
}

// Beat is a worker's sign of life.
type Beat struct {
	Version string  `json:"version"`
	Kernel  string  `json:"kernel"`
	Step    int64   `json:"step"`   // of the net in use
	Rate    float64 `json:"rate"`   // games a second
	Outbox  int     `json:"outbox"` // games not sent yet
	Waiting string  `json:"waiting"`
}

// Names are the names of one run's things in NATS.
type Names struct{ Queue string }

func (n Names) stream() string          { return n.Queue + "-games" }
func (n Names) bucket() string          { return n.Queue + "-fleet" }
func (n Names) games(key string) string { return n.Queue + ".games." + key }

// queued is the subject of a worker's games in an embedded queue, to which the
// [committer] alone writes.
func (n Names) queued(key string) string { return n.Queue + ".queued." + key }

func (n Names) beat(key string) string { return n.Queue + ".beat." + key }
func (n Names) state() string          { return n.Queue + ".state" }
func (n Names) direct(key string) string {
	return "$JS.API.DIRECT.GET.KV_" + n.bucket() + "." + n.value(key)
}
func (n Names) value(key string) string { return "$KV." + n.bucket() + "." + key }

// Delete removes the queue, if there is one, with all games in it from an
// external server.
func (n Names) Delete(ctx context.Context, js jetstream.JetStream) error {
	games, values := js.DeleteStream(ctx, n.stream()), js.DeleteKeyValue(ctx, n.bucket())
	if errors.Is(games, jetstream.ErrStreamNotFound) {
		games = nil
	}
	if errors.Is(values, jetstream.ErrBucketNotFound) {
		values = nil
	}
	return errors.Join(games, values)
}

// CheckQueue tells whether a queue's name can be part of subjects and folders.
func CheckQueue(name string) error {
	if err := CheckName(name); err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	return nil
}

// CheckName tells whether a worker's name can be part of subjects, files and
// the names of its goroutines.
func CheckName(name string) error {
	if err := dataset.CheckWorker(name); err != nil {
		return err
	}
	if len(name) > 40 || strings.Contains(name, "_") {
		return fmt.Errorf("worker name %q: at most 40 characters, and no _", name)
	}
	return nil
}

// PlayerName is the prefix of the names under which a worker's goroutines
// play: what [Intake] expects in its games.
func PlayerName(worker string) string { return worker + "_" }

// Options bound queue, intake and verification.
type Options struct {
	MaxBytes     dataset.Bytes `yaml:"max_bytes"`      // of the queue
	MaxPerWorker int64         `yaml:"max_per_worker"` // games of one worker in the queue
	MaxOpen      int           `yaml:"max_open"`       // games taken and not in a shard yet
	Batch        int           `yaml:"batch"`          // games taken at a time
	AckWait      time.Duration `yaml:"ack_wait"`       // after which a game is delivered again
	VerifyWorker float64       `yaml:"verify_worker"`  // share of workers' games that are played again
	VerifyGuest  float64       `yaml:"verify_guest"`   // the same of guests' games
	GuestGames   float64       `yaml:"guest_games"`    // games a minute that a guest may send
	Replicas     int           `yaml:"replicas"`       // of the queue in an external cluster
}

// DefaultOptions are those of an embedded queue.
func DefaultOptions() Options {
	return Options{
		MaxBytes: 1 << 30, MaxPerWorker: 16384, MaxOpen: 4096, Batch: 512, AckWait: 5 * time.Minute,
		VerifyWorker: 0.001, VerifyGuest: 0.02, GuestGames: 120, Replicas: 1,
	}
}

// Validate reports every fault at once.
func (o Options) Validate() error {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if o.MaxBytes < 1<<20 {
		bad("max_bytes: %v is less than 1MB", o.MaxBytes)
	}
	if o.MaxPerWorker < 1 {
		bad("max_per_worker: %d is below 1", o.MaxPerWorker)
	}
	if o.Batch < 1 || o.Batch > 4096 {
		bad("batch: %d is not between 1 and 4096", o.Batch)
	}
	if o.MaxOpen < 2*o.Batch || o.MaxOpen > 1<<16 {
		bad("max_open: %d is not between twice the batch (%d) and %d", o.MaxOpen, 2*o.Batch, 1<<16)
	}
	if o.AckWait < time.Second {
		bad("ack_wait: %v is shorter than 1s", o.AckWait)
	}
	for _, s := range []struct {
		key string
		x   float64
	}{{"verify_worker", o.VerifyWorker}, {"verify_guest", o.VerifyGuest}} {
		if !(s.x >= 0 && s.x <= 1) {
			bad("%s: %g is not between 0 and 1", s.key, s.x)
		}
	}
	if !(o.GuestGames > 0) {
		bad("guest_games: %g is not above 0", o.GuestGames)
	}
	if o.Replicas < 1 || o.Replicas > 5 {
		bad("replicas: %d is not between 1 and 5", o.Replicas)
	}
	return errors.Join(errs...)
}

// ErrUpdate is wrapped when two programs cannot work together: the sentence
// says which of them to update.
var ErrUpdate = errors.New("the programs do not fit together")

// Check tells whether a program of a version, whose nets read the planes
// encoder, may play for w.
func (w *Welcome) Check(version, encoder string) error {
	switch {
	case w.Protocol > Protocol:
		return fmt.Errorf("%w: the trainer is kirin %s and speaks fleet protocol %d, this worker is kirin %s and speaks %d: update this worker", ErrUpdate, w.Version, w.Protocol, version, Protocol)
	case w.Protocol < Protocol:
		return fmt.Errorf("%w: the trainer is kirin %s and speaks fleet protocol %d, this worker is kirin %s and speaks %d: update the trainer, or use the older worker until then", ErrUpdate, w.Version, w.Protocol, version, Protocol)
	case older(version, w.Oldest):
		return fmt.Errorf("%w: the run wants workers of kirin %s or newer, this is kirin %s: update this worker", ErrUpdate, w.Oldest, version)
	case encoder != w.Encoder:
		return fmt.Errorf("%w: the run's nets read the planes %q, this worker (kirin %s) makes %q: use the trainer's version, kirin %s", ErrUpdate, w.Encoder, version, encoder, w.Version)
	}
	return nil
}

// fits tells whether a welcome can be sent to workers.
func (w *Welcome) fits() error {
	b, err := json.Marshal(w)
	if err != nil {
		return err
	}
	if len(b) > maxText {
		return fmt.Errorf("what workers are told has %d bytes, %d of them start positions, and at most %d can be sent: use a shorter selfplay.start_file", len(b), len(w.Starts), maxText)
	}
	return nil
}

// older compares versions such as 0.10.2 by their numbers.
func older(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(x), len(y)) {
		n := [2]int{}
		for k, parts := range [2][]string{x, y} {
			if i < len(parts) {
				digits, _, _ := strings.Cut(parts[i], "-")
				n[k], _ = strconv.Atoi(digits) // what is no number counts as 0
			}
		}
		if n[0] != n[1] {
			return n[0] < n[1]
		}
	}
	return false
}
