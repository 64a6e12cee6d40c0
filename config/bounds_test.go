package config

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestSizes(t *testing.T) {
	for written, want := range map[string]int64{"4096": 4096, "64m": 64 << 20, "64M": 64 << 20, "1.5gb": 3 << 29, "1 GiB": 1 << 30, "512k": 512 << 10, "9b": 9, "0": 0} {
		if got, ok := readSize(written); !ok || got != want {
			t.Errorf("%q is %d, %v; want %d", written, got, ok, want)
		}
	}
	for _, written := range []string{"", "m", "-1m", "64mm", "64 x", "1e3", "9bb", "9bib", "nan", "99999999p"} {
		if got, ok := readSize(written); ok {
			t.Errorf("%q is read as %d", written, got)
		}
	}
}

// wrongNode wants an error with a caret for a node of these keys.
func wrongNode(t *testing.T, keys, want string) {
	t.Helper()
	dir := project(t, "bloodhound.yaml\nnodes:\n  n1:\n    command: x\n    "+keys+"\n")
	_, err := Load(Options{Path: filepath.Join(dir, "bloodhound.yaml"), Images: anyImage})
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "^") {
		t.Errorf("%s: %v\nwant %q and a caret", keys, err, want)
	}
}

func TestWrongBounds(t *testing.T) {
	wrongNode(t, "mem_limit: lots", `"lots" is not a size such as 64m or 1gb`)
	wrongNode(t, "mem_limit: 5m", "from 6m on")
	wrongNode(t, "oom_score_adj: 1001", "from -1000 to 1000")
}
