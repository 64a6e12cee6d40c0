//go:build linux && amd64

package linux

import (
	"bytes"
	"maps"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
)

// maxSDKLine bounds a line of an SDK: a longer one is cut, and cannot be read then.
const maxSDKLine = 1 << 20

// sdkFile is the device that SDKs write to.
var sdkFile = Behaviour{
	Devices: []uint64{fs.DevSDK}, Seekable: true, Sizeless: true,
	Opened: func(k *Kernel, t *Thread, f *File, _ *fs.Opened) {
		p := k.Proc(t)
		f.Tag, f.Obj, f.Path = p.Tag, int64(p.PID), p.Path
	},
	Release: endLine, EndLine: func(k *Kernel, f *File) { sdkLine(k, f, f.Line, cut) },
	Write: func(k *Kernel, _ *Thread, f *File, data []byte) Result {
		writeSDK(k, f, data)
		return Result(len(data))
	},
}

// writeSDK splits what an SDK writes into lines. Some write a line with several calls: it counts from the last one.
func writeSDK(k *Kernel, f *File, data []byte) {
	for len(data) > 0 {
		i := bytes.IndexByte(data, '\n')
		if i < 0 {
			if f.Line = append(f.Line, data...); len(f.Line) >= maxSDKLine {
				sdkLine(k, f, f.Line, whole)
				f.Line = nil
			}
			return
		}
		sdkLine(k, f, append(f.Line, data[:i]...), whole)
		f.Line = nil
		data = data[i+1:]
	}
}

// A line is whole, or cut by the end of its file.
const (
	whole = ""
	cut   = "cut"
)

func sdkLine(k *Kernel, f *File, line []byte, how string) {
	k.Notices = append(k.Notices, kernel.Notice{Kind: kernel.Told, Event: k.Events + 1, TimeNs: k.Now, Node: f.Node, Tag: f.Tag, PID: int(f.Obj),
		Program: f.Path, Stream: how, Text: bytes.Clone(line)})
}

// EndLines gives out what programs that live on have written without an end of the line.
func EndLines(k *Kernel) {
	for _, id := range slices.Sorted(maps.Keys(k.Files)) {
		endLine(k, k.Files[id])
	}
}

// endLine gives out the last line of a file that no process writes to any more.
func endLine(k *Kernel, f *File) {
	if len(f.Line) == 0 {
		return
	}
	k.Kind(f).EndLine(k, f)
	f.Line = nil
}
