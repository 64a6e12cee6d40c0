package live

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/bloodhound-dst/bloodhound/internal/live/attach"
	"github.com/bloodhound-dst/bloodhound/internal/live/checkpoint"
	"github.com/bloodhound-dst/bloodhound/internal/live/search"
	"github.com/bloodhound-dst/bloodhound/internal/live/shadow"
)

// Service is a running program whose next steps may be explored: in copies of its process, which reach nothing, while it goes on.
type Service struct {
	// Handlers are what can be explored, by name. Each takes an input as the program does, with symbolic fields, and checks what came of it. It is called in copies alone.
	Handlers map[string]func()
	// Hold waits until no other goroutine changes the state that handlers use, as by taking its lock, and gives what ends that. It is called before a copy is made, and
	// what it gives is called both in the process and in the checkpoint. Without it a handler may wait for a lock that a goroutine held, and goroutines do not go on in a copy.
	Hold func() (release func())
	// Prepare is called once in each checkpoint, before a handler is called in copies of it: it makes of the state what the checks of all handlers need, without the process waiting for that.
	Prepare func()
	// Change gives a copy a new configuration, before a handler is called, if the configuration is what `bloodhound live try` tries.
	Change func(config []byte) error
}

// Serve lets `bloodhound live` explore this process, if the environment variable BLOODHOUND_LIVE_SOCKET names a socket to listen at. Otherwise it does nothing. It is an error if the program was not
// built by `bloodhound live build`.
func Serve(s Service) error {
	path := os.Getenv(attach.SocketVariable)
	if path == "" {
		return nil
	}
	if len(shadow.Packages) == 0 {
		return fmt.Errorf("live: %s is set, and this program was not built by `bloodhound live build`", attach.SocketVariable)
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("live: %w", err)
	}
	l, err := attach.Listen(path)
	if err != nil {
		return fmt.Errorf("live: %w", err)
	}
	about := attach.Answer{Handlers: slices.Sorted(maps.Keys(s.Handlers)), Changes: s.Change != nil, Program: program}
	go attach.Serve(l, about, s.take)
	return nil
}

// take makes a checkpoint whose explorers call a handler.
func (s *Service) take(r attach.Request) (*checkpoint.Checkpoint, error) {
	handler := s.Handlers[r.Handler]
	switch {
	case handler == nil:
		return nil, fmt.Errorf("there is no handler %s: name one of %s", r.Handler, slices.Sorted(maps.Keys(s.Handlers)))
	case r.Change != nil && s.Change == nil:
		return nil, fmt.Errorf("the program takes no new configuration: set Change in its live.Service")
	}
	p := &checkpoint.Plan{Prepare: s.Prepare, Run: func(input []byte) []byte { return s.explore(handler, r.Change, input) }, MemoryBytes: r.MemoryBytes}
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
