//go:build linux && amd64

package linux

import (
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/moments"
	"golang.org/x/sys/unix"
)

// defineSockets enters the calls of socket(7). Those that block are restarted after a handler unless the socket has
// a timeout (signal(7)).
func defineSockets() {
	define(unix.SYS_SOCKET, "socket", "iii", sysSocket)
	define(unix.SYS_SOCKETPAIR, "socketpair", "iiip", sysSocketpair)
	define(unix.SYS_BIND, "bind", "ipi", onSocket(sysBind))
	define(unix.SYS_LISTEN, "listen", "ii", onSocket(sysListen))
	define(unix.SYS_ACCEPT, "accept", "ipp", sysAccept).Restarts(kernel.RestartNoTimeout)
	define(unix.SYS_ACCEPT4, "accept4", "ippi", sysAccept4).Restarts(kernel.RestartNoTimeout)
	define(unix.SYS_CONNECT, "connect", "ipi", onSocket(sysConnect)).Restarts(kernel.RestartNoTimeout)
	define(unix.SYS_GETSOCKNAME, "getsockname", "ipp", sysGetsockname)
	define(unix.SYS_GETPEERNAME, "getpeername", "ipp", sysGetpeername)
	define(unix.SYS_SETSOCKOPT, "setsockopt", "iiipi", onSocket(sysSetsockopt))
	define(unix.SYS_GETSOCKOPT, "getsockopt", "iiipp", onSocket(sysGetsockopt))
	define(unix.SYS_SENDTO, "sendto", "ipiipi", onSocket(sysSendto)).Restarts(kernel.RestartNoTimeout)
	define(unix.SYS_RECVFROM, "recvfrom", "ipiipp", onSocket(sysRecvfrom)).Restarts(kernel.RestartNoTimeout)
	define(unix.SYS_SENDMSG, "sendmsg", "ipi", onSocket(sysSendmsg)).Restarts(kernel.RestartNoTimeout)
	define(unix.SYS_RECVMSG, "recvmsg", "ipi", onSocket(sysRecvmsg)).Restarts(kernel.RestartNoTimeout)
	define(unix.SYS_SENDMMSG, "sendmmsg", "ipii", sysSendmmsg).Restarts(kernel.RestartNoTimeout)
	define(unix.SYS_RECVMMSG, "recvmmsg", "ipiip", sysRecvmmsg).Restarts(kernel.RestartNoTimeout)
	define(unix.SYS_SHUTDOWN, "shutdown", "ii", onSocket(sysShutdown))
}

// netEnv is what the network needs of the world, for the length of one call.
type netEnv struct{ k *Kernel }

// NetEnv is for callers that call the network past the kernel.
func NetEnv(k *Kernel) net.Env { return netEnv{k} }

func (e netEnv) Now() int64 { return e.k.State.Now }

func (e netEnv) Rare(stream string, n, ratePPM uint64) uint64 {
	return e.k.Tape.Rare(stream, n, ratePPM)
}

func (e netEnv) Wake(sock net.SockID, events uint32) {
	e.k.Wake(Key{Kind: kernel.KeySocket, ID: int64(sock)}, events)
}

func (e netEnv) Delivered(ref net.FaultRef) { e.packetFault(ref, "delivered") }

// Observed counts what a program under test has read; drivers are none.
func (e netEnv) Observed(ref net.FaultRef) {
	if t := e.k.Threads[e.k.Current]; t != nil && !e.k.Node(t).Driver {
		e.packetFault(ref, "observed")
	}
}

func (e netEnv) packetFault(ref net.FaultRef, what string) {
	k := e.k
	k.Notices = append(k.Notices, kernel.Notice{Kind: kernel.PacketFault, Event: k.Events + 1, TimeNs: k.State.Now,
		Program: string(ref.Kind), Tag: int64(ref.Rule), Stream: what})
}

func (e netEnv) Unreached(n net.NodeID, listens net.AddrPort) {
	k := e.k
	k.Notices = append(k.Notices, kernel.Notice{Kind: kernel.Unreached, Event: k.Events + 1, TimeNs: k.State.Now,
		Node: kernel.NodeID(n), Text: []byte(listens.String())})
}

func (e netEnv) Capture() func(*net.Sighting) { return e.k.Capture }

func (e netEnv) DropFiles(refs []int64) { e.k.Unread = append(e.k.Unread, refs...) }

// socketFile is a socket of any family.
var socketFile = Behaviour{
	Release:   closeSocket,
	ReadInto:  func(k *Kernel, t *Thread, f *File, v []Iovec, _ int64) Result { return recvInto(k, t, f, v, 0) },
	WriteFrom: func(k *Kernel, t *Thread, f *File, v []Iovec, _ int64, _ int) Result { return sendFrom(k, t, f, v, 0) },
	Take: func(k *Kernel, t *Thread, f *File, _ int64, n int, nonblocking bool) ([]byte, Result) {
		return socketBytes(k, t, f, n, nonblocking)
	},
	Push:     func(k *Kernel, t *Thread, f *File, data []byte, _ int64) Result { return sendBytes(k, t, f, data) },
	Pollable: kernel.Always, Key: kernel.ObjectKey(kernel.KeySocket), Ioctl: socketIoctl,
	Ready: func(k *Kernel, f *File) uint32 { return uint32(k.Net.Poll(net.SockID(f.Obj))) },
	Stat:  func(_ *File, a *fs.Attr) { a.Mode = unix.S_IFSOCK | 0o777 },
	Magic: unix.SOCKFS_MAGIC, Link: func(f *File) string { return "socket:[" + itoa(int(f.Obj)) + "]" },
	Object: func(k *Kernel, f *File) string {
		return k.Net.Kind(net.SockID(f.Obj)).Object()
	},
}

