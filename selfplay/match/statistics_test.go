package match

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

// world is a set of synthetic players of known strength: what Fit assumes, with openings that favour a side besides.
type world struct {
	elo       map[string]float64
	firstMove float64 // Elo
	nu        float64 // draws
	opening   float64 // standard deviation of an opening's advantage for the first player, Elo
	rng       *rand.Rand
}

// game plays one game and returns the first player's score.
func (w *world) game(first, second string, opening float64) float64 {
	a := math.Exp((w.elo[first] + w.firstMove + opening) / eloPerNat)
	b := math.Exp(w.elo[second] / eloPerNat)
	d := w.nu * math.Sqrt(a*b)
	switch x := w.rng.Float64() * (a + b + d); {
	case x < a:
		return 1
	case x < a+d:
		return 0.5
	}
	return 0
}

// pair plays both games of an opening.
func (w *world) pair(a, b, id string) [2]RatedGame {
	opening := w.rng.NormFloat64() * w.opening
	return [2]RatedGame{
		{First: a, Second: b, Score: w.game(a, b, opening), Pair: id},
		{First: b, Second: a, Score: w.game(b, a, opening), Pair: id},
	}
}

// within tells whether count of n trials fits a chance of at most p, within three standard errors.
func within(count, n int, p float64) bool {
	return float64(count)/float64(n) <= p+3*math.Sqrt(p*(1-p)/float64(n))
}

func TestSPRTErrsAsRarelyAsItSays(t *testing.T) {
	matches := 150
	if *long {
		matches = 2000
	}
	for _, c := range []struct {
		name      string
		nu        float64
		opening   float64
		firstMove float64
	}{
		{"few draws, even openings", 0.1, 0, 0},
		{"many draws, lopsided openings", 1.5, 150, 60},
	} {
		w := &world{elo: map[string]float64{"b": 0}, nu: c.nu, opening: c.opening, firstMove: c.firstMove, rng: rand.New(rand.NewPCG(1, 2))}
		for _, truth := range []string{AcceptH0, AcceptH1} {
			test := SPRT{Elo0: 0, Elo1: 40, Alpha: 0.05, Beta: 0.05}
			w.elo["a"] = 0
			if truth == AcceptH1 { // the strength whose score is that of elo1
				low, high := 0.0, 400.0
				for range 18 {
					w.elo["a"] = (low + high) / 2
					if w.meanScore("a", "b") < ScoreOf(test.Elo1) {
						low = w.elo["a"]
					} else {
						high = w.elo["a"]
					}
				}
			}
			wrong, pairsPlayed := 0, 0
			for range matches {
				var pairs [5]int
				verdict := Undecided
				for n := 0; verdict == Undecided && n < 20000; n++ {
					p := w.pair("a", "b", "")
					pairs[int(2*(p[0].Score+1-p[1].Score)+0.5)]++
					pairsPlayed++
					verdict = test.Decide(pairs)
				}
				if verdict != truth {
					wrong++
				}
			}
			t.Logf("%s, %s true: %d of %d wrong, %d pairs a match", c.name, truth, wrong, matches, pairsPlayed/matches)
			if !within(wrong, matches, 0.05) {
				t.Errorf("%s: %d of %d wrong while %s is true", c.name, wrong, matches, truth)
			}
		}
	}
}

// meanScore is a's mean score against b over both colours, opening effects included, by numerical integration.
func (w *world) meanScore(a, b string) float64 {
	sum, weight := 0.0, 0.0
	for z := -5.0; z <= 5; z += 0.05 {
		opening := z * w.opening
		density := math.Exp(-z * z / 2)
		mean := func(first, second string) float64 {
			x := math.Exp((w.elo[first] + w.firstMove + opening) / eloPerNat)
			y := math.Exp(w.elo[second] / eloPerNat)
			d := w.nu * math.Sqrt(x*y)
			return (x + d/2) / (x + y + d)
		}
		sum += density * (mean(a, b) + 1 - mean(b, a)) / 2
		weight += density
	}
	return sum / weight
}

