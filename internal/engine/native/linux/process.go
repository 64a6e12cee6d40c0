//go:build linux && amd64

package linux

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/moments"
	"github.com/bloodhound-dst/bloodhound/internal/world"
	"golang.org/x/sys/unix"
)

func itoa(n int) string { return strconv.Itoa(n) }

// reservedPIDs is where numbers of processes begin again (RESERVED_PIDS of linux/kernel/pid.c).
const reservedPIDs = 300

// newPID gives the next number that is free below kernel.pid_max.
func newPID(k *Kernel, n *Node) int {
	n.NextPID = max(n.NextPID, kernel.FirstPID)
	most := cmp.Or(n.PIDMax, defaultPIDMax)
	for range most {
		if n.NextPID >= most {
			n.NextPID, n.PIDsAgain = min(reservedPIDs, most-1), true
		}
		n.NextPID++
		if pid := n.NextPID - 1; !n.PIDsAgain || !usesPID(k, n.ID, pid) {
			return pid
		}
	}
	return n.NextPID // none is free: the bound on threads is lower on any machine
}

// usesPID reports whether a number is that of a thread or a process, of a group of processes, or of a session.
func usesPID(k *Kernel, node kernel.NodeID, pid int) bool {
	return k.ProcByPID(node, pid) != nil || k.ThreadByTID(node, pid) != nil ||
		slices.ContainsFunc(k.Nodes[node].Procs, func(id kernel.ProcID) bool { return k.Procs[id].PGID == pid || k.Procs[id].SID == pid })
}

// Launch describes a program that the world starts on a node.
type Launch struct {
	Node kernel.NodeID
	Name string // the first element of its threads' names behind the node's: "0" for the first main process
	Argv []string
	Env  []string
	Dir  string
	User kernel.Cred
	Tag  int64 // comes back in the notice of its end
	// Bounded makes a notice when the program computes without end (kernel.Spun), and does not make that the end of the run.
	Bounded bool
	// Ordered gives it a standard input that Order writes to. With Answers, what it writes there comes back as notices, and its reads do not wait.
	Ordered, Answers bool
	Stdout           string // names the streams of its log lines
	Stderr           string
	// MostOutput is how many bytes of each stream are taken in; what it writes after that is lost. 0 is all.
	MostOutput int

	SlackNs int64 // its timer slack; 0 is Linux' default
	OOMAdj  int
	Main    bool // the node's main process
	Rlimits []world.Rlimit
}

// Start starts a program. The errno is what execve answered.
func Start(k *Kernel, l Launch) (*Proc, error) {
	node := k.Nodes[l.Node]
	first := l.Main && node.Init == world.MainInit
	t := &Thread{ID: k.NewID("thread"), Node: l.Node, Name: node.Name + "/" + l.Name, TID: kernel.InitPID}
	if !first {
		t.TID = newPID(k, node)
	}
	t.SlackNs = cmp.Or(l.SlackNs, kernel.DefaultSlackNs)
	t.BaseSlackNs = t.SlackNs
	k.Rank(t)
	p := &Proc{
		ID: k.NewID("proc"), Node: l.Node, PID: t.TID, PGID: t.TID, SID: t.TID, Threads: []kernel.ThreadID{t.ID}, Leader: t.ID,
		Env: l.Env, Cred: l.User, Umask: 0o022, Tag: l.Tag, Bounded: l.Bounded, StartNs: k.Now, ExitSignal: int(unix.SIGCHLD),
		Dumpable: 1, OOMAdj: l.OOMAdj, Unkillable: first,
	}
	t.Proc = p.ID
	defaultLimits(p)
	for _, l := range l.Rlimits {
		if which := slices.Index(world.RlimitNames, l.Name); which >= 0 {
			p.Limits[which] = [2]uint64{l.Soft, l.Hard}
		}
	}
	table := &kernel.Table{ID: k.NewID("table"), Refs: 1}
	k.Tables[table.ID] = table
	p.Table = table.ID
	k.Procs[p.ID] = p
	k.Threads[t.ID] = t
	node.Procs = append(node.Procs, p.ID)
	undo := func() {
		k.DropTable(p)
		k.DropSpace(p)
		k.DropCwd(p)
		delete(k.Procs, p.ID)
		delete(k.Threads, t.ID)
		node.Procs = node.Procs[:len(node.Procs)-1]
	}
	if e := chdirTo(k, t, l.Dir); e != 0 {
		undo()
		return nil, &StartError{l.Argv[0], "working directory " + l.Dir, e}
	}
	if l.Ordered {
		flags := unix.O_RDONLY
		if l.Answers {
			flags = unix.O_RDWR | unix.O_NONBLOCK
		}
		f := k.NewFile(t, kernel.FileOrders, flags)
		f.Tag, f.Path = l.Tag, "/dev/orders"
		k.Put(table, 0, f, false)
		p.Orders = f.ID
	} else {
		k.Put(table, 0, devNull(k, t), false)
	}
	for fd, stream := range []string{1: l.Stdout, 2: l.Stderr} {
		if fd > 0 {
			f := k.NewFile(t, kernel.FileLog, unix.O_WRONLY|unix.O_APPEND)
			f.Stream, f.Tag, f.Path, f.Bound = stream, l.Tag, "/dev/"+stream, l.MostOutput
			k.Put(table, fd, f, false)
		}
	}
	p.Space = newSpace(k, l.Node, 0).ID
	exe, e := findProgram(k, t, l.Argv[0])
	if e != 0 {
		undo()
		return nil, &StartError{l.Argv[0], "", e}
	}
	if err := k.M.Spawn(t.ID, k.Handles.VDSOs[l.Node]); err != nil {
		undo()
		return nil, err
	}
	if e := exec(k, t, exe, l.Argv, l.Env); e != 0 {
		k.M.Kill(t.ID)
		undo()
		return nil, &StartError{l.Argv[0], "", e}
	}
	k.Happen(node.Name, t.Name, "start", int64(p.PID), p.Path)
	k.Ready(t)
	if l.Main {
		node.Main = p.ID
	}
	return p, nil
}

