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
)

// The kit is what the engine maps into every process of a world: the own vDSO, the node's page of virtual time
// with a scratch area behind it (shared with the engine), and a private page for what belongs to the process.
// The addresses lie between the highest possible map and the lowest possible stack: with address randomisation
// off and RLIMIT_STACK at 8 MiB, maps grow down from 0x7ffff7fff000 and the stack ends above 0x7fffff7fe000.
const (
	kitText    = 0x7ffffa000000 // vdso/vdso.c knows kitData
	kitData    = 0x7ffffa010000
	kitScratch = kitData + 4096
	kitPrivate = 0x7ffffa100000

	textSize    = 4096
	scratchSize = 64 << 10
	dataSize    = 4096 + scratchSize
	privateSize = 8192

	// engineFrom is the first address of what calls of programs that change maps are stopped for: from here on lie the kit and the
	// stack, below it everything that the kernel chooses a place for.
	engineFrom = 0x7ffff8000000
	kitFrom    = kitText
	kitTo      = kitPrivate + privateSize
)

// LastAddress is above all that a program can map: the kernel's own [vsyscall] is beyond it.
const LastAddress = 1<<63 - 1

// Reserved tells whether a range of addresses touches the engine's pages in a process. Programs must not map, unmap or protect
// anything there: the engine's calls are made from these pages.
func Reserved(addr, size uint64) bool {
	end := addr + size
	return addr < kitTo && (end > kitFrom || end < addr)
}

//go:generate gcc -O2 -fPIC -fcf-protection=none -fno-asynchronous-unwind-tables -fno-stack-protector -fno-tree-loop-distribute-patterns -nostdlib -shared -Wl,-soname=linux-vdso.so.1,--hash-style=both,--build-id=none,-T,vdso/vdso.lds,-z,max-page-size=4096 -s -o vdso/vdso.so vdso/vdso.c

//go:embed vdso/vdso.so
var vdsoImage []byte

// TimePage is what a node's clock reads work on (struct timepage of vdso/vdso.c).
type TimePage struct {
	NowNs      int64
	Reads      uint64
	RealNs     int64
	MonoNs     int64
	DriftPPB   int64
	ReadCostNs int64
	WallReads  uint64 // how many of Reads were of CLOCK_REALTIME
	TickReads  uint64 // how many of Reads were rdtsc, which knows no drift; not in struct timepage
}

// MostReads is after how many clock reads without a system call the own vDSO makes one (MOST_READS of vdso/vdso.c):
// clock_gettime.
const MostReads = 65536

// Kit is one node's share: a memfd with the vDSO's text, the time page and the scratch area.
type Kit struct {
	fd   int
	data []byte
	Time *TimePage
	// Memory says that calls which ask for memory stop, too: faults may answer them.
	Memory bool
	// Weighed says that the memory of the node's processes is counted: it comes in pages of one size.
	Weighed bool
}

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
			return kitText + s.Value
		}
	}
	panic("host: the vDSO image has no gadget")
}()

// NewKit makes the kit of a node.
func NewKit() (*Kit, error) {
	fd, err := unix.MemfdCreate("bloodhound-kit", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	if err := unix.Ftruncate(fd, textSize+dataSize); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("memfd: %w", sized(err))
	}
	if _, err := unix.Pwrite(fd, vdsoImage, 0); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("memfd: %w", sized(err))
	}
	data, err := unix.Mmap(fd, textSize, dataSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("mmap: %w", err)
	}
	return &Kit{fd: fd, data: data, Time: (*TimePage)(unsafe.Pointer(&data[0]))}, nil
}

// sized adds the remedy to an error of growing a file of this process, files in memory too.
func sized(err error) error {
	if errors.Is(err, unix.EFBIG) {
		return fmt.Errorf("%w: the limit on the size of files is too low (ulimit -f); raise it, as with ulimit -f unlimited", err)
	}
	return err
}

// Close frees the kit; processes that have it mapped keep it.
func (k *Kit) Close() {
	unix.Munmap(k.data)
	unix.Close(k.fd)
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
