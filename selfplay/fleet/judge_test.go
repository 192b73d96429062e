package fleet

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

func TestAGameThatThisMachineCannotPlayAgainCountsUnlessAGuestSentIt(t *testing.T) {
	x := newTrainer(t)
	x.secured = true
	x.verify = func(context.Context, *dataset.Game) (Verification, error) {
		return Verification{Impossible: true, Why: "its kernel set is missing"}, nil
	}
	friend, guest := x.invite("friend", false), x.invite("guest", true)
	x.start()
	hard := func(worker string) *dataset.Game {
		g := x.play(worker, 3)
		g.Plies = g.Plies[:6]
		g.Outcome = rules.Outcome{Result: rules.Winner(rules.Gote), Reason: rules.MateProven}
		g.SetID()
		return g
	}
	send := func(inv *Invitation, g *dataset.Game) {
		t.Helper()
		if j := x.intake.c.Judge; j.Prove(g) != Undecided {
			t.Fatal("the game is not one that has to be played again")
		}
		w := join(t, invited(x, x.at(inv)))
		w.send([]*dataset.Game{g})
		if !w.Drained(t.Context()) {
			t.Error("not drained")
		}
		w.leave()
	}
	send(guest, hard("guest"))
	x.countsOne(RefusedUnproven)
	g := hard("friend")
	send(friend, g)
	x.waitFor([]*dataset.Game{g})
	x.stop()
}

func TestBeingTurnedAwayMakesNoWorker(t *testing.T) {
	_, games := someGames(t, 1)
	r := newRoster()
	no := refuse(RefusedOtherWorker, "it is signed by %s", strings.Repeat("x", 5000))
	r.refused("", no)
	r.refused("a", no)
	if n := r.size(); n != 0 || r.refusals[no.reason] != 2 {
		t.Errorf("%d workers, %d refusals", n, r.refusals[no.reason])
	}
	r.stored("a", games[0], 1)
	seen := r.workers["a"].Seen.Add(-time.Hour)
	r.workers["a"].Seen = seen
	r.refused("a", no)
	if w := r.workers["a"]; !w.Seen.Equal(seen) || len(w.Last) > 200 || w.Refused[no.reason] != 1 {
		t.Errorf("%+v", w)
	}
}

func TestATextThatIsTooLongForWorkersIsRefusedAtOnce(t *testing.T) {
	_, err := StartIntake(t.Context(), IntakeConfig{Options: DefaultOptions(), Welcome: Welcome{Starts: strings.Repeat("x", maxText)}})
	if err == nil || !strings.Contains(err.Error(), "selfplay.start_file") {
		t.Errorf("%v", err)
	}
}

func TestPlayersDoNotWaitForANewNet(t *testing.T) {
	old, next := strings.Repeat("a", 64), strings.Repeat("b", 64)
	l := &Link{store: &weights{dir: t.TempDir(), busy: make(chan struct{}, 1)}, state: State{Net: next, Step: 2}, ready: State{Net: old, Step: 1}}
	if err := os.WriteFile(l.store.path(old), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	l.store.busy <- struct{}{} // the new one is being fetched
	if file, s, err := l.Weights(t.Context()); err != nil || s.Net != old || s.Step != 1 || file != l.store.path(old) {
		t.Errorf("%s, %+v, %v", file, s, err)
	}
}

func TestAnOutboxTakesOverItsOldJournalsAsTheyAre(t *testing.T) {
	x, games := someGames(t, 3*segmentGames+5)
	dir := t.TempDir()
	first, err := OpenOutbox(dir, dataset.NewCodec(), 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range games {
		if err := first.add(g); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	damaged := first.path(2)
	b, err := os.ReadFile(damaged)
	if err != nil {
		t.Fatal(err)
	}
	b[len(x.record(games[segmentGames]))+20] ^= 1 // of the second game's payload
	if err := os.WriteFile(damaged, b, 0o444); err != nil {
		t.Fatal(err)
	}
	o, err := OpenOutbox(dir, dataset.NewCodec(), 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := o.Size(); n != len(games)-1 || o.Damaged() != 1 || o.now != nil {
		t.Errorf("%d games, %d damaged", n, o.Damaged())
	}
	if after, err := os.ReadFile(damaged); err != nil || string(after) != string(b) {
		t.Errorf("the journal was written anew: %v", err)
	}
	for i, g := range games {
		if i == segmentGames+1 {
			continue
		}
		l, record, err := o.next(t.Context())
		if err != nil || string(record) != string(x.record(g)) {
			t.Fatalf("game %d is another: %v", i, err)
		}
		if err := o.sent(l); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}
