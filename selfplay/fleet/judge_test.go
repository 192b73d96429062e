package fleet

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kirin/dataset"
	"kirin/rules"
)

// someGames are games of a trainer that has not been started.
func someGames(t *testing.T, n int) (*trainer, []*dataset.Game) {
	t.Helper()
	x := newTrainer(t)
	x.nets, x.net = &Nets{step: map[string]int64{}}, []byte("a net")
	return x, x.games("a", n)
}

func TestARunWhosePlayersResignTakesResignations(t *testing.T) {
	x, games := someGames(t, 1)
	g := games[0]
	g.Plies = g.Plies[:4] // sente is to move
	for _, c := range []struct {
		below  float64
		winner rules.Side
		fault  string
	}{
		{0.05, rules.Gote, ""},
		{0.05, rules.Sente, "the side that is not to move resigns"},
		{0, rules.Gote, "no side resigns in this run"},
	} {
		g.Outcome = rules.Outcome{Result: rules.Winner(c.winner), Reason: rules.Resignation}
		g.SetID()
		j := Judge{
			Codec: dataset.NewCodec(), Variant: x.variant, Hash: testHash, ResignBelow: c.below,
			Published: func(string, int64) bool { return true },
		}
		v := j.judge("a", x.record(g))
		switch {
		case c.fault == "" && (v.no != nil || v.again):
			t.Errorf("resign_below %g: %+v", c.below, v)
		case c.fault != "" && (v.no == nil || v.no.reason != RefusedResult || !strings.Contains(v.no.Error(), c.fault)):
			t.Errorf("resign_below %g, %v wins: %v, want %s", c.below, c.winner, v.no, c.fault)
		}
	}
}

func TestAGameWhoseVerificationIsCutShortIsNotDecided(t *testing.T) {
	_, games := someGames(t, 3)
	ctx, cancel := context.WithCancel(t.Context())
	begun := make(chan struct{})
	c := newChecks(func(ctx context.Context, _ *dataset.Game) (Verification, error) {
		close(begun)
		<-ctx.Done()
		return Verification{}, ctx.Err()
	})
	for _, g := range games {
		if !c.offer(&message{verdict: verdict{game: g, again: true}}) {
			t.Fatal("no room")
		}
	}
	c.start(ctx)
	<-begun
	cancel()
	c.wait()
	if got := c.finished(); len(got) != 0 {
		t.Errorf("%d games count as checked, the first with %v", len(got), got[0].found.err)
	}
}

func TestPuttingAGameAsideDoesNotReadTheOthers(t *testing.T) {
	x, games := someGames(t, 40)
	dir := t.TempDir()
	q, err := OpenQuarantine(dir)
	if err != nil {
		t.Fatal(err)
	}
	keep := func(record []byte) {
		t.Helper()
		if err := q.keep("a", record); err != nil {
			t.Fatal(err)
		}
	}
	for _, g := range games {
		keep(x.record(g))
	}
	path := filepath.Join(dir, "quarantine", "a.journal")
	r, err := dataset.ReadJournal(nil, path, dataset.NewCodec())
	if err != nil || len(r.Games) != len(games) || len(r.Damage) > 0 || r.Torn > 0 {
		t.Fatalf("%d of %d games, %v, %v", len(r.Games), len(games), r.Damage, err)
	}
	last := x.record(games[0])
	if n := testing.AllocsPerRun(3, func() { keep(last) }); n > 50 {
		t.Errorf("%g allocations", n)
	}
	if err := os.Truncate(path, maxAside+1); err != nil {
		t.Fatal(err)
	}
	keep(last)
	if info, err := os.Stat(path); err != nil || info.Size() != maxAside+1 {
		t.Errorf("the journal grows beyond its limit: %v, %v", info, err)
	}
}
