package debug

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/debug/rsp"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
)

// Serve answers debuggers, one at a time, until the listener is closed. A debugger that comes while there is another one is refused.
func (s *Session) Serve(l net.Listener) error {
	var lock sync.Mutex
	var current net.Conn
	var running sync.WaitGroup
	defer running.Wait()
	defer func() {
		lock.Lock()
		defer lock.Unlock()
		if current != nil {
			current.Close()
		}
	}()
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		lock.Lock()
		if current != nil {
			s.Note("refused a second debugger (%s): %s is already connected", c.RemoteAddr(), current.RemoteAddr())
			lock.Unlock()
			c.Close()
			continue
		}
		current = c
		lock.Unlock()
		running.Go(func() {
			s.Note("a debugger is connected: %s", c.RemoteAddr())
			err := newClient(s, c).serve()
			c.Close()
			switch {
			case errors.Is(err, errDone), errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed):
				s.Note("the debugger has disconnected")
			default:
				s.Note("the debugger %s was disconnected: %v", c.RemoteAddr(), err)
			}
			lock.Lock()
			defer lock.Unlock()
			current = nil
		})
	}
}

// client is a debugger that is connected.
type client struct {
	s       *Session
	conn    *rsp.Conn
	packets chan string // what it sends
	failed  error       // why there is nothing more, when packets is closed
	halt    atomic.Bool // it wants what runs to stop, or is gone
	swbreak bool        // it wants to know which kind of breakpoint was hit
	execs   bool        // and which programs processes execute
	// asked is the thread that the debugger wanted to step when it was told of a program that a process executes.
	asked engine.Thread

	// loaded are the programs of processes of which it has the symbols. Of processes that it finds in a list of threads it has none, until it hears
	// that they have executed a program.
	loaded map[int]string

	general engine.Thread // whose registers and memory are asked for
	moves   engine.Thread // that is to be stepped
	last    engine.Thread // of the last stop
	stop    Stop

	unsaid []string // what to print at the next stop: a debugger prints nothing else that it did not ask for

	breakpoints []breakpoint
	watchpoints []watchpoint
	checkpoints []checkpoint
	restarted   bool           // the next packet that continues stops at once
	files       map[int]string // contents of open files
	nextFile    int
	fileNode    string // whose files are opened; empty is that of the general thread
}

type breakpoint struct {
	engine.Breakpoint
	hardware bool
}

// watchpoint is one of a debugger's, which may be several of the processor's.
type watchpoint struct {
	kind    byte // as in Z packets
	node    string
	pid     int
	address uint64
	bytes   uint64
}

// errDone is the error of a debugger that has ended the connection.
var errDone = errors.New("done")

func newClient(s *Session, c io.ReadWriter) *client {
	return &client{s: s, conn: rsp.NewConn(c), packets: make(chan string), files: map[int]string{}, loaded: map[int]string{}}
}

// serve answers until the connection ends.
func (c *client) serve() error {
	done := make(chan struct{})
	defer close(done)
	go func() {
		defer close(c.packets)
		for {
			p, err := c.conn.Receive()
			if err != nil {
				c.failed = err
				c.halt.Store(true)
				return
			}
			if p == rsp.Interrupt {
				c.halt.Store(true)
				continue
			}
			select {
			case c.packets <- p:
			case <-done:
				return
			}
		}
	}()
	c.s.lock.Lock()
	err := c.settle(Stop{Kind: ByStep})
	c.s.lock.Unlock()
	if err != nil {
		return err
	}
	for p := range c.packets {
		reply, err := c.request(p)
		if p == "QStartNoAckMode" {
			c.conn.Quiet()
		}
		if p == "k" {
			return errDone
		}
		if sent := c.conn.Send(reply); err == nil {
			err = sent
		}
		if err != nil {
			return err
		}
	}
	return c.failed
}

