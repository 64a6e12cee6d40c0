//go:build linux && amd64

package host

import (
	"os/exec"
	"runtime"
	"testing"
)

// While the loop waits for a thread that computes, the garbage collector can stop the loop's goroutine.
func TestWaitLetsTheCollectorRun(t *testing.T) {
	interruptible()
	onOwnThread(func() {
		c := exec.Command("cat") // ends when its standard input does
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		go func() {
			for range 3 {
				runtime.GC()
			}
			in.Close()
		}()
		if _, status, e := wait4(c.Process.Pid, 0); e != 0 || status.ExitStatus() != 0 {
			t.Error(status, e)
		}
		c.Process.Release()
	})
}
