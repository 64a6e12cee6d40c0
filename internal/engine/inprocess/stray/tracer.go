package stray

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// frame is a place in a program.
type frame struct {
	function, file string
	line           int
}

// creation is the start of a goroutine, as the execution tracer records it.
type creation struct {
	id      uint64
	by      uint64 // the goroutine that executed the go statement; 0 if the runtime did, as for a timer of time.AfterFunc
	starts  bool   // false for a coroutine, which runs only while its creator waits for it
	main    frame  // the function that the goroutine executes
	creator []frame
}

// Types of events that the tracer writes, of the format's second version (Go 1.22 and later; src/internal/trace/tracev2 of Go lists them).
const (
	evBatch             = 1
	evStacks            = 2
	evStack             = 3
	evStrings           = 4
	evString            = 5
	evCPUSamples        = 6
	evFrequency         = 8
	evGoCreate          = 14
	evGoCreateSyscall   = 15
	evGoStart           = 16
	evGoDestroy         = 17
	evGoDestroySyscall  = 18
	evGoStop            = 19
	evGoBlock           = 20
	evGoSyscallBlocked  = 24
	evGoStatus          = 25
	evGoSwitch          = 45
	evGoSwitchDestroy   = 46
	evGoCreateBlocked   = 47
	evGoStatusStack     = 48
	evExperimentalBatch = 49
	evSync              = 50
	evEndOfGeneration   = 52
)

// Statuses of goroutines in evGoStatus.
const (
	statusRunning = 2
	statusSyscall = 3
)

// arguments has the number of arguments of each event that carries a time, by its type.
var arguments = [...]int{
	9: 3, 10: 3, 11: 1, 12: 4, 13: 3, // processors
	evGoCreate: 4, evGoCreateSyscall: 2, evGoStart: 3, evGoDestroy: 1, evGoDestroySyscall: 1, evGoStop: 3, evGoBlock: 3,
	21: 4, 22: 3, 23: 1, evGoSyscallBlocked: 1, evGoStatus: 4,
	26: 3, 27: 1, // the world is stopped
	28: 2, 29: 3, 30: 2, 31: 2, 32: 2, 33: 3, 34: 2, 35: 2, 36: 1, 37: 2, 38: 2, // garbage collection
	39: 2, 40: 5, 41: 3, 42: 4, 43: 4, 44: 5, // labels, tasks, regions, log
	evGoSwitch: 3, evGoSwitchDestroy: 3, evGoCreateBlocked: 4, evGoStatusStack: 5,
}

const maxArguments = 5

var errTrace = errors.New("this version cannot read the format of the execution trace")

// part is a generation of a trace. Numbers of strings and stacks hold in one generation only.
type part struct {
	strings map[uint64]string
	stacks  map[uint64][]place
	threads map[uint64][][]byte // the events of each thread, in order
	order   []uint64
}

// place is a frame whose texts are numbers of strings.
type place struct{ function, file, line uint64 }

