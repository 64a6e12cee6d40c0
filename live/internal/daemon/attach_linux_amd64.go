package daemon

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Daemon is a live program of which checkpoints can be made.
type Daemon struct {
	PID  int
	born string // its start time, so that another process of the same number is not taken for it
	vdso vdso
	code code
}

// Attach checks that checkpoints of a process can be made. It does not stop the process.
func Attach(pid int) (*Daemon, error) {
	if err := check(pid); err != nil {
		return nil, err
	}
	d := &Daemon{PID: pid}
	var err error
	if d.born, err = born(pid); err != nil {
		return nil, err
	}
	maps, err := readMaps(pid)
	if err != nil {
		return nil, err
	}
	if d.vdso, err = readVDSO(pid, maps); err != nil {
		return nil, err
	}
	if d.code, err = findCode(pid, maps); err != nil {
		return nil, err
	}
	return d, nil
}

// check refuses processes of which a fork would not be a true copy, or which this one may not trace.
func check(pid int) error {
	if pid == os.Getpid() {
		return fmt.Errorf("process %d is this process: start bloodhound in a process other than the daemon", pid)
	}
	status, err := status(pid)
	if err != nil {
		return fmt.Errorf("there is no process %d: give the process id of a running daemon", pid)
	}
	if uid, own := strings.Fields(status["Uid"]),
		os.Geteuid(); own != 0 && (len(uid) < 4 || uid[0] != strconv.Itoa(own) || uid[1] != uid[0] || uid[2] != uid[0]) {
		return fmt.Errorf("process %d runs as user %s, but bloodhound runs as user %d: run bloodhound as that "+
			"user, or as root", pid, status["Uid"], own)
	}
	if err := hasOneThread(pid); err != nil {
		return err
	}
	if tracer := status["TracerPid"]; tracer != "0" {
		return fmt.Errorf("process %d is traced by process %s: end that debugger first", pid, tracer)
	}
	switch status["State"][:1] {
	case "Z", "X":
		return fmt.Errorf("process %d has ended: give the process id of a running daemon", pid)
	case "T", "t":
		return fmt.Errorf("process %d is stopped: continue it first (kill -CONT %d)", pid, pid)
	}
	if inNamespace(status) == 1 {
		return fmt.Errorf("process %d is the first process of its container, so it adopts the copies and would "+
			"have to reap them: start the container with an init (docker run --init)", pid)
	}
	if strings.Contains(status["x86_Thread_features"], "shstk") {
		return fmt.Errorf("process %d has a shadow stack, so bloodhound cannot make it execute calls: start it "+
			"without one (GLIBC_TUNABLES=glibc.cpu.x86_shstk=off)", pid)
	}
	if status["Seccomp"] != "0" {
		return fmt.Errorf("process %d has a system call filter, which may end it when it forks: start the daemon "+
			"without one (SystemCallFilter of systemd, docker run --security-opt seccomp=unconfined)", pid)
	}
	f, err := elf.Open(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return fmt.Errorf("cannot read the program of process %d: run bloodhound as its user, or as root: %w", pid, err)
	}
	defer f.Close()
	if f.Class != elf.ELFCLASS64 || f.Machine != elf.EM_X86_64 {
		return fmt.Errorf("process %d runs a program for %v (%v): start one built for 64-bit x86-64", pid, f.Machine, f.Class)
	}
	return nil
}

// inNamespace is the number by which a process knows itself, in a container say.
func inNamespace(status map[string]string) int {
	numbers := strings.Fields(status["NSpid"])
	if len(numbers) == 0 {
		numbers = strings.Fields(status["Pid"])
	}
	pid, _ := strconv.Atoi(numbers[len(numbers)-1])
	return pid
}

// mayNotTrace is the error of a process that this one may not trace.
func mayNotTrace(pid int, err error) error {
	if scope, _ := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope"); len(scope) > 0 && scope[0] != '0' {
		return fmt.Errorf("cannot trace process %d, because /proc/sys/kernel/yama/ptrace_scope is %s: run "+
			"bloodhound as root, or set it to 0 (sysctl kernel.yama.ptrace_scope=0): %w", pid, bytes.TrimSpace(scope), err)
	}
	return fmt.Errorf("cannot trace process %d: run bloodhound as root, or as its user if it has not changed "+
		"users or raised its rights since it started: %w", pid, err)
}

// hasOneThread checks that a process has one thread.
func hasOneThread(pid int) error {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err == nil && len(threads) != 1 {
		err = fmt.Errorf("process %d has %d threads, but a fork copies only one: start the daemon with one "+
			"thread", pid, len(threads))
	}
	return err
}

// status reads /proc/PID/status.
func status(pid int) (map[string]string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		fields[key] = strings.TrimSpace(value)
	}
	return fields, nil
}

// born reads when a process was started, in ticks since the machine was.
func born(pid int) (string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	return fields[19], nil
}

// mapping is a line of /proc/PID/maps.
type mapping struct {
	from, to uint64
	rights   string
	name     string
}

func readMaps(pid int) (list []mapping, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		var m mapping
		if _, err := fmt.Sscanf(line, "%x-%x %s", &m.from, &m.to, &m.rights); err != nil {
			return nil, fmt.Errorf("/proc/%d/maps: %w", pid, err)
		}
		if fields := strings.Fields(line); len(fields) > 5 {
			m.name = fields[5]
		}
		list = append(list, m)
	}
	return list, nil
}

// vdso is the code of the kernel in the daemon's memory: where it is, and the functions that read clocks.
type vdso struct {
	from, to  uint64
	functions map[string]uint64
}

func (v *vdso) has(address uint64) bool { return v.from <= address && address < v.to }

func readVDSO(pid int, maps []mapping) (v vdso, err error) {
	for _, m := range maps {
		if m.name != "[vdso]" {
			continue
		}
		image := make([]byte, m.to-m.from)
		if err := readMemory(pid, m.from, image); err != nil {
			return v, mayNotTrace(pid, err)
		}
		f, err := elf.NewFile(bytes.NewReader(image))
		if err != nil {
			return v, fmt.Errorf("the vDSO of process %d: %w", pid, err)
		}
		symbols, err := f.DynamicSymbols()
		if err != nil {
			return v, fmt.Errorf("the vDSO of process %d: %w", pid, err)
		}
		v = vdso{from: m.from, to: m.to, functions: map[string]uint64{}}
		for _, s := range symbols {
			if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Value < uint64(len(image)) {
				v.functions[s.Name] = m.from + s.Value
			}
		}
		return v, nil
	}
	return v, fmt.Errorf("process %d has no vDSO, which bloodhound needs to set the clocks of copies: start the "+
		"machine without vdso=0", pid)
}
