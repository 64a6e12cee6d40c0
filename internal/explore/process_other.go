//go:build !linux

package explore

import "os/exec"

func isolate(*exec.Cmd) {}

func kill(cmd *exec.Cmd) {
	if cmd.Process != nil {
		cmd.Process.Kill()
	}
}

func reap(cmd *exec.Cmd) { cmd.Wait() }

// startPinned starts cmd; pinning is not possible here.
func startPinned(cmd *exec.Cmd, _ int) error { return cmd.Start() }
