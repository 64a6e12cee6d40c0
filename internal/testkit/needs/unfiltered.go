package needs

import (
	"os"
	"strings"
	"testing"
)

// Unfiltered skips a test where programs that it starts have a filter of system calls from the beginning, as in many containers.
func Unfiltered(t testing.TB) {
	t.Helper()
	status, _ := os.ReadFile("/proc/self/status")
	if !strings.Contains(string(status), "\nSeccomp:\t0\n") {
		t.Skip("a filter of system calls is in force (docker run --security-opt seccomp=unconfined)")
	}
}