// StartError says that a program could not be started.
type StartError struct {
	Program string
	What    string
	Errno   unix.Errno
}

func (e *StartError) Error() string {
	if e.What != "" {
		return e.Program + ": " + e.What + ": " + e.Errno.Error()
	}
	return e.Program + ": " + e.Errno.Error()
}

func defaultLimits(p *Proc) {
	const inf = ^uint64(0)
	for i := range p.Limits {
		p.Limits[i] = [2]uint64{inf, inf}
	}
	p.Limits[unix.RLIMIT_NOFILE] = [2]uint64{1024, 1 << 20}
	p.Limits[unix.RLIMIT_STACK] = [2]uint64{8 << 20, inf}
	p.Limits[unix.RLIMIT_CORE] = [2]uint64{0, inf}
	p.Limits[unix.RLIMIT_MEMLOCK] = [2]uint64{8 << 20, 8 << 20}
	p.Limits[unix.RLIMIT_NPROC] = [2]uint64{maxThreads, maxThreads}
	p.Limits[11] = [2]uint64{kernel.MaxQueued, kernel.MaxQueued} // RLIMIT_SIGPENDING
	p.Limits[12] = [2]uint64{819200, 819200}                     // RLIMIT_MSGQUEUE
	p.Limits[13] = [2]uint64{0, 0}                               // RLIMIT_NICE
	p.Limits[14] = [2]uint64{0, 0}                               // RLIMIT_RTPRIO
}

const maxThreads = 2048 // alive at once, all nodes: fork answers EAGAIN beyond it

// program is an executable that was found.
type program struct {
	path   string // as it was called
	real   string // without links
	file   fs.InodeID
	fd     int
	head   []byte
	code   machine.Code // what is executed in its place, or nil
	counts int
}

const maxInterpreters = 4

// What making a process and executing a program cost in virtual time, beside the call itself: about what they take
// on Linux. A program that does nothing else comes to the end of virtual time.
const (
	execCostNs = 1_000_000
	forkCostNs = 50_000
)

// exec replaces the program of a thread's process, following #! lines.
func exec(k *Kernel, t *Thread, exe program, argv, env []string) unix.Errno {
	p := k.Proc(t)
	shown := exe.path
	for depth := 0; len(exe.head) > 2 && exe.head[0] == '#' && exe.head[1] == '!'; depth++ {
		if depth == maxInterpreters {
			return unix.ELOOP
		}
		interp, arg, ok := shebang(exe.head)
		if !ok {
			return unix.ENOEXEC
		}
		rest := []string{interp}
		if arg != "" {
			rest = append(rest, arg)
		}
		rest = append(rest, exe.path)
		if len(argv) > 0 {
			rest = append(rest, argv[1:]...)
		}
		argv = rest
		var e unix.Errno
		if exe, e = openProgram(k, t, interp); e != 0 {
			return e
		}
	}
	if len(exe.head) < 4 || string(exe.head[:4]) != "\x7fELF" {
		return unix.ENOEXEC
	}
	loader, e := interpreter(k, t, exe)
	if e != 0 {
		return e
	}
	img := machine.Image{FD: exe.fd, Path: shown, Argv: argv, Env: env, UID: p.Cred.EUID, GID: p.Cred.EGID, VDSO: k.Handles.VDSOs[p.Node]}
	if loader.file != 0 && !k.M.SameFile(loader.fd, loader.path) {
		img.InterpreterFD = loader.fd
	}
	if k.Executes != nil {
		k.Executes(t, exe.path, exe.real, exe.fd)
	}
	if k.Code != nil {
		exe.code, exe.counts = k.Code(t, exe.path, exe.real, exe.fd, false)
		img.Code = exe.code
	}
	k.Tape.Bytes("random/"+t.Name+"/auxv", img.Random[:])
	var others []kernel.ThreadID
	for _, id := range p.Threads {
		if id != t.ID {
			others = append(others, id)
		}
	}
	if len(argv) == 0 {
		img.Argv = []string{""} // since Linux 5.18
	}
	k.MemoryEnds(p)
	if e := k.M.Exec(t.ID, img, others); e != 0 {
		return e
	}
	k.Now += execCostNs
	afterExec(k, t, p, exe, img.Argv, env, others)
	addPrograms(k, t, k.Spaces[p.Space], exe, loader)
	t.Comm = comm(shown)
	return 0
}

