// Package stray finds goroutines that a run of a world started outside the world: `go` statements that were not built as processes of the world, and
// libraries that start goroutines of their own. A tape does not decide their order.
//
// A counter of the runtime tells whether a run may have any (Mark). Which goroutine started which one is known only while an execution trace is
// recorded (Watch), so a suspicious run is made again with one. Labels of package pprof would not do: pprof.Do replaces what a goroutine has inherited,
// and they are gone with a goroutine that has ended.
package stray

import (
	"bytes"
	"cmp"
	"errors"
	"reflect"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"runtime/trace"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/bloodhound-dst/bloodhound/internal/sdk"
)

// coroutines counts those that worlds have started. The runtime counts them as goroutines.
var coroutines atomic.Uint64

// Coroutine notes that a world starts a coroutine.
func Coroutine() { coroutines.Add(1) }

// Mark is a moment of this process.
type Mark struct{ created, coroutines uint64 }

// Now returns the present moment. It takes less than a microsecond.
func Now() Mark {
	sample := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	metrics.Read(sample)
	m := Mark{coroutines: coroutines.Load()}
	if sample[0].Value.Kind() == metrics.KindUint64 {
		m.created = sample[0].Value.Uint64()
	}
	return m
}

// Suspicious reports whether more goroutines were started between two moments than those of worlds. They may be the runtime's, or those of another test.
func (m Mark) Suspicious(now Mark) bool {
	return now.created-m.created > now.coroutines-m.coroutines
}

// Kind says what it takes to bring a goroutine into the world.
type Kind uint8

// The kinds of goroutines.
const (
	Process  Kind = iota // a go statement in code of a process, which can be built with switches
	Machine              // a go statement in code that is no process: a machine, an invariant, the description of the world
	Module               // a go statement in a module of the module cache
	Standard             // a go statement in the standard library
	Timer                // a function of time.AfterFunc
)

// Group is the goroutines that one place has started.
type Group struct {
	Kind  Kind
	Count int
	// Place is the go statement. In the standard library it is the call from other code that led there.
	Place sdk.Location
	// Within is the function of the standard library that has the go statement.
	Within string
}

// ErrBusy is the error of a Watch while another execution trace is recorded.
var ErrBusy = errors.New("another execution trace is already being recorded")

// maxTraceBytes bounds the part of a trace that is looked at.
const maxTraceBytes = 64 << 20

// watching is held by the Watch that is under way.
var watching sync.Mutex

// Watch calls a function on the present goroutine, and returns the goroutines that it started, and that these started, in the order of their places.
// It does not find those of timers.
func Watch(run func()) ([]Group, error) {
	watching.Lock()
	defer watching.Unlock()
	list, err := record(run)
	if err != nil {
		return nil, err
	}
	return groups(Goroutine(), list), nil
}

// record calls a function, and returns all goroutines that the process starts meanwhile.
func record(run func()) ([]creation, error) {
	out := &bounded{}
	if err := trace.Start(out); err != nil {
		return nil, ErrBusy
	}
	func() {
		defer trace.Stop()
		run()
	}()
	return creations(out.Bytes())
}

// bounded keeps the beginning of what is written.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) <= maxTraceBytes {
		b.Buffer.Write(p)
	}
	return len(p), nil
}

// Goroutine returns the number of the present goroutine.
func Goroutine() uint64 {
	var b [40]byte
	text := bytes.TrimPrefix(b[:runtime.Stack(b[:], false)], []byte("goroutine "))
	n, _ := strconv.ParseUint(string(text[:max(bytes.IndexByte(text, ' '), 0)]), 10, 64)
	return n
}

// groups are the goroutines among some that descend from one, without those that Go's runtime and Bloodhound start for themselves.
func groups(root uint64, list []creation) []Group {
	by := map[uint64][]*creation{}
	for i := range list {
		by[list[i].by] = append(by[list[i].by], &list[i])
	}
	count := map[Group]int{}
	kinds := map[uint64]Kind{root: Machine}
	for line := []uint64{root}; len(line) > 0; line = line[1:] {
		kind := kinds[line[0]]
		for _, c := range by[line[0]] {
			switch {
			case c.id == root || ours(c):
				continue
			case !c.starts:
				kinds[c.id] = kind
				if slices.ContainsFunc(c.creator, func(f frame) bool { return strings.HasPrefix(f.function, spawner) }) {
					kinds[c.id] = Process
				}
			default:
				g := groupOf(kind, c)
				kinds[c.id] = g.Kind
				count[g]++
			}
			line = append(line, c.id)
		}
	}
	return sorted(count)
}

