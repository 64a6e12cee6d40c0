package daemon

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

var le = binary.LittleEndian

// file is an open file that a copy believes to have.
type file struct {
	name, peer string
	kind       kind
	flags      uint64
	listen     bool
	connecting bool   // it cannot be written yet
	family     uint16 // of a socket
	stream     bool   // a socket that keeps no borders of messages
	local      []byte // socket addresses, as calls give them
	remote     []byte

	input    []byte   // what can be read
	messages [][]byte // what can be received, if it is no stream
	end      bool     // nothing comes after input
	clients  []Input  // that connect
	interest map[int]interest
}

type kind uint8

const (
	other kind = iota
	regular
	given // by Give
	socket
	pipe
	epoll
)

// interest is an entry of an epoll file: the events that it waits for.
type interest struct {
	events uint32
	data   uint64
	spent  bool // an edge or a single shot that was reported
}

func (f *file) readable() bool {
	return len(f.input) > 0 || len(f.messages) > 0 || len(f.clients) > 0 || f.end
}

func (f *file) writable() bool { return !f.listen && !f.connecting && f.kind != epoll }

func (f *file) unread() (n int) {
	for _, m := range f.messages {
		n += len(m)
	}
	return n + len(f.input) + len(f.clients)
}

// log reports whether what is written is for people, not for a peer.
func (f *file) log() bool {
	return f.kind == regular || f.kind == other || f.kind == socket && (strings.HasSuffix(f.peer, "/dev/log") || strings.Contains(f.peer, "systemd/journal"))
}

// readFiles reads what a daemon has open, while it stands still.
func readFiles(pid int) (map[int]*file, error) {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	files := map[int]*file{}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			return nil, err
		}
		f := &file{}
		if f.name, err = os.Readlink(dir + "/" + e.Name()); err != nil {
			return nil, err
		}
		info, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", pid, fd))
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(info)) {
			var target int
			var i interest
			if _, err := fmt.Sscanf(line, "tfd: %d events: %x data: %x", &target, &i.events, &i.data); err == nil {
				if f.interest == nil {
					f.interest = map[int]interest{}
				}
				f.interest[target] = i
			}
			fmt.Sscanf(line, "flags: %o", &f.flags)
		}
		switch {
		case strings.HasPrefix(f.name, "socket:"):
			f.kind, f.family, f.stream = socket, unix.AF_UNSPEC, true
		case strings.HasPrefix(f.name, "pipe:"):
			f.kind, f.stream = pipe, true
		case f.name == "anon_inode:[eventpoll]":
			f.kind = epoll
			if f.interest == nil {
				f.interest = map[int]interest{}
			}
		case strings.HasPrefix(f.name, "/") && !strings.HasPrefix(f.name, "/dev/"):
			f.kind = regular
		}
		files[fd] = f
	}
	return files, nil
}

// readSockets reads what the kernel has received for a daemon that stands still and has not read it yet, which stays there; and the names of the peers
// of UNIX sockets, which are in no table.
func readSockets(pid int, files map[int]*file) error {
	handle, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(handle)
	for fd, f := range files {
		if f.kind != socket {
			continue
		}
		own, err := unix.PidfdGetfd(handle, fd, 0)
		if err != nil {
			return fmt.Errorf("file %d of process %d: %w", fd, pid, err)
		}
		err = f.socket(own)
		if err := errors.Join(err, unix.Close(own)); err != nil {
			return fmt.Errorf("file %d of process %d: %w", fd, pid, err)
		}
	}
	return nil
}

// socket reads a socket by a descriptor of this process.
func (f *file) socket(own int) error {
	if a, err := unix.Getpeername(own); err == nil {
		if u, ok := a.(*unix.SockaddrUnix); ok && u.Name != "" {
			f.peer = "unix:" + u.Name
		}
	}
	if how, err := unix.GetsockoptInt(own, unix.SOL_SOCKET, unix.SO_TYPE); err != nil || how != unix.SOCK_STREAM {
		return err
	}
	n, err := unix.IoctlGetInt(own, unix.TIOCINQ)
	if err != nil || n <= 0 { // it listens, or nothing has come; then reading would take an error of the connection from the daemon
		return nil
	}
	f.input = make([]byte, n)
	n, _, err = unix.Recvfrom(own, f.input, unix.MSG_PEEK|unix.MSG_DONTWAIT)
	f.input = f.input[:max(n, 0)]
	return err
}