// request answers a packet. What goes wrong with it is noted; errDone ends the connection.
func (c *client) request(p string) (string, error) {
	c.s.lock.Lock()
	defer c.s.lock.Unlock()
	c.halt.Store(false)
	t := c.s.Timeline
	t.Interrupted = c.halt.Load
	defer func() { t.Interrupted = nil }()
	reply, err := c.answer(p)
	if err == nil || errors.Is(err, errDone) {
		return reply, err
	}
	c.s.Note("%v", err)
	return "E01", nil
}

// settle takes in a stop.
func (c *client) settle(stop Stop) error {
	c.stop = stop
	list, err := c.s.threads()
	if err != nil {
		return err
	}
	th, held := c.s.Timeline.World().Held()
	if !held || !slices.ContainsFunc(list, func(o engine.Thread) bool { return same(o, th) }) {
		th = c.general
	}
	if !slices.ContainsFunc(list, func(o engine.Thread) bool { return same(o, th) }) {
		th = engine.Thread{}
		if len(list) > 0 {
			th = list[0]
		}
	}
	c.general, c.moves, c.last = th, th, th
	return nil
}

// stopReply says why the world stopped.
func (c *client) stopReply() string {
	if c.general.TID == 0 {
		return "W00" // no process is left
	}
	why := ""
	switch c.stop.Kind {
	case ByBreakpoint:
		if c.swbreak {
			why = "swbreak:;"
			for i := range c.breakpoints {
				if b := &c.breakpoints[i]; b.hardware && b.Node == c.stop.Thread.Node && b.PID == c.stop.Thread.PID && b.Address == c.pc() {
					why = "hwbreak:;"
				}
			}
		}
	case ByWatchpoint:
		w := &c.watchpoints[c.owner(c.stop.Watch)]
		why = fmt.Sprintf("%s:%x;", map[byte]string{'2': "watch", '3': "rwatch", '4': "awatch"}[w.kind], w.address)
	case AtBegin:
		why = "replaylog:begin;"
	case AtEnd:
		why = "replaylog:end;"
	case ByInterrupt:
		return "T02thread:" + c.s.id(c.general).String() + ";"
	}
	return "T05thread:" + c.s.id(c.general).String() + ";" + why
}

func (c *client) pc() uint64 {
	_, place, err := pc(c.s.Timeline.World())
	if err != nil {
		return 0
	}
	return place
}

// parts are the places of a watchpoint that the processor can watch.
func (w *watchpoint) parts() []engine.Watchpoint {
	return aligned(engine.Watchpoint{Node: w.node, PID: w.pid, Address: w.address, Bytes: int(w.bytes), Reads: w.kind != '2'})
}

// owner is the watchpoint that a place of stops belongs to.
func (c *client) owner(place int) int {
	for i := range c.watchpoints {
		if place -= len(c.watchpoints[i].parts()); place < 0 {
			return i
		}
	}
	return 0
}

// stops are all break- and watchpoints.
func (c *client) stops() *Stops {
	s := &Stops{}
	for i := range c.breakpoints {
		s.Breakpoints = append(s.Breakpoints, c.breakpoints[i].Breakpoint)
	}
	for i := range c.watchpoints {
		s.Watchpoints = append(s.Watchpoints, c.watchpoints[i].parts()...)
	}
	return s
}

