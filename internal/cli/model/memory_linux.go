package model

import (
	"golang.org/x/sys/unix"
)

// inMemory reports whether the files of a folder lie in memory.
func inMemory(folder string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(folder, &fs) == nil && (fs.Type == unix.TMPFS_MAGIC || fs.Type == unix.RAMFS_MAGIC)
}
