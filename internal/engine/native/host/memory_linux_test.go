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

func TestWhatIsReadOfProc(t *testing.T) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	status := amounts(b)
	held, known := ownBytes(os.Getpid()), status["RssAnon"]<<10
	if slack := int64(8 << 20); held < known-slack || held > known+slack { // it grows meanwhile
		t.Errorf("%d bytes of its own by statm, %d by status", held, known)
	}
	if ownBytes(1<<30) != 0 {
		t.Error("a process that is not there has memory")
	}
	if now := machineWide(); now.tables <= 0 || now.kernel <= 0 {
		t.Errorf("of the machine: %+v", now)
	}
	for text, want := range map[string]int64{
		"MemTotal: 8 kB\nShmemHugePages: 5 kB\nShmem:      12 kB\n": 12, "A: 1 kB\nShmem: 9": 9, "A: 1 kB\n": 0, "": 0,
	} {
		if got := amount([]byte(text), "Shmem"); got != want {
			t.Errorf("%q: %d, not %d", text, got, want)
		}
	}
}
