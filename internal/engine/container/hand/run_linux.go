package hand

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// run starts a program whose standard input is a socket, passes on what the engine writes and what the program says, and kills it with its
// process group when the engine does not listen any more.
func run(argv []string, in io.Reader, out io.Writer) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "orders"), os.NewFile(uintptr(pair[1]), "orders")
	runtime.LockOSThread() // the program gets its signal when the thread that started it ends
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin = theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	s := signs{out: json.NewEncoder(out)}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return s.send(&Sign{Ended: true, Failed: err.Error()})
	}
	theirs.Close()
	var reading sync.WaitGroup
	for name, from := range map[string]io.Reader{"stdout": stdout, "stderr": stderr} {
		reading.Go(func() { s.lines(name, from) })
	}
	read := make(chan struct{})
	go func() { reading.Wait(); close(read) }()
	go s.answers(ours)
	go func() {
		orders := json.NewDecoder(in)
		for {
			var o Signal
			if err := orders.Decode(&o); err != nil {
				break
			}
			io.WriteString(ours, o.Line)
		}
		unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
	}()
	state, err := cmd.Process.Wait()
	if err != nil {
		return err
	}
	unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
	select {
	case <-read:
	case <-time.After(patience):
	}
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok {
		return errors.New("a program ended without a status")
	}
	return s.send(&Sign{Ended: true, Status: int(status)})
}

// patience bounds the wait for the output of processes that a program has left behind in a group of their own.
const patience = 200 * time.Millisecond

// signs writes signs, one at a time.
type signs struct {
	mu  sync.Mutex
	out *json.Encoder
}

func (s *signs) send(sign *Sign) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Encode(sign)
}

// answers passes on documents of JSON, which need not be lines.
func (s *signs) answers(from io.Reader) {
	in := json.NewDecoder(from)
	for {
		var text json.RawMessage
		if in.Decode(&text) != nil || s.send(&Sign{Stream: "answer", Text: string(text)}) != nil {
			return
		}
	}
}

// reserve takes the room that a file system has for a file.
func reserve(f *os.File) {
	var room unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &room) == nil {
		unix.Fallocate(int(f.Fd()), 0, 0, int64(room.Bavail)*room.Bsize)
	}
}

// maxText bounds a line of output; a longer one comes in parts.
const maxText = 256 << 10

func (s *signs) lines(stream string, from io.Reader) {
	in := bufio.NewReaderSize(from, maxText)
	for {
		line, err := in.ReadSlice('\n')
		if n := len(line); n > 0 {
			if line[n-1] == '\n' {
				line = line[:n-1]
			}
			if s.send(&Sign{Stream: stream, Text: string(line)}) != nil {
				return
			}
		}
		if err != nil && err != bufio.ErrBufferFull {
			return
		}
	}
}
