package inproc

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// witness counts the effects of faults that the servers of a world have noticed.
type witness map[string]int

// pinger sends numbered bytes to the other server at each tick.
type pinger struct {
	n    uint8
	seen witness
	last time.Time
}

func (m *pinger) Receive(n *Node, msg Message) {}

func (m *pinger) Tick(n *Node) {
	m.n++
	n.Send("a", []byte{m.n, 0, 0, 0, 0, 0, 0, 0})
}

// witnessed is a world in which each kind of fault has an effect that a program sees.
func witnessed(seen witness, faults ...string) func(*World) {
	return func(w *World) {
		w.Set(Settings{Chaos: 10 * time.Second, Tick: 20 * time.Millisecond, TimeStep: 50 * time.Millisecond})
		w.Process("a", func(p *Process) {
			if data, err := p.Disk().Read("log"); err == nil {
				seen["restarted"]++
				for i := 0; i < len(data); i += 1024 {
					if record := data[i:min(i+1024, len(data))]; len(record) < 1024 || !bytes.Equal(record, bytes.Repeat(record[:1], 1024)) {
						seen["torn record"]++
					}
				}
			}
			p.Disk().WriteFile("log", nil)
			p.Disk().Sync("log")
			var last uint8
			wall, began := p.Now(), p.run.now
			for {
				m, ok := p.ReceiveWithin(100 * time.Millisecond)
				switch data, _ := m.Payload.([]byte); {
				case !ok:
					seen["silence"]++
				case !bytes.Equal(data[1:], make([]byte, 7)) || data[0] > last+20 && last < 200:
					seen["wrong bits"]++
				case data[0] == last:
					seen["twice"]++
				case data[0] < last && last-data[0] < 20:
					seen["overtaken"]++
				default:
					last = data[0]
				}
				if now := p.Now(); now.Sub(wall) > time.Duration(p.run.now-began)+time.Second || now.Before(wall) {
					seen["another date"]++
					wall, began = now, p.run.now
				}
				record := bytes.Repeat([]byte{last}, 1024)
				before := p.run.now
				if err := p.Disk().Append("log", record); errors.Is(err, ErrNoSpace) && !strings.Contains(err.Error(), "of 1024") {
					seen["no space"]++
					continue
				} else if errors.Is(err, ErrNoSpace) {
					seen["part of a write"]++
				} else if errors.Is(err, ErrIO) {
					seen["write error"]++
				}
				if last%8 == 0 {
					if err := p.Disk().Sync("log"); err != nil {
						seen["sync error"]++
					}
				}
				if p.run.now-before > int64(20*time.Millisecond) {
					seen["slow disk"]++
				}
				written, err := p.Disk().Read("log")
				if err != nil {
					seen["read error"]++
				} else if len(written) >= 1024 && !bytes.Equal(written[len(written)-1024:], record) {
					seen["rotten bits"]++
				}
				if len(written) > 1<<13 {
					p.Disk().WriteFile("log", nil)
				}
			}
		})
		w.Machine("b", func(*Node) Machine { return &pinger{seen: seen} })
		w.Faults(faults...)
	}
}

