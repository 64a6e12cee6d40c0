//go:build linux && amd64

package debug

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/debug/rsp"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/internal/view"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// served is a session that debuggers find at an address.
type served struct {
	*Session
	address string
	lock    sync.Mutex
	notes   []string
}

// noted waits for a note that has a text.
func (s *served) noted(t *testing.T, text string) {
	t.Helper()
	for range 500 {
		s.lock.Lock()
		found := slices.ContainsFunc(s.notes, func(n string) bool { return strings.Contains(n, text) })
		s.lock.Unlock()
		if found {
			return
		}
		time.Sleep(10 * time.Millisecond) // the server writes notes whenever it notices something
	}
	t.Fatalf("no note has %q: %q", text, s.notes)
}

// serve has debuggers find a run.
func serve(t *testing.T, spec *world.Spec, want *record.Outcome) *served {
	t.Helper()
	s := &served{Session: &Session{Timeline: timelineOf(t, spec), Shown: func(engine.Thread) bool { return true }}}
	for i := range spec.Nodes {
		s.Nodes = append(s.Nodes, spec.Nodes[i].Name)
	}
	s.Note = func(format string, args ...any) {
		s.lock.Lock()
		defer s.lock.Unlock()
		s.notes = append(s.notes, fmt.Sprintf(format, args...))
	}
	s.Until = func(p view.Place) (engine.Until, error) {
		u, _, err := p.Until(nil, &want.Ledger)
		return u, err
	}
	s.Ended = func(w World) string {
		if s.Branch() > 0 {
			return "the end of a branch: the answers are" + answers(w.Outcome())
		}
		if got := w.Outcome().Hash; got != want.Hash {
			t.Errorf("the debugged run ends with %s, the original with %s", got, want.Hash)
		}
		return "the end of the run: as it was"
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = l.Addr().String()
	done := make(chan error)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		l.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
		s.Close()
	})
	return s
}

// answers returns the answers that the client of the bank received.
func answers(o *record.Outcome) (text string) {
	for _, l := range o.Log {
		text += " " + l.Text
	}
	return text
}

// gdb runs a script, and returns what it printed.
func gdb(t *testing.T, s *served, script string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "script")
	text := "set remotetimeout 100\nset pagination off\nset confirm off\nset width 0\nset debuginfod enabled off\nset schedule-multiple on\ntarget remote " +
		s.address + "\n" + script
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, needs.Program(t, "gdb"), "-nx", "-batch", "-x", name)
	cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=", "HOME="+t.TempDir(), "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("gdb: %v\n%s\n%q", err, out, s.notes)
	}
	return string(out)
}

// has checks that a text has others in their order.
func has(t *testing.T, text string, wanted ...string) {
	t.Helper()
	rest := text
	for _, w := range wanted {
		_, after, ok := strings.Cut(rest, w)
		if !ok {
			t.Fatalf("%q is missing behind what came before it in\n%s", w, text)
		}
		rest = after
	}
}

// From the end of the run, where a balance is wrong, a watchpoint leads backward from write to write, to the one that should not be.
func TestGDBFindsTheWrite(t *testing.T) {
	spec := bank(t)
	s := serve(t, spec, original(t, spec))
	out := gdb(t, s, `monitor track client reply 8
monitor track client latest_answer
monitor goto end
monitor track bank/10 accounts 4
monitor track bank bank.c::accounts[3]
python gdb.execute("monitor track bank (int *) " + str(gdb.parse_and_eval("&accounts[3].transfers")))
monitor track bank 0x555555558100 40
monitor track bank nothing
monitor track bank accounts[4]
monitor track bank accounts[1].x
monitor track bank (double) 0x7
monitor track bank (short *) 0x10.x
monitor track bank (enum sort *) 0x7
monitor track bank/99 accounts
monitor track bank
monitor why-blocked
print accounts[3]
watch accounts[3].balance
reverse-continue
reverse-continue
reverse-continue
reverse-continue
reverse-continue
reverse-continue
reverse-continue
reverse-continue
backtrace 2
up
print number
info source
down
delete
reverse-finish
reverse-next
reverse-stepi
stepi
x/i $pc
break client
info threads
set $before = $pc
stepi
stepi
reverse-stepi
reverse-stepi
print $pc == $before
reverse-continue
reverse-continue
delete
inferior 2
watch *(int *) &latest_answer
continue
backtrace 1
delete
monitor when
continue
`)
	has(t, out, "$3 = 1", "client (host=", "No more reverse-execution history", "Hardware watchpoint 3", "Old value = 0",
		"New value = 10", "#0  client (host=", "in thread 10 of", "as it was")
	has(t, out, "reply of client/10, 8 bytes", ", by a system call\n      read", " <- client (bank.c:",
		"latest_answer of client/10, 4 bytes", "0 -> 10\n      client (bank.c:92) <- main (bank.c:",
		"after event", "bank/10 thread 11  0 -> -10\n", "book (bank.c:23) <- transfer (bank.c:28) <- worker (bank.c:47)",
		"{balance = 10, transfers = 3} -> {balance = 20, transfers = 3}\n      book (bank.c:23) <- transfer (bank.c:31)",
		"4 bytes at 0x55555555811c\n", "3 -> 4\n      book (bank.c:24)",
		"has 40 bytes at 0x555555558100: the processor can watch only 4 aligned words", "no variable nothing", "the array has 4 elements",
		"struct account has no member x", "a pointer is written as", "it is not a struct", "no type sort", "no process 99",
		"track takes a process", "waits in accept on 3", "waits in futex for the word at", "{balance = ",
		"Hardware watchpoint 1: accounts[3].balance", "Old value", "book (a=", "bank.c:23", "transfer (number=7", "bank.c:31", "= 7")
}

