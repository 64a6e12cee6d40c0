package guest

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/listening"
	"github.com/bloodhound-dst/bloodhound/internal/engine/vm/wire"
)

// Bounds of what is reported at once.
const (
	maxLineBytes   = 64 << 10
	maxNoticeBytes = 256 << 10
)

type agent struct {
	bell   *bell
	fabric *fabric
	nodes  []*node
	baseNs int64 // CLOCK_MONOTONIC at virtual time 0

	poll, timer, wake int
	kernelLog         int // /dev/kmsg
	procs             map[int64]*proc
	sources           map[int]*source // by descriptor

	mu      sync.Mutex
	notices []wire.Notice
}

// proc is a program that the engine has started.
type proc struct {
	wire.Start
	pid, pidfd int
	orders     int // the agent's end of its standard input, or -1
	outputs    []*source
}

// source is a descriptor that the agent reads.
type source struct {
	fd     int
	proc   *proc
	stream string
	answer bool // what is read are answers, and not lines
	rest   []byte
}

// Main is process 1. It does not return.
func Main(errs io.Writer) int {
	if os.Getpid() != 1 {
		fmt.Fprintln(errs, "bloodhound driver vm: this is process 1 of a virtual machine of the engine vm, and nothing else")
		return 2
	}
	// A thread that starts a program keeps its place among Go's running threads until the program's file is read, which the FUSE server
	// serves: there must be a place for it. Garbage is collected between turns (tidy): a collection would stop the server and wait for the thread.
	runtime.GOMAXPROCS(2)
	debug.SetGCPercent(-1)
	err := run()
	fmt.Fprintln(errs, "bloodhound:", err)
	unix.Sync()
	unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	return 3
}

func run() error {
	if err := furnish(); err != nil {
		return err
	}
	b, err := newBell()
	if err != nil {
		return err
	}
	a := &agent{bell: b, procs: map[int64]*proc{}, sources: map[int]*source{}}
	a.baseNs = monotonic()
	hello := &wire.Hello{Kernel: release()}
	if err := a.prepareKernel(); err != nil {
		hello.Failed = err.Error()
	}
	return a.loop(hello)
}

// furnish mounts what the agent itself needs.
func furnish() error {
	for _, m := range []struct {
		target, kind, data string
		flags              uintptr
	}{{"/proc", "proc", "", 0}, {"/sys", "sysfs", "", 0}, {"/dev", "devtmpfs", "", 0}, {groupsDir, "cgroup2", "", 0},
		{disksDir, "tmpfs", "mode=755", 0}, {sharedDir, "tmpfs", "mode=755", 0}} {
		if err := mountAt(m.target, m.kind, m.data, m.flags); err != nil && !errors.Is(err, unix.EBUSY) {
			return err
		}
	}
	write("/proc/sys/vm/compact_unevictable_allowed", "0") // pinned pages stay where they are
	write("/proc/sys/kernel/printk_ratelimit", "0")
	write("/proc/sys/vm/overcommit_memory", "1")
	write("/proc/sys/vm/panic_on_oom", "1") // a guest without memory must not pass for a program that ends
	write("/proc/sys/fs/inotify/max_user_instances", "8192")
	write("/proc/sys/net/core/somaxconn", "4096")
	return nil
}