// Every kind that this engine has is observed by a program, which sees what it does, and the ledger says so. Nothing of that shows
// without the fault.
func TestEachFaultIsObserved(t *testing.T) {
	calm := witness{}
	mustRun(t, mustNew(t, witnessed(calm)), tape.Tape{Seed: 1})
	if len(calm) > 0 {
		t.Fatalf("without a fault: %v", calm)
	}
	for _, c := range []struct{ rule, sees string }{
		{"partition rate 5% for 200ms..1s", "silence"},
		{"partition on b->a rate 5% for 200ms..1s", "silence"},
		{"clog rate 5% for 200ms..1s", "silence"},
		{"slow_link rate 5% for 500ms..1s", "silence"},
		{"drop rate 60%", "silence"},
		{"delay rate 5% for 200ms..1s", "silence"},
		{"corrupt rate 5%", "wrong bits"},
		{"duplicate rate 5%", "twice"},
		{"reorder rate 5% for 30ms..60ms", "overtaken"},
		{"crash on a rate 5% for 10ms..100ms", "restarted"},
		{"power_loss on a rate 5% for 10ms..100ms", "restarted"},
		{"torn_write on a rate 2% for 10ms..100ms", "torn record"},
		{"pause on b rate 5% for 200ms..500ms", "silence"},
		{"clock_skew on a rate 5% for 1s..2s by 1h..2h", "another date"},
		{"clock_jump on a rate 5% by 1h..2h", "another date"},
		{"clock_drift on a rate 5% for 5s..10s by 300000ppm..400000ppm", "another date"},
		{"write_fail on a rate 5%", "write error"},
		{"read_fail on a rate 5%", "read error"},
		{"partial_write on a rate 5%", "part of a write"},
		{"fsync_fail on a rate 5%", "sync error"},
		{"read_corrupt on a rate 5%", "rotten bits"},
		{"disk_full on a rate 5% for 100ms..500ms", "no space"},
		{"slow_disk on a rate 5% for 100ms..500ms by 20ms..50ms", "slow disk"},
	} {
		t.Run(strings.Fields(c.rule)[0], func(t *testing.T) {
			seen := witness{}
			e := mustNew(t, witnessed(seen, c.rule))
			var sum fault.Ledger
			for seed := range uint64(5) {
				out := mustRun(t, e, tape.Tape{Seed: seed})
				if out.Reason != record.Finished || len(out.Crashes) > 0 {
					t.Fatalf("seed %d: %s %s %+v", seed, out.Reason, out.Detail, out.Crashes)
				}
				sum.Add(&out.Ledger)
			}
			if sum.Entries[0].Observed == 0 || sum.Entries[0].Delivered == 0 || sum.Entries[0].Delivered > sum.Entries[0].Planned || seen[c.sees] == 0 {
				t.Errorf("%s: %+v, seen %v", c.rule, sum.Entries, seen)
			}
			// A run in which the rule exists and never injects is the baseline run, and no program observes anything.
			quiet := witness{}
			out := mustRun(t, mustNew(t, witnessed(quiet, c.rule)), fault.Calm(tape.Tape{Seed: 1}))
			if out.Ledger.Entries[0].Observed > 0 || len(quiet) > 0 {
				t.Errorf("%s: nothing is injected, and %+v, %v", c.rule, out.Ledger.Entries, quiet)
			}
		})
	}
}

// A crash keeps what was synchronised and nothing else; a loss of power may keep more, never less.
func TestWhatADiskKeeps(t *testing.T) {
	kinds := map[string]map[string]bool{}
	for _, kind := range []string{"crash", "power_loss"} {
		kinds[kind] = map[string]bool{}
		var after string
		e := mustNew(t, func(w *World) {
			w.Process("a", func(p *Process) {
				d := p.Disk()
				if names := d.List(); len(names) > 0 {
					after = strings.Join(names, " ")
					for _, name := range names {
						data, _ := d.Read(name)
						after += " " + string(data)
					}
					return
				}
				d.WriteFile("kept", []byte("one"))
				d.Sync("kept")
				d.Append("kept", []byte("two"))
				d.WriteFile("lost", []byte("three"))
				d.Rename("kept", "moved")
				p.Sleep(time.Hour)
			})
			w.Set(Settings{Chaos: time.Second, MaxTime: time.Hour})
			w.Faults(kind + " on a rate 100% max 1 for 1ms")
		})
		for seed := range uint64(200) {
			after = ""
			mustRun(t, e, tape.Tape{Seed: seed})
			kinds[kind][after] = true
			if !strings.Contains(after, "one") {
				t.Fatalf("%s, seed %d: what was synchronised is gone: %q", kind, seed, after)
			}
		}
	}
	if got := fmt.Sprint(kinds["crash"]); got != "map[kept one:true]" {
		t.Errorf("crashes leave %s", got)
	}
	for _, want := range []string{"kept one", "kept onetwo", "kept lost onetwo three", "kept lost one", "lost moved three one", "lost moved three onetwo"} {
		if want = strings.TrimSpace(want); !kinds["power_loss"][want] && !kinds["power_loss"][want+" "] {
			t.Errorf("no loss of power leaves %q; they leave %v", want, kinds["power_loss"])
		}
	}
	for after := range kinds["power_loss"] {
		if strings.HasPrefix(after, "moved") {
			t.Errorf("a loss of power keeps a later change of names, and not an earlier one: %q", after)
		}
	}
}
