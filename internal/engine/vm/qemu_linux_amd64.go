package vm

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/vm/wire"
)

// A virtual machine whose run is a function of what it is given: one CPU whose clock counts instructions (-icount) and jumps when it
// has nothing to do, no device that acts in the host's time, and one by which the guest asks (package wire).

// Bounds of waiting for a virtual machine, in real time.
const (
	startWait = 30 * time.Second  // until QEMU answers its monitor
	hangWait  = 180 * time.Second // between two signs of the guest
)

// The clock of the guest: an instruction takes 1<<icountShift ns.
const icountShift = 1

// oldest is the first version of QEMU that is known to work.
var oldest = [2]int{7, 2}

// findQEMU looks for QEMU, and at its version.
func findQEMU() (path string, err error) {
	name := os.Getenv(QEMUVariable)
	if name == "" {
		name = "qemu-system-x86_64"
	}
	if path, err = exec.LookPath(name); err != nil {
		return "", fmt.Errorf("the engine vm runs QEMU, and there is no %s; install it (apt-get install "+
			"qemu-system-x86), or give its path with --qemu", name)
	}
	text, err := exec.Command(path, "--version").Output()
	m := regexp.MustCompile(`version (\d+)\.(\d+)`).FindSubmatch(text)
	if err != nil || m == nil {
		return "", fmt.Errorf("%s is not QEMU: its --version prints %.80q; give another program with --qemu", path, text)
	}
	major, _ := strconv.Atoi(string(m[1]))
	minor, _ := strconv.Atoi(string(m[2]))
	if major < oldest[0] || major == oldest[0] && minor < oldest[1] {
		return "", fmt.Errorf("%s is QEMU %d.%d, and the engine vm needs %d.%d or later; install a later one, or "+
			"give its path with --qemu",
			path, major, minor, oldest[0], oldest[1])
	}
	return path, nil
}

// spawner starts processes on a thread that lasts as long as this process: their parent, whose death kills them, is the thread.
type spawner struct {
	calls chan func()
	loop  *mainLoop // of all that it starts
}

var theSpawner = sync.OnceValues(func() (*spawner, error) {
	s := &spawner{calls: make(chan func())}
	ready := make(chan error)
	go func() {
		runtime.LockOSThread()
		listener, err := filterMain()
		if err == nil {
			s.loop = newMainLoop(listener)
		}
		ready <- err
		for f := range s.calls {
			f()
		}
	}()
	return s, <-ready
})