// closeSocket closes what is behind the last reference to a socket, and then the files that lay unread in it.
func closeSocket(k *Kernel, f *File) {
	if k.Net.Has(net.SockID(f.Obj)) { // it is not where the power went
		k.Net.CloseFor(netEnv{k}, net.SockID(f.Obj), k.Cause)
	}
	for len(k.Unread) > 0 {
		id := k.Unread[0]
		k.Unread = k.Unread[1:]
		if file := k.Files[id]; file != nil {
			k.Unref(file)
		}
	}
}

// sockFlags are the flags that socket, socketpair and accept4 take beside a type, whose bits are those of sockTypeMask.
const (
	sockFlags    = unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC
	sockTypeMask = 0xf // SOCK_TYPE_MASK
)

// Limits of calls on sockets.
const (
	maxOptionBytes  = 4096
	maxControlBytes = 20480 // net.core.optmem_max
	maxMessages     = 1024  // UIO_MAXIOV, the most that sendmmsg takes
	sendPieceBytes  = 256 << 10
	sockaddr6Min    = 24 // SIN6_LEN_RFC2133: a struct sockaddr_in6 without its scope
)

// socket gives the socket behind a descriptor.
func socket(k *Kernel, t *Thread, fd int) (*File, net.SockID, unix.Errno) {
	f := k.File(t, fd)
	if f == nil || f.Kind == kernel.FilePath {
		return nil, 0, unix.EBADF
	}
	if f.Kind != kernel.FileSocket {
		return nil, 0, unix.ENOTSOCK
	}
	return f, net.SockID(f.Obj), 0
}

// onSocket makes the handler of a call whose first argument is a socket.
func onSocket(h func(k *Kernel, t *Thread, f *File, id net.SockID) Result) kernel.Handler {
	return func(k *Kernel, t *Thread) Result {
		fd := t.Call.Args[0].Int()
		f, id, e := socket(k, t, fd)
		if e != 0 {
			return fail(e)
		}
		return h(k, t, f, id)
	}
}

func newSocketFile(k *Kernel, t *Thread, id net.SockID, flags int) *File {
	f := k.NewFile(t, kernel.FileSocket, unix.O_RDWR|flags&unix.SOCK_NONBLOCK)
	f.Obj = int64(id)
	return f
}

// netCred is a process as SO_PEERCRED shows it.
func netCred(k *Kernel, t *Thread) net.Cred {
	p := k.Proc(t)
	return net.Cred{PID: int32(p.PID), UID: int32(p.Cred.EUID), GID: int32(p.Cred.EGID)}
}

// kindAndFlags takes the flags of a socket out of its type, where socket(2) and socketpair(2) have them.
func kindAndFlags(family, typ, protocol int) (kind net.Kind, flags int) {
	return net.Kind{Family: family, Type: typ &^ sockFlags, Protocol: protocol}, typ & sockFlags
}

func sysSocket(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	kind, flags := kindAndFlags(args[0].Int(), args[1].Int(), args[2].Int())
	if kind.Type < 0 || kind.Type > sockTypeMask {
		return fail(unix.EINVAL)
	}
	id, e := k.Net.Socket(k.Node(t).Net, kind)
	if e != errno.OK {
		if !unsupported(kind) {
			return failure(e)
		}
		return k.Refuse(t, "socket("+itoa(kind.Family)+","+itoa(kind.Type)+","+itoa(kind.Protocol)+")", unix.Errno(e))
	}
	return k.Opened(t, newSocketFile(k, t, id, flags), flags)
}

// unsupported reports whether Linux would make a socket that is not made here. Go asks for IPPROTO_MPTCP and is content
// with a kernel without it.
func unsupported(kind net.Kind) bool {
	switch {
	case kind.Family == net.AF_UNIX:
		return false
	case kind.Internet():
		return kind.Type == net.SOCK_RAW ||
			slices.Contains([]int{unix.IPPROTO_SCTP, unix.IPPROTO_UDPLITE, unix.IPPROTO_DCCP}, kind.Protocol)
	case kind.Family == net.AF_NETLINK:
		return kind.Type == net.SOCK_RAW || kind.Type == net.SOCK_DGRAM
	}
	return kind.Family > 0 && kind.Family < unix.AF_MAX
}

func sysSocketpair(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	kind, flags := kindAndFlags(args[0].Int(), args[1].Int(), args[2].Int())
	pairAddr := args[3].Pointer()
	if kind.Type < 0 || kind.Type > sockTypeMask {
		return fail(unix.EINVAL)
	}
	a, b, e := k.Net.Socketpair(k.Node(t).Net, kind, netCred(k, t))
	if e != errno.OK {
		return failure(e)
	}
	left, right := newSocketFile(k, t, a, flags), newSocketFile(k, t, b, flags)
	return k.OpenedPair(t, left, right, flags, pairAddr)
}

// sockaddr reads an address that a program passes.
func sockaddr(k *Kernel, t *Thread, addr, size uint64) (net.Addr, unix.Errno) {
	if int32(size) < 0 || int32(size) > 128 {
		return net.Addr{}, unix.EINVAL
	}
	b := make([]byte, uint32(size))
	if !k.Peek(t, addr, b) {
		return net.Addr{}, unix.EFAULT
	}
	a, e := net.ParseSockaddr(b)
	t.Call.Mix(net.AppendSockaddr(nil, a)) // what lies behind a path's end, say, is unset memory
	return a, unix.Errno(e)
}

// outSockaddr writes an address and its true length; sizeAt holds the room that there is.
func outSockaddr(k *Kernel, t *Thread, a net.Addr, addr, sizeAt uint64) unix.Errno {
	room, ok := k.InU32(t, sizeAt)
	if !ok {
		return unix.EFAULT
	}
	if int32(room) < 0 {
		return unix.EINVAL
	}
	var b []byte
	if a.Family != net.AF_UNSPEC {
		b = net.AppendSockaddr(nil, a)
	}
	if !k.Outs(t, machine.Part{Addr: addr, Data: b[:min(len(b), int(room))]}, machine.Part{Addr: sizeAt, Data: le32(uint32(len(b)))}) {
		return unix.EFAULT
	}
	return 0
}

