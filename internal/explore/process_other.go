//go:build !linux

package explore

import (
	"os/exec"
	"runtime"
)

func isolate(*exec.Cmd) {}

func kill(cmd *exec.Cmd) {
	if cmd.Process != nil {
		cmd.Process.Kill()
	}
}

func reap(cmd *exec.Cmd) { cmd.Wait() }

// CPUs numbers the CPUs of this machine.
func CPUs() []int {
	list := make([]int, runtime.NumCPU())
	for i := range list {
		list[i] = i
	}
	return list
}

// startPinned starts cmd; pinning is not possible here.
func startPinned(cmd *exec.Cmd, _ int) error { return cmd.Start() }
