package director

import (
	"fmt"
	"slices"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A report of a panic may have more lines than are kept of a log: those of all threads. Its beginning says what went wrong.
func TestTheBeginningOfAPanicIsKept(t *testing.T) {
	const tag, second = 7, 1_000_000_000
	for _, c := range []struct {
		name  string
		after int // lines
		end   int64
		kind  string
		first string
	}{
		{"a long report", 200, 2 * second, "panic", "panic: index out of range [7]"},
		{"a short report", 5, 2 * second, "panic", "line 0"},
		{"a program that went on", 200, 9 * second, "exit", "goroutine 162"},
	} {
		d := &Director{Setting: &Setting{}}
		d.act = &stage{}
		d.spec = &world.Spec{Nodes: []world.Node{{Name: "n1", Role: world.Server}}}
		d.out = &record.Outcome{}
		say := func(text string) { d.Log(record.LogLine{TimeNs: 2 * second, Node: "n1", Text: text}, tag) }
		for i := range 3 {
			say(fmt.Sprint("line ", i))
		}
		say("panic: index out of range [7]")
		say("")
		say("goroutine 1 [running]:")
		for i := range c.after {
			say(fmt.Sprint("goroutine ", i+2))
		}
		d.crash(&Notice{TimeNs: c.end, Tag: tag, Program: "p", Status: 2 << 8}, &Job{}, true)
		if len(d.out.Crashes) != 1 {
			t.Fatalf("%s: %+v", c.name, d.out.Crashes)
		}
		crash := d.out.Crashes[0]
		if crash.Kind != c.kind || crash.Lines[0] != c.first || len(crash.Lines) > crashLines {
			t.Errorf("%s: %s, %d lines, the first: %q", c.name, crash.Kind, len(crash.Lines), crash.Lines[0])
		}
		if last := fmt.Sprint("goroutine ", c.after+1); crash.Lines[len(crash.Lines)-1] != last {
			t.Errorf("%s: the last line is %q, want %q", c.name, crash.Lines[len(crash.Lines)-1], last)
		}
		if c.kind == "panic" && !slices.Contains(crash.Lines, "goroutine 1 [running]:") {
			t.Errorf("%s: %q lacks the thread that panicked", c.name, crash.Lines)
		}
	}
}
