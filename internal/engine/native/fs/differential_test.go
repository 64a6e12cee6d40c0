//go:build linux

package fs

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// fill makes the tree that both sides start from: the base of one, the writable folder of the other.
func fill(t *testing.T, root string) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	root += deep
	must(os.MkdirAll(root+"/a/b/c", 0o755))
	must(os.MkdirAll(root+"/d", 0o755))
	must(os.WriteFile(root+"/f", []byte("base f"), 0o644))
	must(os.WriteFile(root+"/a/g", bytes.Repeat([]byte("0123456789"), 1500), 0o600))
	must(os.WriteFile(root+"/a/b/h", nil, 0o755))
	must(os.Symlink("a/b", root+"/ln"))
	must(os.Symlink("loop", root+"/loop"))
	must(os.Symlink("../f", root+"/a/up"))
	must(os.Symlink("nowhere", root+"/d/dangling"))
}

// deep is where both sides work: links that climb stay in surroundings that are the same for both.
const deep = "/1/2/3/4/5/6/7/8"

var words = []string{"a", "b", "c", "d", "f", "g", "h", "x", "y", "ln", "loop", "up", "dangling", ".", "..", "\xff\x01 odd",
	strings.Repeat("n", 255), strings.Repeat("n", 256)}

func randomPath(r *rand.Rand) string {
	var parts []string
	for range 1 + r.IntN(3) {
		parts = append(parts, words[r.IntN(len(words))])
	}
	p := strings.Join(parts, "/")
	if r.IntN(8) == 0 {
		p += "/"
	}
	return p
}

// TestAgainstRealFiles runs the same random calls here and on a real folder.
func TestAgainstRealFiles(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { differ(t, seed, 1500) })
	}
}

func differ(t *testing.T, seed uint64, steps int) {
	old := unix.Umask(0)
	defer unix.Umask(old)
	base, real := t.TempDir(), t.TempDir()
	fill(t, base)
	fill(t, real)
	env, blobs := testEnv(base)
	env.Cred = Cred{UID: os.Getuid(), GID: os.Getgid()}
	s, err := New(env, Config{Layers: []string{base}, Root: 0})
	if err != nil {
		t.Fatal(err)
	}
	dirfd, err := unix.Open(real+deep, unix.O_DIRECTORY|unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dirfd)
	start, e := s.Walk(env, s.Root(), deep, true)
	if e != errno.OK {
		t.Fatal(e)
	}
	s.Ref(start.Inode)
	r := rand.New(rand.NewPCG(seed, 1))
	for step := range steps {
		env.NowNs++
		what, got, want := one(r, s, env, start.Inode, dirfd)
		if got != want {
			t.Fatalf("step %d: %s: here %s, on Linux %s", step, what, got, want)
		}
		if err := s.Check(); err != nil {
			t.Fatalf("step %d: %s: %v", step, what, err)
		}
		if step%100 == 99 {
			s = copied(t, s)
			if a, b := dump(s, env), dumpReal(real); a != b {
				t.Fatalf("step %d: trees differ\nhere:\n%s\nLinux:\n%s", step, a, b)
			}
		}
	}
	held := 0
	for _, in := range s.Inodes {
		if in.Blob != 0 {
			held++
		}
	}
	if held != len(blobs.blobs) {
		t.Errorf("%d blobs are left, %d inodes have one", len(blobs.blobs), held)
	}
	if fresh := t.TempDir(); true {
		fill(t, fresh)
		if dumpReal(base) != dumpReal(fresh) {
			t.Error("the base was changed")
		}
	}
}

