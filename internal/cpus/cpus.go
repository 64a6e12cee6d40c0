// Package cpus places processes that each keep one CPU busy, such as the workers of a campaign: on the CPU that has the fewest of this user's
// so far, and among several of those on the one that was idle most.
package cpus

import (
	"context"
	"slices"
	"sync"
	"time"
)

// None is the CPU of a place where processes are bound to none: the system does not say which there are.
const None = -1

const (
	firstLook = 50 * time.Millisecond // for which the first place measures how idle the CPUs are
	lookAgain = 2 * time.Second       // after which Better measures it again
	settled   = 10 * time.Second      // for which a process stays on its CPU before it may move: a move costs its snapshots
	patience  = time.Minute           // for which Turn waits: the process that works may have been stopped
	longTurn  = 10 * time.Second      // for which a place works at most before it lets others work, but for its last run
	shortWait = time.Millisecond      // below which nobody else had the CPU, and nobody needs to be counted
	pause     = 50 * time.Millisecond // after which a place that does not work has ended its turn
)

// enoughIdle is which part of its time a CPU must have been idle for a process to move there.
const enoughIdle = 0.6

// Chooser gives places away. All of a user's processes that have one share what they know by files in a folder.
type Chooser struct {
	seats seats
	load  func() load
	sleep func(time.Duration)
	now   func() time.Time

	patience, pause time.Duration

	mu     sync.Mutex
	last   load // the newest that Better, or the first place, has looked at
	looked time.Time
	idle   map[int]float64 // parts of the time before that
}

// Place is the right to keep one CPU busy.
type Place struct {
	CPU     int // or None
	chooser *Chooser
	seat    seat
	taken   time.Time
	alone   bool // it waited for a turn in vain, and works without

	mu    sync.Mutex
	held  func()        // ends the turn that the place has; nil if it has none
	since time.Time     // when it got the turn
	worth time.Duration // for how long it may work in it
	works bool
	uses  int // how often it has begun to work
}

// seats hands out the seats of CPUs to the processes of a user.
type seats interface {
	// among has f see how many seats of each of some CPUs are taken, and takes the one that f chooses, unless that is None.
	among(cpus []int, f func(taken map[int]int) int) seat
	// turn waits until nobody else has the turn on a CPU, and returns how to end it, or nil if there are no turns here.
	// Those who wait get it in about the order in which they came.
	turn(cpu int) (end func())
}

// seat is one that was taken.
type seat interface{ leave() }

// load is how many ticks of a clock each CPU was idle, and how many there were, since the machine has started.
type load map[int]struct{ idle, all uint64 }

// since tells which part of its time each CPU was idle between two looks.
func (now load) since(before load) map[int]float64 {
	idle := map[int]float64{}
	for cpu, n := range now {
		if b, ok := before[cpu]; ok && n.all > b.all && n.idle >= b.idle {
			idle[cpu] = float64(n.idle-b.idle) / float64(n.all-b.all)
		}
	}
	return idle
}

// TakePlace gives a place on one of the CPUs that this process may run on.
func (c *Chooser) TakePlace() *Place {
	c.mu.Lock()
	defer c.mu.Unlock()
	allowed := Allowed()
	if len(allowed) == 0 {
		return &Place{CPU: None, chooser: c}
	}
	if len(allowed) > 1 && c.last == nil {
		c.look()
		c.sleep(firstLook)
		c.look()
	}
	p := &Place{CPU: None, chooser: c, taken: c.now()}
	p.seat = c.seats.among(allowed, func(taken map[int]int) int {
		p.CPU = slices.MinFunc(allowed, func(a, b int) int {
			switch {
			case taken[a] != taken[b]:
				return taken[a] - taken[b]
			case c.idle[a] > c.idle[b]:
				return -1
			case c.idle[a] < c.idle[b]:
				return 1
			}
			return 0
		})
		return p.CPU
	})
	return p
}

// look measures how idle the CPUs were since the last look.
func (c *Chooser) look() {
	now := c.load()
	c.idle, c.last, c.looked = now.since(c.last), now, c.now()
}

