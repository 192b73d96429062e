package rulestest

import (
	"testing"

	"kirin/rules"
)

func load(t testing.TB, name string, settings ...string) *rules.Variant {
	t.Helper()
	v, err := rules.Load(name, settings...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestPerftOfTheStartPositions(t *testing.T) {
	for _, c := range []struct {
		name, settings string
		depth          int
		want           uint64
	}{
		{"shogi", "default", 4, 719731},
		{"minishogi", "default", 5, 533203},
		{"torishogi", "default", 5, 2179749},
		{"chushogi", "preset=lishogi", 3, 48315},
	} {
		if got := Perft(load(t, c.name, c.settings).Start(), c.depth); got != c.want {
			t.Errorf("%s depth %d: %d, want %d", c.name, c.depth, got, c.want)
		}
	}
}

func TestPerftOfEveryWritingCountsAsOtherProgramsDo(t *testing.T) {
	if got := PerftWritings(load(t, "chushogi", "preset=lishogi").Start(), 3); got != 52599 {
		t.Errorf("depth 3: %d, want 52599", got)
	}
}
