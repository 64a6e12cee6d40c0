//go:build linux && amd64

package linux

import (
	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
)

// procFile is a file of /proc or /sys.
var procFile = Behaviour{
	Opened: func(k *Kernel, t *Thread, f *File, o *fs.Opened) {
		f.Path = o.Synth
		if s := synth(k, t, o.Synth); s.space != 0 {
			f.Kind, f.Obj = kernel.FileMemory, s.space
		}
	},
	ReadInto: func(k *Kernel, t *Thread, f *File, v []Iovec, offset int64) Result {
		if f.Flags&unix.O_ACCMODE == unix.O_WRONLY {
			return fail(unix.EBADF)
		}
		return readContent(k, t, f, v, offset, procContent)
	},
	WriteFrom: func(k *Kernel, t *Thread, f *File, v []Iovec, offset int64, _ int) Result {
		data, e := k.Gather(t, v, -1)
		if e != 0 {
			return fail(e)
		}
		return writeProc(k, t, f, data, offset)
	},
	Push: writeProc,
	Take: func(k *Kernel, t *Thread, f *File, pos int64, n int, _ bool) ([]byte, Result) {
		data, e := procContent(k, t, f, pos, n)
		t.Call.Mix(data)
		return data, fail(e)
	},
	Seekable: true, Sizeless: true, Object: kernel.Named("file"),
	Seek: func(_ *Kernel, f *File, off int64, whence int) Result {
		return seek(f, off, whence, int64(len(f.Data)))
	},
}

// procContent reads up to n bytes; they are made when the file is read from its start.
func procContent(k *Kernel, t *Thread, f *File, pos int64, n int) ([]byte, unix.Errno) {
	if pos < 0 {
		return nil, unix.EINVAL
	}
	if pos == 0 {
		s := synth(k, t, f.Path)
		if s.kind != synthFile {
			return nil, unix.ESRCH
		}
		f.Data = []byte(s.content())
	}
	if pos >= int64(len(f.Data)) {
		return nil, 0
	}
	d := f.Data[pos:]
	return d[:min(n, len(d))], 0
}

func writeProc(k *Kernel, t *Thread, f *File, data []byte, _ int64) Result {
	if e := synthWrite(k, t, f.Path, data); e != 0 {
		return fail(e)
	}
	return Result(len(data))
}
