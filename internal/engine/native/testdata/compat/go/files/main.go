// Command files is about os.File and folders as Go uses them. It prints its transcript as compat.h says.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/testdata/compat/transcript"
)

func main() {
	transcript.Play(write, flags, folders, links, times, copies, temporary, removed, system)
}

// reason is the errno of an error, without the path.
func reason(err error) string {
	var e syscall.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &e):
		return e.Error()
	}
	return err.Error()
}

func write() {
	f, err := os.Create("a")
	fmt.Println("create:", reason(err))
	n, err := f.WriteString("0123456789")
	fmt.Println("write:", n, reason(err))
	n, err = f.WriteAt([]byte("AB"), 3)
	fmt.Println("write at 3:", n, reason(err))
	at, err := f.Seek(-4, io.SeekEnd)
	fmt.Println("seek:", at, reason(err))
	b := make([]byte, 10)
	n, err = f.Read(b)
	fmt.Println("read:", string(b[:n]), reason(err))
	n, err = f.Read(b)
	fmt.Println("read at end:", n, reason(err))
	n, err = f.ReadAt(b, 5)
	fmt.Println("read at 5:", n, reason(err))
	fmt.Println("truncate:", reason(f.Truncate(4)), "sync:", reason(f.Sync()))
	i, _ := f.Stat()
	fmt.Println("stat:", i.Name(), i.Size(), i.Mode(), i.IsDir())
	fmt.Println("close:", reason(f.Close()), f.Close() != nil)
	all, err := os.ReadFile("a")
	fmt.Printf("%q %s\n", all, reason(err))
	_, err = os.Open("missing")
	fmt.Println("open:", reason(err))
}

func flags() {
	for i, flag := range []int{os.O_RDONLY, os.O_WRONLY | os.O_CREATE | os.O_EXCL, os.O_RDWR | os.O_CREATE | os.O_EXCL,
		os.O_WRONLY | os.O_APPEND, os.O_WRONLY | os.O_TRUNC, os.O_RDWR | os.O_APPEND | os.O_CREATE} {
		f, err := os.OpenFile("b", flag, 0o640)
		if err != nil {
			fmt.Println(i, reason(err))
			continue
		}
		n, err := f.WriteString("xyz")
		size, _ := f.Seek(0, io.SeekEnd)
		fmt.Println(i, n, reason(err), size)
		f.Close()
	}
	_, err := os.OpenFile(".", os.O_WRONLY, 0)
	fmt.Println("write a folder:", reason(err))
}

func folders() {
	fmt.Println("mkdir:", reason(os.Mkdir("d", 0o755)), "again:", reason(os.Mkdir("d", 0o755)))
	fmt.Println("mkdirall:", reason(os.MkdirAll("d/e/f/g", 0o755)))
	for _, name := range []string{"d/zz", "d/aa", "d/mm", "d/e/x", "d/e/f/g/deep"} {
		os.WriteFile(name, []byte(name), 0o644)
	}
	list, err := os.ReadDir("d")
	for _, e := range list {
		fmt.Println(e.Name(), e.IsDir())
	}
	fmt.Println(reason(err))
	filepath.WalkDir("d", func(path string, e fs.DirEntry, err error) error {
		fmt.Println("walk:", path, e.IsDir())
		return err
	})
	fmt.Println("remove a full folder:", reason(os.Remove("d")))
	fmt.Println("rename:", reason(os.Rename("d/e", "moved")))
	fmt.Println("removeall:", reason(os.RemoveAll("d")), reason(os.RemoveAll("moved")), reason(os.RemoveAll("moved")))
	for i := 0; i < 300; i++ {
		os.MkdirAll("many", 0o755)
		os.WriteFile(fmt.Sprintf("many/%03d", i), nil, 0o644)
	}
	d, _ := os.Open("many")
	total := 0
	for {
		names, err := d.Readdirnames(70)
		total += len(names)
		if err != nil {
			fmt.Println("names:", total, err)
			break
		}
	}
	d.Close()
}

