package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

func init() { scripted["onterminal"] = onTerminal }

// onTerminal executes a program on a terminal: onterminal FILE PROGRAM [ARG...]. FILE is what the user types. What the terminal
// shows goes to the standard output, and all of it: testscript's own ttyin closes the terminal while the last lines may still be
// in it.
func onTerminal() {
	typed, err := os.ReadFile(os.Args[1])
	if err != nil {
		fail(err)
	}
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		fail(err)
	}
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		fail(err)
	}
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		fail(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		fail(err)
	}
	cmd := exec.Command(os.Args[2], os.Args[3:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		fail(err)
	}
	terminal.Close()
	const endOfInput = 4
	if _, err := screen.Write(append(typed, endOfInput)); err != nil {
		fail(err)
	}
	// When the last process has closed the terminal, and everything was read, the other side answers EIO (pty(7)).
	if _, err := io.Copy(os.Stdout, screen); err != nil && !errors.Is(err, syscall.EIO) {
		fail(err)
	}
	cmd.Wait()
	os.Exit(cmd.ProcessState.ExitCode())
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "onterminal:", err)
	os.Exit(125)
}
