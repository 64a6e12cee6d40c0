//go:build linux && amd64

package native_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/blocks"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// edgesOf are the edges of hits that came through the instrumentation library, as text: each function's edges that ran and that did
// not, with their lines.
func edgesOf(t *testing.T, hits []blocks.Hits) string {
	t.Helper()
	var b strings.Builder
	for _, h := range hits {
		if h.Source != blocks.Edges {
			continue
		}
		state := &code.State{}
		state.Merge(h)
		names, err := state.Files[0].Names()
		if err != nil {
			fmt.Fprintf(&b, "%d of %d: %v\n", len(h.Blocks), h.Total, err)
			continue
		}
		for _, f := range names.Functions {
			fmt.Fprint(&b, f.Name)
			for i := f.First; i < f.Last; i++ {
				ran := "-"
				if state.Files[0].Covered.Has(i) {
					ran = "+"
				}
				line := 0
				if l := names.Lines(i); len(l) > 0 {
					line = l[0].Line
				}
				fmt.Fprintf(&b, " %s%d", ran, line)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// Edges of clang's trace-pc-guard arrive however a process ends, from its children too, and lead back to functions and lines.
func TestGuards(t *testing.T) {
	for _, flags := range [][]string{{"-O1", "-g"}, {"-O1", "-g", "-no-pie"}, {"-O1", "-s"}} {
		program := compile(t, "testdata/edges/guards.c", append(flags, "-ldl")...)
		for mode, want := range map[string][6]bool{
			"end": {true, true, false, false, true, false}, "kill": {true, true, false, false, true, false}, "stay": {true, true, false, false, true, false},
			"never": {true, true, false, true, true, false}, "child": {true, true, false, false, true, true},
		} {
			spec := aloneSpec(program, mode)
			spec.MaxTimeNs = 20e9
			hits := unmoved(t, spec)
			var got [6]bool
			for _, h := range hits {
				if h.Source == blocks.Edges {
					for _, n := range h.Blocks {
						got[n] = true
					}
				}
			}
			if got != want {
				t.Errorf("%v, %s: %v, want %v; %+v", flags, mode, got, want, hits)
			}
			text := edgesOf(t, hits)
			switch {
			case mode != "end":
			case flags[1] == "-g" && text != "chosen +37 +39 -42\nnever -48\nmain +54 -60\n":
				t.Errorf("%v:\n%s", flags, text)
			case flags[1] == "-s" && strings.Count(text, "+0") != 3:
				t.Errorf("stripped:\n%s", text)
			}
		}
	}
}

// Who mounts a library of his own has that one.
func TestOwnInstrumentationLibrary(t *testing.T) {
	spec := aloneSpec("/bin/cat", "/usr/lib/libvoidstar.so")
	spec.Nodes[0].Volumes = append(spec.Nodes[0].Volumes, world.Volume{Kind: world.File, Target: "/usr/lib/libvoidstar.so", Content: []byte("mine\n")})
	log, _ := run(t, spec, 1)
	if shown := texts(log, ""); len(shown) != 1 || shown[0] != "mine" {
		t.Errorf("it showed %q", shown)
	}
}

// linked compiles a program with the instrumentation library.
func linked(t *testing.T, source string) string {
	t.Helper()
	lib := filepath.Join(t.TempDir(), "libvoidstar.so")
	image, err := os.ReadFile("voidstar/voidstar.so")
	if err == nil {
		err = os.WriteFile(lib, image, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return compile(t, source, "-O1", lib)
}

// What a process reports beyond the limits is named with the reason, and the rest counts.
//
//ci:underway
func TestEdgesBeyondTheLimits(t *testing.T) {
	program := linked(t, "testdata/edges/limits.c")
	for mode, want := range map[string][]string{
		"modules": {"a process of it has more than 1024 modules of edges, and those beyond are not counted"},
		"edges":   {"beyond.sym.tsv: a process of it has more than 16777216 edges"},
		"guards":  {"a process of it has more than 16777216 edges"},
		"child":   {"small.sym.tsv: a process of it has more than 16777216 edges"},
	} {
		out, _ := covered(t, aloneSpec(program, mode), &code.Watch{})
		var off, counted []string
		for _, h := range out.Code {
			name := ""
			if h.Module != nil && h.Module.Symbols != "" {
				name = h.Module.Symbols + ": "
			}
			switch {
			case h.Source != blocks.Edges:
			case h.Off != "":
				off = append(off, name+h.Off)
			case len(h.Blocks) == 1 && h.Blocks[0] == 1:
				counted = append(counted, name)
			default:
				t.Errorf("%s: %+v", mode, h)
			}
		}
		if !slices.Equal(off, want) {
			t.Errorf("%s: off are %q, want %q", mode, off, want)
		}
		if n := map[string]int{"modules": 1024, "edges": 2, "guards": 1, "child": 1}[mode]; len(counted) != n {
			t.Errorf("%s: %d modules counted, want %d", mode, len(counted), n)
		}
	}
}

// Modules that notify edges by number have them named by the file of symbols, where there is one. What an SDK says by the library
// is what it says by the file.
//
//ci:underway
func TestNotifiedEdges(t *testing.T) {
	program := linked(t, "testdata/edges/notify.c")
	symbols, err := os.ReadFile("testdata/edges/notify.sym.tsv")
	if err == nil {
		err = os.WriteFile(filepath.Join(filepath.Dir(program), "notify.sym.tsv"), symbols, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	spec := aloneSpec(program)
	log, out := run(t, spec, 1)
	if shown := texts(log, ""); len(shown) != 1 || shown[0] != "again 0, random 1" {
		t.Errorf("it showed %q", shown)
	}
	if out.SDK.Setup == nil || out.SDK.Lines != 1 || out.SDK.Unread != 0 {
		t.Errorf("the SDK said %+v", out.SDK)
	}
	hits := unmoved(t, spec)
	got := edgesOf(t, hits)
	want := []string{"third +5\nfirst +3 +6\nsecond +9\nthird -3\n",
		"1 of 3: its edges have only numbers: the world has no symbol file other.sym.tsv, in /symbols or next to the program\n"}
	if got != want[0]+want[1] && got != want[1]+want[0] {
		t.Errorf("reported:\n%s", got)
	}
	features := map[string]bool{}
	for _, h := range hits {
		for _, f := range h.Features() {
			if f.Domain == coverage.Code {
				features[f.Text] = true
			}
		}
		if h.Source == blocks.Edges && h.Total == 5 && !features[h.Digest[:12]+":2"] {
			t.Errorf("an edge is no feature: %v", h)
		}
	}
}
