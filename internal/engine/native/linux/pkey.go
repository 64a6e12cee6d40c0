//go:build linux && amd64

package linux

import (
	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
)

// Protection keys (pkeys(7)) belong to processors that have them: nodes look like machines without any, whatever the machine has, so
// that a run does not depend on it.

const pkeyRights = 0x3 // PKEY_DISABLE_ACCESS, PKEY_DISABLE_WRITE

func sysPkeyAlloc(k *Kernel, t *Thread) Result {
	flags, rights := t.Call.Args[0].Uint64(), t.Call.Args[1].Uint64()
	if flags != 0 || rights&^pkeyRights != 0 {
		return fail(unix.EINVAL)
	}
	return k.Refuse(t, "pkey_alloc", unix.ENOSPC)
}

func sysPkeyFree(k *Kernel, t *Thread) Result { return fail(unix.EINVAL) }

// sysPkeyMprotect without a key is mprotect(2).
func sysPkeyMprotect(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	addr, size, prot, pkey := args[0].Pointer(), args[1].Size(), args[2].Uint64(), args[3].Int()
	if pkey != -1 {
		return fail(unix.EINVAL)
	}
	if r := sysMprotect(k, t); r != kernel.Passed {
		return r
	}
	return Result(k.M.Execute(t.ID, unix.SYS_MPROTECT, addr, size, prot))
}
