package workload

import (
	"fmt"
	"io"
	"strconv"
	"syscall"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// StopFaults is the program behind $ANTITHESIS_STOP_FAULTS: it asks for a time without faults, of so many seconds, and
// ends at once.
func StopFaults(args []string, errs io.Writer) int {
	const usage = "stop-faults: give a number of seconds, such as: stop-faults 30\n"
	if len(args) != 1 {
		fmt.Fprint(errs, usage)
		return exitFailed
	}
	seconds, err := strconv.ParseFloat(args[0], 64)
	if err != nil || !(seconds > 0) {
		fmt.Fprint(errs, usage)
		return exitFailed
	}
	if err := control(world.QuietLine + strconv.FormatFloat(seconds, 'f', -1, 64)); err != nil {
		fmt.Fprintf(errs, "stop-faults: %v\n", err)
		return exitFailed
	}
	return exitDone
}

// control writes a line to the engine.
func control(line string) error {
	fd, err := syscall.Open(world.ControlPath, syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", world.ControlPath, err)
	}
	defer syscall.Close(fd)
	if _, err := syscall.Write(fd, []byte(line)); err != nil {
		return fmt.Errorf("%s: %w", world.ControlPath, err)
	}
	return nil
}