// prepareKernel loads the modules and sets up the kernel for the nodes.
func (a *agent) prepareKernel() error {
	list, err := os.ReadFile(wire.ModulesFile)
	if err != nil {
		return err
	}
	for name := range strings.FieldsSeq(string(list)) {
		f, err := os.Open(wire.ModulesDir + name)
		if err != nil {
			return err
		}
		err = unix.FinitModule(int(f.Fd()), "", 0)
		f.Close()
		if err != nil && err != unix.EEXIST {
			return fmt.Errorf("the kernel cannot load its module %s: %w", name, err)
		}
	}
	if err := mountFuse(a.bell, a.told); err != nil {
		return err
	}
	if err := os.MkdirAll("/dev/net", 0o755); err != nil {
		return err
	}
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		if err := unix.Mknod("/dev/net/tun", unix.S_IFCHR|0o666, int(unix.Mkdev(10, 200))); err != nil {
			return err
		}
	}
	if err := write(groupsDir+"/cgroup.subtree_control", "+memory +pids +cpu"); err != nil {
		return fmt.Errorf("control groups: %w", err)
	}
	if a.poll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	if a.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK); err != nil {
		return err
	}
	if a.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return err
	}
	if a.kernelLog, err = unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0); err != nil {
		return fmt.Errorf("/dev/kmsg: %w", err)
	}
	if _, err := unix.Seek(a.kernelLog, 0, io.SeekEnd); err != nil {
		return fmt.Errorf("/dev/kmsg: %w", err)
	}
	for _, fd := range []int{a.timer, a.wake, a.kernelLog} {
		if err := a.watch(fd); err != nil {
			return err
		}
	}
	return nil
}

func (a *agent) watch(fd int) error {
	return unix.EpollCtl(a.poll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

func release() string {
	var u unix.Utsname
	unix.Uname(&u)
	return unix.ByteSliceToString(u.Release[:])
}

func monotonic() int64 {
	var t unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return t.Nano()
}

func (a *agent) now() int64 { return monotonic() - a.baseNs }

// note adds to what the next turn reports.
func (a *agent) note(n wire.Notice) {
	n.NowNs = a.now()
	a.mu.Lock()
	a.notices = append(a.notices, n)
	a.mu.Unlock()
}

// rouse ends the wait for the next turn.
func (a *agent) rouse() { unix.Write(a.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}) }

// loop takes turns with the engine.
func (a *agent) loop(hello *wire.Hello) error {
	request := &wire.Request{NowNs: a.now(), Hello: hello}
	for {
		var answer wire.Answer
		if err := json.Unmarshal(a.bell.ask(wire.Turn, wire.Encode(request)), &answer); err != nil {
			return fmt.Errorf("the answer of the engine: %w", err)
		}
		tidy()
		request = &wire.Request{}
		for i := range answer.Acts {
			if r := a.act(&answer.Acts[i]); r != nil {
				request.Results = append(request.Results, *r)
			}
		}
		if len(request.Results) == 0 {
			a.wait(answer.DueNs)
		}
		request.Notices = a.takeNotices()
		request.NowNs = a.now()
	}
}

// garbageBytes is how much is allocated between two collections of garbage.
const garbageBytes = 64 << 20

var collected uint64 // of what was allocated

// tidy collects garbage, if there may be much.
func tidy() {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	if all := sample[0].Value.Uint64(); all-collected > garbageBytes {
		collected = all
		runtime.GC()
	}
}

// takeNotices removes and returns the notices to report, as many as fit into one request.
func (a *agent) takeNotices() (taken []wire.Notice) {
	a.mu.Lock()
	defer a.mu.Unlock()
	size := 0
	for i := range a.notices {
		if size += len(a.notices[i].Text) + 200; size > maxNoticeBytes && i > 0 {
			taken, a.notices = a.notices[:i:i], a.notices[i:]
			return taken
		}
	}
	taken, a.notices = a.notices, nil
	return taken
}

// wait waits until something happens, or virtual time is up.
func (a *agent) wait(dueNs int64) {
	const longestNs = 1e9 // the engine hears from the guest at least so often
	dueNs = min(dueNs, a.now()+longestNs)
	at := unix.ItimerSpec{Value: unix.NsecToTimespec(max(a.baseNs+dueNs, 1))}
	unix.TimerfdSettime(a.timer, unix.TFD_TIMER_ABSTIME, &at, nil)
	events := make([]unix.EpollEvent, 64)
	for {
		a.mu.Lock()
		pending := len(a.notices) > 0
		a.mu.Unlock()
		timeout := -1
		if pending {
			timeout = 0
		}
		n, err := unix.EpollWait(a.poll, events, timeout)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			panic("epoll_wait: " + err.Error())
		}
		due := false
		for _, e := range events[:n] {
			due = a.ready(int(e.Fd)) || due
		}
		if due || pending || n == 0 {
			return
		}
		a.mu.Lock()
		pending = len(a.notices) > 0
		a.mu.Unlock()
		if pending || a.now() >= dueNs {
			return
		}
	}
}

