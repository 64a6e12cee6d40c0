package cpus

import (
	"testing"
	"time"
)

// slowSeats are those of a CPU that others use: each turn comes after a wait.
type slowSeats struct {
	clock  *time.Time
	waits  time.Duration
	others int
	given  int
	ended  chan bool
}

func (s *slowSeats) among(cpus []int, f func(map[int]int) int) seat {
	f(map[int]int{cpus[0]: s.others + 1})
	return nil
}

func (s *slowSeats) turn(int) (end func()) {
	s.given++
	*s.clock = s.clock.Add(s.waits)
	return func() { s.ended <- true }
}

func placeAmong(s *slowSeats, pause time.Duration) *Place {
	clock := time.Unix(0, 0)
	s.clock, s.ended = &clock, make(chan bool, 1000)
	c := &Chooser{seats: s, now: func() time.Time { return clock }, patience: time.Hour, pause: pause}
	return &Place{CPU: 0, chooser: c}
}

// Places share the time of a CPU and not the runs: who waits for long runs of others makes as many short ones as take as long, up to a bound.
func TestTurnsShareTime(t *testing.T) {
	for _, c := range []struct {
		waits, run time.Duration
		others     int
		perTurn    int
	}{
		{4 * time.Second, 400 * time.Millisecond, 1, 10},
		{8 * time.Second, 400 * time.Millisecond, 2, 10}, // two others, each with a run of 4 s
		{time.Minute, 400 * time.Millisecond, 1, 25},     // longTurn
		{400 * time.Millisecond, 400 * time.Millisecond, 1, 1},
		{0, 400 * time.Millisecond, 1, 1},
		{400 * time.Millisecond, 4 * time.Second, 1, 1},
	} {
		s := &slowSeats{waits: c.waits, others: c.others}
		p := placeAmong(s, time.Hour)
		for range 100 {
			end := p.Turn(t.Context())
			*s.clock = s.clock.Add(c.run)
			end()
		}
		if want := 100 / c.perTurn; s.given != want {
			t.Errorf("%+v: %d turns for 100 runs, want %d", c, s.given, want)
		}
		p.Leave()
		if len(s.ended) != s.given {
			t.Errorf("%+v: %d of %d turns have ended", c, len(s.ended), s.given)
		}
	}
}

// A place that does not work any more keeps nobody waiting.
func TestTurnsEndByThemselves(t *testing.T) {
	s := &slowSeats{waits: time.Minute, others: 1}
	p := placeAmong(s, time.Millisecond)
	end := p.Turn(t.Context())
	end()
	<-s.ended
	p.Turn(t.Context())()
	if s.given != 2 {
		t.Errorf("%d turns, want a new one", s.given)
	}
}