// resolve finds the addresses of sockets in the tables of the kernel.
func resolve(pid int, files map[int]*file) error {
	byInode := map[string][]*file{}
	for _, f := range files {
		if f.kind == socket {
			inode := strings.TrimSuffix(strings.TrimPrefix(f.name, "socket:["), "]")
			byInode[inode] = append(byInode[inode], f)
		}
	}
	if len(byInode) == 0 {
		return nil
	}
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6", "raw", "raw6", "unix"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if errors.Is(err, fs.ErrNotExist) { // a kernel without this family
			continue
		}
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if table == "unix" {
				if len(fields) < 7 {
					continue
				}
				for _, f := range byInode[fields[6]] {
					f.unix(fields)
				}
			} else if len(fields) > 9 {
				for _, f := range byInode[fields[9]] {
					if err := f.internet(table, fields); err != nil {
						return fmt.Errorf("/proc/%d/net/%s: %w", pid, table, err)
					}
				}
			}
		}
	}
	return nil
}

// unix takes a line of /proc/net/unix: Num RefCount Protocol Flags Type St Inode Path.
func (f *file) unix(fields []string) {
	const accepts = 0x10000 // __SO_ACCEPTCON
	flags, _ := strconv.ParseUint(fields[3], 16, 32)
	f.family, f.listen, f.stream = unix.AF_UNIX, flags&accepts != 0, fields[4] == "0001"
	f.local = []byte{unix.AF_UNIX, 0}
	f.remote = f.local
	f.name = "unix:"
	if len(fields) > 7 {
		f.name += fields[7]
		f.local = append(append([]byte{unix.AF_UNIX, 0}, fields[7]...), 0)
	}
}

// internet takes a line of /proc/net/tcp and its like: number, local and remote address, state.
func (f *file) internet(table string, fields []string) error {
	const established, synSent, closeWait, listens = "01", "02", "08", "0A"
	local, err := address(fields[1])
	if err != nil {
		return err
	}
	remote, err := address(fields[2])
	if err != nil {
		return err
	}
	f.name, f.local, f.remote = local.String(), sockaddr(local), sockaddr(remote)
	f.family = le.Uint16(f.local)
	f.stream = strings.HasPrefix(table, "tcp")
	f.listen = f.stream && fields[3] == listens
	f.connecting = f.stream && fields[3] == synSent
	f.end = f.stream && fields[3] == closeWait
	if fields[3] == established || f.end {
		f.peer = netip.AddrPortFrom(remote.Addr().Unmap(), remote.Port()).String()
	}
	return nil
}

// address reads an address and a port of the kernel's tables, where each four bytes of an address are in the machine's order.
func address(text string) (netip.AddrPort, error) {
	host, port, _ := strings.Cut(text, ":")
	bytes, err := hex.DecodeString(host)
	if err != nil {
		return netip.AddrPort{}, err
	}
	for i := 0; i+4 <= len(bytes); i += 4 {
		bytes[i], bytes[i+1], bytes[i+2], bytes[i+3] = bytes[i+3], bytes[i+2], bytes[i+1], bytes[i]
	}
	a, ok := netip.AddrFromSlice(bytes)
	if !ok {
		return netip.AddrPort{}, fmt.Errorf("%q is not an address", text)
	}
	p, err := strconv.ParseUint(port, 16, 16)
	return netip.AddrPortFrom(a, uint16(p)), err
}

// sockaddr is an address in the form of struct sockaddr_in or sockaddr_in6.
func sockaddr(a netip.AddrPort) []byte {
	if a.Addr().Is4() {
		b := make([]byte, 16)
		le.PutUint16(b, unix.AF_INET)
		binary.BigEndian.PutUint16(b[2:], a.Port())
		copy(b[4:], a.Addr().AsSlice())
		return b
	}
	b := make([]byte, 28)
	le.PutUint16(b, unix.AF_INET6)
	binary.BigEndian.PutUint16(b[2:], a.Port())
	copy(b[8:], a.Addr().AsSlice())
	return b
}

// somebody is the address of a client, of which nothing is known.
func (f *file) somebody() []byte {
	const port = 1024
	switch f.family {
	case unix.AF_INET:
		return sockaddr(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port))
	case unix.AF_INET6:
		return sockaddr(netip.AddrPortFrom(netip.IPv6Loopback(), port))
	}
	return []byte{unix.AF_UNIX, 0}
}

// socketName is a socket address as people write it.
func socketName(b []byte) string {
	if len(b) < 2 {
		return ""
	}
	switch family := le.Uint16(b); {
	case family == unix.AF_INET && len(b) >= 16:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), binary.BigEndian.Uint16(b[2:])).String()
	case family == unix.AF_INET6 && len(b) >= 28:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])), binary.BigEndian.Uint16(b[2:])).String()
	case family == unix.AF_UNIX:
		return "unix:" + strings.TrimRight(string(b[2:]), "\x00")
	default:
		return fmt.Sprintf("family %d", family)
	}
}