// ready deals with a descriptor that can be read, and reports whether it was the timer.
func (a *agent) ready(fd int) bool {
	var eight [8]byte
	switch fd {
	case a.timer:
		unix.Read(fd, eight[:])
		return true
	case a.wake:
		unix.Read(fd, eight[:])
		return false
	case a.kernelLog:
		a.readKernelLog()
		return false
	}
	if s := a.sources[fd]; s != nil {
		a.read(s)
		return false
	}
	for _, p := range a.procs {
		if p.pidfd == fd {
			a.reap(p)
			return false
		}
	}
	return false
}

// read takes what a program has written.
func (a *agent) read(s *source) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := unix.Read(s.fd, buffer)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return
		case n <= 0:
			a.flush(s)
			a.close(s)
			return
		}
		s.rest = append(s.rest, buffer[:n]...)
		if s.answer {
			in := json.NewDecoder(bytes.NewReader(s.rest))
			var value json.RawMessage
			for in.Decode(&value) == nil {
				a.note(wire.Notice{Kind: wire.Answered, Node: s.proc.Node, Proc: s.proc.Proc, Tag: s.proc.Tag, Text: bytes.Clone(value)})
			}
			s.rest, _ = io.ReadAll(in.Buffered())
			continue
		}
		for {
			i := bytes.IndexByte(s.rest, '\n')
			if i < 0 && len(s.rest) < maxLineBytes {
				break
			}
			if i < 0 {
				i = len(s.rest) - 1
			}
			a.line(s, bytes.TrimSuffix(s.rest[:i], []byte("\r")))
			s.rest = bytes.Clone(s.rest[i+1:])
		}
	}
}

func (a *agent) line(s *source, text []byte) {
	a.note(wire.Notice{Kind: wire.Logged, Node: s.proc.Node, Proc: s.proc.Proc, Tag: s.proc.Tag, PID: s.proc.pid, Stream: s.stream, Text: bytes.Clone(text)})
}

// flush reports a line that has no end.
func (a *agent) flush(s *source) {
	if len(s.rest) > 0 && !s.answer {
		a.line(s, s.rest)
	}
	s.rest = nil
}

func (a *agent) close(s *source) {
	if a.sources[s.fd] != nil {
		delete(a.sources, s.fd)
		unix.Close(s.fd)
	}
}

// reap takes the end of a program, after what it has printed.
func (a *agent) reap(p *proc) {
	var status unix.WaitStatus
	if pid, err := unix.Wait4(p.pid, &status, unix.WNOHANG, nil); err != nil || pid != p.pid {
		return
	}
	for _, s := range p.outputs {
		if a.sources[s.fd] == s {
			a.read(s)
			a.flush(s)
		}
	}
	unix.Close(p.pidfd)
	delete(a.procs, p.Proc)
	a.note(wire.Notice{Kind: wire.Exited, Node: p.Node, Proc: p.Proc, Tag: p.Tag, PID: p.pid, Program: p.Argv[0], Status: int(status)})
}

// told takes what a program has written to a file of the agent's. The FUSE server calls it.
func (a *agent) told(kind string, pid int, text []byte) {
	n := wire.Notice{Kind: kind, PID: pid, Text: text}
	group, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	fmt.Sscanf(strings.TrimSpace(strings.TrimPrefix(string(group), "0::")), "/n%d/j%d", &n.Node, &n.Tag)
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	n.Program = strings.TrimSpace(string(name))
	if kind == wire.Told { // a write may have several lines
		for line := range bytes.Lines(text) {
			n.Text = bytes.TrimRight(line, "\n")
			a.note(n)
		}
	} else {
		a.note(n)
	}
	a.rouse()
}

