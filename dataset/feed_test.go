package dataset

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kirin/rules"
)

func TestAFeedRestoredFromItsStateGoesOnWhereItWas(t *testing.T) {
	s := openStore(t, t.TempDir(), func(o *Options) { o.SealGames = 4 })
	games := randomGames(loadGame(t, "minishogi"), 0, 14, 8)
	w := openWriter(t, s, "w0")
	appendAll(t, w, games[:6]) // a shard of four, a journal of two
	feed := s.Feed()
	if got := drain(t, feed); ids(got) != ids(games[:6]) {
		t.Fatal("the games of the shard and the journal do not come")
	}
	state := feed.State()
	if !bytes.Equal(state, feed.State()) {
		t.Fatal("the state is not a function of what was given")
	}
	appendAll(t, w, games[6:13])
	again := s.Feed()
	if err := again.Restore(state); err != nil {
		t.Fatal(err)
	}
	if got := drain(t, again); ids(got) != ids(games[6:13]) {
		t.Fatal("the restored feed does not go on")
	}
	if err := w.Append(games[13]); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := drain(t, again); ids(got) != ids(games[13:]) {
		t.Fatal("the last game does not come")
	}
	for at := range state {
		b := append([]byte{}, state...)
		b[at] ^= 4
		if err := s.Feed().Restore(b); !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d of the state flipped: %v", at, err)
		}
	}
}

func TestAnOrderedFeedGivesGamesByNumberWithoutGaps(t *testing.T) {
	s := openStore(t, t.TempDir(), func(o *Options) { o.SealGames = 3 })
	games := randomGames(loadGame(t, "minishogi"), 0, 12, 8)
	a, b := openWriter(t, s, "a"), openWriter(t, s, "b")
	feed := s.OrderedFeed(0)
	var even, odd, got []*Game
	for i, g := range games {
		if i%2 == 0 {
			even = append(even, g)
		} else {
			odd = append(odd, g)
		}
	}
	appendAll(t, a, even[:5])
	got = append(got, drain(t, feed)...)
	if ids(got) != ids(games[:1]) || feed.Next() != 1 {
		t.Fatalf("%d games before the second is there", len(got))
	}
	state := feed.State()
	appendAll(t, b, odd[:2])
	got = append(got, drain(t, feed)...)
	if ids(got) != ids(games[:5]) {
		t.Fatalf("%d games instead of 5", len(got))
	}
	again := s.OrderedFeed(0)
	if err := again.Restore(state); err != nil {
		t.Fatal(err)
	}
	appendAll(t, a, even[5:])
	appendAll(t, b, odd[2:])
	if err := errors.Join(a.Close(), b.Close()); err != nil {
		t.Fatal(err)
	}
	if got := append(got, drain(t, feed)...); ids(got) != ids(games) {
		t.Fatal("the order is wrong")
	}
	if got := drain(t, again); ids(got) != ids(games[1:]) {
		t.Fatal("the restored feed's order is wrong")
	}
	if err := s.Feed().Restore(state); err == nil {
		t.Error("the state of an ordered feed was accepted by an unordered one")
	}
}

