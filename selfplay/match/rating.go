package match

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// RatedGame is one game between two players, as ratings need it.
type RatedGame struct {
	First  string  `json:"first"`  // who moved first
	Second string  `json:"second"` // who replied
	Score  float64 `json:"score"`  // of First: 1, 0.5 or 0
	Pair   string  `json:"pair"`   // games with one opening share a pair; "" stands alone
}

// RatedGames returns the counted games of a match for Fit; id tells this match's pairs from those of others.
func RatedGames(h Header, games []*Game, id string) []RatedGame {
	var out []RatedGame
	for _, g := range games {
		if !g.Counts() {
			continue
		}
		r := RatedGame{First: h.A, Second: h.B, Score: g.Score, Pair: fmt.Sprintf("%s/%d", id, g.Pair)}
		if g.Second {
			r = RatedGame{First: h.B, Second: h.A, Score: 1 - g.Score, Pair: r.Pair}
		}
		out = append(out, r)
	}
	return out
}

// FitOptions are the settings of a fit.
type FitOptions struct {
	// Anchors have fixed ratings. Without any that has played, the first name in the alphabet stands at 0.
	Anchors map[string]float64 `yaml:"anchors"`
	// Prior is the number of virtual games that each player has half won and half lost against those it met: it keeps the
	// rating of a player finite that won or lost everything.
	Prior float64 `yaml:"prior"`
	// Links say which players are known to be of similar strength: they hold the ratings of nets together that follow each
	// other in a run, as games of each alone hardly could (after Coulom's Whole-History Rating, 2008).
	Links []Link `yaml:"links"`
	// Resamples is the number of bootstrap samples behind the intervals.
	Resamples int `yaml:"resamples"`
	// Seed makes the resampling repeatable.
	Seed uint64 `yaml:"seed"`
}

// Link is what is known of two players before any game: their ratings differ by a normal variable of mean 0 and standard
// deviation Spread, in Elo. It counts when both have played.
type Link struct {
	A      string  `yaml:"a"`
	B      string  `yaml:"b"`
	Spread float64 `yaml:"spread"`
}

// DefaultFitOptions anchors "random" at 0.
func DefaultFitOptions() FitOptions {
	return FitOptions{Anchors: map[string]float64{"random": 0}, Prior: 1, Resamples: 200, Seed: 1}
}

// Validate reports every fault at once.
func (o FitOptions) Validate() error {
	var errs []error
	if !(o.Prior > 0 && o.Prior <= 100) {
		errs = append(errs, fmt.Errorf("prior: %v is not in (0, 100]", o.Prior))
	}
	for _, l := range o.Links {
		if !(l.Spread >= 1 && l.Spread <= 1e5) || l.A == l.B {
			errs = append(errs, fmt.Errorf("links: %q and %q differ by %v Elo", l.A, l.B, l.Spread))
		}
	}
	if o.Resamples < 10 || o.Resamples > 100000 {
		errs = append(errs, fmt.Errorf("resamples: %d is not in 10..100000", o.Resamples))
	}
	for name, at := range o.Anchors {
		if math.IsNaN(at) || math.Abs(at) > 1e5 {
			errs = append(errs, fmt.Errorf("anchors: %s stands at %v", name, at))
		}
	}
	return errors.Join(errs...)
}

