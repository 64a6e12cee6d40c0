package debug

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/cli/stored"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/vm"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/view"
)

// defaultVMSnapshots is how many snapshots QEMU keeps along a run. Each is as large as the memory that the guest uses.
const defaultVMSnapshots = 4

// debugVM records the run, makes it again in QEMU, and has QEMU serve gdb.
func debugVM(a *console.App, c *cobra.Command, s *project.Session, d *debugged, o *debugOptions, address string) error {
	for _, name := range []string{"process", "delve", "launch-json", "rr", "drivers", "snapshot-memory"} {
		if c.Flags().Changed(name) {
			return fmt.Errorf("--%s needs the engine native; with the engine vm, gdb debugs the whole virtual machine through QEMU's own server", name)
		}
	}
	ctx := c.Context()
	recording, run, err := recordVM(ctx, a, s, d)
	if err != nil {
		return err
	}
	defer recording.Close()
	violation := violationOf(d, run)
	at := o.at
	if at == "" && violation != nil {
		at = "violation"
	}
	first := recording.Find(0, run.ReadyNs)
	last := first
	switch at {
	case "", "begin":
	case "end":
		last = recording.Find(0, 0)
	default:
		place, err := view.ParsePlace(at)
		if err != nil {
			return fmt.Errorf("--at: %w", err)
		}
		until, _, err := place.Until(violation, &run.Ledger)
		if err != nil {
			return fmt.Errorf("--at: %w", err)
		}
		last = recording.Find(until.Event, until.TimeNs)
	}
	replay, err := recording.Replay()
	if err != nil {
		return console.Failed(err)
	}
	defer replay.Close()
	snapshots := cmp.Or(int(o.snapshots), defaultVMSnapshots)
	err = replay.Along(min(first, last), last, snapshots, ctx.Done())
	switch {
	case ctx.Err() != nil:
		return project.ErrInterrupted
	case errors.Is(err, vm.ErrDiverged):
		return diverged(a, err)
	case err != nil:
		return console.Failed(err)
	}
	a.Note("the virtual machine is stopped at %s of the run", cmp.Or(at, "begin"))
	listener, err := o.listener(address)
	if err != nil {
		return err
	}
	address = listener.Addr().String()
	listener.Close() // QEMU takes it
	if err := replay.Listen(address); err != nil {
		return console.Failed(err)
	}
	a.Note("in gdb: target remote %s, after file PROGRAM: gdb -ex 'target remote %[1]s' PROGRAM", address)
	select {
	case <-ctx.Done():
	case err := <-replay.Diverged():
		return diverged(a, err)
	case <-replay.Ended():
		a.Note("QEMU has ended: gdb ended it, or went past the end of the recording")
	}
	return nil
}

func diverged(a *console.App, err error) error {
	a.Code = check.ExitNotReproducible
	a.Note("%s", err)
	return nil
}

// recordVM makes the run, with QEMU's record of it.
func recordVM(ctx context.Context, a *console.App, s *project.Session, d *debugged) (*vm.Recording, *check.Judged, error) {
	images, err := project.ImagesOf(d.spec)
	if err != nil {
		return nil, nil, console.Failed(err)
	}
	options, err := s.Setup.JobOptions(&explore.Job{},
		engine.Options{Dir: s.Setup.Scratch, Hidden: s.Setup.Hidden, Then: s.Setup.Then, Images: images, Driver: s.Setup.Driver, Interrupt: ctx.Done()})
	if err != nil {
		return nil, nil, console.Failed(err)
	}
	recorder := vm.NewRecorder()
	run, err := runner.Do(recorder, d.spec, d.tape, options, record.Position{})
	if err != nil {
		recorder.Recording.Close()
		if ctx.Err() != nil {
			err = project.ErrInterrupted
		}
		return nil, nil, console.Failed(err)
	}
	if d.failure != nil && d.failure.Hash != run.Hash {
		stored.NoteChanged(a, d.project, d.failure, run)
	}
	a.Note("%s: %s, %s of virtual time, trace hash %s", d.tape.Name(), plural.Count(run.Events, "event"), report.Seconds(run.VirtualNs), run.Hash)
	return recorder.Recording, run, nil
}
