//go:build linux && amd64

package daemon

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/live/internal/birdtest"
)

// bird is BIRD with two BGP sessions.
type bird struct {
	*birdtest.BIRD
	*Daemon
	from, to *birdtest.Neighbour // one with an import filter, and one that gets what is accepted
}

// The import filter takes one prefix exactly, and the more specific ones of another.
const birdFilter = "filter customer { if net ~ [ 203.0.113.0/24, 198.51.100.0/22+ ] then accept; reject; }"

// startBIRD starts BIRD with a number of static routes besides.
func startBIRD(t testing.TB, routes int) *bird {
	t.Helper()
	b := &bird{from: &birdtest.Neighbour{Address: "127.0.0.2", AS: 65002, Import: "filter customer", Export: "none"},
		to: &birdtest.Neighbour{Address: "127.0.0.3", AS: 65003, Import: "none", Export: "where source = RTS_BGP"}}
	b.BIRD = birdtest.Start(t, birdFilter, routes, b.from, b.to)
	var err error
	if b.Daemon, err = Attach(b.BIRD.PID); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bird) update(t testing.TB, prefix string) []byte {
	return b.from.Update(t, nil, []netip.Prefix{netip.MustParsePrefix(prefix)})
}

// announce delivers an announcement to a copy, and asks the copy for its route.
func (b *bird) announce(t testing.TB, c *Checkpoint, prefix string) (o *Outcome, sent bool, shown string) {
	t.Helper()
	from, err := FD(c.Files(), b.from.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	inputs := []Input{{FD: from, Data: b.update(t, prefix)}}
	for _, f := range c.Files() {
		if f.Listen && f.Name == "unix:"+b.Control {
			inputs = append(inputs, Input{FD: f.FD, Accept: true, Data: []byte("show route " + prefix + "\n")})
		}
	}
	if len(inputs) != 2 {
		t.Fatalf("no control socket in %+v", c.Files())
	}
	if o, err = c.Deliver(inputs, Budget{Calls: 1000, CPU: 5 * time.Second}); err != nil {
		t.Fatal(err)
	}
	p := netip.MustParsePrefix(prefix)
	announced := append([]byte{byte(p.Bits())}, p.Addr().AsSlice()[:(p.Bits()+7)/8]...)
	for _, m := range o.Outputs {
		switch {
		case m.To == b.to.LocalAddr().String():
			sent = sent || bytes.HasSuffix(m.Data, announced)
		case strings.HasPrefix(m.To, "client of unix:"):
			shown += string(m.Data)
		default:
			t.Errorf("%s: an output to %s: %q", prefix, m.To, m.Data)
		}
	}
	return o, sent, shown
}

// Announcements to copies of BIRD show what its import filter accepts, and BIRD itself gets none of them.
func TestBIRD(t *testing.T) {
	b := startBIRD(t, 1000)
	before := b.Table(t)
	c, err := b.TakeCheckpoint()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for prefix, accepted := range map[string]bool{"203.0.113.0/24": true, "203.0.113.0/25": false, "203.0.112.0/23": false,
		"198.51.100.0/22": true, "198.51.102.128/30": true, "198.51.104.0/24": false, "16.0.1.0/24": false} {
		o, sent, shown := b.announce(t, c, prefix)
		if o.Status != Done || o.Unread != 0 {
			t.Errorf("%s: %+v", prefix, o)
		}
		if sent != accepted || strings.Contains(shown, " from 127.0.0.2]") != accepted {
			t.Errorf("%s: accepted is %v, but it was sent to the other peer: %v, and the table shows\n%s(refused: %v, logs: %s)",
				prefix, accepted, sent, shown, o.Refused, text(o.Logs))
		}
	}
	if after := b.Table(t); after != before {
		t.Error("BIRD's table has changed")
	}
	if protocols := b.Ask(t, "show protocols"); strings.Count(protocols, "Established") != 2 {
		t.Error(protocols)
	}
}

// fullTable is the number of prefixes of a full table in 2010.
const fullTable = 319355

// BenchmarkBIRD measures with a full table: how long BIRD stands still, what share of a checkpoint's pages is its own, and deliveries.
func BenchmarkBIRD(b *testing.B) {
	d := startBIRD(b, fullTable)
	var pauses []time.Duration
	for range 20 {
		c, err := d.TakeCheckpoint()
		if err != nil {
			b.Fatal(err)
		}
		pauses = append(pauses, c.Paused)
		c.Close()
	}
	slices.Sort(pauses)
	c, err := d.TakeCheckpoint()
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	for b.Loop() {
		if o, sent, _ := d.announce(b, c, "203.0.113.0/24"); o.Status != Done || !sent {
			b.Fatalf("%+v", o)
		}
	}
	private, rss := pages(b, c.PID)
	// More specific routes of the prefix that the filter accepts, to BIRD itself.
	const updates = 1000
	for i := range updates {
		d.from.Send(b, d.update(b, fmt.Sprintf("198.51.%d.%d/32", 100+i>>8, i&255)))
	}
	for !strings.Contains(d.Ask(b, fmt.Sprintf("show route 198.51.%d.%d/32", 100+(updates-1)>>8, (updates-1)&255)), " from 127.0.0.2]") {
		time.Sleep(10 * time.Millisecond) // BIRD reads
	}
	later, _ := pages(b, c.PID)
	b.ReportMetric(100*float64(later)/float64(rss), "own-pages-after-1000-updates-%")
	b.ReportMetric(float64(pauses[len(pauses)/2].Microseconds())/1000, "pause-ms")
	b.ReportMetric(float64(pauses[len(pauses)-1].Microseconds())/1000, "longest-pause-ms")
	b.ReportMetric(100*float64(private)/float64(rss), "own-pages-%")
	b.ReportMetric(float64(rss)/1024, "MiB")
}

// pages reads how much of a process's memory is its own, and how much there is, in KiB.
func pages(t testing.TB, pid int) (private, rss int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var n int
		if key, value, _ := strings.Cut(line, ":"); key == "Rss" || strings.HasPrefix(key, "Private_") {
			fmt.Sscan(value, &n)
			if key == "Rss" {
				rss = n
			} else {
				private += n
			}
		}
	}
	return private, rss
}
