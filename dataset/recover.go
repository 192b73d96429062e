package dataset

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kirin/dataset/whole"
)

// Recovery tells what was found of workers that died.
type Recovery struct {
	Journals int // journals that became shards or were already in one
	Games    int // games in them
}

// Recover puts in order what dead workers left, so that their games count: journals of workers that no living process
// uses become shards. Damaged parts are put aside and reported to Options.OnDamage.
func (s *Store) Recover() (Recovery, error) {
	var total Recovery
	journals, err := s.journals()
	if err != nil {
		return total, fmt.Errorf("games folder: %w", err)
	}
	var workers []string
	for _, j := range journals {
		workers = append(workers, j.worker)
	}
	slices.Sort(workers)
	for _, worker := range slices.Compact(workers) {
		lock, err := s.lockWorker(worker)
		if errors.Is(err, ErrLocked) {
			continue
		}
		if err != nil {
			return total, err
		}
		r, err := s.recoverWorker(worker)
		total.Journals += r.Journals
		total.Games += r.Games
		if err := errors.Join(err, lock.Close()); err != nil {
			return total, fmt.Errorf("games of worker %s: %w", worker, err)
		}
	}
	return total, nil
}

// recoverWorker does the work of Recover for one worker, whose lock the caller holds.
func (s *Store) recoverWorker(worker string) (Recovery, error) {
	var total Recovery
	variants, err := s.variants()
	if err != nil {
		return total, err
	}
	for _, v := range variants {
		if err := s.removeTemporary(v, worker); err != nil {
			return total, err
		}
	}
	journals, err := s.journals()
	if err != nil {
		return total, err
	}
	journals = slices.DeleteFunc(journals, func(l located) bool { return l.worker != worker })
	if len(journals) == 0 {
		return total, nil
	}
	shards, err := s.shards()
	if err != nil {
		return total, err
	}
	for _, j := range journals {
		n, err := s.recoverJournal(j, shards)
		if err != nil {
			return total, err
		}
		total.Journals++
		total.Games += n
	}
	return total, nil
}

// recoverJournal makes a shard of a journal whose worker is gone. Its shard may be there already: then the worker died
// between naming the shard and deleting the journal.
func (s *Store) recoverJournal(j located, shards []located) (int, error) {
	r, err := ReadJournal(s.fsys, s.journalPath(j.unit), s.codec)
	if err != nil {
		return 0, err
	}
	games := r.Games
	for _, sh := range shards {
		if sh.unit != j.unit {
			continue
		}
		stored, _, err := s.storedIDs(sh)
		if errors.Is(err, ErrDamaged) {
			if err := s.quarantineShard(sh, err); err != nil {
				return 0, err
			}
			continue
		}
		if err != nil {
			return 0, err
		}
		games = slices.DeleteFunc(slices.Clone(games), func(g *Game) bool { return stored[g.ID] })
	}
	if len(games) > 0 {
		u := j.unit
		if len(games) < len(r.Games) { // the shard of this name is intact but not of this journal: both must stay
			now, err := s.shards() // an earlier journal of this worker may have become one
			if err != nil {
				return 0, err
			}
			last, err := s.lastSeq(j.worker, now)
			if err != nil {
				return 0, err
			}
			u.seq = last + 1
		}
		if err := s.writeUnit(u, games); err != nil {
			return 0, err
		}
	}
	return len(r.Games), s.dropJournal(j, r)
}

// storedIDs returns the ids of the games in a shard and the highest of their numbers.
func (s *Store) storedIDs(l located) (ids map[ID]bool, last int64, err error) {
	sh, err := openShard(s.fsys, s.path(l))
	if err != nil {
		return nil, 0, s.at(l, err)
	}
	ids = make(map[ID]bool, sh.info.Games)
	err = sh.index(func(id ID, number, _ int64) error {
		ids[id] = true
		last = max(last, number)
		return nil
	})
	return ids, last, err
}

// quarantineShard puts a bad shard aside and reports it.
func (s *Store) quarantineShard(l located, cause error) error {
	path := s.path(l)
	size, _ := sizeOf(s.fsys, path) // for the report alone
	saved, err := s.quarantine(path, reasonOf(cause))
	if err != nil {
		return fmt.Errorf("%s is bad (%w) and cannot be put aside: %w", s.rel(path), cause, err)
	}
	s.mu.Lock()
	delete(s.numbers, l.unit)
	s.mu.Unlock()
	s.report(Damage{Path: s.rel(path), Bytes: size, Reason: reasonOf(cause), Saved: s.rel(saved)})
	return nil
}

// lastUnit returns what lastSeq returns, and the ids of the games in the worker's newest shard.
func (s *Store) lastUnit(worker string) (seq int64, ids map[ID]bool, err error) {
	shards, err := s.shards()
	if err != nil {
		return 0, nil, err
	}
	if seq, err = s.lastSeq(worker, shards); err != nil {
		return 0, nil, err
	}
	for _, l := range shards {
		if l.worker != worker || l.seq != seq {
			continue
		}
		ids, _, err = s.storedIDs(l)
		if errors.Is(err, ErrDamaged) {
			err = nil // put aside when it is read
		}
		return seq, ids, err
	}
	return seq, nil, nil
}

// lastSeq returns the highest sequence number that the worker has used, 0 if none. The shards are those listed since the
// caller has held the worker's lock.
func (s *Store) lastSeq(worker string, shards []located) (int64, error) {
	journals, err := s.journals()
	if err != nil {
		return 0, err
	}
	aside, err := s.quarantined()
	if err != nil {
		return 0, err
	}
	last := int64(0)
	for _, l := range slices.Concat(shards, journals) {
		if l.worker == worker {
			last = max(last, l.seq)
		}
	}
	for _, path := range aside {
		name, _, _ := strings.Cut(filepath.Base(path), ".")
		if u, ok := parseUnit("", name); ok && u.worker == worker {
			last = max(last, u.seq)
		}
	}
	return last, nil
}

// quarantined lists the files that were put aside, without the reasons beside them, relative to the store's folder.
func (s *Store) quarantined() ([]string, error) {
	var list []string
	var walk func(dir string) error
	walk = func(dir string) error {
		entries, err := readDir(s.fsys, dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if e.IsDir() {
				if err := walk(path); err != nil {
					return err
				}
			} else if !strings.HasSuffix(path, reasonExt) && !whole.Temporary(e.Name()) {
				list = append(list, s.rel(path))
			}
		}
		return nil
	}
	err := walk(filepath.Join(s.dir, quarantineDir))
	slices.Sort(list)
	return list, err
}
