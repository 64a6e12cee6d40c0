package listening

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const header = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"

// Only what listens counts, and only where others reach it. A port of both families is one.
func TestPorts(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"tcp": header +
			"   0: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0\n" + // 0.0.0.0:8080
			"   1: 0100007F:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2 1 0 100 0 0 10 0\n" + // 127.0.0.1:80
			"   2: 02004D0A:0051 03004D0A:1234 01 00000000:00000000 00:00000000 00000000     0        0 3 1 0 100 0 0 10 0\n" + // established
			"   3: 02004D0A:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4 1 0 100 0 0 10 0\n", // 10.77.0.2:22
		"tcp6": header +
			"   0: 00000000000000000000000000000000:1F90 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 5 1 0 100 0 0 10 0\n" + // [::]:8080
			"   1: 00000000000000000000000001000000:0052 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 6 1 0 100 0 0 10 0\n" + // [::1]:82
			"   2: 0000000000000000FFFF00000100007F:0053 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 7 1 0 100 0 0 10 0\n", // [::ffff:127.0.0.1]:83
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := Ports(folder); err != nil || !slices.Equal(got, []int{22, 8080}) {
		t.Errorf("%v, %v", got, err)
	}
	if err := os.Remove(filepath.Join(folder, "tcp6")); err != nil {
		t.Fatal(err)
	}
	if got, err := Ports(folder); err != nil || !slices.Equal(got, []int{22, 8080}) {
		t.Errorf("without IPv6: %v, %v", got, err)
	}
	if _, err := Ports(t.TempDir()); err == nil {
		t.Error("no tables, and no error")
	}
}
