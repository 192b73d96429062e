package dataset

import (
	"math"
	"testing"

	"kirin/rules"
)

// repeatedExactly counts all positions of a window.
func repeatedExactly(t *testing.T, w *Window, v *rules.Variant) (share float64, positions int) {
	t.Helper()
	count := map[uint64]int{}
	pos := v.Start()
	var keys []uint64
	for i := range w.Games() {
		g := w.Game(i)
		for j := range g.Positions() {
			g.Position(j).Replay(pos)
			keys = append(keys, pos.Key())
			count[pos.Key()]++
		}
	}
	repeated := 0
	for _, k := range keys {
		if count[k] > 1 {
			repeated++
		}
	}
	return float64(repeated) / float64(len(keys)), len(keys)
}

func TestRepeatedPositionsAreCountedWhileGamesComeAndGo(t *testing.T) {
	v := loadGame(t, "minishogi")
	w := newWindow(t, v, func(o *WindowOptions) { o.MinPositions, o.Exponent, o.Scale = 2000, 1, 0.1 })
	if w.Repeated() != 0 {
		t.Error("an empty window has repeated positions")
	}
	for n := range int64(300) {
		g := randomGame(v, n-n%3/2, 60) // every third plays the moves of the one before
		g.Number = n
		g.SetID()
		if added, err := w.Add(g); err != nil || !added {
			t.Fatal(added, err)
		}
	}
	want, n := repeatedExactly(t, w, v)
	if got := w.Repeated(); math.Abs(got-want) > 0.05 || want < 0.4 || w.Games() > 250 {
		t.Errorf("%.3f of %d positions are repeated, the window says %.3f", want, n, got)
	}
	all := int64(0)
	for i := range w.Games() {
		all += int64(len(w.Game(i).keys))
	}
	if w.repeats.all != all || len(w.repeats.count) > int(all) {
		t.Errorf("%d positions are looked at, the window holds %d", w.repeats.all, all)
	}
}

func TestAReplyIsTheNextPositionOfTheGame(t *testing.T) {
	v := loadGame(t, "minishogi")
	w := newWindow(t, v, nil)
	g := randomGame(v, 3, 60)
	if _, err := w.Add(g); err != nil {
		t.Fatal(err)
	}
	c := w.Game(0)
	found := 0
	for i := range c.Positions() {
		s := c.Position(i)
		next := s.Ply + 1
		r, ok := s.Reply()
		if want := next < len(g.Plies) && len(g.Plies[next].Target) > 0; ok != want {
			t.Errorf("ply %d: a reply is there: %v", s.Ply, ok)
		}
		if ok {
			found++
			if r != c.Position(i+1) || r.Ply != next {
				t.Errorf("the reply to ply %d is of ply %d", s.Ply, r.Ply)
			}
		}
	}
	if found == 0 {
		t.Error("no reply was found")
	}
}
