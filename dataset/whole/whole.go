// Package whole makes files and folders appear whole or not at all: under a
// temporary name beside the final one, flushed to the disk, renamed, and the
// folder flushed. After kill -9, a full disk or a power cut there is the old
// content or the new one, never a part.
//
// Temporary names start with "." and end with ".tmp"; Sweep removes those that
// a killed program left behind.
package whole

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// WriteFile replaces path by data. On an error the old file is untouched.
func WriteFile(path string, data []byte) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return errors.Join(err, f.Abort())
	}
	return f.Commit()
}

// File is a file under its temporary name. Write to it, then Commit or Abort.
type File struct {
	*os.File
	path string
}

// Create opens a temporary file that Commit will rename to path.
func Create(path string) (*File, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0 {
		return nil, fmt.Errorf("write %s: it exists and is no regular file", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", path, cause(err))
	}
	return &File{f, path}, nil
}

// cause leaves the temporary name out of an error.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Commit flushes the file, gives it its name and flushes the folder.
func (f *File) Commit() error {
	err := f.Sync()
	if err == nil && runtime.GOOS != "windows" {
		err = f.Chmod(0o644)
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(f.Name(), f.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", f.path, err), os.Remove(f.Name()))
	}
	return SyncDir(filepath.Dir(f.path))
}

// Abort throws the temporary file away.
func (f *File) Abort() error {
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// WriteDir makes a folder appear whole: fill writes its files into the
// temporary folder it is given. An existing folder of that name is replaced;
// should the program die between the two renames, it is missing, not mixed.
func WriteDir(path string, fill func(dir string) error) error {
	tmp, err := os.MkdirTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	err = fill(tmp)
	if err == nil && runtime.GOOS != "windows" {
		err = os.Chmod(tmp, 0o755)
	}
	if err == nil {
		err = SyncDir(tmp)
	}
	if err == nil {
		err = RemoveDir(path)
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.RemoveAll(tmp))
	}
	return SyncDir(filepath.Dir(path))
}

// RemoveDir removes a folder with all it holds. It disappears whole: should the
// program die on the way, a temporary name is left for Sweep. A folder that does
// not exist is no error.
func RemoveDir(path string) error {
	tmp, err := os.MkdirTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	gone := filepath.Join(tmp, "gone")
	if err := os.Rename(path, gone); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fmt.Errorf("remove %s: %w", path, err), os.Remove(tmp))
	}
	if err := os.RemoveAll(tmp); err != nil {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	return nil
}

// SyncDir makes the renames in a folder durable. Windows offers no such call on
// a folder and needs none.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if closing := d.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("flush folder %s: %w", dir, err)
	}
	return nil
}

// Temporary tells whether a name is one that this package gives to unfinished
// files and folders.
func Temporary(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".tmp")
}

// Sweep removes what a killed program left unfinished in dir. Call it only
// where no other program is writing.
func Sweep(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if Temporary(e.Name()) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}