// readKernelLog reports programs that the kernel has ended because of a bound of memory.
func (a *agent) readKernelLog() {
	record := make([]byte, 8<<10)
	for {
		n, err := unix.Read(a.kernelLog, record)
		if err == unix.EPIPE { // records were overwritten: the next one is the oldest that is there
			continue
		}
		if err != nil {
			return
		}
		if x, ok := killed(string(record[:n])); ok {
			a.note(x)
		}
	}
}

// killed reads a record of the kernel's log (dump_oom_summary in its mm/oom_kill.c).
func killed(record string) (n wire.Notice, ok bool) {
	_, text, _ := strings.Cut(record, ";")
	text, _, _ = strings.Cut(text, "\n")
	text, ok = strings.CutPrefix(text, "oom-kill:constraint=CONSTRAINT_MEMCG,")
	if !ok {
		return n, false
	}
	n.Kind = wire.Killed
	for field := range strings.SplitSeq(text, ",") {
		switch name, value, _ := strings.Cut(field, "="); name {
		case "task_memcg":
			fmt.Sscanf(value, "/n%d/j%d", &n.Node, &n.Tag)
		case "task":
			n.Program = value
		case "pid":
			n.PID, _ = strconv.Atoi(value)
		}
	}
	return n, true
}

// reportFault reports that a packet met a fault.
func (a *agent) reportFault(from, to, fault int) {
	a.note(wire.Notice{Kind: wire.Met, Node: from, To: to, Fault: fault})
	a.rouse()
}

// act does one thing. The result is nil for acts that have none.
func (a *agent) act(x *wire.Act) *wire.Result {
	failed := func(err error) *wire.Result {
		r := &wire.Result{}
		if err != nil {
			r.Error = err.Error()
			var errno unix.Errno
			if errors.As(err, &errno) {
				r.Errno = int(errno)
			}
		}
		return r
	}
	switch x.Kind {
	case wire.DoSetup:
		return failed(a.setup(x.Setup))
	case wire.DoStart:
		pid, err := a.start(x.Start)
		r := failed(err)
		r.PID = pid
		return r
	case wire.DoKill:
		a.signal(x.Proc, unix.SIGKILL)
	case wire.DoSignal:
		a.signal(x.Proc, unix.Signal(x.Signal))
	case wire.DoKillTag:
		for _, n := range a.nodes {
			write(filepath.Join(n.job(x.Tag), "cgroup.kill"), "1")
		}
	case wire.DoClear:
		write(filepath.Join(a.nodes[x.Node].group(), "cgroup.kill"), "1")
	case wire.DoPause, wire.DoResume:
		on := "0"
		if x.Kind == wire.DoPause {
			on = "1"
		}
		write(filepath.Join(a.nodes[x.Node].group(), "cgroup.freeze"), on)
	case wire.DoLink:
		a.fabric.set(*x.Link)
	case wire.DoReset:
		return a.reset(x)
	case wire.DoOrder:
		if p := a.procs[x.Proc]; p != nil && p.orders >= 0 {
			unix.Write(p.orders, x.Bytes)
		}
	case wire.DoSeed:
		seed(x.Bytes)
		a.fabric.reseed(binary.LittleEndian.Uint64(x.Bytes))
	case wire.DoCut:
		return failed(a.cut(x.Node, x.On))
	case wire.DoRestore:
		return failed(a.restore(x.Node))
	case wire.DoFill:
		return failed(a.fill(x.Node, x.On))
	case wire.DoPorts:
		ports, err := listening.Ports(fmt.Sprintf("/proc/%d/net", a.nodes[x.Node].init))
		r := failed(err)
		r.Ports = ports
		return r
	case wire.DoSpill:
		return a.spill(x.Node)
	default:
		return failed(fmt.Errorf("unknown act %q", x.Kind))
	}
	return nil
}

