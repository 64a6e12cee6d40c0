package stray

import (
	"bytes"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/trace"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// traced records a program that starts goroutines in several ways, in so many rounds.
func traced(t *testing.T, rounds int, pause time.Duration) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	next, stop := iter.Pull(func(yield func(int) bool) {
		for {
			all.Go(func() { all.Go(func() {}) })
			if !yield(1) {
				return
			}
		}
	})
	for range rounds {
		time.Sleep(pause) // so that the trace has several generations
		all.Go(func() {
			data, err := os.ReadFile("tracer_test.go")
			if err != nil || len(data) == 0 {
				t.Error(err)
			}
			time.Sleep(time.Millisecond) // a wait that the trace records
		})
		next()
		fired := make(chan struct{})
		time.AfterFunc(time.Microsecond, func() { close(fired) })
		<-fired
	}
	stop()
	all.Wait()
	trace.Stop()
	return b.Bytes()
}

// Who started which goroutine is what Go's own tool reads from the same trace.
func TestCreationsAreThoseOfGosTool(t *testing.T) {
	needs.Program(t, "go")
	data := traced(t, 50, 30*time.Millisecond) // the tracer begins another generation each second
	list, err := creations(data)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "trace")
	if err := os.WriteFile(file, data, 0o666); err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command("go", "tool", "trace", "-d=parsed", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	type pair struct{ id, by int }
	want := map[pair]bool{}
	for _, m := range regexp.MustCompile(`G=(-?\d+) StateTransition .*GoID=(\d+) NotExist->`).FindAllSubmatch(text, -1) {
		by, _ := strconv.Atoi(string(m[1]))
		id, _ := strconv.Atoi(string(m[2]))
		want[pair{id, max(by, 0)}] = true
	}
	kinds := map[bool]int{}
	for _, c := range list {
		if p := (pair{int(c.id), int(c.by)}); !want[p] {
			t.Errorf("%d was not started by %d", c.id, c.by)
		} else {
			delete(want, p)
		}
		kinds[c.starts]++
		if c.main.function == "" || c.by != 0 && len(c.creator) == 0 {
			t.Errorf("%+v", c)
		}
	}
	for p := range want {
		t.Errorf("%d was started by %d", p.id, p.by)
	}
	if kinds[true] < 200 || kinds[false] != 1 {
		t.Errorf("%d goroutines and %d coroutines", kinds[true], kinds[false])
	}
}

// A trace that is cut off, damaged, or of a later form gives an error or a part of the goroutines, and nothing worse.
func TestDamagedTraces(t *testing.T) {
	data := traced(t, 3, 0)
	for i := range len(data) {
		creations(data[:i])
		damaged := bytes.Clone(data)
		damaged[i] ^= 0xff
		creations(damaged)
	}
	if _, err := creations([]byte("go 2.1 trace\x00\x00\x00\x00")); err == nil {
		t.Error("another version of the format is read")
	}
}

// Functions of the standard library are known from others.
func TestStandard(t *testing.T) {
	if goroot == "" {
		t.Log("built with -trimpath")
	}
	for _, c := range []struct {
		f    frame
		want bool
	}{
		{frame{function: "errors.New", file: goroot + "errors/errors.go"}, true},
		{frame{function: "net/http.(*Server).Serve", file: goroot + "net/http/server.go"}, true},
		{frame{function: "example.com/shop.Buy", file: "/home/ann/shop/buy.go"}, false},
		{frame{function: "shop.Buy", file: "/home/ann/shop/buy.go"}, false},
		{frame{function: "example.com/shop.Buy", file: "example.com/shop/buy.go"}, false},
		{frame{function: mainModule + "/x.Do", file: mainModule + "/x/x.go"}, false},
	} {
		for _, root := range []string{goroot, ""} { // as of a program that was built with -trimpath
			f := c.f
			if root == "" && c.want {
				f.file = f.file[len(goroot):]
			}
			func() {
				defer func(was string) { goroot = was }(goroot)
				goroot = root
				if standard(f) != c.want {
					t.Errorf("%+v, of %q: %v", f, root, !c.want)
				}
			}()
		}
	}
}
