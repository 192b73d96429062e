package dataset

import (
	"errors"
	"io/fs"
	"sync"
	"syscall"
)

// faultyFS lets operations that change something fail from a given one on, counted from 1. It syncs nothing: what was
// written survives a killed process anyway, and the tests run ten times as fast.
type faultyFS struct {
	FS
	mu    sync.Mutex
	count int
	from  int   // first operation that fails; 0: none
	until int   // first operation that works again; 0: never
	err   error // with what they fail
}

var errKilled = errors.New("killed")

func (f *faultyFS) step() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	if f.from > 0 && f.count >= f.from && (f.until == 0 || f.count < f.until) {
		return f.err
	}
	return nil
}

// steps returns the number of operations so far.
func (f *faultyFS) steps() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count
}

func (f *faultyFS) Open(path string, flag int, perm fs.FileMode) (File, error) {
	if flag != 0 {
		if err := f.step(); err != nil {
			return nil, err
		}
	}
	file, err := f.FS.Open(path, flag, perm)
	if err != nil {
		return nil, err
	}
	return &faultyFile{file, f}, nil
}

func (f *faultyFS) Rename(oldPath, newPath string) error {
	if err := f.step(); err != nil {
		return err
	}
	return f.FS.Rename(oldPath, newPath)
}

func (f *faultyFS) Remove(path string) error {
	if err := f.step(); err != nil && !errors.Is(err, syscall.ENOSPC) { // a full disk does not keep files from being removed
		return err
	}
	return f.FS.Remove(path)
}

func (f *faultyFS) MkdirAll(path string) error {
	if err := f.step(); err != nil {
		return err
	}
	return f.FS.MkdirAll(path)
}

func (f *faultyFS) SyncDir(path string) error {
	if err := f.step(); err != nil {
		return err
	}
	return nil
}

type faultyFile struct {
	File
	fs *faultyFS
}

// A write that fails leaves half of its bytes.
func (f *faultyFile) Write(b []byte) (int, error) {
	if err := f.fs.step(); err != nil {
		n, _ := f.File.Write(b[:len(b)/2])
		return n, err
	}
	return f.File.Write(b)
}

func (f *faultyFile) WriteAt(b []byte, off int64) (int, error) {
	if err := f.fs.step(); err != nil {
		n, _ := f.File.WriteAt(b[:len(b)/2], off)
		return n, err
	}
	return f.File.WriteAt(b, off)
}

func (f *faultyFile) Sync() error {
	if err := f.fs.step(); err != nil {
		return err
	}
	return nil
}

func (f *faultyFile) Truncate(size int64) error {
	if err := f.fs.step(); err != nil && !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	return f.File.Truncate(size)
}
