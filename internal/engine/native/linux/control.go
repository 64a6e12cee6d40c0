//go:build linux && amd64

package linux

import (
	"bytes"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
)

const maxControlLine = 256 // of what is written at a time

// controlFile is where drivers ask the engine for something.
var controlFile = Behaviour{Devices: []uint64{fs.DevControl}, Seekable: true, Opened: tagged, Write: notices(kernel.Asked, maxControlLine)}

// reportFile is the driver's report.
var reportFile = Behaviour{
	Devices: []uint64{fs.DevReport}, Seekable: true, Opened: tagged,
	Write: func(k *Kernel, _ *Thread, f *File, data []byte) Result {
		k.Notices = append(k.Notices, kernel.Notice{Kind: kernel.Reported, Event: k.Events + 1, TimeNs: k.Now, Node: f.Node,
			Tag: f.Tag, Text: bytes.Clone(data)})
		return Result(len(data))
	},
}

// mishapFile is where programs ask for draws.
var mishapFile = Behaviour{
	Devices: []uint64{fs.DevMishap}, Seekable: true,
	Write: func(k *Kernel, t *Thread, f *File, data []byte) Result {
		if len(data) > maxControlLine {
			return fail(unix.EINVAL)
		}
		k.Notices = append(k.Notices, kernel.Notice{Kind: kernel.Wondered, Event: k.Events + 1, TimeNs: k.Now, Node: f.Node,
			Proc: t.Proc, Tag: f.ID, Text: bytes.Clone(data)})
		return Result(len(data))
	},
	Read: func(_ *Kernel, _ *Thread, f *File, n int) ([]byte, Result) {
		n = min(n, len(f.Data))
		data := bytes.Clone(f.Data[:n])
		f.Data = bytes.Clone(f.Data[n:])
		return data, Result(n)
	},
}

// Answer gives a program that has asked for a draw something to read. It replaces an answer that was not read.
func Answer(k *Kernel, file int64, data []byte) {
	if f := k.Files[file]; f != nil {
		f.Data = data
	}
}

func tagged(k *Kernel, t *Thread, f *File, _ *fs.Opened) { f.Tag = k.Proc(t).Tag }

// notices takes what a program reports to the engine, one notice a write. The engine acts on it before the next program runs.
func notices(kind kernel.NoticeKind, most int) func(*Kernel, *Thread, *File, []byte) Result {
	return func(k *Kernel, t *Thread, f *File, data []byte) Result {
		if len(data) > most {
			return fail(unix.EINVAL)
		}
		k.Notices = append(k.Notices, kernel.Notice{Kind: kind, Event: k.Events + 1, TimeNs: k.Now, Node: f.Node, Proc: t.Proc,
			Tag: f.Tag, Text: bytes.Clone(data)})
		return Result(len(data))
	}
}
