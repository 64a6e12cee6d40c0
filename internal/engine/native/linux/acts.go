//go:build linux && amd64

package linux

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
	"github.com/bloodhound-dst/bloodhound/internal/moments"
)

// acts maps calls that always have the same effect to it.
var acts = map[uint64]moments.Act{
	unix.SYS_MKDIR: moments.Create, unix.SYS_MKDIRAT: moments.Create, unix.SYS_MKNOD: moments.Create, unix.SYS_MKNODAT: moments.Create,
	unix.SYS_LINK: moments.Create, unix.SYS_LINKAT: moments.Create, unix.SYS_SYMLINK: moments.Create, unix.SYS_SYMLINKAT: moments.Create,
	unix.SYS_FSYNC: moments.Sync, unix.SYS_FDATASYNC: moments.Sync, unix.SYS_SYNC: moments.Sync, unix.SYS_SYNCFS: moments.Sync,
	unix.SYS_SYNC_FILE_RANGE: moments.Sync,
	unix.SYS_RENAME:          moments.Rename, unix.SYS_RENAMEAT: moments.Rename, unix.SYS_RENAMEAT2: moments.Rename,
	unix.SYS_UNLINK: moments.Unlink, unix.SYS_UNLINKAT: moments.Unlink, unix.SYS_RMDIR: moments.Unlink,
	unix.SYS_TRUNCATE: moments.Truncate, unix.SYS_FTRUNCATE: moments.Truncate, unix.SYS_FALLOCATE: moments.Truncate,
}

// elsewhere are folders whose files are on no disk.
var elsewhere = []string{"/proc/", "/sys/", "/dev/"}

// actOf returns the effect of t's call, which has taken effect, and the files that it concerns. Files that are not on a
// disk do not count.
func actOf(k *Kernel, t *Thread) (moments.Act, []string) {
	act := t.Call.Act
	if act == "" {
		act = acts[t.Call.Nr]
	}
	var files []string
	switch {
	case act == "":
		if t.Call.Nr != unix.SYS_MSYNC || t.Call.Args[2].Uint64()&unix.MS_SYNC == 0 {
			return "", nil
		}
		act, files = moments.Sync, subjects(k, t)
	case act == moments.Start, t.Call.Nr == unix.SYS_SYNC:
		return act, nil
	case t.Call.Nr == unix.SYS_MMAP:
		if f := k.File(t, t.Call.Args[4].Int()); f != nil {
			files = []string{describe(k, f)}
		}
	default:
		files = subjects(k, t)
	}
	files = slices.DeleteFunc(files, func(name string) bool {
		return slices.ContainsFunc(elsewhere, func(folder string) bool { return strings.HasPrefix(name, folder) })
	})
	if len(files) == 0 {
		return "", nil
	}
	return act, files
}

// mappedNames are the files that are mapped, shared, between two addresses.
func mappedNames(k *Kernel, t *Thread, from, to uint64) (names []string) {
	space := k.Spaces[k.Proc(t).Space]
	for line := range strings.Lines(k.M.Maps(t.ID)) {
		m, ok := machine.ParseMap(line)
		if !ok || !m.Shared || m.End <= from || m.Start >= to || !strings.HasPrefix(m.Name, "/") {
			continue
		}
		if f := space.Mapped(&m); f != nil {
			names = append(names, nameOf(k.Node(t).FS, f.File))
		}
	}
	return names
}
