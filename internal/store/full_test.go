package store_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/storetest"
)

// fullFolder is the variable that makes this program one whose disk is full.
const fullFolder = "STORE_TEST_FULL"

func TestMain(m *testing.M) {
	if folder := os.Getenv(fullFolder); folder != "" {
		if err := onFullDisk(folder); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// room lets files of this process have so many bytes. A write beyond that fails, in its middle perhaps, as on a full disk.
func room(n uint64) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	limit.Cur = min(n, limit.Max)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
}

// onFullDisk adds entries while there is some room, none, and enough, and prints those that were confirmed.
func onFullDisk(folder string) error {
	signal.Ignore(syscall.SIGXFSZ)
	d, err := store.OpenDir(folder)
	if err != nil {
		return err
	}
	defer d.Close()
	failures, n := 0, 0
	add := func(times int) {
		failures = 0
		for range times {
			value := fmt.Sprintf("%d %s", n, bytes.Repeat([]byte("x"), 300))
			if err := d.Add(context.Background(), store.Entry{Key: "k", Value: []byte(value)}); err != nil {
				failures++
			} else {
				fmt.Println(value)
			}
			n++
		}
	}
	for _, step := range []struct {
		room     uint64
		from, to int // failures
	}{{4000, 1, 20}, {0, 50, 50}, {10, 50, 50}, {1 << 20, 0, 0}} {
		if err := room(step.room); err != nil {
			return err
		}
		if add(50); failures < step.from || failures > step.to {
			return fmt.Errorf("with room for %d bytes %d of 50 failed", step.room, failures)
		}
		if _, err := d.PutBlob(context.Background(), fmt.Append(nil, step.room)); (err == nil) != (step.room > 10) {
			return fmt.Errorf("a blob with room for %d bytes: %v", step.room, err)
		}
	}
	return nil
}

// On a full disk Add gives an error, nothing is lost that it has confirmed, and it works again when there is room.
func TestDirOnAFullDisk(t *testing.T) {
	folder := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fullFolder+"="+folder)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	d := openDir(t, folder)
	defer d.Close()
	has := strings.Join(storetest.All(t, d, ""), "\n") + "\n"
	for value := range strings.Lines(string(out)) {
		if !strings.Contains(has, "k = "+value) {
			t.Errorf("lost: %.20s", value)
		}
	}
	if list := damages(t, d); len(list) > 0 {
		t.Errorf("%q", list)
	}
	if n := len(segments(t, folder)); n > 20 {
		t.Errorf("%d segments", n)
	}
}
