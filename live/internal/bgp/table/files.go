package table

import (
	"bufio"
	"fmt"
	"io"
	"iter"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/mrt"
)

// Records are the table as TABLE_DUMP_V2 with one peer, Feed.
func (t *Table) Records(timeS int64) iter.Seq[*mrt.Record] {
	return func(yield func(*mrt.Record) bool) {
		if !yield(&mrt.Record{TimeUs: timeS * second, Body: &mrt.PeerIndex{Collector: Local.ID, Peers: []mrt.Peer{Feed}}}) {
			return
		}
		for i, r := range t.Routes {
			body := &mrt.RIB{Sequence: uint32(i), Prefix: r.Prefix, Entries: []mrt.Entry{{OriginatedS: uint32(timeS), Attributes: r.Attributes}}}
			if !yield(&mrt.Record{TimeUs: timeS * second, Body: body}) {
				return
			}
		}
	}
}

// Record is an event of a stream that began at a time, as BGP4MP_ET.
func (e Event) Record(timeS int64) *mrt.Record {
	session := mrt.Session{Peer: mrt.Peer{ASN: Feed.ASN, Address: Feed.Address}, Local: mrt.Peer{ASN: Local.ASN, Address: Local.Address}, AS4: true}
	return &mrt.Record{TimeUs: timeS*second + e.TimeUs, Extended: true, Body: &mrt.Message{Session: session, Update: e.Update}}
}

// BIRD writes a static protocol of BIRD 2 with all prefixes. Its routes have no path.
func (t *Table) BIRD(w io.Writer, name string) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "protocol static %s {\n\tipv4;\n", name)
	for _, r := range t.Routes {
		fmt.Fprintf(b, "\troute %v blackhole;\n", r.Prefix)
	}
	fmt.Fprintf(b, "}\n")
	return b.Flush()
}
