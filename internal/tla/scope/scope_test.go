package scope

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/tla/failure"
	"github.com/bloodhound-dst/bloodhound/internal/tla/library"
)

var update = flag.Bool("update", false, "write the results of testdata/modules.txt anew")

var kinds = map[Kind]string{Constant: "constant", Variable: "variable", Operator: "operator", Instance: "instance",
	Substituted: "substituted", Parameter: "parameter"}

// names lists the names of a module that have a place, and the names of its instances.
func names(s *Scope, indent string) string {
	text := ""
	for _, n := range slices.Sorted(maps.Keys(s.Names)) {
		d := s.Names[n]
		if d.At.Source == nil || library.Modules[s.Module] != nil {
			continue
		}
		text += fmt.Sprintf("%s%s: %s of %s", indent, n, kinds[d.Kind], d.At.String())
		if len(d.Params) > 0 {
			text += fmt.Sprintf(", %d parameters", len(d.Params))
		}
		for what, is := range map[string]bool{"local": d.local, "recursive": d.Recursive} {
			if is {
				text += ", " + what
			}
		}
		text += "\n"
		if d.Kind == Instance {
			text += names(d.Inner, indent+"  ")
		}
	}
	return text
}

// TestModules reads testdata/modules.txt: after a line that begins with ##, modules, of which M is loaded, and after a line of =
// what its names stand for, or the error.
func TestModules(t *testing.T) {
	file := filepath.Join("testdata", "modules.txt")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(text), "## ")
	out := head
	for _, c := range strings.Split(rest, "\n## ") {
		title, body, _ := strings.Cut(c, "\n")
		source, want, _ := strings.Cut(body, "\n=\n")
		modules := map[string]string{}
		for _, m := range strings.SplitAfter(source+"\n", "\n====\n") {
			if fields := strings.Fields(m); len(fields) > 2 {
				modules[fields[2]] = m
			}
		}
		var s *Scope
		l := NewLoader(modules)
		err := failure.Catch(func() {
			s = l.Module("M", Where{}, nil, nil)
			l.Resolve()
		})
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = names(s, "") + strings.Join(l.Notes, "\n")
		}
		got = strings.TrimRight(got, "\n")
		if got != strings.TrimRight(want, "\n") && !*update {
			t.Errorf("%s:\n%s\nand not\n%s", title, got, want)
		}
		out += "## " + title + "\n" + source + "\n=\n" + got + "\n\n"
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.TrimRight(out, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
