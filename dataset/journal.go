package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Journal is a file of records to which finished games are appended one by one. When Append returns without error the
// game survives the death of the process and, as far as the disk keeps its promises, of the machine. A journal is not
// safe for concurrent use; others may read its file at the same time.
type Journal struct {
	fsys  FS
	path  string
	codec *Codec
	file  File
	size  int64 // bytes of whole records
	dirty bool  // bytes may follow size that are no whole record
	ids   map[ID]struct{}
	buf   []byte
	fresh []ID // added by the last Append
}

// Replay is what a journal holds.
type Replay struct {
	Games  []*Game  // intact games in the order in which they were appended
	Damage []Damage // what lies between or behind them and is no game; Path is empty
	Torn   int64    // bytes of an unfinished record at the end: the trace of a sudden death, no damage
	End    int64    // offset behind the last whole record
}

// OpenJournal opens or creates a journal for appending and returns what it already holds. An unfinished record at its
// end is cut off; damaged records stay where they are and are reported. With fsys nil the operating system's files are
// used.
func OpenJournal(fsys FS, path string, codec *Codec) (*Journal, *Replay, error) {
	if fsys == nil {
		fsys = OS()
	}
	old, err := ReadJournal(fsys, path, codec)
	created := errors.Is(err, fs.ErrNotExist)
	if err != nil && !created {
		return nil, nil, err
	}
	if created {
		old = &Replay{}
	}
	f, err := fsys.Open(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, nil, fmt.Errorf("journal: %w", err)
	}
	j := &Journal{fsys: fsys, path: path, codec: codec, file: f, size: old.End, dirty: true, ids: map[ID]struct{}{}}
	for _, g := range old.Games {
		j.ids[g.ID] = struct{}{}
	}
	err = j.clean()
	if err == nil && created {
		err = fsys.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("journal %s: %w", path, err)
	}
	return j, old, nil
}

// ReadJournal reads a journal without changing it.
func ReadJournal(fsys FS, path string, codec *Codec) (*Replay, error) {
	if fsys == nil {
		fsys = OS()
	}
	b, err := readFile(fsys, path, 0)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	r := &Replay{}
	if err := r.scan(b, codec); err != nil {
		return nil, fmt.Errorf("journal %s: %w", path, err)
	}
	return r, nil
}

// clean cuts off what follows the last whole record.
func (j *Journal) clean() error {
	st, err := j.file.Stat()
	if err != nil {
		return err
	}
	if st.Size() > j.size {
		if err := j.file.Truncate(j.size); err != nil {
			return err
		}
		if err := j.file.Sync(); err != nil {
			return err
		}
	}
	j.dirty = false
	return nil
}

// Append adds a game and makes it last. A game that the journal already holds is not added again, so that a call that
// returned an error may be repeated. After an error the journal is as it was before.
func (j *Journal) Append(g *Game) error { return j.AppendAll(g) }

// AppendAll is Append for several games with one write: after an error none of them is in the journal.
func (j *Journal) AppendAll(games ...*Game) error { return j.appendAll(games, nil) }

// appendAll is AppendAll; records, if not nil, are those that the games were decoded from.
func (j *Journal) appendAll(games []*Game, records [][]byte) error {
	j.buf = j.buf[:0]
	fresh := j.fresh[:0]
	for i, g := range games {
		if g.ID == (ID{}) {
			g.SetID()
		}
		if _, ok := j.ids[g.ID]; ok || slices.Contains(fresh, g.ID) {
			continue
		}
		if records != nil {
			j.buf = append(j.buf, records[i]...)
		} else {
			var err error
			if j.buf, err = j.codec.Encode(j.buf, g); err != nil {
				return err
			}
		}
		fresh = append(fresh, g.ID)
	}
	j.fresh = fresh
	if len(fresh) == 0 {
		return nil
	}
	if err := j.write(); err != nil {
		return fmt.Errorf("journal %s: %w", j.path, err)
	}
	j.size += int64(len(j.buf))
	for _, id := range fresh {
		j.ids[id] = struct{}{}
	}
	return nil
}

