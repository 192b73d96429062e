package dataset

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Options tell how a store keeps games.
type Options struct {
	SealGames int           `yaml:"seal_games"` // games after which a journal becomes a shard
	SealAfter time.Duration `yaml:"seal_after"` // age at which it does, tested when a game is added
	SealBytes Bytes         `yaml:"seal_bytes"` // size at which it does
	MaxDisk   Bytes         `yaml:"max_disk"`   // above this the oldest shards are deleted; 0: never

	FS    FS               `yaml:"-"` // nil: the operating system's
	Clock func() time.Time `yaml:"-"` // nil: time.Now; only SealAfter depends on it
	// OnDamage is called for everything that is put aside; nil: nobody is told. It may be called from several goroutines.
	OnDamage func(Damage) `yaml:"-"`
}

// DefaultOptions returns the options of a run on one machine.
func DefaultOptions() Options {
	return Options{SealGames: 256, SealAfter: time.Minute, SealBytes: 8 << 20, MaxDisk: 20 << 30}
}

// Validate reports every fault at once.
func (o Options) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.SealGames < 1 || o.SealGames > 1<<20 {
		bad("seal_games: %d is not between 1 and %d", o.SealGames, 1<<20)
	}
	if o.SealAfter < time.Second {
		bad("seal_after: %v is shorter than 1s", o.SealAfter)
	}
	if o.SealBytes < 1<<16 || o.SealBytes > 1<<30 {
		bad("seal_bytes: %v is not between 64KB and 1GB", o.SealBytes)
	}
	if o.MaxDisk < 0 {
		bad("max_disk: %v is negative", o.MaxDisk)
	}
	return errors.Join(errs...)
}

// WindowOptions bound the games from which a trainer samples.
type WindowOptions struct {
	MaxBytes     Bytes   `yaml:"max_bytes"`     // memory for games
	MinPositions int64   `yaml:"min_positions"` // c of the growth law: until then every position stays
	Exponent     float64 `yaml:"exponent"`      // alpha of the growth law, 0 < alpha <= 1
	Scale        float64 `yaml:"scale"`         // beta of the growth law: share of new positions by which the window grows at first
}

// DefaultWindowOptions returns the shape that KataGo uses, starting from fewer positions.
func DefaultWindowOptions() WindowOptions {
	return WindowOptions{MaxBytes: 512 << 20, MinPositions: 25000, Exponent: 0.75, Scale: 0.4}
}

// Validate reports every fault at once.
func (o WindowOptions) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.MaxBytes < 1<<20 {
		bad("max_bytes: %v is less than 1MB", o.MaxBytes)
	}
	if o.MinPositions < 1 {
		bad("min_positions: %d is less than 1", o.MinPositions)
	}
	if !(o.Exponent > 0 && o.Exponent <= 1) {
		bad("exponent: %v is not above 0 and at most 1", o.Exponent)
	}
	if !(o.Scale > 0 && o.Scale <= 1) {
		bad("scale: %v is not above 0 and at most 1", o.Scale)
	}
	return errors.Join(errs...)
}

// Bytes is an amount of memory or disk, written as a number with an optional unit: 1048576, 512MB, 20GB. The units are
// powers of 1024.
type Bytes int64

var byteUnits = [...]struct {
	name string
	size Bytes
}{{"TB", 1 << 40}, {"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10}}

// String writes the amount with the largest unit that divides it.
func (b Bytes) String() string {
	for _, u := range byteUnits {
		if b != 0 && b%u.size == 0 {
			return strconv.FormatInt(int64(b/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// ParseBytes reads what String writes; fractions such as 1.5GB are allowed, and units in lower case.
func ParseBytes(s string) (Bytes, error) {
	text, unit := strings.ToUpper(strings.TrimSpace(s)), Bytes(1)
	for _, u := range byteUnits {
		if before, ok := strings.CutSuffix(text, u.name); ok {
			text, unit = strings.TrimSpace(before), u.size
			break
		}
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n <= (1<<62)/int64(unit) && n >= -(1<<62)/int64(unit) {
		return Bytes(n) * unit, nil
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x*float64(unit) < 1<<62 && x*float64(unit) > -(1<<62)) || unit == 1 {
		return 0, fmt.Errorf("%q is not an amount such as 1048576, 512MB or 20GB", s)
	}
	return Bytes(x * float64(unit)), nil
}

// MarshalText writes what String returns.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText reads what ParseBytes accepts.
func (b *Bytes) UnmarshalText(text []byte) (err error) {
	*b, err = ParseBytes(string(text))
	return err
}
