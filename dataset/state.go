package dataset

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
)

// Marks of the states that a trainer stores in its checkpoint.
const (
	stateFeed   = "KFS1"
	stateWindow = "KWS1"
)

// sealState writes a state as its mark, the CRC32C of what follows, and JSON.
func sealState(mark string, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("dataset: " + err.Error()) // the states are plain numbers and texts
	}
	b := binary.LittleEndian.AppendUint32([]byte(mark), crc32.Checksum(text, castagnoli))
	return append(b, text...)
}

// unsealState reads what sealState wrote.
func unsealState(mark string, b []byte, v any) error {
	text, ok := bytes.CutPrefix(b, []byte(mark))
	if !ok || len(text) < 4 {
		return damaged("this is not the state that begins with %s", mark)
	}
	sum, text := binary.LittleEndian.Uint32(text), text[4:]
	if sum != crc32.Checksum(text, castagnoli) {
		return damaged("the checksum of the state is wrong")
	}
	if err := json.Unmarshal(text, v); err != nil {
		return damaged("state: %v", err)
	}
	return nil
}

// windowState is what Cursor writes.
type windowState struct {
	Added int64  `json:"added"`
	IDs   []byte `json:"ids"` // 16 bytes a game, oldest first
}

// Cursor returns which games are in the window, in order, for Restore. It takes about 22 bytes a game.
func (w *Window) Cursor() []byte {
	st := windowState{Added: w.added, IDs: make([]byte, 0, w.Games()*len(ID{}))}
	for _, c := range w.games[w.head:] {
		st.IDs = append(st.IDs, c.id[:]...)
	}
	return sealState(stateWindow, st)
}

// Restore fills an empty window with the games that a cursor names, from the store: it then is what it was when the
// cursor was taken. Damaged shards among those it reads are put aside and reported to Options.OnDamage. If games are
// missing, because a shard was put aside now or before, the others are restored and the error wraps ErrMissing.
func (w *Window) Restore(cursor []byte, s *Store) error {
	if len(w.known) > 0 || w.added > 0 {
		return errors.New("window: only an empty window can be restored")
	}
	var st windowState
	if err := unsealState(stateWindow, cursor, &st); err != nil {
		return fmt.Errorf("window: %w", err)
	}
	place := map[ID]int{}
	for b := range slices.Chunk(st.IDs, len(ID{})) {
		var id ID
		copy(id[:], b)
		place[id] = len(place)
	}
	if len(place)*len(ID{}) != len(st.IDs) || st.Added < 0 {
		return fmt.Errorf("window: %w", damaged("the cursor names a game twice or in part"))
	}
	games := make([]*CompactGame, len(place))
	missing := len(games)
	take := func(g *Game) error {
		i, ok := place[g.ID]
		if !ok || games[i] != nil {
			return nil
		}
		c, err := w.compact(g)
		if err != nil {
			return err
		}
		games[i] = c
		missing--
		return nil
	}
	if err := s.collect(place, take, func() bool { return missing == 0 }); err != nil {
		return fmt.Errorf("window: %w", err)
	}
	for _, c := range games {
		if c != nil {
			w.known[c.id] = struct{}{}
			w.insert(c)
		}
	}
	w.added = st.Added
	if missing > 0 {
		return fmt.Errorf("window: %d of %d games: %w", missing, len(games), ErrMissing)
	}
	return nil
}

// collect calls take for the wanted games, looking into the newest files first, until done.
func (s *Store) collect(wanted map[ID]int, take func(*Game) error, done func() bool) error {
	var failed error
	err := s.newestFirst(func(r *Replay) bool {
		for _, g := range r.Games {
			if failed = take(g); failed != nil {
				return false
			}
		}
		return !done()
	}, func(sh *shard) (bool, error) {
		here := false
		err := sh.index(func(id ID, _, _ int64) error {
			_, ok := wanted[id]
			here = here || ok
			return nil
		})
		if err == nil && here {
			err = sh.games(s.codec, take)
		}
		return !done(), err
	}, s.quarantineShard)
	return errors.Join(failed, err)
}