func (j *Journal) write() error {
	if j.dirty {
		if err := j.clean(); err != nil {
			return err
		}
	}
	j.dirty = true
	_, err := j.file.WriteAt(j.buf, j.size)
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		if undo := j.clean(); undo != nil { // tried again before the next game is written
			return fmt.Errorf("%w (and the unfinished record cannot be cut off: %v)", err, undo)
		}
		return err
	}
	j.dirty = false
	return nil
}

// Games returns the number of games in the journal.
func (j *Journal) Games() int { return len(j.ids) }

// Size returns the journal's length in bytes.
func (j *Journal) Size() int64 { return j.size }

// Path returns the journal's file.
func (j *Journal) Path() string { return j.path }

// Close closes the file; its content stays.
func (j *Journal) Close() error { return j.file.Close() }

// scan takes b apart. It finds its way back to the next intact record behind damaged bytes. Only a record of a newer
// program is an error.
func (r *Replay) scan(b []byte, codec *Codec) error {
	return r.walk(b, func(record []byte, offset int64) error { return r.take(record, offset, codec) })
}

// Span is where a record lies in a journal.
type Span struct {
	Offset int64
	Bytes  int
}

// Spans finds the records of a journal whose checksums are right, without decoding them, and what else lies before an
// unfinished one at its end.
func Spans(journal []byte) (list []Span, damage []Damage) {
	var r Replay
	_ = r.walk(journal, func(record []byte, offset int64) error { // gives back the errors of this function alone
		if payloadIntact(record) {
			list = append(list, Span{offset, len(record)})
		} else {
			r.Damage = append(r.Damage, Damage{Offset: offset, Bytes: int64(len(record)), Reason: reasonOf(errPayload)})
		}
		return nil
	})
	return list, r.Damage
}

// walk calls take for each record with an intact header, and notes what lies between them.
func (r *Replay) walk(b []byte, take func(record []byte, offset int64) error) error {
	base := r.End
	for pos := 0; pos < len(b); {
		rest := b[pos:]
		n, err := frameLength(rest)
		switch {
		case err == nil && n > len(rest): // the header is intact, so the record was not finished
			r.Torn = int64(len(rest))
			return nil
		case err == nil:
			if err := take(rest[:n], base+int64(pos)); err != nil {
				return err
			}
			pos += n
		case isTorn(rest):
			r.Torn = int64(len(rest))
			return nil
		default:
			skip := nextRecord(rest)
			r.Damage = append(r.Damage, Damage{Offset: base + int64(pos), Bytes: int64(skip), Reason: reasonOf(err)})
			pos += skip
		}
		r.End = base + int64(pos)
	}
	return nil
}

var errPayload = damaged("the checksum of a record is wrong")

// take decodes one record whose header is intact.
func (r *Replay) take(record []byte, offset int64, codec *Codec) error {
	var g *Game
	err := errPayload
	if payloadIntact(record) {
		g, err = codec.decodePayload(record[frameHeader:])
	}
	switch {
	case err == nil:
		r.Games = append(r.Games, g)
	case errors.Is(err, ErrNewer):
		return fmt.Errorf("at byte %d: %w", offset, err)
	default:
		r.Damage = append(r.Damage, Damage{Offset: offset, Bytes: int64(len(record)), Reason: reasonOf(err)})
	}
	return nil
}

// isTorn tells whether b, the end of a journal, is the beginning of a header, or only zeros, which a file system may
// leave after a loss of power.
func isTorn(b []byte) bool {
	if len(b) < frameHeader && bytes.HasPrefix([]byte(frameMagic), b[:min(len(b), len(frameMagic))]) {
		return true
	}
	return len(bytes.TrimLeft(b, "\x00")) == 0
}

// nextRecord returns the offset of the next intact record in b after its first byte, or the length of b. A record that
// is torn at the end of b counts as well.
func nextRecord(b []byte) int {
	for i := 1; ; {
		k := bytes.Index(b[i:], []byte(frameMagic))
		if k < 0 {
			return len(b)
		}
		i += k
		if _, err := frameLength(b[i:]); err == nil {
			return i
		}
		i++
	}
}

// reasonOf returns the text of an error without the words of ErrDamaged.
func reasonOf(err error) string {
	s := err.Error()
	if after, ok := bytes.CutPrefix([]byte(s), []byte(ErrDamaged.Error()+": ")); ok {
		return string(after)
	}
	return s
}
