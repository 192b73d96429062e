package kernel

import (
	"math"
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

func TestTheSelfCheckSeesOneWrongNumber(t *testing.T) {
	x := ramp(100)
	for _, s := range supported() {
		if !s.works() {
			t.Errorf("%s fails its self-check", s.name)
		}
	}
	if !close32(x, slices.Clone(x), 1e-4) {
		t.Error("equal numbers are not close")
	}
	for _, wrong := range []float32{x[40] + 0.01, float32(math.NaN()), float32(math.Inf(1))} {
		y := slices.Clone(x)
		y[40] = wrong
		if close32(y, x, 1e-4) {
			t.Errorf("%v passes for %v", wrong, x[40])
		}
	}
}
