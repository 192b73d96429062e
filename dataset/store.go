package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Names inside a store's folder; see the package comment.
const (
	journalsDir   = "journals"
	quarantineDir = "quarantine"
	shardExt      = ".parquet"
	journalExt    = ".journal"
	lockExt       = ".lock"
	reasonExt     = ".reason"
)

// Store is the folder in which a run keeps its games. Its methods may be called from several goroutines, and several
// processes may use one folder, each writing under worker names of its own.
type Store struct {
	dir   string
	o     Options
	fsys  FS
	now   func() time.Time
	codec *Codec

	mu      sync.Mutex
	numbers map[unit][]int64 // of the games in shards that have been read
}

// OpenStore opens the folder dir, creating it if needed.
func OpenStore(dir string, o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := &Store{dir: dir, o: o, fsys: o.FS, now: o.Clock, codec: NewCodec(), numbers: map[unit][]int64{}}
	if s.fsys == nil {
		s.fsys = OS()
	}
	if s.now == nil {
		s.now = time.Now
	}
	if err := s.fsys.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("games folder: %w", err)
	}
	return s, nil
}

// Dir returns the store's folder.
func (s *Store) Dir() string { return s.dir }

// Codec returns the codec that the store uses.
func (s *Store) Codec() *Codec { return s.codec }

// unit names a batch of games that is first a journal and then a shard.
type unit struct {
	variant string
	worker  string
	seq     int64
}

func (u unit) name() string { return fmt.Sprintf("%s-%06d", u.worker, u.seq) }

// parseUnit reads the name of a unit's file without its ending.
func parseUnit(variant, name string) (unit, bool) {
	i := strings.LastIndexByte(name, '-')
	if i < 1 || len(name)-i-1 < 6 || CheckWorker(name[:i]) != nil {
		return unit{}, false
	}
	seq, err := strconv.ParseInt(name[i+1:], 10, 64)
	if err != nil || seq < 1 {
		return unit{}, false
	}
	u := unit{variant, name[:i], seq}
	return u, u.name() == name
}

// CheckWorker tells whether a worker name can be part of file names on every system.
func CheckWorker(name string) error {
	if name == "" || len(name) > 64 {
		return fmt.Errorf("worker name %q: must have 1 to 64 characters", name)
	}
	for i, c := range []byte(name) {
		ok := c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || i > 0 && (c == '-' || c == '_')
		if !ok {
			return fmt.Errorf("worker name %q: only a-z, 0-9, - and _ are allowed, with a letter or digit first", name)
		}
	}
	return nil
}

// netFolder returns the name of the folder for the games of a net: sorted by name the folders are in the order of
// training.
func netFolder(net string, step int64) string {
	label := make([]byte, 0, 12)
	for _, c := range []byte(strings.ToLower(net)) {
		if len(label) < cap(label) && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9') {
			label = append(label, c)
		}
	}
	if len(label) == 0 {
		label = append(label, "none"...)
	}
	return fmt.Sprintf("%09d-%s", max(step, 0), label)
}

func (s *Store) journalPath(u unit) string {
	return filepath.Join(s.dir, u.variant, journalsDir, u.name()+journalExt)
}

// located is a unit with its file.
type located struct {
	unit
	net  string // folder of a shard, empty for a journal
	size int64  // of a journal, and of a shard that sizedShards has listed
}

func (s *Store) path(l located) string {
	if l.net == "" {
		return s.journalPath(l.unit)
	}
	return filepath.Join(s.dir, l.variant, l.net, l.name()+shardExt)
}