func TestAWindowRestoredFromItsCursorSamplesTheSame(t *testing.T) {
	s := openStore(t, t.TempDir(), func(o *Options) { o.SealGames = 5 })
	v := loadGame(t, "minishogi")
	games := randomGames(v, 0, 38, 30)
	w := openWriter(t, s, "w0")
	appendAll(t, w, games)
	small := func(o *WindowOptions) { o.MinPositions = 150 }
	window := newWindow(t, v, small)
	order := rand.New(rand.NewPCG(5, 5)).Perm(len(games))
	for _, i := range order[:34] {
		if _, err := window.Add(games[i]); err != nil {
			t.Fatal(err)
		}
	}
	cursor := window.Cursor()
	restored := newWindow(t, v, small)
	if err := restored.Restore(cursor, s); err != nil {
		t.Fatal(err)
	}
	for _, i := range order[34:] {
		for _, x := range []*Window{window, restored} {
			if ok, err := x.Add(games[i]); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
	}
	if !bytes.Equal(window.Cursor(), restored.Cursor()) || window.Bytes() != restored.Bytes() || window.Games() > 30 {
		t.Fatalf("the windows differ, or nothing left them (%d games)", window.Games())
	}
	a, b := make([]Sample, 200), make([]Sample, 200)
	rng := func() *rand.Rand { return rand.New(rand.NewPCG(8, 9)) }
	if err := errors.Join(window.Sample(rng(), a), restored.Sample(rng(), b)); err != nil {
		t.Fatal(err)
	}
	for i := range a {
		if a[i].Game.ID() != b[i].Game.ID() || a[i].Ply != b[i].Ply {
			t.Fatalf("sample %d differs", i)
		}
	}
	if err := newWindow(t, v, nil).Restore(cursor[:len(cursor)-1], s); !errors.Is(err, ErrDamaged) {
		t.Errorf("cut cursor: %v", err)
	}
	if err := restored.Restore(cursor, s); err == nil {
		t.Error("a window that holds games was restored")
	}
}

func TestARestoredWindowNamesMissingGames(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, func(o *Options) { o.SealGames = 4 })
	v := loadGame(t, "minishogi")
	games := randomGames(v, 0, 8, 20)
	appendAll(t, openWriter(t, s, "w0"), games)
	window := newWindow(t, v, nil)
	for _, g := range games {
		if _, err := window.Add(g); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(dir, files(t, dir)[0])); err != nil {
		t.Fatal(err)
	}
	restored := newWindow(t, v, nil)
	err := restored.Restore(window.Cursor(), s)
	if !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "4 of 8") || restored.Games() != 4 {
		t.Fatalf("%d games, %v", restored.Games(), err)
	}
}

func TestARestoredWindowPutsDamagedShardsAside(t *testing.T) {
	dir := t.TempDir()
	var reports []Damage
	s := openStore(t, dir, func(o *Options) {
		o.SealGames = 4
		o.OnDamage = func(d Damage) { reports = append(reports, d) }
	})
	v := loadGame(t, "minishogi")
	games := randomGames(v, 0, 8, 20)
	appendAll(t, openWriter(t, s, "w0"), games)
	window := newWindow(t, v, nil)
	for _, g := range games {
		if _, err := window.Add(g); err != nil {
			t.Fatal(err)
		}
	}
	name := files(t, dir)[1]
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 4
	if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
		t.Fatal(err)
	}
	restored := newWindow(t, v, nil)
	err = restored.Restore(window.Cursor(), s)
	if !errors.Is(err, ErrMissing) || restored.Games() != 4 || len(reports) != 1 || reports[0].Path != name {
		t.Fatalf("%d games, %v, reports %+v", restored.Games(), err, reports)
	}
	if report, err := Check(dir, true); err != nil || len(report.Damaged) > 0 {
		t.Errorf("after the restore: %v %+v", err, report)
	}
}

func TestRetentionDeletesTheOldestShardsThatNobodyNeeds(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, func(o *Options) { o.SealGames = 2 })
	v := loadGame(t, "minishogi")
	games := netsGames(t, 12, 6)
	w := openWriter(t, s, "w0")
	appendAll(t, w, games)
	if r, err := s.Retain(nil, nil); err != nil || r.Deleted != 0 || r.Bytes == 0 {
		t.Fatal(r, err)
	}
	all := files(t, dir)
	s.o.MaxDisk = 1
	feed := s.Feed()
	if r, err := s.Retain(nil, feed); err != nil || r.Deleted != 0 || r.Over == 0 {
		t.Fatalf("shards were deleted that the feed has not given: %+v %v", r, err)
	}
	drain(t, feed)
	window := newWindow(t, v, nil)
	for _, g := range games[4:] {
		if _, err := window.Add(g); err != nil {
			t.Fatal(err)
		}
	}
	r, err := s.Retain(window, feed)
	if err != nil || r.Deleted != 2 || r.Games != 4 || r.Over == 0 {
		t.Fatalf("%+v %v", r, err)
	}
	if diff := cmp.Diff(all[2:], files(t, dir)); diff != "" {
		t.Fatal(diff)
	}
	if r, err = s.Retain(nil, feed); err != nil || r.Deleted != 3 {
		t.Fatalf("%+v %v", r, err)
	}
	if diff := cmp.Diff(all[5:], files(t, dir)); diff != "" {
		t.Fatal(diff)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w := openWriter(t, s, "w0"); w.seq != 6 {
		t.Errorf("the worker goes on after unit %d", w.seq)
	}
}