func links() {
	os.WriteFile("target", []byte("content"), 0o600)
	fmt.Println("symlink:", reason(os.Symlink("target", "soft")), "link:", reason(os.Link("target", "hard")))
	to, err := os.Readlink("soft")
	fmt.Println("readlink:", to, reason(err))
	a, _ := os.Stat("target")
	b, _ := os.Stat("soft")
	c, _ := os.Lstat("soft")
	d, _ := os.Stat("hard")
	fmt.Println("same:", os.SameFile(a, b), os.SameFile(a, c), os.SameFile(a, d), "links:", a.Sys().(*syscall.Stat_t).Nlink)
	fmt.Println("modes:", a.Mode(), c.Mode())
	os.Symlink("loop", "loop")
	_, err = os.Stat("loop")
	fmt.Println("loop:", reason(err))
	os.Remove("target")
	_, err = os.Stat("soft")
	fmt.Println("dangling:", reason(err))
	all, _ := os.ReadFile("hard")
	fmt.Printf("%q\n", all)
}

func times() {
	os.WriteFile("t", nil, 0o644)
	when := time.Date(2001, 2, 3, 4, 5, 6, 789, time.UTC)
	fmt.Println("chtimes:", reason(os.Chtimes("t", when, when.Add(time.Hour))))
	i, _ := os.Stat("t")
	fmt.Println("mtime:", i.ModTime().UTC())
	fmt.Println("chmod:", reason(os.Chmod("t", 0o751)))
	i, _ = os.Stat("t")
	fmt.Println("mode:", i.Mode())
	before := i.ModTime()
	os.WriteFile("t", []byte("new"), 0)
	i, _ = os.Stat("t")
	fmt.Println("a write changes the time:", i.ModTime().After(before))
}

func copies() {
	os.WriteFile("from", []byte(strings.Repeat("line of text\n", 20_000)), 0o644)
	from, _ := os.Open("from")
	to, _ := os.Create("to")
	n, err := io.Copy(to, from)
	fmt.Println("copy:", n, reason(err))
	to.Seek(0, io.SeekStart)
	lines := 0
	for s := bufio.NewScanner(to); s.Scan(); {
		lines++
	}
	fmt.Println("lines:", lines)
	r, w, _ := os.Pipe()
	go func() {
		from.Seek(0, io.SeekStart)
		io.Copy(w, from)
		w.Close()
	}()
	n, err = io.Copy(io.Discard, r)
	fmt.Println("through a pipe:", n, reason(err))
	n, err = to.ReadFrom(strings.NewReader("tail"))
	fmt.Println("read from:", n, reason(err))
}

func temporary() {
	f, err := os.CreateTemp(".", "x-*-y")
	fmt.Println("temp:", reason(err), strings.HasPrefix(filepath.Base(f.Name()), "x-"), strings.HasSuffix(f.Name(), "-y"))
	g, _ := os.CreateTemp(".", "x-*-y")
	fmt.Println("another name:", f.Name() != g.Name())
	i, _ := f.Stat()
	fmt.Println("mode:", i.Mode())
	d, err := os.MkdirTemp(".", "d")
	fmt.Println("folder:", reason(err), d != "")
}

func removed() {
	f, _ := os.Create("gone")
	f.WriteString("still here")
	fmt.Println("remove:", reason(os.Remove("gone")), "again:", reason(os.Remove("gone")))
	b := make([]byte, 10)
	n, err := f.ReadAt(b, 0)
	fmt.Println("read:", string(b[:n]), reason(err))
	i, _ := f.Stat()
	fmt.Println("size:", i.Size(), "links:", i.Sys().(*syscall.Stat_t).Nlink)
}

func system() {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	fmt.Println("null:", reason(err))
	n, err := null.Write(make([]byte, 100))
	fmt.Println("write:", n, reason(err))
	n, err = null.Read(make([]byte, 100))
	fmt.Println("read:", n, reason(err))
	exe, err := os.Executable()
	fmt.Println("executable:", filepath.Base(exe), reason(err))
	status, err := os.ReadFile("/proc/self/status")
	fmt.Println("status:", strings.Contains(string(status), fmt.Sprintf("Pid:\t%d\n", os.Getpid())), reason(err))
	dir, _ := os.Getwd()
	os.Mkdir("in", 0o777)
	os.Chdir("in")
	here, _ := os.Getwd()
	fmt.Println("chdir:", here == dir+"/in")
	os.Chdir("..")
	host, err := os.Hostname()
	fmt.Println("hostname:", host != "", reason(err))
}
