package mrt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/cursor"
)

var (
	addr   = netip.MustParseAddr
	prefix = netip.MustParsePrefix
)

// records has a record of each kind, in an order in which they can be read.
func records() []*Record {
	route := &bgp.Attributes{
		Path: bgp.Path{{ASNs: []uint32{64500, 3356}}, {Set: true, ASNs: []uint32{64501, 196608}}}, NextHop: addr("192.0.2.1"), MED: new(uint32(5)),
		Communities: []bgp.Community{64500<<16 | 1, 0xffffff01}, Aggregator: &bgp.Aggregator{ASN: 64501, Address: addr("192.0.2.9")}, Atomic: true,
	}
	short := &bgp.Attributes{Origin: bgp.Incomplete, Path: bgp.Sequence(64500, 64502), NextHop: addr("192.0.2.1"), LocalPref: new(uint32(100))}
	session := Session{Peer: Peer{ASN: 64500, Address: addr("192.0.2.1")}, Local: Peer{ASN: 64510, Address: addr("192.0.2.2")}, Interface: 3}
	wide := session
	wide.AS4, wide.Peer.ASN = true, 196608
	sixth := session
	sixth.Peer.Address, sixth.Local.Address = addr("2001:db8::1"), addr("2001:db8::2")
	peers := []Peer{{64500, addr("192.0.2.1"), addr("192.0.2.1")}, {196608, addr("2001:db8::1"), addr("192.0.2.3")}}
	const time = 1277971140 * second
	return []*Record{
		{TimeUs: time, Body: &PeerIndex{addr("192.0.2.254"), "view", peers}},
		{TimeUs: time, Body: &RIB{7, prefix("198.51.100.0/24"), []Entry{{0, 1277971000, route}, {1, 1277971001, short}}}},
		{TimeUs: time, Body: &RIB{8, prefix("0.0.0.0/0"), nil}},
		{TimeUs: time, Body: &Dump{1, 2, 1, 1277971000, Peer{ASN: 64500, Address: addr("192.0.2.1")},
			bgp.Route{Prefix: prefix("10.0.0.0/8"), Attributes: short}}},
		{TimeUs: time, Body: &Message{Session: session,
			Update: &bgp.Update{Withdrawn: []netip.Prefix{prefix("10.0.0.0/8")}, Attributes: route, Announced: []netip.Prefix{prefix("10.1.0.0/16")}}}},
		{TimeUs: time + 123456, Extended: true,
			Body: &Message{Session: wide, Sent: true, Update: &bgp.Update{Withdrawn: []netip.Prefix{prefix("10.0.0.0/8")}}}},
		{TimeUs: time + 1, Extended: true, Body: &Message{Session: sixth, Raw: append(bytes.Repeat([]byte{0xff}, 16), 0, 19, 4)}},
		{TimeUs: time, Body: &StateChange{wide, 3, 6}},
		{TimeUs: time, Body: &Other{13, 4, []byte("of IPv6")}},
	}
}

func write(t testing.TB, list ...*Record) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, r := range list {
		if err := Write(&b, r); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func read(b []byte) (list []*Record, err error) {
	r := NewReader(bytes.NewReader(b))
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		list = append(list, rec)
	}
}

func TestRecordsComeBack(t *testing.T) {
	want := records()
	got, err := read(write(t, want...))
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d records: %v", len(got), err)
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("%+v, not %+v", got[i].Body, want[i].Body)
		}
	}
}

func TestLinesAreThoseOfBgpdump(t *testing.T) {
	index := records()[0].Body.(*PeerIndex)
	var got []string
	for _, rec := range records() {
		for l := range Lines(rec, index) {
			got = append(got, l.String())
		}
	}
	want := []string{
		"TABLE_DUMP2|1277971140|B|192.0.2.1|64500|198.51.100.0/24|64500 3356 {64501,196608}|IGP|192.0.2.1|0|5|64500:1 no-export|AG|64501 192.0.2.9|",
		"TABLE_DUMP2|1277971140|B|2001:db8::1|196608|198.51.100.0/24|64500 64502|INCOMPLETE|192.0.2.1|100|0||NAG||",
		"TABLE_DUMP|1277971140|B|192.0.2.1|64500|10.0.0.0/8|64500 64502|INCOMPLETE|192.0.2.1|100|0||NAG||",
		"BGP4MP|1277971140|W|192.0.2.1|64500|10.0.0.0/8",
		"BGP4MP|1277971140|A|192.0.2.1|64500|10.1.0.0/16|64500 3356 {64501,196608}|IGP|192.0.2.1|0|5|64500:1 no-export|AG|64501 192.0.2.9|",
		"BGP4MP_ET|1277971140.123456|W|192.0.2.1|196608|10.0.0.0/8",
	}
	if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
		t.Errorf("got\n%s\nwant\n%s", a, b)
	}
	var back []string
	for l, err := range ReadLines(strings.NewReader(strings.Join(want, "\r\n"))) {
		if err != nil {
			t.Fatal(err)
		}
		back = append(back, l.String())
	}
	if a, b := strings.Join(back, "\n"), strings.Join(want, "\n"); a != b {
		t.Errorf("read again\n%s\nwant\n%s", a, b)
	}
}