// resolveUnix finds the file that a unix pathname refers to.
func resolveUnix(k *Kernel, t *Thread, a *net.Addr) unix.Errno {
	if a.Family != net.AF_UNIX || a.Path == "" || a.Path[0] == 0 {
		return 0
	}
	inode, e := socketInode(k, t, a.Path)
	a.Inode = int64(inode)
	return e
}

func sysBind(k *Kernel, t *Thread, _ *File, id net.SockID) Result {
	addr, size := t.Call.Args[1].Pointer(), t.Call.Args[2].Uint64()
	a, e := sockaddr(k, t, addr, size)
	family := k.Net.Kind(id).Family
	switch {
	case e != 0 && !(e == unix.EINVAL && family == net.AF_UNIX):
		return fail(e)
	case e != 0:
		return fail(unix.EINVAL)
	}
	t.Call.Detail = a.String()
	if a.Family == net.AF_UNIX && a.Path != "" && a.Path[0] != 0 && family == net.AF_UNIX {
		if have, _ := k.Net.Getsockname(id); have.Path != "" {
			return fail(unix.EINVAL)
		}
		inode, e := makeSocket(k, t, a.Path)
		if e == unix.EEXIST {
			e = unix.EADDRINUSE
		}
		if e != 0 {
			return fail(e)
		}
		a.Inode = int64(inode)
	}
	return failure(k.Net.Bind(netEnv{k}, id, a, netCred(k, t)))
}

func sysListen(k *Kernel, t *Thread, _ *File, id net.SockID) Result {
	backlog := t.Call.Args[1].Int()
	e := k.Net.Listen(netEnv{k}, id, backlog, netCred(k, t))
	if e == errno.OK && k.Nodes[t.Node].AwaitsReady {
		if port := k.Net.Serves(id); port != 0 {
			k.Moments.Listens(t.Node, port)
		}
	}
	return failure(e)
}

func sysAccept(k *Kernel, t *Thread) Result { return accept(k, t, 0) }

func sysAccept4(k *Kernel, t *Thread) Result {
	flags := t.Call.Args[3].Int()
	return accept(k, t, flags)
}

func accept(k *Kernel, t *Thread, flags int) Result {
	args := &t.Call.Args
	fd, addr, sizeAddr := args[0].Int(), args[1].Pointer(), args[2].Pointer()
	if flags&^sockFlags != 0 {
		return fail(unix.EINVAL)
	}
	f, id, e := socket(k, t, fd)
	if e != 0 {
		return fail(e)
	}
	if !k.ReserveFD(t) {
		return fail(unix.EMFILE)
	}
	nonblocking := f.Flags&unix.O_NONBLOCK != 0
	child, from, ne := k.Net.Accept(netEnv{k}, id, unix.MSG_DONTWAIT*kernel.Bit(nonblocking))
	if ne == errno.EAGAIN {
		timeout, _ := k.Net.Timeouts(id)
		return notReady(k, t, f, 0, nonblocking, timeout)
	}
	saw(k, t, f)
	if ne != errno.OK {
		return failure(ne)
	}
	t.Call.Detail = from.String()
	file := newSocketFile(k, t, child, flags)
	if addr != 0 {
		if e := outSockaddr(k, t, from, addr, sizeAddr); e != 0 {
			file.Refs = 1
			k.Unref(file)
			return fail(e)
		}
	}
	return k.Opened(t, file, flags)
}

// notReady ends or parks a call for which a socket has nothing (or no room) yet; done is what it has moved so far.
// timeoutNs is SO_RCVTIMEO or SO_SNDTIMEO, 0 for none.
func notReady(k *Kernel, t *Thread, f *File, done int64, nonblocking bool, timeoutNs int64) Result {
	switch {
	case nonblocking && done > 0:
		return Result(done)
	case nonblocking:
		k.Empty(t)
		return fail(unix.EAGAIN)
	case t.Expired(k):
		missed(k, t)
		if done > 0 {
			return Result(done)
		}
		return fail(unix.EAGAIN)
	}
	if timeoutNs == 0 {
		timeoutNs = -1
	}
	return k.Block(t, k.Deadline(t, timeoutNs), Key{Kind: kernel.KeySocket, ID: f.Obj})
}

func sysConnect(k *Kernel, t *Thread, f *File, id net.SockID) Result {
	addr, size := t.Call.Args[1].Pointer(), t.Call.Args[2].Uint64()
	kind := k.Net.Kind(id)
	stream := kind.Family != net.AF_UNIX && kind.Type == net.SOCK_STREAM
	nonblocking := f.Flags&unix.O_NONBLOCK != 0
	_, timeout := k.Net.Timeouts(id)
	var r errno.Errno
	if t.Call.Again && stream {
		r = k.Net.ConnectResult(id)
	} else {
		a, e := sockaddr(k, t, addr, size)
		if e != 0 {
			return fail(e)
		}
		t.Call.Detail = a.String()
		if stream && kind.Family == net.AF_INET6 && a.Family != net.AF_UNSPEC && size < sockaddr6Min {
			return fail(unix.EINVAL)
		}
		if e := resolveUnix(k, t, &a); e != 0 {
			return fail(e)
		}
		r = k.Net.Connect(netEnv{k}, id, a, netCred(k, t))
		if !nonblocking && (r == errno.EINPROGRESS || r == errno.EALREADY) {
			r = k.Net.ConnectResult(id) // over already on loopback
		}
	}
	switch {
	case r == errno.EINPROGRESS && !nonblocking:
		if t.Expired(k) {
			missed(k, t)
			return fail(unix.EINPROGRESS)
		}
		return notReady(k, t, f, 0, false, timeout)
	case r == errno.EAGAIN && kind.Family == net.AF_UNIX:
		return notReady(k, t, f, 0, nonblocking, timeout)
	}
	saw(k, t, f)
	return failure(r)
}

