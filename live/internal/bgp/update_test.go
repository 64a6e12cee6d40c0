package bgp

import (
	"bytes"
	"encoding/hex"
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/cursor"
)

func prefixes(texts ...string) (list []netip.Prefix) {
	for _, t := range texts {
		list = append(list, netip.MustParsePrefix(t))
	}
	return list
}

// full has each attribute that this package knows, and one that it does not.
func full() *Update {
	return &Update{
		Withdrawn: prefixes("10.0.0.0/8", "0.0.0.0/0", "192.0.2.1/32"),
		Attributes: &Attributes{
			Origin:      EGP,
			Path:        Path{{ASNs: []uint32{64500, 196608, 3356}}, {Set: true, ASNs: []uint32{64501, 4200000000}}},
			NextHop:     netip.MustParseAddr("198.51.100.7"),
			MED:         new(uint32(7)),
			LocalPref:   new(uint32(100)),
			Atomic:      true,
			Aggregator:  &Aggregator{196609, netip.MustParseAddr("203.0.113.9")},
			Communities: []Community{64500<<16 | 666, 0xffffff01},
			Others:      []Raw{{Flags: 0xc0, Type: 32, Value: bytes.Repeat([]byte{1}, 300)}},
		},
		Announced: prefixes("198.51.100.0/25", "203.0.113.0/24"),
	}
}

func TestUpdatesComeBack(t *testing.T) {
	for _, size := range []ASSize{AS2, AS4} {
		for name, want := range map[string]*Update{"full": full(), "end of RIB": {}, "withdrawal": {Withdrawn: prefixes("10.0.0.0/9")}} {
			b, err := AppendMessage(nil, want, size)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := ParseMessage(b, size); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s with AS numbers of %d bytes: %+v, %v", name, size, got, err)
			}
		}
	}
}

// A message that was written by hand from RFC 4271.
func TestKnownBytes(t *testing.T) {
	b, _ := hex.DecodeString(strings.ReplaceAll("ffffffffffffffffffffffffffffffff 0036 02 0003 1000 00 0014 40010100 400206 0202 fbf4 1a0b"+
		"400304 c6336407 18cb0071 0a0a40", " ", ""))
	b[16], b[17] = 0, byte(len(b))
	// The withdrawn routes are 0.0.0.0/16; RFC 4271 lets bits beyond the length of 10.64/10 be anything.
	u, err := ParseMessage(b, AS2)
	if err != nil {
		t.Fatal(err)
	}
	want := &Update{
		Withdrawn:  prefixes("0.0.0.0/16"),
		Attributes: &Attributes{Path: Sequence(64500, 6667), NextHop: netip.MustParseAddr("198.51.100.7")},
		Announced:  prefixes("203.0.113.0/24", "10.64.0.0/10"),
	}
	if !reflect.DeepEqual(u, want) {
		t.Errorf("%+v with %+v", u, u.Attributes)
	}
}

// A router of two bytes has put itself and a set before the path that AS4_PATH has (RFC 6793, 4.2.3).
func TestPathsOfFourBytesAreMerged(t *testing.T) {
	a := &Attributes{Path: Path{{ASNs: []uint32{64500, Transition, 64502}}}, Others: []Raw{{0xc0, typePath4, appendPath(nil, Sequence(196608, 64502), AS4)}}}
	got := ReadAttributes(cursor.New(AppendAttributes(nil, a, AS2), 0), AS2)
	if want := Sequence(64500, 196608, 64502); !reflect.DeepEqual(got.Path, want) {
		t.Errorf("%v, not %v", got.Path, want)
	}
	a.Others[0].Value = appendPath(nil, Sequence(1, 2, 3, 4), AS4)
	got = ReadAttributes(cursor.New(AppendAttributes(nil, a, AS2), 0), AS2)
	if !reflect.DeepEqual(got.Path, a.Path) {
		t.Errorf("an AS4_PATH that is longer than the path counted: %v", got.Path)
	}
}

func TestOriginOfAPath(t *testing.T) {
	for _, c := range []struct {
		path   Path
		origin uint32
		ok     bool
		length int
	}{
		{nil, 0, false, 0},
		{Sequence(1, 2, 2), 2, true, 3},
		{Path{{ASNs: []uint32{1}}, {Set: true, ASNs: []uint32{2, 3}}}, 0, false, 2},
	} {
		if asn, ok := c.path.Origin(); asn != c.origin || ok != c.ok || c.path.Len() != c.length {
			t.Errorf("%v: origin %d %t, length %d", c.path, asn, ok, c.path.Len())
		}
	}
}

func TestBadMessagesHaveAPlace(t *testing.T) {
	good, _ := AppendMessage(nil, full(), AS4)
	at := func(i int, v byte) []byte {
		b := slices.Clone(good)
		b[i] = v
		return b
	}
	// The withdrawn routes begin at 21, and the attributes 10 bytes behind that, with ORIGIN.
	for _, c := range []struct {
		name   string
		b      []byte
		offset int64
		reason string
	}{
		{"short", good[:100], 19, "needs"},
		{"marker", at(3, 0), 0, "marker"},
		{"length", at(16, 0xff), 16, "length of"},
		{"prefix", at(21, 33), 21, "length of 33"},
		{"flags", at(31, 0x80), 31, "flags 0x80"},
		{"origin", at(34, 3), 31, "ORIGIN is 3"},
		{"twice", at(36, 1), 35, "twice"},
		{"segment", at(38, 9), 38, "type 9"},
		{"behind", append(slices.Clone(good), 1), int64(len(good)), "follow"},
	} {
		_, err := ParseMessage(c.b, AS4)
		var e *cursor.Error
		if !errors.As(err, &e) || e.Offset != c.offset || !strings.Contains(e.Reason, c.reason) {
			t.Errorf("%s: %v, not offset %d: %s", c.name, err, c.offset, c.reason)
		}
	}
	if _, err := ParseMessage(append(slices.Clone(marker), 0, 19, 4), AS4); !errors.Is(err, ErrOther) {
		t.Errorf("a KEEPALIVE: %v", err)
	}
}

func TestTooLargeAnUpdateIsRefused(t *testing.T) {
	u := full()
	for range 1000 {
		u.Announced = append(u.Announced, netip.MustParsePrefix("10.1.2.0/24"))
	}
	if b, err := AppendMessage([]byte{1}, u, AS4); err == nil || len(b) != 1 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

// What can be read can be written, and means the same.
func FuzzUpdate(f *testing.F) {
	for _, u := range []*Update{full(), {}, {Withdrawn: prefixes("10.0.0.0/9")}} {
		for _, size := range []ASSize{AS2, AS4} {
			b, _ := AppendMessage(nil, u, size)
			f.Add(b, size == AS4)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, as4 bool) {
		size := AS2
		if as4 {
			size = AS4
		}
		u, err := ParseMessage(b, size)
		if err != nil {
			return
		}
		again, err := AppendMessage(nil, u, size)
		if err != nil {
			return // flags of one byte became two, or a path of two bytes has grown
		}
		if got, err := ParseMessage(again, size); err != nil || !reflect.DeepEqual(got, u) {
			t.Errorf("%x\n%x\n%+v\n%+v: %v", b, again, u, got, err)
		}
	})
}
