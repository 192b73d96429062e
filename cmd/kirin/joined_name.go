package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"kirin/dataset/whole"
	"kirin/selfplay/fleet"

	"github.com/gofrs/flock"
)

// maxSiblings is how many workers of one machine find a folder by themselves.
const maxSiblings = 1000

// workerFolder chooses and locks the folder of a worker that joins a trainer
// elsewhere: --dir, or workers/NAME, or for a worker without a name the first of
// workers/HOST, workers/HOST-2 and so on that no living worker uses. So the next
// start finds what the last one could not send.
func (f *selfplayFlags) workerFolder(name string) (unlock func(), err error) {
	if f.dir == "" && name != "" {
		f.dir = filepath.Join("workers", name)
	}
	if f.dir != "" {
		unlock, ok, err := lockWorkerFolder(f.dir)
		if err == nil && !ok {
			err = fmt.Errorf("another worker uses %s: give this one another --name or --dir", f.dir)
		}
		return unlock, err
	}
	for i := 1; i <= maxSiblings; i++ {
		dir := filepath.Join("workers", hostName())
		if i > 1 {
			dir = fmt.Sprintf("%s-%d", dir, i)
		}
		if unlock, ok, err := lockWorkerFolder(dir); err != nil || ok {
			f.dir = dir
			return unlock, err
		}
	}
	return nil, fmt.Errorf("%d workers use the folders %s: give this one a --name", maxSiblings, filepath.Join("workers", hostName()))
}

// lockWorkerFolder makes a folder and takes it; not ok: another worker has it.
func lockWorkerFolder(dir string) (unlock func(), ok bool, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, false, err
	}
	if _, err := os.Stat(filepath.Join(dir, "config.yaml")); err == nil {
		return nil, false, fmt.Errorf("%s is a run: a worker that joins another machine needs a folder of its own", dir)
	}
	lock := flock.New(filepath.Join(dir, "LOCK"))
	if ok, err = lock.TryLock(); err != nil {
		return nil, false, fmt.Errorf("lock %s: %w", dir, err)
	}
	return func() { lock.Unlock() }, ok, nil
}

// workerName is the name under which the games in a worker's folder are signed:
// the one given, else that of the last start, else a new one. The folder keeps it
// in a file, for the trainer takes a game only from the worker that signed it.
func workerName(dir, given string) (string, error) {
	file := filepath.Join(dir, "name")
	b, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	kept := strings.TrimSpace(string(b))
	if fleet.CheckName(kept) != nil {
		kept = ""
	}
	if given == "" {
		given = kept
	}
	if given == kept && kept != "" {
		return kept, nil
	}
	if kept != "" {
		if left, err := os.ReadDir(filepath.Join(dir, "outbox")); err == nil && len(left) > 0 {
			return "", fmt.Errorf("%s holds finished games of the worker %s, which the trainer takes from that name alone: join as %s once more, or give this worker another --dir", dir, kept, kept)
		}
	}
	if given == "" {
		var random [2]byte
		rand.Read(random[:])
		given = fmt.Sprintf("%s-%x", hostName(), random)
	}
	return given, whole.WriteFile(file, []byte(given+"\n"))
}

// hostName is this machine's name as the beginning of a worker's.
func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		name = "worker"
	}
	name, _, _ = strings.Cut(strings.ToLower(name), ".")
	plain := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' {
			return c
		}
		return -1
	}, name)
	plain = strings.Trim(plain, "-")
	if plain == "" {
		plain = "worker"
	}
	return strings.TrimRight(plain[:min(len(plain), 30)], "-")
}