func sysGetsockname(k *Kernel, t *Thread) Result { return name(k, t, k.Net.Getsockname) }
func sysGetpeername(k *Kernel, t *Thread) Result { return name(k, t, k.Net.Getpeername) }

func name(k *Kernel, t *Thread, which func(net.SockID) (net.Addr, errno.Errno)) Result {
	args := &t.Call.Args
	fd, addr, sizeAddr := args[0].Int(), args[1].Pointer(), args[2].Pointer()
	_, id, e := socket(k, t, fd)
	if e != 0 {
		return fail(e)
	}
	a, ne := which(id)
	if ne != errno.OK {
		return failure(ne)
	}
	return fail(outSockaddr(k, t, a, addr, sizeAddr))
}

func sysShutdown(k *Kernel, t *Thread, _ *File, id net.SockID) Result {
	how := t.Call.Args[1].Int()
	return failure(k.Net.Shutdown(netEnv{k}, id, how))
}

func sysSetsockopt(k *Kernel, t *Thread, _ *File, id net.SockID) Result {
	args := &t.Call.Args
	level, name, valueAddr, size := args[1].Int(), args[2].Int(), args[3].Pointer(), args[4].Int()
	if size < 0 {
		return fail(unix.EINVAL)
	}
	value := make([]byte, min(size, maxOptionBytes))
	if !k.Peek(t, valueAddr, value) {
		return fail(unix.EFAULT)
	}
	t.Call.Mix(net.OptionValue(level, name, value))
	ne := k.Net.SetOption(netEnv{k}, id, level, name, value)
	if ne == errno.ENOPROTOOPT && missingOption(k, id, level, name, true) {
		return k.Refuse(t, "setsockopt("+itoa(level)+","+itoa(name)+")", unix.ENOPROTOOPT)
	}
	return failure(ne)
}

// missingOption reports whether Linux knows a socket option that is not known here, as far as its number shows.
func missingOption(k *Kernel, id net.SockID, level, name int, set bool) bool {
	kind := k.Net.Kind(id)
	inet := kind.Internet()
	switch level {
	case net.SOL_SOCKET:
		switch name {
		case net.SO_TYPE, net.SO_ERROR, net.SO_SNDLOWAT, net.SO_ACCEPTCONN, net.SO_PROTOCOL, net.SO_DOMAIN:
			return !set
		}
		return name > 0 && name <= 83 // SO_RCVPRIORITY is 82, the last one of Linux 6.15
	case net.SOL_TCP:
		return inet && kind.Protocol == net.IPPROTO_TCP && name > 0 && name <= 44
	case net.SOL_UDP:
		return inet && kind.Protocol == net.IPPROTO_UDP && name > 0 && name <= 104
	case net.SOL_IP:
		return inet && name > 0 && name <= 64
	case net.SOL_IPV6:
		return kind.Family == net.AF_INET6 && name > 0 && name <= 80
	}
	return false
}

func sysGetsockopt(k *Kernel, t *Thread, _ *File, id net.SockID) Result {
	args := &t.Call.Args
	level, name, valueAddr, sizeAddr := args[1].Int(), args[2].Int(), args[3].Pointer(), args[4].Pointer()
	size, ok := k.InU32(t, sizeAddr)
	if !ok {
		return fail(unix.EFAULT)
	}
	if int32(size) < 0 {
		return fail(unix.EINVAL)
	}
	value, ne := k.Net.GetOption(id, level, name, int(size))
	switch {
	case ne == errno.ENOPROTOOPT && missingOption(k, id, level, name, false):
		return k.Refuse(t, "getsockopt("+itoa(level)+","+itoa(name)+")", unix.ENOPROTOOPT)
	case ne != errno.OK:
		return failure(ne)
	case !k.Outs(t, machine.Part{Addr: valueAddr, Data: value}, machine.Part{Addr: sizeAddr, Data: le32(uint32(len(value)))}):
		return fail(unix.EFAULT)
	}
	return 0
}

// socketBytes takes up to n bytes from a socket for splice; the result is 0 if there are some, or the call's answer.
func socketBytes(k *Kernel, t *Thread, f *File, n int, nonblocking bool) ([]byte, Result) {
	id := net.SockID(f.Obj)
	nonblocking = nonblocking || f.Flags&unix.O_NONBLOCK != 0
	got, ne := k.Net.Recv(netEnv{k}, id, n, unix.MSG_DONTWAIT*kernel.Bit(nonblocking))
	if ne == errno.EAGAIN {
		timeout, _ := k.Net.Timeouts(id)
		return nil, notReady(k, t, f, 0, nonblocking, timeout)
	}
	saw(k, t, f)
	if ne != errno.OK {
		return nil, failure(ne)
	}
	dropFiles(k, got.Files, false)
	t.Call.Mix(got.Data)
	return got.Data, 0
}

// section is the part of an iovec list from byte skip on.
func section(v []Iovec, skip int64) []Iovec {
	for i, s := range v {
		if uint64(skip) < s.Size {
			return append([]Iovec{{Addr: s.Addr + uint64(skip), Size: s.Size - uint64(skip)}}, v[i+1:]...)
		}
		skip -= int64(s.Size)
	}
	return nil
}

// message is one send or receive: the iovec list, and what goes beside the bytes.
type message struct {
	v     []Iovec
	flags int
	to    *net.Addr
	files []*File
	cred  *net.Cred
	// done points to the bytes moved so far, which survive from one try of the call to the next.
	done *int64
}

// sendFrom is write and writev on a socket.
func sendFrom(k *Kernel, t *Thread, f *File, v []Iovec, flags int) Result {
	return send(k, t, f, message{v: v, flags: flags, done: &t.Call.Done})
}

