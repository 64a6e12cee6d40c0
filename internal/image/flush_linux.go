package image

import (
	"os"

	"golang.org/x/sys/unix"
)

// flush writes everything that a folder's file system still holds in memory (syncfs(2)): one call for thousands of contents.
func flush(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return unix.Syncfs(int(d.Fd()))
}
