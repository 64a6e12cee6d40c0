//go:build linux && amd64

package native_test

import (
	"strings"
	"testing"
)

// /proc/self/maps and smaps show what is mapped where it is now: files that have moved, in part gone, or split keep their names, and what
// comes to the place of another has not its name. A futex in a shared map is the same word wherever it is mapped.
//
//ci:underway
func TestMapsThatMove(t *testing.T) {
	const script = pythonPrelude + `
import mmap
libc = ctypes.CDLL(None, use_errno=True)
for f in ("mmap", "mremap"): getattr(libc, f).restype = ctypes.c_void_p
V, P = ctypes.c_void_p, 4096
def map(fd, size, prot=3, flags=mmap.MAP_SHARED, at=0): return libc.mmap(V(at), ctypes.c_size_t(size), prot, flags, fd, ctypes.c_long(0))
def move(addr, size, to, new=None): return libc.mremap(V(addr), ctypes.c_size_t(size), ctypes.c_size_t(new or size), 3, V(to))
open("/work/data", "wb").write(bytes(16 * P))
fd, base = os.open("/work/data", os.O_RDWR), os.open("/usr/bin/env", os.O_RDONLY)
near = 0x100000000
def show(title):
    rows = []
    for l in open("/proc/self/maps"):
        f = l.split()
        a, b = [int(x, 16) for x in f[0].split("-")]
        if near <= a < near + 0x10000000: rows.append((hex((a - near) // P), (b - a) // P, f[1], int(f[2], 16) // P, f[5] if len(f) > 5 else "", f[4] == str(os.stat(f[5]).st_ino) if len(f) > 5 else ""))
    smaps = [l.split()[5] for l in open("/proc/self/smaps") if "-" in l.split()[0] and near <= int(l.split("-")[0], 16) < near + 0x10000000 and len(l.split()) > 5]
    print(title, rows, smaps == [r[4] for r in rows if r[4]])
a = map(fd, 16 * P, at=near, flags=mmap.MAP_SHARED | 0x10); show("mapped")
a = move(a, 16 * P, near + 0x100 * P); show("moved")
libc.munmap(V(a + 4 * P), ctypes.c_size_t(4 * P)); libc.mprotect(V(a + 10 * P), ctypes.c_size_t(2 * P), 1); show("split")
move(a + 8 * P, 2 * P, near + 0x200 * P); show("a part moved")
b = map(base, 2 * P, 1, mmap.MAP_PRIVATE | 0x10, near + 0x300 * P); move(b, 2 * P, near + 0x400 * P); show("of the machine")
map(-1, 4 * P, 3, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | 0x10, near); show("another in its place")

def futex(addr, op, val, timeout=None): return libc.syscall(202, V(addr), op, val, timeout, None, 0)
for what, d in (("file", os.open("/work/data", os.O_RDWR)), ("machine", base)):
    x = map(d, P, 3 if what == "file" else 1)
    word = ctypes.c_uint.from_address(x).value
    pid = os.fork()
    if pid == 0:
        os._exit(0 if futex(x, 0, word) == 0 else 1)
    y = move(x, P, near + 0x800 * P)
    time.sleep(1)
    print(what, futex(y, 1, 1), os.waitpid(pid, 0)[1])
    libc.munmap(V(y), ctypes.c_size_t(P))
`
	spec := bounded(t, 0, script)
	log, out := run(t, spec, 1)
	if !out.Repeat.Reproducible {
		t.Errorf("not reproducible: %s", out.Repeat.Reason)
	}
	printed(t, strings.Join(texts(log, ""), "\n")+"\n", `mapped [('0x0', 16, 'rw-s', 0, '/work/data', True)] True
moved [('0x100', 16, 'rw-s', 0, '/work/data', True)] True
split [('0x100', 4, 'rw-s', 0, '/work/data', True), ('0x108', 2, 'rw-s', 8, '/work/data', True), ('0x10a', 2, 'r--s', 10, '/work/data', True), ('0x10c', 4, 'rw-s', 12, '/work/data', True)] True
a part moved [('0x100', 4, 'rw-s', 0, '/work/data', True), ('0x10a', 2, 'r--s', 10, '/work/data', True), ('0x10c', 4, 'rw-s', 12, '/work/data', True), ('0x200', 2, 'rw-s', 8, '/work/data', True)] True
of the machine [('0x100', 4, 'rw-s', 0, '/work/data', True), ('0x10a', 2, 'r--s', 10, '/work/data', True), ('0x10c', 4, 'rw-s', 12, '/work/data', True), ('0x200', 2, 'rw-s', 8, '/work/data', True), ('0x400', 2, 'r--p', 0, '/usr/bin/env', True)] True
another in its place [('0x0', 4, 'rw-s', 0, '', ''), ('0x100', 4, 'rw-s', 0, '/work/data', True), ('0x10a', 2, 'r--s', 10, '/work/data', True), ('0x10c', 4, 'rw-s', 12, '/work/data', True), ('0x200', 2, 'rw-s', 8, '/work/data', True), ('0x400', 2, 'r--p', 0, '/usr/bin/env', True)] True
file 1 0
machine 1 0
`)
}
