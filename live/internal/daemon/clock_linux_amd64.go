package daemon

import (
	"time"

	"golang.org/x/sys/unix"
)

// clock holds the times of a copy's clocks, in ns. They stand still, except that inputs and sleeps advance them.
type clock struct{ realtime, monotonic, boottime, tai int64 }

func (c *clock) read() error {
	for id, to := range map[int32]*int64{unix.CLOCK_REALTIME: &c.realtime, unix.CLOCK_MONOTONIC: &c.monotonic,
		unix.CLOCK_BOOTTIME: &c.boottime, unix.CLOCK_TAI: &c.tai} {
		var t unix.Timespec
		if err := unix.ClockGettime(id, &t); err != nil {
			return err
		}
		*to = t.Nano()
	}
	return nil
}

func (c *clock) advance(d time.Duration) {
	for _, t := range []*int64{&c.realtime, &c.monotonic, &c.boottime, &c.tai} {
		*t += int64(d)
	}
}

// now returns the time of a clock. Clocks of CPU time show 0.
func (c *clock) now(id int32) (ns int64, ok bool) {
	switch id {
	case unix.CLOCK_REALTIME, unix.CLOCK_REALTIME_COARSE, unix.CLOCK_REALTIME_ALARM:
		return c.realtime, true
	case unix.CLOCK_MONOTONIC, unix.CLOCK_MONOTONIC_RAW, unix.CLOCK_MONOTONIC_COARSE:
		return c.monotonic, true
	case unix.CLOCK_BOOTTIME, unix.CLOCK_BOOTTIME_ALARM:
		return c.boottime, true
	case unix.CLOCK_TAI:
		return c.tai, true
	case unix.CLOCK_PROCESS_CPUTIME_ID, unix.CLOCK_THREAD_CPUTIME_ID:
		return 0, true
	}
	return 0, false
}
