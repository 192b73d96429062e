package dataset

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// memFS is a file system in memory that knows what a loss of power leaves: the content of a file as of its last Sync, the
// names in a folder as of its last SyncDir.
type memFS struct {
	dirs map[string]*memDir
}

type memDir struct{ now, lasting map[string]*memNode }

// memNode is a file, or a folder if data is nil and dir is set.
type memNode struct {
	dir           bool
	data, lasting []byte
}

func newMemFS(root string) *memFS {
	m := &memFS{dirs: map[string]*memDir{}}
	for d := root; ; d = filepath.Dir(d) {
		m.dirs[d] = &memDir{map[string]*memNode{}, map[string]*memNode{}}
		if d == filepath.Dir(d) {
			return m
		}
	}
}

// afterPowerLoss returns what is found after a loss of power. kind 0: nothing that was not synced is there. kind 1: names
// are there as if every folder had been synced, and unsynced content reads as zeros.
func (m *memFS) afterPowerLoss(kind int) *memFS {
	found := &memFS{dirs: map[string]*memDir{}}
	for path, d := range m.dirs {
		names := d.lasting
		if kind == 1 {
			names = d.now
		}
		kept := map[string]*memNode{}
		for name, n := range names {
			data := slices.Clone(n.lasting)
			if kind == 1 && len(n.data) > len(data) {
				data = append(data, make([]byte, len(n.data)-len(data))...)
			}
			kept[name] = &memNode{n.dir, data, slices.Clone(data)}
		}
		found.dirs[path] = &memDir{kept, maps.Clone(kept)}
	}
	// A folder whose own name was lost is gone with all that is in it.
	for path := range found.dirs {
		for d := path; d != filepath.Dir(d); d = filepath.Dir(d) {
			parent := m.dirs[filepath.Dir(d)]
			if _, known := parent.now[filepath.Base(d)]; !known {
				continue // above the root
			}
			if _, ok := found.dirs[filepath.Dir(d)]; !ok || found.dirs[filepath.Dir(d)].now[filepath.Base(d)] == nil {
				delete(found.dirs, path)
				break
			}
		}
	}
	return found
}

func (m *memFS) find(path string) (*memDir, *memNode) {
	d := m.dirs[filepath.Dir(path)]
	if d == nil {
		return nil, nil
	}
	return d, d.now[filepath.Base(path)]
}

