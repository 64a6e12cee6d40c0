package sync

import (
	std "sync"

	"github.com/bloodhound-dst/bloodhound/internal/engine/inprocess/points"
)

// Pool is sync.Pool. In a world it is a stack that loses nothing during a run and starts empty, so that a run does not
// depend on the garbage collector or on earlier runs.
type Pool struct {
	// New makes a value when the pool is empty.
	New func() any

	mu   std.Mutex
	run  any
	list []any
}

// Get removes and returns the value that was put last, or calls New.
func (p *Pool) Get() any {
	points.Switch()
	if v := p.takeValue(); v != nil || p.New == nil {
		return v
	}
	return p.New()
}

func (p *Pool) takeValue() any {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.enter()
	n := len(p.list)
	if n == 0 {
		return nil
	}
	v := p.list[n-1]
	p.list = p.list[:n-1]
	return v
}

// Put adds a value to the pool.
func (p *Pool) Put(v any) {
	points.Switch()
	if v == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.enter()
	p.list = append(p.list, v)
}

// enter empties the pool if its values belong to another run.
func (p *Pool) enter() {
	var run any
	if t := points.Here(); t != nil {
		run = t.Run()
	}
	if p.run != run {
		p.run, p.list = run, nil
	}
}
