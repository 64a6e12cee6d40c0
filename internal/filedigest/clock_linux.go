package filedigest

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Now is the time by the clock of which files have their times, which is behind that of time.Now by up to a tick.
func Now() time.Time {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &t) != nil {
		return time.Now()
	}
	return time.Unix(t.Unix())
}

// changeTime is when the contents or the inode of a file changed last.
func changeTime(info os.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return info.ModTime()
}