// interpreter opens what a program names in PT_INTERP; its file is 0 if it names nothing.
func interpreter(k *Kernel, t *Thread, exe program) (program, unix.Errno) {
	name, errno := k.M.Interpreter(exe.fd)
	if errno != 0 || name == "" {
		return program{}, errno
	}
	return openProgram(k, t, name)
}

// shebang splits a #! line (execve(2)): the interpreter, and all the rest as one argument.
func shebang(head []byte) (interp, arg string, ok bool) {
	line := head[2:]
	if i := slices.Index(line, '\n'); i >= 0 {
		line = line[:i]
	}
	trim := func(b []byte) []byte {
		for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
			b = b[1:]
		}
		for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
			b = b[:len(b)-1]
		}
		return b
	}
	line = trim(line)
	for i, c := range line {
		if c == ' ' || c == '\t' {
			return string(line[:i]), string(trim(line[i:])), true
		}
	}
	return string(line), "", len(line) > 0
}

// afterExec changes a process' attributes as execve(2) specifies.
func afterExec(k *Kernel, t *Thread, p *Proc, exe program, argv, env []string, others []kernel.ThreadID) {
	space := newSpace(k, p.Node, exe.file)
	space.Counts = exe.counts
	for _, id := range others {
		o := k.Threads[id]
		k.Unlist(o)
		p.EndedNs += k.ThreadTime(o)
		delete(k.Threads, id)
	}
	p.Threads = []kernel.ThreadID{t.ID}
	p.Leader = t.ID
	t.TID = p.PID
	t.ClearTID, t.Robust = 0, 0
	p.Path, p.Argv, p.Env = exe.real, argv, env
	p.Auxv = k.M.Auxv(t.ID)
	p.Execs++
	p.ExitSignal = int(unix.SIGCHLD)
	p.Refusal, p.Broken = nil, false
	for i := range p.Actions {
		if p.Actions[i].Handler != kernel.SigIgnore {
			p.Actions[i] = kernel.Action{}
		} else {
			p.Actions[i] = kernel.Action{Handler: kernel.SigIgnore}
		}
	}
	if table := k.Tables[p.Table]; table.Refs > 1 {
		p.Table = k.CopyTable(p.Table)
		table.Refs--
	}
	for fd, s := range k.Tables[p.Table].Slots {
		if s.File != 0 && s.Cloexec {
			k.CloseFD(p, fd)
		}
	}
	k.DropSpace(p)
	p.Space = space.ID
	p.Timers = nil // but not those of setitimer(2)
	p.Dumpable = 1
	p.Cred.Permitted, p.Cred.Effective, p.Cred.KeepCaps = 0, 0, false // there are no ambient ones
	k.VforkDone(t)
}

func comm(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			path = path[i+1:]
			break
		}
	}
	if len(path) > 15 {
		path = path[:15]
	}
	return path
}

func sysExecve(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	pathAddr, argvAddr, envAddr := args[0].Pointer(), args[1].Pointer(), args[2].Pointer()
	path, e := k.Path(t, pathAddr)
	if e != 0 {
		return fail(e)
	}
	return execve(k, t, unix.AT_FDCWD, path, argvAddr, envAddr, 0)
}

func sysExecveat(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	dirfd, pathAddr, argvAddr, envAddr := args[0].Int(), args[1].Pointer(), args[2].Pointer(), args[3].Pointer()
	flags := args[4].Int()
	path, e := k.Path(t, pathAddr)
	if e != 0 {
		return fail(e)
	}
	return execve(k, t, dirfd, path, argvAddr, envAddr, flags)
}

