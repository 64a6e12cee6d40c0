package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// quoted lists the fixed parts of messages by which docs/troubleshooting.md is searched.
var quoted = []string{
	"No operation succeeded, so nothing could be judged.",
	"only crashes of programs were judged: there is no workload",
	"reported no operation",
	"of virtual time passed before",
	"the workload and the final checks finished",
	"were active only before the first operation or after the last",
	"stale: the run has changed",
	"interrupted after",
	"used its CPU time without a system call",
	"changed during the runs, which may be the cause",
	"was never ready",
	"it does not listen on port",
	"Most operations fail: ",
	"cannot confine a process",
	"a seccomp filter around Bloodhound answers",
	"cannot pull image",
	"the registry does not answer",
	"system calls that were refused (a program that needs one of them may behave differently outside)",
	"the build of node",
	"fix the program, or the node's `build:`",
	"the failure could not be stored",
	"a limit was reached",
	"of the machine's memory that the world may take (simulation.limits.world_memory_bytes)",
	"no two operations overlapped, so no ordering bug could show",
	"none seen",
	"Not tested",
}

// The page quotes messages as they are printed: each is on the page, and in the program.
func TestTroubleshootingQuotesMessages(t *testing.T) {
	page, err := os.ReadFile("troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	var program strings.Builder
	err = filepath.WalkDir("../internal", func(name string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name)
		// A message may be split over several literals.
		program.WriteString(strings.Join(strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' || r == '\t' }), ""))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	source := strings.NewReplacer(`" +"`, "", `"+"`, "", `\"`, `"`).Replace(program.String())
	for _, message := range quoted {
		if !strings.Contains(string(page), message) {
			t.Errorf("docs/troubleshooting.md does not quote %q", message)
		}
		if !strings.Contains(source, message) {
			t.Errorf("no message says %q: quote in docs/troubleshooting.md what is printed today", message)
		}
	}
}
