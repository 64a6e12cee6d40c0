package net

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

var update = flag.Bool("update", false, "rewrite the golden output of testdata/*.txt")

// scripted is an Env and the names that scripts give to sockets and nodes.
type scripted struct {
	capture   func(*Sighting)
	s         *State
	now       int64
	src       *tape.Source
	socks     map[string]SockID
	names     map[SockID]string
	nodes     map[string]NodeID
	wakes     []string
	led       map[string]int
	files     []int64
	unreached []string
}

func newWorld(seed uint64) *scripted {
	return &scripted{s: New(Config{}), src: tape.NewSource(tape.Tape{Seed: seed}), socks: map[string]SockID{}, names: map[SockID]string{},
		nodes: map[string]NodeID{}, led: map[string]int{}}
}

func (w *scripted) Now() int64 { return w.now }
func (w *scripted) Rare(stream string, n, ratePPM uint64) uint64 {
	return w.src.Rare(stream, n, ratePPM)
}
func (w *scripted) Delivered(r FaultRef)           { w.led["delivered "+string(r.Kind)]++ }
func (w *scripted) Observed(r FaultRef)            { w.led["observed "+string(r.Kind)]++ }
func (w *scripted) Unreached(_ NodeID, l AddrPort) { w.unreached = append(w.unreached, l.String()) }
func (w *scripted) Capture() func(*Sighting)       { return w.capture }
func (w *scripted) DropFiles(refs []int64)         { w.files = append(w.files, refs...) }
func (w *scripted) Wake(sock SockID, events uint32) {
	name := w.names[sock]
	if name == "" {
		name = "#" + strconv.Itoa(int(sock))
	}
	w.wakes = append(w.wakes, name+":"+eventNames(events))
}

// showWakes folds repeated wake-ups.
func (w *scripted) showWakes() string {
	var out []string
	for i := 0; i < len(w.wakes); {
		j := i
		for j < len(w.wakes) && w.wakes[j] == w.wakes[i] {
			j++
		}
		one := w.wakes[i]
		if j-i > 1 {
			one += "*" + strconv.Itoa(j-i)
		}
		out = append(out, one)
		i = j
	}
	return strings.Join(out, " ")
}

func eventNames(mask uint32) string {
	var out []string
	for _, e := range []struct {
		bit  uint32
		name string
	}{{POLLIN, "in"}, {POLLOUT, "out"}, {POLLPRI, "pri"}, {POLLERR, "err"}, {POLLHUP, "hup"}, {POLLRDHUP, "rdhup"}, {POLLNVAL, "nval"}} {
		if mask&e.bit != 0 {
			out = append(out, e.name)
		}
	}
	if len(out) == 0 {
		return "-"
	}
	return strings.Join(out, "+")
}

// advance moves time forward by d, event by event.
func (w *scripted) advance(d int64) {
	end := w.now + d
	for {
		at, ok := w.s.NextDue()
		if !ok || at > end {
			break
		}
		w.now = max(at, w.now)
		w.s.Advance(w)
	}
	w.now = end
}

// roundTrip replaces the state by a decoded copy of itself.
func (w *scripted) roundTrip() {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(w.s); err != nil {
		panic(err)
	}
	s := new(State)
	if err := gob.NewDecoder(&b).Decode(s); err != nil {
		panic(err)
	}
	w.s = s
}

func duration(text string) int64 {
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(err)
	}
	return int64(d)
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

func (w *scripted) address(sock, text string) Addr {
	sk := w.s.Socks[w.socks[sock]]
	switch {
	case text == "unspec":
		return Addr{}
	case sk.Family == AF_UNIX:
		if name, ok := strings.CutPrefix(text, "@"); ok {
			return Addr{Family: AF_UNIX, Path: "\x00" + name}
		}
		if text == "auto" {
			return Addr{Family: AF_UNIX}
		}
		path, inode, _ := strings.Cut(text, "#")
		return Addr{Family: AF_UNIX, Path: path, Inode: int64(number(inode))}
	}
	i := strings.LastIndexByte(text, ':')
	ip, ok := parseIP(strings.Trim(text[:i], "[]"))
	if !ok {
		panic("bad address " + text)
	}
	return Addr{Family: sk.Family, IP: ip, Port: uint16(number(text[i+1:]))}
}

func (w *scripted) name(name string, id SockID) {
	w.socks[name] = id
	w.names[id] = name
}

