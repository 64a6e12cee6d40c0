package explore

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Limits of worker processes.
const (
	// RunGrace is added to a run's own limit of real time before its worker counts as hung.
	RunGrace = 30 * time.Second
	// DefaultRunTime bounds the real time of a run whose Spec has no limit.
	DefaultRunTime = 10 * time.Minute
	// RunsPerWorker is the number of runs after which a worker process is replaced, so that what an engine leaks
	// stays bounded.
	RunsPerWorker = 500
	// stderrTailBytes is how much of a dead worker's standard error a report shows.
	stderrTailBytes = 4096
)

// RunTime is how long a run of spec may take in real time before its worker counts as hung.
func RunTime(spec *world.Spec) time.Duration {
	if spec.Limits.WallMs > 0 {
		return time.Duration(spec.Limits.WallMs)*time.Millisecond + RunGrace
	}
	return DefaultRunTime
}

// Command makes the command of a worker process; its standard streams are set by this package.
type Command func() *exec.Cmd

// Death is the error of a job whose worker process ended or hung.
type Death struct {
	Hung   bool
	State  string // how the process ended
	Stderr string // the last of what it wrote to its standard error
}

func (d *Death) Error() string {
	text := "the worker process died: " + d.State
	if d.Hung {
		text = "the worker process hung and was killed"
	}
	if d.Stderr != "" {
		text += "\n" + d.Stderr
	}
	return text
}

// Worker is one worker process. It is used by one goroutine at a time.
type Worker struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	replies chan *Reply // closed when the process's output ends
	stderr  *tail
	enc     *json.Encoder
	closed  bool
	Runs    int // jobs given to it
}

// StartWorker starts a worker process and sends it its setup. cpu pins it to that CPU, if it is not negative and the
// system can.
func StartWorker(command Command, setup *Setup, cpu int) (*Worker, error) {
	cmd := command()
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w := &Worker{cmd: cmd, in: in, stderr: &tail{}, enc: json.NewEncoder(in), replies: make(chan *Reply, 1)}
	cmd.Stderr = w.stderr
	isolate(cmd)
	if err := startPinned(cmd, cpu); err != nil {
		return nil, fmt.Errorf("cannot start a worker process: %w", err)
	}
	go func() {
		defer close(w.replies)
		dec := json.NewDecoder(bufio.NewReaderSize(out, 1<<16))
		for {
			r := new(Reply)
			if dec.Decode(r) != nil {
				return
			}
			w.replies <- r
		}
	}()
	if err := w.enc.Encode(setup); err != nil {
		return nil, w.death(false)
	}
	return w, nil
}

// Do has the worker do one job. When ctx ends, the run is interrupted and Do returns what it gave so far; the worker
// takes no more jobs then. After an error, which is a *Death, the worker is gone.
func (w *Worker) Do(ctx context.Context, job *Job, limit time.Duration, progress func(Progress)) (*Reply, error) {
	w.Runs++
	if err := w.enc.Encode(job); err != nil {
		return nil, w.death(false)
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	cancelled := ctx.Done()
	for {
		select {
		case r, ok := <-w.replies:
			if !ok {
				return nil, w.death(false)
			}
			if r.ID != job.ID {
				continue
			}
			if r.Progress != nil {
				if progress != nil {
					progress(*r.Progress)
				}
				continue
			}
			return r, nil
		case <-cancelled:
			cancelled = nil
			w.in.Close() // interrupts the run
			timer.Reset(InterruptGrace)
		case <-timer.C:
			return nil, w.death(true)
		}
	}
}

// death kills what is left of the process and reports how it ended.
func (w *Worker) death(hung bool) error {
	if hung {
		kill(w.cmd)
	}
	w.Close()
	return &Death{Hung: hung, State: w.cmd.ProcessState.String(), Stderr: w.stderr.String()}
}

// drain reads what the worker still says, so that it can end, and kills it if it does not.
func (w *Worker) drain() {
	timer := time.AfterFunc(InterruptGrace, func() { kill(w.cmd) })
	defer timer.Stop()
	for range w.replies {
	}
}

// Close ends the worker process and all that it has left in its process group. It may be called twice.
func (w *Worker) Close() {
	if w.closed {
		return
	}
	w.closed = true
	w.in.Close()
	w.drain()
	reap(w.cmd)
}

// tail keeps the last stderrTailBytes of what is written to it.
type tail struct {
	mu   sync.Mutex
	data []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if extra := len(t.data) - stderrTailBytes; extra > 0 {
		t.data = append(t.data[:0], t.data[extra:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.data))
}

// isDeath reports whether err is that of a dead or hung worker process.
func isDeath(err error) bool {
	var d *Death
	return errors.As(err, &d)
}

// Self is a Command that runs the program itself again with the given arguments.
func Self(args ...string) (Command, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find the program's own file: %w", err)
	}
	return func() *exec.Cmd {
		cmd := exec.Command(path, args...)
		cmd.Args[0] = os.Args[0]
		return cmd
	}, nil
}
