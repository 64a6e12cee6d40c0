package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/bloodhound-dst/bloodhound/check"
	"github.com/bloodhound-dst/bloodhound/engine"
	"github.com/bloodhound-dst/bloodhound/explore"
	"github.com/bloodhound-dst/bloodhound/report"
	"github.com/bloodhound-dst/bloodhound/world"
)

// session is what a verb that runs worlds needs: workers, and a scratch folder that does not outlive it.
type session struct {
	setup   *explore.Setup
	command explore.Command
	lock    *os.File
}

// openSession checks that this machine has an engine and what the Spec names, and makes the scratch folder in the state
// folder. Scratch folders that killed programs have left there are removed. The nodes do not see what is coming: files that
// are about to be written. What the machine lacks is an engine.Mistakes.
func openSession(spec *world.Spec, state string, coming ...string) (*session, error) {
	eng, err := newEngine()
	if err != nil {
		return nil, failed(err)
	}
	unseen := hidden(spec, coming)
	if err := inspect(eng, spec, unseen); err != nil {
		return nil, err
	}
	command, err := explore.Self(workerName)
	if err != nil {
		return nil, failed(err)
	}
	dir := filepath.Join(state, "scratch")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, failed(report.DiskError(err, state))
	}
	removeStale(dir)
	fresh, err := os.MkdirTemp(dir, "new-")
	if err != nil {
		return nil, failed(report.DiskError(err, dir))
	}
	lock, err := os.OpenFile(lockName(fresh), os.O_CREATE|os.O_RDWR, 0o666)
	scratch := filepath.Join(dir, "run-"+filepath.Base(fresh))
	if err == nil {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err == nil {
		err = os.Rename(fresh, scratch) // from here on others look at it, and find it locked
	}
	if err != nil {
		os.RemoveAll(fresh)
		return nil, failed(report.DiskError(err, dir))
	}
	return &session{setup: &explore.Setup{Spec: spec, Scratch: scratch, Hidden: unseen}, command: command, lock: lock}, nil
}

// inspect asks an engine that can tell whether this machine has what the Spec names.
func inspect(eng engine.Engine, spec *world.Spec, hidden []string) error {
	i, ok := eng.(engine.Inspector)
	if !ok {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return failed(err)
	}
	images, err := imagesOf(spec)
	if err != nil {
		return failed(err)
	}
	err = i.Inspect(spec, engine.Options{Hidden: hidden, Images: images, Self: self})
	var lacking engine.Mistakes
	if err == nil || errors.As(err, &lacking) {
		return err
	}
	return failed(err)
}

// lockName is the file whose lock tells that a scratch folder is in use.
func lockName(scratch string) string { return filepath.Join(scratch, ".lock") }

// removeStale removes the scratch folders that nobody holds a lock on.
func removeStale(dir string) {
	old, _ := filepath.Glob(filepath.Join(dir, "run-*"))
	for _, scratch := range old {
		f, err := os.OpenFile(lockName(scratch), os.O_RDWR, 0)
		if err != nil {
			continue // being made, or removed by somebody else
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			os.RemoveAll(scratch)
		}
		f.Close()
	}
}

func (s *session) close() {
	os.RemoveAll(s.setup.Scratch)
	s.lock.Close()
	dir := filepath.Dir(s.setup.Scratch)
	os.Remove(dir)               // if it is empty
	os.Remove(filepath.Dir(dir)) // if it is empty
}

// errInterrupted is the error of a run that was to be compared with another one, and was cut short.
var errInterrupted = &exitError{check.ExitUnknown, errors.New("interrupted")}

// run does one job in a worker process of its own. It fails if the engine or the machine does. An interrupted run is
// an error too, unless the job asks for the whole Outcome, so that what is known of it can be shown.
func (s *session) run(ctx context.Context, job *explore.Job, progress func(explore.Progress)) (*explore.Reply, error) {
	w, err := explore.StartWorker(s.command, s.setup, -1)
	if err != nil {
		return nil, failed(err)
	}
	defer w.Close()
	reply, err := w.Do(ctx, job, explore.RunTime(s.setup.Spec), progress)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, errInterrupted
	case err != nil:
		return nil, failed(fmt.Errorf("%s: %w", job.Tape.Name(), err))
	case reply.Error != "":
		return nil, failed(errors.New(reply.Error))
	case reply.Summary == nil:
		return nil, failed(errors.New("the worker's answer has no summary"))
	case ctx.Err() != nil && !job.Full:
		return nil, errInterrupted
	}
	return reply, nil
}
