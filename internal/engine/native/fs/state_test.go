//go:build linux

package fs

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

func newState(t *testing.T, c Config, files map[string]string) (*State, *Env, memory, string) {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		if i := strings.LastIndexByte(name, '/'); i > 0 {
			os.MkdirAll(root+name[:i], 0o755)
		}
		if err := os.WriteFile(root+name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env, blobs := testEnv(root)
	if c.Layers == nil {
		c.Layers = []string{root}
	}
	s, err := New(env, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Check(); err != nil {
			t.Error(err)
		}
	})
	return s, env, blobs, root
}

func names(s *State, env *Env, path string) string {
	p, e := s.Walk(env, s.Root(), path, true)
	if e != errno.OK {
		return e.Error()
	}
	list, e := s.ReadDir(env, p.Inode)
	if e != errno.OK {
		return e.Error()
	}
	var out []string
	for _, d := range list[2:] {
		out = append(out, d.Name)
	}
	return strings.Join(out, " ")
}

func TestTree(t *testing.T) {
	s, env, _, _ := newState(t, Config{}, map[string]string{
		"/tmp/host": "", "/run/host": "", "/var/tmp/host": "", "/b": "", "/a": "",
		"/p/.bloodhound/bin/tool": "", "/p/.bloodhound/runs/1": "", "/p/code": "", "/p/new/.bloodhound/runs/1": "",
	})
	for _, c := range []struct{ path, want string }{
		{"/", "a b dev p proc run sys tmp var"}, {"/tmp", ""}, {"/run", ""}, {"/var/tmp", ""},
		{"/dev", "bloodhound fd full null pts random shm stderr stdin stdout tty urandom zero"},
		{"/p", ".bloodhound code new"}, {"/p/new", ""}, {"/p/.bloodhound", "bin"}, {"/p/.bloodhound/bin", "tool"}, {"/p/.bloodhound/runs", "ENOENT"},
	} {
		if got := names(s, env, c.path); got != c.want {
			t.Errorf("%s: %s, want %s", c.path, got, c.want)
		}
	}
	if s.Stat(s.Root()).Inode != 2 {
		t.Error("the root's inode is not 2")
	}
}

// TestEscape: no path and no link of the base leads out of the node's tree.
func TestEscape(t *testing.T) {
	s, env, _, root := newState(t, Config{}, map[string]string{"/in": "inside"})
	outside := t.TempDir()
	os.WriteFile(outside+"/secret", []byte("out"), 0o644)
	os.Symlink(outside, root+"/out")
	os.Symlink("../../../../../.."+outside, root+"/up")
	for _, p := range []string{"/out/secret", "/up/secret", "../../" + outside + "/secret", "/../.." + outside + "/secret",
		"/proc/../.." + outside + "/secret"} {
		if _, e := s.Walk(env, s.Root(), p, true); e != errno.ENOENT {
			t.Errorf("%s: %v", p, e)
		}
	}
	if p, e := s.Walk(env, s.Root(), "/../../in", true); e != errno.OK || string(content(s, env, p.Inode)) != "inside" {
		t.Error("/../../in:", e)
	}
}