func TestEloIntervalsOfMatchesCoverTheTruth(t *testing.T) {
	matches := 400
	if *long {
		matches = 5000
	}
	for _, c := range []struct {
		elo, nu, opening float64
		pairs            int
	}{{0, 0.1, 0, 50}, {100, 0.5, 150, 50}, {300, 0.1, 100, 100}, {-200, 2, 200, 50}} {
		w := &world{elo: map[string]float64{"a": c.elo, "b": 0}, nu: c.nu, opening: c.opening, firstMove: 50, rng: rand.New(rand.NewPCG(3, 4))}
		truth := EloOf(w.meanScore("a", "b"))
		covered := 0
		for range matches {
			var tally Tally
			for range c.pairs {
				p := w.pair("a", "b", "")
				scores := [2]float64{p[0].Score, 1 - p[1].Score}
				for _, s := range scores {
					switch s {
					case 1:
						tally.Wins++
					case 0:
						tally.Losses++
					default:
						tally.Draws++
					}
				}
				tally.Pairs[int(2*(scores[0]+scores[1])+0.5)]++
			}
			if _, low, high := tally.Elo(); low <= truth && truth <= high {
				covered++
			}
		}
		t.Logf("%+v: %d of %d cover %.1f", c, covered, matches, truth)
		share, slack := float64(covered)/float64(matches), 3*math.Sqrt(0.05*0.95/float64(matches))
		if share < 0.93-slack/2 || share > 0.97+slack {
			t.Errorf("%+v: intervals cover the truth in %.1f %%", c, 100*share)
		}
	}
}

// tournament plays pairs between neighbours and some others.
func (w *world) tournament(names []string, pairs int) []RatedGame {
	var games []RatedGame
	for i := range names {
		for j := i + 1; j < len(names) && j <= i+2; j++ {
			for k := range pairs {
				p := w.pair(names[i], names[j], fmt.Sprintf("%d-%d-%d", i, j, k))
				games = append(games, p[0], p[1])
			}
		}
	}
	return games
}

func TestRatingIntervalsCoverTheTruth(t *testing.T) {
	fits := 40
	if *long {
		fits = 1000
	}
	names := []string{"random", "a", "b", "c", "d", "e"}
	for _, c := range []struct{ nu, opening float64 }{{0.1, 0}, {1, 40}} {
		w := &world{
			elo: map[string]float64{"random": 0, "a": 120, "b": 200, "c": 330, "d": 350, "e": 500},
			nu:  c.nu, opening: c.opening, firstMove: 70, rng: rand.New(rand.NewPCG(5, 6)),
		}
		covered, total, firstCovered := 0, 0, 0
		for i := range fits {
			o := DefaultFitOptions()
			o.Seed = uint64(i)
			r, err := Fit(w.tournament(names, 40), o)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range r.Players {
				if truth := w.elo[p.Name]; !p.Anchor {
					total++
					if p.Low <= truth && truth <= p.High {
						covered++
					}
				}
			}
			if r.FirstMoveLow <= w.firstMove && w.firstMove <= r.FirstMoveHigh {
				firstCovered++
			}
		}
		share := float64(covered) / float64(total)
		t.Logf("%+v: %d of %d cover the truth (%.1f %%), first move %d of %d", c, covered, total, 100*share, firstCovered, fits)
		low, high := 0.93, 0.97
		if !*long {
			low, high = 0.86, 1 // players of one tournament err together: few fits say little
		}
		if share < low || share > high {
			t.Errorf("%+v: intervals cover the truth in %.1f %%", c, 100*share)
		}
	}
}

