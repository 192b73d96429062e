package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kirin/dataset"
	"kirin/rules"
)

// gamesOf are the games of a run, oldest first.
func gamesOf(t *testing.T, dir string) []*dataset.Game {
	t.Helper()
	r, err := openRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	store, err := dataset.OpenStore(r.path("games"), r.cfg.Data)
	if err != nil {
		t.Fatal(err)
	}
	var games []*dataset.Game
	for g, err := range store.All() {
		if err != nil {
			t.Fatal(err)
		}
		games = append(games, g)
	}
	return games
}

func TestGamesWithEveryOptionAreReproducedBitForBit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "starts.sfen")
	if err := os.WriteFile(file, []byte("rbsgk/4p/5/P4/KGS1R b - 1\nrbsgk/4p/5/PB3/KGS1R w - 2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	plies := func(games []*dataset.Game, f func(g *dataset.Game, p *dataset.Ply) bool) (n int) {
		for _, g := range games {
			for i := range g.Plies {
				if f(g, &g.Plies[i]) {
					n++
				}
			}
		}
		return n
	}
	reason := func(games []*dataset.Game, r rules.Reason) bool {
		for _, g := range games {
			if g.Outcome.Reason == r {
				return true
			}
		}
		return false
	}
	starts := func(games []*dataset.Game) int {
		seen := map[string]bool{}
		for _, g := range games {
			seen[g.Start] = true
		}
		return len(seen)
	}
	for _, c := range []struct {
		name string
		sets []string
		used func(games []*dataset.Game) bool // the options were at work
	}{
		{"openings by policy", []string{"selfplay.opening_temperature=1", "selfplay.opening_share=1"}, func(games []*dataset.Game) bool {
			return plies(games, func(_ *dataset.Game, p *dataset.Ply) bool { return p.Flags&dataset.Random != 0 }) > 10
		}},
		{"starts", []string{"selfplay.side_share=0.4", "selfplay.start_share=0.4", "selfplay.start_file=" + file}, func(games []*dataset.Game) bool {
			return starts(games) > 2
		}},
		{"handicaps", []string{"variant=torishogi", "selfplay.handicap_share=1"}, func(games []*dataset.Game) bool { return starts(games) > 1 }},
		{"resignation", []string{"selfplay.resign_below=0.49", "selfplay.resign_moves=1"}, func(games []*dataset.Game) bool {
			return reason(games, rules.Resignation)
		}},
		{"decided games", []string{"selfplay.decided_above=0.51", "selfplay.decided_plies=1", "selfplay.decided_share=0", "selfplay.play_out_mates=1", "search.simulations=12", "selfplay.decided_simulations=2"}, func(games []*dataset.Game) bool {
			return plies(games, func(_ *dataset.Game, p *dataset.Ply) bool {
				return p.Flags&dataset.Proven == 0 && p.Visits > 1 && p.Visits < 12
			}) > 0
		}},
		{"cheap and growing searches", []string{"search.cheap_share=0.5", "search.cheap_simulations=2", "search.progressive_start=2", "search.progressive_games=10", "search.simulations=8"}, func(games []*dataset.Game) bool {
			return plies(games, func(_ *dataset.Game, p *dataset.Ply) bool { return p.Flags&dataset.Cheap != 0 }) > 10
		}},
		{"puct", []string{"search.algorithm=puct", "search.forced_playouts=2", "search.simulations=16", "selfplay.side_share=0.5"}, func(games []*dataset.Game) bool {
			return plies(games, func(_ *dataset.Game, p *dataset.Ply) bool { return len(p.Target) > 1 }) > 0
		}},
		{"no mate search, a cap, played-out wins", []string{"selfplay.mate_nodes=0", "selfplay.cap_plies=12", "selfplay.play_out_mates=1"}, func(games []*dataset.Game) bool {
			return reason(games, rules.Adjudicated)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			// So many games that the options show, however few the trainer needs.
			args := tiny(dir, "--games", "16", "--set", "selfplay.workers=1")
			for _, s := range c.sets {
				args = append(args, "--set", s)
			}
			mustRun(t, args...)
			games := gamesOf(t, dir)
			if !c.used(games) {
				t.Errorf("the options had no effect on %d games", len(games))
			}
			allExact(t, dir, 6)
		})
	}
}

func TestARunKeepsItsFileOfStarts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	file := filepath.Join(t.TempDir(), "starts.sfen")
	if err := os.WriteFile(file, []byte("rbsgk/4p/5/P4/KGS1R b - 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	sets := []string{"--set", "selfplay.start_file=" + file, "--set", "selfplay.start_share=1"}
	mustRun(t, tiny(dir, append(sets, "--steps", "5")...)...)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	mustRun(t, "train", "--dir", dir, "--steps", "10")
	for _, g := range gamesOf(t, dir) {
		if g.Start != "rbsgk/4p/5/P4/KGS1R b - 1" {
			t.Errorf("a game starts from %s", g.Start)
		}
	}
	if status, _, errs := kirin(t, tiny(filepath.Join(t.TempDir(), "run"), sets...)...); status == 0 || !strings.Contains(errs, "selfplay.start_file") {
		t.Errorf("a missing file of starts: exit status %d\n%s", status, errs)
	}
}
