//go:build linux && amd64

package native_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/moments"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// busy does each act that is recorded, and then answers a client.
const busy = `import mmap, os, socket
os.mkdir('/d')
for i in (17, 18):
    f = os.open('/d/0000%d.sst' % i, os.O_CREAT | os.O_RDWR); os.write(f, b'x' * 4096); os.fsync(f)
os.close(os.open('/d/000017.sst', os.O_RDWR | os.O_CREAT))
m = mmap.mmap(f, 4096); m[0:1] = b'y'; m.flush()
os.ftruncate(f, 100); os.fdatasync(f)
os.close(os.open('/d/000018.sst', os.O_RDWR | os.O_TRUNC))
g = os.open('/d/wal', os.O_CREAT | os.O_WRONLY | os.O_DSYNC); os.write(g, b'x')
os.rename('/d/wal', '/d/wal.old')
os.unlink('/d/000017.sst')
os.fsync(os.open('/d', os.O_RDONLY))
if os.fork() == 0: os._exit(0)
s = socket.create_server(('', 7000))
while True:
    c, _ = s.accept()
    c.recv(1)
    c.sendall(b'OK 1\n')
    c.sendall(b'more')
    c.close()
`

func TestMomentsAreRecorded(t *testing.T) {
	spec := ruled(t, busy, asks)
	spec.Nodes[1].Role = world.Client
	hashes := map[bool]string{}
	var record *moments.Record
	for _, recorded := range []bool{false, true} {
		out, err := engine.Run(native.New(), spec, tape.Tape{Seed: 5}, engine.Options{Moments: recorded})
		if err != nil {
			t.Fatal(err)
		}
		if hashes[recorded] = out.Hash + out.StrictHash; (out.Moments != nil) != recorded {
			t.Errorf("moments are recorded: %v, want %v", out.Moments != nil, recorded)
		}
		record = out.Moments
	}
	if hashes[true] != hashes[false] {
		t.Errorf("recording moments changes the run:\n%s\n%s", hashes[true], hashes[false])
	}
	counts := map[string]uint64{}
	for _, s := range record.Classes() {
		if s.Node != "n1" || s.Sampled[0].Event == 0 && s.Act != moments.Start || s.Act.OnFile() && s.Sampled[0].File == "" {
			t.Errorf("a moment is %+v", s)
		}
		counts[fmt.Sprintf("%s %s %s", s.Act, s.Call, s.File)] += s.Count
	}
	for _, want := range []string{"create mkdir /d 1", "create openat /d/*.sst 2", "create openat /d/wal 1",
		"sync fsync /d/*.sst 2", "sync fsync /d 1", "sync fdatasync /d/*.sst 1",
		"map mmap /d/*.sst 1", "sync msync /d/*.sst 1", "truncate ftruncate /d/*.sst 1", "truncate openat /d/*.sst 1",
		"sync write /d/wal 1", "rename rename /d/wal.old 1",
		"unlink unlink /d/*.sst 1", "reply sendto 7000 OK 4"} {
		found := false
		for key, n := range counts {
			found = found || fmt.Sprint(key, " ", n) == want
		}
		if !found {
			t.Errorf("nothing recorded as %q", want)
		}
	}
	starts := record.Classes()
	starts = slices.DeleteFunc(starts, func(s moments.Series) bool { return s.Act != moments.Start })
	if len(starts) != 2 || starts[0].Call != "" || starts[0].Phase != moments.FirstStart || starts[1].Count != 1 {
		t.Errorf("starts of programs are %+v", starts)
	}
	if t.Failed() {
		for _, s := range record.Classes() {
			t.Logf("%+v", s)
		}
	}
}

// After a crash the moments of a node belong to its recovery, also in a copy of the world.
func TestMomentsOfARecovery(t *testing.T) {
	const keeper = `import os, time
while True:
    f = os.open('/log', os.O_CREAT | os.O_WRONLY); os.fsync(f); os.close(f); time.sleep(0.4)
`
	spec := ruled(t, keeper, idle, "crash on n1 after 3s for 500ms max 1")
	w, err := native.New().Boot(spec, tape.Tape{Seed: 5}, engine.Options{Moments: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Advance(engine.Until{TimeNs: 2e9}); err != nil {
		t.Fatal(err)
	}
	c, err := w.Fork(spec, tape.Tape{Seed: 5}, engine.Options{Moments: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var lists [2][]moments.Series
	for i, w := range []engine.World{c, w} {
		if _, err := w.Advance(engine.Until{}); err != nil {
			t.Fatal(err)
		}
		lists[i] = w.Outcome().Moments.Classes()
	}
	if fmt.Sprint(lists[0]) != fmt.Sprint(lists[1]) {
		t.Errorf("a copy of the world recorded\n%+v\nand the world itself\n%+v", lists[0], lists[1])
	}
	var phases []string
	for _, s := range lists[1] {
		if s.Act == moments.Sync {
			phases = append(phases, fmt.Sprint(s.Phase, " ", s.Count, " ", s.InChaos))
		}
	}
	if want := []string{"after faults 2 0", "chaos 9 9", "first start 3 3", "recovery 3 3"}; !slices.Equal(phases, want) {
		t.Errorf("synchronisations by phase are %q, want %q", phases, want)
	}
}
