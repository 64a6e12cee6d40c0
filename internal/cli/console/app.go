// Package console is one use of the program: its streams, its exit code, documents, screens and progress.
package console

import (
	"fmt"
	"io"

	"github.com/bloodhound-dst/bloodhound/internal/report"
)

// App is one use of the program.
type App struct {
	Out  io.Writer // results, as text
	JSON io.Writer // the one document of --json
	Raw  io.Writer // bytes of a file that was asked for, as they are
	Err  io.Writer // progress, notes and errors
	Code int
	// Misused means that the flags could not be read.
	Misused bool
	Printed bool // the one document of --json is out
}

// Note prints a remark while work continues.
func (a *App) Note(format string, args ...any) {
	fmt.Fprintln(a.Err, report.Printable(fmt.Sprintf(format, args...)))
}
