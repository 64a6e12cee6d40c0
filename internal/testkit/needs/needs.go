// Package needs finds the programs that tests run. Where one is missing, a test is skipped on a developer's machine, and fails in
// CI, where .ci/run has installed all that tests need.
package needs

import (
	"os"
	"os/exec"
	"testing"
)

// absent lists the needs that CI may lack, each with the reason.
var absent = map[string]string{
	"tla2tools.jar": "the jar of TLC is no package of Debian's; make soak names one by BLOODHOUND_TLC_JAR",
	"npm":           "the test needs a node.js whose npm lies in one folder, as nodejs.org has it and Debian does not",
	"dockerd":       "a container of CI may be denied what the daemon needs, such as mounts and iptables",
	"namespaces":    "one step of CI denies them to an ordinary user on purpose",
	"cgroup":        "a control group that freezes processes is root's to make, where its file system can be written",
}

// Program is the path of a program. A test that lacks it ends.
func Program(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	Missing(t, names[0], "it is not in PATH; .ci/run names Debian's package")
	return ""
}

// Has says whether this machine has a program.
func Has(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}

// Missing ends a test that cannot have what it needs: a program, or a service of the machine.
func Missing(t testing.TB, what string, why ...any) {
	t.Helper()
	if reason, ok := absent[what]; os.Getenv("CI") == "" || ok {
		t.Log(reason)
		t.Skip(append([]any{what + " is missing:"}, why...)...)
	}
	t.Fatal(append([]any{"CI must have " + what + ":"}, why...)...)
}
