package attach

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/live/internal/checkpoint"
)

const (
	// checkpointsMax is how many checkpoints a live process has at a time.
	checkpointsMax = 4
	// requestBytesMax bounds a request, with the configuration in it.
	requestBytesMax = 64 << 20
	// snapshotBytesMax bounds the state of a process.
	snapshotBytesMax = 1 << 30
	// requestTime is how long a live process waits for a request.
	requestTime = 10 * time.Second
	// answerTime is how long an explorer waits for a live process, which answers directly after a fork, or when it has written a snapshot.
	answerTime = time.Minute
)

// Listen listens at a socket that this user alone can connect to. It takes the place of one that nobody listens at.
func Listen(path string) (*net.UnixListener, error) {
	if conn, err := net.Dial("unix", path); err == nil {
		conn.Close()
		return nil, fmt.Errorf("another process listens at %s: give each process its own socket with "+
			"%s", path, SocketVariable)
	} else if errors.Is(err, syscall.ECONNREFUSED) {
		if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
			os.Remove(path)
		}
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Serve answers requests until the listener is closed.
func Serve(l *net.UnixListener, o *Offer) error {
	places := make(chan struct{}, checkpointsMax)
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			select {
			case places <- struct{}{}:
				defer func() { <-places }()
				o.serve(conn)
			default:
				answer(conn, Answer{Error: fmt.Sprintf("the process already has %d checkpoints", checkpointsMax)})
			}
		}()
	}
}

func (o *Offer) serve(conn *net.UnixConn) {
	about := o.About
	if err := ours(conn); err != nil {
		answer(conn, Answer{Error: err.Error()})
		return
	}
	conn.SetReadDeadline(time.Now().Add(requestTime))
	var r Request
	line, err := bufio.NewReader(io.LimitReader(conn, requestBytesMax)).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	switch {
	case err != nil:
		about.Error = fmt.Sprintf("cannot read the request: %v", err)
		answer(conn, about)
		return
	case r.Snapshot:
		o.snapshot(conn)
		return
	case r.Handler == "" && !r.Router:
		answer(conn, about)
		return
	}
	c, err := o.Take(r)
	if err != nil {
		about.Error = err.Error()
		answer(conn, about)
		return
	}
	defer c.Close()
	about.PID, about.Paused = c.PID, c.Paused
	requests, outcomes := c.Files()
	err = answer(conn, about, requests, outcomes)
	c.Client.Close()
	if err == nil {
		conn.SetReadDeadline(time.Time{})
		conn.Read(make([]byte, 1)) // returns when the other side closes, or ends
	}
}

// snapshot answers with the state of the process.
func (o *Offer) snapshot(conn *net.UnixConn) {
	about := o.About
	state, paused, err := o.Snapshot()
	switch {
	case err != nil:
		about.Error = err.Error()
	case len(state) > snapshotBytesMax:
		about.Error = fmt.Sprintf("the snapshot has %s, more than the limit of "+
			"%d", plural.Count(len(state), "byte"), snapshotBytesMax)
	}
	about.Paused, about.SnapshotBytes = paused, len(state)
	if answer(conn, about) == nil && about.Error == "" {
		conn.Write(state)
	}
}

// ours is an error unless the other side is of this user, or root.
func ours(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var peer *syscall.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		peer, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	if peer.Uid != 0 && int(peer.Uid) != os.Geteuid() {
		return fmt.Errorf("user %d may not explore a process of user %d", peer.Uid, os.Geteuid())
	}
	return nil
}

func answer(conn *net.UnixConn, a Answer, files ...*os.File) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if _, err := conn.Write(append(text, '\n')); err != nil || len(files) == 0 {
		return err
	}
	var numbers []int
	for _, f := range files {
		numbers = append(numbers, int(f.Fd()))
	}
	_, _, err = conn.WriteMsgUnix([]byte{filesByte}, syscall.UnixRights(numbers...), nil)
	return err
}

// filesByte is the byte that the files come with.
const filesByte = '+'

// Attached is a checkpoint of another process.
type Attached struct {
	Answer
	*checkpoint.Client
	conn *net.UnixConn
}

// Close ends the checkpoint.
func (a *Attached) Close() error { return errors.Join(a.Client.Close(), a.conn.Close()) }

// Snapshot asks the process behind a socket for its state.
func Snapshot(path string) (state []byte, about *Answer, err error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, nil, err
	}
	defer conn.Close()
	a, err := ask(conn, Request{Snapshot: true})
	if err != nil {
		return nil, nil, err
	}
	if a.SnapshotBytes > snapshotBytesMax {
		return nil, nil, fmt.Errorf("the snapshot has %s, more than the limit of "+
			"%d", plural.Count(a.SnapshotBytes, "byte"), snapshotBytesMax)
	}
	state = make([]byte, a.SnapshotBytes)
	if _, err := io.ReadFull(conn, state); err != nil {
		return nil, nil, fmt.Errorf("the snapshot is cut short: %w", err)
	}
	return state, &a.Answer, nil
}

// Ask asks the process behind a socket for a checkpoint. Without a handler it gives only the answer.
func Ask(path string, r Request) (*Attached, error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	a, err := ask(conn, r)
	if err != nil || a.Client == nil {
		conn.Close()
	}
	return a, err
}

func ask(conn *net.UnixConn, r Request) (*Attached, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	conn.SetDeadline(time.Now().Add(answerTime))
	defer conn.SetDeadline(time.Time{})
	if _, err := conn.Write(append(text, '\n')); err != nil {
		return nil, err
	}
	a := &Attached{conn: conn}
	// The line is read byte by byte, since files are lost that come with bytes which a plain read takes.
	var line []byte
	for b := make([]byte, 1); ; {
		if _, err := io.ReadFull(conn, b); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return nil, fmt.Errorf("the live process did not answer within %v: continue it if it is stopped "+
					"(kill -CONT), and make sure that its Hold returns",
					answerTime)
			}
			return nil, fmt.Errorf("the live process did not answer: %w", err)
		}
		if b[0] == '\n' {
			break
		}
		line = append(line, b[0])
	}
	if err := json.Unmarshal(line, &a.Answer); err != nil {
		return nil, fmt.Errorf("cannot read the answer of the live process: %w", err)
	}
	if a.Error != "" {
		return nil, errors.New(a.Error)
	}
	if a.PID == 0 {
		return a, nil
	}
	rights := make([]byte, syscall.CmsgSpace(2*4))
	_, n, _, _, err := conn.ReadMsgUnix(make([]byte, 1), rights)
	if err != nil {
		return nil, fmt.Errorf("the live process passed no files: %w", err)
	}
	files, err := filesOf(rights[:n])
	if err != nil {
		return nil, err
	}
	a.Client = checkpoint.Connect(files[0], files[1])
	return a, nil
}

func filesOf(rights []byte) (files []*os.File, err error) {
	messages, err := syscall.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, err
	}
	for i := range messages {
		numbers, err := syscall.ParseUnixRights(&messages[i])
		if err != nil {
			return nil, err
		}
		for _, n := range numbers {
			syscall.CloseOnExec(n)
			files = append(files, os.NewFile(uintptr(n), "checkpoint"))
		}
	}
	if len(files) != 2 {
		return nil, fmt.Errorf("the live process passed %s, not 2", plural.Count(len(files), "file"))
	}
	return files, nil
}
