package dataset

import "path/filepath"

// Merge writes all finished games into one Parquet file of the same columns as a shard, each game once, and returns
// their number. The file appears whole or not at all.
func (s *Store) Merge(path string) (int, error) {
	info, err := writeShard(s.fsys, filepath.Clean(path), s.codec, func(add func(*Game) error) error {
		for g, err := range s.All() {
			if err != nil {
				return err
			}
			if err := add(g); err != nil {
				return err
			}
		}
		return nil
	})
	return info.Games, err
}