func TestVolumes(t *testing.T) {
	host := t.TempDir()
	os.WriteFile(host+"/data", []byte("kept"), 0o644)
	empty := t.TempDir()
	env, _ := testEnv("")
	env.Base = folders{empty, host, host + "/data"}
	s, err := New(env, Config{Layers: []string{empty, host, host + "/data"}, Volumes: []Volume{
		{Target: "/srv/deep/rw", Layer: 1}, {Target: "/ro", Layer: 1, ReadOnly: true}, {Target: "/etc/one", Layer: 2}, {Target: "/named", Layer: NoLayer},
	}})
	if err != nil {
		t.Fatal(err)
	}
	root := s.Root()
	for _, c := range []struct {
		what string
		got  errno.Errno
		want errno.Errno
	}{
		{"mkdir on a read-only volume", s.Mkdir(env, root, "/ro/x", 0o755), errno.EROFS},
		{"mkdir of what is there", s.Mkdir(env, root, "/ro/data", 0o755), errno.EEXIST},
		{"unlink on a read-only volume", s.Unlink(env, root, "/ro/data"), errno.EROFS},
		{"rename between volumes", s.Rename(env, root, "/srv/deep/rw/data", root, "/named/data", 0), errno.EXDEV},
		{"unlink of a mounted file", s.Unlink(env, root, "/etc/one"), errno.EBUSY},
		{"rmdir of a volume", s.Rmdir(env, root, "/named"), errno.EBUSY},
		{"unlink on a writable one", s.Unlink(env, root, "/srv/deep/rw/data"), errno.OK},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
	if b, err := os.ReadFile(host + "/data"); err != nil || string(b) != "kept" {
		t.Error("the host's file was changed")
	}
	if o, e := s.Open(env, root, "/etc/one", O_RDONLY, 0); e != errno.OK || string(content(s, env, o.Inode)) != "kept" {
		t.Error("/etc/one:", e)
	}
	if got := s.Touched(); !slices.Equal(got, []string{host + "/data"}) {
		t.Error("touched:", got)
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	if _, err := New(env, Config{Layers: []string{empty, "/nonexistent"},
		Volumes: []Volume{{Target: "x", Layer: NoLayer}}}); err == nil || !strings.Contains(err.Error(), "absolute") {
		t.Error("a relative target:", err)
	}
}

// folders is a Base of several layers.
type folders []string

func (f folders) Lstat(l int, path string) (BaseAttr, errno.Errno) {
	return folder{f[l]}.Lstat(0, path)
}
func (f folders) ReadDir(l int, path string) ([]string, errno.Errno) {
	return folder{f[l]}.ReadDir(0, path)
}
func (f folders) Readlink(l int, path string) (string, errno.Errno) {
	return folder{f[l]}.Readlink(0, path)
}
func (f folders) ReadAt(l int, path string, p []byte, off int64) (int, errno.Errno) {
	return folder{f[l]}.ReadAt(0, path, p, off)
}

// TestCopyUp: a program that has a base file open sees what is written later, and an unlinked file lives while it is open.
func TestCopyUp(t *testing.T) {
	s, env, blobs, root := newState(t, Config{}, map[string]string{"/f": "old bytes"})
	reader, _ := s.Open(env, s.Root(), "/f", O_RDONLY, 0)
	writer, _ := s.Open(env, s.Root(), "/f", O_WRONLY, 0)
	s.WriteAt(env, writer.Inode, []byte("new"), 0)
	if e := s.Unlink(env, s.Root(), "/f"); e != errno.OK {
		t.Fatal(e)
	}
	if got := string(content(s, env, reader.Inode)); got != "new bytes" {
		t.Errorf("the reader sees %q", got)
	}
	s.Unref(env, reader.Inode)
	s.Unref(env, writer.Inode)
	if len(blobs.blobs) != 0 || s.UsedBytes != 0 || s.Get(reader.Inode) != nil {
		t.Error("something is left of an unlinked file")
	}
	if b, _ := os.ReadFile(root + "/f"); string(b) != "old bytes" {
		t.Error("the host's file was changed")
	}
}

func TestQuota(t *testing.T) {
	s, env, _, _ := newState(t, Config{QuotaBytes: 3 * pageBytes, Inodes: 60}, nil)
	o, _ := s.Open(env, s.Root(), "/tmp/f", O_CREAT|O_RDWR, 0o644)
	if n, e := s.WriteAt(env, o.Inode, make([]byte, 5*pageBytes), 100); n != 3*pageBytes-100 || e != errno.OK {
		t.Error("a write beyond the quota:", n, e)
	}
	if n, e := s.WriteAt(env, o.Inode, []byte("x"), 10*pageBytes); n != 0 || e != errno.ENOSPC {
		t.Error("a write at the quota:", n, e)
	}
	if n, e := s.WriteAt(env, o.Inode, []byte("x"), 5); n != 1 || e != errno.OK {
		t.Error("a write to what is allocated:", n, e)
	}
	s.Unref(env, o.Inode)
	for i := 0; ; i++ {
		if e := s.Mkdir(env, s.Root(), fmt.Sprint("/tmp/", i), 0o755); e == errno.ENOSPC {
			break
		} else if e != errno.OK || i > 60 {
			t.Fatal("no end of inodes:", e)
		}
	}
}

func TestPermissions(t *testing.T) {
	s, env, _, _ := newState(t, Config{}, nil)
	s.Inject(env, "/etc/machine-id", []byte("1\n"))
	user, other := *env, *env
	user.Cred, other.Cred = Cred{UID: 1000, GID: 1000}, Cred{UID: 1001, GID: 1001}
	open := func(env *Env, path string, flags int) errno.Errno {
		o, e := s.Open(env, s.Root(), path, flags, 0o600)
		if e == errno.OK {
			s.Unref(env, o.Inode)
		}
		return e
	}
	for _, c := range []struct {
		what string
		got  errno.Errno
		want errno.Errno
	}{
		{"user reads an injected file", open(&user, "/etc/machine-id", O_RDONLY), errno.OK},
		{"user writes it", open(&user, "/etc/machine-id", O_WRONLY), errno.EACCES},
		{"user makes a file in /", open(&user, "/f", O_CREAT|O_WRONLY), errno.EACCES},
		{"user makes one in /tmp", open(&user, "/tmp/f", O_CREAT|O_WRONLY), errno.OK},
		{"other reads it", open(&other, "/tmp/f", O_RDONLY), errno.EACCES},
		{"other removes it from a sticky directory", s.Unlink(&other, s.Root(), "/tmp/f"), errno.EPERM},
		{"root reads it", open(env, "/tmp/f", O_RDONLY), errno.OK},
		{"user removes it", s.Unlink(&user, s.Root(), "/tmp/f"), errno.OK},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
}

// TestExtents compares extents with a set of pages.
func TestExtents(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 200 {
		in, twin := &Inode{Layer: NoLayer, Size: 64 * pageBytes}, map[int64]bool{}
		for range 60 {
			from := r.Int64N(60)
			to, n := from+r.Int64N(5), int64(0)
			free := r.Int64N(6)
			want := from
			for left := free; want < to && (twin[want] || left > 0); want++ {
				if !twin[want] {
					left--
				}
			}
			if got := in.affordable(from, to, free); got != want {
				t.Fatalf("affordable(%d, %d, %d) of %v: %d, want %d", from, to, free, in.Extents, got, want)
			}
			add := r.IntN(2) == 0
			for p := from; p < to; p++ {
				if twin[p] != add {
					n++
				}
				if twin[p] = add; !add {
					delete(twin, p)
				}
			}
			change := in.allocate
			if !add {
				change = in.release
			}
			if got := change(from, to); got != n {
				t.Fatalf("%v [%d,%d): %d pages, want %d", add, from, to, got, n)
			}
			if in.pages() != int64(len(twin)) {
				t.Fatalf("%v, want %v", in.Extents, twin)
			}
		}
	}
}

// TestLocks compares record locks with a table of bytes.
func TestLocks(t *testing.T) {
	s, env, _, _ := newState(t, Config{}, nil)
	s.Inject(env, "/f", []byte("x"))
	at, _ := s.Walk(env, s.Root(), "/f", true)
	var twin [3][20]byte // by owner: 0 none, 1 read, 2 write
	r := rand.New(rand.NewPCG(3, 3))
	for range 5000 {
		owner, first := r.IntN(3), r.IntN(20)
		last, kind := min(19, first+r.IntN(6)), byte(r.IntN(3))
		l := Lock{Owner: int64(owner), Write: kind == 2, First: int64(first), Last: int64(last)}
		want := errno.OK
		for b := first; b <= last; b++ {
			for o := range twin {
				if o != owner && (kind == 2 && twin[o][b] > 0 || kind == 1 && twin[o][b] == 2) {
					want = errno.EAGAIN
				}
			}
		}
		got := errno.OK
		if kind == 0 {
			s.DropLock(at.Inode, l)
		} else {
			got = s.SetLock(at.Inode, l)
		}
		if got != want {
			t.Fatalf("owner %d, %d..%d, kind %d: %v, want %v", owner, first, last, kind, got, want)
		}
		if want == errno.OK {
			for b := first; b <= last; b++ {
				twin[owner][b] = kind
			}
		}
	}
}

func TestInotify(t *testing.T) {
	s, env, _, _ := newState(t, Config{}, nil)
	root := s.Root()
	s.Mkdir(env, root, "/tmp/d", 0o755)
	id, _ := s.NewInotify()
	at, _ := s.Walk(env, root, "/tmp/d", true)
	if wd, e := s.AddWatch(env, id, at.Inode, IN_ALL_EVENTS&^(IN_OPEN|IN_ACCESS)); wd != 1 || e != errno.OK {
		t.Fatal(wd, e)
	}
	o, _ := s.Open(env, root, "/tmp/d/f", O_CREAT|O_WRONLY, 0o644)
	s.WriteAt(env, o.Inode, []byte("x"), 0)
	s.WriteAt(env, o.Inode, []byte("y"), 1) // equal to the event before it
	s.Close(o.Inode, true)
	s.Unref(env, o.Inode)
	s.Rename(env, root, "/tmp/d/f", root, "/tmp/d/g", 0)
	s.Unlink(env, root, "/tmp/d/g")
	s.Rmdir(env, root, "/tmp/d")
	list, e := s.TakeEvents(id, 1<<16)
	var got []string
	for _, v := range list {
		got = append(got, fmt.Sprintf("%#x %d %s", v.Mask, v.Cookie, v.Name))
	}
	want := []string{"0x100 0 f", "0x2 0 f", "0x8 0 f", "0x40 1 f", "0x80 1 g", "0x200 0 g", "0x40000400 0 ", "0x8000 0 "}
	want[6] = "0x400 0 "
	if e != errno.OK || !slices.Equal(got, want) {
		t.Errorf("%v\n got %q\nwant %q", e, got, want)
	}
	if r := s.TakeReady(); !slices.Equal(r, []int64{id}) {
		t.Error("ready:", r)
	}
	s.FreeInotify(env, id)
}

// TestLinkLimit compares how many links a path may lead through with Linux.
func TestLinkLimit(t *testing.T) {
	s, env, _, root := newState(t, Config{}, map[string]string{"/l0": "end"})
	for i := 1; i <= 42; i++ {
		os.Symlink(fmt.Sprint("l", i-1), fmt.Sprint(root, "/l", i))
	}
	for i := range 43 {
		_, err := os.Stat(fmt.Sprint(root, "/l", i))
		if _, e := s.Walk(env, s.Root(), fmt.Sprint("/l", i), true); e != number(err) {
			t.Errorf("%d links: %v, on Linux %v", i, e, number(err))
		}
	}
}
