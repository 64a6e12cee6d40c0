package world

import "testing"

func TestEmptied(t *testing.T) {
	for path, want := range map[string]string{"/tmp": "/tmp", "/tmp/a/b": "/tmp", "/var/tmp/x": "/var/tmp", "/dev/shm/x": "/dev",
		"/tmpfs/x": "", "/usr/bin/true": "", "tmp/x": "", "": ""} {
		if got, ok := Emptied(path); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v; want %q", path, got, ok, want)
		}
	}
}
