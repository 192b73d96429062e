package dataset

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestATornRecordIsCutOffAndTheRestKept(t *testing.T) {
	codec, games := NewCodec(), randomGames(loadGame(t, "minishogi"), 0, 3, 20)
	path := filepath.Join(t.TempDir(), "j")
	fsys := &faultyFS{FS: OS()}
	j, _, err := OpenJournal(fsys, path, codec)
	if err != nil {
		t.Fatal(err)
	}
	var ends []int64
	for _, g := range games {
		if err := j.Append(g); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, j.Size())
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := ends[1]; cut < ends[2]; cut += 7 {
		for _, tail := range []string{"", strings.Repeat("\x00", 50)} {
			if tail != "" && cut > ends[1] {
				continue
			}
			if err := os.WriteFile(path, append(whole[:cut:cut], tail...), 0o666); err != nil {
				t.Fatal(err)
			}
			j, old, err := OpenJournal(fsys, path, codec)
			if err != nil {
				t.Fatal(err)
			}
			if ids(old.Games) != ids(games[:2]) || len(old.Damage) > 0 || old.Torn != cut-ends[1]+int64(len(tail)) {
				t.Fatalf("cut at %d: %d games, damage %v, torn %d", cut, len(old.Games), old.Damage, old.Torn)
			}
			if err := j.Append(games[2]); err != nil {
				t.Fatal(err)
			}
			j.Close()
			if got, err := os.ReadFile(path); err != nil || string(got) != string(whole) {
				t.Fatalf("cut at %d: the journal is not whole again", cut)
			}
		}
	}
}

func TestAFlippedByteInAJournalCostsOneGameAndIsPutAside(t *testing.T) {
	games := randomGames(loadGame(t, "minishogi"), 0, 4, 8)
	dir := t.TempDir()
	w := openWriter(t, openStore(t, dir, nil), "w0")
	appendAll(t, w, games)
	path := w.journal.Path()
	w.journal.Close()
	w.lock.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := range whole {
		b := append([]byte{}, whole...)
		b[at] ^= 0x41
		r := &Replay{}
		if err := r.scan(b, w.s.codec); err != nil {
			t.Fatalf("byte %d: %v", at, err)
		}
		if len(r.Games) != 3 || len(r.Damage) != 1 || r.Torn != 0 {
			t.Fatalf("byte %d: %d games, damage %v, torn %d", at, len(r.Games), r.Damage, r.Torn)
		}
	}
	for _, at := range []int{0, 5, 100, len(whole) / 2, len(whole) - 1} {
		dir := t.TempDir()
		b := append([]byte{}, whole...)
		b[at] ^= 0x41
		journal := filepath.Join(dir, "minishogi", journalsDir, "w0-000001.journal")
		if err := errors.Join(os.MkdirAll(filepath.Dir(journal), 0o777), os.WriteFile(journal, b, 0o666)); err != nil {
			t.Fatal(err)
		}
		var found []Damage
		s := openStore(t, dir, func(o *Options) { o.OnDamage = func(d Damage) { found = append(found, d) } })
		r, err := s.Recover()
		if err != nil {
			t.Fatalf("byte %d: %v", at, err)
		}
		if r.Games != 3 || len(found) != 1 || found[0].Saved != "quarantine/minishogi/journals/w0-000001.journal" {
			t.Fatalf("byte %d: %d games, damage %v", at, r.Games, found)
		}
		if got := drain(t, s.Feed()); len(got) != 3 {
			t.Fatalf("byte %d: %d games", at, len(got))
		}
		saved, err := os.ReadFile(filepath.Join(dir, found[0].Saved))
		if err != nil || string(saved) != string(b) {
			t.Fatalf("byte %d: the damaged journal was not kept: %v", at, err)
		}
	}
}

func TestAnyFlippedByteOrCutOfAShardIsNoticedAndTheShardPutAside(t *testing.T) {
	games := randomGames(loadGame(t, "minishogi"), 0, 6, 12)
	dir := t.TempDir()
	s := openStore(t, dir, func(o *Options) { o.SealGames = 3 })
	w := openWriter(t, s, "w0")
	appendAll(t, w, games)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, files(t, dir)[0])
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := range whole {
		b := append([]byte{}, whole...)
		b[at] ^= 0x20
		if _, err := parseShard(b); !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d of %d flipped: %v", at, len(whole), err)
		}
		if _, err := parseShard(whole[:at]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut at %d: %v", at, err)
		}
	}
	whole[len(whole)/2] ^= 1
	if err := os.WriteFile(path, whole, 0o666); err != nil {
		t.Fatal(err)
	}
	var found []Damage
	s = openStore(t, dir, func(o *Options) { o.OnDamage = func(d Damage) { found = append(found, d) } })
	if got := drain(t, s.Feed()); ids(got) != ids(games[3:]) {
		t.Fatal("the intact shard was not read")
	}
	if len(found) != 1 || !strings.Contains(found[0].String(), "checksum") {
		t.Fatalf("damage %v", found)
	}
	reason, err := os.ReadFile(filepath.Join(dir, found[0].Saved+reasonExt))
	if err != nil || !strings.Contains(string(reason), "checksum") {
		t.Fatalf("reason %q: %v", reason, err)
	}
	if w := openWriter(t, s, "w0"); w.seq != 2 {
		t.Errorf("the worker goes on after unit %d", w.seq)
	}
}

func TestTheRecordsOfAJournalAreFoundWithoutDecodingThem(t *testing.T) {
	codec := NewCodec()
	var b []byte
	var want []Span
	for _, g := range randomGames(loadGame(t, "minishogi"), 0, 4, 200) {
		at := len(b)
		var err error
		if b, err = codec.Encode(b, g); err != nil {
			t.Fatal(err)
		}
		want = append(want, Span{int64(at), len(b) - at})
		if len(want) == 2 {
			b = append(b, "garbage"...)
		}
	}
	b[want[2].Offset+int64(want[2].Bytes)-1] ^= 1 // in the payload
	b = append(b, b[:50]...)                      // an unfinished record
	want = append(want[:2], want[3])
	got, damage := Spans(b)
	if !slices.Equal(got, want) || len(damage) != 2 {
		t.Errorf("%v and %v, want %v", got, damage, want)
	}
}
