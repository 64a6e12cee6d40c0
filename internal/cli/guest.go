package cli

import (
	"io"
	"os"

	"github.com/bloodhound-dst/bloodhound/internal/engine/vm/guest"
)

// IsGuest reports whether this process is the agent of the engine vm: process 1 of a virtual machine.
func IsGuest() bool { return os.Getpid() == 1 && os.Args[0] == "/init" }

// Guest is the agent. It returns when it fails.
func Guest(errs io.Writer) int { return guest.Main(errs) }
