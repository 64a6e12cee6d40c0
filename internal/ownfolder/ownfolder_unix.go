//go:build unix

// Package ownfolder recognises folders that the user alone controls: what another user could put there must be neither executed nor
// believed.
package ownfolder

import (
	"fmt"
	"os"
	"syscall"
)

// Check refuses a path that is not a folder, or is a link to one, or that another user owns or can write to.
func Check(folder string) error {
	info, err := os.Lstat(folder)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(st.Uid) != os.Geteuid() || info.Mode()&0o022 != 0 {
		return fmt.Errorf("%s must be a folder of user %d, to which nobody else can write", folder, os.Geteuid())
	}
	return nil
}
