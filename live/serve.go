package live

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/live/internal/attach"
	"github.com/bloodhound-dst/bloodhound/live/internal/checkpoint"
	"github.com/bloodhound-dst/bloodhound/live/internal/search"
	"github.com/bloodhound-dst/bloodhound/live/internal/shadow"
)

// Service is a running program whose next steps may be explored: in copies of its process, which reach nothing, while it goes on.
type Service struct {
	// Handlers are what can be explored, by name. Each takes an input as the program does, with symbolic fields, and checks what
	// came of it. It is called in copies alone.
	Handlers map[string]func()
	// Hold waits until no other goroutine changes the state that handlers use, as by taking its lock, and gives what ends that.
	// It is called before a copy is made, and what it gives is called both in the process and in the checkpoint. Without it a
	// handler may wait for a lock that a goroutine held, and goroutines do not go on in a copy.
	Hold func() (release func())
	// Prepare is called once in each checkpoint, before a handler is called in copies of it: it makes of the state what the
	// checks of all handlers need, without the process waiting for that.
	Prepare func()
	// Snapshot gives the state as bytes, and Restore takes it in another process of the program, which does nothing else
	// (BLOODHOUND_LIVE_RESTORE). With both, a process need not be one that makes copies of itself: it may be built by plain `go
	// build`. They may be left out.
	Snapshot func() (state []byte, err error)
	Restore  func(state []byte) error
	// Router is for a BGP router that is a domain of a federation; nil for other programs.
	Router *Router
	// Change gives a copy a new configuration, before a handler is called, if the configuration is what `bloodhound live try` tries.
	Change func(config []byte) error
}

// Serve lets `bloodhound live` explore this process, if the environment variable BLOODHOUND_LIVE_SOCKET names a socket to listen
// at. Otherwise it does nothing. It is an error if the program was not built by `bloodhound live build` and gives no snapshots.
// In a process that BLOODHOUND_LIVE_RESTORE gives the state of another one it does not return.
func Serve(s Service) error {
	path, restore := os.Getenv(attach.SocketVariable), os.Getenv(attach.RestoreVariable)
	if path == "" {
		return nil
	}
	if len(shadow.Packages) == 0 && (s.Snapshot == nil || restore != "") {
		return fmt.Errorf("live: %s is set, and this program was not built by `bloodhound live build`", attach.SocketVariable)
	}
	program, err := os.Executable()
	if err == nil && restore != "" {
		err = s.restore(restore)
	}
	if err != nil {
		return fmt.Errorf("live: %w", err)
	}
	l, err := attach.Listen(path)
	if err != nil {
		return fmt.Errorf("live: %w", err)
	}
	o := &attach.Offer{About: attach.Answer{Handlers: slices.Sorted(maps.Keys(s.Handlers)), Changes: s.Change != nil,
		Program: program}, Take: s.take, Snapshot: s.snapshot}
	if restore != "" {
		return attach.Serve(l, o)
	}
	go attach.Serve(l, o)
	return nil
}

// snapshot gives the state while it is held, and for how long it was.
func (s *Service) snapshot() (state []byte, paused time.Duration, err error) {
	if s.Snapshot == nil {
		return nil, 0, errors.New("the program gives no snapshots: set Snapshot and Restore in its live.Service, or remove `restore` from the node")
	}
	if s.Hold != nil {
		defer s.Hold()()
	}
	begun := time.Now()
	state, err = s.Snapshot()
	return state, time.Since(begun), err
}

// restore takes the state of another process.
func (s *Service) restore(file string) error {
	if s.Restore == nil {
		return errors.New("the program takes no snapshots: set Restore in its live.Service")
	}
	state, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return s.Restore(state)
}

// take makes a checkpoint whose explorers call a handler.
func (s *Service) take(r attach.Request) (*checkpoint.Checkpoint, error) {
	handler := s.Handlers[r.Handler]
	switch {
	case len(shadow.Packages) == 0:
		return nil, errors.New("the program was not built by `bloodhound live build`: give the node `restore`, a command that starts one that was")
	case r.Router && s.Router == nil:
		return nil, errors.New("the program is no router that answers other domains: set Router in its live.Service")
	case handler == nil && !r.Router:
		return nil, fmt.Errorf("there is no handler %s: name one of %s", r.Handler, slices.Sorted(maps.Keys(s.Handlers)))
	case r.Change != nil && s.Change == nil:
		return nil, errors.New("the program takes no new configuration: set Change in its live.Service")
	}
	p := &checkpoint.Plan{Prepare: s.Prepare, Run: func(input []byte) []byte { return s.explore(handler, r.Change, input) }, MemoryBytes: r.MemoryBytes}
	if r.Router {
		p.Prepare, p.Run = nil, s.Router.answer
	}
	shadow.Prepare()
	if s.Hold != nil {
		p.Forked = sync.OnceFunc(s.Hold()) // a fork may fail before
		defer p.Forked()
	}
	return checkpoint.Take(p)
}

// explore runs a handler in an explorer.
func (s *Service) explore(handler func(), change, input []byte) []byte {
	values, err := search.ParseValues(input)
	if err != nil {
		panic(err)
	}
	var run search.Run
	if change != nil {
		run.Failures = runOnce(func() {
			if err := s.Change(bytes.Clone(change)); err != nil {
				failures = append(failures, search.Failure{What: fmt.Sprintf("the change is refused: %v", err)})
			}
		})
	}
	if run.Failures == nil {
		shadow.Begin(values)
		run.Failures = runOnce(handler)
		run.Path = shadow.End()
	}
	return search.AppendRun(nil, &run)
}