// memory is a file that exists as long as a process has it open.
func memory(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate("bloodhound-"+name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// plan describes a virtual machine to start.
type plan struct {
	qemu    string
	kernel  string
	initrd  *os.File
	append  string // of the kernel's command line
	bytes   int64  // of memory
	ram     *os.File
	private bool     // what the guest writes does not reach ram
	state   *os.File // of the devices, with which it begins; nil boots
	unread  int      // bytes of the bell that the guest has yet to write
	head    bool     // the first of them were read
	async   bool     // the guest's time passes as this machine's does
	log     *os.File // of QEMU's record and replay; nil for neither
	drive   *os.File // where QEMU then keeps its snapshots
	replay  bool
}

// machine is a virtual machine that runs.
type machine struct {
	plan
	cmd    *exec.Cmd
	pair   *threads
	bell   int // our end of the socket
	mon    *monitor
	mem    *os.File // of QEMU's process
	base   int64    // where the guest's memory begins in it
	serial *os.File
	saved  *os.File // where QEMU writes the state of its devices
	table  uint64   // physical address of the window's table
	pages  [wire.Pages]uint64
	ended  chan struct{}
	hang   time.Duration // between two signs of the guest
	closed bool
}

// start starts QEMU. The virtual machine stands still.
func start(p plan) (m *machine, err error) {
	by, err := theSpawner()
	if err != nil {
		return nil, err
	}
	m = &machine{plan: p, bell: -1, ended: make(chan struct{}), hang: hangWait}
	defer func(made *machine) {
		if err != nil {
			made.close()
		}
	}(m)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	m.bell = pair[0]
	if err := unix.SetsockoptTimeval(m.bell, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1}); err != nil {
		return nil, err
	}
	theirs := os.NewFile(uintptr(pair[1]), "bell")
	defer theirs.Close()
	if err := narrow(pair[1]); err != nil {
		return nil, err
	}
	qmp, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	own, monitorEnd := os.NewFile(uintptr(qmp[0]), "monitor"), os.NewFile(uintptr(qmp[1]), "monitor")
	defer monitorEnd.Close()
	m.mon = newMonitor(own)
	if m.serial, err = memory("serial"); err != nil {
		return nil, err
	}
	const first = 3
	if m.saved, err = memory("state"); err != nil {
		return nil, err
	}
	files := []*os.File{theirs, monitorEnd, m.serial, p.ram, p.initrd, m.saved}
	if p.state != nil {
		files = append(files, p.state)
	}
	if p.log != nil {
		files = append(files, p.log, p.drive)
	}
	at := func(i int) string { return "/proc/self/fd/" + strconv.Itoa(first+i) }
	share := "on"
	if p.private {
		share = "off"
	}
	args := []string{"-name", "bloodhound,debug-threads=on", "-machine", "q35,memory-backend=ram", "-m",
		strconv.FormatInt(p.bytes>>20, 10), "-smp", "1", "-accel", "tcg,thread=single",
		"-rtc", "base=2020-01-01,clock=vm", "-cpu", "max,-rdrand,-rdseed", "-global", "apic-common.vapic=off", "-nodefaults",
		"-no-user-config", "-no-reboot", "-display", "none",
		"-object", fmt.Sprintf("memory-backend-file,id=ram,size=%d,mem-path=%s,share=%s", p.bytes, at(3), share),
		"-chardev", "socket,id=bell,fd=" + strconv.Itoa(first), "-device", fmt.Sprintf("isa-debugcon,iobase=%#x,chardev=bell", wire.Port),
		"-chardev", "socket,id=mon,fd=" + strconv.Itoa(first+1), "-mon", "chardev=mon,mode=control",
		"-chardev", "file,id=serial,append=on,path=" + at(2), "-serial", "chardev:serial",
		"-kernel", p.kernel, "-initrd", at(4), "-append", p.append, "-S"}
	sleep := "off"
	if p.async {
		sleep = "on"
	}
	icount := fmt.Sprintf("shift=%d,sleep=%s", icountShift, sleep)
	if p.log != nil {
		mode := "record"
		if p.replay {
			mode = "replay"
		}
		icount += fmt.Sprintf(",rr=%s,rrfile=%s,rrsnapshot=%s", mode, at(len(files)-2), firstSnapshot)
		args = append(args, "-drive", "if=none,id=snapshots,format=qcow2,file="+at(len(files)-1))
	}
	args = append(args, "-icount", icount)
	if p.state != nil {
		args = append(args, "-incoming", "defer")
	}
	m.cmd = exec.Command(p.qemu, args...)
	m.cmd.ExtraFiles = files
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	var complaint limitedBuffer
	m.cmd.Stderr = &complaint
	done := make(chan error)
	by.calls <- func() { done <- m.cmd.Start() }
	if err := <-done; err != nil {
		return nil, fmt.Errorf("cannot start QEMU: %w", err)
	}
	go func() {
		m.cmd.Wait()
		m.mon.close()
		close(m.ended)
	}()
	if _, err := m.mon.execute("qmp_capabilities", nil, startWait); err != nil {
		return nil, fmt.Errorf("QEMU does not start: %w %s", err, complaint.text())
	}
	if !p.async {
		if err := m.pairUp(by.loop); err != nil {
			return nil, fmt.Errorf("QEMU's threads: %w", err)
		}
	}
	if p.state != nil {
		// By default QEMU announces the guest to its network in several rounds, by a timer of the host's time: the CPU would stand still until
		// the main thread, which is held back, has seen it.
		_, err := m.mon.execute("migrate-set-parameters", map[string]any{"announce-rounds": 1}, startWait)
		if err == nil {
			err = m.ignoreShared(p.private)
		}
		if err == nil {
			_, err = m.mon.execute("migrate-incoming", map[string]any{"uri": "fd:" + strconv.Itoa(first+6)}, startWait)
		}
		for err == nil {
			var status struct {
				Status  string `json:"status"`
				Running bool   `json:"running"`
			}
			var reply json.RawMessage
			if reply, err = m.mon.execute("query-status", nil, startWait); err == nil {
				err = json.Unmarshal(reply, &status)
			}
			if status.Status != "inmigrate" {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if err != nil {
			return nil, fmt.Errorf("QEMU cannot restore a snapshot: %w %s", err, complaint.text())
		}
	}
	if m.mem, err = os.OpenFile(fmt.Sprintf("/proc/%d/mem", m.cmd.Process.Pid), os.O_RDWR, 0); err != nil {
		return nil, fmt.Errorf("QEMU's memory: %w; with Yama, /proc/sys/kernel/yama/ptrace_scope must be 1 or less", err)
	}
	return m, m.locate()
}

// pairUp keeps the threads of QEMU in step.
func (m *machine) pairUp(loop *mainLoop) error {
	text, err := m.mon.execute("query-cpus-fast", nil, startWait)
	if err != nil {
		return err
	}
	var cpus []struct {
		Thread int `json:"thread-id"`
	}
	if err := json.Unmarshal(text, &cpus); err != nil || len(cpus) != 1 {
		return fmt.Errorf("QEMU must have one CPU, but reports %s", text)
	}
	m.pair, err = loop.add(m.cmd.Process.Pid, cpus[0].Thread)
	return err
}

// narrow has a socket hold so little that the guest's CPU stands still while it rings.
func narrow(fd int) error {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 1); err != nil {
		return err
	}
	test, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer unix.Close(test[0])
	defer unix.Close(test[1])
	if err := unix.SetsockoptInt(test[0], unix.SOL_SOCKET, unix.SO_SNDBUF, 1); err != nil {
		return err
	}
	for held := 0; ; held++ {
		if _, err := unix.Write(test[0], []byte{0}); err == unix.EAGAIN {
			return nil
		} else if err != nil {
			return err
		}
		if held > wire.MostHeld {
			return errors.New("the smallest socket buffer on this machine is too large for the engine vm: its " +
				"guest would keep running while a request waits")
		}
	}
}

// locate finds the guest's memory in QEMU's process.
func (m *machine) locate() error {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", m.cmd.Process.Pid))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "memfd:bloodhound-ram") {
			from, _, _ := strings.Cut(line, "-")
			m.base, err = strconv.ParseInt(from, 16, 64)
			return err
		}
	}
	return errors.New("cannot find the memory of the virtual machine in QEMU's process")
}

