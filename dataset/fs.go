package dataset

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"kirin/dataset/whole"
)

// FS is the file system under a store: the few operations it uses. The operating system's is [OS]; tests put one in
// front of it that fails or stops at a given step.
type FS interface {
	// Open opens a file as os.OpenFile does.
	Open(path string, flag int, perm fs.FileMode) (File, error)
	// Rename moves a file over newPath, at once or not at all.
	Rename(oldPath, newPath string) error
	Remove(path string) error
	MkdirAll(path string) error
	// ReadDir returns the entries of a folder sorted by name.
	ReadDir(path string) ([]fs.DirEntry, error)
	// SyncDir makes the names in a folder last through a loss of power.
	SyncDir(path string) error
}

// File is an open file of an [FS].
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.WriterAt
	io.Closer
	Sync() error
	Truncate(size int64) error
	Stat() (fs.FileInfo, error)
}

// OS returns the file system of the operating system.
func OS() FS { return osFS{} }

type osFS struct{}

func (osFS) Open(path string, flag int, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(path, flag, perm)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (osFS) Rename(oldPath, newPath string) error       { return os.Rename(oldPath, newPath) }
func (osFS) Remove(path string) error                   { return os.Remove(path) }
func (osFS) MkdirAll(path string) error                 { return os.MkdirAll(path, 0o777) }
func (osFS) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }

func (osFS) SyncDir(path string) error { return whole.SyncDir(path) }

// readFile returns the content of a file from offset from on.
func readFile(fsys FS, path string, from int64) ([]byte, error) {
	f, err := fsys.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size() <= from {
		return nil, nil
	}
	b := make([]byte, st.Size()-from)
	n, err := f.ReadAt(b, from)
	if err != nil && err != io.EOF {
		return nil, err
	}
	return b[:n], nil
}

// readDir lists a folder that need not exist.
func readDir(fsys FS, path string) ([]fs.DirEntry, error) {
	entries, err := fsys.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

// exists tells whether a file is there.
func exists(fsys FS, path string) (bool, error) {
	f, err := fsys.Open(path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, f.Close()
}

// makeDir creates a folder below root with its parents and makes their names last.
func makeDir(fsys FS, root, dir string) error {
	if err := fsys.MkdirAll(dir); err != nil {
		return err
	}
	for d := dir; d != root; {
		parent := filepath.Dir(d)
		if parent == d {
			break
		}
		if err := fsys.SyncDir(parent); err != nil {
			return err
		}
		d = parent
	}
	return nil
}

// writeWhole makes the file path appear whole or not at all: fill writes it under a temporary name in the same folder,
// which is synced, renamed and made to last. On any error nothing is left behind.
func writeWhole(fsys FS, path string, fill func(File) error) (err error) {
	dir := filepath.Dir(path)
	tmp := filepath.Join(dir, tmpPrefix+filepath.Base(path)+tmpSuffix)
	f, err := fsys.Open(tmp, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	closed := false
	defer func() {
		if err == nil {
			return
		}
		if !closed {
			f.Close()
		}
		if rm := fsys.Remove(tmp); rm != nil && !errors.Is(rm, fs.ErrNotExist) {
			err = fmt.Errorf("%w (and its temporary file stays: %v)", err, rm)
		}
	}()
	if err := fill(f); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	closed = true
	if err := f.Close(); err != nil {
		return err
	}
	if err := fsys.Rename(tmp, path); err != nil {
		return err
	}
	return fsys.SyncDir(dir)
}

// Every unfinished file is named so; whole.Temporary knows these names too.
const (
	tmpPrefix = "."
	tmpSuffix = ".tmp"
)

// finalName returns the name that the unfinished file of a name was to have.
func finalName(name string) (string, bool) {
	if !whole.Temporary(name) {
		return "", false
	}
	return name[len(tmpPrefix) : len(name)-len(tmpSuffix)], true
}