func TestGamesAreFoundByIDNumberAndAge(t *testing.T) {
	s := openStore(t, t.TempDir(), func(o *Options) { o.SealGames = 3 })
	games := netsGames(t, 8, 5)
	appendAll(t, openWriter(t, s, "w0"), games)
	for i, g := range games {
		got, err := s.Find(g.ID)
		if err != nil {
			t.Fatalf("game %d: %v", i, err)
		}
		if diff := cmp.Diff(g, got); diff != "" {
			t.Fatal(diff)
		}
	}
	if _, err := s.Find(ID{1}); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown game: %v", err)
	}
	newest, err := s.Newest(3)
	if err != nil || ids(newest) != ids([]*Game{games[7], games[6], games[5]}) {
		t.Errorf("newest: %v\n%s", err, ids(newest))
	}
	if newest, err = s.Newest(100); err != nil || len(newest) != 8 {
		t.Errorf("%d newest games: %v", len(newest), err)
	}
	numbers, err := s.Numbers()
	if err != nil || len(numbers) != 8 || !numbers[7] {
		t.Errorf("numbers %v: %v", numbers, err)
	}
}

func FuzzScanJournal(f *testing.F) {
	codec := NewCodec()
	var journal []byte
	for _, g := range randomGames(loadGame(f, "minishogi"), 0, 3, 6) {
		var err error
		if journal, err = codec.Encode(journal, g); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(journal)
	f.Add(journal[:len(journal)-5])
	f.Add(append([]byte("KGM1 no"), journal...))
	f.Add([]byte("KGM1 noKGM1D\x02\x00\x00L\xb88*^6z\x8a(\xb5/\xfdD\x00w\x01\xad\x11\x00t"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := &Replay{}
		if err := r.scan(b, codec); err != nil {
			if !errors.Is(err, ErrNewer) {
				t.Fatal(err)
			}
			return
		}
		if r.End+r.Torn != int64(len(b)) {
			t.Fatalf("%d bytes read and %d torn of %d", r.End, r.Torn, len(b))
		}
		again := &Replay{} // damage at the end may now look torn
		if err := again.scan(b[:r.End], codec); err != nil || ids(again.Games) != ids(r.Games) {
			t.Fatalf("cut at its end the journal reads otherwise: %v", err)
		}
	})
}

func FuzzParseShard(f *testing.F) {
	s := openStore(f, f.TempDir(), nil)
	w := openWriter(f, s, "w0")
	appendAll(f, w, randomGames(loadGame(f, "minishogi"), 0, 2, 4))
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(s.Dir(), files(f, s.Dir())[0]))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b, false)
	f.Add(b, true)
	f.Add(b[:100], true)
	f.Fuzz(func(t *testing.T, b []byte, forge bool) {
		if forge { // a checksum that fits, so that what lies behind it is tried
			if at, err := crcOffset(b); err == nil {
				copy(b[at:], fileCRC(b, at))
			}
		}
		sh, err := parseShard(b)
		if err != nil {
			return
		}
		_ = sh.index(func(ID, int64, int64) error { return nil })
		err = sh.games(s.codec, func(g *Game) error {
			_, err := s.codec.Encode(nil, g)
			return err
		})
		if err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNewer) && !errors.Is(err, rules.ErrIllegalMove) {
			t.Fatal(err)
		}
	})
}