func TestBadLinesHaveAPlace(t *testing.T) {
	good := "BGP4MP|1|W|192.0.2.1|64500|10.0.0.0/8\nBGP4MP|1|STATE|192.0.2.1|64500|3|6\nBGP4MP|1|W|192.0.2.1|64500|2001:db8::/32\n"
	for _, bad := range []string{
		"hello", "BGP4MP|x|W|192.0.2.1|64500|10.0.0.0/8", "BGP4MP|1.5|W|192.0.2.1|64500|10.0.0.0/8", "BGP4MP|1|X|192.0.2.1|64500|10.0.0.0/8",
		"BGP4MP|1|W|192.0.2|64500|10.0.0.0/8", "BGP4MP|1|W|192.0.2.1|1.65536|10.0.0.0/8", "BGP4MP|1|W|192.0.2.1|1|10.0.0.0/33",
		"BGP4MP|1|A|192.0.2.1|1|10.0.0.0/8|1 2|IGP", "BGP4MP|1|A|192.0.2.1|1|10.0.0.0/8|1 {2|IGP|192.0.2.1|0|0||NAG||",
		"BGP4MP|1|A|192.0.2.1|1|10.0.0.0/8|1 2|igp|192.0.2.1|0|0||NAG||", "BGP4MP|1|A|192.0.2.1|1|10.0.0.0/8|1 2|IGP|192.0.2.1|0|0|1:|NAG||",
		"BGP4MP|1|A|192.0.2.1|1|10.0.0.0/8|1 2|IGP|192.0.2.1|-1|0||NAG||", "BGP4MP|1|A|192.0.2.1|1|10.0.0.0/8|1 2|IGP|192.0.2.1|0|0||NAG|7|",
		strings.Repeat("x", LineSize+1),
	} {
		lines := 0
		var last error
		for _, err := range ReadLines(strings.NewReader(good + bad + "\n" + good)) {
			if last = err; err == nil {
				lines++
			}
		}
		var e *cursor.Error
		if !errors.As(last, &e) || e.Offset != int64(len(good)) || lines != 1 {
			t.Errorf("%.40q: %d lines, %v", bad, lines, last)
		}
	}
}

func TestBadFilesHaveAPlace(t *testing.T) {
	all := records()
	index := write(t, all[0])
	rib := write(t, all[1])
	huge := write(t, all[8])
	huge[8] = 0x7f
	for _, c := range []struct {
		name   string
		b      []byte
		offset int
	}{
		{"ends in a header", index[:5], 5},
		{"ends in a record", index[:20], 20},
		{"promises two gigabytes", huge, 8},
		{"no index", rib, headerSize + 4 + 4 + 2},
		{"microseconds", append(bytes.Clone(index), microseconds(t)...), len(index) + headerSize},
	} {
		_, err := read(c.b)
		var e *cursor.Error
		if !errors.As(err, &e) || e.Offset != int64(c.offset) {
			t.Errorf("%s: %v, not at %d", c.name, err, c.offset)
		}
	}
}

func microseconds(t *testing.T) []byte {
	b := write(t, records()[5])
	b[headerSize] = 0xff
	return b
}

// A record that is broken inside does not hide the next one.
func TestReadingGoesOnBehindABrokenRecord(t *testing.T) {
	all := records()
	broken := write(t, all[3])
	broken[headerSize+8] = 99 // the length of the prefix
	r := NewReader(bytes.NewReader(append(broken, write(t, all[4])...)))
	if _, err := r.Next(); err == nil || !strings.Contains(err.Error(), "offset 20: a prefix of IPv4 has a length of 99") {
		t.Errorf("the broken record: %v", err)
	}
	if rec, err := r.Next(); err != nil || !reflect.DeepEqual(rec, all[4]) {
		t.Errorf("the next record: %v, %v", rec, err)
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("the end: %v", err)
	}
}

func TestWhatNoFormatHasIsRefused(t *testing.T) {
	all := records()
	session := all[4].Body.(*Message).Session
	session.Peer.ASN = 196608
	for _, rec := range []*Record{
		{TimeUs: -1, Body: all[0].Body},
		{TimeUs: 1, Body: all[4].Body},
		{Extended: true, Body: all[0].Body},
		{Body: &StateChange{Session: session}},
		{Body: &StateChange{}},
		{Body: &RIB{Prefix: prefix("2001:db8::/32")}},
		{Body: nil},
	} {
		var b bytes.Buffer
		if err := Write(&b, rec); err == nil || b.Len() > 0 {
			t.Errorf("%+v was written: %d bytes", rec, b.Len())
		}
	}
}

func FuzzRead(f *testing.F) {
	all := records()
	f.Add(write(f, all...))
	for _, r := range all[3:] {
		f.Add(write(f, r))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := read(b)
		if err != nil && !errors.As(err, new(*cursor.Error)) {
			t.Fatal(err)
		}
		var out bytes.Buffer
		for _, rec := range list {
			if err := Write(&out, rec); err != nil {
				return // an UPDATE that no longer fits
			}
		}
		again, err := read(out.Bytes())
		if err != nil || len(again) != len(list) || len(list) > 0 && !reflect.DeepEqual(again, list) {
			t.Errorf("%v\n%s\n%s", err, describe(list), describe(again))
		}
	})
}

func describe(list []*Record) string {
	var s strings.Builder
	for _, r := range list {
		fmt.Fprintf(&s, "%d %+v\n", r.TimeUs, r.Body)
	}
	return s.String()
}

func FuzzLines(f *testing.F) {
	index := records()[0].Body.(*PeerIndex)
	for _, rec := range records() {
		for l := range Lines(rec, index) {
			f.Add(l.String())
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		for l, err := range ReadLines(strings.NewReader(text)) {
			if err != nil {
				return
			}
			for again, err := range ReadLines(strings.NewReader(l.String())) {
				if err != nil || again.String() != l.String() {
					t.Errorf("%q became %q: %v", l, again, err)
				}
			}
		}
	})
}
