package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

const locksDir = ".locks"

// Writer stores the games of one worker. A game is appended to the worker's journal; the journal becomes a shard when it
// is large or old enough, or when the worker's net changes, so that a shard holds games of one net. Its methods may be
// called from several goroutines.
type Writer struct {
	s      *Store
	worker string
	lock   *flock.Flock

	mu      sync.Mutex
	closed  bool
	seq     int64 // of the newest unit
	unit    unit  // of journal
	journal *Journal
	net     string
	step    int64
	rules   string
	opened  time.Time
	last    ID // of the newest game that is in a shard
	// found are the newest games that the worker had stored before it was started: it may play one of them again if it
	// died before it learned that the game was stored.
	found map[ID]bool
}

// Writer opens the store for a worker's games; the name must be one that no other living process uses (else ErrLocked).
// What the worker left behind when it was killed is put in order first: an unfinished shard is deleted, a journal
// becomes a shard.
func (s *Store) Writer(worker string) (*Writer, error) {
	if err := CheckWorker(worker); err != nil {
		return nil, err
	}
	lock, err := s.lockWorker(worker)
	if err != nil {
		return nil, err
	}
	w := &Writer{s: s, worker: worker, lock: lock}
	if _, err = s.recoverWorker(worker); err == nil {
		w.seq, w.found, err = s.lastUnit(worker)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("games of worker %s: %w", worker, err), lock.Close())
	}
	return w, nil
}

func (s *Store) lockWorker(worker string) (*flock.Flock, error) {
	dir := filepath.Join(s.dir, locksDir)
	if err := s.fsys.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("games folder: %w", err)
	}
	lock := flock.New(filepath.Join(dir, worker+lockExt))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock of worker %s: %w", worker, err)
	}
	if !ok {
		return nil, fmt.Errorf("worker %s: %w", worker, ErrLocked)
	}
	return lock, nil
}

// Append stores a finished game. When it returns nil the game is on disk; the game's ID is set if it was zero. After an
// error nothing is half written, and the same call may be repeated when the cause is gone: a game that is already stored
// is not stored again.
func (w *Writer) Append(g *Game) error { return w.AppendAll(g) }

// AppendAll is Append for several games of one net, with one flush to the disk: after an error none of them is stored, or
// all are and only sealing has failed.
func (w *Writer) AppendAll(games ...*Game) error { return w.AppendRecords(games, nil) }

// AppendRecords is AppendAll for games that [Codec.Decode] has read from these records, which are stored as they are: it
// saves encoding them again.
func (w *Writer) AppendRecords(games []*Game, records [][]byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	games, records, err := w.unknown(games, records)
	if err != nil || len(games) == 0 {
		return err
	}
	g := games[0]
	if w.journal != nil && (w.unit.variant != g.Variant || w.rules != g.Rules || w.net != g.Net || w.step != g.Step) {
		if err := w.seal(); err != nil {
			return err
		}
	}
	if w.journal == nil {
		if err := w.begin(g); err != nil {
			return err
		}
	}
	if err := w.journal.appendAll(games, records); err != nil {
		return err
	}
	return w.sealIfDue()
}

// AppendShard stores games of one net as a shard of their own, without a journal: for callers that have many at once and
// keep them until it returns. What is in the journal becomes a shard before. After an error none of the games is stored.
func (w *Writer) AppendShard(games []*Game) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	games, _, err := w.unknown(games, nil)
	if err != nil || len(games) == 0 {
		return err
	}
	if err := w.seal(); err != nil {
		return err
	}
	u := unit{games[0].Variant, w.worker, w.seq + 1}
	if err := w.s.writeUnit(u, games); err != nil {
		return fmt.Errorf("shard of worker %s: %w", w.worker, err)
	}
	w.seq, w.last = u.seq, games[len(games)-1].ID
	return nil
}

// Open returns the number of games that are in the journal and not yet in a shard.
func (w *Writer) Open() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.journal == nil {
		return 0
	}
	return w.journal.Games()
}