func execve(k *Kernel, t *Thread, dirfd int, path string, argvAt, envAt uint64, flags int) Result {
	if flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return fail(unix.EINVAL)
	}
	argv, e := readStrings(k, t, argvAt)
	if e != 0 {
		return fail(e)
	}
	env, e := readStrings(k, t, envAt)
	if e != 0 {
		return fail(e)
	}
	exe, e := openProgramAt(k, t, dirfd, path, flags)
	if e != 0 {
		return fail(e)
	}
	if e := exec(k, t, exe, argv, env); e != 0 {
		return fail(e)
	}
	return 0
}

const (
	maxArgs     = 1 << 20
	maxArgBytes = 2 << 20 // a quarter of the stack limit (execve(2))
)

// readStrings reads a NULL-terminated array of strings.
func readStrings(k *Kernel, t *Thread, addr uint64) ([]string, unix.Errno) {
	if addr == 0 {
		return nil, 0
	}
	var out []string
	bytes := 0
	for i := 0; i < maxArgs; i++ {
		p, ok := k.PeekU64(t, addr+8*uint64(i))
		if !ok {
			return nil, unix.EFAULT
		}
		if p == 0 {
			return out, 0
		}
		s, e := k.CString(t, p, 128<<10)
		if e == unix.ENAMETOOLONG {
			return nil, unix.E2BIG
		}
		if e != 0 {
			return nil, e
		}
		if bytes += len(s) + 9; bytes > maxArgBytes {
			return nil, unix.E2BIG
		}
		out = append(out, s)
	}
	return nil, unix.E2BIG
}

func sysFork(k *Kernel, t *Thread) Result {
	return cloneThread(k, t, cloneArgs{flags: 0, exitSignal: int(unix.SIGCHLD)})
}

func sysVfork(k *Kernel, t *Thread) Result {
	return cloneThread(k, t, cloneArgs{flags: unix.CLONE_VM | unix.CLONE_VFORK, exitSignal: int(unix.SIGCHLD)})
}

func sysClone(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	flags, stack, parentTID := uint64(args[0].Uint()), args[1].Pointer(), args[2].Pointer()
	childTID, tls := args[3].Pointer(), args[4].Uint64()
	signal := int(flags & exitSignalMask)
	flags &^= exitSignalMask
	if flags&unix.CLONE_PIDFD != 0 && flags&unix.CLONE_PARENT_SETTID != 0 { // both would be written to the same place
		return fail(unix.EINVAL)
	}
	return cloneThread(k, t, cloneArgs{flags: flags, exitSignal: signal, stack: stack, parentTID: parentTID, childTID: childTID, tls: tls,
		pidfd: parentTID})
}

func sysClone3(k *Kernel, t *Thread) Result {
	addr, size := t.Call.Args[0].Pointer(), t.Call.Args[1].Size()
	if size < 64 {
		return fail(unix.EINVAL)
	}
	if size > 4096 {
		return fail(unix.E2BIG)
	}
	b := make([]byte, max(size, cloneArgsBytes))
	if !k.Peek(t, addr, b[:size]) {
		return fail(unix.EFAULT)
	}
	if slices.ContainsFunc(b[cloneArgsBytes:], func(c byte) bool { return c != 0 }) { // of a Linux that does not exist
		return fail(unix.E2BIG)
	}
	u := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	c := cloneArgs{flags: u(0), pidfd: u(1), childTID: u(2), parentTID: u(3), exitSignal: int(u(4)), stack: u(5), tls: u(7)}
	if c.stack != 0 {
		c.stack += u(6)
	}
	switch {
	case u(4) > kernel.NumSignals, c.flags&(unix.CLONE_THREAD|unix.CLONE_PARENT) != 0 && u(4) != 0,
		c.flags&(unix.CLONE_DETACHED|0x7f) != 0, (u(5) == 0) != (u(6) == 0):
		return fail(unix.EINVAL)
	}
	if u(9) != 0 { // set_tid
		return k.Refuse(t, "clone3(set_tid)", unix.EPERM)
	}
	return cloneThread(k, t, c)
}

// exitSignalMask selects the exit signal in the flags of clone(2) (CSIGNAL). cloneArgsBytes is the size of struct
// clone_args.
const (
	exitSignalMask = 0xff
	cloneArgsBytes = 88
)

type cloneArgs struct {
	flags                                  uint64
	exitSignal                             int
	stack, tls, parentTID, childTID, pidfd uint64
}

const namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

