package match

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// LadderOptions describe a search for the level of an opponent (nodes or depth) at which a player scores 50 %.
type LadderOptions struct {
	Low, High int64   // the levels between which it is looked for
	Pairs     int     // pairs of games at most
	Width     float64 // enough when the 95 % interval spans at most this factor (for depth: High/Low), such as 1.5
	Journal   string  // path of a journal with which a ladder goes on, "": none
	Header    LadderHeader
}

// LadderHeader is the first line of a ladder's journal: what must be equal for it to go on. Ladder fills in Version, Low
// and High; the number of pairs and the width may differ.
type LadderHeader struct {
	Version int    `json:"kirin_ladder"`
	Variant string `json:"variant"`
	Rules   string `json:"rules"`
	Player  string `json:"player"`
	Key     string `json:"player_key,omitempty"` // the player's Entrant.Key
	Engine  string `json:"engine"`
	By      string `json:"by"`
	Opening string `json:"opening"`
	Seed    uint64 `json:"seed"`
	Low     int64  `json:"low"`
	High    int64  `json:"high"`
}

// ladderPair is a line of a ladder's journal: a pair that has been played. The level follows from the pairs before it and
// is there as a check.
type ladderPair struct {
	Level  int64 `json:"level"`
	Wins   int   `json:"wins"`
	Draws  int   `json:"draws"`
	Losses int   `json:"losses"`
}

// decodeLadder reads the lines of a ladder's journal.
func decodeLadder(data []byte) (LadderHeader, []ladderPair, error) {
	var h LadderHeader
	var pairs []ladderPair
	number := 0
	for line := range bytes.Lines(data) {
		if number++; number == 1 {
			if err := json.Unmarshal(line, &h); err != nil {
				return h, nil, fmt.Errorf("line 1: %w", err)
			}
			if h.Version != journalVersion {
				return h, nil, fmt.Errorf("line 1: no ladder journal of version %d", journalVersion)
			}
			continue
		}
		var p ladderPair
		if err := json.Unmarshal(line, &p); err != nil {
			return h, nil, fmt.Errorf("line %d: %w", number, err)
		}
		if p.Level < 1 || min(p.Wins, p.Draws, p.Losses) < 0 || max(p.Wins, p.Draws, p.Losses) > 2 || p.Wins+p.Draws+p.Losses > 2 {
			return h, nil, fmt.Errorf("line %d: no pair of games", number)
		}
		pairs = append(pairs, p)
	}
	if number == 0 {
		return h, nil, errors.New("empty")
	}
	return h, pairs, nil
}

// Validate reports every fault at once.
func (o LadderOptions) Validate() error {
	var errs []error
	if o.Low < 1 || o.High <= o.Low {
		errs = append(errs, fmt.Errorf("low, high: %d..%d is no range of levels", o.Low, o.High))
	}
	if o.Pairs < 1 {
		errs = append(errs, fmt.Errorf("pairs: %d is below 1", o.Pairs))
	}
	if !(o.Width > 1) {
		errs = append(errs, fmt.Errorf("width: %v is not above 1", o.Width))
	}
	return errors.Join(errs...)
}

// Rung is what was played at one level.
type Rung struct {
	Level int64   `json:"level"`
	Games int     `json:"games"`
	Score float64 `json:"score"` // of the player
}

