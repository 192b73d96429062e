package kernel

import (
	"slices"
	"strings"
	"testing"
)

func TestEverySetIsFoundByItsName(t *testing.T) {
	names := Sets()
	if names[len(names)-1] != "plain" {
		t.Errorf("the last of %v is not plain", names)
	}
	for _, n := range names {
		s, err := Lookup(n)
		if err != nil || s.Name() != n {
			t.Errorf("Lookup(%q) gives %v, %v", n, s, err)
		}
	}
	for _, n := range []string{"", "auto"} {
		if s, err := Lookup(n); err != nil || s != Best() || s.Name() != names[0] {
			t.Errorf("Lookup(%q) is not the fastest set: %v", n, err)
		}
	}
	if _, err := Lookup("sse"); err == nil || !strings.Contains(err.Error(), "plain") {
		t.Errorf("Lookup of an unknown set says %v", err)
	}
	if !slices.Equal(names, Sets()) {
		t.Error("Sets changes")
	}
}

func TestSelfCheckFindsBrokenKernels(t *testing.T) {
	for _, s := range supported() {
		if !s.works() {
			t.Errorf("%s fails its self-check", s.name)
		}
	}
}