// place is where a physical address of the guest lies in QEMU's process: a PC has a gap below 4 GiB, if it has much memory (hw/i386/pc_q35.c).
func (m *machine) place(physical uint64) int64 {
	const most, low = 0xb0000000, 2 << 30
	if m.bytes >= most && physical >= highGap {
		return m.base + int64(physical) - highGap + low
	}
	return m.base + int64(physical)
}

// highGap is where that memory goes on.
const highGap = 4 << 30

// errEnded is a virtual machine that is over.
var errEnded = errors.New("the virtual machine has ended")

// receive reads the bytes of a bell.
func (m *machine) receive(b []byte, interrupt <-chan struct{}) error {
	began := time.Now()
	for len(b) > 0 {
		n, err := unix.Read(m.bell, b)
		switch {
		case n > 0:
			b = b[n:]
			continue
		case n == 0 && err == nil:
			return errEnded
		case err == unix.EINTR:
			continue
		case err != unix.EAGAIN:
			return err
		}
		// Nothing has come for as long as the socket waits.
		select {
		case <-interrupt:
			return errInterrupted
		default:
		}
		if time.Since(began) > m.hang {
			return fmt.Errorf("the virtual machine did not respond for %v of real time: its kernel hangs, or "+
				"this machine is too busy (use fewer --workers); the last lines of its console:\n%s", m.hang, m.console())
		}
	}
	return nil
}

