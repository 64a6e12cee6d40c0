// Package tally is code under test that knows nothing of Bloodhound.
package tally

import (
	"sync"
	count "sync/atomic"
)

// Tally counts votes.
type Tally struct {
	sync.Mutex
	votes map[string]int
	total count.Int64
	done  sync.WaitGroup
}

// New makes a Tally.
func New() *Tally { return &Tally{votes: map[string]int{}} }

// vote counts one vote. Another one may be counted between its two halves, and then lost.
func (t *Tally) vote(name string, more ...int) {
	defer t.done.Done()
	t.Lock()
	n := t.votes[name]
	t.Unlock()
	t.total.Add(1)
	t.Lock()
	t.votes[name] = n + 1 + len(more)
	t.Unlock()
}

// All counts votes for a name, each in a goroutine of its own.
func (t *Tally) All(name string, n int) (votes, total int) {
	t.done.Add(n)
	for i := range n - 1 {
		go t.vote(
			name,
			make([]int, i-i)...,
		)
	}
	go func() { t.vote(name) }()
	t.done.Wait()
	return t.votes[name], int(t.total.Load())
}