func cloneThread(k *Kernel, t *Thread, c cloneArgs) Result {
	f := c.flags
	if f&unix.CLONE_THREAD == 0 {
		k.Now += forkCostNs
	}
	switch {
	case f&(namespaceFlags|unix.CLONE_NEWTIME) != 0:
		return k.Refuse(t, "clone(namespaces)", unix.EPERM)
	case f&unix.CLONE_SIGHAND != 0 && f&unix.CLONE_VM == 0, f&unix.CLONE_THREAD != 0 && f&unix.CLONE_SIGHAND == 0,
		f&unix.CLONE_PIDFD != 0 && f&(unix.CLONE_DETACHED|unix.CLONE_THREAD) != 0,
		f&unix.CLONE_CLEAR_SIGHAND != 0 && f&unix.CLONE_SIGHAND != 0,
		f&unix.CLONE_PARENT != 0 && k.Proc(t).Unkillable:
		return fail(unix.EINVAL)
	case f>>33 != 0: // CLONE_INTO_CGROUP and newer
		return fail(unix.EINVAL)
	case len(k.Threads) >= threadsMax(k):
		return k.Refuse(t, "clone(beyond simulation.limits.threads)", unix.EAGAIN)
	}
	if most := k.Node(t).Tasks; most > 0 && threadsOf(k, k.Node(t)) >= most {
		return fail(unix.EAGAIN)
	}
	if f&unix.CLONE_THREAD == 0 && uint64(countProcs(k, t)) >= k.Proc(t).Limits[unix.RLIMIT_NPROC][0] {
		return fail(unix.EAGAIN)
	}
	parent := k.Proc(t)
	node := k.Node(t)
	child := &Thread{ID: k.NewID("thread"), Node: t.Node, Comm: t.Comm, Name: t.Name + "." + itoa(t.Forks), Nice: t.Nice, Policy: t.Policy,
		SlackNs: t.SlackNs, BaseSlackNs: t.SlackNs}
	pidfd, r := reservePidfd(k, t, c)
	if r < 0 {
		return r
	}
	if e := k.M.Clone(t.ID, child.ID, f&0xffffffff, c.stack, c.tls); e != 0 {
		if pidfd != nil {
			k.CloseFD(parent, int(r))
		}
		return fail(unix.Errno(e))
	}
	t.Forks++
	k.Rank(child)
	child.TID = newPID(k, node)
	if f&unix.CLONE_CHILD_CLEARTID != 0 {
		child.ClearTID = c.childTID
	}
	k.Threads[child.ID] = child
	if f&unix.CLONE_THREAD != 0 {
		child.Proc = parent.ID
		parent.Threads = append(parent.Threads, child.ID)
	} else {
		t.Call.Act = moments.Start
		forkProc(k, t, child, parent, c)
	}
	if f&unix.CLONE_PARENT_SETTID != 0 {
		k.OutU32(t, c.parentTID, uint32(child.TID))
	}
	if f&unix.CLONE_CHILD_SETTID != 0 {
		k.OutU32(child, c.childTID, uint32(child.TID))
	}
	if pidfd != nil {
		pidfd.Obj = child.Proc
		if f&unix.CLONE_FILES == 0 { // the copy of the table has it, which Linux fills in later
			k.CloseFD(k.Procs[child.Proc], int(r))
		}
	}
	if f&unix.CLONE_CLEAR_SIGHAND != 0 {
		clearHandlers(k, child)
	}
	k.Ready(child)
	if f&unix.CLONE_VFORK != 0 {
		child.VforkOf = t.ID
		t.Vfork = true
		k.Resched = true
	}
	return Result(child.TID)
}

// reservePidfd opens the descriptor that CLONE_PIDFD asks for, and tells the program: where that fails, there is no new process.
func reservePidfd(k *Kernel, t *Thread, c cloneArgs) (*File, Result) {
	if c.flags&unix.CLONE_PIDFD == 0 {
		return nil, 0
	}
	file := k.NewFile(t, kernel.FilePID, unix.O_RDWR)
	fd := k.Opened(t, file, unix.O_CLOEXEC)
	if fd < 0 {
		return nil, fd
	}
	if !k.OutU32(t, c.pidfd, uint32(fd)) {
		k.CloseFD(k.Proc(t), int(fd))
		return nil, fail(unix.EFAULT)
	}
	return file, fd
}

// clearHandlers resets all handlers, for CLONE_CLEAR_SIGHAND, which the real clone(2) does not have.
func clearHandlers(k *Kernel, t *Thread) {
	p := k.Proc(t)
	var handled []int
	for sig := 1; sig <= kernel.NumSignals; sig++ {
		if p.Actions[sig].Handler > kernel.SigIgnore {
			p.Actions[sig] = kernel.Action{}
			handled = append(handled, sig)
		}
	}
	k.M.Unhandle(t.ID, handled)
}

