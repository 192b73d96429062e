package rulestest

import (
	"testing"

	"kirin/rules"
)

func TestPerftOfTheStartPositions(t *testing.T) {
	for _, c := range []struct {
		name, settings string
		depth          int
		want           uint64
	}{
		{"shogi", "default", 4, 719731},
		{"minishogi", "default", 5, 533203},
	} {
		v, err := rules.Load(c.name, c.settings)
		if err != nil {
			t.Fatal(err)
		}
		if got := Perft(v.Start(), c.depth); got != c.want {
			t.Errorf("%s depth %d: %d, want %d", c.name, c.depth, got, c.want)
		}
	}
}