func send(k *Kernel, t *Thread, f *File, m message) Result {
	id := net.SockID(f.Obj)
	stream := k.Net.Kind(id).Type == net.SOCK_STREAM
	size := int64(kernel.TotalBytes(m.v))
	args := net.SendArgs{Flags: m.flags, To: m.to}
	p := k.Proc(t)
	args.Cred = net.Cred{PID: int32(p.PID), UID: int32(p.Cred.UID), GID: int32(p.Cred.GID)}
	if m.cred != nil {
		args.Cred = *m.cred
	}
	for {
		want := max(size-*m.done, 0) // another thread may have made the list shorter while the call waited
		if stream {
			want = min(want, sendPieceBytes)
		}
		data, e := collect(k, t, section(m.v, *m.done), int(want))
		if e != 0 {
			if *m.done > 0 {
				return Result(*m.done)
			}
			return fail(e)
		}
		args.Data, args.Files = data, nil
		if *m.done == 0 {
			for _, file := range m.files {
				args.Files = append(args.Files, file.ID)
			}
		}
		n, ne := k.Net.Send(netEnv{k}, id, args)
		switch {
		case ne == errno.EAGAIN:
			_, timeout := k.Net.Timeouts(id)
			return notReady(k, t, f, *m.done, f.Flags&unix.O_NONBLOCK != 0 || m.flags&unix.MSG_DONTWAIT != 0, timeout)
		case ne != errno.OK:
			saw(k, t, f)
			if *m.done > 0 {
				return Result(*m.done)
			}
			if ne == errno.EPIPE && stream && m.flags&unix.MSG_NOSIGNAL == 0 {
				k.SignalThread(t, kernel.Signal{Number: int(unix.SIGPIPE)})
			}
			return failure(ne)
		}
		if *m.done == 0 {
			for _, file := range m.files {
				file.Refs++
			}
		}
		t.Call.Mix(data[:n])
		if k.Watched != nil || k.Acted != nil || k.Nodes[t.Node].AwaitsReady {
			sent(k, t, id, data[:n])
		}
		*m.done += int64(n)
		if !stream || *m.done >= size {
			if t.Call.Again { // else it is as it would have been without any fault
				saw(k, t, f)
			}
			return Result(*m.done)
		}
	}
}

// sent notes in a call that it has sent the first bytes of an answer, or that much is on its way.
func sent(k *Kernel, t *Thread, id net.SockID, data []byte) {
	if to, ok := k.Net.Answered(id, len(data)); ok {
		t.Call.Client = int(to) + 1
		if k.Nodes[t.Node].AwaitsReady {
			k.Moments.Answers(t.Node, kernel.NodeID(to))
		}
		if k.Acted != nil {
			t.Call.Said = strconv.Itoa(k.Net.Service(id)) + " " + moments.Head(data)
		}
	}
	if to, ok := k.Net.Transfers(id); ok {
		t.Call.Bulk = int(to) + 1
	}
}

// collect reads memory without making it part of the event yet: the network may take fewer bytes.
func collect(k *Kernel, t *Thread, v []Iovec, limit int) ([]byte, unix.Errno) {
	b := make([]byte, limit)
	n := 0
	for _, s := range v {
		want := int(min(s.Size, uint64(limit-n)))
		got := k.M.Read(t.ID, s.Addr, b[n:n+want])
		if n += got; got < want {
			return nil, unix.EFAULT
		}
	}
	return b[:n], 0
}

// recvInto is read and readv on a socket.
func recvInto(k *Kernel, t *Thread, f *File, v []Iovec, flags int) Result {
	if kernel.TotalBytes(v) == 0 {
		return 0
	}
	got, r := receive(k, t, f, message{v: v, flags: flags, done: &t.Call.Done})
	if r >= 0 {
		dropFiles(k, got.Files, false)
	}
	return r
}

// receive reads into memory. The rest of what came is in the first result, which is that of the last read.
func receive(k *Kernel, t *Thread, f *File, m message) (net.Received, Result) {
	id := net.SockID(f.Obj)
	kind := k.Net.Kind(id)
	stream := kind.Type == net.SOCK_STREAM
	peek := m.flags&unix.MSG_PEEK != 0
	size := int64(kernel.TotalBytes(m.v))
	nonblocking := f.Flags&unix.O_NONBLOCK != 0 || m.flags&unix.MSG_DONTWAIT != 0
	target := int64(1)
	if stream {
		target = max(min(int64(k.Net.RcvLowat(id)), size), 1)
		if m.flags&unix.MSG_WAITALL != 0 && !peek {
			target = size
		}
	}
	for {
		got, ne := k.Net.Recv(netEnv{k}, id, int(max(size-*m.done, 0)), m.flags|unix.MSG_DONTWAIT*kernel.Bit(nonblocking))
		switch {
		case ne == errno.EAGAIN:
			timeout, _ := k.Net.Timeouts(id)
			if m.flags&unix.MSG_ERRQUEUE != 0 {
				return got, fail(unix.EAGAIN)
			}
			return got, notReady(k, t, f, *m.done, nonblocking, timeout)
		case ne != errno.OK:
			saw(k, t, f)
			if *m.done > 0 {
				return got, Result(*m.done)
			}
			return got, failure(ne)
		}
		discard := stream && kind.Family != net.AF_UNIX && m.flags&unix.MSG_TRUNC != 0 // tcp(7): thrown away
		if !discard && !k.Scatter(t, section(m.v, *m.done), got.Data) {
			dropFiles(k, got.Files, peek)
			return got, fail(unix.EFAULT)
		}
		*m.done += int64(len(got.Data))
		if !stream {
			saw(k, t, f)
			if m.flags&unix.MSG_TRUNC != 0 {
				return got, Result(got.Full)
			}
			return got, Result(*m.done)
		}
		if len(got.Data) == 0 || *m.done >= target || peek || len(got.Files) > 0 {
			saw(k, t, f)
			return got, Result(*m.done)
		}
	}
}

// dropFiles gives up references that no descriptor was made for.
func dropFiles(k *Kernel, ids []int64, peek bool) {
	if peek {
		return
	}
	for _, id := range ids {
		if f := k.Files[id]; f != nil {
			k.Unref(f)
		}
	}
}