// Better reports whether the process of a place would do better on another CPU, which is idle and has fewer of this user's. It looks every two
// seconds at most; who moves leaves the place and takes another.
func (p *Place) Better() bool {
	c := p.chooser
	if p.CPU == None {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now().Sub(c.looked) >= lookAgain {
		c.look()
	}
	if c.now().Sub(p.taken) < settled {
		return false
	}
	var idle []int
	for _, cpu := range Allowed() {
		if cpu != p.CPU && c.idle[cpu] >= enoughIdle {
			idle = append(idle, cpu)
		}
	}
	if len(idle) == 0 {
		return false
	}
	better := false
	c.seats.among(append(idle, p.CPU), func(taken map[int]int) int {
		better = slices.ContainsFunc(idle, func(cpu int) bool { return taken[cpu] < taken[p.CPU] })
		return None
	})
	if better { // what was measured says nothing of the time after the move
		c.idle = nil
		c.looked = c.now()
	}
	return better
}

// Turn waits until none of this user's other places on the CPU works, and returns how to end a run, which may be called
// once. Worlds that share a CPU in turns of whole runs make about twice as many as worlds that interrupt one another, each of
// which finds the caches full of the others. Places share the time and not the runs: one that waited long for the long runs of
// others makes several short ones in its turn. Turn returns early when ctx ends, and after a minute in which nobody ended
// theirs: the place does without turns from then on.
func (p *Place) Turn(ctx context.Context) (end func()) {
	if p.CPU == None || p.alone {
		return func() {}
	}
	if p.resume() {
		return p.endRun
	}
	began := p.chooser.now()
	release := p.wait(ctx)
	if release == nil {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held, p.since, p.works = release, p.chooser.now(), true
	p.uses++
	p.worth = 0
	if waited := p.since.Sub(began); waited >= shortWait {
		p.worth = min(waited/time.Duration(p.others()), longTurn)
	}
	return p.endRun
}

// resume begins another run in the turn that the place still has, if it has one.
func (p *Place) resume() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held == nil {
		return false
	}
	p.works = true
	p.uses++
	return true
}

// endRun marks the end of a run. The turn ends with it if its time is up, and otherwise soon, unless another run begins.
func (p *Place) endRun() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.works = false
	if p.held == nil {
		return
	}
	if p.chooser.now().Sub(p.since) >= p.worth {
		p.release()
		return
	}
	uses := p.uses
	time.AfterFunc(p.chooser.pause, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.works && p.uses == uses {
			p.release()
		}
	})
}

// release ends the turn. The place is locked.
func (p *Place) release() {
	if p.held != nil {
		p.held()
		p.held = nil
	}
}

// others counts this user's other places on the CPU, 1 at least.
func (p *Place) others() int {
	n := 0
	p.chooser.seats.among([]int{p.CPU}, func(taken map[int]int) int {
		n = taken[p.CPU] - 1
		return None
	})
	return max(n, 1)
}

// wait waits for a turn, and returns how to end it; nil if there is none.
func (p *Place) wait(ctx context.Context) (end func()) {
	none := func() {}
	got := make(chan func())
	gone := make(chan struct{})
	go func() {
		end := p.chooser.seats.turn(p.CPU)
		if end == nil {
			end = none
		}
		select {
		case got <- end:
		case <-gone:
			end()
		}
	}()
	timer := time.NewTimer(p.chooser.patience)
	defer timer.Stop()
	select {
	case end := <-got:
		return end
	case <-ctx.Done():
	case <-timer.C:
		p.alone = true
	}
	close(gone)
	return nil
}

// Leave gives a place back.
func (p *Place) Leave() {
	p.mu.Lock()
	p.release()
	p.mu.Unlock()
	if p.seat != nil {
		p.seat.leave()
		p.seat = nil
	}
}

// ofThisProcess counts the seats that this process has taken, where no files can.
type ofThisProcess struct {
	mu    sync.Mutex
	taken map[int]int
	turns map[int]*sync.Mutex
}

func (o *ofThisProcess) among(cpus []int, f func(map[int]int) int) seat {
	o.mu.Lock()
	defer o.mu.Unlock()
	cpu := f(o.taken)
	if cpu == None {
		return nil
	}
	o.taken[cpu]++
	return ownSeat{o, cpu}
}

// turn implements seats.
func (o *ofThisProcess) turn(cpu int) (end func()) {
	o.mu.Lock()
	turn := o.turns[cpu]
	if turn == nil {
		turn = &sync.Mutex{}
		o.turns[cpu] = turn
	}
	o.mu.Unlock()
	turn.Lock()
	return turn.Unlock
}

type ownSeat struct {
	of  *ofThisProcess
	cpu int
}

func (s ownSeat) leave() {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.of.taken[s.cpu]--
}

// newChooser makes a chooser whose seats lie in a folder, or in this process if there is none.
func newChooser(dir string) *Chooser {
	c := &Chooser{load: readLoad, sleep: time.Sleep, now: time.Now, patience: patience, pause: pause}
	if c.seats = seatsIn(dir); c.seats == nil {
		c.seats = &ofThisProcess{taken: map[int]int{}, turns: map[int]*sync.Mutex{}}
	}
	return c
}

// chooser is this process' one.
var chooser = sync.OnceValue(func() *Chooser { return newChooser(runtimeDir()) })

// TakePlace gives a place on one of the CPUs that this process may run on.
func TakePlace() *Place { return chooser().TakePlace() }
