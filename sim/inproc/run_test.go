package inproc

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/inprocess"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// counter is a server that counts, on its disk, and a client that asks it to.
func counter(faults ...string) func(*World) {
	return func(w *World) {
		w.Process("server", func(p *Process) {
			n := uint64(0)
			if data, err := p.Disk().Read("n"); err == nil && len(data) == 8 {
				n = binary.BigEndian.Uint64(data)
			}
			for {
				m := p.Receive()
				n++
				for p.Disk().WriteAt("n", binary.BigEndian.AppendUint64(nil, n), 0) != nil || p.Disk().Sync("n") != nil {
					p.Sleep(time.Millisecond)
				}
				p.Reply(m, n)
			}
		})
		w.Client("client", func(p *Process) {
			for range 20 {
				p.Operation(Op{Kind: "incr", Key: "n"}, func() (string, error) {
					n, err := p.Call("server", "incr", 300*time.Millisecond)
					p.Log("%v %v", n, err)
					return fmt.Sprint(n), err
				})
				p.Sleep(100 * time.Millisecond)
			}
		})
		w.Faults(faults...)
	}
}

func mustNew(t testing.TB, define func(*World)) *worldEngine {
	t.Helper()
	e, err := newEngine("test", define)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func mustRun(t testing.TB, e inprocess.Engine, tp tape.Tape) *record.Outcome {
	t.Helper()
	out, err := engine.Run(e, e.Spec(), tp, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestARunIsAFunctionOfItsTape(t *testing.T) {
	e := mustNew(t, counter("crash on server rate 10% for 100ms..500ms", "partition rate 5% for 100ms..1s", "drop rate 5%", "duplicate rate 5%",
		"delay rate 5% for 1ms..300ms", "reorder rate 5%", "pause on server rate 3%", "clock_jump on server rate 2% by 1s..10s",
		"fsync_fail on server rate 10%"))
	hashes := map[string]bool{}
	for seed := range uint64(100) {
		a, b := mustRun(t, e, tape.Tape{Seed: seed}), mustRun(t, e, tape.Tape{Seed: seed})
		a.WallNs, b.WallNs = 0, 0
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("seed %d: two runs differ:\n%+v\n%+v", seed, a, b)
		}
		c := mustRun(t, e, tape.Replay(seed, a.Decisions))
		if c.Hash != a.Hash {
			t.Fatalf("seed %d: the replay of its decisions is another run", seed)
		}
		hashes[a.Hash] = true
		if a.Reason != record.Finished {
			t.Fatalf("seed %d: %s %s", seed, a.Reason, a.Detail)
		}
	}
	if len(hashes) < 100 {
		t.Errorf("%d of 100 seeds make runs of their own", len(hashes))
	}
}

func TestTheCalmRunOfACounter(t *testing.T) {
	e := mustNew(t, counter())
	out := mustRun(t, e, tape.Replay(1, nil))
	if len(out.History) != 40 || out.History[39].Output != "20" || len(out.Decisions) != 0 {
		t.Fatalf("%d records, the last one %+v, decisions %v", len(out.History), out.History[len(out.History)-1], out.Decisions)
	}
	for _, v := range check.Judge(e.Spec(), out) {
		if v.Status != check.Holds {
			t.Errorf("%+v", v)
		}
	}
	var lines []string
	for _, l := range out.Log {
		lines = append(lines, l.Text)
	}
	if got := strings.Join(lines[:2], ", "); got != "1 <nil>, 2 <nil>" {
		t.Errorf("log: %s", got)
	}
}

// A process that waits until a moment which is over waits no longer.
func TestAWaitThatIsOverEnds(t *testing.T) {
	ended := false
	e := mustNew(t, func(w *World) {
		w.Process("server", func(p *Process) {
			if _, ok := p.ReceiveWithin(-time.Second); ok {
				t.Error("there was a message")
			}
			ended = true
		})
		w.Set(Settings{Chaos: time.Second})
	})
	mustRun(t, e, tape.Tape{})
	if !ended {
		t.Error("it waits for ever")
	}
}