// dial connects as a debugger that sends what it likes.
func dial(t *testing.T, s *served) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(30 * time.Second))
	return c
}

// A second debugger is refused and reported, one that disconnects in the midst of a run or sends garbage ends nothing but itself, and the next one finds
// the world where it was.
func TestDebuggersThatMisbehave(t *testing.T) {
	spec := bank(t)
	want := original(t, spec)
	s := serve(t, spec, want)
	first := dial(t, s)
	conn := rsp.NewConn(first)
	ask := func(conn *rsp.Conn, p string) string {
		t.Helper()
		if err := conn.Send(p); err != nil {
			t.Fatal(err)
		}
		answer, err := conn.Receive()
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	if a := ask(conn, "qSupported:swbreak+"); !strings.Contains(a, "ReverseContinue+") {
		t.Error(a)
	}
	second := dial(t, s)
	if b, err := io.ReadAll(second); len(b) > 0 || err != nil {
		t.Errorf("a second debugger got %q %v", b, err)
	}
	s.noted(t, "a second debugger")
	for _, p := range []string{"", "?", "g", "p0", "pffff", "p", "m0,10", "m", "mzz,1", "m0,ffffffff", "Hgp1.1", "H", "Hg",
		"Hc-1", "T1", "T", "z0,0,1", "Z9,1,1", "Z0", "Z0,,", "Z2,7,99", "z1", "bx", "b", "vCont;x", "vCont;s:pz",
		"qXfer:features:read:target.xml:0,100", "qXfer:features:read:x:0,1", "qXfer:threads:read::0,9999",
		"qXfer:threads:read::zz", "qXfer:auxv:read::ffffff,1", "qXfer:exec-file:read:7:0,10", "qXfer",
		"qXfer:libraries-svr4:read::0,10", "qXfer:libraries-svr4:read::zz", "qXfer:osdata:read:users:0,10",
		"qXfer:osdata:read::ffff,1", "qXfer:memory-map:read::0,100",
		"vFile:open:zz", "vFile:open:2f657463,0,0", "vFile:pread:9,1,1", "vFile:pread:1", "vFile:fstat:1", "vFile:close:7",
		"vFile:", "vFile:readlink:2f", "vFile:setfs:0", "vFile:setfs:zz", "qRcmd,zz", "qThreadExtraInfo,p1.1",
		"M0,1:00", "X0,0:", "G00", "P0=0", "qAttached", "qC", "qfThreadInfo", "qsThreadInfo", "!", "R", "\x80\xff"} {
		ask(conn, p)
	}
	if err := conn.Send("c"); err != nil { // and is gone while it runs
		t.Fatal(err)
	}
	first.Close()
	s.noted(t, "disconnected")
	for range 3 {
		garbage := dial(t, s)
		fmt.Fprint(garbage, strings.Repeat("GET / HTTP/1.1\r\nHost: x\r\n\r\n", 1000))
		io.ReadAll(garbage)
		garbage.Close()
	}
	s.noted(t, "not gdb's remote protocol")
	has(t, gdb(t, s, "monitor when\nmonitor nothing\nmonitor help\nmonitor goto 100\nmonitor goto 99999999\nmonitor goto "+
		"0\nmonitor goto -5\nmonitor quit\nmonitor why-blocked bunk\nmonitor branch 0 1\nprint accounts\ncontinue\n"),
		"after event", `no command "nothing"`, "goto EVENT", "after event 100", "beyond the end",
		"0 is before the point at which", `"-5" names no point of a run`, "or begin or end", "quit takes no arguments",
		`no node "bunk"; there are bank, client`, "give branch N", "$1 = {{", "as it was")
	cmd := exec.Command(needs.Program(t, "gdb"), "-nx", "-batch", "-ex", "target remote "+s.address, "-ex", "reverse-continue",
		"-ex", "shell kill -9 $PPID", "-ex", "continue")
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.Success() {
		t.Errorf("gdb was not killed: %s", out)
	}
	for range 500 {
		if c, err := net.Dial("tcp", s.address); err == nil {
			conn := rsp.NewConn(c)
			err := conn.Send("?")
			answer, err2 := conn.Receive()
			c.Close()
			if err == nil && err2 == nil && strings.HasPrefix(answer, "T05") {
				return
			}
		}
		time.Sleep(10 * time.Millisecond) // until the server has noticed that the other one is gone
	}
	t.Error("no debugger can connect after one was killed")
}

// gdb finds libraries and their symbols, maps of memory, and the processes of all nodes.
func TestGDBLooksAround(t *testing.T) {
	spec := bank(t)
	s := serve(t, spec, original(t, spec))
	if _, err := s.Timeline.GotoUntil(engine.Until{Position: record.PositionAt(200)}); err != nil {
		t.Fatal(err)
	}
	out := gdb(t, s, `info sharedlibrary
break write
continue
info proc mappings
info os
info os processes
info os threads
print $_siginfo.si_signo
delete
continue
`)
	has(t, out, "libc.so.6", "hit Breakpoint 1", "write", "/bank", "r-xp", "libc.so.6", "[stack]", "Listing of all processes",
		"1000010", "/bank serve", "2000010", "client 10.77.0.10", "1000010", "1000011", "= 5\n", "as it was")
}

// The list of libraries is that of the dynamic linker, and a process that writes nonsense into it harms nobody.
func TestLibraries(t *testing.T) {
	spec := bank(t)
	timeline := timelineOf(t, spec)
	if text, err := libraries(timeline.World(), "bank", 10); err != nil || strings.Contains(text, "library name") {
		t.Errorf("before its first instruction a program has %q, %v", text, err)
	}
	if _, err := timeline.GotoUntil(engine.Until{Position: record.PositionAt(150)}); err != nil {
		t.Fatal(err)
	}
	w := timeline.World()
	text, err := libraries(w, "bank", 10)
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(text, `libc.so.6" lm="`)
	var place, base uint64
	fmt.Sscanf(after, `%v" l_addr="%v"`, &place, &base)
	if maps, _ := w.Maps("bank", 10); base == 0 || !strings.Contains(maps, fmt.Sprintf("%x-", base)) {
		t.Fatalf("%q\n%s", text, maps)
	}
	set := func(at uint64, v uint64) {
		t.Helper()
		if err := w.SetMemory("bank", 10, at, binary.LittleEndian.AppendUint64(nil, v)); err != nil {
			t.Fatal(err)
		}
	}
	set(place+mapNext, place) // a ring
	if text, err := libraries(w, "bank", 10); err != nil || strings.Count(text, "<library ") > maxLibraries {
		t.Error("a ring of libraries has no end")
	}
	set(place+mapName, base+1<<40)
	set(place+mapNext, 1)
	if text, err := libraries(w, "bank", 10); err != nil || strings.Contains(text, "libc.so.6") {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := libraries(w, "bank", 999); err == nil {
		t.Errorf("a process that there is not has %q", text)
	}
}

// gdb waits for a command of monitor as long as it takes: it hears meanwhile that the command is at work.
func TestGDBWaitsForCommands(t *testing.T) {
	spec := bank(t)
	s := serve(t, spec, original(t, spec))
	s.Views = []View{{Name: "slow", Print: func(World, []string) (string, error) {
		time.Sleep(4 * time.Second) // longer than gdb waits for a packet below
		return "done\n", nil
	}}}
	if text := gdb(t, s, "set remotetimeout 1\nmonitor slow\n"); !strings.Contains(text, "done") || strings.Contains(text, "Ignoring packet error") {
		t.Error(text)
	}
}