// answer answers a packet.
func (c *client) answer(p string) (string, error) {
	name, arguments, _ := strings.Cut(p, ":")
	switch {
	case p == "":
		return "", nil
	case p == "?":
		return c.stopReply(), nil
	case p == "QStartNoAckMode":
		return "OK", nil
	case name == "qSupported":
		c.swbreak, c.execs = strings.Contains(arguments, "swbreak+"), strings.Contains(arguments, "exec-events+")
		c.loaded[c.s.id(c.general).PID] = c.general.Program
		return fmt.Sprintf("PacketSize=%x;QStartNoAckMode+;multiprocess+;exec-events+;vContSupported+;swbreak+;hwbreak+;ReverseStep+;ReverseContinue+;qXfer:features:read+;qXfer:threads:read+;"+
			"qXfer:auxv:read+;qXfer:exec-file:read+;qXfer:siginfo:read+;qXfer:libraries-svr4:read+;qXfer:osdata:read+", rsp.MaxPacketBytes-1), nil
	case name == "qRRCmd":
		return c.rr(arguments)
	case strings.HasPrefix(p, "vRun;"):
		return c.restart(strings.TrimPrefix(p, "vRun;"))
	case name == "qXfer":
		return c.transfer(arguments)
	case p == "qC":
		return "QC" + c.s.id(c.general).String(), nil
	case strings.HasPrefix(p, "qAttached"):
		return "1", nil
	case name == "qSymbol":
		return "OK", nil
	case p == "qfThreadInfo":
		list, err := c.s.threads()
		var ids []string
		for i := range list {
			ids = append(ids, c.s.id(list[i]).String())
		}
		return "m" + strings.Join(ids, ","), err
	case p == "qsThreadInfo":
		return "l", nil
	case strings.HasPrefix(p, "qThreadExtraInfo,"):
		th, err := c.thread(strings.TrimPrefix(p, "qThreadExtraInfo,"))
		return rsp.Hex(title(th)), err
	case strings.HasPrefix(p, "qRcmd,"):
		line, err := rsp.Unhex(strings.TrimPrefix(p, "qRcmd,"))
		if err != nil {
			return "E01", nil
		}
		return c.command(line)
	case p == "vCont?":
		return "vCont;c;C;s;S;t", nil
	case strings.HasPrefix(p, "vCont;"):
		return c.resume(strings.Split(p, ";")[1:])
	case strings.HasPrefix(p, "vFile:"):
		return c.file(strings.TrimPrefix(p, "vFile:"))
	case strings.HasPrefix(p, "vKill"):
		return "OK", errDone
	}
	switch rest := p[1:]; p[0] {
	case 'H':
		if rest == "" {
			return "E01", nil
		}
		th, err := c.thread(rest[1:])
		if err != nil {
			return "E01", nil
		}
		if rest[0] == 'c' {
			c.moves = th
			if id, err := rsp.ParseThread(rest[1:]); err == nil && id.TID <= 0 && (id.PID <= 0 || id.PID == c.s.id(c.last).PID) {
				c.moves = c.last // gdb names no thread for a step backward if all of a process may run, and has asked about others meanwhile
			}
		} else {
			c.general = th
		}
		return "OK", nil
	case 'T':
		if _, err := c.thread(rest); err != nil {
			return "E01", nil
		}
		return "OK", nil
	case 'g', 'p':
		cpu, err := c.s.Timeline.World().CPU(c.general.Node, c.general.TID)
		if err != nil {
			return "E01", nil
		}
		if p[0] == 'g' {
			return rsp.Hex(baseRegisters(cpu)), nil
		}
		n, err := rsp.Number(rest)
		b, ok := oneRegister(cpu, n)
		if err != nil || !ok {
			return "E01", nil
		}
		return rsp.Hex(b), nil
	case 'm':
		n, err := rsp.Numbers(rest)
		if err != nil || len(n) != 2 || n[1] > rsp.MaxPacketBytes/2 {
			return "E01", nil
		}
		b, err := c.s.Timeline.World().Memory(c.general.Node, c.general.PID, n[0], int(n[1]))
		if err != nil || len(b) == 0 && n[1] > 0 {
			return "E14", nil // EFAULT
		}
		return rsp.Hex(b), nil
	case 'M', 'X':
		return c.poke(rest, p[0] == 'M')
	case 'G':
		return c.registers(0, rest, true)
	case 'P':
		number, value, _ := strings.Cut(rest, "=")
		n, err := rsp.Number(number)
		if err != nil {
			return "E01", nil
		}
		return c.registers(n, value, false)
	case 'Z', 'z':
		return c.set(p[0] == 'Z', rest)
	case 'c':
		return c.resume([]string{"c"})
	case 's':
		return c.resume([]string{"s"})
	case 'b':
		return c.back(rest)
	case 'D':
		return "OK", errDone
	}
	return "", nil
}

