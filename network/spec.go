package network

import (
	"fmt"
	"strconv"
	"strings"
)

// Spec is the size of a net's body: residual blocks, channels, and in which
// blocks there is a global-pooling path.
type Spec struct {
	Blocks    int // residual blocks of two 3x3 convolutions, 1..99
	Channels  int // channels of the tower, a multiple of 16 in 16..1024
	PoolEvery int // every PoolEvery-th block has a global-pooling path; 0: none
}

// String returns the short form, "4x64" or "6x96g2"; ParseSpec reads it back.
func (s Spec) String() string {
	if s.PoolEvery == 0 {
		return fmt.Sprintf("%dx%d", s.Blocks, s.Channels)
	}
	return fmt.Sprintf("%dx%dg%d", s.Blocks, s.Channels, s.PoolEvery)
}

// Pools tells whether block i (from 0) has a global-pooling path.
func (s Spec) Pools(i int) bool { return s.PoolEvery > 0 && (i+1)%s.PoolEvery == 0 }

// Validate returns an error that says what is wrong with the sizes, or nil.
func (s Spec) Validate() error {
	switch {
	case s.Blocks < 1 || s.Blocks > 99:
		return fmt.Errorf("net spec %s: %d blocks; allowed are 1 to 99", s, s.Blocks)
	case s.Channels < 16 || s.Channels > 1024 || s.Channels%16 != 0:
		return fmt.Errorf("net spec %s: %d channels; allowed are the multiples of 16 from 16 to 1024", s, s.Channels)
	case s.PoolEvery < 0 || s.PoolEvery > s.Blocks:
		return fmt.Errorf("net spec %s: a pooling path in every block number %d, but there are %d blocks", s, s.PoolEvery, s.Blocks)
	}
	return nil
}

// ParseSpec reads BLOCKSxCHANNELS with an optional gN, for example "3x32",
// "4x64", "6x96g2".
func ParseSpec(text string) (Spec, error) {
	var s Spec
	blocks, rest, ok := strings.Cut(text, "x")
	channels, every, pool := strings.Cut(rest, "g")
	fields := []struct {
		text string
		to   *int
	}{{blocks, &s.Blocks}, {channels, &s.Channels}}
	if pool {
		fields = append(fields, struct {
			text string
			to   *int
		}{every, &s.PoolEvery})
	}
	for _, f := range fields {
		n, err := strconv.Atoi(f.text)
		ok = ok && err == nil && n > 0 && strconv.Itoa(n) == f.text
		*f.to = n
	}
	if !ok {
		return Spec{}, fmt.Errorf("net spec %q: want BLOCKSxCHANNELS and perhaps gN for a pooling path in every N-th block, such as 3x32, 4x64 or 6x96g2", text)
	}
	if err := s.Validate(); err != nil {
		return Spec{}, err
	}
	return s, nil
}

// MarshalText returns the short form.
func (s Spec) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the short form.
func (s *Spec) UnmarshalText(text []byte) error {
	v, err := ParseSpec(string(text))
	if err == nil {
		*s = v
	}
	return err
}