// rel returns a path relative to the store's folder, with slashes, for reports.
func (s *Store) rel(path string) string {
	r, err := filepath.Rel(s.dir, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(r)
}

// variants lists the folders of games.
func (s *Store) variants() ([]string, error) {
	entries, err := readDir(s.fsys, s.dir)
	var names []string
	for _, e := range entries {
		if e.IsDir() && e.Name() != quarantineDir && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, err
}

// shards lists all shards in order: by variant, net folder (training step), sequence, worker. It does not ask for their
// sizes, which takes far longer than the names: a long run has tens of thousands, and they are listed often.
func (s *Store) shards() ([]located, error) { return s.listShards(false) }

// sizedShards is shards with the sizes.
func (s *Store) sizedShards() ([]located, error) { return s.listShards(true) }

func (s *Store) listShards(sizes bool) ([]located, error) {
	variants, err := s.variants()
	if err != nil {
		return nil, err
	}
	var list []located
	for _, v := range variants {
		nets, err := readDir(s.fsys, filepath.Join(s.dir, v))
		if err != nil {
			return nil, err
		}
		for _, n := range nets {
			if !n.IsDir() || n.Name() == journalsDir {
				continue
			}
			found, err := s.list(v, n.Name(), sizes)
			if err != nil {
				return nil, err
			}
			list = append(list, found...)
		}
	}
	slices.SortFunc(list, compareLocated)
	return list, nil
}

// journals lists all journals in order: by variant, sequence, worker.
func (s *Store) journals() ([]located, error) {
	variants, err := s.variants()
	if err != nil {
		return nil, err
	}
	var list []located
	for _, v := range variants {
		found, err := s.list(v, "", true)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	slices.SortFunc(list, compareLocated)
	return list, nil
}

// list returns the units in one folder: a net's shards, or the journals.
func (s *Store) list(variant, net string, sizes bool) ([]located, error) {
	sub, ext := net, shardExt
	if net == "" {
		sub, ext = journalsDir, journalExt
	}
	entries, err := readDir(s.fsys, filepath.Join(s.dir, variant, sub))
	if err != nil {
		return nil, err
	}
	var list []located
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ext)
		if !ok {
			continue
		}
		u, ok := parseUnit(variant, name)
		if !ok {
			continue
		}
		l := located{unit: u, net: net}
		if sizes {
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue // sealed or deleted since
			}
			if err != nil {
				return nil, err
			}
			l.size = info.Size()
		}
		list = append(list, l)
	}
	return list, nil
}

func compareLocated(a, b located) int {
	if c := strings.Compare(a.variant, b.variant); c != 0 {
		return c
	}
	if c := strings.Compare(a.net, b.net); c != 0 {
		return c
	}
	if a.seq != b.seq {
		if a.seq < b.seq {
			return -1
		}
		return 1
	}
	return strings.Compare(a.worker, b.worker)
}

// quarantine moves a file out of the way and writes the reason beside it. It returns where the file is now.
func (s *Store) quarantine(path, reason string) (string, error) {
	rel, err := filepath.Rel(s.dir, path)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(s.dir, quarantineDir, filepath.Dir(rel))
	if err := makeDir(s.fsys, s.dir, dir); err != nil {
		return "", err
	}
	to := filepath.Join(dir, filepath.Base(path))
	for i := 1; ; i++ {
		taken, err := exists(s.fsys, to)
		if err != nil {
			return "", err
		}
		if !taken {
			break
		}
		to = filepath.Join(dir, fmt.Sprintf("%s.%d", filepath.Base(path), i))
	}
	err = writeWhole(s.fsys, to+reasonExt, func(f File) error {
		_, err := fmt.Fprintf(f, "%s: %s\n", filepath.ToSlash(rel), reason)
		return err
	})
	if err != nil {
		return "", err
	}
	if err := s.fsys.Rename(path, to); err != nil {
		return "", err
	}
	return to, errors.Join(s.fsys.SyncDir(dir), s.fsys.SyncDir(filepath.Dir(path)))
}

// removeTemporary deletes what a worker that died left unfinished. The caller holds the worker's lock.
func (s *Store) removeTemporary(variant, worker string) error {
	nets, err := readDir(s.fsys, filepath.Join(s.dir, variant))
	if err != nil {
		return err
	}
	for _, n := range nets {
		if !n.IsDir() {
			continue
		}
		dir := filepath.Join(s.dir, variant, n.Name())
		entries, err := readDir(s.fsys, dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			name, _ := finalName(e.Name())
			u, ok := parseUnit(variant, strings.TrimSuffix(name, shardExt))
			if !ok || u.worker != worker {
				continue
			}
			if err := s.fsys.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}
