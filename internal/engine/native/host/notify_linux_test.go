//go:build linux && amd64

package host

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// asker is a program that asks for its parent so often, and ends with exit code 0 if it was answered 42 each time and found no flag of a
// single step in R11, where the processor leaves the flags, and else with 1.
func asker(times uint32) []byte {
	code := binary.LittleEndian.AppendUint32([]byte{0xbb}, times) // mov ebx, times
	code = append(code,
		0xb8, unix.SYS_GETPPID, 0, 0, 0, // mov eax, SYS_getppid
		0x0f, 0x05, // syscall
		0x41, 0xf7, 0xc3, 0, 1, 0, 0, // test r11d, 0x100
		0x75, 20, // jnz to mov edi, 1
		0x83, 0xf8, 42, // cmp eax, 42
		0x75, 15, // jne to mov edi, 1
		0xff, 0xcb, // dec ebx
		0x75, 0x100-25, // jnz to mov eax, SYS_getppid
		0x31, 0xff, // xor edi, edi
		0xb8, unix.SYS_EXIT_GROUP, 0, 0, 0, // mov eax, SYS_exit_group
		0x0f, 0x05, // syscall
		0x0f, 0x0b, // ud2
		0xbf, 1, 0, 0, 0, // mov edi, 1
		0xeb, 0x100-16, // jmp to mov eax, SYS_exit_group
	)
	const header, sizes = 0x78, 64 + 32 // of the file and in memory, in the one program header
	img := append(stubImage()[:header], code...)
	binary.LittleEndian.PutUint64(img[sizes:], uint64(len(img)))
	binary.LittleEndian.PutUint64(img[sizes+8:], uint64(len(img)))
	return img
}

// answered has a process ask for its parent so often, answers 42 each time, and reports what does not go as that says. between is called
// before each answer with the number of calls so far; stepped says whether the thread goes to its next call by single steps.
func answered(t *testing.T, tracer *Tracer, times uint32, reference bool, stepped func(asked uint32) bool, between func(m *Machine, asked uint32)) {
	m, err := NewMachine(tracer, Leaks{}, 1000, reference)
	if err != nil {
		t.Error(err)
		return
	}
	defer m.Close()
	vdso, err := NewVDSO()
	if err != nil {
		t.Error(err)
		return
	}
	defer FreeVDSO(vdso)
	fd, err := unix.MemfdCreate("asker", unix.MFD_CLOEXEC)
	if err != nil {
		t.Error(err)
		return
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, asker(times)); err != nil {
		t.Error(err)
		return
	}
	if err := m.Spawn(1, vdso); err != nil {
		t.Error(err)
		return
	}
	if errno := m.Exec(1, machine.Image{FD: fd, Path: "/asker", Argv: []string{"asker"}, VDSO: vdso}, nil); errno != 0 {
		t.Error(errno)
		return
	}
	for asked := uint32(0); ; asked++ {
		var s machine.Stop
		if stepped != nil && stepped(asked) {
			step(m, &s)
		} else {
			m.Resume(1, false, &s)
		}
		if s.Kind != machine.StopCall {
			t.Errorf("a stop of kind %d after %d calls", s.Kind, asked)
			return
		}
		if s.Nr == unix.SYS_EXIT_GROUP {
			if asked != times || s.Args[0] != 0 {
				t.Errorf("it asked %d times, not %d, and ended with exit code %d", asked, times, s.Args[0])
			}
			return
		}
		between(m, asked)
		m.Result(1, 42)
	}
}

// step has the thread run to its next stop instruction by instruction.
func step(m *Machine, s *machine.Stop) {
	th := m.get(1)
	m.withdraw(th)
	for {
		if ok, stopped := m.step(th, s); stopped {
			return
		} else if !ok {
			m.Resume(1, false, s)
			return
		}
	}
}

