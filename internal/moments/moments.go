// Package moments records what programs under test do at which a fault could show a bug: they create, synchronise, rename, truncate,
// unlink or map files, start programs, and answer. Moments form classes, so that rules of faults and sweeps can choose among them. It
// is pure: an engine reports each moment to a Record.
package moments

import (
	"cmp"
	"slices"
)

// Act is a kind of action of a program, as a system call makes it.
type Act string

const (
	Create   Act = "create" // a file, a folder or a link that was not there
	Sync     Act = "sync"   // also a write to a file that was opened with O_SYNC or O_DSYNC
	Rename   Act = "rename"
	Truncate Act = "truncate" // also open with O_TRUNC, and fallocate
	Unlink   Act = "unlink"
	Map      Act = "map"    // a file, shared and writable
	Start    Act = "start"  // a program, or a process by fork
	Reply    Act = "reply"  // the first bytes of an answer to a client
	Answer   Act = "answer" // the same to another server
	// Operation is one that a driver begins on the node; its kind is the File of its Class.
	Operation Act = "operation"
)

// OnFile reports whether an act concerns a file.
func (a Act) OnFile() bool { return a != Start && a != Reply && a != Answer && a != Operation }

// Phase is where a node is in its life.
type Phase string

const (
	FirstStart Phase = "first start"   // it has not been ready yet
	Before     Phase = "before faults" // it is ready, and faults are not injected yet
	Chaos      Phase = "chaos"
	Recovery   Phase = "recovery" // it was started again and is not ready yet
	After      Phase = "after faults"
)

// Class identifies the moments of a Series, which share all of its fields.
type Class struct {
	Node    string `json:"node"`
	Program string `json:"program"` // the template of its name
	Act     Act    `json:"act"`
	Call    string `json:"call,omitempty"` // the system call; empty for programs that the world starts itself
	// File is the template of the file's path, or of what identifies an answer: its port and first word.
	File  string `json:"file,omitempty"`
	Phase Phase  `json:"phase"`
}

// Compare sorts classes by all that they have.
func Compare(a, b Class) int {
	return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Act, b.Act), cmp.Compare(a.Call, b.Call), cmp.Compare(a.File, b.File),
		cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Program, b.Program))
}

// Occurrence is one moment of a class.
type Occurrence struct {
	Number uint64 `json:"number"` // within its class, from 1 on
	Event  uint64 `json:"event"`  // the number of the call's event, which has had its effect
	TimeNs int64  `json:"time_ns"`
	File   string `json:"file,omitempty"` // the path itself
}

// Series has the moments of a class.
type Series struct {
	Class
	Count uint64 `json:"count"`
	// InChaos counts those at which faults could be injected.
	InChaos uint64 `json:"in_chaos,omitempty"`
	// Sampled are moments 1, 1+Stride, 1+2*Stride and so on: all of them where Stride is 1.
	Sampled []Occurrence `json:"sampled"`
	Stride  uint64       `json:"stride"`
}

// Bounds of a Record. Counts of classes are exact, whatever the number of their moments.
const (
	MaxClasses = 2048
	MaxSampled = 128 // of a class
)

// Record has the moments of a run.
type Record struct {
	Series []Series `json:"series,omitempty"` // in the order of their first moments
	// Lost counts moments of further classes, beyond MaxClasses.
	Lost uint64 `json:"lost,omitempty"`

	at map[Class]int // places in Series
}

// Moment is one that an engine reports.
type Moment struct {
	Class
	Path    string // of the file
	Event   uint64
	TimeNs  int64
	InChaos bool // faults may be injected
}

// Add records a moment.
func (r *Record) Add(m *Moment) {
	i, ok := r.at[m.Class]
	if !ok {
		if len(r.Series) >= MaxClasses {
			r.Lost++
			return
		}
		if r.at == nil {
			r.at = map[Class]int{}
		}
		i = len(r.Series)
		r.at[m.Class] = i
		r.Series = append(r.Series, Series{Class: m.Class, Stride: 1})
	}
	r.Series[i].add(m)
}

func (s *Series) add(m *Moment) {
	s.Count++
	if m.InChaos {
		s.InChaos++
	}
	if (s.Count-1)%s.Stride != 0 {
		return
	}
	if len(s.Sampled) == MaxSampled {
		half := s.Sampled[:0]
		for i := 0; i < MaxSampled; i += 2 {
			half = append(half, s.Sampled[i])
		}
		s.Sampled = half
		s.Stride *= 2
		if (s.Count-1)%s.Stride != 0 {
			return
		}
	}
	s.Sampled = append(s.Sampled, Occurrence{Number: s.Count, Event: m.Event, TimeNs: m.TimeNs, File: m.Path})
}

// Classes lists the series by their classes, so that equal runs list them equally.
func (r *Record) Classes() []Series {
	if r == nil {
		return nil
	}
	list := slices.Clone(r.Series)
	slices.SortFunc(list, func(a, b Series) int { return Compare(a.Class, b.Class) })
	return list
}

// Choose gives up to most moments of a series, spread evenly over those that were sampled, the first and the last included.
func (s *Series) Choose(most int) []Occurrence {
	n := len(s.Sampled)
	if n <= most {
		return slices.Clone(s.Sampled)
	}
	var list []Occurrence
	for i := range most {
		at := 0
		if most > 1 {
			at = i * (n - 1) / (most - 1)
		}
		list = append(list, s.Sampled[at])
	}
	return list
}