// thread finds the thread that a debugger names.
func (c *client) thread(name string) (engine.Thread, error) {
	id, err := rsp.ParseThread(name)
	if err != nil {
		return engine.Thread{}, err
	}
	if id.TID <= 0 && id.PID <= 0 {
		return c.general, nil
	}
	list, err := c.s.threads()
	if err != nil {
		return engine.Thread{}, err
	}
	if i := slices.IndexFunc(list, func(t engine.Thread) bool {
		of := c.s.id(t)
		return (id.PID <= 0 || of.PID == id.PID) && (id.TID <= 0 || of.TID == id.TID)
	}); i >= 0 {
		return list[i], nil
	}
	return engine.Thread{}, fmt.Errorf("there is no thread %s", name)
}

// title describes a thread in lists.
func title(t engine.Thread) string {
	text := t.Name + " " + t.Program
	if t.Call != "" {
		text += " waits in " + t.Call
	}
	return text
}

// unloaded is the stop reply that has the debugger read the symbols of a process: the process is said to have executed its program. It is empty where
// there is none.
func (c *client) unloaded() (string, error) {
	if !c.execs {
		return "", nil
	}
	list, err := c.s.threads()
	if err != nil {
		return "", err
	}
	for i := range list {
		if id := c.s.id(list[i]); c.loaded[id.PID] != list[i].Program {
			c.loaded[id.PID] = list[i].Program
			c.general, c.moves = list[i], list[i]
			return "T05thread:" + id.String() + ";exec:" + rsp.Hex(list[i].Program) + ";", nil
		}
	}
	return "", nil
}

// resume runs forward: vCont.
func (c *client) resume(actions []string) (string, error) {
	if c.restarted {
		c.restarted = false
		return c.stopReply(), nil
	}
	step := engine.Thread{}
	for _, a := range actions {
		what, who, _ := strings.Cut(a, ":")
		if what == "" || what[0] != 's' && what[0] != 'S' || step.TID != 0 {
			continue
		}
		step = c.moves
		if who != "" {
			th, err := c.thread(who)
			if err != nil {
				return "E01", nil
			}
			step = th
		}
	}
	if step.TID == 0 {
		step = c.asked
	}
	c.asked = engine.Thread{}
	reply, err := c.unloaded()
	if err != nil {
		return "", err
	}
	if reply != "" { // gdb goes on from here, but no longer by a step
		c.asked = step
		return reply, nil
	}
	var stop Stop
	if step.TID != 0 {
		stop, err = c.s.Timeline.Step(step, c.stops())
		c.general = step
	} else {
		stop, err = c.s.Timeline.Continue(c.stops())
	}
	return c.stopped(stop, err)
}

// back runs backward: bc and bs.
func (c *client) back(how string) (string, error) {
	if c.restarted {
		c.restarted = false
		return c.stopReply(), nil
	}
	if reply, err := c.unloaded(); reply != "" || err != nil {
		return reply, err
	}
	switch how {
	case "c":
		return c.stopped(c.s.Timeline.Back(c.stops()))
	case "s":
		c.general = c.moves
		return c.stopped(c.s.Timeline.StepBack(c.moves))
	}
	return "", nil
}

// stopped is the reply to what has run.
func (c *client) stopped(stop Stop, err error) (string, error) {
	if errors.Is(err, ErrInterrupted) {
		stop, err = Stop{Kind: ByInterrupt}, nil
	}
	if err != nil { // no reply to this but a stop is known to debuggers
		c.s.Note("%v", err)
		stop = Stop{Kind: ByInterrupt}
	}
	if stop.Kind == AtEnd && c.s.Ended != nil {
		c.say(c.s.Ended(c.s.Timeline.World()))
	}
	if text := c.s.begun(); stop.Kind == AtBegin && text != "" {
		c.say(text)
	}
	if err := c.console(strings.Join(c.unsaid, "")); err != nil {
		return "", err
	}
	c.unsaid = nil
	if err := c.settle(stop); err != nil {
		return "", err
	}
	return c.stopReply(), nil
}

