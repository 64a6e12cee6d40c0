package online

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/bloodhound-dst/bloodhound/live/internal/attach"
	"github.com/bloodhound-dst/bloodhound/live/internal/config"
)

// restoreTime is how long a process may take to restore a snapshot.
const restoreTime = 5 * time.Minute

// restored is a process that has the state of another one.
type restored struct {
	*attach.Attached
	dir     string
	process *exec.Cmd
	ended   chan struct{}
}

// Close ends the process, with its checkpoint.
func (r *restored) Close() error {
	var err error
	if r.Attached != nil {
		err = r.Attached.Close()
	}
	if r.ended != nil {
		r.process.Process.Kill()
		<-r.ended
	}
	return errors.Join(err, os.RemoveAll(r.dir))
}

// restore starts a process with a snapshot of a node's, and asks it for a checkpoint.
func restore(ctx context.Context, n *config.Node, q attach.Request) (r *restored, err error) {
	state, about, err := attach.Snapshot(n.Socket)
	if err != nil {
		return nil, err
	}
	made := &restored{}
	if made.dir, err = os.MkdirTemp("", "bloodhound-live-*"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			made.Close()
		}
	}()
	file, socket := filepath.Join(made.dir, "state"), filepath.Join(made.dir, "socket")
	if err := os.WriteFile(file, state, 0o600); err != nil {
		return nil, err
	}
	var said bytes.Buffer
	made.process = exec.Command(n.Restore[0], n.Restore[1:]...)
	made.process.Dir = n.Dir
	made.process.Env = append(os.Environ(), attach.SocketVariable+"="+socket, attach.RestoreVariable+"="+file)
	made.process.Stdout, made.process.Stderr = &said, &said
	made.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := made.process.Start(); err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	made.ended = make(chan struct{})
	go func() { made.process.Wait(); close(made.ended) }()
	for end := time.Now().Add(restoreTime); ; {
		if made.Attached, err = attach.Ask(socket, q); err == nil {
			made.Paused = about.Paused
			return made, nil
		}
		if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ECONNREFUSED) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-made.ended:
			return nil, fmt.Errorf("the process that restores a snapshot has ended (%v): %s", made.process.ProcessState, bytes.TrimSpace(said.Bytes()))
		case <-time.After(10 * time.Millisecond): // it restores the state
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("the process that restores a snapshot does not listen at BLOODHOUND_LIVE_SOCKET after %v: %s",
				restoreTime, bytes.TrimSpace(said.Bytes()))
		}
	}
}
