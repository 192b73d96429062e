package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"

	"kirin/dataset/whole"
)

// Quarantine lists the workers whose games do not count, with the reason. The
// list is quarantine.json in the run's fleet folder, a file that is read again
// whenever it has changed; games that were put aside are in
// quarantine/<worker>.journal there. A Quarantine may be used from several
// goroutines, and the file by several processes that do not write at the same
// time.
type Quarantine struct {
	dir string

	mu   sync.Mutex
	read string // what was read or written last
	list map[string]string
}

// OpenQuarantine reads the list; there need not be one.
func OpenQuarantine(dir string) (*Quarantine, error) {
	q := &Quarantine{dir: dir, list: map[string]string{}}
	return q, q.Refresh()
}

// Refresh reads the file again if it has changed. A file that cannot be read
// leaves the list as it was.
func (q *Quarantine) Refresh() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.refresh()
}

func (q *Quarantine) refresh() error {
	b, err := os.ReadFile(q.file())
	if errors.Is(err, fs.ErrNotExist) {
		b, err = nil, nil
	}
	if err != nil {
		return err
	}
	if string(b) == q.read {
		return nil
	}
	list := map[string]string{}
	if len(b) > 0 {
		if err := json.Unmarshal(b, &list); err != nil {
			return fmt.Errorf("%s: damaged: %w", q.file(), err)
		}
	}
	q.read, q.list = string(b), list
	return nil
}

func (q *Quarantine) file() string { return filepath.Join(q.dir, "quarantine.json") }

// Has tells whether a worker's games are put aside.
func (q *Quarantine) Has(worker string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, ok := q.list[worker]
	return ok
}

// List returns the workers with their reasons.
func (q *Quarantine) List() map[string]string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return maps.Clone(q.list)
}

// Add puts a worker into quarantine, for as long as the process lives also when
// the file cannot be written. A damaged file is replaced by what is known.
func (q *Quarantine) Add(worker, reason string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	_ = q.refresh() // who was released meanwhile stays released
	q.list[worker] = reason
	return q.write()
}

// Release lets a worker's games count again. A trainer that runs notices within
// a second.
func (q *Quarantine) Release(worker string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.refresh(); err != nil {
		return err
	}
	if _, ok := q.list[worker]; !ok {
		return fmt.Errorf("%s is not quarantined", worker)
	}
	delete(q.list, worker)
	return q.write()
}

func (q *Quarantine) write() error {
	b, err := json.MarshalIndent(q.list, "", "  ")
	if err != nil {
		return err
	}
	b = append(b, '\n')
	if err := os.MkdirAll(q.dir, 0o755); err != nil {
		return err
	}
	if err := whole.WriteFile(q.file(), b); err != nil {
		return err
	}
	q.read = string(b)
	return nil
}

// maxAside is the size at which no more games of a worker are put aside.
const maxAside = 64 << 20

// keep appends a game's record to the journal of what was put aside. Records
// frame themselves, so the journal is not read: a game that comes twice is in it
// twice, and one that is cut short is passed over by who reads it.
func (q *Quarantine) keep(worker string, record []byte) error {
	dir := filepath.Join(q.dir, "quarantine")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, worker+".journal"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && info.Size() <= maxAside {
		if _, err = f.Write(record); err == nil {
			err = f.Sync()
		} else {
			err = errors.Join(err, f.Truncate(info.Size()))
		}
	}
	return errors.Join(err, f.Close())
}
