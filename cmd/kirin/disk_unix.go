//go:build linux || darwin

package main

import "golang.org/x/sys/unix"

// freeBytes is the room left for us on the disk that holds a folder.
func freeBytes(dir string) (int64, bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}
