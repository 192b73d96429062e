package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
)

// Entry tells where a game is stored.
type Entry struct {
	ID     ID
	Number int64
	Step   int64  // of the net that played it
	Path   string // of its shard or journal, relative to the store's folder
}

// each opens every unit, shards in order first, then the journals without those that are shards by now, and calls one of
// the two functions. Damaged shards are left out: the feed puts them aside.
func (s *Store) each(shard func(located, *shard) error, journal func(located, *Replay) error) error {
	journals, err := s.journals() // listed first: a unit that is sealed meanwhile is then found as a shard
	if err != nil {
		return err
	}
	shards, err := s.shards()
	if err != nil {
		return err
	}
	sealed := map[unit]bool{}
	for _, l := range shards {
		sh, err := openShard(s.fsys, s.path(l))
		if errors.Is(err, ErrDamaged) || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			sealed[l.unit] = true
			err = shard(l, sh)
		}
		if err != nil {
			return s.at(l, err)
		}
	}
	for _, l := range journals {
		if sealed[l.unit] {
			continue
		}
		r, err := ReadJournal(s.fsys, s.path(l), s.codec)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = journal(l, r)
		}
		if err != nil {
			return s.at(l, err)
		}
	}
	return nil
}

// at adds a unit's file to an error.
func (s *Store) at(l located, err error) error {
	return fmt.Errorf("%s: %w", s.rel(s.path(l)), err)
}

// Index lists all finished games: those in shards by training step and sequence, then those in journals. A game that is
// stored twice is listed twice.
func (s *Store) Index() ([]Entry, error) {
	var list []Entry
	err := s.each(func(l located, sh *shard) error {
		path := s.rel(s.path(l))
		return sh.index(func(id ID, number, step int64) error {
			list = append(list, Entry{id, number, step, path})
			return nil
		})
	}, func(l located, r *Replay) error {
		path := s.rel(s.path(l))
		for _, g := range r.Games {
			list = append(list, Entry{g.ID, g.Number, g.Step, path})
		}
		return nil
	})
	return list, err
}

// Numbers returns the numbers of all finished games. What is in a shard is remembered, so that a second call only reads
// new shards.
func (s *Store) Numbers() (map[int64]bool, error) {
	numbers := map[int64]bool{}
	journals, err := s.journals()
	if err != nil {
		return nil, err
	}
	shards, err := s.shards()
	if err != nil {
		return nil, err
	}
	sealed := map[unit]bool{}
	for _, l := range shards {
		list, err := s.shardNumbers(l)
		if errors.Is(err, ErrDamaged) || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, s.at(l, err)
		}
		sealed[l.unit] = true
		for _, n := range list {
			numbers[n] = true
		}
	}
	for _, l := range journals {
		if sealed[l.unit] {
			continue
		}
		r, err := ReadJournal(s.fsys, s.path(l), s.codec)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, g := range r.Games {
			numbers[g.Number] = true
		}
	}
	return numbers, nil
}

// shardNumbers returns the numbers of the games in a shard.
func (s *Store) shardNumbers(l located) ([]int64, error) {
	s.mu.Lock()
	list, ok := s.numbers[l.unit]
	s.mu.Unlock()
	if ok {
		return list, nil
	}
	sh, err := openShard(s.fsys, s.path(l))
	if err != nil {
		return nil, err
	}
	list = make([]int64, 0, sh.info.Games)
	err = sh.index(func(_ ID, number, _ int64) error {
		list = append(list, number)
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.numbers[l.unit] = list
	s.mu.Unlock()
	return list, nil
}

// All yields every finished game once: those in shards by training step, sequence and worker, then those in journals. It
// stops after an error.
func (s *Store) All() iter.Seq2[*Game, error] {
	return func(yield func(*Game, error) bool) {
		seen := map[ID]struct{}{}
		errStop := errors.New("stop")
		give := func(g *Game) error {
			if _, ok := seen[g.ID]; ok {
				return nil
			}
			seen[g.ID] = struct{}{}
			if !yield(g, nil) {
				return errStop
			}
			return nil
		}
		err := s.each(func(_ located, sh *shard) error {
			return sh.games(s.codec, give)
		}, func(_ located, r *Replay) error {
			for _, g := range r.Games {
				if err := give(g); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(nil, err)
		}
	}
}

// newestFirst calls journal for each journal, then shard for each shard from the newest to the oldest, until one of them
// returns false. Damaged shards are given to bad, which nil leaves out.
func (s *Store) newestFirst(journal func(*Replay) bool, shard func(*shard) (bool, error), bad func(located, error) error) error {
	journals, err := s.journals()
	if err != nil {
		return err
	}
	shards, err := s.shards()
	if err != nil {
		return err
	}
	for _, l := range slices.Backward(journals) {
		r, err := ReadJournal(s.fsys, s.path(l), s.codec)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if !journal(r) {
			return nil
		}
	}
	for _, l := range slices.Backward(shards) {
		more := false
		sh, err := openShard(s.fsys, s.path(l))
		if err == nil {
			more, err = shard(sh)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, ErrDamaged) && bad == nil:
			continue
		case errors.Is(err, ErrDamaged):
			if err := bad(l, err); err != nil {
				return err
			}
			continue
		case err != nil:
			return s.at(l, err)
		}
		if !more {
			return nil
		}
	}
	return nil
}

// Newest returns the newest n finished games, the newest first: by training step, then by number.
func (s *Store) Newest(n int) ([]*Game, error) {
	var list []*Game
	err := s.newestFirst(func(r *Replay) bool {
		list = append(list, r.Games...)
		return true
	}, func(sh *shard) (bool, error) {
		if len(list) >= n {
			return false, nil
		}
		err := sh.games(s.codec, func(g *Game) error {
			list = append(list, g)
			return nil
		})
		return true, err
	}, nil)
	slices.SortStableFunc(list, func(a, b *Game) int {
		return cmp.Or(cmp.Compare(b.Step, a.Step), cmp.Compare(b.Number, a.Number), slices.Compare(a.ID[:], b.ID[:]))
	})
	list = slices.CompactFunc(list, func(a, b *Game) bool { return a.ID == b.ID })
	return list[:min(n, len(list))], err
}

// Find returns the game with an id, or an error that wraps ErrNotFound.
func (s *Store) Find(id ID) (*Game, error) {
	var found *Game
	take := func(g *Game) error {
		if g.ID == id {
			found = g
		}
		return nil
	}
	err := s.newestFirst(func(r *Replay) bool {
		for _, g := range r.Games {
			_ = take(g)
		}
		return found == nil
	}, func(sh *shard) (bool, error) {
		here := false
		err := sh.index(func(i ID, _, _ int64) error {
			here = here || i == id
			return nil
		})
		if err == nil && here {
			err = sh.games(s.codec, take)
		}
		return found == nil, err
	}, nil)
	if err == nil && found == nil {
		err = fmt.Errorf("game %v: %w", id, ErrNotFound)
	}
	return found, err
}
