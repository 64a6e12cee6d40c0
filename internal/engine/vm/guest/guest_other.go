//go:build !linux || !amd64

package guest

import (
	"fmt"
	"io"
)

// Main is process 1 of a virtual machine, which runs Linux.
func Main(errs io.Writer) int {
	fmt.Fprintln(errs, "bloodhound driver vm: this is process 1 of a virtual machine of the engine vm, and nothing else")
	return 2
}
