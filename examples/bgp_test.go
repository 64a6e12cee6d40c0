package examples

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// bgpModule is examples/bgp/load, in a module of its own, so that the product does not depend on GoBGP.
func bgpModule(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("a module of its own: cd examples/bgp/load && go test ./...")
	}
	const dir = "bgp/load"
	needs.Module(t, dir)
	return dir
}

func TestBGPRoutersLoad(t *testing.T) {
	t.Parallel()
	needs.Module(t, bgpModule(t), []string{"vet", "./..."}, []string{"test", "./..."})
}

// The script of the example. Exit code 1 says that there are findings.
func TestBGPExplores(t *testing.T) {
	if os.Getenv("BLOODHOUND_SOAK") == "" {
		t.Skip("builds GoBGP and what it uses anew: make soak")
	}
	dir, program := bgpModule(t), builtOnce(t, buildBloodhoundLive)
	script := func(code int, args ...string) string {
		t.Helper()
		cmd := exec.Command("./explore.sh", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "BLOODHOUND_LIVE="+program)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
			t.Fatalf("%v: %v, not exit code %d\n%s", args, err, code, out)
		}
		return string(out)
	}
	has := func(out string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !strings.Contains(out, want) {
				t.Errorf("there is no %q in\n%s", want, out)
			}
		}
	}
	all := func(n string) string { return n + " of " + n + " ranges were met, " }
	has(script(1, "--run", "TestImport/hole$|TestNeedle/route"), all("2")+"3 of 3 prefixes, 0 false alarms", "needle: accepted by path", "needle: 0 of 100000 random routes are accepted")
	has(script(0, "--run", "TestImport/right$"), all("0")+"0 of 0 prefixes, 0 false alarms")
	if os.Getenv("BLOODHOUND_SOAK") == "" {
		return
	}
	has(script(1, "--run", "TestImport/(missing|wrong)"), all("5")+"30 of 30 prefixes, 0 false alarms", all("9")+"9 of 9 prefixes, 0 false alarms", "missing: ", "of 138377 prefixes, 0 false alarms")
}

// GoBGP's own tests of what the example explores give the same results with second bodies. They run in a copy of the module, which gets a test that uses package live.
func TestGoBGPPassesItsTestsInSecondBodies(t *testing.T) {
	if os.Getenv("BLOODHOUND_SOAK") == "" {
		t.Skip("runs with BLOODHOUND_SOAK=1")
	}
	list := exec.Command("go", "list", "-m", "-json", "github.com/osrg/gobgp/v4")
	list.Dir = bgpModule(t)
	text, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(text, &module); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(module.Dir)); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	const own = "github.com/bloodhound-dst/bloodhound"
	edit := exec.Command("go", "mod", "edit", "-require="+own+"/live@v0.0.0", "-replace="+own+"="+root, "-replace="+own+"/live="+filepath.Join(root, "live"))
	edit.Dir = dir
	if out, err := edit.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program := builtOnce(t, buildBloodhoundLive)
	verdict := regexp.MustCompile(`(?m)^ *--- ((?:PASS|FAIL|SKIP): \S+)`)
	for _, pkg := range []string{"internal/pkg/table", "pkg/packet/bgp"} {
		test := "package " + filepath.Base(pkg) + "\n\nimport (\n\t\"testing\"\n\n\t\"github.com/bloodhound-dst/bloodhound/live\"\n)\n\nfunc TestLive(t *testing.T) { live.Explore(t, live.Handler{Run: func() {}}) }\n"
		if err := os.WriteFile(filepath.Join(dir, pkg, "live_test.go"), []byte(test), 0o666); err != nil {
			t.Fatal(err)
		}
		var results [2][]string
		for i, bodies := range []string{"first", "second"} {
			cmd := exec.Command(program, "test", "--std=false", "--instrument", "github.com/osrg/gobgp/v4/internal/pkg/table,github.com/osrg/gobgp/v4/pkg/packet/bgp", "./"+pkg)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "BLOODHOUND_LIVE_BODIES="+bodies)
			out, err := cmd.CombinedOutput()
			for _, m := range verdict.FindAllSubmatch(out, -1) {
				results[i] = append(results[i], string(m[1]))
			}
			slices.Sort(results[i])
			t.Logf("%s in %s bodies: %d tests and subtests, %v", pkg, bodies, len(results[i]), err)
			if len(results[i]) < 100 {
				t.Fatalf("%s", out)
			}
		}
		if !slices.Equal(results[0], results[1]) {
			t.Errorf("%s: results of first bodies: %v\nof second ones: %v", pkg, results[0], results[1])
		}
	}
}