// A thread that is looked at by single steps continues as if it had not been, whether it makes a call in one of them, or is looked at again
// before the call is answered: no trap is left over, and no flag in the registers.
func TestStepsOverCalls(t *testing.T) {
	for _, reference := range []bool{false, true} {
		for _, pattern := range []uint32{0b1, 0b01, 0b011, 0b1101} {
			onOwnThread(func() {
				answered(t, &Tracer{}, 200, reference, func(asked uint32) bool { return pattern>>(asked%4)&1 != 0 }, func(*Machine, uint32) {})
			})
		}
	}
}

// A call is answered once, though a signal that comes while another thread holds the listener's lock keeps the answer from being sent.
func TestAnswersThatASignalStops(t *testing.T) {
	onOwnThread(func() {
		sent := 0
		answered(t, &Tracer{}, 1000, false, nil, func(m *Machine, asked uint32) {
			if asked > 0 {
				return
			}
			m.let = func(nr, a1, a2, a3, a4, listener, notice uintptr) (first, second uintptr) {
				if nr == unix.SYS_IOCTL {
					if sent++; sent%7 == 3 {
						stopped := syscall.EINTR
						return -uintptr(stopped), -uintptr(stopped)
					}
				}
				return letAndReceive(nr, a1, a2, a3, a4, listener, notice)
			}
		})
		if sent < 1000 {
			t.Skip("no notifications here")
		}
	})
}

// A call is made once, though its process is frozen and thawed while it waits for the answer.
func TestCallsOfFrozenProcesses(t *testing.T) {
	freezers := []struct{ root, procs, state, freeze, frozen, thaw, watch string }{
		{"/sys/fs/cgroup/freezer", "cgroup.procs", "freezer.state", "FROZEN", "FROZEN", "THAWED", "freezer.state"},
		{"/sys/fs/cgroup/unified", "cgroup.procs", "cgroup.freeze", "1", "frozen 1", "0", "cgroup.events"},
		{"/sys/fs/cgroup", "cgroup.procs", "cgroup.freeze", "1", "frozen 1", "0", "cgroup.events"},
	}
	tried := false
	for _, f := range freezers {
		group := filepath.Join(f.root, fmt.Sprintf("bloodhound-%d", os.Getpid()))
		if os.Mkdir(group, 0o755) != nil {
			continue
		}
		defer os.Remove(group)
		if _, err := os.Stat(filepath.Join(group, f.state)); err != nil {
			continue
		}
		put := func(name, value string) {
			if err := os.WriteFile(filepath.Join(group, name), []byte(value), 0); err != nil {
				t.Fatal(err)
			}
		}
		tried = true
		onOwnThread(func() {
			answered(t, &Tracer{}, 50, false, nil, func(m *Machine, asked uint32) {
				if asked%10 != 5 {
					return
				}
				put(f.procs, strconv.Itoa(m.threads[1].tgid))
				put(f.state, f.freeze)
				for {
					now, err := os.ReadFile(filepath.Join(group, f.watch))
					if err != nil {
						t.Fatal(err)
					}
					if strings.Contains(string(now), f.frozen) {
						break
					}
					runtime.Gosched()
				}
				put(f.state, f.thaw)
			})
		})
	}
	if !tried {
		needs.Missing(t, "cgroup", "none here could freeze a process")
	}
}

// Machines with one Tracer do not disturb each other: one lives and ends while another one is in the middle of its work.
func TestMachinesShareATracer(t *testing.T) {
	for _, reference := range []bool{false, true} {
		tracer := NewTracer()
		tracer.Do(func() {
			lived := 0
			answered(t, tracer, 50, reference, nil, func(*Machine, uint32) {
				if lived++; lived%10 == 0 {
					answered(t, tracer, 20, reference, nil, func(*Machine, uint32) {})
				}
			})
			if lived != 50 || len(tracer.machines) > 0 || len(tracer.listeners) > 0 {
				t.Errorf("%d calls; %d machines and %d listeners are left", lived, len(tracer.machines), len(tracer.listeners))
			}
		})
		tracer.End()
	}
}
