package vm

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/vm/wire"
	"github.com/bloodhound-dst/bloodhound/internal/filetree"
)

// A tree shows the project's folder as it was when the run was recorded, in names and in permissions.
func TestTreeOfThen(t *testing.T) {
	dir := t.TempDir()
	old, later := filepath.Join(dir, "old"), filepath.Join(dir, "later")
	write := func(name string) {
		t.Helper()
		if err := os.WriteFile(name, []byte("text"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(old)
	then := filetree.Read(dir, func(string) bool { return false })
	write(later)
	if err := os.Chmod(old, 0o600); err != nil {
		t.Fatal(err)
	}
	shown := tree{root: dir, then: then.LookupAt(dir)}
	if a := shown.stat("later"); a.Errno != int(unix.ENOENT) {
		t.Errorf("the later file: %+v", a)
	}
	if a := shown.stat("old"); a.Mode != unix.S_IFREG|0o644 {
		t.Errorf("the old file: %+v", a)
	}
	names := func(t *tree) (list []string) {
		_, all := t.list("")
		for _, n := range all {
			list = append(list, n.Name)
		}
		return list
	}
	if list := names(&shown); !slices.Equal(list, []string{"old"}) {
		t.Errorf("listed: %q", list)
	}
	now := tree{root: dir}
	if a := now.stat("old"); a.Mode != unix.S_IFREG|0o600 || now.stat("later") == (wire.Attr{}) {
		t.Errorf("without a run to repeat: %+v", a)
	}
	if list := names(&now); !slices.Equal(list, []string{"later", "old"}) {
		t.Errorf("without a run to repeat: %q", list)
	}
}
