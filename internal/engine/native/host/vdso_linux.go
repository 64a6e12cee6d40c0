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
		return fmt.Errorf("%w: the limit on file size is too low (ulimit -f); raise it, as with ulimit -f unlimited", err)
	}
	return err
}

// FreeVDSO gives back what NewVDSO made; processes that have it mapped keep it.
func FreeVDSO(v *machine.VDSO) {
	unix.Munmap(v.Shared)
	unix.Close(v.FD)
}

// The stub is the first program of every process that the engine starts, until the world's program is executed over it. It holds a
// place to make real system calls from, and at stubSteps a loop that makes those that the table at RBX lists, all within one stop.
const (
	stubGadget = 0x400000 + 0x78
	stubSteps  = stubGadget + 3
)

// stubStep is an entry of that table: the call's number, in place of which its result comes, and its arguments. A number below 0 ends
// the table.
type stubStep struct {
	nr   int64
	args [6]uint64
}

var stubCode = []byte{
	0x0f, 0x05, 0xcc, // syscall; int3
	// stubSteps:
	0x48, 0x8b, 0x03, // mov (%rbx), %rax
	0x48, 0x85, 0xc0, // test %rax, %rax
	0x78, 0x23, // js to the end
	0x48, 0x8b, 0x7b, 0x08, // mov 8(%rbx), %rdi
	0x48, 0x8b, 0x73, 0x10, // mov 16(%rbx), %rsi
	0x48, 0x8b, 0x53, 0x18, // mov 24(%rbx), %rdx
	0x4c, 0x8b, 0x53, 0x20, // mov 32(%rbx), %r10
	0x4c, 0x8b, 0x43, 0x28, // mov 40(%rbx), %r8
	0x4c, 0x8b, 0x4b, 0x30, // mov 48(%rbx), %r9
	0x0f, 0x05, // syscall
	0x48, 0x89, 0x03, // mov %rax, (%rbx)
	0x48, 0x83, 0xc3, 0x38, // add $56, %rbx
	0xeb, 0xd5, // jmp stubSteps
	0xcc, // int3
}

func stubImage() []byte {
	le := func(n int, v uint64) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(v >> (8 * i))
		}
		return b
	}
	code := stubCode
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
