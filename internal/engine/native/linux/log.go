//go:build linux && amd64

package linux

import (
	"bytes"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
)

// logFile is standard output or error of a node's program. It looks like under a service manager: a stream that is no terminal and
// cannot be sought in.
var logFile = Behaviour{
	Reopen: reopenStream, Release: endLine, EndLine: func(k *Kernel, f *File) { logLine(k, f, 0, f.Line) },
	ReadInto: func(*Kernel, *Thread, *File, []Iovec, int64) Result { return fail(unix.EBADF) },
	Write: func(k *Kernel, t *Thread, f *File, data []byte) Result {
		writeLog(k, t, f, data)
		return Result(len(data))
	},
	Push: func(k *Kernel, t *Thread, f *File, data []byte, _ int64) Result {
		writeLog(k, t, f, data)
		return Result(len(data))
	},
	Pollable: kernel.Always, Ready: func(*Kernel, *File) uint32 { return unix.POLLOUT | kernel.PollWRNorm },
	Stat: func(f *File, a *fs.Attr) {
		a.Mode |= unix.S_IFIFO
		a.Inode = 900 + fs.InodeID(len(f.Stream))
	},
	Magic: unix.PIPEFS_MAGIC,
}

const maxLogLine = 64 << 10 // a longer line is cut into several

// writeLog splits what a program prints into lines.
func writeLog(k *Kernel, t *Thread, f *File, data []byte) {
	if f.Bound > 0 {
		if f.Taken > f.Bound {
			return
		}
		f.Taken += len(data)
		if over := f.Taken - f.Bound; over > 0 {
			data = data[:len(data)-over]
			k.Notices = append(k.Notices, kernel.Notice{Kind: kernel.Overflowed, Event: k.Events + 1, TimeNs: k.Now, Node: f.Node,
				Tag: f.Tag, Stream: f.Stream})
		}
	}
	most := maxLogLine
	if f.Bound > 0 { // a caller reads it as a whole
		most = f.Bound + 1
	}
	for len(data) > 0 {
		room := data[:min(len(data), most-len(f.Line))]
		i := bytes.IndexByte(room, '\n')
		switch {
		case i >= 0:
			f.Line, data = append(f.Line, room[:i]...), data[i+1:]
		default:
			if f.Line, data = append(f.Line, room...), data[len(room):]; len(f.Line) < most {
				return
			}
		}
		logLine(k, f, k.Proc(t).PID, f.Line)
		f.Line = f.Line[:0]
	}
}

func logLine(k *Kernel, f *File, pid int, line []byte) {
	k.Notices = append(k.Notices, kernel.Notice{Kind: kernel.Logged, Event: k.Events + 1, TimeNs: k.Now, Node: f.Node, PID: pid,
		Tag: f.Tag, Stream: f.Stream, Text: bytes.Clone(line)})
}