// set sets a breakpoint or watchpoint, or takes it away: TYPE,ADDRESS,KIND.
func (c *client) set(on bool, arguments string) (string, error) {
	if len(arguments) < 2 || arguments[0] < '0' || arguments[0] > '4' || arguments[1] != ',' {
		return "", nil
	}
	arguments, _, _ = strings.Cut(arguments, ";")
	n, err := rsp.Numbers(arguments[2:])
	if err != nil || len(n) != 2 {
		return "E01", nil
	}
	if kind := arguments[0]; kind >= '2' {
		w := watchpoint{kind, c.general.Node, c.general.PID, n[0], n[1]}
		c.watchpoints = slices.DeleteFunc(c.watchpoints, func(o watchpoint) bool { return o == w })
		if on {
			if w.bytes == 0 || w.bytes > 8*engine.MaxWatchpoints {
				return "E1c", nil // ENOSPC
			}
			c.watchpoints = append(c.watchpoints, w)
			places := 0
			for i := range c.watchpoints {
				if o := &c.watchpoints[i]; o.node == w.node && o.pid == w.pid {
					places += len(o.parts())
				}
			}
			if places > engine.MaxWatchpoints {
				c.watchpoints = c.watchpoints[:len(c.watchpoints)-1]
				return "E1c", nil
			}
		}
		return "OK", nil
	}
	b := breakpoint{engine.Breakpoint{Node: c.general.Node, PID: c.general.PID, Address: n[0]}, arguments[0] == '1'}
	c.breakpoints = slices.DeleteFunc(c.breakpoints, func(o breakpoint) bool { return o == b })
	if on {
		if len(c.breakpoints) == maxBreakpoints {
			return "E1c", nil
		}
		c.breakpoints = append(c.breakpoints, b)
	}
	return "OK", nil
}

// maxBreakpoints bounds the breakpoints of a debugger.
const maxBreakpoints = 4096

// transfer answers qXfer: OBJECT:read:ANNEX:OFFSET,LENGTH.
func (c *client) transfer(arguments string) (string, error) {
	f := strings.SplitN(arguments, ":", 4)
	if len(f) < 4 || f[1] != "read" {
		return "", nil
	}
	w := c.s.Timeline.World()
	switch object, annex := f[0], f[2]; object {
	case "features":
		text, known := descriptions[annex]
		if !known {
			return "E00", nil
		}
		return rsp.Part(text, f[3]), nil
	case "threads":
		list, err := c.s.threads()
		if err != nil {
			return "", err
		}
		text := `<?xml version="1.0"?><threads>`
		for i := range list {
			text += fmt.Sprintf(`<thread id="%s" core="0" name="%s">%s</thread>`, c.s.id(list[i]), escaped(list[i].Name), escaped(title(list[i])))
		}
		return rsp.Part(text+"</threads>", f[3]), nil
	case "libraries-svr4":
		text, err := libraries(w, c.general.Node, c.general.PID)
		if err != nil {
			return "E01", nil
		}
		return rsp.Part(text, f[3]), nil
	case "osdata":
		text, err := c.s.osdata(annex)
		if err != nil || text == "" {
			return "E00", nil
		}
		return rsp.Part(text, f[3]), nil
	case "auxv":
		b, err := w.Auxv(c.general.Node, c.general.PID)
		if err != nil {
			return "E01", nil
		}
		return rsp.Part(string(b), f[3]), nil
	case "exec-file":
		th := c.general
		if annex != "" {
			var err error
			if th, err = c.thread("p" + annex + ".-1"); err != nil {
				return "E01", nil
			}
		}
		return rsp.Part(th.Program, f[3]), nil
	case "siginfo":
		var b [128]byte
		const trap = 5
		binary.LittleEndian.PutUint32(b[:], trap)
		return rsp.Part(string(b[:]), f[3]), nil
	}
	return "", nil
}

