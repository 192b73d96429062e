package engine

import (
	"strings"
	"testing"
)

// TestUSIExplainsEveryKindOfIllegalMove gives moves that no piece can make; each is named with its reason.
func TestUSIExplainsEveryKindOfIllegalMove(t *testing.T) {
	c := serveUSIClient(t, testConfig("minishogi", 0))
	for move, want := range map[string]string{
		"1a1b+": "does not promote",
		"1a1b":  "left attacked",
		"1a1c":  "does not reach",
		"1b1a":  "no piece",
		"3b3a":  "opponent's",
		"G*1b":  "in hand",
	} {
		c.send("position sfen 4k/2G2/4P/5/K4 w - 1 moves %s", move)
		if got := c.last("info string error"); !strings.Contains(got, "move 1: ") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", move, got, want)
		}
	}
}
