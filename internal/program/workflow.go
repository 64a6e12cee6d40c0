package program

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"

	"github.com/bloodhound-dst/bloodhound/internal/exitcode"
	"github.com/bloodhound-dst/bloodhound/internal/printable"
)

// GitHub's runner reads the output of a step for workflow commands: lines that begin with `::` after blanks are trimmed, and the older form `##[` anywhere in
// a line (github.com/actions/runner, src/Runner.Common/ActionCommand.cs). Programs of a world, files and operations decide much of what Bloodhound prints, and
// must not command the runner. So nothing that Bloodhound prints there is a command, except the pair that turns commands off and on again:
//
//   - On the standard output a line that could be a command stands between `::stop-commands::TOKEN` and `::TOKEN::`. Lines and pair leave in one write,
//     so that no error, panic or signal leaves commands turned off.
//   - On the standard error such a line is changed, as \x3a: or \x23\x23[. The runner reads the two streams without an order between them: the pair of
//     one stream would turn commands on while the other stream relies on them being off.
//   - In a JSON document `#` is written as \u0023, which is the same string.

// WorkflowVariable is "true" in steps of GitHub Actions.
const WorkflowVariable = "GITHUB_ACTIONS"

// maxHeldLine bounds how much of a line is held back until its end shows whether it could be a command. A longer line counts as one.
const maxHeldLine = 64 << 10

// workflowLog is one of the two streams of a program in a step of GitHub Actions. It is safe for concurrent use.
type workflowLog struct {
	mu      *sync.Mutex // of both streams, which may be one pipe: only whole lines meet there
	to      io.Writer
	token   string // turns commands on again; without one, lines are changed
	part    []byte // of a line whose end has not come
	stopped bool   // the pair around a long line is half written
}

// newWorkflowLogs guards a pair of streams. The token is drawn when worlds cannot have seen it, and none of them sees the streams.
func newWorkflowLogs(stdout, stderr io.Writer) (results, notes *workflowLog) {
	mu := &sync.Mutex{}
	return &workflowLog{mu: mu, to: stdout, token: rand.Text()}, &workflowLog{mu: mu, to: stderr}
}

// visible leaves visible ASCII of a line. The runner trims and compares by rules of Unicode, which ignore more than blanks.
func visible(line []byte) []byte {
	kept := make([]byte, 0, len(line))
	for _, c := range line {
		if '!' <= c && c <= '~' {
			kept = append(kept, c)
		}
	}
	return kept
}

// beginsCommand reports whether the runner could take a line for a command.
func beginsCommand(line []byte) bool { return bytes.HasPrefix(visible(line), []byte("::")) }

// hasOldCommand reports whether the runner could take a part of a line for a command of the older form.
func hasOldCommand(line []byte) bool { return bytes.Contains(visible(line), []byte("##[")) }

// harmless changes a line so that it is no command.
func harmless(line []byte) []byte {
	if beginsCommand(line) {
		line = bytes.Replace(line, []byte(":"), []byte(`\x3a`), 1)
	}
	if hasOldCommand(line) {
		line = bytes.ReplaceAll(line, []byte("#"), []byte(`\x23`))
	}
	return line
}

func (w *workflowLog) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.part = append(w.part, p...)
	var out []byte
	for {
		end := bytes.IndexAny(w.part, "\n\r") // the runner ends lines at both
		if end < 0 {
			break
		}
		out = w.appendLine(out, w.part[:end+1])
		w.part = w.part[end+1:]
	}
	if len(w.part) > maxHeldLine {
		out = w.appendLong(out)
	}
	w.part = bytes.Clone(w.part)
	if len(out) > 0 {
		if _, err := w.to.Write(out); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// appendLine appends a whole line with its end.
func (w *workflowLog) appendLine(out, line []byte) []byte {
	switch {
	case w.token == "":
		return append(out, harmless(line)...)
	case w.stopped: // this is the end of a long line
		w.stopped = false
		return append(append(out, endedLine(line)...), w.resume()...)
	case beginsCommand(line) || hasOldCommand(line):
		out = append(out, w.stop()...)
		return append(append(out, endedLine(line)...), w.resume()...)
	}
	return append(out, line...)
}

// appendLong appends what has come of a line that is too long to hold back.
func (w *workflowLog) appendLong(out []byte) []byte {
	if w.token == "" { // for people: the line is cut
		out = append(append(out, harmless(w.part)...), '\n')
	} else {
		if !w.stopped {
			out = append(out, w.stop()...)
			w.stopped = true
		}
		out = append(out, w.part...)
	}
	w.part = nil
	return out
}

// endedLine is a line that the pair's second half may follow.
func endedLine(line []byte) []byte {
	if bytes.HasSuffix(line, []byte("\n")) {
		return line
	}
	return append(bytes.Clone(line), '\n')
}

func (w *workflowLog) stop() string   { return "::stop-commands::" + w.token + "\n" }
func (w *workflowLog) resume() string { return "::" + w.token + "::\n" }

// flush writes a last line that has no end, and completes the pair around a long one.
func (w *workflowLog) flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.part) == 0 && !w.stopped {
		return nil
	}
	out := w.appendLine(nil, w.part)
	w.part = nil
	_, err := w.to.Write(out)
	return err
}

// recovered prints a panic, whose text may be a program's: the Go runtime would print it as it is.
func (w *workflowLog) recovered(problem any) (code int) {
	fmt.Fprintf(w, "panic: %s\n\n%s", printable.Text(fmt.Sprint(problem)), debug.Stack())
	w.flush()
	return exitcode.Engine
}

// workflowJSON writes documents of JSON into a step's log. A `#` stands in strings alone.
type workflowJSON struct{ to io.Writer }

func (w workflowJSON) Write(p []byte) (int, error) {
	if _, err := w.to.Write(bytes.ReplaceAll(p, []byte("#"), []byte(`\u0023`))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// isRegular reports whether a stream is a file, which no runner reads.
func isRegular(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}
