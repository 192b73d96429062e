package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func openStore(t testing.TB, dir string, change func(*Options)) *Store {
	t.Helper()
	o := DefaultOptions()
	o.Clock = func() time.Time { return time.Unix(0, 0) }
	o.FS = &faultyFS{FS: OS()}
	if change != nil {
		change(&o)
	}
	s, err := OpenStore(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func openWriter(t testing.TB, s *Store, worker string) *Writer {
	t.Helper()
	w, err := s.Writer(worker)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func appendAll(t testing.TB, w *Writer, games []*Game) {
	t.Helper()
	for _, g := range games {
		if err := w.Append(g); err != nil {
			t.Fatal(err)
		}
	}
}

// drain polls until there is nothing new.
func drain(t testing.TB, f *Feed) []*Game {
	t.Helper()
	var games []*Game
	for {
		b, err := f.Poll(5)
		if err != nil {
			t.Fatal(err)
		}
		games = append(games, b.Games...)
		if !b.More {
			return games
		}
	}
}

// files lists the files below dir, without locks.
func files(t testing.TB, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasSuffix(path, lockExt) {
			rel, _ := filepath.Rel(dir, path)
			list = append(list, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// netsGames returns games of which those from the change on are played by another net.
func netsGames(t testing.TB, n, change int) []*Game {
	games := randomGames(loadGame(t, "minishogi"), 0, n, 10)
	for _, g := range games[change:] {
		g.Net, g.Step = strings.Repeat("fedcba9876543210", 4), 2400
		g.SetID()
	}
	return games
}

// wantOnce fails unless the store holds exactly these games, each once.
func wantOnce(t testing.TB, s *Store, games []*Game) {
	t.Helper()
	index, err := s.Index()
	if err != nil {
		t.Fatal(err)
	}
	count := map[ID]int{}
	for _, e := range index {
		count[e.ID]++
	}
	for i, g := range games {
		if count[g.ID] != 1 {
			t.Fatalf("game %d is stored %d times", i, count[g.ID])
		}
	}
	if len(index) != len(games) {
		t.Fatalf("%d games are stored instead of %d", len(index), len(games))
	}
}

func TestGamesComeBackFromShardsAsTheyWere(t *testing.T) {
	s := openStore(t, t.TempDir(), func(o *Options) { o.SealGames = 3 })
	games := netsGames(t, 8, 5)
	w := openWriter(t, s, "w0")
	appendAll(t, w, games)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"minishogi/000001200-0123456789ab/w0-000001.parquet", "minishogi/000001200-0123456789ab/w0-000002.parquet",
		"minishogi/000002400-fedcba987654/w0-000003.parquet",
	}
	if diff := cmp.Diff(want, files(t, s.Dir())); diff != "" {
		t.Fatal(diff)
	}
	var got []*Game
	for g, err := range s.All() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, g)
	}
	if diff := cmp.Diff(games, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestShardsOfEveryVariantRoundTrip(t *testing.T) {
	s := openStore(t, t.TempDir(), nil)
	w := openWriter(t, s, "w0")
	var games []*Game
	for _, name := range []string{"chushogi", "minishogi", "shogi", "torishogi"} {
		games = append(games, randomGames(loadGame(t, name), 0, 3, 120)...)
	}
	appendAll(t, w, games)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(games, drain(t, s.Feed())); diff != "" {
		t.Fatal(diff)
	}
}

// run appends games to a new writer and returns those that were acknowledged.
func run(s *Store, games []*Game) (stored []*Game, w *Writer, err error) {
	w, err = s.Writer("w0")
	if err != nil {
		return nil, nil, err
	}
	for _, g := range games {
		if err := w.Append(g); err != nil {
			return stored, w, err
		}
		stored = append(stored, g)
	}
	return stored, w, w.Close()
}

func TestAWorkerKilledAtAnyStepLosesAndDoublesNothing(t *testing.T) {
	games := netsGames(t, 8, 5)
	small := func(o *Options) { o.SealGames = 3 }
	probe := &faultyFS{FS: OS()}
	if _, _, err := run(openStore(t, t.TempDir(), func(o *Options) { small(o); o.FS = probe }), games); err != nil {
		t.Fatal(err)
	}
	if probe.steps() < 40 {
		t.Fatalf("only %d steps", probe.steps())
	}
	for k := 1; k <= probe.steps(); k++ {
		dir := t.TempDir()
		dying := &faultyFS{FS: OS(), from: k, err: errKilled}
		var stored []*Game
		var w *Writer
		o := DefaultOptions()
		o.SealGames, o.FS = 3, dying
		s, err := OpenStore(dir, o)
		if err == nil {
			stored, w, err = run(s, games)
		}
		if !errors.Is(err, errKilled) {
			t.Fatalf("step %d: %v", k, err)
		}
		if w != nil {
			w.lock.Close()
			if w.journal != nil {
				w.journal.Close()
			}
		}
		s = openStore(t, dir, small)
		feed := s.Feed()
		early := drain(t, feed)
		if len(early) < len(stored) {
			t.Fatalf("step %d: the feed gives %d games of %d", k, len(early), len(stored))
		}
		// A restarted worker plays again what it does not know to be stored.
		if _, _, err := run(s, games[len(stored):]); err != nil {
			t.Fatalf("step %d: %v", k, err)
		}
		wantOnce(t, s, games)
		if got := append(early, drain(t, feed)...); ids(got) != ids(games) {
			t.Fatalf("step %d: the feed gave\n%sinstead of\n%s", k, ids(got), ids(games))
		}
		for _, f := range files(t, dir) {
			if !strings.HasSuffix(f, shardExt) {
				t.Fatalf("step %d: %s is left", k, f)
			}
		}
	}
}

func TestAFullDiskAtAnyStepIsAnErrorAfterWhichTheWorkerGoesOn(t *testing.T) {
	games := netsGames(t, 8, 5)
	probe := &faultyFS{FS: OS()}
	s := openStore(t, t.TempDir(), func(o *Options) { o.SealGames, o.FS = 3, probe })
	first := probe.steps()
	if _, _, err := run(s, games); err != nil {
		t.Fatal(err)
	}
	for k := first + 1; k <= probe.steps(); k++ {
		full := &faultyFS{FS: OS(), err: fmt.Errorf("write: %w", syscall.ENOSPC)}
		s := openStore(t, t.TempDir(), func(o *Options) { o.SealGames, o.FS = 3, full })
		full.from, full.until = k, k+4
		w, err := s.Writer("w0")
		for err != nil {
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("step %d: %v", k, err)
			}
			w, err = s.Writer("w0")
		}
		for i, g := range games {
			for tries := 0; ; tries++ {
				err := w.Append(g)
				if err == nil {
					break
				}
				if !errors.Is(err, syscall.ENOSPC) || tries == 5 {
					t.Fatalf("step %d, game %d: %v", k, i, err)
				}
				stillWhole(t, s, games[:i])
			}
		}
		err = w.Close()
		if err != nil {
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("step %d: %v", k, err)
			}
			w = openWriter(t, openStore(t, s.Dir(), nil), "w0")
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
		wantOnce(t, openStore(t, s.Dir(), nil), games)
	}
}

// stillWhole checks a store after a failed write: no unfinished file, every acknowledged game readable, no damage.
func stillWhole(t *testing.T, s *Store, stored []*Game) {
	t.Helper()
	plain := openStore(t, s.Dir(), func(o *Options) {
		o.OnDamage = func(d Damage) { t.Fatalf("damage: %v", d) }
	})
	have := map[ID]bool{}
	for _, g := range drain(t, plain.Feed()) {
		have[g.ID] = true
	}
	for i, g := range stored {
		if !have[g.ID] {
			t.Fatalf("game %d is lost", i)
		}
	}
	for _, f := range files(t, s.Dir()) {
		if strings.Contains(f, tmpSuffix) {
			t.Fatalf("%s is left", f)
		}
	}
}

func TestANameIsUsedByOneWriterAtATime(t *testing.T) {
	s := openStore(t, t.TempDir(), nil)
	w := openWriter(t, s, "w0")
	if _, err := s.Writer("w0"); !errors.Is(err, ErrLocked) {
		t.Fatalf("second writer: %v", err)
	}
	games := randomGames(loadGame(t, "minishogi"), 0, 1, 5)
	appendAll(t, w, games)
	if r, err := s.Recover(); err != nil || r.Journals != 0 {
		t.Fatalf("recovery touched a living worker's journal: %v %v", r, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Append(games[0]); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("append after close: %v", err)
	}
	for _, name := range []string{"", "../x", "A", "a.b", "-a", "a b", strings.Repeat("a", 65)} {
		if _, err := s.Writer(name); err == nil {
			t.Errorf("worker name %q accepted", name)
		}
	}
}

func TestAFolderWithoutWritePermissionIsOneSentence(t *testing.T) {
	o := DefaultOptions()
	o.FS = &faultyFS{FS: OS(), from: 1, err: &fs.PathError{Op: "mkdir", Path: "games", Err: fs.ErrPermission}}
	_, err := OpenStore(filepath.Join(t.TempDir(), "games"), o)
	if !errors.Is(err, fs.ErrPermission) || err.Error() != "games folder: mkdir games: permission denied" {
		t.Fatal(err)
	}
}

func TestAgeAndSizeSealAJournal(t *testing.T) {
	now := time.Unix(0, 0)
	s := openStore(t, t.TempDir(), func(o *Options) { o.Clock = func() time.Time { return now } })
	w := openWriter(t, s, "w0")
	games := randomGames(loadGame(t, "minishogi"), 0, 3, 5)
	appendAll(t, w, games[:2])
	now = now.Add(59 * time.Second)
	if err := w.Tick(); err != nil || w.journal == nil {
		t.Fatal("sealed too early", err)
	}
	now = now.Add(time.Second)
	if err := w.Tick(); err != nil || w.journal != nil {
		t.Fatal("not sealed", err)
	}
	s.o.SealBytes = 10
	appendAll(t, w, games[2:])
	if w.journal != nil {
		t.Fatal("not sealed")
	}
	wantOnce(t, s, games)
}

func TestWorkersWriteWhileTheFeedReads(t *testing.T) {
	dir := t.TempDir()
	v := loadGame(t, "minishogi")
	const workers, each = 3, 40
	var wg sync.WaitGroup
	for k := range workers {
		wg.Go(func() {
			s := openStore(t, dir, func(o *Options) { o.SealGames = 7 })
			w, err := s.Writer(fmt.Sprintf("w%d", k))
			if err != nil {
				t.Error(err)
				return
			}
			for i := range int64(each) {
				g := randomGame(v, int64(k)*1000+i, 10)
				if i >= each/2 {
					g.Step, g.ID = 5000, ID{}
				}
				if err := w.Append(g); err != nil {
					t.Error(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	s := openStore(t, dir, func(o *Options) { o.OnDamage = func(d Damage) { t.Errorf("damage: %v", d) } })
	feed, seen := s.Feed(), map[ID]bool{}
	for last := false; ; {
		b, err := feed.Poll(10)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range b.Games {
			if seen[g.ID] {
				t.Fatal("a game came twice")
			}
			seen[g.ID] = true
		}
		if last && !b.More {
			break
		}
		select {
		case <-done:
			last = true
		default:
		}
	}
	if len(seen) != workers*each {
		t.Errorf("%d games of %d", len(seen), workers*each)
	}
}
