package storetest

import "syscall"

// process starts a server as a user, such that it ends with the test program, whatever ends that.
func process(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: as, Pdeathsig: syscall.SIGQUIT}
}