var errInterrupted = errors.New("interrupted")

// next waits for the guest to ask.
func (m *machine) next(interrupt <-chan struct{}) (kind int, request []byte, err error) {
	if m.unread == 0 {
		m.unread, m.head = wire.BellBytes, false
	}
	if !m.head {
		var head [wire.HeadBytes]byte
		if err := m.receive(head[:], interrupt); err != nil {
			return 0, nil, err
		}
		if [8]byte(head[:8]) != wire.Magic {
			return 0, nil, fmt.Errorf("the virtual machine has written %q to port %#x, which only Bloodhound's agent may do", head, wire.Port)
		}
		m.unread -= wire.HeadBytes
		m.head = true
		if err := m.find(binary.LittleEndian.Uint64(head[8:])); err != nil {
			return 0, nil, err
		}
	}
	return m.read()
}

// read reads the request in the window.
func (m *machine) read() (kind int, request []byte, err error) {
	table := make([]byte, wire.TablePages)
	if _, err := m.mem.ReadAt(table, m.place(m.table)); err != nil {
		return 0, nil, m.lost(err)
	}
	request = make([]byte, min(binary.LittleEndian.Uint64(table[wire.TableRequest:]), wire.WindowBytes))
	return int(binary.LittleEndian.Uint64(table[wire.TableKind:])), request, m.window(request, m.mem.ReadAt)
}

// find reads where the window is.
func (m *machine) find(table uint64) error {
	if m.table == table {
		return nil
	}
	page := make([]byte, wire.PageBytes)
	if _, err := m.mem.ReadAt(page, m.place(table)); err != nil {
		return m.lost(err)
	}
	m.table = table
	for i := range m.pages {
		m.pages[i] = binary.LittleEndian.Uint64(page[wire.TablePages+8*i:])
	}
	return nil
}

// lost explains an error of the guest's memory: that of a QEMU which has ended is gone.
func (m *machine) lost(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrShortWrite) {
		return errEnded
	}
	return fmt.Errorf("the memory of the virtual machine: %w", err)
}

// window reads or writes the window.
func (m *machine) window(b []byte, access func([]byte, int64) (int, error)) error {
	for i := 0; len(b) > 0; i++ {
		n := min(len(b), wire.PageBytes)
		if _, err := access(b[:n], m.place(m.pages[i])); err != nil {
			return m.lost(err)
		}
		b = b[n:]
	}
	return nil
}

// answer answers, and lets the guest go on.
func (m *machine) answer(b []byte) error {
	if len(b) > wire.WindowBytes {
		return fmt.Errorf("an answer has %d bytes, more than the limit of %d", len(b), wire.WindowBytes)
	}
	if err := m.put(b); err != nil {
		return err
	}
	rest := make([]byte, m.unread)
	m.unread = 0
	return m.receive(rest, nil)
}

// put writes an answer into the window.
func (m *machine) put(b []byte) error {
	if err := m.window(b, m.mem.WriteAt); err != nil {
		return err
	}
	var size [8]byte
	binary.LittleEndian.PutUint64(size[:], uint64(len(b)))
	if _, err := m.mem.WriteAt(size[:], m.place(m.table)+wire.TableAnswer); err != nil {
		return m.lost(err)
	}
	return nil
}

// console is the end of what the guest's kernel has printed.
func (m *machine) console() string {
	const most = 6000
	size, err := m.serial.Seek(0, io.SeekEnd)
	if err != nil {
		return err.Error()
	}
	b := make([]byte, min(size, most))
	m.serial.ReadAt(b, size-int64(len(b)))
	return strings.ReplaceAll(string(b), "\r", "")
}

// printed returns the output of the guest's kernel since it started here, without the first from bytes.
func (m *machine) printed(from int) []byte {
	size, err := m.serial.Seek(0, io.SeekEnd)
	if err != nil || size <= int64(from) {
		return nil
	}
	b := make([]byte, size-int64(from))
	n, _ := m.serial.ReadAt(b, int64(from))
	return b[:n]
}

