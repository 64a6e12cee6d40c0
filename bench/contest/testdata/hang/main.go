// Hang makes no campaign and does not end, nor does its child: neither heeds a TERM, and both hold the lock of a file.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	signal.Ignore(syscall.SIGTERM)
	file, how := os.Args[1], os.Args[2]
	held, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = syscall.Flock(int(held.Fd()), syscall.LOCK_SH)
	}
	if err == nil && how != "child" {
		child := exec.Command(os.Args[0], file, "child")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		err = child.Start()
	}
	if err != nil {
		panic(err)
	}
	for how == "prints" {
		fmt.Println("all work and no play")
	}
	time.Sleep(time.Minute)
}
