package safetensors

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// replace writes data to a temporary file beside path, flushes it to the disk
// and renames it to path; then the folder is flushed too. On an error the old
// file, if there was one, is untouched and the temporary file is gone.
func replace(path string, data []byte) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	if err == nil && runtime.GOOS != "windows" {
		err = f.Chmod(0o644)
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncFolder(dir)
}

// syncFolder makes a rename in dir durable. Windows offers no such call on a
// folder and needs none.
func syncFolder(dir string) error {
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
	return err
}
