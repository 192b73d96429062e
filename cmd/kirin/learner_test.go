package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kirin/dataset"
	"kirin/metrics"
	"kirin/rules"
	"kirin/selfplay"
)

// openLearner goes on with a run; said is what it says.
func openLearner(t *testing.T, dir string) (l *learner, said *bytes.Buffer) {
	t.Helper()
	r, err := openRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	set, m, store, err := r.begin(newProgress(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	said = &bytes.Buffer{}
	l, err = newLearner(r, store, set, m, "", func(format string, a ...any) { fmt.Fprintf(said, format+"\n", a...) })
	if err != nil {
		t.Fatal(err)
	}
	return l, said
}

func TestTheFirstStepComesAlsoWhenTheWindowKeepsFewerPositionsThanItWaitsFor(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	out := mustRun(t, tiny(dir, "--steps", "1", "--for", "90s", "--json", "--set", "window.min_positions=10", "--set", "loop.first_positions=400")...)
	var end struct{ Step int }
	if err := json.Unmarshal([]byte(out), &end); err != nil || end.Step != 1 {
		t.Errorf("%s (%v)", out, err)
	}
}

func TestARewindCountsNoGameTwice(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	mustRun(t, tiny(dir, "--steps", "40", "--set", "loop.keep_checkpoints=100")...)
	mustRun(t, "train", "--dir", dir, "--games", fmt.Sprint(len(indexOfRun(t, dir))+3)) // games that the first checkpoints cannot know, however fast the others came
	r, err := openRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	all, err := r.checkpoints()
	if err != nil || len(all) < 4 {
		t.Fatalf("%v, %v", all, err)
	}
	for _, step := range all[:len(all)-1] {
		if err := os.RemoveAll(r.checkpointDir(step)); err != nil {
			t.Fatal(err)
		}
	}
	l, _ := openLearner(t, dir)
	seen := 0
	l.seen = func(*dataset.Game) { seen++ }
	old := l.state
	if err := l.catchUp(); err != nil {
		t.Fatal(err)
	}
	games, played := l.state.Games, l.state.Played
	if int64(seen) != games-old.Games || seen < 3 {
		t.Fatalf("%d of %d games are seen", seen, games-old.Games)
	}
	l.state.Samples += 160
	if err := l.rewind(); err != nil {
		t.Fatal(err)
	}
	if p, s := l.balance.counts(); p != old.Played || s != old.Samples+160 {
		t.Errorf("after going back %d positions and %d samples are counted, not %d and %d", p, s, old.Played, old.Samples+160)
	}
	if err := l.catchUp(); err != nil {
		t.Fatal(err)
	}
	if p, _ := l.balance.counts(); p != played || l.state.Games != games || int64(seen) != games-old.Games {
		t.Errorf("%d positions, %d games, %d seen; before it was %d, %d, %d", p, l.state.Games, seen, played, games, games-old.Games)
	}
}

func TestGamesThatTheCurvesHaveAreNotCountedAgain(t *testing.T) {
	m := metrics.New()
	o := newMonitor(m, &crew{})
	o.total, o.logged = 5, 7 // the last checkpoint had 5 games, the last point of the curves 7
	for range 4 {
		o.finished(&dataset.Game{Outcome: rules.Outcome{Result: rules.SenteWins, Reason: rules.Checkmate}})
	}
	s, err := m.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	n := 0.0
	for name, v := range s {
		if strings.HasPrefix(name, "kirin_selfplay_games_total") {
			n += v
		}
	}
	if n != 2 || o.finishedGames() != 9 || len(o.recent(9)) != 4 {
		t.Errorf("%g games are counted of %d, %d are shown", n, o.finishedGames(), len(o.recent(9)))
	}
}

func TestWorkersThatHaveEndedAreCountedAndForgotten(t *testing.T) {
	cr := &crew{}
	o := newMonitor(metrics.New(), cr)
	first, second := &selfplay.Worker{}, &selfplay.Worker{}
	cr.join(first)
	cr.join(second)
	first.Stats.Plies.Store(3)
	o.collect()
	first.Stats.Plies.Store(5)
	second.Stats.Plies.Store(10)
	cr.leave(first)
	o.collect()
	o.collect()
	s, err := o.metrics.Snapshot()
	if err != nil || s["kirin_selfplay_plies_total"] != 15 {
		t.Errorf("%g plies, %v", s["kirin_selfplay_plies_total"], err)
	}
	if len(cr.workers) != 1 || len(cr.left) != 0 || len(o.counted) != 1 {
		t.Errorf("%d workers, %d that left, %d counted", len(cr.workers), len(cr.left), len(o.counted))
	}
}

func TestLockstepKeepsNoWorkersOfEarlierGenerations(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	f := loopFlags{steps: 20}
	f.dir, f.fleet.verify = dir, -1
	for i, arg := range tiny(dir, "--set", "schedule=lockstep") {
		if i > 2 && arg != "--set" {
			f.sets = append(f.sets, arg)
		}
	}
	_, l, err := f.train(t.Context(), newProgress(io.Discard), true)
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.metrics.Snapshot()
	if n := len(l.crew.workers) + len(l.crew.left); err != nil || n != 0 || s["kirin_selfplay_plies_total"] == 0 {
		t.Errorf("%d workers are kept, %g plies are counted, %v", n, s["kirin_selfplay_plies_total"], err)
	}
}

func TestGamesAreNumberedOnAfterARestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	numbers := func() map[dataset.ID]int64 {
		t.Helper()
		out := map[dataset.ID]int64{}
		for _, e := range indexOfRun(t, dir) {
			out[e.ID] = e.Number
		}
		return out
	}
	mustRun(t, tiny(dir, "--games", "6", "--set", "loop.first_positions=1000000")...)
	before := numbers()
	mustRun(t, "train", "--dir", dir, "--games", fmt.Sprint(len(before)+4))
	after := numbers()
	mustRun(t, "selfplay", "--dir", dir, "--games", "3", "--name", "a")
	last := numbers()
	least := func(all, but map[dataset.ID]int64) int64 {
		n := int64(1 << 60)
		for id, x := range all {
			if _, old := but[id]; !old {
				n = min(n, x)
			}
		}
		return n
	}
	if len(before) < 6 || len(after) < len(before)+4 || least(after, before) < int64(len(before)) {
		t.Errorf("%d games, then %d, the new ones are numbered from %d", len(before), len(after), least(after, before))
	}
	if len(last) != len(after)+3 || least(last, after) < int64(len(before)) {
		t.Errorf("%d games, then %d, another process numbers from %d", len(after), len(last), least(last, after))
	}
}

func TestAFolderOfGamesBeyondItsLimitIsMentionedOnce(t *testing.T) {
	dir := trained(t)
	l, said := openLearner(t, dir)
	r := l.run
	r.cfg.Data.MaxDisk = 1
	var err error
	if l.store, err = dataset.OpenStore(r.path("games"), r.cfg.Data); err != nil {
		t.Fatal(err)
	}
	l.keepStore()
	l.keepStore()
	if n := strings.Count(said.String(), "more than data.max_disk"); n != 1 {
		t.Errorf("%q", said.String())
	}
}

func TestAPointOfTheCurvesThatCannotBeWrittenIsMentionedOnce(t *testing.T) {
	dir := t.TempDir()
	h, err := metrics.OpenHistory(filepath.Join(dir, "log.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	l, said := openLearner(t, trained(t))
	w := &web{history: h, recorder: metrics.NewRecorder(l.metrics, h), monitor: newMonitor(l.metrics, &crew{})}
	for i := range 3 {
		w.point(time.Now().Add(time.Duration(i)*time.Hour), l)
	}
	if n := strings.Count(said.String(), "the curves lack a point"); n != 1 {
		t.Errorf("%q", said.String())
	}
}

func TestTheFirstPlayersScoreIsThatOfWhoBegins(t *testing.T) {
	for _, c := range []struct {
		start  string
		winner rules.Side
		score  float64
	}{
		{"rbsgk/4p/5/P4/KGSBR b - 1", rules.Sente, 1},
		{"rbsgk/4p/5/P4/KGSBR b - 1", rules.Gote, 0},
		{"1bsgk/4p/5/P4/KGSBR w - 1", rules.Gote, 1},
		{"1bsgk/4p/5/P4/KGSBR w - 1", rules.Sente, 0},
	} {
		o := newMonitor(metrics.New(), &crew{})
		won := rules.Value{Win: 1}
		if c.score == 0 {
			won = rules.Value{Loss: 1}
		}
		target := []dataset.MoveWeight{{Weight: 65535}}
		o.finished(&dataset.Game{
			Start: c.start, Outcome: rules.Outcome{Result: rules.Winner(c.winner), Reason: rules.Checkmate},
			Plies: []dataset.Ply{{Value: won, Target: target}, {Value: won.Flip(), Target: target}},
		})
		o.health()
		s, err := o.metrics.Snapshot()
		if err != nil || s["kirin_selfplay_first_player_score_ratio"] != c.score || s["kirin_selfplay_value_error_ratio"] != 0 {
			t.Errorf("%+v: score %g, value error %g, %v", c, s["kirin_selfplay_first_player_score_ratio"], s["kirin_selfplay_value_error_ratio"], err)
		}
	}
}

func TestWhatTheTrainerRemovesDuringACheckIsNoFault(t *testing.T) {
	dir := trained(t)
	r, err := openRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	// Listed, and gone when it is read.
	if err := errors.Join(os.Symlink("nowhere", r.weightsFile(99)), os.Symlink("nowhere", r.checkpointDir(99))); err != nil {
		if os.Getenv("KIRIN_REQUIRE") == "all" {
			t.Fatal(err)
		}
		t.Skipf("no symbolic links here: %v", err)
	}
	if rep, err := checkRun(dir, false); err != nil || len(rep.Faults) > 0 {
		t.Errorf("%v, %q", err, rep.Faults)
	}
}

func TestGamesGoToStandardOutputAlsoFromInsideARun(t *testing.T) {
	dir := trained(t)
	t.Chdir(dir)
	if out := mustRun(t, "export", "--games", ".", "--format", "usi", "--out", "-"); !strings.HasPrefix(out, "position ") {
		t.Errorf("%q", out)
	}
	if status, _, errs := kirin(t, "export", "--games", ".", "--format", "usi", "--out", "x.usi"); status == 0 || !strings.Contains(errs, "inside the run") {
		t.Errorf("%q", errs)
	}
}
