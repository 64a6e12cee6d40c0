package examples

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// TestTemplates writes each template of init, finds its planted bug, and nothing when it is repaired as the template says.
func TestTemplates(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("runs worlds: Linux x86-64, and not with -short")
	}
	needs.Program(t, "python3")
	program := bloodhound(t)
	for name, long := range map[string]bool{"http-service": false, "sql-service": false, "raft": true, "queue": true, "compose": true} {
		t.Run(name, func(t *testing.T) {
			if long && os.Getenv("BLOODHOUND_SOAK") == "" {
				t.Skip("runs with BLOODHOUND_SOAK=1")
			}
			dir := ".bloodhound/templates/" + name // not in /tmp, which is empty in a world
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			if out, code := call(t, program, "init", "--template", name, dir); code != holds {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			if out, code := call(t, program, "explore", dir, "--seeds", "20", "--no-shrink"); code != violated || !strings.Contains(string(out), "behave as if each took effect at one moment") {
				t.Errorf("exit code %d, want %d\n%s", code, violated, out)
			}
			if os.Getenv("BLOODHOUND_SOAK") == "" {
				return
			}
			text, err := os.ReadFile(dir + "/server.py")
			if err != nil {
				t.Fatal(err)
			}
			repaired := strings.NewReplacer("# f.flush", "f.flush", "# os.", "os.", "# folder", "folder", "# db.", "db.", "# granted", "granted", `open(LOG, "a")`, `open(LOG, "a", buffering=1)`).Replace(string(text))
			if err := os.WriteFile(dir+"/server.py", []byte(repaired), 0o666); err != nil {
				t.Fatal(err)
			}
			if out, code := call(t, program, "explore", dir, "--seeds", "20"); code != holds {
				t.Errorf("repaired: exit code %d, want %d\n%s", code, holds, out)
			}
		})
	}
}