// LadderResult is the level found, with its 95 % interval.
type LadderResult struct {
	Level float64 `json:"level"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Games int     `json:"games"`
	// Edge tells that the interval reaches an end of the range: the true level may lie beyond.
	Edge  bool   `json:"edge,omitempty"`
	Rungs []Rung `json:"rungs"`
}

// The grid of the posterior: levels on a logarithmic scale a little beyond the range, and slopes in nats a doubling
// (0.2 to 2.1: 35 to 366 Elo a doubling; nodes are worth little, plies of depth much).
const (
	ladderSteps  = 160
	ladderSlopes = 8
)

// ladder is the posterior over (level at which the score is 50 %, slope).
type ladder struct {
	o     LadderOptions
	x     [ladderSteps]float64 // log2 of the level
	logP  [ladderSteps][ladderSlopes]float64
	rungs []Rung
}

func newLadder(o LadderOptions) *ladder {
	l := &ladder{o: o}
	low, high := math.Log2(float64(o.Low)), math.Log2(float64(o.High))
	margin := (high - low) / 10
	for i := range l.x {
		l.x[i] = low - margin + (high-low+2*margin)*float64(i)/(ladderSteps-1)
	}
	return l
}

func slopeOf(j int) float64 { return 0.2 * math.Pow(1.4, float64(j)) }

// softplus is ln(1 + e^x), which is minus the logarithm of a winning chance.
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// add takes the games of one pair at a level.
func (l *ladder) add(level int64, t Tally) {
	at := math.Log2(float64(level))
	points := float64(t.Wins) + float64(t.Draws)/2
	games := float64(t.Games())
	for i, x := range l.x {
		for j := range ladderSlopes {
			behind := slopeOf(j) * (at - x) // in nats
			l.logP[i][j] -= points*softplus(behind) + (games-points)*softplus(-behind)
		}
	}
	for i := range l.rungs {
		if r := &l.rungs[i]; r.Level == level {
			r.Score = (r.Score*float64(r.Games) + points) / (float64(r.Games) + games)
			r.Games += t.Games()
			return
		}
	}
	l.rungs = append(l.rungs, Rung{Level: level, Games: t.Games(), Score: points / max(games, 1)})
}

// estimate returns the posterior's median level and 95 % interval, as log2.
func (l *ladder) estimate() (median, low, high float64) {
	top := math.Inf(-1)
	for i := range l.logP {
		for _, v := range l.logP[i] {
			top = max(top, v)
		}
	}
	var mass [ladderSteps]float64
	total := 0.0
	for i := range l.logP {
		for _, v := range l.logP[i] {
			mass[i] += math.Exp(v - top)
		}
		total += mass[i]
	}
	quantile := func(q float64) float64 {
		sum := 0.0
		for i, m := range mass {
			if sum += m; sum >= q*total {
				return l.x[i]
			}
		}
		return l.x[ladderSteps-1]
	}
	return quantile(0.5), quantile(0.025), quantile(0.975)
}

// next is the level to play at: the estimate, where a game tells most, to two digits so that levels repeat.
func (l *ladder) next() int64 {
	median, _, _ := l.estimate()
	level := math.Exp2(median)
	if unit := math.Pow(10, math.Floor(math.Log10(level))-1); unit > 1 {
		level = math.Round(level/unit) * unit
	}
	return min(max(int64(math.Round(level)), l.o.Low), l.o.High)
}

func (l *ladder) result() LadderResult {
	median, low, high := l.estimate()
	r := LadderResult{Level: math.Exp2(median), Low: math.Exp2(low), High: math.Exp2(high), Rungs: l.rungs}
	r.Edge = low <= math.Log2(float64(l.o.Low)) || high >= math.Log2(float64(l.o.High))
	for _, x := range l.rungs {
		r.Games += x.Games
	}
	return r
}

// Ladder plays pair after pair at the level that tells most until the level at which the player scores 50 % is known to
// within a factor of o.Width, or o.Pairs are played. play plays the given pair (from 0) at a level and returns the
// player's results; progress, if set, hears of every pair. Pairs that a journal holds are not played again. When ctx ends,
// what is known is returned with ctx's error.
func Ladder(ctx context.Context, o LadderOptions, play func(ctx context.Context, level int64, pair int) (Tally, error),
	progress func(LadderResult)) (r LadderResult, err error) {
	if err := o.Validate(); err != nil {
		return LadderResult{}, fmt.Errorf("ladder: %w", err)
	}
	h := o.Header
	h.Version, h.Low, h.High = journalVersion, o.Low, o.High
	var done []ladderPair
	log, err := openLines("ladder", o.Journal, h, func(data []byte) (LadderHeader, error) {
		header, pairs, err := decodeLadder(data)
		done = pairs
		if header.Key == "" { // a journal from before there were keys
			header.Key = h.Key
		}
		return header, err
	})
	if err != nil {
		return LadderResult{}, err
	}
	defer func() { err = errors.Join(err, log.close()) }()
	l := newLadder(o)
	const least = 4 // pairs before the interval is believed
	for pair := range o.Pairs {
		level := l.next()
		var t Tally
		if pair < len(done) {
			if done[pair].Level != level {
				return LadderResult{}, fmt.Errorf("ladder journal %s: line %d: level %d, which would be %d by the lines before it", o.Journal, pair+2, done[pair].Level, level)
			}
			t = Tally{Wins: done[pair].Wins, Draws: done[pair].Draws, Losses: done[pair].Losses}
		} else {
			if err := ctx.Err(); err != nil {
				return l.result(), err
			}
			if t, err = play(ctx, level, pair); err != nil {
				return l.result(), fmt.Errorf("ladder: pair %d at level %d: %w", pair+1, level, err)
			}
			if err := log.append(ladderPair{level, t.Wins, t.Draws, t.Losses}); err != nil {
				return l.result(), err
			}
		}
		l.add(level, t)
		r := l.result()
		if progress != nil && pair >= len(done) {
			progress(r)
		}
		if pair+1 >= least && r.High/r.Low <= o.Width {
			break
		}
	}
	return l.result(), nil
}
