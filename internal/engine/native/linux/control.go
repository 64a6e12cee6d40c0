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
var controlFile = Behaviour{Devices: []uint64{fs.DevControl}, Seekable: true, Opened: tagged, Write: ask}

// reportFile is the driver's report.
var reportFile = Behaviour{
	Devices: []uint64{fs.DevReport}, Seekable: true, Opened: tagged,
	Write: func(k *Kernel, _ *Thread, f *File, data []byte) Result {
		k.Notices = append(k.Notices, kernel.Notice{Kind: kernel.Reported, Event: k.Events + 1, TimeNs: k.Now, Node: f.Node, Tag: f.Tag, Text: bytes.Clone(data)})
		return Result(len(data))
	},
}

func tagged(k *Kernel, t *Thread, f *File, _ *fs.Opened) { f.Tag = k.Proc(t).Tag }

// ask takes a request to the engine, one a write. The engine acts on it before the next program runs.
func ask(k *Kernel, t *Thread, f *File, data []byte) Result {
	if len(data) > maxControlLine {
		return fail(unix.EINVAL)
	}
	k.Notices = append(k.Notices, kernel.Notice{Kind: kernel.Asked, Event: k.Events + 1, TimeNs: k.Now, Node: f.Node, Proc: t.Proc, Tag: f.Tag, Text: bytes.Clone(data)})
	return Result(len(data))
}
