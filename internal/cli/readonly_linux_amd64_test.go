package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// podScript runs a command as a pod of deploy/kubernetes does: in a mount namespace in which the state and the temporary folder can be
// written to and no other file, by user 1000, without privileges. The program is bound to a path that this user may reach.
const podScript = `set -e
cd "$1"
program=$2
shift 2
mount --make-rprivate /
touch bloodhound-native
mount --bind "$program" bloodhound-native
for folder in state tmp; do
	mkdir -p $folder
	chmod 777 $folder
	mount --bind $folder $folder
done
mount -o remount,bind,ro /
while read -r _ _ _ _ target _; do
	case $target in
	"$PWD/state" | "$PWD/tmp" | /proc | /proc/* | /dev | /dev/* | /sys | /sys/*) ;;
	*) mount -o remount,bind,ro "$target" ;;
	esac
done </proc/self/mountinfo
exec setpriv --reuid 1000 --regid 1000 --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all "$@"`

// pod runs a command of Bloodhound on a project as a pod does, and returns what it prints and its exit code.
func pod(t *testing.T, dir string, variables []string, arguments ...string) (text string, code int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "bloodhound-native")
	script := append([]string{"--mount", "sh", "-c", podScript, "sh", dir, self, program}, arguments...)
	cmd := exec.Command(needs.Program(t, "unshare"), script...)
	cmd.Env = append([]string{"PATH=/usr/bin:/bin", "HOME=" + dir + "/state", "TMPDIR=" + dir + "/tmp", "CI=true"}, variables...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if strings.Contains(string(out), "unshare failed") {
		needs.Missing(t, "namespaces", string(out))
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// A worker as uid 1000 with a read-only root runs a project that it cannot write to, whose programs were built before.
//
//ci:user
func TestWorkerInAPod(t *testing.T) {
	needs.Program(t, "setpriv")
	if os.Getuid() != 0 {
		needs.Missing(t, "namespaces", "only root may mount file systems and become user 1000")
	}
	dir := t.TempDir()
	project := filepath.Join(dir, "project")
	for _, folder := range []string{filepath.Dir(dir), dir} { // user 1000 may reach it, as in an image
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"bloodhound.yaml": `simulation: {max_time: 2s}
nodes:
  n1: {build: "sh -c 'mkdir -p .bloodhound/bin && cp server.sh .bloodhound/bin/server'", command: .bloodhound/bin/server}
`,
		"server.sh": "#!/bin/sh\necho serves\nexec sleep 1000\n",
	} {
		if err := os.MkdirAll(project, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(project, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if code := Main([]string{"build", project}, os.Stdout, os.Stderr); code != 0 {
		t.Fatalf("build: exit code %d", code)
	}
	state, built := "BLOODHOUND_STATE="+filepath.Join(dir, "state"), "BLOODHOUND_BUILT="+project
	for _, c := range []struct {
		variables []string
		code      int
		says      []string
	}{
		{[]string{state}, 2, []string{"read-only file system", "run `bloodhound build`", "BLOODHOUND_BUILT=" + project}},
		{[]string{built}, 3, []string{"user 1000 cannot write to " + filepath.Join(project, ".bloodhound"), "BLOODHOUND_STATE=FOLDER"}},
	} {
		text, code := pod(t, dir, c.variables, "worker", project, "--for", "1s")
		for _, want := range c.says {
			if code != c.code || !strings.Contains(text, want) {
				t.Errorf("with %q: exit code %d, no %q in\n%s", c.variables, code, want, text)
			}
		}
	}
	text, code := pod(t, dir, []string{state, built}, "worker", project, "--for", "500ms", "--slice", "500ms", "--label", "pod=x")
	if code != 0 || !strings.Contains(text, "has ended (its time is up): ") || strings.Contains(text, ": 0 runs") {
		t.Errorf("exit code %d\n%s", code, text)
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "state", "project-*", ".bloodhound", "store", "log", "*")); len(found) == 0 {
		t.Errorf("the worker has stored nothing in its state folder\n%s", text)
	}
	if left, _ := filepath.Glob(filepath.Join(project, ".bloodhound", "*")); len(left) != 1 {
		t.Errorf("the project's folder has %q", left)
	}
}
