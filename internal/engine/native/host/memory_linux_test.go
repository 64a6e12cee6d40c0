//go:build linux && amd64

package host

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRoomForSnapshotsInAControlGroup(t *testing.T) {
	for _, c := range []struct {
		most, now string
		want      bool
	}{{"max", "1", true}, {"", "", true}, {"1000", "800", true}, {"1000", "801", false}, {"1000", "", true}} {
		dir := t.TempDir()
		for name, text := range map[string]string{"memory.max": c.most, "memory.current": c.now} {
			if text == "" {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if got := roomInGroup(dir); got != c.want {
			t.Errorf("%s of %s: %v", c.now, c.most, got)
		}
	}
}