// killedBy is the signal that has ended QEMU, or 0.
func (m *machine) killedBy() syscall.Signal {
	<-m.ended
	if status, ok := m.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal()
	}
	return 0
}

// close ends the virtual machine.
func (m *machine) close() {
	if m.closed {
		return
	}
	m.closed = true
	if m.cmd != nil && m.cmd.Process != nil {
		m.cmd.Process.Kill()
		<-m.ended
	}
	if m.pair != nil {
		m.pair.remove()
	}
	if m.bell >= 0 {
		unix.Close(m.bell)
	}
	if m.mon != nil {
		m.mon.close()
	}
	for _, f := range []*os.File{m.mem, m.serial, m.saved} {
		if f != nil {
			f.Close()
		}
	}
}

// limitedBuffer keeps the beginning of what is written to it.
type limitedBuffer struct {
	mu sync.Mutex
	b  []byte
}

func (l *limitedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b = append(l.b, p[:min(len(p), 2000-len(l.b))]...)
	return len(p), nil
}

func (l *limitedBuffer) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.TrimSpace(string(l.b))
}

// monitor speaks QMP (QEMU's docs/interop/qmp-spec.txt).
type monitor struct {
	f       *os.File
	asked   int // by execute, so far
	replies chan reply
	events  chan string
	once    sync.Once
}

type reply struct {
	Return json.RawMessage `json:"return"`
	Error  *struct {
		Desc string `json:"desc"`
	} `json:"error"`
	Event string `json:"event"`
	ID    int    `json:"id"` // that of the request: 0 if nobody waits for the reply
}

func newMonitor(f *os.File) *monitor {
	q := &monitor{f: f, replies: make(chan reply, 16), events: make(chan string, 1000)}
	go func() {
		defer close(q.replies)
		in := bufio.NewReader(f)
		for {
			line, err := in.ReadBytes('\n')
			if err != nil {
				return
			}
			var r reply
			if json.Unmarshal(line, &r) != nil {
				continue
			}
			switch {
			case r.Event != "":
				select {
				case q.events <- r.Event:
				default:
				}
			case r.ID != 0:
				q.replies <- r
			}
		}
	}()
	return q
}

func (q *monitor) close() { q.once.Do(func() { q.f.Close() }) }

// send asks for something, without waiting for the reply: while the guest's CPU stands still in a bell, QEMU answers nothing.
func (q *monitor) send(command string, arguments any) error { return q.write(0, command, arguments) }

func (q *monitor) write(id int, command string, arguments any) error {
	message := map[string]any{"execute": command, "id": id}
	if arguments != nil {
		message["arguments"] = arguments
	}
	if _, err := q.f.Write(append(wire.Encode(message), '\n')); err != nil {
		return errEnded
	}
	return nil
}

// execute asks for something, and waits for the reply.
func (q *monitor) execute(command string, arguments any, wait time.Duration) (json.RawMessage, error) {
	q.asked++
	if err := q.write(q.asked, command, arguments); err != nil {
		return nil, err
	}
	deadline := time.After(wait)
	for {
		select {
		case r, ok := <-q.replies:
			if !ok {
				return nil, errEnded
			}
			if r.ID != q.asked { // which came too late
				continue
			}
			if r.Error != nil {
				return nil, errors.New(r.Error.Desc)
			}
			return r.Return, nil
		case <-deadline:
			return nil, fmt.Errorf("QEMU has not answered its monitor within %v", wait)
		}
	}
}

// await waits for an event.
func (q *monitor) await(name string, wait time.Duration) bool {
	deadline := time.After(wait)
	for {
		select {
		case e := <-q.events:
			if e == name {
				return true
			}
		case <-deadline:
			return false
		}
	}
}

// savedAt is the descriptor of saved in QEMU.
const savedAt = 8

// ignoreShared says whether a migration leaves out memory that lies in a file.
func (m *machine) ignoreShared(on bool) error {
	_, err := m.mon.execute("migrate-set-capabilities",
		map[string]any{"capabilities": []any{map[string]any{"capability": "x-ignore-shared", "state": on}}}, startWait)
	return err
}