var kinds = map[string]Kind{
	"tcp": {AF_INET, SOCK_STREAM, 0}, "tcp6": {AF_INET6, SOCK_STREAM, 0}, "udp": {AF_INET, SOCK_DGRAM, 0}, "udp6": {AF_INET6, SOCK_DGRAM, 0},
	"stream": {AF_UNIX, SOCK_STREAM, 0}, "dgram": {AF_UNIX, SOCK_DGRAM, 0}, "seq": {AF_UNIX, SOCK_SEQPACKET, 0},
}

var optionNames = map[string][2]int{
	"reuseaddr": {SOL_SOCKET, SO_REUSEADDR}, "reuseport": {SOL_SOCKET, SO_REUSEPORT}, "keepalive": {SOL_SOCKET, SO_KEEPALIVE},
	"sndbuf": {SOL_SOCKET, SO_SNDBUF}, "rcvbuf": {SOL_SOCKET, SO_RCVBUF}, "error": {SOL_SOCKET, SO_ERROR}, "type": {SOL_SOCKET, SO_TYPE},
	"domain": {SOL_SOCKET, SO_DOMAIN}, "protocol": {SOL_SOCKET, SO_PROTOCOL}, "acceptconn": {SOL_SOCKET, SO_ACCEPTCONN},
	"keepidle": {SOL_TCP, TCP_KEEPIDLE}, "keepintvl": {SOL_TCP, TCP_KEEPINTVL}, "keepcnt": {SOL_TCP, TCP_KEEPCNT},
	"user_timeout": {SOL_TCP, TCP_USER_TIMEOUT}, "nodelay": {SOL_TCP, TCP_NODELAY}, "v6only": {SOL_IPV6, IPV6_V6ONLY},
	"broadcast": {SOL_SOCKET, SO_BROADCAST}, "rcvlowat": {SOL_SOCKET, SO_RCVLOWAT}, "defer": {SOL_TCP, TCP_DEFER_ACCEPT},
	"tos": {SOL_IP, IP_TOS}, "bogus": {SOL_SOCKET, 9999}, "syncnt": {SOL_TCP, TCP_SYNCNT}, "passcred": {SOL_SOCKET, SO_PASSCRED},
	"peercred": {SOL_SOCKET, SO_PEERCRED},
}