func threadsMax(k *Kernel) int {
	if k.Limits.Threads > 0 {
		return k.Limits.Threads
	}
	return maxThreads
}

func countProcs(k *Kernel, t *Thread) int {
	n := 0
	for _, id := range k.Node(t).Procs {
		if k.Procs[id].Cred.UID == k.Proc(t).Cred.UID {
			n++
		}
	}
	return n
}

// forkProc makes the process of a fork.
func forkProc(k *Kernel, t, child *Thread, parent *Proc, c cloneArgs) {
	f := c.flags
	p := &Proc{
		ID: k.NewID("proc"), Node: parent.Node, PID: child.TID, PGID: parent.PGID, SID: parent.SID, Parent: parent.ID,
		Threads: []kernel.ThreadID{child.ID}, Leader: child.ID, Path: parent.Path, Argv: parent.Argv, Env: parent.Env, Auxv: parent.Auxv,
		Umask: parent.Umask, Cred: parent.Cred, Actions: parent.Actions, ExitSignal: c.exitSignal, ParentExecs: parent.Execs, Dumpable: parent.Dumpable,
		NoNewPrivs: parent.NoNewPrivs, Personality: parent.Personality, Limits: parent.Limits, OOMAdj: parent.OOMAdj,
		Login: parent.Login, StartNs: k.Now, Tag: parent.Tag, Bounded: parent.Bounded,
	}
	if f&unix.CLONE_PARENT != 0 {
		p.Parent, p.ExitSignal, p.ParentExecs = parent.Parent, parent.ExitSignal, parent.ParentExecs
	}
	p.Cred.Groups = slices.Clone(parent.Cred.Groups)
	child.Proc = p.ID
	k.Procs[p.ID] = p
	k.Node(t).Procs = append(k.Node(t).Procs, p.ID)
	if up := k.Procs[p.Parent]; up != nil {
		up.Children = append(up.Children, p.ID)
	}
	if f&unix.CLONE_FILES != 0 {
		p.Table = parent.Table
		k.Tables[p.Table].Refs++
	} else {
		p.Table = k.CopyTable(parent.Table)
	}
	if f&unix.CLONE_FS != 0 {
		if parent.Sharers == 0 {
			parent.Sharers = k.NewID("sharers")
		}
		p.Sharers = parent.Sharers
	}
	if f&unix.CLONE_VM != 0 {
		p.Space = parent.Space
		k.Spaces[p.Space].Refs++
	} else {
		p.Space = copySpace(k, parent.Space)
	}
	setCwd(k, p, parent.Cwd)
	setRoot(k, p, parent.Root)
}

// sharers lists the processes that share a process' working and root folder and umask, itself among them.
func sharers(k *Kernel, p *Proc) []*Proc {
	if p.Sharers == 0 {
		return []*Proc{p}
	}
	var list []*Proc
	for _, id := range k.Nodes[p.Node].Procs {
		if o := k.Procs[id]; o.Sharers == p.Sharers && !o.Zombie {
			list = append(list, o)
		}
	}
	return list
}

func sysExit(k *Kernel, t *Thread) Result {
	code := t.Call.Args[0].Int()
	endThread(k, t, code&0xff)
	return kernel.Gone
}

func sysExitGroup(k *Kernel, t *Thread) Result {
	code := t.Call.Args[0].Int()
	k.Happen(k.Node(t).Name, t.Name, "exit", int64(code&0xff), "")
	k.EndProcess(k.Proc(t), code&0xff<<8, false)
	return kernel.Gone
}

// endThread ends one thread; the last one of a process ends the process.
func endThread(k *Kernel, t *Thread, code int) {
	p := k.Proc(t)
	if len(p.Threads) == 1 {
		k.Happen(k.Node(t).Name, t.Name, "exit", int64(code), "")
		k.EndProcess(p, code<<8, false)
		return
	}
	k.Leave(t)
	k.Unlist(t)
	p.Threads = slices.DeleteFunc(p.Threads, func(id kernel.ThreadID) bool { return id == t.ID })
	p.EndedNs += k.ThreadTime(t)
	k.M.Exit(t.ID)
	delete(k.Threads, t.ID)
	k.Happen(k.Node(t).Name, t.Name, "exit thread", int64(code), "")
}

