package report

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/record"
)

func TestCallsArePrintedAsStraceDoes(t *testing.T) {
	for _, c := range []struct {
		call   string
		args   []int64
		result int64
		detail string
		want   string
	}{
		{"openat", []int64{-100, 0x80000, 0}, -2, "notes.json", `openat(AT_FDCWD, "notes.json", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)`},
		{"openat", []int64{0xffffff9c, 0x241, 0o644}, 3, "out", `openat(AT_FDCWD, "out", O_WRONLY|O_CREAT|O_TRUNC, 0644) = 3`},
		{"openat", []int64{5, 0x40, 0}, 3, "out", `openat(5, "out", O_RDONLY|O_CREAT, 0) = 3`},
		{"open", []int64{0x40000002, 7}, 3, "odd", `open("odd", O_RDWR|0x40000000, 07) = 3`},
		{"fsync", []int64{7}, -5, "fsync_fail", `fsync(7) = -1 EIO (Input/output error) (INJECTED: fsync_fail)`},
		{"pwrite64", []int64{4, 16, 4096}, 16, "", `pwrite64(4, ..., 16, 4096) = 16`},
		{"pwrite64", []int64{4, 16, 3 << 30}, 16, "", `pwrite64(4, ..., 16, 3221225472) = 16`},
		{"pwrite64", nil, 16, "/data/log", `pwrite64() = 16 "/data/log"`},
		{"socket", []int64{2, 0x80801, 0}, 5, "", `socket(AF_INET, SOCK_STREAM|SOCK_NONBLOCK|SOCK_CLOEXEC, 0) = 5`},
		{"connect", []int64{5, 16}, -115, "10.0.0.2:80", `connect(5, "10.0.0.2:80", 16) = -1 EINPROGRESS (Operation now in progress)`},
		{"accept4", []int64{4, 0x80800}, -11, "", `accept4(4, ..., SOCK_NONBLOCK|SOCK_CLOEXEC) = -1 EAGAIN (Resource temporarily unavailable)`},
		{"sendto", []int64{7, 32, 0x4000, 0}, 32, "", `sendto(7, ..., 32, MSG_NOSIGNAL, ..., 0) = 32`},
		{"recvfrom", []int64{7, 32, 0}, 0, "", `recvfrom(7, ..., 32, 0, ...) = 0`},
		{"getsockname", []int64{7}, 0, "", `getsockname(7, ...) = 0`},
		{"epoll_ctl", []int64{4, 1, 6}, 0, "", `epoll_ctl(4, EPOLL_CTL_ADD, 6, ...) = 0`},
		{"epoll_wait", []int64{4, 128, 0xffffffff}, 1, "", `epoll_wait(4, ..., 128, -1) = 1`},
		{"futex", []int64{0x80, 0}, -110, "", `futex(..., FUTEX_WAIT_PRIVATE, 0) = -1 ETIMEDOUT (Connection timed out)`},
		{"futex", []int64{0x189, 2}, 0, "", `futex(..., FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME, 2) = 0`},
		{"kill", []int64{12, 15}, 0, "", `kill(12, SIGTERM) = 0`},
		{"clone", []int64{0x1200011}, 12, "", `clone(CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD) = 12`},
		{"mmap", []int64{4096, 3, 0x22, -1, 0}, 0, "", `mmap(..., 4096, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0`},
		{"execve", nil, 0, "/bin/kv", `execve("/bin/kv", ...) = 0`},
		{"rename", nil, -17, "a.tmp -> a", `rename("a.tmp", "a") = -1 EEXIST (File exists)`},
		{"unlink", nil, 0, "/new\nline", `unlink("/new\nline") = 0`},
		{"symlink", nil, 0, "link -> target", `symlink("target", "link") = 0`},
		{"fallocate", []int64{3, 3, 0, 4096}, 0, "", `fallocate(3, FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE, 0, 4096) = 0`},
		{"strange", []int64{3, 4096, -1}, -512, "x", `strange(3, 0x1000, 0xffffffffffffffff) = -512 "x"`},
		{"partition", nil, 3, "n1-n2", `partition() = 3 "n1-n2"`},
	} {
		e := record.Event{Call: c.call, Args: c.args, Result: c.result, Detail: c.detail}
		if got := string(appendCall(nil, &e)); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// Each word in the layout of a call is one that writes something.
func TestLayoutsOfCalls(t *testing.T) {
	for call, list := range callLayouts() {
		for i, a := range list {
			if a.scalar && a.form == nil {
				t.Errorf("%s: argument %d has no form", call, i)
			}
		}
	}
}
