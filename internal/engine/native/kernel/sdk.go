//go:build linux && amd64

package kernel

import (
	"bytes"
	"maps"
	"slices"

	"golang.org/x/sys/unix"
)

// Bounds of what is written at a time.
const (
	maxSDKLine     = 1 << 20 // a longer line of an SDK is cut, and cannot be read then
	maxControlLine = 256
)

// writeSDK splits what an SDK writes into lines. Some write a line with several calls: it counts from the last one.
func (k *Kernel) writeSDK(f *File, data []byte) {
	for len(data) > 0 {
		i := bytes.IndexByte(data, '\n')
		if i < 0 {
			if f.Line = append(f.Line, data...); len(f.Line) >= maxSDKLine {
				k.sdkLine(f, f.Line, whole)
				f.Line = nil
			}
			return
		}
		k.sdkLine(f, append(f.Line, data[:i]...), whole)
		f.Line = nil
		data = data[i+1:]
	}
}

// A line is whole, or cut by the end of its file.
const (
	whole = ""
	cut   = "cut"
)

func (k *Kernel) sdkLine(f *File, line []byte, how string) {
	k.Notices = append(k.Notices, Notice{Kind: Told, Event: k.Events + 1, TimeNs: k.Now, Node: f.Node, Tag: f.Tag, PID: int(f.Obj),
		Program: f.Path, Stream: how, Text: bytes.Clone(line)})
}

// EndLines gives out what programs that live on have written without an end of the line.
func (k *Kernel) EndLines() {
	for _, id := range slices.Sorted(maps.Keys(k.Files)) {
		k.endLine(k.Files[id])
	}
}

// endLine gives out the last line of a file that nobody writes to any more.
func (k *Kernel) endLine(f *File) {
	if len(f.Line) == 0 {
		return
	}
	switch f.Kind {
	case FileLog:
		k.logLine(f, 0, f.Line)
	case FileSDK:
		k.sdkLine(f, f.Line, cut)
	}
	f.Line = nil
}

// control takes a request to the engine, one a write. The engine acts on it before the next program runs.
func (k *Kernel) ask(t *Thread, f *File, data []byte) Result {
	if len(data) > maxControlLine {
		return fail(unix.EINVAL)
	}
	k.Notices = append(k.Notices, Notice{Kind: Asked, Event: k.Events + 1, TimeNs: k.Now, Node: f.Node, Proc: t.Proc, Tag: f.Tag, Text: bytes.Clone(data)})
	return Result(len(data))
}
