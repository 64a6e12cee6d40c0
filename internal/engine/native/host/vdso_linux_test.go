//go:build linux && amd64

package host

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What fails by the limit on the size of files says how to raise it, and other errors stay what they are.
func TestLimitOfFilesHasARemedy(t *testing.T) {
	err := sized(os.NewSyscallError("ftruncate", unix.EFBIG))
	if !errors.Is(err, unix.EFBIG) || !strings.Contains(err.Error(), "ulimit -f unlimited") {
		t.Error(err)
	}
	if err := sized(unix.ENOSPC); err != unix.ENOSPC {
		t.Error(err)
	}
}
