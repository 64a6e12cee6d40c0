package report_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/coverage/code"
	"github.com/bloodhound-dst/bloodhound/explore"
	"github.com/bloodhound-dst/bloodhound/report"
)

const covered = `#include <stdio.h>
__attribute__((noinline)) void never(int n) {
	printf("<never> %d\n", n);
}
int main(int argc, char **argv) {
	if (argc > 5)
		never(argc);
	return 0;
}
`

// coverageOf is a campaign that has run main of a program, and half of it.
func coverageOf(t *testing.T, flags ...string) (of report.CoverageOf, state *code.State) {
	t.Helper()
	dir := t.TempDir()
	source, program := filepath.Join(dir, "a b.c"), filepath.Join(dir, "program")
	if err := os.WriteFile(source, []byte(covered), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", append(flags, "-O0", "-o", program, source)...).CombinedOutput(); err != nil {
		t.Skipf("cc: %v %s", err, out)
	}
	file, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	b, err := code.Analyse(file)
	if err != nil {
		t.Fatal(err)
	}
	names, err := code.NewNames(b, file, nil)
	if err != nil {
		t.Fatal(err)
	}
	h := code.Hits{Digest: b.Digest, Path: "/bin/program", File: program, Total: len(b.Places)}
	for _, f := range names.Functions {
		if f.Name == "main" {
			h.Blocks = code.Blocks{uint32(f.First), uint32(f.Last - 1)}
		}
	}
	state = &code.State{}
	state.Merge(h)
	state.Merge(code.Hits{Digest: strings.Repeat("0", 64), Path: "/bin/script", Off: "it is no ELF program for x86-64"})
	of = report.CoverageOf{Name: "world", Bloodhound: "test", Seed: 7, Runs: 3}
	for i, total := range explore.CodeTotals(state) {
		of.Binaries = append(of.Binaries, report.NewBinary(state.Files[i], total, nil))
	}
	return of, state
}

func written(t *testing.T, write func(*bytes.Buffer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestCoverageReports(t *testing.T) {
	of, state := coverageOf(t, "-g")
	page := written(t, func(b *bytes.Buffer) error { return report.CoveragePage(b, of) })
	for _, want := range []string{"/bin/program", `<td class="mono">never</td><td class="mono">a b.c:2</td><td class="n">0</td>`, `<s class="missed">		never(argc);</s>`,
		`<s class="ran">	if (argc &gt; 5)</s>`, "off: it is no ELF program for x86-64"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	lcov := written(t, func(b *bytes.Buffer) error { return report.CoverageLCOV(b, of) })
	for _, want := range []string{"a b.c\n", "FN:2,never\n", "FNDA:0,never\n", "FNDA:1,main\n", "DA:6,1\n", "DA:7,0\n", "end_of_record\n"} {
		if !strings.Contains(lcov, want) {
			t.Errorf("lcov has no %q:\n%s", want, lcov)
		}
	}
	if strings.Count(lcov, "SF:") != strings.Count(lcov, "end_of_record") {
		t.Errorf("records do not end:\n%s", lcov)
	}
	text := written(t, func(b *bytes.Buffer) error { return report.CoverageText(b, of) })
	if !strings.Contains(text, "/bin/script: off: it is no ELF program") || !strings.Contains(text, " never  ") {
		t.Error(text)
	}
	var doc struct {
		Binaries []struct {
			Path           string
			Covered, Total int
			Files          []struct {
				File            string
				Covered, Missed []int
			}
		}
	}
	if err := json.Unmarshal([]byte(written(t, func(b *bytes.Buffer) error { return report.CoverageJSON(b, of) })), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Binaries) != 2 || doc.Binaries[0].Covered != 2 || len(doc.Binaries[0].Files) != 1 || len(doc.Binaries[0].Files[0].Missed) < 3 {
		t.Errorf("the document is %+v", doc)
	}
	// A file that is another one by now gives no wrong names.
	if err := os.WriteFile(state.Files[0].Host, []byte("another"), 0o777); err != nil {
		t.Fatal(err)
	}
	if b := report.NewBinary(state.Files[0], explore.CodeTotals(state)[0], nil); b.Names != nil || !strings.Contains(b.Unnamed, "is another one by now") {
		t.Errorf("%+v", b)
	}
}

// Without line numbers there are functions, and without symbols addresses.
func TestCoverageOfStrippedPrograms(t *testing.T) {
	for flag, want := range map[string]string{"-g0": "FNDA:0,never\n", "-s": "FNDA:0,0x"} {
		of, _ := coverageOf(t, flag)
		if flag == "-s" {
			of.Binaries[0].Covered = code.NewBits(of.Binaries[0].Total)
		}
		lcov := written(t, func(b *bytes.Buffer) error { return report.CoverageLCOV(b, of) })
		if !strings.Contains(lcov, "SF:/bin/program\n") || !strings.Contains(lcov, want) {
			t.Errorf("%s:\n%s", flag, lcov)
		}
		if page := written(t, func(b *bytes.Buffer) error { return report.CoveragePage(b, of) }); !strings.Contains(page, "functions without a source file") {
			t.Errorf("%s: the page does not show functions", flag)
		}
	}
}
