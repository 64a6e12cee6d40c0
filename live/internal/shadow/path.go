package shadow

import (
	"runtime"
	"unsafe"

	"github.com/bloodhound-dst/bloodhound/live/internal/bv"
)

// Expr is the shadow of a value.
type Expr = bv.Expr

// On chooses the second body of each instrumented function.
var On bool

// Packages are the paths of the instrumented packages, each of which adds its own when it is initialised: packages of the
// standard library before this one, so it has no initial value.
var Packages []string

// recording is set between Begin and End, and recorder is the goroutine that began.
var (
	recording bool
	recorder  uintptr
	stack     uintptr // where its stack begins
)

// active reports whether the goroutine that calls it records a path: other goroutines run second bodies meanwhile, and are no part of it.
func active() bool { return recording && self() == recorder }

// Recording reports whether the goroutine that calls it records a path.
func Recording() bool { return active() }

// Kind says what a branch is.
type Kind uint8

// The kinds of branches.
const (
	Decision Kind = iota // a condition of the program
	Pick                 // a value that was replaced by its concrete one: the condition is that it is equal
)

// Branch is a condition over the inputs that a path has met.
type Branch struct {
	Site  uint32
	Kind  Kind
	Taken bool
	Cond  *Expr // of width 1; its concrete value is Taken
}

// Input is a field of a handler's input that a path treats as unknown.
type Input struct {
	Name  string
	Width uint8 // in bits
	Value uint64
}

// Sides of a branch that a path has taken, as bits.
const (
	TookTrue  = 1
	TookFalse = 2
)

// Path is the record of one run of a handler.
type Path struct {
	Inputs   []Input
	Branches []Branch
	// Sides has by site which sides were taken, also of branches that no input decides.
	Sides []uint8
	// Lost counts by site values that depended on an input and lost their shadow, such as arguments of functions without a second body.
	Lost map[uint32]int
	// Stale counts shadows that did not agree with the value beside them.
	Stale int
	// Dropped counts branches above BranchesMax.
	Dropped int
}

// BranchesMax bounds the branches that a path records.
const BranchesMax = 1 << 14

// current is the path that is recorded.
var current struct {
	Path
	builder bv.Builder
	values  []uint64 // of the inputs to come, or none
	met     map[*Expr]bool
}

// stackBytes is how far Prepare extends the stack.
const stackBytes = 1 << 18

// Prepare extends the stack of the goroutine that will run paths, so that it does not move meanwhile. The garbage collector makes
// stacks shorter, so its caller turns it off first.
func Prepare() { extendStack(stackBytes) }

// BeginPath starts to record a path whose inputs have given values. Inputs beyond them keep the values that the handler gives them.
func BeginPath(values []uint64) {
	current.Path = Path{Lost: map[uint32]int{}, Sides: make([]uint8, 0, 1024)}
	current.builder.Reset()
	current.values = values
	current.met = map[*Expr]bool{}
	memory.reset()
	arguments.tag, results.tag = 0, 0
	open, awaited = open[:0], -1
	recorder = self()
	stack = stackOf(recorder)
	On, recording = true, true
}

// End ends the recording. The expressions of the path are valid until the next Begin.
func End() Path {
	if active() {
		arguments.drop()
		results.drop()
	}
	if stackOf(recorder) != stack { // shadows of variables on it are where those were
		current.Lost[0]++
	}
	On, recording = false, false
	return current.Path
}

//go:noinline
func extendStack(n int) byte {
	var frame [4096]byte
	if n > len(frame) {
		frame[n%len(frame)] = extendStack(n - len(frame))
	}
	runtime.KeepAlive(&frame)
	return frame[0]
}

// Symbolic makes size bytes at p the next input of the path. A truth value has isBool set.
func Symbolic(name string, p unsafe.Pointer, size uintptr, isBool bool) {
	if !active() {
		return
	}
	n := len(current.Inputs)
	value := read(p, size)
	width := uint8(size * 8)
	if n < len(current.values) {
		value = current.values[n] & bv.Mask(width)
	}
	if isBool {
		width = 1
		value &= 1
	}
	write(p, size, value)
	current.Inputs = append(current.Inputs, Input{Name: name, Width: width, Value: value})
	e := current.builder.Input(n, width, value)
	if isBool {
		StoreBool(p, e)
		return
	}
	Store(p, size, e)
}

// Cond reports a condition of the program at a site, and returns whether it holds.
func Cond(site uint32, taken bool, e *Expr) bool {
	if active() {
		cover(site, taken)
		decide(site, Decision, taken, e)
	}
	return taken
}

// Fix replaces a value by its concrete one, v: the path holds only for inputs that give the same.
func Fix(site uint32, e *Expr, v uint64) {
	if e != nil && active() {
		b := &current.builder
		decide(site, Pick, true, b.Eq(e, b.Const(v, e.Width)))
	}
}

// Lose counts a value that loses its shadow at a site.
func Lose(site uint32, e *Expr) {
	if e != nil && active() {
		current.Lost[site]++
	}
}

// LoseMemory counts size bytes at p that are copied to where shadows do not follow.
func LoseMemory(site uint32, p unsafe.Pointer, size uintptr) {
	if active() && memory.any(uintptr(p), size) {
		current.Lost[site]++
	}
}

// Unseen counts, at a site, code that runs without its second body although there are inputs, such as another goroutine.
func Unseen(site uint32) {
	if active() && len(current.Inputs) > 0 {
		current.Lost[site]++
	}
}

// Unmarked counts that code which is not instrumented has made an input.
func Unmarked() {
	if active() {
		current.Lost[0]++
	}
}

func cover(site uint32, taken bool) {
	for int(site) >= len(current.Sides) {
		current.Sides = append(current.Sides, 0)
	}
	if taken {
		current.Sides[site] |= TookTrue
	} else {
		current.Sides[site] |= TookFalse
	}
}

func decide(site uint32, kind Kind, taken bool, e *Expr) {
	if e == nil || e.Op == bv.Const || current.met[e] {
		return
	}
	if (e.Concrete != 0) != taken {
		current.Stale++
		return
	}
	if len(current.Branches) == BranchesMax {
		current.Dropped++
		return
	}
	current.met[e] = true
	current.Branches = append(current.Branches, Branch{Site: site, Kind: kind, Taken: taken, Cond: e})
}
