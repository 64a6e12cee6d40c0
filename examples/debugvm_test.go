package examples

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// In a virtual machine, gdb goes back from a failed assertion to the write that was wrong, and on to the beginning of the program, through the
// guest's kernel and past requests that Bloodhound answers.
func TestDebugVM(t *testing.T) {
	if os.Getenv("BLOODHOUND_SOAK") == "" {
		t.Skip("a virtual machine makes the run three times: BLOODHOUND_SOAK=1")
	}
	for _, name := range []string{"qemu-system-x86_64", "qemu-img"} {
		needs.Program(t, name)
	}
	gdb, folder := debugFolder(t, "debugvm")
	for _, name := range []string{"account.c", "bloodhound.yaml", "driver.sh"} {
		copyWith(t, filepath.Join("testdata", "debugvm", name), folder)
	}
	account := filepath.Join(folder, "account")
	if out, err := exec.Command(needs.Program(t, "gcc"), "-g", "-O0", "-static", "-Wl,-Ttext-segment=0x10000000", "-o", account, filepath.Join(folder, "account.c")).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	program := bloodhound(t)
	var found struct{ Failures []string }
	out, code := call(t, program, "run", folder, "--json")
	if err := json.Unmarshal(out, &found); err != nil || code != violated || len(found.Failures) != 1 {
		t.Fatalf("exit code %d, %v\n%s", code, err, out)
	}
	gdbPrints(t, gdb, program, found.Failures[0], folder, `file `+account+`
hbreak check
reverse-continue
print account
delete
watch account.balance
reverse-continue
backtrace
reverse-stepi
print account
stepi
print account
delete
hbreak main
reverse-continue
print account
delete
hbreak abort
continue
backtrace
delete
continue
`, "check () at", "{6, 7, 8, 4}, balance = 5}",
		"book (amount=5)", "main () at", "{1, 2, 3, 4}, balance = 1000}", "{1, 2, 3, 4}, balance = 5}",
		"main () at", "{0, 0, 0, 0}, balance = 0}",
		"abort ()", "in check () at", "exited normally")
}