func TestRatingsAreRepeatableAndFinite(t *testing.T) {
	w := &world{elo: map[string]float64{"random": 0, "a": 3000, "b": 3100}, nu: 0.1, rng: rand.New(rand.NewPCG(7, 8))}
	games := w.tournament([]string{"random", "a", "b"}, 20)
	want, err := Fit(games, DefaultFitOptions())
	if err != nil {
		t.Fatal(err)
	}
	w.rng.Shuffle(len(games), func(i, j int) { games[i], games[j] = games[j], games[i] })
	got, err := Fit(games, DefaultFitOptions())
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the order of games changes the ratings: %v\n%s\n%s", err, got.Table(), want.Table())
	}
	a, _ := got.Of("a")
	if a.Elo < 300 || a.Elo > 3000 || a.High-a.Low < 200 || a.Low < 0 {
		t.Errorf("a player that won everything: %+v", a)
	}
	if anchor, ok := got.Of("random"); !ok || anchor.Elo != 0 || !anchor.Anchor || anchor.Low != 0 {
		t.Errorf("the anchor moves: %+v", anchor)
	}
}

// Few games, hardly ever an upset, strengths far apart: where the likelihood is flat, steps go astray.
func TestLopsidedResultsAreFitted(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 11))
		w := &world{elo: map[string]float64{}, nu: math.Exp(rng.Float64()*6 - 6), firstMove: rng.Float64() * 200, rng: rng}
		names := []string{"random"}
		for i := range 2 + rng.IntN(30) {
			names = append(names, fmt.Sprintf("step %d", i))
		}
		for _, name := range names {
			w.elo[name] = rng.Float64() * 4000
		}
		o := DefaultFitOptions()
		o.Resamples, o.Seed = 60, seed
		r, err := Fit(w.tournament(names, 1+rng.IntN(4)), o)
		if err != nil {
			t.Fatalf("seed %d, %d players: %v", seed, len(names), err)
		}
		for _, p := range r.Players {
			if !(math.Abs(p.Elo) < 20_000 && p.High-p.Low < 50_000) {
				t.Errorf("seed %d: %+v", seed, p)
			}
		}
	}
}

// Nets that follow each other are rated closer to the truth when the fit knows that they do, and intervals stay honest.
func TestLinksSteadyTheRatingsOfARun(t *testing.T) {
	const nets, spread, pairs = 30, 40, 6
	fits := 12
	if *long {
		fits = 300
	}
	rng := rand.New(rand.NewPCG(13, 14))
	var wrong, linked float64
	covered := 0
	for i := range fits {
		w := &world{elo: map[string]float64{"random": 0}, nu: 0.1, firstMove: 50, rng: rng}
		names := []string{"random"}
		o := DefaultFitOptions()
		o.Resamples, o.Seed = 60, uint64(i)
		elo := 300.0
		for k := range nets {
			name := fmt.Sprintf("step %02d", k)
			if k > 0 {
				o.Links = append(o.Links, Link{A: names[k], B: name, Spread: spread})
			}
			w.elo[name] = elo
			elo += spread * rng.NormFloat64()
			names = append(names, name)
		}
		games := w.tournament(names, pairs)
		plain := o
		plain.Links = nil
		for _, c := range []struct {
			o   FitOptions
			sum *float64
		}{{plain, &wrong}, {o, &linked}} {
			r, err := Fit(games, c.o)
			if err != nil {
				t.Fatal(err)
			}
			first, _ := r.Of(names[1])
			for _, name := range names[2:] { // against the first net: the distance to random is another matter
				p, _ := r.Of(name)
				d := p.Elo - first.Elo - (w.elo[name] - w.elo[names[1]])
				*c.sum += d * d
				if c.sum == &linked && p.Low <= w.elo[name] && w.elo[name] <= p.High {
					covered++
				}
			}
		}
	}
	n := float64(fits * (nets - 1))
	share := float64(covered) / n
	t.Logf("root mean square error %.0f Elo without links, %.0f with; intervals cover %.1f %%", math.Sqrt(wrong/n), math.Sqrt(linked/n), 100*share)
	if linked > 0.8*wrong {
		t.Errorf("links help little: %.0f to %.0f Elo", math.Sqrt(wrong/n), math.Sqrt(linked/n))
	}
	low := 0.92
	if !*long {
		low = 0.8 // the nets of one run err together
	}
	if share < low {
		t.Errorf("intervals cover the truth in %.1f %%", 100*share)
	}
	for _, l := range []Link{{"a", "a", 10}, {"a", "b", 0}, {"a", "b", math.NaN()}} {
		if _, err := Fit(nil, FitOptions{Prior: 1, Resamples: 10, Links: []Link{l}}); err == nil {
			t.Errorf("%+v is accepted", l)
		}
	}
}

