package fleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"kirin/dataset"
)

// Outbox keeps the finished games of a worker until the queue has them: in
// journals <seq>.journal in a folder of its own. A game is on disk when Append
// returns. Its methods may be called from several goroutines.
type Outbox struct {
	dir   string
	codec *dataset.Codec
	quota int64

	mu      sync.Mutex
	changed chan struct{} // closed and made anew with every change
	now     *segment      // to which games are appended; at most one
	seq     int
	waiting []*letter // not being sent, the oldest first
	games   int       // not sent
	bytes   int64
	damaged int // records of an earlier start that cannot be sent
	closed  bool
}

// segment is one journal with the number of its games that are not sent yet.
type segment struct {
	path    string
	journal *dataset.Journal // nil: nothing is appended any more
	left    int
}

// letter is a game in the outbox.
type letter struct {
	seg    *segment
	offset int64
	size   int
}

// segmentGames is the number of games after which a new journal is begun.
const segmentGames = 64

// OpenOutbox opens the folder and finds the games that an earlier start could
// not send. quota bounds the bytes of games that wait.
func OpenOutbox(dir string, codec *dataset.Codec, quota int64) (*Outbox, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	o := &Outbox{dir: dir, codec: codec, quota: quota, changed: make(chan struct{})}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	var old []int
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".journal")
		if seq, err := strconv.Atoi(name); ok && err == nil {
			old = append(old, seq)
		}
	}
	slices.Sort(old)
	if len(old) > 0 {
		o.seq = old[len(old)-1]
	}
	for _, seq := range old {
		if err := o.recover(seq); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func (o *Outbox) path(seq int) string { return filepath.Join(o.dir, fmt.Sprintf("%06d.journal", seq)) }

// recover takes over an old journal as it is: nothing is written, and nothing
// decoded.
func (o *Outbox) recover(seq int) error {
	s := &segment{path: o.path(seq)}
	b, err := os.ReadFile(s.path)
	if err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	spans, damage := dataset.Spans(b)
	o.damaged += len(damage)
	for _, at := range spans {
		s.left++
		o.games++
		o.bytes += int64(at.Bytes)
		o.waiting = append(o.waiting, &letter{s, at.Offset, at.Bytes})
	}
	return o.drop(s)
}

// Damaged is the number of places in the journals of earlier starts that hold no
// intact game: what was there is lost.
func (o *Outbox) Damaged() int { return o.damaged }

// signal wakes all who wait. The caller holds the lock.
func (o *Outbox) signal() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// Size returns the number of games that are not sent and their bytes.
func (o *Outbox) Size() (games int, bytes int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.games, o.bytes
}

// errFull says that the quota is reached.
var errFull = errors.New("the outbox is full")

// Append stores a game. When the quota is reached it calls waiting and blocks
// until there is room or ctx ends.
func (o *Outbox) Append(ctx context.Context, g *dataset.Game, waiting func(error)) error {
	for {
		o.mu.Lock()
		full := o.bytes >= o.quota
		changed := o.changed
		o.mu.Unlock()
		if !full {
			return o.add(g)
		}
		games, bytes := o.Size()
		waiting(fmt.Errorf("%w: %d games (%v) wait for the queue, which does not take them", errFull, games, dataset.Bytes(bytes)))
		select {
		case <-ctx.Done():
			// A finished game is not given up: one more does no harm.
			return o.add(g)
		case <-changed:
		}
	}
}

// add appends a game to the newest journal.
func (o *Outbox) add(g *dataset.Game) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return fmt.Errorf("outbox: %w", fs.ErrClosed)
	}
	if o.now == nil {
		if err := o.begin(); err != nil {
			return err
		}
	}
	s := o.now
	at := s.journal.Size()
	if err := s.journal.Append(g); err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	n := int(s.journal.Size() - at)
	if n == 0 {
		return nil // it is there already
	}
	s.left++
	o.games++
	o.bytes += int64(n)
	o.waiting = append(o.waiting, &letter{s, at, n})
	o.signal()
	if s.journal.Games() >= segmentGames {
		return o.end()
	}
	return nil
}

// end closes the newest journal: the next game begins another.
func (o *Outbox) end() error {
	s := o.now
	if s == nil {
		return nil
	}
	err := s.journal.Close()
	s.journal, o.now = nil, nil
	if err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	return o.drop(s)
}

func (o *Outbox) begin() error {
	o.seq++
	j, _, err := dataset.OpenJournal(nil, o.path(o.seq), o.codec)
	if err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	o.now = &segment{path: j.Path(), journal: j}
	return nil
}

// next takes the oldest game that nobody sends, and waits for one.
func (o *Outbox) next(ctx context.Context) (*letter, []byte, error) {
	for {
		o.mu.Lock()
		changed := o.changed
		var l *letter
		if len(o.waiting) > 0 {
			l = o.waiting[0]
			o.waiting = o.waiting[1:]
		}
		o.mu.Unlock()
		if l == nil {
			select {
			case <-ctx.Done():
				return nil, nil, ctx.Err()
			case <-changed:
				continue
			}
		}
		b, err := l.read()
		if err != nil {
			return nil, nil, fmt.Errorf("outbox: %w", err)
		}
		return l, b, nil
	}
}

// read returns a game's record. Files are not kept open: there may be thousands.
func (l *letter) read() ([]byte, error) {
	f, err := os.Open(l.seg.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, l.size)
	if _, err := f.ReadAt(b, l.offset); err != nil {
		return nil, fmt.Errorf("%s: %w", l.seg.path, err)
	}
	return b, nil
}

// back returns a game that could not be sent to its place.
func (o *Outbox) back(l *letter) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting = slices.Insert(o.waiting, 0, l)
	o.signal()
}

// sent drops a game that the queue has, or will never take.
func (o *Outbox) sent(l *letter) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.games--
	o.bytes -= int64(l.size)
	l.seg.left--
	o.signal()
	return o.drop(l.seg)
}

// drop removes a journal all of whose games are sent.
func (o *Outbox) drop(s *segment) error {
	if s.left > 0 || s.journal != nil {
		return nil
	}
	if err := os.Remove(s.path); err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	return nil
}

// Close ends the outbox; games that are not sent stay for the next start. No
// game may be on its way.
func (o *Outbox) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil
	}
	o.closed = true
	return o.end()
}

// Drained waits until every game is sent or ctx ends.
func (o *Outbox) Drained(ctx context.Context) bool {
	for {
		o.mu.Lock()
		n, changed := o.games, o.changed
		o.mu.Unlock()
		if n == 0 {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-changed:
		}
	}
}