// creations reads the goroutines that were started from the output of package runtime/trace. Of a trace that was cut off it reads the
// generations before the last one.
func creations(data []byte) ([]creation, error) {
	header, data, ok := cutHeader(data)
	if !ok || !strings.HasPrefix(header, "go 1.") {
		return nil, errTrace
	}
	parts := map[uint64]*part{}
	var order []uint64
	r := &reader{data: data}
	for len(r.data) > 0 && !r.failed {
		switch r.byte() {
		case evEndOfGeneration:
			continue
		case evBatch:
		case evExperimentalBatch:
			r.byte()
		default:
			return nil, errTrace
		}
		number, thread := r.number(), r.number()
		r.number() // time
		body := r.readBytes(r.number())
		if r.failed || len(body) == 0 {
			continue
		}
		g := parts[number]
		if g == nil {
			g = &part{strings: map[uint64]string{}, stacks: map[uint64][]place{}, threads: map[uint64][][]byte{}}
			parts[number] = g
			order = append(order, number)
		}
		if err := g.add(thread, body); err != nil {
			return nil, err
		}
	}
	var list []creation
	for _, number := range order {
		found, err := parts[number].creations()
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}

// cutHeader cuts the 16 bytes that name the version of the format.
func cutHeader(data []byte) (header string, rest []byte, ok bool) {
	const size = 16
	if len(data) < size {
		return "", nil, false
	}
	return string(data[:size]), data[size:], true
}

// add sorts a batch into tables and events.
func (g *part) add(thread uint64, body []byte) error {
	r := &reader{data: body}
	switch body[0] {
	case evStrings:
		for r.byte(); len(r.data) > 0 && !r.failed; {
			if r.byte() != evString {
				return errTrace
			}
			id := r.number()
			g.strings[id] = string(r.readBytes(r.number()))
		}
	case evStacks:
		for r.byte(); len(r.data) > 0 && !r.failed; {
			if r.byte() != evStack {
				return errTrace
			}
			id, depth := r.number(), r.number()
			var list []place
			for range depth {
				if r.failed {
					break
				}
				r.number() // program counter
				list = append(list, place{r.number(), r.number(), r.number()})
			}
			g.stacks[id] = list
		}
	case evCPUSamples, evFrequency, evSync:
	default:
		if g.threads[thread] == nil {
			g.order = append(g.order, thread)
		}
		g.threads[thread] = append(g.threads[thread], body)
	}
	if r.failed {
		return errTrace
	}
	return nil
}

// creations follows which goroutine runs on each thread, and notes those that it starts.
func (g *part) creations() ([]creation, error) {
	running := map[uint64]uint64{} // at the beginning, by thread
	err := g.events(func(_ uint64, kind byte, a *[maxArguments]uint64) {
		if (kind == evGoStatus || kind == evGoStatusStack) && (a[3] == statusRunning || a[3] == statusSyscall) {
			running[a[2]] = a[1]
		}
	})
	if err != nil {
		return nil, err
	}
	var list []creation
	err = g.events(func(thread uint64, kind byte, a *[maxArguments]uint64) {
		switch kind {
		case evGoCreate, evGoCreateBlocked:
			c := creation{id: a[1], by: running[thread], starts: kind == evGoCreate, creator: g.frames(a[3])}
			if main := g.frames(a[2]); len(main) > 0 {
				c.main = main[0]
			}
			list = append(list, c)
		case evGoStart, evGoSwitch, evGoSwitchDestroy, evGoCreateSyscall:
			running[thread] = a[1]
		case evGoStop, evGoBlock, evGoDestroy, evGoDestroySyscall, evGoSyscallBlocked:
			delete(running, thread)
		}
	})
	return list, err
}

// events calls a function for each event of each thread.
func (g *part) events(see func(thread uint64, kind byte, a *[maxArguments]uint64)) error {
	for _, thread := range g.order {
		for _, body := range g.threads[thread] {
			for r := (&reader{data: body}); len(r.data) > 0; {
				kind := r.byte()
				if int(kind) >= len(arguments) || arguments[kind] == 0 {
					return fmt.Errorf("%w: event %d", errTrace, kind)
				}
				var a [maxArguments]uint64
				for i := range arguments[kind] {
					a[i] = r.number()
				}
				if r.failed {
					return errTrace
				}
				see(thread, kind, &a)
			}
		}
	}
	return nil
}

// frames lists a stack's frames, innermost first.
func (g *part) frames(stack uint64) []frame {
	var list []frame
	for _, p := range g.stacks[stack] {
		list = append(list, frame{g.strings[p.function], g.strings[p.file], int(p.line)})
	}
	return list
}

// reader reads numbers and bytes, and notes when there are too few.
type reader struct {
	data   []byte
	failed bool
}

func (r *reader) byte() byte {
	if b := r.readBytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (r *reader) number() uint64 {
	v, n := binary.Uvarint(r.data)
	if n <= 0 {
		r.failed = true
		return 0
	}
	r.data = r.data[n:]
	return v
}

func (r *reader) readBytes(n uint64) []byte {
	if n > uint64(len(r.data)) {
		r.failed = true
		return nil
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}
