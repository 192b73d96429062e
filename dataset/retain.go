package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Retention is what Retain did.
type Retention struct {
	Bytes   int64 // taken by shards, journals and what was put aside, after deleting
	Deleted int   // shards
	Games   int   // in them
	Over    int64 // bytes above max_disk that could not be freed, because the shards are still needed
}

// Retain deletes the oldest shards until the store takes no more than Options.MaxDisk. It stops at the first shard that
// holds a game of the window or that the feed has not given yet, and never deletes the newest shard of a worker, whose
// name tells where the worker has to go on. The window and the feed may be nil. Call it right after a checkpoint: the
// checkpoint's cursor then names no game that is deleted.
func (s *Store) Retain(w *Window, f *Feed) (Retention, error) {
	var r Retention
	shards, err := s.sizedShards()
	if err != nil {
		return r, fmt.Errorf("games folder: %w", err)
	}
	if r.Bytes, err = s.usage(shards); err != nil {
		return r, fmt.Errorf("games folder: %w", err)
	}
	limit := int64(s.o.MaxDisk)
	if limit == 0 {
		return r, nil
	}
	newest := map[string]int64{}
	for _, l := range shards {
		newest[l.worker] = max(newest[l.worker], l.seq)
	}
	for _, l := range shards {
		if r.Bytes <= limit {
			break
		}
		if l.seq == newest[l.worker] {
			continue
		}
		if f != nil && !f.done(l.unit) {
			break
		}
		ids, last, err := s.storedIDs(l)
		if errors.Is(err, ErrDamaged) || errors.Is(err, fs.ErrNotExist) {
			continue // the feed's business
		}
		if err != nil {
			return r, err
		}
		if w != nil && w.holdsAny(ids) || f != nil && f.ordered && last >= f.next {
			break
		}
		if err := s.fsys.Remove(s.path(l)); err != nil {
			return r, err
		}
		r.Bytes -= l.size
		r.Deleted++
		r.Games += len(ids)
	}
	r.Over = max(0, r.Bytes-limit)
	return r, nil
}

func (w *Window) holdsAny(ids map[ID]bool) bool {
	for _, c := range w.games[w.head:] {
		if ids[c.id] {
			return true
		}
	}
	return false
}

// usage returns the bytes of all files of the store.
func (s *Store) usage(shards []located) (int64, error) {
	journals, err := s.journals()
	if err != nil {
		return 0, err
	}
	total := int64(0)
	for _, l := range slices.Concat(shards, journals) {
		total += l.size
	}
	aside, err := s.quarantined()
	if err != nil {
		return 0, err
	}
	for _, path := range aside {
		n, err := sizeOf(s.fsys, filepath.Join(s.dir, filepath.FromSlash(path)))
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// sizeOf returns the length of a file, 0 if it is gone.
func sizeOf(fsys FS, path string) (int64, error) {
	f, err := fsys.Open(path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}