func sysSendto(k *Kernel, t *Thread, f *File, _ net.SockID) Result {
	args := &t.Call.Args
	flags, addr, size := args[3].Int(), args[4].Pointer(), args[5].Uint64()
	m := message{v: memoryOf(t), flags: flags, done: &t.Call.Done}
	if addr != 0 {
		var e unix.Errno
		if m.to, e = destination(k, t, f, addr, size); e != 0 {
			return fail(e)
		}
	}
	return send(k, t, f, m)
}

// destination reads the address that a message goes to; nil where the socket's own peer is meant.
func destination(k *Kernel, t *Thread, f *File, addr, size uint64) (*net.Addr, unix.Errno) {
	if size == 0 {
		return nil, 0
	}
	a, e := sockaddr(k, t, addr, size)
	if e != 0 {
		return nil, e
	}
	kind := k.Net.Kind(net.SockID(f.Obj))
	switch {
	case kind.Type == net.SOCK_STREAM && kind.Family != net.AF_UNIX, kind.Type == net.SOCK_SEQPACKET:
		return nil, 0 // ignored
	case kind.Type == net.SOCK_STREAM:
		return &a, 0 // refused without a look at it
	}
	t.Call.Detail = a.String()
	if e := resolveUnix(k, t, &a); e != 0 {
		return nil, e
	}
	return &a, 0
}

func sysRecvfrom(k *Kernel, t *Thread, f *File, _ net.SockID) Result {
	args := &t.Call.Args
	flags, addr, sizeAddr := args[3].Int(), args[4].Pointer(), args[5].Pointer()
	m := message{v: memoryOf(t), flags: flags, done: &t.Call.Done}
	got, r := receive(k, t, f, m)
	if r < 0 {
		return r
	}
	dropFiles(k, got.Files, m.flags&unix.MSG_PEEK != 0)
	if addr != 0 {
		if e := outSockaddr(k, t, got.From, addr, sizeAddr); e != 0 {
			return fail(e)
		}
	}
	return r
}

// msghdr is struct msghdr (recvmsg(2)).
type msghdr struct {
	name, nameSize      uint64
	iov, iovCount       uint64
	control, controlMax uint64
}

const msghdrBytes = 56

func readMsghdr(k *Kernel, t *Thread, at uint64) (h msghdr, v []Iovec, e unix.Errno) {
	var b [msghdrBytes]byte
	if !k.Peek(t, at, b[:]) {
		return h, nil, unix.EFAULT
	}
	u64 := func(i int) uint64 { return binary.LittleEndian.Uint64(b[i:]) }
	h = msghdr{name: u64(0), nameSize: uint64(binary.LittleEndian.Uint32(b[8:])), iov: u64(16), iovCount: u64(24), control: u64(32), controlMax: u64(40)}
	if int32(h.nameSize) < 0 {
		return h, nil, unix.EINVAL
	}
	h.nameSize = min(h.nameSize, 128)
	if h.iovCount > 1024 {
		return h, nil, unix.EMSGSIZE
	}
	v, e = iovecs(k, t, h.iov, h.iovCount)
	return h, v, e
}

// Headers and types of control messages (cmsg(3), unix(7)).
const (
	cmsgHeader     = 16
	scmRights      = 1
	scmCredentials = 2
)

func cmsgAlign(n int) int { return (n + 7) &^ 7 }

// control reads the files and credentials that a program passes.
func control(k *Kernel, t *Thread, h msghdr, m *message) unix.Errno {
	if h.controlMax == 0 {
		return 0
	}
	if h.controlMax > maxControlBytes {
		return unix.ENOBUFS
	}
	b := make([]byte, h.controlMax)
	if !k.Peek(t, h.control, b) {
		return unix.EFAULT
	}
	for len(b) >= cmsgHeader {
		size := binary.LittleEndian.Uint64(b)
		if size < cmsgHeader || size > uint64(len(b)) {
			return unix.EINVAL
		}
		level, typ := binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[12:])
		data := b[cmsgHeader:size]
		switch {
		case level != unix.SOL_SOCKET:
			// IP_PKTINFO and the like: the source address is chosen by the route here
		case typ == scmRights:
			for ; len(data) >= 4; data = data[4:] {
				f := k.File(t, int(int32(binary.LittleEndian.Uint32(data))))
				if f == nil {
					return unix.EBADF
				}
				m.files = append(m.files, f)
			}
		case typ == scmCredentials:
			if len(data) < 12 {
				return unix.EINVAL
			}
			c := net.Cred{PID: int32(binary.LittleEndian.Uint32(data)), UID: int32(binary.LittleEndian.Uint32(data[4:])),
				GID: int32(binary.LittleEndian.Uint32(data[8:]))}
			p := k.Proc(t)
			if p.Cred.EUID != 0 && (int(c.PID) != p.PID || int(c.UID) != p.Cred.UID && int(c.UID) != p.Cred.EUID && int(c.UID) != p.Cred.SUID) {
				return unix.EPERM
			}
			m.cred = &c
		default:
			return unix.EINVAL
		}
		b = b[min(cmsgAlign(int(size)), len(b)):]
	}
	return 0
}

func sysSendmsg(k *Kernel, t *Thread, f *File, _ net.SockID) Result {
	addr, flags := t.Call.Args[1].Pointer(), t.Call.Args[2].Int()
	return sendmsg(k, t, f, addr, flags, &t.Call.Done)
}

func sendmsg(k *Kernel, t *Thread, f *File, at uint64, flags int, done *int64) Result {
	h, v, e := readMsghdr(k, t, at)
	if e != 0 {
		return fail(e)
	}
	m := message{v: v, flags: flags, done: done}
	if h.name != 0 {
		if m.to, e = destination(k, t, f, h.name, h.nameSize); e != 0 {
			return fail(e)
		}
	}
	if e := control(k, t, h, &m); e != 0 {
		return fail(e)
	}
	if k.Net.Kind(net.SockID(f.Obj)).Family != net.AF_UNIX {
		m.files = nil
	}
	return send(k, t, f, m)
}

