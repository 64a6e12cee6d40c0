package main

import (
	"net"
	"syscall"
	"time"
)

// tcpUserTimeout is TCP_USER_TIMEOUT of tcp(7).
const tcpUserTimeout = 0x12

// giveUpAfter ends a connection whose peer has acknowledged nothing for so long. Without it a connection stays silent after a
// partition for about as long as the partition lasted.
func giveUpAfter(c net.Conn, patience time.Duration) error {
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return err
	}
	var set error
	err = raw.Control(func(fd uintptr) {
		set = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(patience.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return set
}
