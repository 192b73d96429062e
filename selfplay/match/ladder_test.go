package match

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// climb runs a ladder against a synthetic opponent that is even at the given level and gains elo a doubling.
func climb(t *testing.T, seed uint64, even, elo float64, o LadderOptions) LadderResult {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	r, err := Ladder(t.Context(), o, func(_ context.Context, level int64, _ int) (Tally, error) {
		p := ScoreOf(-elo * math.Log2(float64(level)/even))
		var tally Tally
		for range 2 {
			if rng.Float64() < p {
				tally.Wins++
			} else {
				tally.Losses++
			}
		}
		return tally, nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestLaddersFindTheEvenLevel(t *testing.T) {
	o := LadderOptions{Low: 50, High: 1_000_000, Pairs: 400, Width: 2.5}
	covered, games := 0, 0
	const climbs = 30
	for i := range climbs {
		r := climb(t, uint64(i), 3000, 80, o)
		games += r.Games
		if r.Low <= 3000 && 3000 <= r.High {
			covered++
		}
		if r.Edge || r.High/r.Low > o.Width && r.Games < 2*o.Pairs {
			t.Errorf("climb %d: %+v", i, r)
		}
	}
	t.Logf("%d of %d intervals cover the truth, %d games a climb", covered, climbs, games/climbs)
	if covered < 25 || games/climbs > 300 {
		t.Errorf("%d of %d intervals cover the truth, %d games a climb", covered, climbs, games/climbs)
	}
}

func TestLaddersSayWhenTheLevelLiesBeyond(t *testing.T) {
	o := LadderOptions{Low: 1, High: 8, Pairs: 30, Width: 1.2}
	if r := climb(t, 1, 1000, 100, o); !r.Edge || r.Level < 7 {
		t.Errorf("%+v", r)
	}
	_, err := Ladder(t.Context(), LadderOptions{Low: 5, High: 5}, nil, nil)
	if err == nil || !strings.Contains(err.Error(), "low, high") || !strings.Contains(err.Error(), "width") {
		t.Errorf("%v", err)
	}
	broken := errors.New("broken")
	_, err = Ladder(t.Context(), o, func(context.Context, int64, int) (Tally, error) { return Tally{}, broken }, nil)
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}
