package sim

import (
	"sync"
)

// stages are goroutines that call functions of a world. Such a function may end its goroutine, as t.Fatal does. Goroutines are reused, since a
// run makes the stack grow and growing a new stack takes as long as a short run.
type stages struct {
	sync.Mutex
	idle []*stage
}

type stage struct {
	calls chan func()
	done  chan struct{} // has one for each call that came back, and is closed by one that did not
}

// do calls a function on a goroutine of its own, and comes back when it has ended.
func (s *stages) do(call func()) {
	g := s.takeStage()
	g.calls <- call
	if _, back := <-g.done; back {
		s.Lock()
		s.idle = append(s.idle, g)
		s.Unlock()
	}
}

func (s *stages) takeStage() *stage {
	s.Lock()
	defer s.Unlock()
	if k := len(s.idle) - 1; k >= 0 {
		g := s.idle[k]
		s.idle = s.idle[:k]
		return g
	}
	g := &stage{make(chan func()), make(chan struct{})}
	go g.run()
	return g
}

func (g *stage) run() {
	defer close(g.done)
	for call := range g.calls {
		call()
		g.done <- struct{}{}
	}
}

// close ends the goroutines, of which none may be in use.
func (s *stages) close() {
	s.Lock()
	defer s.Unlock()
	for _, g := range s.idle {
		close(g.calls)
	}
	s.idle = nil
}
