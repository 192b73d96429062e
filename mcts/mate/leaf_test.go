package mate

import (
	"testing"

	"kirin/rules"
)

func TestLeavesFindTheShortMatesAndNoOthers(t *testing.T) {
	for _, game := range games {
		v := load(t, game)
		kind := kindOf(game)
		few, many := NewLeaves(200), NewLeaves(20_000)
		found, all := 0, 0
		for _, length := range []string{"1", "3", "5"} {
			for _, p := range rows(t, v, kind, length) {
				before := p.SFEN()
				o, plies := few.Prove(p)
				sure, _ := many.Prove(p)
				if p.SFEN() != before {
					t.Fatalf("%s is left as %s", before, p.SFEN())
				}
				if all++; sure.Result == rules.Winner(p.Side()) {
					found++
				}
				switch o {
				case rules.Outcome{}:
				case rules.Outcome{Result: rules.Winner(p.Side()), Reason: rules.MateProven}:
					if plies < 1 || plies%2 == 0 {
						t.Errorf("%s: a mate in %d plies", before, plies)
					}
				default:
					t.Errorf("%s: %v", before, o)
				}
			}
		}
		if found < all*99/100 || few.Mates == 0 || few.Mates > many.Mates || few.Nodes > int64(all)*200*2 {
			t.Errorf("%s: %d of %d mates, %d with few positions (%d looked at)", game, found, all, few.Mates, few.Nodes)
		}
	}
}

func TestLeavesDoNotAllocate(t *testing.T) {
	v := load(t, "minishogi")
	ps := rows(t, v, "tsume", "5")
	l := NewLeaves(30)
	run := func() {
		for _, p := range ps {
			l.Prove(p)
		}
	}
	run()
	if n := testing.AllocsPerRun(2, run); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