// do runs one command of a script and returns its output.
func (w *scripted) do(line string) string {
	f := strings.Fields(line)
	arg := func(i int) string {
		if i < len(f) {
			return f[i]
		}
		return ""
	}
	sock := w.socks[arg(1)]
	cred := Cred{PID: 100, UID: 1000, GID: 1000}
	switch f[0] {
	case "node":
		w.nodes[f[1]] = w.s.AddNode(NodeConfig{Name: f[1], IPv4: f[2], IPv6: arg(3), Hostnames: []string{f[1] + ".test"}})
	case "link":
		l := Link{LatencyNs: duration(f[3])}
		if arg(4) != "" {
			l.Bandwidth = int64(number(f[4]))
		}
		w.s.SetLink(w.nodes[f[1]], w.nodes[f[2]], l)
		w.s.SetLink(w.nodes[f[2]], w.nodes[f[1]], l)
	case "rates":
		var r Rates
		for _, kv := range f[3:] {
			k, v, _ := strings.Cut(kv, "=")
			switch k {
			case "drop":
				r.DropPPM = uint64(number(v))
			case "duplicate":
				r.DuplicatePPM = uint64(number(v))
			case "corrupt":
				r.CorruptPPM = uint64(number(v))
			case "reorder":
				r.ReorderPPM = uint64(number(v))
			case "delay":
				r.DelayPPM, r.DelayMinNs, r.DelayMaxNs = 1_000_000, duration(v), duration(v)
			}
		}
		w.s.SetRates(w.nodes[f[1]], w.nodes[f[2]], r)
	case "block", "heal":
		w.s.SetBlocked(w.nodes[f[1]], w.nodes[f[2]], f[0] == "block", number(f[3]))
	case "clog":
		w.s.SetClog(w, w.nodes[f[1]], w.nodes[f[2]], number(f[3]))
	case "slow": // slow FROM TO FAULT LATENCY BANDWIDTH
		w.s.SetSlow(w, w.nodes[f[1]], w.nodes[f[2]], Slow{FaultID: number(f[3]), LatencyNs: duration(f[4]), Bandwidth: int64(number(f[5]))})
	case "reset": // reset FROM TO FAULT
		return strconv.Itoa(w.s.Reset(w, w.nodes[f[1]], w.nodes[f[2]], FaultRef{Kind: fault.Reset, ID: number(f[3])}))
	case "down":
		w.s.NodeDown(w, w.nodes[f[1]], FaultRef{Kind: fault.Crash, ID: 9})
	case "up":
		w.s.NodeUp(w.nodes[f[1]])
	case "socket":
		k := kinds[f[3]]
		id, e := w.s.Socket(w.nodes[f[2]], k)
		if e != errno.OK {
			return e.Error()
		}
		w.name(f[1], id)
	case "pair":
		k := kinds[f[4]]
		a, b, e := w.s.Socketpair(w.nodes[f[3]], k, cred)
		if e != errno.OK {
			return e.Error()
		}
		w.name(f[1], a)
		w.name(f[2], b)
	case "bind":
		return w.s.Bind(w, sock, w.address(f[1], f[2]), Cred{}).Error()
	case "listen":
		return w.s.Listen(w, sock, number(f[2]), cred).Error()
	case "connect":
		return w.s.Connect(w, sock, w.address(f[1], f[2]), Cred{PID: 200, UID: 0, GID: 0}).Error()
	case "result":
		return w.s.ConnectResult(sock).Error()
	case "accept":
		id, from, e := w.s.Accept(w, sock, 0)
		if e != errno.OK {
			return e.Error()
		}
		w.name(f[2], id)
		return "from " + from.String()
	case "send":
		a := SendArgs{Data: []byte(f[2]), Cred: cred}
		if size, ok := strings.CutPrefix(f[2], "size="); ok {
			a.Data = bytes.Repeat([]byte{'x'}, number(size))
		}
		for _, x := range f[3:] {
			if text, ok := strings.CutPrefix(x, "files="); ok {
				a.Files = []int64{int64(number(text))}
			} else {
				to := w.address(f[1], x)
				a.To = &to
			}
		}
		n, e := w.s.Send(w, sock, a)
		if e != errno.OK {
			return e.Error()
		}
		return strconv.Itoa(n)
	case "recv":
		flags := 0
		if arg(3) == "peek" {
			flags = MSG_PEEK
		}
		r, e := w.s.Recv(w, sock, number(f[2]), flags)
		if e != errno.OK {
			return e.Error()
		}
		return showReceived(r)
	case "shutdown":
		return w.s.Shutdown(w, sock, map[string]int{"rd": SHUT_RD, "wr": SHUT_WR, "rdwr": SHUT_RDWR}[f[2]]).Error()
	case "close":
		w.s.Close(w, sock)
	case "kill":
		w.s.CloseFor(w, sock, FaultRef{Kind: fault.Crash, ID: 7})
	case "poll":
		return eventNames(w.s.Poll(sock))
	case "name":
		a, _ := w.s.Getsockname(sock)
		return a.String()
	case "peer":
		a, e := w.s.Getpeername(sock)
		if e != errno.OK {
			return e.Error()
		}
		return a.String()
	case "set":
		if f[2] == "linger" {
			return w.s.SetOption(w, sock, SOL_SOCKET, SO_LINGER, int32Bytes(1, number(f[3]))).Error()
		}
		if f[2] == "group" {
			ip, _ := parseIP(f[3])
			return w.s.SetOption(w, sock, SOL_IP, IP_ADD_MEMBERSHIP, append(append([]byte{}, ip[12:]...), 0, 0, 0, 0)).Error()
		}
		o := optionNames[f[2]]
		return w.s.SetOption(w, sock, o[0], o[1], int32Bytes(number(f[3]))).Error()
	case "get":
		o := optionNames[f[2]]
		b, e := w.s.GetOption(sock, o[0], o[1], 100)
		if e != errno.OK {
			return e.Error()
		}
		v := int32(binary.LittleEndian.Uint32(b))
		if f[2] == "error" {
			return errno.Errno(v).Error()
		}
		return strconv.Itoa(int(v))
	case "watch":
		w.s.Watch()
	case "seen": // what was seen since the last time
		text := w.s.Seen.text(w.s)
		w.s.Watch()
		return text
	case "readable":
		return strconv.Itoa(w.s.Readable(sock))
	case "unsent":
		return strconv.Itoa(w.s.Unsent(sock))
	case "advance":
		w.advance(duration(f[1]))
	case "wait": // wait SOCK EVENTS LIMIT
		start, limit := w.now, w.now+duration(f[3])
		want := map[string]uint32{"in": POLLIN, "out": POLLOUT, "err": POLLERR, "hup": POLLHUP, "rdhup": POLLRDHUP}[f[2]]
		for w.s.Poll(sock)&want == 0 {
			at, ok := w.s.NextDue()
			if !ok || at > limit {
				w.now = limit
				return "timeout after " + time.Duration(w.now-start).String()
			}
			w.now = max(at, w.now)
			w.s.Advance(w)
		}
		return eventNames(w.s.Poll(sock)) + " after " + time.Duration(w.now-start).String()
	case "lingering": // lingering SOCK
		return time.Duration(w.s.Lingering(sock)).String()
	case "overdue": // overdue SOCK AGO
		var out []string
		for _, r := range w.s.Overdue(w, sock, w.now-duration(f[2])) {
			out = append(out, fmt.Sprintf("%s#%d:%s", r.Kind, r.ID, eventNames(r.Events)))
		}
		return "[" + strings.Join(out, " ") + "]"
	case "ledger":
		var out []string
		for _, k := range []world.FaultKind{fault.Drop, fault.Corrupt, fault.Delay, fault.Duplicate, fault.Reorder} {
			for _, what := range []string{"delivered ", "observed "} {
				if n := w.led[what+string(k)]; n > 0 {
					out = append(out, fmt.Sprintf("%s%s %d", what, k, n))
				}
			}
		}
		return strings.Join(out, ", ")
	case "unreached": // since the last time
		out := strings.Join(w.unreached, " ")
		w.unreached = nil
		return out
	case "dropped":
		return fmt.Sprint(w.files)
	case "hosts":
		return strings.TrimSuffix(w.s.HostsFile(w.nodes[f[1]]), "\n")
	case "sockets":
		return fmt.Sprintf("%d sockets, %d bytes", len(w.s.Socks), w.s.Bytes)
	case "repeat": // repeat N command...
		out := ""
		for range number(f[1]) {
			out = w.do(strings.Join(f[2:], " "))
		}
		return out
	case "fill": // send single pieces of SIZE until it does not fit
		n := 0
		for {
			if out := w.do("send " + f[1] + " size=" + f[2]); out != f[2] {
				return fmt.Sprintf("%d times, then %s", n, out)
			}
			n++
		}
	default:
		panic("unknown command " + line)
	}
	return ""
}

