//go:build !linux

package storetest

import "syscall"

func process(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: as}
}