func (a *agent) setup(s *wire.Setup) error {
	now := unix.NsecToTimeval(s.StartUnixNs + a.now())
	if err := unix.Settimeofday(&now); err != nil {
		return fmt.Errorf("the date: %w", err)
	}
	var err error
	if a.fabric, err = newFabric(a.bell, a.now, a.baseNs, a.reportFault); err != nil {
		return err
	}
	a.fabric.ask = s.Ask
	if err := share(s.Nodes); err != nil {
		return err
	}
	a.nodes = make([]*node, len(s.Nodes))
	for _, own := range []bool{true, false} { // those that have the network of others come after them
		for k := range s.Nodes {
			if s.Nodes[k].NetOf == k == own {
				if a.nodes[k], err = newNode(a, k, s.Nodes[k], s.DiskBytes); err != nil {
					return err
				}
			}
		}
	}
	for _, l := range s.Links {
		a.fabric.set(l)
	}
	go a.fabric.run()
	return nil
}

func (a *agent) signal(id int64, s unix.Signal) {
	if p := a.procs[id]; p != nil {
		unix.PidfdSendSignal(p.pidfd, s, nil, 0)
	}
}

// start starts a program on its node's thread.
func (a *agent) start(s *wire.Start) (pid int, err error) {
	n := a.nodes[s.Node]
	p := &proc{Start: *s, orders: -1}
	group := n.job(s.Tag)
	if err := os.MkdirAll(group, 0o755); err != nil {
		return 0, err
	}
	files, err := a.connect(p)
	defer func() {
		for _, fd := range slices.Compact(slices.Clone(files)) {
			unix.Close(int(fd))
		}
		if err != nil {
			for _, o := range p.outputs {
				a.close(o)
			}
		}
	}()
	if err != nil {
		return 0, err
	}
	n.do(func() { err = n.exec(p, files) })
	if err != nil {
		return 0, err
	}
	if err := p.bound(group); err != nil {
		unix.Kill(p.pid, unix.SIGKILL)
		return 0, err
	}
	n.do(func() { err = unix.PtraceDetach(p.pid) })
	if err != nil {
		return 0, err
	}
	a.procs[p.Proc] = p
	if err := a.watch(p.pidfd); err != nil {
		return 0, err
	}
	return p.pid, nil
}

// connect makes the standard streams of a program, and returns its ends.
func (a *agent) connect(p *proc) (files []uintptr, err error) {
	in, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if p.Ordered {
		unix.Close(in)
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		in, p.orders = pair[0], pair[1]
		if err := unix.SetNonblock(p.orders, true); err != nil {
			return nil, err
		}
		if err := a.listen(p, p.orders, "", true); err != nil {
			return nil, err
		}
	}
	files = []uintptr{uintptr(in)}
	for i, stream := range []string{p.Stdout, p.Stderr} {
		if i == 1 && p.Stdout == p.Stderr { // one pipe keeps the order
			return append(files, files[1]), nil
		}
		var pipe [2]int
		if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
			return files, err
		}
		if err := unix.SetNonblock(pipe[0], true); err != nil {
			return files, err
		}
		files = append(files, uintptr(pipe[1]))
		if err := a.listen(p, pipe[0], stream, false); err != nil {
			return files, err
		}
	}
	return files, nil
}

func (a *agent) listen(p *proc, fd int, stream string, answer bool) error {
	s := &source{fd: fd, proc: p, stream: stream, answer: answer}
	a.sources[fd] = s
	p.outputs = append(p.outputs, s)
	return a.watch(fd)
}

// exec starts a program, which then stands before its first instruction. It runs on the node's thread.
func (n *node) exec(p *proc, files []uintptr) error {
	u, err := userOf(p.User, p.Groups)
	if err != nil {
		return err
	}
	path, err := find(p.Argv[0], p.Env, p.Dir)
	if err != nil {
		return err
	}
	if err := unix.Chdir(p.Dir); err != nil {
		if err = os.MkdirAll(p.Dir, 0o755); err != nil {
			return err
		}
	}
	attr := &syscall.ProcAttr{Dir: p.Dir, Env: p.Env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true, Ptrace: true, PidFD: &p.pidfd,
		Credential: &syscall.Credential{Uid: u.uid, Gid: u.gid, Groups: u.groups}}}
	p.pid, err = syscall.ForkExec(path, p.Argv, attr)
	unix.Chdir("/")
	if err == nil {
		_, err = unix.Wait4(p.pid, nil, unix.WALL, nil)
	}
	return err
}

