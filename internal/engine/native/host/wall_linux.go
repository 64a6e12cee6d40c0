//go:build linux && amd64

package host

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Walls describes the machine's own protections, in case a program escapes the engine's containment. They hold forever,
// for the OS thread that owns a machine and for all processes of its world.
type Walls struct {
	Landlock int   // the version of Landlock's interface that is in force (landlock(7)), 0 for none
	Why      error // why there is no Landlock
}

// kept are the capabilities that a world of root keeps: to read the files of other users, as root is used to.
var kept = []uint{unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH}

// Enclose puts up the walls around the calling OS thread and what it starts from now on: it gets no privileges by executing programs,
// loses all capabilities but those for reading files, and, where there is Landlock, cannot write, make or remove any file, cannot read any
// but those at or below the given paths, makes no TCP connections, and reaches no process outside by signals or by abstract sockets.
// Files that are open already, and files in memory, are not concerned. A process that was started before cannot be killed afterwards.
func Enclose(readable []string) (Walls, error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return Walls{}, fmt.Errorf("PR_SET_NO_NEW_PRIVS: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return Walls{}, err
	}
	abi, err := landlock(readable)
	return Walls{Landlock: abi, Why: err}, nil
}

// secureNoRoot makes execve(2) treat root as any other user (linux/securebits.h).
const secureNoRoot = 1

// dropCapabilities leaves the calling thread and what it executes with the capabilities that are kept. Programs that root executes
// would get all of them back otherwise, or, under no_new_privs, addresses at random, since they had asked for more than they may have.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return fmt.Errorf("capget: %w", err)
	}
	if sets[0].Permitted|sets[1].Permitted == 0 {
		return nil
	}
	if unix.Prctl(unix.PR_SET_SECUREBITS, secureNoRoot, 0, 0, 0) != nil {
		return nil // not allowed here: the other walls have to do
	}
	own := sets[0].Permitted
	var mask uint32
	for _, c := range kept {
		mask |= 1 << c & own
	}
	sets = [2]unix.CapUserData{{Effective: mask, Permitted: mask, Inheritable: mask}}
	if err := unix.Capset(&header, &sets[0]); err != nil {
		return fmt.Errorf("capset: %w", err)
	}
	for _, c := range kept {
		if 1<<c&own == 0 {
			continue
		}
		if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, uintptr(c), 0, 0); err != nil {
			return fmt.Errorf("PR_CAP_AMBIENT_RAISE: %w", err)
		}
	}
	return nil
}

// readOnly are the rights of Landlock that readable files get; of those only some are for files that are no folders.
const (
	readOnly     = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	readOnlyFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE
)

// ownReads lists the paths of the machine that the thread itself reads, besides the files of nodes.
var ownReads = []string{"/proc", "/sys/devices/system/cpu"}

// landlockRuleset is struct landlock_ruleset_attr (linux/landlock.h). Older interfaces know the beginning of the structure.
type landlockRuleset struct{ fs, net, scoped uint64 }

// landlock puts the calling thread into a domain of its own, and gives the version of the interface.
func landlock(readable []string) (abi int, err error) {
	v, _, e := syscall.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if e != 0 {
		return 0, fmt.Errorf("landlock_create_ruleset: %w", e)
	}
	abi = int(v)
	rules, size := landlockRuleset{fs: 1<<13 - 1}, unsafe.Sizeof(uint64(0)) // the rights of version 1
	for version, right := range map[int]uint64{2: unix.LANDLOCK_ACCESS_FS_REFER, 3: unix.LANDLOCK_ACCESS_FS_TRUNCATE, 5: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV} {
		if abi >= version {
			rules.fs |= right
		}
	}
	if abi >= 4 {
		rules.net, size = unix.LANDLOCK_ACCESS_NET_BIND_TCP|unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, 2*size
	}
	if abi >= 7 { // from 6 on; but there the threads of one process, which Go's runtime signals, are kept apart, too
		rules.scoped, size = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET|unix.LANDLOCK_SCOPE_SIGNAL, unsafe.Sizeof(rules)
	}
	set, _, e := syscall.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&rules)), size, 0)
	if e != 0 {
		return 0, fmt.Errorf("landlock_create_ruleset: %w", e)
	}
	defer unix.Close(int(set))
	for _, path := range append(readable, ownReads...) {
		if err := allowReading(int(set), path); err != nil {
			return 0, err
		}
	}
	if _, _, e := syscall.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0); e != 0 {
		return 0, fmt.Errorf("landlock_restrict_self: %w", e)
	}
	return abi, nil
}

func allowReading(set int, path string) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil // there is nothing to read
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return &os.PathError{Op: "stat", Path: path, Err: err}
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: readOnly, Parent_fd: int32(fd)}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rule.Allowed_access = readOnlyFile
	}
	if _, _, e := syscall.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(set), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0); e != 0 {
		return fmt.Errorf("landlock_add_rule for %s: %w", path, e)
	}
	return nil
}
