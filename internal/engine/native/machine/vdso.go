//go:build linux && amd64

package machine

// What the engine maps into every process of a world: its own vDSO, the node's page of virtual time with a scratch area behind it
// (shared with the engine), and a private page for what belongs to the process.
// The addresses lie between the highest possible map and the lowest possible stack: with address randomisation
// off and RLIMIT_STACK at 8 MiB, maps grow down from 0x7ffff7fff000 and the stack ends above 0x7fffff7fe000.
const (
	VDSOText    = 0x7ffffa000000 // host/vdso/vdso.c knows TimePageAt
	TimePageAt  = 0x7ffffa010000
	ScratchArea = TimePageAt + PageBytes
	PrivatePage = 0x7ffffa100000

	// EngineBytes is the size of the range from VDSOText on that the engine has for itself. What lies between its pages is mapped
	// without access, so that the kernel chooses no place there for a program.
	EngineBytes = PrivatePage + PrivatePageBytes - VDSOText

	PageBytes        = 4096
	VDSOTextBytes    = PageBytes
	ScratchBytes     = 64 << 10
	SharedBytes      = PageBytes + ScratchBytes // of the page of virtual time and the scratch area
	PrivatePageBytes = 2 * PageBytes

	// EngineFrom is the first address of what calls of programs that change maps are stopped for: from here on lie the engine's pages
	// and the stack, below it everything that the kernel chooses a place for.
	EngineFrom = 0x7ffff8000000

	// LastAddress is above all that a program can map: the kernel's own [vsyscall] is beyond it.
	LastAddress = 1<<63 - 1
)

// Reserved reports whether a range of addresses touches the engine's pages in a process. Programs must not map, unmap or protect
// anything there: the engine's calls are made from these pages.
func Reserved(addr, size uint64) bool {
	end := addr + size
	return addr < VDSOText+EngineBytes && (end > VDSOText || end < addr)
}

// Engine reports whether a range of addresses is nothing but pages of the engine, and what lies between them.
func Engine(start, end uint64) bool { return start >= VDSOText && end <= VDSOText+EngineBytes }

// Barred reports whether a map is one that keeps programs out of the addresses between the engine's pages. No program sees it.
func (m *RealMap) Barred() bool { return Engine(m.Start, m.End) && m.Prot() == 0 }

// TimePage is the page from which a node's clocks are read (struct timepage of host/vdso/vdso.c).
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

// MostReads is after how many clock reads without a system call the engine's vDSO makes one (MOST_READS of host/vdso/vdso.c):
// clock_gettime.
const MostReads = 65536

// VDSO is shared by the processes of one node and the engine: a memfd with the vDSO's text, the page of virtual time
// and the scratch area.
type VDSO struct {
	FD     int
	Shared []byte // the page of virtual time and the scratch area, as this process has them
	Time   *TimePage
	// StopsGrowth says that calls which ask for memory stop, too: faults may answer them.
	StopsGrowth bool
	// Accounted says that the memory of the node's processes is counted: it comes in pages of one size.
	Accounted bool
}