func TestUnconnectedPlayersAreNamed(t *testing.T) {
	w := &world{elo: map[string]float64{}, rng: rand.New(rand.NewPCG(9, 10))}
	games := append(w.tournament([]string{"random", "a"}, 10), w.tournament([]string{"x", "y"}, 10)...)
	r, err := Fit(games, DefaultFitOptions())
	if err != nil || !reflect.DeepEqual(r.Unrated, []string{"x", "y"}) || len(r.Players) != 2 || r.Games != 20 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := Fit(nil, DefaultFitOptions()); err != nil || len(r.Players) != 0 {
		t.Errorf("no games: %+v, %v", r, err)
	}
	r, err = Fit(w.tournament([]string{"q", "p"}, 10), DefaultFitOptions())
	if p, ok := r.Of("p"); err != nil || !ok || !p.Anchor {
		t.Errorf("without an anchor the first name stands at 0: %+v, %v", r, err)
	}
	if _, err := Fit([]RatedGame{{First: "a", Second: "a", Score: 1}}, DefaultFitOptions()); err == nil {
		t.Error("a game against itself is accepted")
	}
}

func TestCirclesAreFound(t *testing.T) {
	var games []RatedGame
	for i := range 40 {
		for j, names := range [][2]string{{"rock", "scissors"}, {"scissors", "paper"}, {"paper", "rock"}} {
			score := 1.0
			if i%8 == 0 {
				score = 0
			}
			g := RatedGame{First: names[0], Second: names[1], Score: score, Pair: fmt.Sprint(i, j)}
			if i%2 == 1 {
				g = RatedGame{First: names[1], Second: names[0], Score: 1 - score, Pair: g.Pair}
			}
			games = append(games, g)
		}
	}
	r, err := Fit(games, DefaultFitOptions())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Fitness.Circles) != 1 || len(r.Fitness.Misfits) == 0 || r.Fitness.P > 0.001 {
		t.Errorf("%+v\n%s", r.Fitness, r.Table())
	}
}

func TestOpponentsAreDrawnWhereGamesTellMost(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var count [3]int
	for range 10000 {
		count[ChooseOpponent(rng, 1000, []float64{0, 950, 1400})]++
	}
	// p(1-p): 0.0031, 0.245, 0.0826
	if count[0] > 200 || count[1] < 7000 || count[2] < 2000 {
		t.Errorf("%v", count)
	}
	if ChooseOpponent(rng, 0, nil) != -1 {
		t.Error("an opponent out of nothing")
	}
}

func TestTheLogLikelihoodRatioIsThatOfTheNormalTestForManyPairs(t *testing.T) {
	pairs := [5]int{120, 230, 610, 270, 140}
	s := SPRT{Elo0: 0, Elo1: 5, Alpha: 0.05, Beta: 0.05}
	n, mean, square := 0.0, 0.0, 0.0
	for i, c := range pairs {
		x := float64(i) / 4
		n += float64(c)
		mean += float64(c) * x
		square += float64(c) * x * x
	}
	mean /= n
	variance := square/n - mean*mean
	s0, s1 := ScoreOf(s.Elo0), ScoreOf(s.Elo1)
	want := n * (s1 - s0) * (2*mean - s0 - s1) / (2 * variance)
	if got := s.LLR(pairs); math.Abs(got-want) > 0.02*math.Abs(want) {
		t.Errorf("LLR %v, normal approximation %v", got, want)
	}
}

func BenchmarkFitOfTwentyPlayers(b *testing.B) {
	w := &world{elo: map[string]float64{}, nu: 0.2, rng: rand.New(rand.NewPCG(1, 2))}
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprintf("p%02d", i))
		w.elo[names[i]] = float64(50 * i)
	}
	games := w.tournament(names, 20)
	for b.Loop() {
		if _, err := Fit(games, DefaultFitOptions()); err != nil {
			b.Fatal(err)
		}
	}
}
