package vm

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// QEMU records what its devices and clocks give to a run (docs/system/replay.rst of QEMU), and makes the run again from that, also backward:
// from a snapshot before. What the engine writes into the guest's memory is no part of it, so a Recording has these answers, too.

// Recorder is an Engine that records the run of the world that it boots.
type Recorder struct {
	Recording *Recording // whole when the world is closed
	engine    *Engine
}

// Recording is a run, recorded for Replays.
type Recording struct {
	plan      plan
	exchanges []exchange // by the number of the request, less 1
	last      int        // the number of the last request of the run; more follow
	ended     bool       // QEMU has completed its part
}

// exchange is a request of the guest with its answer.
type exchange struct {
	request uint64 // a digest
	answer  []byte
	event   uint64 // how far the world had come
	timeNs  int64
}

const (
	firstSnapshot = "boot" // the name of the one that QEMU makes itself
	driveBytes    = "64M"  // of a disk that the guest does not have: snapshots lie behind it
	beyondNs      = 1e9    // of virtual time that are recorded after the end of a run, so that a debugger which stops soon after it finds something
	beyondStepNs  = 100e6
	quitWait      = 60 * time.Second
)

// NewRecorder gives a Recorder.
func NewRecorder() *Recorder { return &Recorder{engine: shared} }

// Boot boots a world as Engine.Boot does.
func (r *Recorder) Boot(spec *world.Spec, t tape.Tape, o engine.Options) (engine.World, error) {
	w, err := r.engine.world(spec, t, o)
	if err != nil {
		return nil, err
	}
	if r.Recording, err = newRecording(); err != nil {
		return nil, err
	}
	w.recording = r.Recording
	if err := w.boot(); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// findQEMUImg looks for the program qemu-img, beside QEMU first.
func findQEMUImg(qemu string) (string, bool) {
	for _, name := range []string{filepath.Join(filepath.Dir(qemu), "qemu-img"), "qemu-img"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, true
		}
	}
	return "", false
}

func newRecording() (*Recording, error) {
	qemu, err := findQEMU()
	if err != nil {
		return nil, err
	}
	program, ok := findQEMUImg(qemu)
	if !ok {
		return nil, errors.New("QEMU's snapshots need its program qemu-img, which is not installed; install it " +
			"(apt-get install qemu-utils)")
	}
	r := &Recording{}
	if r.plan.log, err = memory("replay"); err == nil {
		r.plan.drive, err = memory("snapshots")
	}
	if err == nil {
		c := exec.Command(program, "create", "-q", "-f", "qcow2", "/proc/self/fd/3", driveBytes)
		c.ExtraFiles = []*os.File{r.plan.drive}
		if text, e := c.CombinedOutput(); e != nil {
			err = fmt.Errorf("qemu-img: %w: %s", e, text)
		}
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Close gives the Recording up.
func (r *Recording) Close() {
	if r == nil {
		return
	}
	for _, f := range []*os.File{r.plan.log, r.plan.drive} {
		if f != nil {
			f.Close()
		}
	}
}

// asked records a request.
func (r *Recording) asked(kind int, request []byte) {
	r.exchanges = append(r.exchanges, exchange{request: digest(kind, request)})
}

// note records the answer to the last request.
func (r *Recording) note(answer []byte, event uint64, timeNs int64) {
	x := &r.exchanges[len(r.exchanges)-1]
	x.answer, x.event, x.timeNs = answer, event, timeNs
}

func digest(kind int, request []byte) uint64 {
	h := fnv.New64a()
	h.Write([]byte{byte(kind)})
	h.Write(request)
	return h.Sum64()
}

// record completes the Recording of a world whose run is over: QEMU does that when it ends by itself.
func (w *World) record() error {
	fail := func(err error) error { return fmt.Errorf("QEMU did not complete its recording of the run: %w", err) }
	select {
	case <-w.options.Interrupt:
		return errInterrupted
	default:
	}
	w.recording.last = len(w.recording.exchanges)
	for end := w.NowNs + beyondNs; w.NowNs < end; {
		if _, err := w.exchange(w.NowNs + beyondStepNs); err != nil {
			return fail(err)
		}
	}
	w.machine.pair.letThrough()
	if err := w.machine.mon.send("quit", nil); err != nil {
		return fail(err)
	}
	for began := time.Now(); time.Since(began) < quitWait; {
		_, err := w.exchange(w.NowNs + beyondStepNs)
		if err != nil {
			select {
			case <-w.machine.ended:
				w.recording.ended = true
				return nil
			case <-time.After(startWait):
				return fail(err)
			}
		}
	}
	return fail(fmt.Errorf("it has not ended within %v", quitWait))
}