func showReceived(r Received) string {
	text := string(r.Data)
	if len(r.Data) > 40 {
		text = fmt.Sprintf("<%d bytes>", len(r.Data))
	}
	out := strconv.Quote(text)
	if r.From.Family != 0 {
		out += " from " + r.From.String()
	}
	if r.Flags&MSG_TRUNC != 0 {
		out += fmt.Sprintf(" trunc of %d", r.Full)
	}
	if len(r.Files) > 0 {
		out += fmt.Sprintf(" files %v", r.Files)
	}
	return out
}

// TestScripts runs testdata/*.txt: lines that begin with "> " are commands, what follows is their output. "> ---"
// starts a new world. After every command the invariants hold and the state survives encoding/gob.
func TestScripts(t *testing.T) {
	paths, _ := filepath.Glob("testdata/*.txt")
	if len(paths) == 0 {
		t.Fatal("no scripts")
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			w := newWorld(1)
			for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
				command, ok := strings.CutPrefix(line, "> ")
				if !ok {
					if line == "" || line[0] == '#' {
						out.WriteString(line + "\n")
					}
					continue
				}
				out.WriteString(line + "\n")
				if command == "---" {
					w = newWorld(1)
					continue
				}
				w.wakes = nil
				result := w.do(command)
				if err := w.s.Check(); err != nil {
					t.Fatalf("%s:%d: %s: %v", path, i+1, command, err)
				}
				w.roundTrip()
				if f := strings.Fields(command)[0]; f == "advance" || f == "send" || f == "close" || f == "kill" ||
					f == "shutdown" || f == "recv" || f == "connect" {
					result += " [" + w.showWakes() + "]"
				}
				if result = strings.TrimSpace(strings.TrimSuffix(result, "[]")); result != "" {
					out.WriteString("  " + strings.ReplaceAll(result, "\n", "\n  ") + "\n")
				}
			}
			if *update {
				if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if out.String() != string(text) {
				t.Fatalf("%s differs; got:\n%s", path, firstDifference(out.String(), string(text)))
			}
		})
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			from := max(i-4, 0)
			return strings.Join(g[from:min(i+3, len(g))], "\n") + "\nwant:\n" + strings.Join(w[min(from, len(w)):min(i+3, len(w))], "\n")
		}
	}
	return "want is longer"
}