// maxOpenFiles bounds the files that a debugger has open.
const maxOpenFiles = 64

// file answers vFile, by the files of the node that the debugger looks at.
func (c *client) file(request string) (string, error) {
	const noEntry, badFile, tooMany, invalid = "F-1,2", "F-1,9", "F-1,18", "F-1,16"
	what, arguments, _ := strings.Cut(request, ":")
	switch what {
	case "setfs":
		c.fileNode = ""
		if n, err := rsp.Number(arguments); err == nil && n != 0 {
			if node, _, ok := c.s.unnumber(int(n)); ok {
				c.fileNode = node
			}
		}
		return "F0", nil
	case "open":
		name, _, _ := strings.Cut(arguments, ",")
		path, err := rsp.Unhex(name)
		if err != nil {
			return invalid, nil
		}
		if len(c.files) == maxOpenFiles {
			return tooMany, nil
		}
		node := c.fileNode
		if node == "" {
			node = c.general.Node
		}
		b, err := c.read(node, path)
		if err != nil {
			return noEntry, nil
		}
		c.nextFile++
		c.files[c.nextFile] = string(b)
		return fmt.Sprintf("F%x", c.nextFile), nil
	case "close", "fstat":
		n, err := rsp.Number(arguments)
		text, open := c.files[int(n)]
		if err != nil || !open {
			return badFile, nil
		}
		if what == "close" {
			delete(c.files, int(n))
			return "F0", nil
		}
		var st [64]byte // struct stat of the File-I/O protocol, big-endian
		const regular = 0o100755
		binary.BigEndian.PutUint32(st[8:], regular)
		binary.BigEndian.PutUint32(st[12:], 1)
		binary.BigEndian.PutUint64(st[28:], uint64(len(text)))
		binary.BigEndian.PutUint64(st[36:], 4096)
		binary.BigEndian.PutUint64(st[44:], uint64(len(text)+511)/512)
		return fmt.Sprintf("F%x;%s", len(st), st[:]), nil
	case "pread":
		n, err := rsp.Numbers(arguments)
		if err != nil || len(n) != 3 {
			return invalid, nil
		}
		text, open := c.files[int(n[0])]
		if !open {
			return badFile, nil
		}
		text = text[min(n[2], uint64(len(text))):]
		text = text[:min(n[1], uint64(len(text)), rsp.MaxPacketBytes/2)]
		return fmt.Sprintf("F%x;%s", len(text), text), nil
	case "readlink":
		return invalid, nil
	case "write", "unlink", "pwrite":
		return "F-1,1", nil
	}
	return "", nil
}

// maxFileBytes bounds a file that a debugger reads.
const maxFileBytes = 1 << 30

// read reads a file of a node. Names in /proc have the numbers that debuggers know.
func (c *client) read(node, path string) ([]byte, error) {
	w := c.s.Timeline.World()
	if rest, ok := strings.CutPrefix(path, "/proc/"); ok {
		number, _, _ := strings.Cut(rest, "/")
		if n, err := strconv.Atoi(number); err == nil && strings.HasSuffix(rest, "maps") {
			if node, pid, ok := c.s.unnumber(n); ok {
				text, err := w.Maps(node, pid)
				return []byte(text), err
			}
		}
	}
	return contents(w, node, path)
}

// contents are the bytes of a file of a node.
func contents(w World, node, path string) ([]byte, error) {
	tree, err := w.Tree(node)
	if err != nil {
		return nil, err
	}
	r, err := tree.Open(path)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(r, maxFileBytes+1))
	if err == nil && len(b) > maxFileBytes {
		err = fmt.Errorf("%s: it has more than %d MB", path, maxFileBytes>>20)
	}
	return b, err
}

