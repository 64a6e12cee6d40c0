package stored

import (
	"bufio"
	"cmp"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/pcapng"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// CapturePackets adds a sink to o that writes the packets of a run into a file, until stop is called. finish is called once.
func CapturePackets(o *engine.Options, name string, spec *world.Spec) (stop func(), finish func() error, err error) {
	incomplete := func(err error) error {
		return fmt.Errorf("the capture is incomplete: %w", report.DiskError(err, filepath.Dir(name)))
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, nil, incomplete(err)
	}
	out := bufio.NewWriterSize(f, 1<<16)
	w := pcapng.New(out, "bloodhound "+program.Version(), captureNodes(spec))
	on := true
	o.Capture = func(p *engine.Packet) {
		if on {
			w.Packet(p)
		}
	}
	return func() { on = false }, func() error {
		err := cmp.Or(w.Err(), out.Flush())
		if err = cmp.Or(err, f.Close()); err != nil {
			return incomplete(err)
		}
		return nil
	}, nil
}

// captureNodes are the interfaces of a capture.
func captureNodes(spec *world.Spec) (list []pcapng.Node) {
	for i := range spec.Nodes {
		n := &spec.Nodes[i]
		to := pcapng.Node{Name: n.Name}
		texts := []string{n.IPv4, n.IPv6}
		for _, a := range n.Attachments {
			texts = append(texts, a.IPv4, a.IPv6)
		}
		known := map[netip.Addr]bool{}
		for _, text := range texts {
			if a, err := netip.ParseAddr(text); err == nil && !known[a] {
				known[a] = true
				to.Addresses = append(to.Addresses, a)
			}
		}
		list = append(list, to)
	}
	return list
}
