package explore

import (
	"context"
	"errors"
)

// Pool is a few worker processes for runs that are asked for one by one. Several goroutines may use it.
type Pool struct {
	free chan *slot
	size int
}

// NewPool makes a pool of so many workers; their processes start when they are needed.
func NewPool(setup *Setup, command Command, workers int) *Pool {
	c := &Campaign{Setup: setup, Command: command}
	p := &Pool{free: make(chan *slot, workers), size: workers}
	for range workers {
		p.free <- &slot{campaign: c, limit: RunTime(setup.Spec)}
	}
	return p
}

// Do makes a run. The error is why the engine or the machine failed it, or the end of ctx.
func (p *Pool) Do(ctx context.Context, job *Job) (*Reply, error) {
	var s *slot
	select {
	case s = <-p.free:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { p.free <- s }()
	reply, lost := s.runJob(ctx, &result{job: job})
	switch {
	case lost != "":
		return nil, errors.New(lost)
	case reply == nil:
		return nil, context.Cause(ctx)
	}
	return reply, nil
}

// Close waits for the runs under way and ends the processes.
func (p *Pool) Close() {
	for range p.size {
		(<-p.free).close()
	}
}
