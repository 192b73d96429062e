package dataset

import (
	"errors"
	"fmt"
	"io/fs"
)

// IDsOf returns the ids of all stored games that a net of this step has played, in shards and in journals. Shards of
// other nets are not opened. Damaged shards are left out: the feed puts them aside.
func (s *Store) IDsOf(variant, net string, step int64) (map[ID]struct{}, error) {
	ids := map[ID]struct{}{}
	journals, err := s.list(variant, "", false)
	if err != nil {
		return nil, fmt.Errorf("games folder: %w", err)
	}
	for _, l := range journals {
		r, err := ReadJournal(s.fsys, s.path(l), s.codec)
		if errors.Is(err, fs.ErrNotExist) {
			continue // sealed since: the shards are listed below
		}
		if err != nil {
			return nil, s.at(l, err)
		}
		for _, g := range r.Games {
			if g.Net == net {
				ids[g.ID] = struct{}{}
			}
		}
	}
	shards, err := s.list(variant, netFolder(net, step), false)
	if err != nil {
		return nil, fmt.Errorf("games folder: %w", err)
	}
	for _, l := range shards {
		stored, _, err := s.storedIDs(l)
		if errors.Is(err, ErrDamaged) || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for id := range stored {
			ids[id] = struct{}{}
		}
	}
	return ids, nil
}