// command answers gdb's monitor command.
func (c *client) command(line string) (string, error) {
	stood := c.s.where()
	working := c.keepAlive()
	text, err := c.s.run(line)
	working()
	if err != nil {
		text = err.Error() + "\n"
	}
	if c.s.where() != stood {
		text += "(gdb reads registers and frames anew when it next runs the world, or after: maintenance flush " +
			"register-cache)\n"
	}
	text = strings.Join(c.unsaid, "") + text
	c.unsaid = nil
	if err := c.console(text); err != nil {
		return "", err
	}
	if err := c.settle(Stop{Kind: ByStep}); err != nil {
		return "", err
	}
	return "OK", nil
}

// patience is how long gdb waits for a packet at least (remotetimeout, 2 s) before it prints that it has had none, with room for a busy machine.
const patience = 500 * time.Millisecond

// keepAlive sends gdb packets without content, until it is called off.
func (c *client) keepAlive() (off func()) {
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(patience)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				if c.conn.Send("O") != nil {
					return
				}
			}
		}
	}()
	return func() { close(over); <-done }
}

// say prints a line for the user of the prompt, and for that of the debugger when it allows that next.
func (c *client) say(text string) {
	c.s.Note("%s", text)
	c.unsaid = append(c.unsaid, text+"\n")
}

// console has the debugger print a text.
func (c *client) console(text string) error {
	for len(text) > 0 {
		n := min(len(text), rsp.MaxPacketBytes/4)
		if err := c.conn.Send("O" + rsp.Hex(text[:n])); err != nil {
			return err
		}
		text = text[n:]
	}
	return nil
}

// write changes the world, and replies to a packet that asks for that.
func (c *client) write(what string, change func(World) error) (string, error) {
	if c.s.Recording {
		return "", errors.New("this debugger cannot change memory here: it was told that the run is a read-only recording; " +
			"use gdb to write")
	}
	note, err := c.s.write(what, change)
	if note != "" {
		c.say(note)
	}
	if err != nil {
		c.s.Note("%v", err)
		return "E." + err.Error(), nil
	}
	return "OK", nil
}

// poke writes to memory: ADDRESS,LENGTH:BYTES. What is there already is no write.
func (c *client) poke(arguments string, digits bool) (string, error) {
	where, text, _ := strings.Cut(arguments, ":")
	n, err := rsp.Numbers(where)
	if digits && err == nil {
		text, err = rsp.Unhex(text)
	}
	if err != nil || len(n) != 2 || n[1] != uint64(len(text)) {
		return "E01", nil
	}
	th := c.general
	if was, err := c.s.Timeline.World().Memory(th.Node, th.PID, n[0], len(text)); err == nil && string(was) == text {
		return "OK", nil // so with no bytes, by which gdb asks whether the packet is known
	}
	return c.write(fmt.Sprintf("%d bytes were written at %#x of %s/%d", len(text), n[0], th.Node, th.PID),
		func(w World) error { return w.SetMemory(th.Node, th.PID, n[0], []byte(text)) })
}

// registers writes the bytes of one register, or of all base registers from the first on. What they hold already is no write.
func (c *client) registers(first uint64, digits string, all bool) (string, error) {
	text, err := rsp.Unhex(digits)
	if err != nil {
		return "E01", nil
	}
	th := c.general
	cpu, err := c.s.Timeline.World().CPU(th.Node, th.TID)
	if err != nil {
		return "E01", nil
	}
	var changed []string
	for n := first; n == first || all && text != ""; n++ {
		was, ok := oneRegister(cpu, n)
		if !ok || len(text) < len(was) || !all && len(text) > len(was) {
			return "E01", nil
		}
		if string(was) != text[:len(was)] {
			if !setRegister(cpu, n, []byte(text[:len(was)])) {
				return "E.this machine has no register " + registers[n].name, nil
			}
			changed = append(changed, registers[n].name)
		}
		text = text[len(was):]
	}
	if len(changed) == 0 {
		return "OK", nil
	}
	return c.write(fmt.Sprintf("%s of thread %d of %s was written", strings.Join(changed, ", "), th.TID, th.Node),
		func(w World) error { return w.SetCPU(th.Node, th.TID, cpu) })
}