// one makes one random call on both sides and reports what it was and how it ended.
func one(r *rand.Rand, s *State, env *Env, root InodeID, dirfd int) (what, got, want string) {
	p, q := randomPath(r), randomPath(r)
	result := func(e errno.Errno, err error) (string, string) { return e.Error(), number(err).Error() }
	switch r.IntN(12) {
	case 0:
		got, want = result(s.Mkdir(env, root, p, 0o755), unix.Mkdirat(dirfd, p, 0o755))
		return "mkdir " + p, got, want
	case 1:
		got, want = result(s.Unlink(env, root, p), unix.Unlinkat(dirfd, p, 0))
		return "unlink " + p, got, want
	case 2:
		got, want = result(s.Rmdir(env, root, p), unix.Unlinkat(dirfd, p, unix.AT_REMOVEDIR))
		return "rmdir " + p, got, want
	case 3, 4:
		flags := []int{0, 0, RENAME_NOREPLACE, RENAME_EXCHANGE, 3}[r.IntN(5)]
		got, want = result(s.Rename(env, root, p, root, q, flags), unix.Renameat2(dirfd, p, dirfd, q, uint(flags)))
		return fmt.Sprint("rename ", p, " ", q, " ", flags), got, want
	case 5:
		got, want = result(s.Symlink(env, q, root, p), unix.Symlinkat(q, dirfd, p))
		return "symlink " + q + " " + p, got, want
	case 6:
		at, e := s.Walk(env, root, p, false)
		if e == errno.OK {
			e = s.Link(env, at.Inode, root, q)
		}
		got, want = result(e, unix.Linkat(dirfd, p, dirfd, q, 0))
		return "link " + p + " " + q, got, want
	case 7:
		follow, flag := r.IntN(2) == 0, unix.AT_SYMLINK_NOFOLLOW
		if follow {
			flag = 0
		}
		var st unix.Stat_t
		err := unix.Fstatat(dirfd, p, &st, flag)
		at, e := s.Walk(env, root, p, follow)
		got, want = result(e, err)
		if e == errno.OK && err == nil {
			a := s.Stat(at.Inode)
			got, want = fmt.Sprintf("%o", a.Mode), fmt.Sprintf("%o", st.Mode)
			if a.Mode&S_IFMT != S_IFDIR {
				got, want = fmt.Sprint(got, a.Size), fmt.Sprint(want, st.Size)
			}
		}
		return fmt.Sprint("stat ", p, " ", follow), got, want
	case 8:
		mode := uint32(r.IntN(0o1000)) | 0o700 // the test must be able to clean up
		at, e := s.Walk(env, root, p, true)
		if e == errno.OK {
			e = s.Chmod(env, at.Inode, mode)
		}
		err := unix.Fchmodat(dirfd, p, mode, 0)
		got, want = result(e, err)
		return fmt.Sprintf("chmod %s %o", p, mode), got, want
	default:
		return openBoth(r, s, env, root, dirfd, p)
	}
}

