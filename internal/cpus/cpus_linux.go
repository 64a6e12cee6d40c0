package cpus

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/ownfolder"
)

// Allowed lists the CPUs that this process may run on, ascending (sched_getaffinity(2)): those of its cpuset, in a container.
func Allowed() []int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return nil
	}
	var list []int
	for cpu := 0; len(list) < set.Count(); cpu++ {
		if set.IsSet(cpu) {
			list = append(list, cpu)
		}
	}
	return list
}

// readLoad reads /proc/stat (proc_stat(5)). A CPU that is not there counts as neither idle nor busy.
func readLoad() load {
	file, err := os.ReadFile("/proc/stat")
	if err != nil {
		return load{}
	}
	return parseLoad(file)
}

func parseLoad(stat []byte) load {
	const idle, ioWait, guest = 3, 4, 8 // guest times are part of user's
	l := load{}
	lines := bufio.NewScanner(bytes.NewReader(stat))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 || !strings.HasPrefix(fields[0], "cpu") {
			continue
		}
		cpu, err := strconv.Atoi(fields[0][len("cpu"):])
		if err != nil {
			continue
		}
		of := l[cpu]
		for i, field := range fields[1:] {
			n, _ := strconv.ParseUint(field, 10, 64)
			if i < guest {
				of.all += n
			}
			if i == idle || i == ioWait {
				of.idle += n
			}
		}
		l[cpu] = of
	}
	return l
}

// runtimeDir is a folder that this user alone can write to: below XDG_RUNTIME_DIR, or the user's cache folder. It is empty if there is none: a
// folder of that name that is another user's, or that others may write to, is not used.
func runtimeDir() string {
	base := os.Getenv("XDG_RUNTIME_DIR")
	if base == "" || !filepath.IsAbs(base) {
		var err error
		if base, err = os.UserCacheDir(); err != nil {
			return ""
		}
	}
	dir := filepath.Join(base, "bloodhound", "cpus")
	os.MkdirAll(dir, 0o700)
	for _, d := range []string{filepath.Dir(dir), dir} {
		if ownfolder.Check(d) != nil {
			return ""
		}
	}
	return dir
}

// files are seats as files of a folder: the lock on cpu-N.K is seat K of CPU N (flock(2)). The system gives back those of a process that has ended.
type files struct{ dir string }

func seatsIn(dir string) seats {
	if dir == "" {
		return nil
	}
	return files{dir}
}

// maxSeats bounds the seats of one CPU.
const maxSeats = 256

// Who counts seats holds the lock of the folder, for it takes free ones for a moment.
const (
	lockTries = 100
	lockPause = time.Millisecond
)

func (d files) among(cpus []int, f func(map[int]int) int) seat {
	if whole, _ := d.lock("lock", lockTries); whole != nil {
		defer whole.Close()
	}
	taken := map[int]int{}
	free := map[int]int{} // the first seat that is free, counted from 1
	for _, cpu := range cpus {
		// Seats are left in any order: behind as many free ones in a row there is none that is taken.
		const row = 8
		for k, gap := 0, 0; k < maxSeats && gap < row; k++ {
			file, held := d.lock(seatName(cpu, k), 1)
			if held {
				taken[cpu]++
				gap = 0
				continue
			}
			if file == nil {
				break
			}
			file.Close()
			if gap++; free[cpu] == 0 {
				free[cpu] = k + 1
			}
		}
	}
	cpu := f(taken)
	if cpu == None || free[cpu] == 0 {
		return nil
	}
	if file, _ := d.lock(seatName(cpu, free[cpu]-1), 1); file != nil {
		return fileSeat{file}
	}
	return nil
}

func seatName(cpu, k int) string { return fmt.Sprintf("cpu-%d.%d", cpu, k) }

// lock locks a file of the folder. Without a file, held tells that it is locked by another, and not that there can be none.
func (d files) lock(name string, tries int) (file *os.File, held bool) {
	fd, err := d.open(name)
	if err != nil {
		return nil, false
	}
	for try := range tries {
		if try > 0 {
			time.Sleep(lockPause)
		}
		if err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err == nil {
			return os.NewFile(uintptr(fd), name), false
		}
	}
	unix.Close(fd)
	return nil, err == unix.EWOULDBLOCK
}

// turn implements seats. The first of those who wait holds the lock next-N until it has the lock turn-N. Whoever ends a
// turn and wants another one must wait for next-N, too, and so cannot overtake the others.
func (d files) turn(cpu int) (end func()) {
	next := d.wait(fmt.Sprintf("next-%d", cpu))
	if next == nil {
		return nil
	}
	defer next.Close()
	turn := d.wait(fmt.Sprintf("turn-%d", cpu))
	if turn == nil {
		return nil
	}
	return func() { turn.Close() }
}

// wait waits for the lock of a file of the folder. It returns nil if there can be no such file.
func (d files) wait(name string) *os.File {
	fd, err := d.open(name)
	if err != nil {
		return nil
	}
	for err = unix.EINTR; err == unix.EINTR; {
		err = unix.Flock(fd, unix.LOCK_EX)
	}
	if err != nil {
		unix.Close(fd)
		return nil
	}
	return os.NewFile(uintptr(fd), name)
}

// open opens a file of the folder, which it makes.
func (d files) open(name string) (fd int, err error) {
	return unix.Open(filepath.Join(d.dir, name), unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
}

type fileSeat struct{ file *os.File }

func (s fileSeat) leave() { s.file.Close() }
