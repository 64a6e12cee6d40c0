package vm

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/vm/wire"
)

// Replay is a virtual machine that makes a recorded run again, forward and backward.
//
// Its CPU rings as in the run, and stands still until it is answered. When it goes backward, QEMU restores a snapshot and goes on from there: the
// guest then asks again what it has asked before. So answers go by the number of the request, which lies in the guest's memory.
type Replay struct {
	recording *Recording
	machine   *machine
	diverged  chan error
	served    chan struct{} // closed when no bell will be answered any more

	mu     sync.Mutex
	reader bellReader
	stopAt int // QEMU is to stop at the request of this number, or the next one; 0 is nowhere
}

// Replay begins a Replay. It stands before its first instruction.
func (r *Recording) Replay() (*Replay, error) {
	if !r.ended {
		return nil, errors.New("the run was not recorded to its end")
	}
	p := r.plan
	p.replay = true
	var err error
	if p.ram, err = blank(p.bytes); err != nil {
		return nil, err
	}
	m, err := start(p)
	if err != nil {
		p.ram.Close()
		return nil, err
	}
	m.pair.letThrough() // the record says when the main thread does what
	y := &Replay{recording: r, machine: m, diverged: make(chan error, 1), served: make(chan struct{})}
	y.reader.most = uint64(p.bytes) + highGap
	go y.serve()
	return y, nil
}

// Close ends the Replay.
func (y *Replay) Close() {
	y.machine.cmd.Process.Kill()
	<-y.served
	y.machine.close()
	y.machine.ram.Close()
}

// Ended is closed when QEMU has ended: a debugger has ended it, or the record is over.
func (y *Replay) Ended() <-chan struct{} { return y.machine.ended }

// ErrDiverged is the error of a Replay in which the guest asks what it has not asked in the run. It gets no answer, and stands still.
var ErrDiverged = errors.New("the replay NO LONGER matches the recorded run")

// Diverged gives an ErrDiverged.
func (y *Replay) Diverged() <-chan error { return y.diverged }

// Find is the number of the request before whose answer the run has come to an event, or, if that is 0, to a virtual time; to the end of the
// run if both are 0.
func (r *Recording) Find(event uint64, timeNs int64) int {
	for i, x := range r.exchanges[:r.last] {
		if event > 0 && x.event >= event || event == 0 && timeNs > 0 && x.timeNs >= timeNs {
			return i + 1
		}
	}
	return r.last
}

// Along runs forward to the request last, and stops soon after. It has QEMU keep so many snapshots, at least two, from the request first on.
func (y *Replay) Along(first, last, snapshots int, interrupt <-chan struct{}) error {
	at := 0
	for i := range snapshots {
		number := first + (last-first)*i/(snapshots-1)
		if number == at {
			continue
		}
		at = number
		if err := y.goTo(at, interrupt); err != nil {
			return err
		}
		if err := y.snapshot(fmt.Sprintf("at-%d", at)); err != nil {
			return err
		}
	}
	return nil
}

// goTo runs forward to a request, and stops soon after.
func (y *Replay) goTo(number int, interrupt <-chan struct{}) error {
	y.mu.Lock()
	y.stopAt = number
	y.mu.Unlock()
	if err := y.machine.mon.send("cont", nil); err != nil {
		return err
	}
	for began := time.Now(); time.Since(began) < hangWait; {
		if y.machine.mon.await("STOP", time.Second) {
			return nil
		}
		select {
		case <-interrupt:
			return errInterrupted
		case <-y.machine.ended:
			return errEnded
		case err := <-y.diverged:
			return err
		default:
		}
	}
	return fmt.Errorf("QEMU's replay did not reach request %d of the recorded run within %v of real time", number, hangWait)
}

