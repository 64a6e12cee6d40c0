package needs

import (
	"os/exec"
	"testing"
)

// Module runs commands of go in the folder of a module that is not the product's, once what it depends on has been downloaded. A
// machine that cannot download it lacks it (Missing).
func Module(t testing.TB, dir string, commands ...[]string) {
	t.Helper()
	run := func(args ...string) ([]byte, error) {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		return cmd.CombinedOutput()
	}
	if out, err := run("mod", "download"); err != nil {
		Missing(t, "the modules of "+dir, string(out))
	}
	for _, args := range commands {
		if out, err := run(args...); err != nil {
			t.Errorf("go %v: %v\n%s", args, err, out)
		}
	}
}
