//go:build unix

package driverfile

import (
	"fmt"
	"os"
	"syscall"
)

// onlyOurs refuses a folder that another user owns or can write to: a program in it would run as this user.
func onlyOurs(folder string) error {
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
