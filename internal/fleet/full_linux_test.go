package fleet

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// A worker whose disk is full goes on, and what it found is stored when there is room.
func TestFullDisk(t *testing.T) {
	for name, shared := range map[string]store.Store{"Alone": nil, "InFrontOfAnother": store.NewMemory()} {
		t.Run(name, func(t *testing.T) {
			disk := t.TempDir()
			if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil {
				t.Log(err)
				t.Skip("a small disk is a tmpfs, which this user may not mount here")
			}
			t.Cleanup(func() {
				if err := syscall.Unmount(disk, 0); err != nil {
					t.Error(err)
				}
			})
			d, err := store.OpenDir(filepath.Join(disk, "store"))
			if err != nil {
				t.Fatal(err)
			}
			s := store.Store(d)
			if shared != nil {
				s = store.NewLayered(d, shared, "")
			}
			ballast := filepath.Join(disk, "ballast")
			if err := os.WriteFile(ballast, make([]byte, 2<<20), 0o666); err == nil {
				t.Fatal("the disk is not full")
			}
			w := newWorker(s, "w1", &fake{name: "a", bugs: true, pause: time.Millisecond})
			failures := 0
			w.For, w.Slice = time.Minute, 20*time.Millisecond
			ctx, cancel := context.WithCancel(t.Context())
			rest := time.AfterFunc(time.Minute, cancel)
			defer rest.Stop()
			w.Announce = func(string, *records.Failure) {
				if failures++; failures == 2 {
					cancel()
				} else if err := os.Remove(ballast); err != nil {
					t.Error(err)
				}
			}
			r, err := w.Run(ctx)
			if err != nil || r.Unwritten != 0 || r.Reason != Drained {
				t.Fatalf("%+v, %v", r, err)
			}
			if shared != nil {
				if err := s.(*store.Layered).Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				recorded(t, shared, r)
			}
			recorded(t, d, r)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
