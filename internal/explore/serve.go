package explore

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
)

// InterruptGrace is how long a world may take to end after an interrupt before its worker is killed.
const InterruptGrace = 5 * time.Second

// Runner does one job. It sends progress if the job asks for it, and ends the run soon after interrupt is closed.
type Runner func(setup *Setup, job *Job, progress func(Progress), interrupt <-chan struct{}) *Reply

// Serve is a worker process: it reads a Setup and then Jobs as lines of JSON, and writes Replies, until in ends. The
// end of in interrupts the job under way, so that a worker never outlives the program that started it; abandon is
// called if the job does not end within InterruptGrace.
func Serve(in io.Reader, out io.Writer, run Runner, abandon func()) error {
	var mu sync.Mutex
	w := bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	send := func(r *Reply) error {
		mu.Lock()
		defer mu.Unlock()
		if err := enc.Encode(r); err != nil {
			return err
		}
		return w.Flush()
	}

	interrupt := make(chan struct{})
	jobs := make(chan *Job)
	failed := make(chan error, 1)
	var setup Setup
	dec := json.NewDecoder(bufio.NewReader(in))
	if err := dec.Decode(&setup); err != nil {
		return fmt.Errorf("worker: the setup line: %w", err)
	}
	if setup.Spec == nil {
		return fmt.Errorf("worker: the setup line has no spec")
	}
	go func() {
		defer close(interrupt)
		defer close(jobs)
		for {
			job := new(Job)
			if err := dec.Decode(job); err != nil {
				if err != io.EOF {
					failed <- fmt.Errorf("worker: a job line: %w", err)
				}
				return
			}
			jobs <- job
		}
	}()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-done:
			return
		case <-interrupt:
		}
		select {
		case <-done:
		case <-time.After(InterruptGrace):
			abandon()
		}
	}()
	for job := range jobs {
		progress := func(p Progress) { send(&Reply{ID: job.ID, Progress: &p}) }
		reply := contained(run, &setup, job, progress, interrupt)
		reply.ID = job.ID
		if err := send(reply); err != nil {
			return err
		}
		if reply.Last {
			return nil
		}
	}
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// contained does one job. A panic is the failure of that run alone. What it has left is unknown, so this process takes no more jobs.
func contained(run Runner, setup *Setup, job *Job, progress func(Progress), interrupt <-chan struct{}) (reply *Reply) {
	defer func() {
		if value := recover(); value != nil {
			reply = Failed(engine.NewBroken(value, debug.Stack()))
			reply.Last = true
		}
	}()
	return run(setup, job, progress, interrupt)
}

// Failed is the Reply of a run that the engine or the machine failed.
func Failed(err error) *Reply {
	unstarted := slices.ContainsFunc([]error{syscall.ENOENT, syscall.EACCES, syscall.ETXTBSY}, func(e error) bool { return errors.Is(err, e) })
	var broken *engine.Broken
	return &Reply{Error: err.Error(), Broken: errors.As(err, &broken), Unstarted: unstarted}
}
