package dataset

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// checkedStore has two shards, a journal and an unfinished file.
func checkedStore(t *testing.T) (dir string, games []*Game) {
	dir = t.TempDir()
	s := openStore(t, dir, func(o *Options) { o.SealGames = 4 })
	games = netsGames(t, 11, 4)
	w := openWriter(t, s, "w0")
	appendAll(t, w, games[:9])
	if err := w.Append(games[8]); err != nil {
		t.Fatal(err)
	}
	other := openWriter(t, s, "w1")
	appendAll(t, other, games[8:]) // game 8 is stored twice
	if err := os.WriteFile(filepath.Join(dir, "minishogi/000001200-0123456789ab/.w0-000009.parquet.tmp"), []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir, games
}

func TestCheckCountsWhatIsThere(t *testing.T) {
	dir, games := checkedStore(t)
	before := files(t, dir)
	for _, deep := range []bool{false, true} {
		r, err := Check(dir, deep)
		if err != nil {
			t.Fatal(err)
		}
		plies, positions, results := int64(0), int64(0), int64(0)
		for _, g := range games {
			plies += int64(len(g.Plies))
			positions += int64(g.Positions())
		}
		for _, n := range r.Results {
			results += n.Games
		}
		if r.Shards != 2 || r.Journals != 2 || r.Games != 11 || results != 11 || r.Plies != plies || r.Positions != positions ||
			r.Duplicates != 1 || r.Nets != 2 || r.FirstStep != 1200 || r.LastStep != 2400 || len(r.Damaged) != 0 ||
			len(r.Unfinished) != 1 || r.Bytes == 0 {
			t.Errorf("deep %v: %+v", deep, r)
		}
		var text bytes.Buffer
		r.Write(&text)
		if !strings.Contains(text.String(), "games       11 of") || !strings.Contains(text.String(), "stored twice") {
			t.Errorf("report:\n%s", &text)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(before, files(t, dir)); diff != "" {
		t.Errorf("the check changed files: %s", diff)
	}
}

func TestCheckNamesEveryDamagedFile(t *testing.T) {
	dir, _ := checkedStore(t)
	spoil := func(name string, at int) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b[at] ^= 1
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	spoil("minishogi/000001200-0123456789ab/w0-000001.parquet", 500)
	spoil("minishogi/journals/w1-000001.journal", 30)
	r, err := Check(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range r.Damaged {
		got = append(got, d.String())
	}
	want := []string{
		"minishogi/000001200-0123456789ab/w0-000001.parquet: the file's checksum is wrong",
		"minishogi/journals/w1-000001.journal: the checksum of a record is wrong",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	s := openStore(t, dir, nil)
	drain(t, s.Feed())
	if r, err = Check(dir, false); err != nil || len(r.Quarantined) != 1 || len(r.Damaged) != 1 || r.Games != 7 {
		t.Errorf("after the feed: %+v, %v", r, err)
	}
}

func TestDeepCheckFindsGamesThatDoNotReplay(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, nil)
	w := openWriter(t, s, "w0")
	appendAll(t, w, randomGames(loadGame(t, "minishogi"), 0, 3, 10))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, files(t, dir)[0])
	forged := strings.TrimSuffix(path, "w0-000001.parquet") + "w0-000002.parquet"
	err := writeWhole(OS(), forged, func(f File) error {
		sw := newShardWriter(f, s.codec)
		g := randomGame(loadGame(t, "minishogi"), 7, 10)
		if err := sw.add(g); err != nil {
			return err
		}
		// The same row once more, with a result that the board does not show and the id of another game.
		sw.row[0].ID = "00" + sw.row[0].ID[2:]
		sw.row[0].Truncated, sw.row[0].Result, sw.row[0].Reason = false, "sente", "checkmate"
		sw.info.Games++
		if _, err := sw.w.Write(sw.row[:]); err != nil {
			return err
		}
		return sw.close()
	})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := Check(dir, false); err != nil || len(r.Damaged) != 0 {
		t.Fatalf("%+v %v", r, err)
	}
	r, err := Check(dir, true)
	if err != nil || len(r.Damaged) != 1 || !strings.Contains(r.Damaged[0].Reason, "game 2") {
		t.Fatalf("%+v %v", r, err)
	}
}

func TestCheckOfAnEmptyFolderFindsNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	r, err := Check(dir, true)
	if err != nil || r.Games != 0 || r.FirstStep != 0 {
		t.Fatal(r, err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the folder was created")
	}
}

func TestMergeWritesEachGameOnceAndCanBeRead(t *testing.T) {
	dir, games := checkedStore(t)
	s := openStore(t, dir, nil)
	path := filepath.Join(t.TempDir(), "all.parquet")
	n, err := s.Merge(path)
	if err != nil || n != len(games) {
		t.Fatal(n, err)
	}
	sh, err := openShard(OS(), path)
	if err != nil {
		t.Fatal(err)
	}
	have := map[ID]bool{}
	if err := sh.games(s.codec, func(g *Game) error { have[g.ID] = true; return nil }); err != nil || len(have) != n {
		t.Fatal(len(have), err)
	}
}
