package model

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
)

// otherwiseBytes is the memory of a check on a machine that does not say how much there is.
const otherwiseBytes = 4 << 30

// memoryFlags say how much memory a check may use.
type memoryFlags struct {
	size *int64 // in bytes
	mb   uint64
}

const leastMemoryBytes = 16 << 20

// add adds --memory, and the name that it had before.
func (m *memoryFlags) add(f *pflag.FlagSet, usage string) {
	f.Var(flags.Size(&m.size), "memory", usage)
	f.Var(flags.Number(&m.mb, leastMemoryBytes>>20, math.MaxInt32, "give a number of megabytes, 16 or more"), "memory-mb", "the same as --memory, in megabytes")
	f.Lookup("memory-mb").Hidden = true
}

// bytes returns the memory that the flags allow, or three quarters of what is available now.
func (m *memoryFlags) bytes() (int64, error) {
	switch {
	case m.size != nil && m.mb > 0:
		return 0, errors.New("--memory and --memory-mb mean the same; leave out one of them")
	case m.size != nil && *m.size < leastMemoryBytes:
		return 0, errors.New("--memory: give 16MiB or more")
	case m.size != nil:
		return *m.size, nil
	case m.mb > 0:
		return int64(m.mb) << 20, nil
	}
	return max(available("/")/4*3, leastMemoryBytes), nil
}

// available is the memory that this process can use: of the machine (MemAvailable of proc_meminfo(5)), and of the control group that it is in and those
// around it (memory.max and memory.current of cgroup v2, memory.limit_in_bytes of v1).
func available(root string) int64 {
	bytes := int64(otherwiseBytes)
	meminfo, err := os.ReadFile(filepath.Join(root, "proc/meminfo"))
	if _, rest, found := strings.Cut(string(meminfo), "MemAvailable:"); err == nil && found {
		if fields := strings.Fields(rest); len(fields) > 0 {
			if kib, err := strconv.ParseInt(fields[0], 10, 64); err == nil {
				bytes = kib << 10
			}
		}
	}
	groups, _ := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	for line := range strings.Lines(string(groups)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		mount, most, now := "sys/fs/cgroup", "memory.max", "memory.current"
		switch {
		case fields[1] == "memory":
			mount, most, now = "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
		case fields[0] != "0" || fields[1] != "":
			continue
		}
		for group := fields[2]; ; group = filepath.Dir(group) {
			folder := filepath.Join(root, mount, group)
			if limit, ok := amount(filepath.Join(folder, most)); ok {
				used, _ := amount(filepath.Join(folder, now))
				// Pages of files count as used and can be had at once.
				bytes = min(bytes, limit-max(used-cached(folder), 0))
			}
			if group == "/" || group == "." {
				break
			}
		}
	}
	return max(bytes, 0)
}

// amount reads a file that is a number.
func amount(file string) (int64, bool) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil // there may be "max"
}

// cached returns the bytes of files in the memory of a control group, without those that only memory has.
func cached(folder string) int64 {
	stat, _ := os.ReadFile(filepath.Join(folder, "memory.stat"))
	of := map[string]int64{}
	for line := range strings.Lines(string(stat)) {
		if fields := strings.Fields(line); len(fields) == 2 {
			of[fields[0]], _ = strconv.ParseInt(fields[1], 10, 64)
		}
	}
	return of["inactive_file"] + of["active_file"]
}

// scratchFolder is where files of states go: the folder that is named, or that of temporary files. If that one lies in memory, /var/tmp does not.
func scratchFolder(named string) string {
	if named != "" {
		return named
	}
	folder := os.TempDir()
	if _, err := os.Stat("/var/tmp"); err == nil && os.Getenv("TMPDIR") == "" && inMemory(folder) {
		return "/var/tmp"
	}
	return folder
}