// openBoth opens a path with random flags and works on what it gets.
func openBoth(r *rand.Rand, s *State, env *Env, root InodeID, dirfd int, p string) (what, got, want string) {
	flags := r.IntN(3)
	for _, f := range []int{O_CREAT, O_CREAT, O_EXCL, O_TRUNC, O_DIRECTORY, O_NOFOLLOW} {
		if r.IntN(3) == 0 && !(f == O_EXCL && flags&O_CREAT == 0) {
			flags |= f
		}
	}
	what = fmt.Sprintf("open %s %#o", p, flags)
	fd, err := unix.Openat(dirfd, p, flags, 0o644)
	o, e := s.Open(env, root, p, flags, 0o644)
	got, want = e.Error(), number(err).Error()
	if e != errno.OK || err != nil {
		return what, got, want
	}
	defer unix.Close(fd)
	defer s.Unref(env, o.Inode)
	if o.Mode&S_IFMT != S_IFREG {
		return what, got, want
	}
	off, size := int64(r.IntN(20000)), r.IntN(9000)
	if flags&O_ACCMODE == O_RDONLY {
		a, b := make([]byte, size), make([]byte, size)
		n, e := s.ReadAt(env, o.Inode, a, off)
		m, err := unix.Pread(fd, b, off)
		return what + fmt.Sprint(" pread ", size, " at ", off), fmt.Sprintf("%d %v %x", n, e, a[:n]), fmt.Sprintf("%d %v %x", m, number(err), b[:max(m, 0)])
	}
	switch r.IntN(5) {
	case 0:
		e, err = s.Truncate(env, o.Inode, off), unix.Ftruncate(fd, off)
		what += fmt.Sprint(" ftruncate ", off)
	case 1:
		mode := []int{0, 1, 3, 0x10, 0x11, 2, 8}[r.IntN(7)]
		if mode == 8 { // COLLAPSE_RANGE: refused here, kept by some real file systems
			return what, "", ""
		}
		e, err = s.Fallocate(env, o.Inode, mode, off, int64(size)), unix.Fallocate(fd, uint32(mode), off, int64(size))
		what += fmt.Sprint(" fallocate ", mode, " ", off, " ", size)
	default:
		p := bytes.Repeat([]byte{byte(r.IntN(255) + 1)}, size)
		n, e2 := s.WriteAt(env, o.Inode, p, off)
		m, err2 := unix.Pwrite(fd, p, off)
		return what + fmt.Sprint(" pwrite ", size, " at ", off), fmt.Sprint(n, e2), fmt.Sprint(m, number(err2))
	}
	return what, e.Error(), number(err).Error()
}

func copied(t *testing.T, s *State) *State {
	t.Helper()
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(s); err != nil {
		t.Fatal(err)
	}
	c := &State{}
	if err := gob.NewDecoder(&b).Decode(c); err != nil {
		t.Fatal(err)
	}
	return c
}

var mounted = map[string]bool{"proc": true, "sys": true, "dev": true, "tmp": true, "run": true, "var": true}

// dump writes a tree down, without what is mounted into each root.
func dump(s *State, env *Env) string {
	var b strings.Builder
	var walk func(id InodeID, path string)
	walk = func(id InodeID, path string) {
		list, e := s.ReadDir(env, id)
		if e != errno.OK {
			fmt.Fprintln(&b, path, e)
			return
		}
		for _, d := range list[2:] {
			if path == "" && mounted[d.Name] {
				continue
			}
			a := s.Stat(d.Inode)
			switch a.Mode & S_IFMT {
			case S_IFDIR:
				fmt.Fprintf(&b, "%q %o\n", path+"/"+d.Name, a.Mode)
				walk(d.Inode, path+"/"+d.Name)
			case S_IFLNK:
				target, _ := s.Readlink(env, d.Inode)
				fmt.Fprintf(&b, "%q -> %q\n", path+"/"+d.Name, target)
			default:
				fmt.Fprintf(&b, "%q %o %d %d %x\n", path+"/"+d.Name, a.Mode, a.Nlink, a.Size, content(s, env, d.Inode))
			}
		}
	}
	walk(s.Root(), "")
	return b.String()
}

func dumpReal(root string) string {
	var b strings.Builder
	var walk func(path string)
	walk = func(path string) {
		list, err := os.ReadDir(filepath.Join(root, path))
		if err != nil {
			fmt.Fprintln(&b, path, number(err))
			return
		}
		for _, d := range list {
			name := path + "/" + d.Name()
			var st unix.Stat_t
			unix.Lstat(root+name, &st)
			switch st.Mode & S_IFMT {
			case S_IFDIR:
				fmt.Fprintf(&b, "%q %o\n", name, st.Mode)
				walk(name)
			case S_IFLNK:
				target, _ := os.Readlink(root + name)
				fmt.Fprintf(&b, "%q -> %q\n", name, target)
			default:
				data, _ := os.ReadFile(root + name)
				fmt.Fprintf(&b, "%q %o %d %d %x\n", name, st.Mode, st.Nlink, st.Size, data)
			}
		}
	}
	walk("")
	return b.String()
}