// unknown returns the games that are not known to be in a shard, with their records if there are any.
func (w *Writer) unknown(games []*Game, records [][]byte) ([]*Game, [][]byte, error) {
	if w.closed {
		return nil, nil, fmt.Errorf("worker %s: %w", w.worker, fs.ErrClosed)
	}
	fresh, theirs := games[:0:0], records[:0:0]
	for i, g := range games {
		if g.ID == (ID{}) {
			g.SetID()
		}
		if g.ID == w.last || w.found[g.ID] {
			continue
		}
		fresh = append(fresh, g)
		if records != nil {
			theirs = append(theirs, records[i])
		}
	}
	return fresh, theirs, nil
}

// begin opens the journal of the next unit, to which g will belong.
func (w *Writer) begin(g *Game) error {
	if _, err := w.s.codec.Variant(g.Variant, g.Rules); err != nil {
		return err
	}
	u := unit{g.Variant, w.worker, w.seq + 1}
	path := w.s.journalPath(u)
	if err := makeDir(w.s.fsys, w.s.dir, filepath.Dir(path)); err != nil {
		return fmt.Errorf("games of worker %s: %w", w.worker, err)
	}
	j, _, err := OpenJournal(w.s.fsys, path, w.s.codec)
	if err != nil {
		return err
	}
	w.journal, w.unit, w.seq = j, u, u.seq
	w.net, w.step, w.rules, w.opened = g.Net, g.Step, g.Rules, w.s.now()
	return nil
}

func (w *Writer) sealIfDue() error {
	if w.journal == nil {
		return nil
	}
	o := &w.s.o
	if w.journal.Games() < o.SealGames && w.journal.Size() < int64(o.SealBytes) && w.s.now().Sub(w.opened) < o.SealAfter {
		return nil
	}
	return w.seal()
}

// Tick seals the journal if it is old enough: for workers whose games are rare.
func (w *Writer) Tick() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sealIfDue()
}

// Flush makes a shard of the games that are still in the journal.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seal()
}

// seal turns the journal into a shard. As long as it fails the journal stays in use.
func (w *Writer) seal() error {
	if w.journal == nil {
		return nil
	}
	r, err := ReadJournal(w.s.fsys, w.journal.path, w.s.codec)
	if err != nil {
		return err
	}
	u := located{unit: w.unit}
	if err := w.s.writeUnit(u.unit, r.Games); err != nil {
		return fmt.Errorf("shard of worker %s (its games are safe in the journal): %w", w.worker, err)
	}
	if n := len(r.Games); n > 0 {
		w.last = r.Games[n-1].ID
	}
	err = w.journal.Close()
	w.journal = nil
	return errors.Join(err, w.s.dropJournal(u, r))
}

// writeUnit writes the shard of a unit into the folder of its first game's net.
func (s *Store) writeUnit(u unit, games []*Game) error {
	if len(games) == 0 {
		return nil
	}
	dir := filepath.Join(s.dir, u.variant, netFolder(games[0].Net, games[0].Step))
	if err := makeDir(s.fsys, s.dir, dir); err != nil {
		return err
	}
	_, err := writeShard(s.fsys, filepath.Join(dir, u.name()+shardExt), s.codec, func(add func(*Game) error) error {
		for _, g := range games {
			if err := add(g); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// dropJournal removes a journal whose games r are in a shard. A damaged one is put aside instead.
func (s *Store) dropJournal(l located, r *Replay) error {
	path := s.journalPath(l.unit)
	if len(r.Damage) == 0 {
		if err := s.fsys.Remove(path); err != nil {
			return err
		}
		return s.fsys.SyncDir(filepath.Dir(path))
	}
	var reasons []string
	for _, d := range r.Damage {
		reasons = append(reasons, fmt.Sprintf("%d bytes at byte %d: %s", d.Bytes, d.Offset, d.Reason))
	}
	saved, err := s.quarantine(path, strings.Join(reasons, "; ")+fmt.Sprintf("; the other %d games are in the shard", len(r.Games)))
	if err != nil {
		return err
	}
	for _, d := range r.Damage {
		d.Path, d.Saved = s.rel(path), s.rel(saved)
		s.report(d)
	}
	return nil
}

func (s *Store) report(d Damage) {
	if s.o.OnDamage != nil {
		s.o.OnDamage(d)
	}
}

// Close seals what is in the journal and gives up the worker's name. If sealing fails the games stay in the journal,
// from which the next Writer of that name or Recover takes them.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	err := w.seal()
	if w.journal != nil {
		err = errors.Join(err, w.journal.Close())
		w.journal = nil
	}
	return errors.Join(err, w.lock.Close())
}