// snapshot has QEMU keep a snapshot here, from which it goes backward sooner. It makes none within the beginning of a bell, of which the rest
// would not be understood.
func (y *Replay) snapshot(name string) error {
	time.Sleep(stopPause) // what the guest has written is read
	y.mu.Lock()
	within := y.reader.n > 0
	y.mu.Unlock()
	if within {
		return nil
	}
	return y.command("savevm " + name)
}

// Listen opens QEMU's server for gdb at an address of TCP.
func (y *Replay) Listen(address string) error { return y.command("gdbserver tcp:" + address) }

// command gives QEMU's monitor a command for people, which prints nothing if it succeeds.
func (y *Replay) command(line string) error {
	text, err := y.machine.mon.execute("human-monitor-command", map[string]any{"command-line": line}, saveWait)
	if err != nil {
		return fmt.Errorf("QEMU: %s: %w", line, err)
	}
	var said string
	if err := json.Unmarshal(text, &said); err != nil {
		return err
	}
	if said = strings.TrimSpace(said); said != "" && !strings.HasPrefix(said, "Waiting for gdb") {
		return fmt.Errorf("QEMU: %s: %s", line, said)
	}
	return nil
}

// serve answers all bells.
func (y *Replay) serve() {
	defer close(y.served)
	var b [wire.HeadBytes]byte
	for {
		n, err := unix.Read(y.machine.bell, b[:])
		switch {
		case n > 0:
		case n == 0 && err == nil:
			return
		case err == unix.EINTR || err == unix.EAGAIN:
			continue
		default:
			return
		}
		for _, c := range b[:n] {
			y.mu.Lock()
			table, rung := y.reader.readByte(c)
			y.mu.Unlock()
			if !rung {
				continue
			}
			if err := y.answer(table); err != nil { // QEMU has ended, or
				if errors.Is(err, ErrDiverged) {
					y.diverged <- err
				}
				return
			}
		}
	}
}

// answer answers the request of a table.
func (y *Replay) answer(table uint64) error {
	m := y.machine
	if err := m.find(table); err != nil {
		return err
	}
	kind, request, err := m.read()
	if err != nil {
		return err
	}
	var number [8]byte
	if _, err := m.mem.ReadAt(number[:], m.place(table)+wire.TableNumber); err != nil {
		return err
	}
	i := int(binary.LittleEndian.Uint64(number[:]))
	y.mu.Lock()
	stop := y.stopAt > 0 && i >= y.stopAt
	if stop {
		y.stopAt = 0
	}
	y.mu.Unlock()
	if stop {
		if err := m.mon.send("stop", nil); err != nil {
			return err
		}
	}
	if i < 1 || i > len(y.recording.exchanges) || y.recording.exchanges[i-1].request != digest(kind, request) {
		return fmt.Errorf("%w: request %d of the virtual machine differs from the recorded one", ErrDiverged, i)
	}
	return m.put(y.recording.exchanges[i-1].answer)
}

// bellReader finds the beginnings of bells in what the guest writes: where it goes backward, one breaks off and another begins.
type bellReader struct {
	most uint64 // above all physical addresses
	head [wire.HeadBytes]byte
	n    int // bytes of head
}

// readByte takes one byte, and reports the address of the table when the head of a bell is complete.
func (r *bellReader) readByte(c byte) (table uint64, rung bool) {
	r.head[r.n] = c
	r.n++
	for r.n > 0 && !r.begins() {
		copy(r.head[:], r.head[1:r.n])
		r.n--
	}
	if r.n < len(r.head) {
		return 0, false
	}
	r.n = 0
	return binary.LittleEndian.Uint64(r.head[len(wire.Magic):]), true
}

// begins reports whether head may be the beginning of a bell.
func (r *bellReader) begins() bool {
	n := min(r.n, len(wire.Magic))
	if string(r.head[:n]) != string(wire.Magic[:n]) {
		return false
	}
	table := binary.LittleEndian.Uint64(r.head[len(wire.Magic):])
	return r.n < len(r.head) || table%wire.PageBytes == 0 && table < r.most
}