func sorted(count map[Group]int) []Group {
	var all []Group
	for g, n := range count {
		g.Count = n
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b Group) int {
		return cmp.Or(cmp.Compare(a.Place.File, b.Place.File), cmp.Compare(a.Place.Line, b.Place.Line), cmp.Compare(a.Kind, b.Kind),
			strings.Compare(a.Within, b.Within), strings.Compare(a.Place.Function, b.Place.Function))
	})
	return all
}

const (
	module   = "github.com/bloodhound-dst/bloodhound/"
	standIns = module + "sim/inproc/sync."
	// spawner is the function that starts the coroutine of a process.
	spawner = module + "sim/inproc.(*run).spawn"
)

// ours reports whether a goroutine belongs to Go's runtime or to Bloodhound.
func ours(c *creation) bool {
	if strings.HasPrefix(c.main.function, "runtime.") && c.starts || strings.HasPrefix(c.main.function, "runtime/") {
		return true
	}
	stack := outsideStandIns(c.creator)
	return c.starts && len(stack) > 0 && own(stack[0])
}

// own distinguishes code of Bloodhound from code of its users, among which are its tests and examples.
func own(f frame) bool {
	rest, inside := strings.CutPrefix(f.function, module)
	return inside && !strings.HasSuffix(f.file, "_test.go") && !strings.HasPrefix(rest, "examples/") && !strings.Contains(f.file, "/testdata/")
}

// outsideStandIns leaves out the functions that stand in for a go statement.
func outsideStandIns(stack []frame) []frame {
	for len(stack) > 0 && strings.HasPrefix(stack[0].function, standIns) {
		stack = stack[1:]
	}
	return stack
}

// groupOf says where a goroutine was started. Its creator is of a kind: what a goroutine outside the world starts is outside as well, however it is built.
func groupOf(kind Kind, c *creation) Group {
	stack := outsideStandIns(c.creator)
	if len(stack) == 0 { // too deep for a trace
		stack = []frame{c.main}
	}
	g := Group{Kind: kind}
	if standard(stack[0]) {
		g.Within = short(stack[0].function)
		if kind == Process {
			g.Kind = Standard
		}
		if i := slices.IndexFunc(stack, func(f frame) bool { return !standard(f) }); i >= 0 && !own(stack[i]) {
			stack = stack[i:]
		}
	} else if kind == Process && fixed(stack[0]) {
		g.Kind = Module
	}
	f := stack[0]
	g.Place = sdk.Location{File: f.file, Line: f.line, Function: short(f.function)}
	return g
}

// short is the name of a function without the folders of its package.
func short(function string) string { return function[strings.LastIndexByte(function, '/')+1:] }

// goroot is the folder of the sources of the standard library, with a slash at its end; empty in a program that was built with -trimpath.
var goroot = func() string {
	f := runtime.FuncForPC(reflect.ValueOf(errors.New).Pointer())
	file, _ := f.FileLine(f.Entry())
	root, _ := strings.CutSuffix(file, "errors/errors.go")
	return root
}()

// mainModule is the path of the module of this program.
var mainModule = func() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Path
	}
	return ""
}()

// fixed reports whether a function belongs to a module of the module cache or of a vendor folder, of which no copies are built.
func fixed(f frame) bool {
	return strings.Contains(f.file, "@v") || strings.Contains(f.file, "/vendor/")
}

// standard reports whether a function belongs to the standard library.
func standard(f frame) bool {
	if goroot != "" {
		return strings.HasPrefix(f.file, goroot)
	}
	folder := f.file[:max(strings.LastIndexByte(f.file, '/'), 0)]
	first, _, _ := strings.Cut(folder, "/")
	inside := mainModule != "" && (folder == mainModule || strings.HasPrefix(folder, mainModule+"/"))
	return folder != "" && !strings.Contains(first, ".") && !inside && strings.HasPrefix(f.function, folder+".")
}
