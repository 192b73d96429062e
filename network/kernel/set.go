package kernel

import (
	"fmt"
	"strings"
)

// Set is one implementation of the kernels. It is immutable and may be used by any number of goroutines.
type Set struct {
	name string
	kind kind
}

type kind uint8

const (
	plain kind = iota
	avx2
	avx512
)

// Name is the name of the set: "plain", "avx2" or "avx512".
func (s *Set) Name() string { return s.name }

// Sets names the kernel sets that this machine can run, the fastest first. "plain" is always the last.
func Sets() []string {
	var names []string
	for _, s := range supported() {
		names = append(names, s.name)
	}
	return names
}

// Best is the fastest set of this machine.
func Best() *Set { return supported()[0] }

// Lookup returns the set with a name; "" and "auto" mean the fastest one. The error lists the sets that this machine
// can run.
func Lookup(name string) (*Set, error) {
	if name == "" || name == "auto" {
		return Best(), nil
	}
	for _, s := range supported() {
		if s.name == name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("kernel: no set %q on this machine; it can run auto, %s", name, strings.Join(Sets(), ", "))
}

var plainSet = &Set{name: "plain", kind: plain}