// KillNode ends every process of a node at once, as kill -9 does.
func KillNode(k *Kernel, id kernel.NodeID) {
	Restarts(k, id, k.Cause)
	for len(k.Nodes[id].Procs) > 0 {
		alive := false
		for _, pid := range slices.Clone(k.Nodes[id].Procs) {
			if p := k.Procs[pid]; p != nil && !p.Zombie {
				p.Parent = 0
				k.EndProcess(p, int(unix.SIGKILL), true)
				alive = true
			}
		}
		if !alive {
			for _, pid := range slices.Clone(k.Nodes[id].Procs) {
				k.Reap(k.Procs[pid])
			}
		}
	}
}

// Restarts reports that a fault ends the programs of a node, if it is one. Those that start afterwards and read a file that was written
// before see the fault: they recover from it.
func Restarts(k *Kernel, id kernel.NodeID, cause net.FaultRef) {
	if n := k.Nodes[id]; cause.ID != 0 {
		n.Recovering = cause
		n.FS.Killed()
	}
}

// recovers notes that a program reads a file, or maps it to read it.
func recovers(k *Kernel, t *Thread, f *File) {
	node := k.Node(t)
	if node.Recovering.ID == 0 {
		return
	}
	if node.FS.FromBefore(f.Inode) {
		k.Seen(node.Recovering)
		node.Recovering = net.FaultRef{}
	}
}

// LosePower ends all programs of a node like KillNode, and leaves what its disk has. loss is the fault's ID.
func LosePower(k *Kernel, id kernel.NodeID, loss int, choose fs.Choose) error {
	n := k.Nodes[id]
	cutPower(k, n)
	sizes := n.FS.UnsyncedSizes()
	if e := n.FS.PowerLoss(k.TreeEnv(n), loss, choose); e != errno.OK {
		return fmt.Errorf("node %s: the image of its disk: %w", n.Name, e)
	}
	if n.Torn.To != 0 {
		n.FS.Missing(n.Torn.Inode, loss, n.Torn.From, n.Torn.To)
		n.Torn = kernel.Torn{}
	}
	lost(k, n, loss, false, sizes)
	k.WakeTreeWatchers(n)
	return nil
}

// cutPower ends all programs of a node, and tells no peer.
func cutPower(k *Kernel, n *kernel.Node) {
	if !n.BorrowsNet && !n.LendsNet { // else the network node stays up, and the sockets of this node's programs are closed
		k.Net.NodeDown(netEnv{k}, n.Net, k.Cause) // others wait for answers that never come
	}
	KillNode(k, n.ID)
}

// Reimage ends all programs of a node as LosePower does, and gives it the disk of an image. fault is the fault's ID.
func Reimage(k *Kernel, id kernel.NodeID, fault int, image *fs.Image) error {
	n := k.Nodes[id]
	cutPower(k, n)
	sizes := n.FS.Sizes()
	if e := n.FS.Restore(k.TreeEnv(n), image, fault); e != errno.OK {
		return fmt.Errorf("node %s: the image of its disk: %w", n.Name, e)
	}
	n.Torn = kernel.Torn{}
	lost(k, n, fault, true, sizes)
	k.WakeTreeWatchers(n)
	return nil
}

// PowerOn connects a node again that has lost its power. Its kernel has the settings that it starts with.
func PowerOn(k *Kernel, id kernel.NodeID) {
	n := k.Nodes[id]
	tuning, err := Tune(n, n.BootSysctls)
	if err != nil {
		panic("kernel: settings that a node has started with before: " + err.Error())
	}
	if !n.BorrowsNet && !n.LendsNet {
		k.Net.Tune(n.Net, *tuning)
		k.Net.NodeUp(n.Net)
	}
}

// KillProc ends one process and all of its descendants by kill -9.
func KillProc(k *Kernel, p *Proc) {
	for _, c := range slices.Clone(p.Children) {
		if child := k.Procs[c]; child != nil {
			KillProc(k, child)
		}
	}
	k.EndProcess(p, int(unix.SIGKILL), true)
}

// Pause stops all programs of a node while its kernel continues; fault 0 lets them run again.
func Pause(k *Kernel, id kernel.NodeID, fault int) {
	k.Nodes[id].Paused = fault
	k.Resched = true
}

// Late reports whether a thread of a node could run: after a pause, it could have for some time.
func Late(k *Kernel, id kernel.NodeID) bool {
	return slices.ContainsFunc(k.Runnable, func(t kernel.ThreadID) bool { return k.Threads[t].Node == id })
}

const (
	wNoWait    = 0x01000000
	wNoThread  = 0x20000000
	wAll       = 0x40000000
	wClone     = 0x80000000
	waitByAny  = 0
	waitByPID  = 1
	waitByPGID = 2
	waitByFD   = 3
)