func sysRecvmsg(k *Kernel, t *Thread, f *File, _ net.SockID) Result {
	addr, flags := t.Call.Args[1].Pointer(), t.Call.Args[2].Int()
	return recvmsg(k, t, f, addr, flags, &t.Call.Done)
}

func recvmsg(k *Kernel, t *Thread, f *File, at uint64, flags int, done *int64) Result {
	h, v, e := readMsghdr(k, t, at)
	if e != 0 {
		return fail(e)
	}
	got, r := receive(k, t, f, message{v: v, flags: flags, done: done})
	if r < 0 {
		return r
	}
	if h.name != 0 {
		var b []byte
		if got.From.Family != net.AF_UNSPEC {
			b = net.AppendSockaddr(nil, got.From)
		}
		if !k.Outs(t, machine.Part{Addr: h.name, Data: b[:min(len(b), int(h.nameSize))]}, machine.Part{Addr: at + 8, Data: le32(uint32(len(b)))}) {
			dropFiles(k, got.Files, flags&unix.MSG_PEEK != 0)
			return fail(unix.EFAULT)
		}
	}
	control, cut := controlOut(k, t, f, h, got, flags)
	out := uint32(got.Flags)
	if cut {
		out |= unix.MSG_CTRUNC
	}
	if flags&unix.MSG_CMSG_CLOEXEC != 0 {
		out |= unix.MSG_CMSG_CLOEXEC
	}
	if !k.Outs(t, machine.Part{Addr: h.control, Data: control}, machine.Part{Addr: at + 40, Data: le64(uint64(len(control)))},
		machine.Part{Addr: at + 48, Data: le32(out)}) {
		return fail(unix.EFAULT)
	}
	return r
}

// controlOut makes the control messages that a program receives; cut says that some did not fit.
func controlOut(k *Kernel, t *Thread, f *File, h msghdr, got net.Received, flags int) (b []byte, cut bool) {
	id := net.SockID(f.Obj)
	room := int(min(h.controlMax, maxControlBytes))
	add := func(level, typ uint32, data []byte) {
		space := cmsgAlign(len(b))
		if space+cmsgHeader+len(data) > room {
			cut = true
			return
		}
		b = append(b, make([]byte, space-len(b))...)
		b = binary.LittleEndian.AppendUint64(b, uint64(cmsgHeader+len(data)))
		b = binary.LittleEndian.AppendUint32(b, level)
		b = binary.LittleEndian.AppendUint32(b, typ)
		b = append(b, data...)
	}
	on := func(level, name int) bool {
		v, e := k.Net.GetOption(id, level, name, 4)
		return e == errno.OK && len(v) == 4 && binary.LittleEndian.Uint32(v) != 0
	}
	kind := k.Net.Kind(id)
	if kind.Family == net.AF_UNIX {
		if on(net.SOL_SOCKET, net.SO_PASSCRED) {
			c := got.Cred
			var d []byte
			for _, x := range []int32{c.PID, c.UID, c.GID} {
				d = binary.LittleEndian.AppendUint32(d, uint32(x))
			}
			add(unix.SOL_SOCKET, scmCredentials, d)
		}
		if len(got.Files) > 0 {
			fds, short := installFiles(k, t, got.Files, (room-cmsgAlign(len(b))-cmsgHeader)/4, flags)
			cut = cut || short
			if len(fds) > 0 {
				add(unix.SOL_SOCKET, scmRights, fds)
			}
		}
	} else if kind.Type == net.SOCK_DGRAM {
		datagramControl(k, t, kind.Family, got, on, add)
	}
	if len(b) > 0 && cmsgAlign(len(b)) <= room {
		b = append(b, make([]byte, cmsgAlign(len(b))-len(b))...)
	}
	return b, cut
}

// datagramControl adds what a UDP socket asked to get with each datagram.
func datagramControl(k *Kernel, t *Thread, family int, got net.Received, on func(level, name int) bool, add func(level, typ uint32, data []byte)) {
	if on(net.SOL_SOCKET, net.SO_TIMESTAMPNS) {
		add(unix.SOL_SOCKET, net.SO_TIMESTAMPNS, timespecBytes(got.TimeNs))
	} else if on(net.SOL_SOCKET, net.SO_TIMESTAMP) {
		add(unix.SOL_SOCKET, net.SO_TIMESTAMP, timevalBytes(got.TimeNs))
	}
	index := uint32(k.Net.InterfaceOf(k.Node(t).Net, got.To))
	if got.To.Is4() && on(net.SOL_IP, net.IP_PKTINFO) {
		d := binary.LittleEndian.AppendUint32(nil, index)
		add(net.SOL_IP, net.IP_PKTINFO, append(append(d, got.To[12:]...), got.To[12:]...))
	}
	hops := binary.LittleEndian.AppendUint32(nil, defaultHops)
	if got.To.Is4() && on(net.SOL_IP, net.IP_RECVTTL) {
		add(net.SOL_IP, net.IP_TTL, hops)
	}
	if got.To.Is4() && on(net.SOL_IP, net.IP_RECVTOS) {
		add(net.SOL_IP, net.IP_TOS, []byte{0})
	}
	if family == net.AF_INET6 && on(net.SOL_IPV6, net.IPV6_RECVPKTINFO) {
		add(net.SOL_IPV6, unix.IPV6_PKTINFO, binary.LittleEndian.AppendUint32(append([]byte(nil), got.To[:]...), index))
	}
	if family == net.AF_INET6 && on(net.SOL_IPV6, net.IPV6_RECVHOPLIMIT) {
		add(net.SOL_IPV6, unix.IPV6_HOPLIMIT, hops)
	}
}

