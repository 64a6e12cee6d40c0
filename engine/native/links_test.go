//go:build linux && amd64

package native_test

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/fault"
	"github.com/bloodhound-dst/bloodhound/world"
)

const (
	// counting sends numbered datagrams, and tally says of each that comes whether it is the next one and whether it is late.
	counting = `import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(100): s.sendto(b'%d' % i, ('n2', 7000)); time.sleep(0.02)
time.sleep(1000)
`
	tally = `import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('', 7000))
last, t = -1, time.monotonic()
for i in range(100):
    n = int(s.recv(100)); now = time.monotonic()
    print('next' if n == last + 1 else 'gap' if n > last else 'back', 'late' if now - t > 0.1 else 'prompt', flush=True)
    last, t = n, now
`
)

// A clog holds what a partition loses: after it all datagrams arrive, in order.
func TestClogLosesNothing(t *testing.T) {
	for _, c := range []struct {
		kind      fault.Kind
		late, gap bool
	}{{fault.Clog, true, false}, {fault.Partition, true, true}} {
		spec := struck(counting, tally, &world.FaultRule{Kind: string(c.kind), RatePPM: 20_000, MinNs: 300e6, MaxNs: 600e6, Targets: []string{"n1-n2"}})
		spec.Faults.StartNs = 200e6
		text, e := lines(t, spec, c.kind)
		if strings.Contains(text, "late\n") != c.late || strings.Contains(text, "gap ") != c.gap || strings.Contains(text, "back ") {
			t.Errorf("%s: the receiver says\n%s", c.kind, text)
		}
		if !c.gap && strings.Count(text, "next ") != 100 {
			t.Errorf("%s: not all datagrams came:\n%s", c.kind, text)
		}
		if e.Observed == 0 {
			t.Errorf("the ledger says %+v", e)
		}
	}
}
