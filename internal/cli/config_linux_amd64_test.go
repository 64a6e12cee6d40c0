package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
)

// Rules that a run refuses for what they name are mistakes of the configuration.
func TestConfigReportsRulesThatNeverInject(t *testing.T) {
	name := filepath.Join(t.TempDir(), "bloodhound.yaml")
	for call, want := range map[string]string{"munmap": `a rule cannot inject at "munmap"`,
		"clock_gettime": `a rule cannot inject at "clock_gettime"`, "fsync": ""} {
		text := "nodes: {n1: {command: no-such-program}}\nworkload: {driver: command, config: {command: no-such-driver}}\nfaults: {rules: [crash on n1 at " +
			call + "]}\n"
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		var out, messages bytes.Buffer
		code := Main([]string{"config", "--quiet", name}, &out, &messages)
		if refused := code != check.ExitHolds; refused != (want != "") || !strings.Contains(messages.String(), want) ||
			refused && !strings.Contains(messages.String(), "bloodhound.yaml:3") {
			t.Errorf("%s: exit code %d\n%s", call, code, messages.String())
		}
	}
}
