package match

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
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

func TestALadderThatWasStoppedGoesOnWithItsJournal(t *testing.T) {
	o := LadderOptions{Low: 10, High: 10_000, Pairs: 12, Width: 1.01, Header: LadderHeader{Variant: "minishogi", Player: "a", Key: "net:one", Engine: "b", Seed: 3}}
	played := map[int]int{}
	play := func(stop int, cancel context.CancelFunc) func(context.Context, int64, int) (Tally, error) {
		return func(ctx context.Context, level int64, pair int) (Tally, error) {
			if pair == stop {
				cancel()
				return Tally{}, ctx.Err()
			}
			played[pair]++
			rng := rand.New(rand.NewPCG(uint64(pair), uint64(level))) // as a seeded pair of games: the same whenever it is played
			w := rng.IntN(3)
			return Tally{Wins: w, Losses: 2 - w}, nil
		}
	}
	whole, err := Ladder(t.Context(), o, play(-1, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	clear(played)
	o.Journal = filepath.Join(t.TempDir(), "ladder.jsonl")
	for _, stop := range []int{3, 7} {
		ctx, cancel := context.WithCancel(t.Context())
		if r, err := Ladder(ctx, o, play(stop, cancel), nil); !errors.Is(err, context.Canceled) || r.Games != 2*stop {
			t.Errorf("%d games, %v", r.Games, err)
		}
		file, err := os.OpenFile(o.Journal, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = file.WriteString(`{"level":1`) // torn by a kill
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
	}
	heard := 0
	r, err := Ladder(t.Context(), o, play(-1, nil), func(LadderResult) { heard++ })
	if err != nil || !reflect.DeepEqual(r, whole) || heard != o.Pairs-7 {
		t.Errorf("%+v, want %+v; heard of %d pairs, %v", r, whole, heard, err)
	}
	for pair := range o.Pairs {
		if played[pair] != 1 {
			t.Errorf("pair %d was played %d times", pair, played[pair])
		}
	}
	o.Pairs = 14 // more pairs may follow
	if r, err := Ladder(t.Context(), o, play(-1, nil), nil); err != nil || r.Games != 28 || played[11] != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	for i, change := range []func(h *LadderHeader){func(h *LadderHeader) { h.Seed = 4 }, func(h *LadderHeader) { h.Key = "net:other" }} {
		other := o
		change(&other.Header)
		if _, err := Ladder(t.Context(), other, play(-1, nil), nil); err == nil || !strings.Contains(err.Error(), "belongs to another ladder") {
			t.Errorf("change %d: %v", i, err)
		}
	}
	text, err := os.ReadFile(o.Journal)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	lines[5] = `{"level":11,"wins":2}` + "\n"
	if err := os.WriteFile(o.Journal, []byte(strings.Join(lines, "")), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Ladder(t.Context(), o, play(-1, nil), nil); err == nil || !strings.Contains(err.Error(), "line 6: level 11") {
		t.Errorf("%v", err)
	}
}

func FuzzDecodeLadder(f *testing.F) {
	f.Add([]byte("{\"kirin_ladder\":1,\"low\":1,\"high\":9}\n{\"level\":3,\"wins\":1,\"losses\":1}\n"))
	f.Add([]byte("{\"kirin_ladder\":1}\n{\"level\":-3}\n"))
	f.Add([]byte("{\"kirin_match\":1}\n"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		h, pairs, err := decodeLadder(data)
		if err != nil {
			return
		}
		if h.Version != journalVersion {
			t.Errorf("%+v", h)
		}
		l := newLadder(LadderOptions{Low: 1, High: 100})
		for _, p := range pairs {
			l.add(p.Level, Tally{Wins: p.Wins, Draws: p.Draws, Losses: p.Losses})
		}
		if r := l.result(); math.IsNaN(r.Level) {
			t.Errorf("%+v", r)
		}
	})
}
