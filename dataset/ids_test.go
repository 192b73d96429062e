package dataset

import (
	"errors"
	"testing"

	"kirin/rules"
)

func TestAShardStoredAtOnceIsNumberedBetweenTheJournals(t *testing.T) {
	s := openStore(t, t.TempDir(), nil)
	w, err := s.Writer("w0")
	if err != nil {
		t.Fatal(err)
	}
	games := randomGames(loadGame(t, "minishogi"), 0, 9, 20)
	if err := w.AppendAll(games[:3]...); err != nil {
		t.Fatal(err)
	}
	if n := w.Open(); n != 3 {
		t.Errorf("%d games are open, want 3", n)
	}
	for range 2 { // the second call must change nothing
		if err := w.AppendAll(games[:3]...); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.AppendShard(games[3:8]); err != nil {
		t.Fatal(err)
	}
	if n := w.Open(); n != 0 {
		t.Errorf("%d games are open, want none", n)
	}
	if err := w.Append(games[8]); err != nil {
		t.Fatal(err)
	}
	ids, err := s.IDsOf("minishogi", games[0].Net, games[0].Step)
	if err != nil || len(ids) != len(games) {
		t.Errorf("%d ids, want %d (%v)", len(ids), len(games), err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	index, err := s.Index()
	if err != nil || len(index) != len(games) {
		t.Fatalf("%d games, want %d (%v)", len(index), len(games), err)
	}
	for i, e := range index {
		if e.ID != games[i].ID {
			t.Errorf("game %d has come to another place", i)
		}
	}
	if ids, err := s.IDsOf("minishogi", "0000", 3); err != nil || len(ids) != 0 {
		t.Errorf("an unknown net has %d games (%v)", len(ids), err)
	}
}

func TestAResultThatTheBoardDoesNotShowIsToldApart(t *testing.T) {
	v := loadGame(t, "minishogi")
	g := randomGame(v, 1, 400)
	if g.Truncated {
		t.Fatal("the game does not end")
	}
	g.Outcome.Result = rules.Winner(rules.Sente)
	if g.Outcome.Result == randomGame(v, 1, 400).Outcome.Result {
		g.Outcome.Result = rules.Winner(rules.Gote)
	}
	if err := Replayable(v, g); !errors.Is(err, ErrResult) || !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v", err)
	}
}