// Rating is a player's place with its 95 % interval, in Elo.
type Rating struct {
	Name   string  `json:"name"`
	Elo    float64 `json:"elo"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Games  int     `json:"games"`
	Score  float64 `json:"score"` // share of the points won
	Anchor bool    `json:"anchor,omitempty"`
}

// Ratings are the result of a fit: the strongest first, equal ones by name.
type Ratings struct {
	Model   string   `json:"model"`
	Games   int      `json:"games"`
	Players []Rating `json:"players"`
	// FirstMove is the advantage of moving first, in Elo, with its interval.
	FirstMove     float64 `json:"first_move"`
	FirstMoveLow  float64 `json:"first_move_low"`
	FirstMoveHigh float64 `json:"first_move_high"`
	// DrawShare is the chance of a draw between equals.
	DrawShare float64 `json:"draw_share"`
	// Unrated lists players that no chain of games joins to an anchor.
	Unrated []string `json:"unrated,omitempty"`
	Fitness Fitness  `json:"fitness"`
}

// Of returns a player's rating.
func (r *Ratings) Of(name string) (Rating, bool) {
	for _, p := range r.Players {
		if p.Name == name {
			return p, true
		}
	}
	return Rating{}, false
}

// Table writes the ratings for people.
func (r *Ratings) Table() string {
	var b strings.Builder
	width := len("player")
	for _, p := range r.Players {
		width = max(width, len(p.Name))
	}
	fmt.Fprintf(&b, "%4s  %-*s %7s  %-15s %6s %7s\n", "rank", width, "player", "Elo", "95 %", "games", "score")
	for i, p := range r.Players {
		interval := fmt.Sprintf("%.0f..%.0f", p.Low, p.High)
		if p.Anchor {
			interval = "fixed"
		}
		fmt.Fprintf(&b, "%4d  %-*s %7.0f  %-15s %6d %6.1f%%\n", i+1, width, p.Name, p.Elo, interval, p.Games, 100*p.Score)
	}
	fmt.Fprintf(&b, "%d games; moving first is worth %.0f Elo (%.0f..%.0f); equal players draw %.0f%%\n",
		r.Games, r.FirstMove, r.FirstMoveLow, r.FirstMoveHigh, 100*r.DrawShare)
	if len(r.Unrated) > 0 {
		fmt.Fprintf(&b, "not rated, since no game joins them to an anchor: %s\n", strings.Join(r.Unrated, ", "))
	}
	for _, line := range r.Fitness.lines() {
		fmt.Fprintln(&b, line)
	}
	return b.String()
}

// eloPerNat is the Elo of one unit of log strength.
const eloPerNat = 400 / math.Ln10

// ErrFit marks games for which no ratings could be computed.
var ErrFit = errors.New("the games so far give no ratings")

// Fit rates all players together by the Bradley-Terry model with draws (Davidson 1970) and an advantage of moving first
// (Davidson and Beaver 1977): with strengths a (of the first player, the advantage included) and b, win : draw : loss =
// a : nu sqrt(ab) : b. Elo is 400 log10 of the strength. Intervals come from a Bayesian bootstrap (Rubin 1981) over pairs
// of games with one opening, in which the prior's virtual games have their random weights too, and links random means.
//
// The result depends on the games as a set and on the options alone. No games give no ratings.
func Fit(games []RatedGame, o FitOptions) (*Ratings, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("ratings: %w", err)
	}
	for i, g := range games {
		if g.Score != 0 && g.Score != 0.5 && g.Score != 1 || g.First == g.Second || g.First == "" || g.Second == "" {
			return nil, fmt.Errorf("ratings: game %d: %q against %q with score %v", i+1, g.First, g.Second, g.Score)
		}
	}
	games = slices.Clone(games)
	slices.SortStableFunc(games, func(x, y RatedGame) int {
		return cmp.Or(cmp.Compare(x.Pair, y.Pair), cmp.Compare(x.First, y.First), cmp.Compare(x.Second, y.Second), cmp.Compare(x.Score, y.Score))
	})
	r := &Ratings{Model: "bradley-terry-davidson"}
	anchors := presentAnchors(games, o.Anchors)
	games, r.Unrated = connected(games, anchors)
	r.Games = len(games)
	if len(games) == 0 {
		return r, nil
	}
	m := newModel(games, anchors, o)
	theta, err := m.solve(nil, flat)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFit, err)
	}
	deviations, err := m.bootstrap(theta, o)
	if err != nil {
		return nil, fmt.Errorf("%w: bootstrap: %w", ErrFit, err)
	}
	m.report(r, games, theta, deviations)
	r.Fitness = m.fitness(theta)
	return r, nil
}

// presentAnchors are the anchors that have played.
func presentAnchors(games []RatedGame, anchors map[string]float64) map[string]float64 {
	present := map[string]float64{}
	first := ""
	for _, g := range games {
		for _, name := range []string{g.First, g.Second} {
			if at, ok := anchors[name]; ok {
				present[name] = at
			}
			if first == "" || name < first {
				first = name
			}
		}
	}
	if len(present) == 0 && first != "" {
		present[first] = 0
	}
	return present
}

// connected splits off the games of players that no chain of games joins to an anchor.
func connected(games []RatedGame, anchors map[string]float64) (rated []RatedGame, unrated []string) {
	reached := map[string]bool{}
	for name := range anchors {
		reached[name] = true
	}
	for grown := true; grown; {
		grown = false
		for _, g := range games {
			if reached[g.First] != reached[g.Second] {
				reached[g.First], reached[g.Second] = true, true
				grown = true
			}
		}
	}
	for _, g := range games {
		if reached[g.First] {
			rated = append(rated, g)
			continue
		}
		for _, name := range []string{g.First, g.Second} {
			if !slices.Contains(unrated, name) {
				unrated = append(unrated, name)
			}
		}
	}
	slices.Sort(unrated)
	return rated, unrated
}

// ChooseOpponent draws the index of an opponent for a player rated self: with chance proportional to p(1-p), p being the
// expected score, which is where a game tells most. It returns -1 without opponents.
func ChooseOpponent(rng *rand.Rand, self float64, opponents []float64) int {
	if len(opponents) == 0 {
		return -1
	}
	weight := func(elo float64) float64 {
		p := ScoreOf(self - elo)
		return max(p*(1-p), 1e-6)
	}
	total := 0.0
	for _, elo := range opponents {
		total += weight(elo)
	}
	at := rng.Float64() * total
	for i, elo := range opponents {
		if at -= weight(elo); at < 0 {
			return i
		}
	}
	return len(opponents) - 1
}
