package program

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/bloodhound-dst/bloodhound/internal/printable"
)

// results is the standard output. That something could not be written there is a failure of the machine, whoever wrote
// it.
type results struct {
	to   io.Writer
	lost error
}

func (r *results) Write(p []byte) (int, error) {
	n, err := r.to.Write(p)
	if err != nil && r.lost == nil {
		r.lost = Failed(fmt.Errorf("the results cannot be written: %w", err))
	}
	return n, err
}

// Streams are the standard streams of a program. Programs of a world, files and operations decide much of what is written to them.
type Streams struct {
	Out  io.Writer // results, as text
	JSON io.Writer // the one document of --json
	Raw  io.Writer // bytes of a file that was asked for, as they are
	Err  io.Writer // progress, notes and errors

	results     *results
	text, notes *workflowLog // nil outside of a step of GitHub Actions
}

// NewStreams makes the streams of a program. In a step of GitHub Actions (WorkflowVariable) they do not command the runner; own says that
// another process of this project reads them, and no runner.
func NewStreams(stdout, stderr io.Writer, own bool) *Streams {
	out := &results{to: stdout}
	s := &Streams{Out: &printable.Writer{To: out}, JSON: out, Raw: out, Err: stderr, results: out}
	if os.Getenv(WorkflowVariable) != "true" || own {
		return s
	}
	s.text, s.notes = newWorkflowLogs(out, stderr)
	s.Out, s.JSON, s.Err = &printable.Writer{To: s.text}, workflowJSON{out}, s.notes
	if !isRegular(stdout) {
		s.Raw = s.text
	}
	return s
}

// Flush writes lines that have no end yet.
func (s *Streams) Flush() {
	if s.text != nil {
		s.text.flush()
		s.notes.flush()
	}
}

// Lost is an error if some results could not be written.
func (s *Streams) Lost() error { return s.results.lost }

// Recovered prints the value of a panic and the stack of the function that recovered from it, and gives the exit code. It reports whether it
// did so, which is in a step of GitHub Actions.
func (s *Streams) Recovered(value any) (code int, done bool) {
	if s.notes == nil {
		return 0, false
	}
	return s.notes.recovered(value), true
}

// IsTerminal reports whether the raw results of Streams go to a person's screen.
func IsTerminal(w io.Writer) bool {
	r, ok := w.(*results)
	if !ok {
		return false
	}
	f, ok := r.to.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
