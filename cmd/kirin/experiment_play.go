package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"kirin/network"
	"kirin/network/kernel"
	"kirin/rules"
	"kirin/selfplay"
	"kirin/selfplay/match"
)

// entrant is a player of an experiment and what its games depend on.
type entrant struct {
	match.Entrant
	key string
}

// encounter is two players that meet: two nets, or a net and a fixed opponent.
type encounter struct {
	a, b  *experimentRun // b is nil for a fixed opponent
	other string         // the fixed opponent's text
	games int
}

// encounters lists who meets whom. Each net meets the nets at certain distances
// round a circle, so that all meet equally many; a distance at which only nets
// of one configuration would meet is moved by one.
func (x *experiment) encounters() []encounter {
	var out []encounter
	n := len(x.runs)
	for _, d := range distances(n, x.Match.Meet, len(x.Variants)) {
		for i := range n {
			j := (i + d) % n
			if 2*d == n && i >= j {
				continue // from both ends the same pair
			}
			out = append(out, encounter{a: x.runs[i], b: x.runs[j], games: x.Match.Games})
		}
	}
	if x.Match.AnchorGames > 0 {
		for _, text := range x.Match.Anchors {
			for _, r := range x.runs {
				out = append(out, encounter{a: r, other: text, games: x.Match.AnchorGames})
			}
		}
	}
	return out
}

// distances are the distances round a circle of n at which nets meet when each
// shall meet about meet others (0: all) and every period-th is of its own kind.
func distances(n, meet, period int) []int {
	var out []int
	if meet == 0 || meet >= n-1 {
		for d := 1; d <= n/2; d++ {
			out = append(out, d)
		}
		return out
	}
	most, count := (n-1)/2, (meet+1)/2
	used := map[int]bool{}
	for k := range count {
		d := 1
		if count > 1 {
			d += k * (most - 1) / (count - 1)
		}
		for tries := 0; tries < most && (used[d] || period > 1 && d%period == 0); tries++ {
			d = d%most + 1
		}
		if !used[d] {
			used[d] = true
			out = append(out, d)
		}
	}
	return out
}

// open makes the player of a run's net.
func (x *experiment) open(r *experimentRun) (*entrant, error) {
	if r.entrant != nil {
		return r.entrant, nil
	}
	w, err := network.ReadWeights(r.net)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", r.name, err)
	}
	if sum, err := w.Sum(); err != nil || sum != r.result.Sum {
		return nil, fmt.Errorf("run %s: %s is not the net with which the run ended (%s)", r.name, r.net, r.record)
	}
	newEval, err := evaluators(w, x.variant, kernel.Best(), r.net)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", r.name, err)
	}
	s, err := x.Player(x.Variants[r.of], r.name)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", r.name, err)
	}
	e, err := s.Entrant(x.variant, func(match.NetRef, *rules.Variant) (func() selfplay.Evaluator, string, error) {
		return newEval, r.result.Sum, nil
	})
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", r.name, err)
	}
	limit := x.Variants[r.of].Limit
	if limit == "" {
		limit = x.Match.Limit
	}
	r.entrant = &entrant{e, r.result.Sum + " " + limit}
	return r.entrant, nil
}

// players opens both sides of an encounter.
func (x *experiment) players(e encounter) (a, b *entrant, err error) {
	if a, err = x.open(e.a); err != nil {
		return nil, nil, err
	}
	if e.b != nil {
		b, err = x.open(e.b)
		return a, b, err
	}
	s, err := match.ParsePlayer(e.other)
	if err != nil {
		return nil, nil, err
	}
	other, err := s.Entrant(x.variant, openNet)
	return a, &entrant{other, s.Text}, err
}

// options are those of the match between two players; the journal's name covers
// everything that the games depend on.
func (x *experiment) options(a, b *entrant, games int) match.Options {
	conditions := fmt.Sprintf("%s\n%s\n%s %s\n%d plies, seed %d\n", a.key, b.key, x.variant.Name(), x.variant.Rules(), x.Match.OpeningPlies, x.Match.Seed)
	sum := sha256.Sum256([]byte(conditions))
	name := func(s string) string {
		return strings.Map(func(c rune) rune {
			if strings.ContainsRune("._+-", c) || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
				return c
			}
			return '-'
		}, s[:min(len(s), 60)])
	}
	seed := sha256.Sum256([]byte(a.Name + "\n" + b.Name))
	return match.Options{
		Variant: x.variant, A: a.Entrant, B: b.Entrant, Games: games,
		Seed:     mix(x.Match.Seed, uint64(seed[0])<<24|uint64(seed[1])<<16|uint64(seed[2])<<8|uint64(seed[3])),
		Openings: match.Openings{Plies: x.Match.OpeningPlies},
		Journal:  filepath.Join(x.dir, "matches", fmt.Sprintf("%s--%s-%s.jsonl", name(a.Name), name(b.Name), hex.EncodeToString(sum[:6]))),
	}
}

// play plays what is missing of all matches.
func (x *experiment) play(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Join(x.dir, "matches"), 0o755); err != nil {
		return err
	}
	all := x.encounters()
	matches := make([]match.Options, len(all))
	total := 0
	for i, e := range all {
		a, b, err := x.players(e)
		if err != nil {
			return err
		}
		matches[i] = x.options(a, b, e.games)
		total += e.games
	}
	stored, err := storedGames(matches)
	if err != nil {
		return err
	}
	before := 0
	for _, games := range stored {
		before += len(games)
	}
	played := atomic.Int64{}
	began := time.Now()
	return parallel(ctx, x.jobs, len(matches), func(ctx context.Context, i int) error {
		o := matches[i]
		o.Progress = func(_ *match.Game, r match.Result) {
			n := int(played.Add(1))
			x.p.show(fmt.Sprintf("match %d of %d, %s - %s: %+d =%d -%d  %d of %d games  %s",
				i+1, len(matches), o.A.Name, o.B.Name, r.Wins, r.Draws, r.Losses, before+n, total, remaining(began, float64(n), float64(total-before-n))))
		}
		r, err := match.Run(ctx, o)
		for _, f := range append(r.Disagreements, r.Failures...) {
			x.p.say("%s - %s: game %d does not count: %s", o.A.Name, o.B.Name, f.Game, f.Detail)
		}
		return err
	})
}

// storedGames reads the games that the journals of matches hold, those beyond
// the wanted number left out.
func storedGames(matches []match.Options) ([][]*match.Game, error) {
	out := make([][]*match.Game, len(matches))
	for i, o := range matches {
		f, err := os.Open(o.Journal)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		_, games, err := match.ReadJournal(f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.Journal, err)
		}
		for _, g := range games {
			if 2*g.Pair < o.Games {
				out[i] = append(out[i], g)
			}
		}
	}
	return out, nil
}
