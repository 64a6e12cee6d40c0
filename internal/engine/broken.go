package engine

import (
	"fmt"
	"path"
	"strings"
)

// Broken is the error of a run in which the engine, or what judges the run, panicked. That is a bug of Bloodhound, and says nothing
// about the programs under test. The world can only be closed after it.
type Broken struct {
	Doing string // what the engine was at, such as a system call with its thread; empty if unknown
	Value string // of the panic
	Stack string // the functions that were under way, the innermost first, a line each
}

// NewBroken makes an error of the value of a panic and of debug.Stack, called by the deferred function that recovered from it.
func NewBroken(value any, stack []byte) *Broken {
	if broken, ok := value.(*Broken); ok { // it has passed another goroutine before
		return broken
	}
	return &Broken{Value: fmt.Sprint(value), Stack: shorten(string(stack))}
}

func (b *Broken) Error() string {
	where := ""
	if b.Doing != "" {
		where = " in " + b.Doing
	}
	return fmt.Sprintf("Bloodhound itself failed%s: %s. Please report this bug with these lines:\n%s", where, b.Value, b.Stack)
}

// module is left out of the names of functions.
const module = "github.com/bloodhound-dst/bloodhound/"

// maxFrames bounds the functions that a Broken names.
const maxFrames = 24

// shorten makes a line of each function of a stack of Go, from the one that panicked on.
func shorten(stack string) string {
	lines := strings.Split(stack, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "panic(") { // two lines each; above are those that recovered
			lines = lines[min(i+2, len(lines)):]
			break
		}
	}
	var frames []string
	for i := 0; i+1 < len(lines) && len(frames) < maxFrames; i++ {
		place, isPlace := strings.CutPrefix(lines[i+1], "\t")
		if !isPlace || strings.HasPrefix(lines[i], "created by ") {
			continue
		}
		function := lines[i]
		if at := strings.LastIndexByte(function, '('); at > 0 && strings.HasSuffix(function, ")") {
			function = function[:at] // without the words of its arguments
		}
		place, _, _ = strings.Cut(place, " +0x")
		frames = append(frames, "  "+strings.TrimPrefix(function, module)+" "+path.Base(place))
	}
	return strings.Join(frames, "\n")
}
