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

// Service describes a running program whose next steps may be explored, in copies of its process that cannot affect
// anything, while the program continues.
type Service struct {
	// Handlers are the handlers to explore, by name. Each takes an input like the program does, with symbolic fields,
	// and checks the result. It is only called in copies.
	Handlers map[string]func()
	// Hold waits until no other goroutine changes the state that handlers use, for example by taking its lock, and
	// returns a function that ends that. It is called before a copy is made; the returned function is called both in
	// the process and in the checkpoint. Without Hold, a handler may wait for a lock that a goroutine held, and
	// goroutines do not continue in a copy.
	Hold func() (release func())
	// Prepare is called once in each checkpoint, before a handler is called in copies of it. It derives from the state
	// whatever the checks of all handlers need. The process does not wait for it.
	Prepare func()
	// Snapshot returns the state as bytes, and Restore loads it in another process of the program that does nothing
	// else (BLOODHOUND_LIVE_RESTORE). With both, the process need not be able to copy itself, so plain `go build` can
	// build it. Both are optional.
	Snapshot func() (state []byte, err error)
	Restore  func(state []byte) error
	// Router is set for a BGP router of a domain in a federation, and nil for other programs.
	Router *Router
	// Change applies a new configuration to a copy before a handler is called, if `bloodhound live try` tries a
	// configuration.
	Change func(config []byte) error
}

// Serve lets `bloodhound live` explore this process, if the environment variable BLOODHOUND_LIVE_SOCKET names a socket
// to listen at. Otherwise it does nothing. It returns an error if the program was not built by `bloodhound live build`
// and provides no snapshots. It does not return in a process that receives the state of another one by
// BLOODHOUND_LIVE_RESTORE.
func Serve(s Service) error {
	path, restore := os.Getenv(attach.SocketVariable), os.Getenv(attach.RestoreVariable)
	if path == "" {
		return nil
	}
	if len(shadow.Packages) == 0 && (s.Snapshot == nil || restore != "") {
		return fmt.Errorf("live: %s is set, but this program was not built with `bloodhound live "+
			"build`", attach.SocketVariable)
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
		Program: program}, Take: s.takeCheckpoint, Snapshot: s.snapshot}
	if restore != "" {
		return attach.Serve(l, o)
	}
	go attach.Serve(l, o)
	return nil
}

// snapshot gives the state while it is held, and for how long it was.
func (s *Service) snapshot() (state []byte, paused time.Duration, err error) {
	if s.Snapshot == nil {
		return nil, 0, errors.New("the program does not provide snapshots: set Snapshot and Restore in its " +
			"live.Service, or remove `restore` from the node")
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
		return errors.New("the program cannot restore snapshots: set Restore in its live.Service")
	}
	state, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return s.Restore(state)
}

// takeCheckpoint makes a checkpoint whose explorers call a handler.
func (s *Service) takeCheckpoint(r attach.Request) (*checkpoint.Checkpoint, error) {
	handler := s.Handlers[r.Handler]
	switch {
	case len(shadow.Packages) == 0:
		return nil, errors.New("the program was not built with `bloodhound live build`: set `restore` for the " +
			"node, to a command that starts a program built that way")
	case r.Router && s.Router == nil:
		return nil, errors.New("the program is not a router that answers other domains: set Router in its live.Service")
	case handler == nil && !r.Router:
		return nil, fmt.Errorf("there is no handler %s: choose one of %s", r.Handler, slices.Sorted(maps.Keys(s.Handlers)))
	case r.Change != nil && s.Change == nil:
		return nil, errors.New("the program cannot load a new configuration: set Change in its live.Service")
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
	return checkpoint.Capture(p)
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
		shadow.BeginPath(values)
		run.Failures = runOnce(handler)
		run.Path = shadow.End()
	}
	return search.AppendRun(nil, &run)
}
