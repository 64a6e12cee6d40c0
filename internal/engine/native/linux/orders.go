//go:build linux && amd64

package linux

import (
	"bytes"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
)

// maxAnswer bounds one answer of a program that has orders.
const maxAnswer = 1 << 20

// ordersFile is the standard input of a program that was launched with Ordered.
var ordersFile = Behaviour{
	Read: readOrders, Write: notices(kernel.Answered, maxAnswer), Pollable: kernel.Always,
	Key: func(f *File) Key { return Key{Kind: kernel.KeyOrders, ID: f.ID} },
	Ready: func(_ *Kernel, f *File) uint32 {
		if len(f.Data) == 0 {
			return unix.POLLOUT | kernel.PollWRNorm
		}
		return kernel.AlwaysReady
	},
}

// Order gives a program that was launched with Ordered something to read. It reports whether that program is there to read it.
func Order(k *Kernel, id kernel.ProcID, data []byte) bool {
	p := k.Procs[id]
	if p == nil || p.Zombie || k.Files[p.Orders] == nil {
		return false
	}
	f := k.Files[p.Orders]
	f.Data = append(f.Data, data...)
	k.Wake(Key{Kind: kernel.KeyOrders, ID: f.ID}, unix.EPOLLIN)
	return true
}

func readOrders(k *Kernel, t *Thread, f *File, n int) ([]byte, Result) {
	if n == 0 {
		return nil, 0
	}
	if len(f.Data) == 0 {
		return nil, k.NotYet(t, f, Key{Kind: kernel.KeyOrders, ID: f.ID})
	}
	n = min(n, len(f.Data))
	data := bytes.Clone(f.Data[:n])
	f.Data = bytes.Clone(f.Data[n:])
	return data, Result(n)
}
