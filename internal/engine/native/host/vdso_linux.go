//go:build linux && amd64

package host

import (
	"bytes"
	"debug/elf"
	_ "embed"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
)

//go:generate gcc -O2 -fPIC -fcf-protection=none -fno-asynchronous-unwind-tables -fno-stack-protector -fno-tree-loop-distribute-patterns -nostdlib -shared -Wl,-soname=linux-vdso.so.1,--hash-style=both,--build-id=none,-T,vdso/vdso.lds,-z,max-page-size=4096 -s -o vdso/vdso.so vdso/vdso.c

//go:embed vdso/vdso.so
var vdsoImage []byte

var gadget = func() uint64 {
	f, err := elf.NewFile(bytes.NewReader(vdsoImage))
	if err != nil {
		panic("host: broken vDSO image: " + err.Error())
	}
	syms, err := f.DynamicSymbols()
	if err != nil {
		panic("host: broken vDSO image: " + err.Error())
	}
	for _, s := range syms {
		if s.Name == "bloodhound_gadget" {
			return machine.VDSOText + s.Value
		}
	}
	panic("host: the vDSO image has no gadget")
}()

// NewVDSO makes what the processes of one node share with the engine.
func NewVDSO() (*machine.VDSO, error) {
	fd, err := unix.MemfdCreate("bloodhound-vdso", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	if err := unix.Ftruncate(fd, machine.VDSOTextBytes+machine.SharedBytes); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("memfd: %w", sized(err))
	}
	if _, err := unix.Pwrite(fd, vdsoImage, 0); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("memfd: %w", sized(err))
	}
	shared, err := unix.Mmap(fd, machine.VDSOTextBytes, machine.SharedBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("mmap: %w", err)
	}
	return &machine.VDSO{FD: fd, Shared: shared, Time: (*machine.TimePage)(unsafe.Pointer(&shared[0]))}, nil
}

// copyVDSO makes a VDSO for the same node of a copy of its world.
func copyVDSO(v *machine.VDSO) (*machine.VDSO, error) {
	n, err := NewVDSO()
	if err != nil {
		return nil, err
	}
	copy(n.Shared, v.Shared)
	n.StopsGrowth, n.Accounted = v.StopsGrowth, v.Accounted
	return n, nil
}

// sized adds the remedy to an error of growing a file of this process, files in memory too.
func sized(err error) error {
	if errors.Is(err, unix.EFBIG) {
		return fmt.Errorf("%w: the limit on the size of files is too low (ulimit -f); raise it, as with ulimit -f unlimited", err)
	}
	return err
}

// FreeVDSO gives back what NewVDSO made; processes that have it mapped keep it.
func FreeVDSO(v *machine.VDSO) {
	unix.Munmap(v.Shared)
	unix.Close(v.FD)
}

// The stub is the first program of every process that the engine starts: a few bytes that only hold a place to
// make real system calls from, until the world's program is executed over it.
const stubGadget = 0x400000 + 0x78

func stubImage() []byte {
	le := func(n int, v uint64) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(v >> (8 * i))
		}
		return b
	}
	code := []byte{0x0f, 0x05, 0xcc} // syscall; int3
	img := []byte{0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	for _, f := range [][2]uint64{ // Elf64_Ehdr after e_ident
		{2, 2}, {2, 62}, {4, 1}, {8, stubGadget}, {8, 64}, {8, 0}, {4, 0}, {2, 64}, {2, 56}, {2, 1}, {2, 64}, {2, 0}, {2, 0},
		// Elf64_Phdr: PT_LOAD, R+X
		{4, 1}, {4, 5}, {8, 0}, {8, 0x400000}, {8, 0x400000}, {8, 0x78 + uint64(len(code))}, {8, 0x78 + uint64(len(code))}, {8, 4096},
	} {
		img = append(img, le(int(f[0]), f[1])...)
	}
	return append(img, code...)
}
