//go:build linux && amd64

package kernel

import (
	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
)

// procFile is a file of /proc or /sys.
var procFile = Behaviour{
	Opened: func(k *Kernel, t *Thread, f *File, o *fs.Opened) {
		f.Path = o.Synth
		if s := k.synth(t, o.Synth); s.space != 0 {
			f.Kind, f.Obj = FileMemory, s.space
		}
	},
	ReadInto: func(k *Kernel, t *Thread, f *File, v []Iovec, offset int64) Result {
		if f.Flags&unix.O_ACCMODE == unix.O_WRONLY {
			return fail(unix.EBADF)
		}
		return k.readContent(t, f, v, offset, (*Kernel).procContent)
	},
	WriteFrom: func(k *Kernel, t *Thread, f *File, v []Iovec, offset int64, _ int) Result {
		data, e := k.gather(t, v, -1)
		if e != 0 {
			return fail(e)
		}
		return k.writeProc(t, f, data, offset)
	},
	Push: (*Kernel).writeProc,
	Take: func(k *Kernel, t *Thread, f *File, pos int64, n int, _ bool) ([]byte, Result) {
		data, e := k.procContent(t, f, pos, n)
		t.Call.digest(data)
		return data, fail(e)
	},
	Seekable: true, Sizeless: true, Object: named("file"),
	Seek: func(_ *Kernel, f *File, off int64, whence int) Result {
		return seek(f, off, whence, int64(len(f.Data)))
	},
}

// procContent reads up to n bytes; they are made when the file is read from its start.
func (k *Kernel) procContent(t *Thread, f *File, pos int64, n int) ([]byte, unix.Errno) {
	if pos < 0 {
		return nil, unix.EINVAL
	}
	if pos == 0 {
		s := k.synth(t, f.Path)
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

func (k *Kernel) writeProc(t *Thread, f *File, data []byte, _ int64) Result {
	if e := k.synthWrite(t, f.Path, data); e != 0 {
		return fail(e)
	}
	return Result(len(data))
}