func sysWait4(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	pid, statusAddr, options := args[0].Int(), args[1].Pointer(), uint64(args[2].Uint())
	usageAddr := args[3].Pointer()
	if pid == math.MinInt32 {
		return fail(unix.ESRCH)
	}
	if options&^uint64(unix.WNOHANG|unix.WUNTRACED|unix.WCONTINUED|wNoThread|wAll|wClone) != 0 {
		return fail(unix.EINVAL)
	}
	by, id := waitByAny, 0
	switch {
	case pid > 0:
		by, id = waitByPID, pid
	case pid == 0:
		by, id = waitByPGID, k.Proc(t).PGID
	case pid < -1:
		by, id = waitByPGID, -pid
	}
	p, status, r := await(k, t, by, id, options|unix.WEXITED)
	if p == nil {
		return r
	}
	n := p.PID
	reaped(k, t, p, options)
	if statusAddr != 0 && !k.OutU32(t, statusAddr, uint32(status)) {
		return fail(unix.EFAULT)
	}
	if usageAddr != 0 && !k.Out(t, usageAddr, make([]byte, 144)) {
		return fail(unix.EFAULT)
	}
	return Result(n)
}

func sysWaitid(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	by, id, infoAddr, options := args[0].Int(), args[1].Int(), args[2].Pointer(), uint64(args[3].Uint())
	if options&(unix.WEXITED|unix.WSTOPPED|unix.WCONTINUED) == 0 ||
		options&^uint64(unix.WNOHANG|unix.WSTOPPED|unix.WEXITED|unix.WCONTINUED|wNoWait|wNoThread|wAll|wClone) != 0 {
		return fail(unix.EINVAL)
	}
	switch by {
	case waitByAny:
	case waitByPID:
		if id <= 0 {
			return fail(unix.EINVAL)
		}
	case waitByPGID:
		if id == 0 {
			id = k.Proc(t).PGID
		}
	case waitByFD:
		f := k.File(t, id)
		if f == nil || f.Kind != kernel.FilePID {
			return fail(unix.EBADF)
		}
		by, id = waitByPID, -1
		if p := k.Procs[f.Obj]; p != nil {
			id = p.PID
		}
		if f.Flags&unix.O_NONBLOCK != 0 {
			if c, _, r := await(k, t, by, id, options|unix.WNOHANG|wNoWait); c == nil && r == 0 {
				return fail(unix.EAGAIN)
			}
		}
	default:
		return fail(unix.EINVAL)
	}
	p, status, r := await(k, t, by, id, options)
	if p == nil {
		if r == 0 && infoAddr != 0 {
			k.Out(t, infoAddr, make([]byte, 128))
		}
		return r
	}
	s := kernel.Signal{Number: int(unix.SIGCHLD), PID: p.PID, UID: p.Cred.UID, Child: true}
	switch {
	case status&0xff == 0x7f:
		s.Code, s.Status = 5, status>>8
	case status == 0xffff:
		s.Code, s.Status = 6, int(unix.SIGCONT)
	case status&0x7f != 0:
		s.Code, s.Status = 2, status&0x7f
	default:
		s.Code, s.Status = 1, status>>8
	}
	if options&wNoWait == 0 {
		reaped(k, t, p, options)
	}
	info := s.Info()
	if infoAddr != 0 && !k.Out(t, infoAddr, info[:]) {
		return fail(unix.EFAULT)
	}
	return 0
}

// await finds a child that has changed its state; without one it gives the result of the call.
func await(k *Kernel, t *Thread, by, id int, options uint64) (*Proc, int, Result) {
	me := k.Proc(t)
	found := false
	for _, cid := range me.Children {
		c := k.Procs[cid]
		if by == waitByPID && c.PID != id || by == waitByPGID && c.PGID != id {
			continue
		}
		if cloned := c.ExitSignal != int(unix.SIGCHLD); options&wAll == 0 && cloned != (options&wClone != 0) {
			continue
		}
		found = true
		switch {
		case c.Zombie:
			if options&unix.WEXITED != 0 {
				return c, c.Status, 0
			}
		case c.Stopped && !c.Reported && options&unix.WUNTRACED != 0:
			return c, c.Status, 0
		case c.Continued && !c.Reported && options&unix.WCONTINUED != 0:
			return c, 0xffff, 0
		}
	}
	switch {
	case !found:
		return nil, 0, fail(unix.ECHILD)
	case options&unix.WNOHANG != 0:
		return nil, 0, 0
	}
	return nil, 0, k.Block(t, 0, Key{Kind: kernel.KeyChild, ID: me.ID})
}

func reaped(k *Kernel, t *Thread, p *Proc, options uint64) {
	if p.Zombie {
		sawKilled(k, p)
		k.Inherit(t, p)
		k.Reap(p)
	} else {
		p.Reported = true
	}
}
