// Command loop makes COUNT system calls (getppid) or clock reads, or nothing: loop call|clock COUNT.
package main

import (
	"os"
	"strconv"
	"syscall"
	"time"
)

func main() {
	count, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	start := time.Now()
	for range count {
		switch os.Args[1] {
		case "call":
			syscall.RawSyscall(syscall.SYS_GETPPID, 0, 0, 0)
		case "clock":
			time.Since(start) // one read of CLOCK_MONOTONIC
		}
	}
}