const defaultHops = 64 // net.ipv4.ip_default_ttl: nothing on the way takes hops

// installFiles makes descriptors for received files, as many as there is room for; the rest is given up.
func installFiles(k *Kernel, t *Thread, ids []int64, room, flags int) (fds []byte, short bool) {
	peek := flags&unix.MSG_PEEK != 0
	for i, id := range ids {
		f := k.Files[id]
		if i >= room || !k.HasFreeFD(t) {
			dropFiles(k, ids[i:], peek)
			return fds, true
		}
		fd := k.Install(t, f, 0, flags&unix.MSG_CMSG_CLOEXEC != 0)
		if !peek {
			f.Refs-- // the message's own reference
		}
		fds = binary.LittleEndian.AppendUint32(fds, uint32(fd))
	}
	return fds, false
}

// mmsghdrBytes is the size of struct mmsghdr: a msghdr, the length and padding.
const mmsghdrBytes = 64

// messages runs one call for each struct mmsghdr. t.Call.Done counts those that are over; t.Call.Aux holds the
// progress of the one at work.
func messages(k *Kernel, t *Thread, one func(f *File, at uint64, flags int, done *int64) Result) Result {
	args := &t.Call.Args
	fd, vecAddr, n, flags := args[0].Int(), args[1].Pointer(), args[2].Uint(), args[3].Int()
	f, _, e := socket(k, t, fd)
	if e != 0 {
		return fail(e)
	}
	count := min(int64(n), maxMessages)
	for t.Call.Done < count {
		use := flags &^ unix.MSG_WAITFORONE
		if flags&unix.MSG_WAITFORONE != 0 && t.Call.Done > 0 {
			use |= unix.MSG_DONTWAIT
		}
		at := vecAddr + uint64(t.Call.Done)*mmsghdrBytes
		r := one(f, at, use, &t.Call.Aux)
		if r == kernel.Pending {
			return r
		}
		if r < 0 {
			if t.Call.Done > 0 {
				return Result(t.Call.Done)
			}
			return r
		}
		if !k.OutU32(t, at+msghdrBytes, uint32(r)) {
			return fail(unix.EFAULT)
		}
		t.Call.Done++
		t.Call.Aux = 0
		if t.Call.End != 0 && k.Now >= t.Call.End {
			break
		}
	}
	return Result(t.Call.Done)
}

func sysSendmmsg(k *Kernel, t *Thread) Result {
	return messages(k, t, func(f *File, at uint64, flags int, done *int64) Result { return sendmsg(k, t, f, at, flags, done) })
}

// sysRecvmmsg: as on Linux the timeout is looked at only after a message has come (recvmmsg(2), BUGS).
func sysRecvmmsg(k *Kernel, t *Thread) Result {
	timeoutAddr := t.Call.Args[4].Pointer()
	one := func(f *File, at uint64, flags int, done *int64) Result { return recvmsg(k, t, f, at, flags, done) }
	if timeoutAddr == 0 {
		return messages(k, t, one)
	}
	if t.Call.End == 0 {
		ns, e := timespec(k, t, timeoutAddr)
		if e != 0 {
			return fail(e)
		}
		t.Call.End = kernel.SatAdd(k.Now, ns)
	}
	r := messages(k, t, one)
	if r > 0 {
		k.Out(t, timeoutAddr, timespecBytes(max(t.Call.End-k.Now, 0)))
	}
	return r
}

// Requests of ioctl(2) on sockets besides those about interfaces: see sockios.h.
const (
	siocINQ     = 0x541b
	siocOUTQ    = 0x5411
	siocATMARK  = 0x8905
	ifreqBytes  = 40
	ifreqFirst  = 0x8910
	ifreqLast   = 0x8970
	ifconfBytes = 16
)

func socketIoctl(k *Kernel, t *Thread, f *File, cmd uint, arg uint64) Result {
	id := net.SockID(f.Obj)
	number := -1
	switch cmd {
	case siocINQ:
		number = k.Net.Readable(id)
	case siocOUTQ:
		number = k.Net.Unsent(id)
	case siocATMARK:
		number = kernel.Bit(k.Net.AtMark(id))
	case net.SIOCGIFCONF:
		return interfaceConf(k, t, arg)
	}
	if number >= 0 {
		return stored(k.OutU32(t, arg, uint32(number)))
	}
	if cmd >= ifreqFirst && cmd <= ifreqLast {
		var b [ifreqBytes]byte
		if !k.Peek(t, arg, b[:]) {
			return fail(unix.EFAULT)
		}
		t.Call.Mix(net.InterfaceQuestion(uint32(cmd), b[:]))
		e := k.Net.InterfaceRequest(k.Node(t).Net, uint32(cmd), b[:])
		if e == errno.OK {
			t.Call.Mix(net.InterfaceAnswer(uint32(cmd), b[:]))
			if !k.Poke(t, arg, b[:]) {
				e = errno.EFAULT
			}
		}
		if e != errno.ENOTTY {
			return failure(e)
		}
	}
	return k.Refuse(t, "ioctl(0x"+hex(uint64(cmd))+")", unix.ENOTTY)
}

// interfaceConf is SIOCGIFCONF: a struct ifconf with a length and a pointer, which may be null to ask for the length.
func interfaceConf(k *Kernel, t *Thread, arg uint64) Result {
	var b [ifconfBytes]byte
	if !k.Peek(t, arg, b[:]) {
		return fail(unix.EFAULT)
	}
	room, at := int(int32(binary.LittleEndian.Uint32(b[:]))), binary.LittleEndian.Uint64(b[8:])
	list := k.Net.InterfaceConf(k.Node(t).Net)
	if at != 0 {
		list = list[:min(len(list), max(room, 0)/ifreqBytes*ifreqBytes)]
		if !k.Out(t, at, list) {
			return fail(unix.EFAULT)
		}
	}
	return stored(k.OutU32(t, arg, uint32(len(list))))
}
