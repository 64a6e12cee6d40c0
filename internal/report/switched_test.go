package report_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// A switch in the code of a native program is named by the function and the line of its block, and by the address alone where the file is not there.
func TestSwitchOfNativeProgram(t *testing.T) {
	needs.Program(t, "gcc")
	dir := t.TempDir()
	program := filepath.Join(dir, "lost")
	text := "int balance;\n__attribute__((noinline)) void deposit(int n)\n{\n\tfor (int i = 0; i < n; i++)\n\t\tbalance += " +
		"i;\n}\nint main(int c, char **v)\n{\n\tdeposit(c);\n}\n"
	if err := os.WriteFile(program+".c", []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-g", "-O1", "-o", program, program+".c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b, names := analysed(t, program)
	i := slices.IndexFunc(names.Functions, func(f code.Function) bool { return f.Name == "deposit" })
	address := b.Places[names.Functions[i].First]
	stream := fmt.Sprintf("switch/n1/0.1/%x", address)
	o := &check.Judged{Outcome: record.Outcome{
		Decisions: []tape.Decision{{Stream: stream, Index: 2, Value: 3}, {Stream: "fault/crash/n1", Value: 1}, {Stream: stream, Index: 5, Value: 17}},
		Switches: []record.Switch{
			{Stream: stream, TimeNs: 1e9, Thread: "n1/0.1", Program: "/bin/lost", Address: address, Instructions: 2},
			{Stream: stream, TimeNs: 2e9, Thread: "n1/0.1", Program: "/bin/lost", Address: address, Instructions: 1, ForNs: 16e3},
		},
		Programs: []record.Program{{Path: "/bin/lost", File: program}},
	}}
	at := fmt.Sprintf(`/bin/lost\+0x%x$`, address)
	in := `in deposit \(lost\.c:[2-5]\), `
	for k, want := range []string{
		`^1\.000000s: thread n1/0\.1 gives way until the others have had their turns, ` + in + `2 instructions behind ` + at,
		`^$`,
		`^2\.000000s: thread n1/0\.1 gives way for 16µs, ` + in + `1 instruction behind ` + at,
	} {
		if got := report.SwitchesOf(o).Says(k); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%q is not %s", got, want)
		}
	}
	o.Programs = nil
	if got, want := report.SwitchesOf(o).Says(2), regexp.MustCompile(`gives way for 16µs, 1 instruction behind `+at); !want.MatchString(got) {
		t.Errorf("%q is not %s", got, want)
	}
}
