// Package report turns what is known of runs and campaigns into what people look at: traces, the story of a
// violation, the summary of a campaign, and failure files.
package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Class groups the events of a trace with the words that trace_events uses.
type Class string

const (
	NetworkSend  Class = "network_send"
	NetworkRecv  Class = "network_recv"
	DiskWrite    Class = "disk_write"
	DiskRead     Class = "disk_read"
	DiskSync     Class = "disk_sync"
	ProcessStart Class = "process_start"
	ProcessExit  Class = "process_exit"
	ProcessCrash Class = "process_crash"
	FaultEvent   Class = "fault"
	Other        Class = "other" // waiting, memory, identity and all else
)

// Classes lists the words that trace_events accepts, besides the names of system calls.
var Classes = []Class{NetworkSend, NetworkRecv, DiskWrite, DiskRead, DiskSync, ProcessStart, ProcessExit, ProcessCrash, FaultEvent}

// levels lists the values of trace_level, from the least to the most that is written: nothing; crashes; faults and
// process ends too; network, disk and processes too; everything.
var levels = []string{"off", "error", "warn", "info", "debug", "trace"}

// classOf gives the class of an event from its call, and for calls that serve files and sockets alike from the object
// behind the descriptor.
func classOf(e *record.Event) Class {
	socket := e.Object == "tcp" || e.Object == "udp" || e.Object == "unix"
	switch e.Call {
	case "sendto", "sendmsg", "sendmmsg", "connect":
		return NetworkSend
	case "recvfrom", "recvmsg", "recvmmsg", "accept", "accept4":
		return NetworkRecv
	case "write", "writev", "sendfile", "splice":
		switch {
		case socket:
			return NetworkSend
		case e.Object == "pipe":
			return Other
		}
		return DiskWrite
	case "read", "readv":
		switch {
		case socket:
			return NetworkRecv
		case e.Object == "pipe":
			return Other
		}
		return DiskRead
	case "pwrite64", "pwritev", "pwritev2", "ftruncate", "truncate", "fallocate", "rename", "renameat", "renameat2",
		"unlink", "unlinkat", "mkdir", "mkdirat", "rmdir", "link", "linkat", "symlink", "symlinkat", "copy_file_range":
		return DiskWrite
	case "pread64", "preadv", "preadv2":
		return DiskRead
	case "fsync", "fdatasync", "sync", "syncfs", "sync_file_range", "msync":
		return DiskSync
	case "fork", "vfork", "clone", "clone3", "execve", "execveat", "start":
		return ProcessStart
	case "exit", "exit_group":
		return ProcessExit
	case "fault", string(fault.Crash): // an exception of the CPU; a node that was killed
		return ProcessCrash
	case "signal":
		if strings.HasPrefix(e.Detail, "ends ") {
			return ProcessCrash
		}
		return Other
	case "phase", "stopped", "killed": // the last two of a node that restarts
		return FaultEvent
	}
	if fault.Known(world.FaultKind(strings.TrimPrefix(e.Call, "end "))) {
		return FaultEvent
	}
	return Other
}

// Filter chooses the events that are written of a trace. It never touches the trace's hash.
type Filter struct {
	// Level is one of Levels; empty is trace.
	Level string
	// Events, if there are any, replaces Level: classes and names of system calls.
	Events []string
}

// Validate checks the words of a filter.
func (f Filter) Validate() error {
	if f.Level != "" && !slices.Contains(levels, f.Level) {
		return fmt.Errorf("trace_level %q is unknown; levels are %s", f.Level, strings.Join(levels, ", "))
	}
	return nil
}

// Keep reports whether an event is written.
func (f Filter) Keep(e *record.Event) bool {
	if len(f.Events) > 0 {
		return slices.Contains(f.Events, e.Call) || slices.Contains(f.Events, string(classOf(e)))
	}
	switch f.Level {
	case "off":
		return false
	case "error":
		return classOf(e) == ProcessCrash
	case "warn":
		c := classOf(e)
		return c == ProcessCrash || c == ProcessExit || c == FaultEvent
	case "info":
		return classOf(e) != Other
	}
	return true
}

// Sink receives the trace of a run in order.
type Sink interface {
	Event(*record.Event)
	Log(record.LogLine)
	// Finish writes what comes after the last event; o may be nil if the run did not end. It returns the first error
	// of all writes.
	Finish(o *check.Judged) error
}

// Formats lists the formats of NewSink.
var Formats = []string{"text", "chrome", "shiviz"}

// NewSink writes a trace of a run of spec to w in one of Formats.
func NewSink(format string, w io.Writer, f Filter, spec *world.Spec) (Sink, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	switch format {
	case "", "text":
		return &textSink{w: bufio.NewWriterSize(w, 1<<16), filter: f}, nil
	case "chrome":
		return newChromeSink(w, f, spec), nil
	case "shiviz":
		return newShivizSink(w, f, spec), nil
	}
	return nil, fmt.Errorf("trace format %q is unknown; formats are %s", format, strings.Join(Formats, ", "))
}

type textSink struct {
	w      *bufio.Writer
	filter Filter
	line   []byte
}

func (s *textSink) Event(e *record.Event) {
	if s.filter.Keep(e) {
		s.line = append(appendEvent(s.line[:0], e), '\n')
		s.w.Write(s.line)
	}
}

func (s *textSink) Log(record.LogLine) {} // writes of a program are events already

func (s *textSink) Finish(*check.Judged) error { return s.w.Flush() }

// appendEvent appends the text form of an event, one line without its end. All fields are in it, so that equal
// lines mean equal events:
//
//	812 1.204001000s n1/0.2 sendto(7, ..., 32, MSG_NOSIGNAL, "10.0.0.2:80", 16) = 32 on tcp bytes 9f2c0011aabbccdd clocks 3
func appendEvent(b []byte, e *record.Event) []byte {
	b = strconv.AppendUint(b, e.Number, 10)
	b = append(b, ' ')
	b = appendSeconds(b, e.TimeNs)
	b = append(b, ' ')
	if e.Thread != e.Node && !strings.HasPrefix(e.Thread, e.Node+"/") {
		b = append(append(b, e.Node...), ' ')
	}
	if e.Thread == "" {
		b = append(b, '-') // of the world as a whole
	}
	b = append(append(b, e.Thread...), ' ')
	b = appendCall(b, e)
	if e.Object != "" {
		b = append(append(b, " on "...), e.Object...)
	}
	if e.Bytes != 0 {
		b = append(b, " bytes "...)
		b = strconv.AppendUint(b, e.Bytes, 16)
	}
	if e.Clocks != 0 {
		b = append(b, " clocks "...)
		b = strconv.AppendUint(b, e.Clocks, 10)
	}
	return b
}

func appendSeconds(b []byte, ns int64) []byte {
	if ns < 0 {
		b = append(b, '-')
		ns = -ns
	}
	b = strconv.AppendInt(b, ns/1e9, 10)
	b = append(b, '.')
	frac := strconv.FormatInt(ns%1e9, 10)
	b = append(b, "000000000"[len(frac):]...)
	return append(append(b, frac...), 's')
}

// Seconds writes virtual time as seconds with six digits, such as 1.204001s.
func Seconds(ns int64) string { return strconv.FormatFloat(float64(ns)/1e9, 'f', 6, 64) + "s" }