func (m *memFS) Open(path string, flag int, _ fs.FileMode) (File, error) {
	d, n := m.find(path)
	if n == nil {
		if d == nil || flag&os.O_CREATE == 0 {
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
		n = &memNode{}
		d.now[filepath.Base(path)] = n
	}
	if flag&os.O_TRUNC != 0 {
		n.data = nil
	}
	return &memFile{n: n, name: filepath.Base(path)}, nil
}

func (m *memFS) Rename(oldPath, newPath string) error {
	from, n := m.find(oldPath)
	to, _ := m.find(newPath)
	if n == nil || to == nil {
		return &fs.PathError{Op: "rename", Path: oldPath, Err: fs.ErrNotExist}
	}
	to.now[filepath.Base(newPath)] = n
	delete(from.now, filepath.Base(oldPath))
	return nil
}

func (m *memFS) Remove(path string) error {
	d, n := m.find(path)
	if n == nil {
		return &fs.PathError{Op: "remove", Path: path, Err: fs.ErrNotExist}
	}
	delete(d.now, filepath.Base(path))
	return nil
}

func (m *memFS) MkdirAll(path string) error {
	if strings.HasSuffix(path, locksDir) { // locks are always the operating system's
		return os.MkdirAll(path, 0o777)
	}
	if m.dirs[path] != nil {
		return nil
	}
	if err := m.MkdirAll(filepath.Dir(path)); err != nil {
		return err
	}
	m.dirs[filepath.Dir(path)].now[filepath.Base(path)] = &memNode{dir: true}
	m.dirs[path] = &memDir{map[string]*memNode{}, map[string]*memNode{}}
	return nil
}

func (m *memFS) ReadDir(path string) ([]fs.DirEntry, error) {
	d := m.dirs[path]
	if d == nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	var list []fs.DirEntry
	for _, name := range slices.Sorted(maps.Keys(d.now)) {
		list = append(list, memInfo{name, d.now[name]})
	}
	return list, nil
}

func (m *memFS) SyncDir(path string) error {
	d := m.dirs[path]
	d.lasting = maps.Clone(d.now)
	return nil
}

type memFile struct {
	n    *memNode
	name string
	at   int64
}

func (f *memFile) Read(b []byte) (int, error) {
	n, err := f.ReadAt(b, f.at)
	f.at += int64(n)
	return n, err
}

func (f *memFile) ReadAt(b []byte, off int64) (int, error) {
	if off >= int64(len(f.n.data)) {
		return 0, io.EOF
	}
	n := copy(b, f.n.data[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) Write(b []byte) (int, error) {
	n, err := f.WriteAt(b, f.at)
	f.at += int64(n)
	return n, err
}

func (f *memFile) WriteAt(b []byte, off int64) (int, error) {
	if grow := off + int64(len(b)) - int64(len(f.n.data)); grow > 0 {
		f.n.data = append(f.n.data, make([]byte, grow)...)
	}
	return copy(f.n.data[off:], b), nil
}

func (f *memFile) Sync() error                { f.n.lasting = slices.Clone(f.n.data); return nil }
func (f *memFile) Truncate(size int64) error  { f.n.data = f.n.data[:size:size]; return nil }
func (f *memFile) Close() error               { return nil }
func (f *memFile) Stat() (fs.FileInfo, error) { return memInfo{f.name, f.n}, nil }

type memInfo struct {
	name string
	n    *memNode
}

func (i memInfo) Name() string               { return i.name }
func (i memInfo) IsDir() bool                { return i.n.dir }
func (i memInfo) Size() int64                { return int64(len(i.n.data)) }
func (i memInfo) ModTime() time.Time         { return time.Time{} }
func (i memInfo) Sys() any                   { return nil }
func (i memInfo) Info() (fs.FileInfo, error) { return i, nil }
func (i memInfo) Type() fs.FileMode          { return i.Mode().Type() }
func (i memInfo) Mode() fs.FileMode {
	if i.n.dir {
		return fs.ModeDir
	}
	return 0
}

// stoppingFS fails every change from a given one on, without the syncing that faultyFS leaves out.
type stoppingFS struct {
	*faultyFS
	m *memFS
}

func (f stoppingFS) SyncDir(path string) error {
	if err := f.step(); err != nil {
		return err
	}
	return f.m.SyncDir(path)
}

func (f stoppingFS) Open(path string, flag int, perm fs.FileMode) (File, error) {
	file, err := f.faultyFS.Open(path, flag, perm)
	if err != nil {
		return nil, err
	}
	return stoppingFile{file.(*faultyFile)}, nil
}

type stoppingFile struct{ *faultyFile }

func (f stoppingFile) Sync() error {
	if err := f.fs.step(); err != nil {
		return err
	}
	return f.File.Sync()
}

func TestALossOfPowerAtAnyStepLosesNoStoredGame(t *testing.T) {
	games := netsGames(t, 8, 5)
	for kind := range 2 {
		steps := 1 << 30
		for k := 1; k <= steps; k++ {
			dir := t.TempDir()
			disk := newMemFS(dir)
			dying := stoppingFS{&faultyFS{FS: disk, from: k, err: errKilled}, disk}
			var stored []*Game
			var w *Writer
			o := DefaultOptions()
			o.SealGames, o.FS = 3, dying
			s, err := OpenStore(dir, o)
			if err == nil {
				stored, w, err = run(s, games)
			}
			if err == nil { // it came to its end
				steps = k - 1
			} else if !errors.Is(err, errKilled) {
				t.Fatalf("step %d: %v", k, err)
			}
			if w != nil {
				w.lock.Close()
			}
			o.FS = disk.afterPowerLoss(kind)
			if s, err = OpenStore(dir, o); err != nil {
				t.Fatal(err)
			}
			have := map[ID]bool{}
			for _, g := range drain(t, s.Feed()) {
				have[g.ID] = true
			}
			for i, g := range stored {
				if !have[g.ID] {
					t.Fatalf("kind %d, step %d: game %d of %d is lost", kind, k, i, len(stored))
				}
			}
			if _, _, err := run(s, games[len(stored):]); err != nil {
				t.Fatalf("kind %d, step %d: %v", kind, k, err)
			}
			wantOnce(t, s, games)
		}
		if steps < 40 || steps > 1000 {
			t.Fatalf("%d steps", steps)
		}
	}
}
