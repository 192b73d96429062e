package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"kirin/configs"
	"kirin/metrics"
	"kirin/network/kernel"
	"kirin/selfplay/match"
)

func TestTheNetsOfARatingTableKeepTheirDistanceWhenOthersAreRemoved(t *testing.T) {
	for _, c := range []struct {
		held  []int // weights
		rated []int // nets that have all their games
		some  []int // nets that have one
		due   int
	}{
		{held: []int{0, 100, 500, 600}, due: 500},
		{held: []int{0, 100, 500, 600}, rated: []int{500}, due: 0},
		{held: []int{0, 100, 500, 600}, rated: []int{0, 500}, due: -1},
		{held: []int{0, 600, 1200, 1800, 2100}, rated: []int{0, 500, 1000, 1500}, due: 2100}, // 500, 1000, 1500 were removed
		{held: []int{0, 600, 1200, 1800}, rated: []int{0, 500, 1000, 1500}, due: -1},
		{held: []int{0, 600, 1200}, rated: []int{0, 1200}, some: []int{600}, due: 600},
	} {
		cfg, err := configs.Load("")
		if err != nil {
			t.Fatal(err)
		}
		r := &runDir{dir: t.TempDir(), cfg: cfg}
		r.cfg.Rating.Every, r.cfg.Rating.Games = 500, 3
		if err := os.Mkdir(r.path("weights"), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, s := range c.held {
			if err := os.WriteFile(r.weightsFile(s), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		rt := &rater{run: r, faults: map[int]bool{}}
		for _, s := range c.rated {
			for range 3 {
				rt.games = append(rt.games, match.RatedGame{First: netName(s), Second: "random"})
			}
		}
		for _, s := range c.some {
			rt.games = append(rt.games, match.RatedGame{First: "random", Second: netName(s)})
		}
		if got, err := rt.due(); err != nil || got != c.due {
			t.Errorf("%+v: %d, %v", c, got, err)
		}
	}
}

// fullFile has room for a number of bytes.
type fullFile struct {
	*os.File
	room int64
}

func (f *fullFile) WriteAt(b []byte, at int64) (int, error) {
	if n := f.room - at; n < int64(len(b)) {
		f.File.WriteAt(b[:max(n, 0)], at)
		return int(max(n, 0)), syscall.ENOSPC
	}
	return f.File.WriteAt(b, at)
}

func TestRatingGamesForWhichThereIsNoRoomAreWrittenLater(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ratings.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	full := &fullFile{File: f, room: 15}
	rt := &rater{file: full, metrics: metrics.New()}
	for i, c := range []struct {
		line string
		room int64
		want string
	}{
		{"the first\n", 15, "the first\n"},
		{"the second\n", 15, "the first\n"},
		{"the third\n", 24, "the first\n"},
		{"", 99, "the first\nthe second\nthe third\n"},
	} {
		full.room = c.room
		if err := rt.write([]byte(c.line)); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != c.want {
			t.Errorf("%d: %q, %v", i, b, err)
		}
		if waits := len(rt.metrics.Waits()) > 0; waits != (len(rt.unsaved) > 0) {
			t.Errorf("%d: it waits: %v", i, waits)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := rt.write([]byte("x\n")); err == nil {
		t.Error("no error of a file that is closed")
	}
}

// The first games of a net tell most if they are against nets like the one before it.
func TestANetWithoutARatingMeetsItsLike(t *testing.T) {
	r := &runDir{dir: t.TempDir()}
	if err := os.Mkdir(r.path("weights"), 0o755); err != nil {
		t.Fatal(err)
	}
	rt := &rater{run: r, rng: rand.New(rand.NewPCG(1, 2)), faults: map[int]bool{1500: true}, ratings: &match.Ratings{}}
	for _, c := range []struct {
		step int
		elo  float64
	}{{2000, 1000}, {1500, 950}, {1000, 900}, {3000, 100}, {0, 50}} { // the best first, as a fit has them; 3000 comes later
		if err := os.WriteFile(r.weightsFile(c.step), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		rt.ratings.Players = append(rt.ratings.Players, match.Rating{Name: netName(c.step), Elo: c.elo})
	}
	met := map[string]int{}
	for range 1000 {
		met[rt.opponent(2500)]++
	}
	if met[netName(1000)]+met[netName(2000)] < 900 || met[netName(1500)]+met[netName(3000)] > 0 {
		t.Errorf("it meets %v", met)
	}
	rt.ratings = &match.Ratings{}
	if name := rt.opponent(0); name != "random" && name != "material" {
		t.Errorf("the first net meets %s", name)
	}
}

// Fits take the longer the more nets there are: they wait for the games, and none
// is left out at the end.
func TestFitsLeaveTheTimeToGames(t *testing.T) {
	r, err := openRun(trained(t))
	if err != nil {
		t.Fatal(err)
	}
	r.cfg.Rating.Every = 1
	l := &learner{metrics: metrics.New(), say: t.Logf}
	rt, err := newRater(r, l, kernel.Best(), &ratingTable{})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.file.Close()
	had := rt.ratings.Games
	rated := func(want int) {
		t.Helper()
		if rt.ratings.Games != want {
			t.Errorf("%d games are rated, not %d", rt.ratings.Games, want)
		}
	}
	rt.games = append(rt.games, match.RatedGame{First: "random", Second: "material", Score: 1, Pair: "new"})
	rt.unfit, rt.spent, rt.fitting = true, 3*time.Hour, time.Hour
	if err := rt.refit(false); err != nil {
		t.Fatal(err)
	}
	rated(had)
	rt.spent = 5 * time.Hour
	if err := rt.refit(false); err != nil || rt.unfit || rt.fitting <= time.Hour {
		t.Error(err, rt.unfit, rt.fitting)
	}
	rated(had + 1)
	rt.games = append(rt.games, match.RatedGame{First: "random", Second: "material", Score: 0, Pair: "last"})
	rt.unfit, rt.spent = true, 0
	if err := rt.refit(true); err != nil {
		t.Fatal(err)
	}
	rated(had + 2)
}

func TestRatingGoesOnWithoutANetThatCannotBeRead(t *testing.T) {
	r, err := openRun(trained(t))
	if err != nil {
		t.Fatal(err)
	}
	all, err := steps(r.path("weights"), weightsSuffix)
	if err != nil || len(all) < 3 {
		t.Fatalf("%v, %v", all, err)
	}
	r.cfg.Rating.Every, r.cfg.Rating.Games, r.cfg.Rating.Simulations = 1, 2, 2
	first, last := all[0], all[len(all)-1]
	if err := os.WriteFile(r.weightsFile(last), []byte("no weights"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ratings.jsonl", "rating.json"} {
		if err := os.RemoveAll(r.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	var said bytes.Buffer
	l := &learner{metrics: metrics.New(), say: func(format string, a ...any) { fmt.Fprintf(&said, format+"\n", a...) }}
	rt, err := newRater(r, l, kernel.Best(), &ratingTable{})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.file.Close()
	next := func(want int) {
		t.Helper()
		if got, err := rt.due(); err != nil || got != want {
			t.Errorf("%d is due, not %d; %v", got, want, err)
		}
	}
	next(last)
	if err := rt.playPair(t.Context(), last); err != nil || !strings.Contains(said.String(), fmt.Sprintf("the net of step %d gets no rating games", last)) {
		t.Errorf("%v, %q", err, said.String())
	}
	next(all[len(all)-2])
	if _, err := rt.named(netName(last)); err == nil {
		t.Error("the damaged net can be an opponent")
	}
	said.Reset()
	if err := os.Remove(r.weightsFile(first)); err != nil {
		t.Fatal(err)
	}
	if err := rt.playPair(t.Context(), first); err != nil || said.Len() > 0 || !rt.faults[first] {
		t.Errorf("a net that was removed: %v, %q", err, said.String())
	}
	if err := rt.playPair(t.Context(), all[1]); err != nil || len(rt.games) != 2 || rt.whole == 0 {
		t.Errorf("%v, %d games", err, len(rt.games))
	}
}
