package machinefault_test

import (
	"math"
	"runtime/debug"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloodhound-dst/bloodhound/sdk"
	"github.com/bloodhound-dst/bloodhound/sdk/machine"
	"github.com/bloodhound-dst/bloodhound/sdk/machinefault"
)

// The time of day jumps, and what measures durations does not.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := source{"c_drift"}
		began := time.Now()
		c := machinefault.NewClock(machine.System(), "c",
			machinefault.ClockFaults{Forward: 1, Back: 1, Jump: time.Minute, Drift: 1, DriftPPM: 250_000}, &faults)
		c.Sleep(10 * time.Second)
		if took := time.Since(began); took != 8*time.Second || c.Elapsed() != 10*time.Second || !c.Now().Equal(began.Add(10*time.Second)) {
			t.Errorf("10 s of a clock that is a quarter too fast are %v; it has run for %v, and is at %v", took, c.Elapsed(), c.Now().Sub(began))
		}
		faults = source{"c_forward"}
		if at := c.Now().Sub(began); at != 70*time.Second {
			t.Errorf("after a jump the clock is at %v", at)
		}
		faults = source{"c_back"}
		c.Now()
		if at := c.Now().Sub(began); at != -50*time.Second {
			t.Errorf("after two jumps back the clock is at %v", at)
		}
		faults = source{}
		<-c.After(10 * time.Second)
		if c.Elapsed() != 20*time.Second || time.Since(began) != 16*time.Second {
			t.Errorf("the clock has run for %v in %v", c.Elapsed(), time.Since(began))
		}
	})
}

// A lease that measures its time by the time of day is lost when that jumps; one that measures it as time that has passed is not.
func TestLeases(t *testing.T) {
	lease := func(byElapsed bool) func(*sdk.Run) {
		return func(r *sdk.Run) {
			c := machinefault.NewClock(machine.System(), "clock", machinefault.ClockFaults{Forward: 0.05, Back: 0.05, Drift: 0.3, DriftPPM: 100}, r)
			began, from := c.Now(), c.Elapsed()
			for range 10 {
				c.Sleep(time.Second)
				left := began.Add(time.Minute).After(c.Now())
				if byElapsed {
					left = c.Elapsed()-from < time.Minute
				}
				if !left {
					r.Errorf("the lease is over after %v", c.Elapsed()-from)
				}
			}
		}
	}
	sdk.Campaign{Bubble: true}.Test(t, lease(true))
	t.Chdir(t.TempDir()) // where the failure is stored
	if text, ok := (sdk.Campaign{Runs: 100, Bubble: true}).Search(t, lease(false)); ok {
		t.Errorf("a lease by the time of day: %s", text)
	}
}

// Scarce memory empties pools, and is over after the run.
func TestMemory(t *testing.T) {
	limit := debug.SetMemoryLimit(-1)
	sdk.Campaign{Runs: 5}.Test(t, func(r *sdk.Run) {
		m := machinefault.NewMemory("memory", 0.3, 1<<20, r)
		defer m.Release()
		for range 10 {
			pool := sync.Pool{}
			pool.Put(new(int))
			m.Step()
			if scarce := debug.SetMemoryLimit(-1) != limit; scarce && pool.Get() != nil {
				r.Errorf("memory is scarce, and a pool is full")
			}
		}
	})
	if now := debug.SetMemoryLimit(-1); now != limit || limit != math.MaxInt64 {
		t.Errorf("the limit was %d, and is %d", limit, now)
	}
	for _, make := range []func(){
		func() { machinefault.NewMemory("m", 0.1, -1, source{}) },
		func() { machinefault.NewClock(machine.System(), "c", machinefault.ClockFaults{Drift: 0.1}, source{}) },
		func() { machinefault.NewClock(machine.System(), "c", machinefault.ClockFaults{Back: -0.1}, source{}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("rates without meaning are taken")
				}
			}()
			make()
		}()
	}
}