// bound puts a program into its control group, whose node may be paused, and sets its limits.
func (p *proc) bound(group string) error {
	if err := write(filepath.Join(group, "cgroup.procs"), strconv.Itoa(p.pid)); err != nil {
		return err
	}
	limits := append([]wire.Rlimit{{Resource: unix.RLIMIT_NOFILE, Soft: 1024, Hard: 1 << 20}}, p.Rlimits...)
	for _, l := range limits {
		if err := unix.Prlimit(p.pid, l.Resource, &unix.Rlimit{Cur: l.Soft, Max: l.Hard}, nil); err != nil {
			return fmt.Errorf("limit %d: %w", l.Resource, err)
		}
	}
	if p.OOMAdj != 0 {
		if err := write(fmt.Sprintf("/proc/%d/oom_score_adj", p.pid), strconv.Itoa(p.OOMAdj)); err != nil {
			return err
		}
	}
	return nil
}

// reset ends the connections of a direction, at the ends that the act names.
func (a *agent) reset(x *wire.Act) *wire.Result {
	r := &wire.Result{}
	for _, end := range x.Ends {
		other := x.Node + x.To - end
		var addrs []netip.Addr
		for _, nic := range a.nodes[other].NICs {
			for _, text := range []string{nic.IPv4, nic.IPv6} {
				if p, err := netip.ParsePrefix(text); err == nil {
					addrs = append(addrs, p.Addr())
				}
			}
		}
		a.nodes[end].do(func() {
			n, err := resetTCP(addrs)
			r.Count += n
			if err != nil {
				r.Error = err.Error()
			}
		})
	}
	return r
}

// seed mixes bytes into the kernel's random numbers, and has it use them from now on.
func seed(bytes []byte) {
	fd, err := unix.Open("/dev/urandom", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		panic("/dev/urandom: " + err.Error())
	}
	defer unix.Close(fd)
	const addEntropy, reseed = 0x40085203, 0x5207 // RNDADDENTROPY, RNDRESEEDCRNG (random(4))
	pool := make([]byte, 8+len(bytes))
	*(*int32)(unsafe.Pointer(&pool[0])) = int32(8 * len(bytes))
	*(*int32)(unsafe.Pointer(&pool[4])) = int32(len(bytes))
	copy(pool[8:], bytes)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), addEntropy, uintptr(unsafe.Pointer(&pool[0]))); errno != 0 {
		panic("RNDADDENTROPY: " + errno.Error())
	}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), reseed, 0); errno != 0 {
		panic("RNDRESEEDCRNG: " + errno.Error())
	}
}

// fill leaves the disk of a node no room, or gives it back.
func (a *agent) fill(node int, on bool) error {
	dir := a.nodes[node].store()
	if a.nodes[node].disk > 0 {
		return fillFile(dir, on)
	}
	blocks := uint64(0) // no bound
	if on {
		var st unix.Statfs_t
		if err := unix.Statfs(dir, &st); err != nil {
			return err
		}
		blocks = st.Blocks - st.Bfree
	}
	return unix.Mount("", dir, "", unix.MS_REMOUNT, fmt.Sprintf("nr_blocks=%d", blocks))
}

// spill ends the largest program of a node.
func (a *agent) spill(node int) *wire.Result {
	r := &wire.Result{}
	for _, p := range a.procs {
		if p.Node != node {
			continue
		}
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.pid))
		var size, resident int64
		fmt.Sscan(string(text), &size, &resident)
		if resident*wire.PageBytes > r.Bytes || resident*wire.PageBytes == r.Bytes && cmp.Compare(p.pid, r.PID) < 0 {
			*r = wire.Result{PID: p.pid, Program: p.Argv[0], Bytes: resident * wire.PageBytes, Count: int(p.Proc)}
		}
	}
	if r.PID != 0 {
		unix.Kill(r.PID, unix.SIGKILL)
	}
	return r
}
