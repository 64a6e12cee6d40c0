package examples

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestSurroundingsAreNoPartOfARun: programs that list their folder and look at their mounts make the same run, wherever the
// bloodhound program lies, and whatever Bloodhound has written beside the configuration.
func TestSurroundingsAreNoPartOfARun(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("runs worlds: Linux x86-64, and not with -short")
	}
	program, err := os.ReadFile(bloodhound(t))
	if err != nil {
		t.Fatal(err)
	}
	// Neither lies in the system's temporary folder alone: that one is empty in a world, and this one is not.
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp(here, ".surroundings-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	write := func(path, text string, mode os.FileMode) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	one := write(filepath.Join(home, "one/bloodhound"), string(program), 0o777)
	two := write(filepath.Join(t.TempDir(), "in/another/folder/bloodhound"), string(program), 0o777)

	project := filepath.Join(home, "project")
	configuration := `
simulation: {max_time: 10s}
nodes:
  n1: {command: [sh, -c, "ls -aR .; cat /proc/self/mountinfo; sleep 8"]}
workload: {driver: http, config: {target: "http://n1:80", duration: 1s}}
debug: {trace_file: folder/trace-of-the-configuration.txt}
`
	write(filepath.Join(project, "bloodhound.yaml"), configuration, 0o666)
	if err := os.MkdirAll(filepath.Join(project, "folder"), 0o777); err != nil {
		t.Fatal(err)
	}
	hash := func(program string, arguments ...string) string {
		t.Helper()
		var doc struct{ Run struct{ Hash string } }
		out, code := call(t, program, append([]string{"run", "--json", project}, arguments...)...)
		if err := json.Unmarshal(out, &doc); err != nil || doc.Run.Hash == "" {
			t.Fatalf("exit code %d, %v\n%s", code, err, out)
		}
		return doc.Run.Hash
	}
	first := hash(one)
	same := func(what, got string) {
		t.Helper()
		if got != first {
			t.Errorf("%s: the trace hash is %s, and was %s", what, got, first)
		}
	}
	same("a program elsewhere", hash(two))
	write(filepath.Join(project, "failures/kept.json"), "{}", 0o666)
	write(filepath.Join(project, "bloodhound-report/log.txt"), "", 0o666)
	same("a committed failure", hash(one))
	same("a trace beside the configuration", hash(one, "--trace", filepath.Join(project, "trace.txt")))
	os.RemoveAll(filepath.Join(project, "failures"))
	for _, flag := range []string{"--html", "--junit", "--sarif"} {
		call(t, one, "test", project, "--seeds", "1", flag, filepath.Join(project, flag[2:]+".out"))
	}
	same("with reports there", hash(one))
	if err := os.Rename(filepath.Join(project, "trace.txt"), filepath.Join(project, "moved.txt")); err != nil {
		t.Fatal(err)
	}
	if hash(one) == first {
		t.Error("a file of the project does not show in its world")
	}
	os.Remove(filepath.Join(project, "moved.txt"))
	same("without it", hash(one))
	write(filepath.Join(project, "html.out"), "mine now", 0o666)
	if hash(one) == first {
		t.Error("a report that another process has replaced is still hidden")
	}
	// A project that lies in the state folder of another sees its own files, although others see nothing there.
	write(filepath.Join(home, ".bloodhound/other/bloodhound.yaml"), configuration, 0o666)
	project = filepath.Join(home, ".bloodhound/other")
	write(filepath.Join(project, "folder/some.txt"), "", 0o666)
	hash(one)
}
