package moments

import (
	"fmt"
	"reflect"
	"testing"
)

func TestTemplate(t *testing.T) {
	for text, want := range map[string]string{
		"/data/000017.sst": "/data/*.sst",
		"/data/0000000000000001-00000000000000af.wal":   "/data/*-*.wal",
		"/data/wal-meta.db":                             "/data/wal-meta.db",
		"/data/f81d4fae-7dec-11d0-a765-00a0c91e6bf6/db": "/data/*/db",
		"/data/node1/raft.db":                           "/data/node*/raft.db",
		"/var/lib/deadbeef/x":                           "/var/lib/deadbeef/x",
		"/var/lib/deadbee1/x":                           "/var/lib/*/x",
		"/tmp/tmpa7kq20x":                               "/tmp/*",
		"pg_wal/00000001000000000000000A":               "pg_wal/*",
		"9090 HTTP/1.1":                                 "* HTTP/*.*",
		"/data/checkpoint.2.tmp":                        "/data/checkpoint.*.tmp",
		"/blobs/sha256/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934c": "/blobs/sha*/*",
	} {
		if got := Template(text); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
	for template, want := range map[string]string{"/data/*.sst": "*.sst", "/data/a b,[1].db": "a?b??1?.db", "/data": "data"} {
		if got := Pattern(template); got != want {
			t.Errorf("the pattern of %s is %s, want %s", template, got, want)
		}
	}
	for _, c := range []struct {
		file string
		argv []string
		want string
	}{{"/usr/bin/redis-server", []string{"redis-server", "*:6379"}, "redis-server"},
		{"/usr/bin/python3.11", []string{"python3", "-u", "/srv/kv.py"}, "python*.* kv.py"},
		{"/usr/bin/python3.11", []string{"python3", "-c", "import os\nos.fork()"}, "python*.*"}} {
		if got := Program(c.file, c.argv); got != c.want {
			t.Errorf("%v is %q, want %q", c.argv, got, c.want)
		}
	}
	for data, want := range map[string]string{"HTTP/1.1 200 OK\r\n": "HTTP/*.*", "+OK\r\n": "+OK", "$5\r\nhello": "$*",
		"\x00\x01": "binary", "ok\x00": "binary", "ok": "ok", "": "binary"} {
		if got := Head([]byte(data)); got != want {
			t.Errorf("%q is %q, want %q", data, got, want)
		}
	}
}

// Counts are exact and samples are spread over a series, whatever its length; classes beyond the bound are counted.
func TestRecordIsBounded(t *testing.T) {
	for _, n := range []int{1, MaxSampled, MaxSampled + 1, 10_000} {
		var r Record
		for i := range n {
			r.Add(&Moment{Class: Class{Node: "n1", Act: Sync, Call: "fsync"}, Event: uint64(10 * i), InChaos: i%2 == 1})
		}
		s := &r.Series[0]
		if s.Count != uint64(n) || s.InChaos != uint64(n/2) || len(s.Sampled) > MaxSampled || len(s.Sampled) < min(n, MaxSampled/2) {
			t.Fatalf("%d moments: %d counted, %d in chaos, %d sampled", n, s.Count, s.InChaos, len(s.Sampled))
		}
		for i, o := range s.Sampled {
			if number := uint64(i)*s.Stride + 1; o.Number != number || o.Event != 10*(number-1) {
				t.Fatalf("%d moments: sample %d is %+v, want number %d", n, i, o, number)
			}
		}
		if last := s.Sampled[len(s.Sampled)-1].Number; last+s.Stride <= uint64(n) {
			t.Errorf("%d moments: the last sample is %d, one in %d", n, last, s.Stride)
		}
		chosen := s.Choose(5)
		if len(chosen) != min(n, 5) || chosen[0].Number != 1 || chosen[len(chosen)-1] != s.Sampled[len(s.Sampled)-1] {
			t.Errorf("%d moments: chosen %+v", n, chosen)
		}
	}
	var r Record
	for i := range MaxClasses + 7 {
		r.Add(&Moment{Class: Class{File: fmt.Sprint(i)}})
		r.Add(&Moment{Class: Class{File: "0"}})
	}
	if len(r.Series) != MaxClasses || r.Lost != 7 || r.Series[0].Count != MaxClasses+8 {
		t.Errorf("%d classes, %d moments lost, the first class has %d", len(r.Series), r.Lost, r.Series[0].Count)
	}
	var reverse Record
	for i := range 3 {
		reverse.Add(&Moment{Class: Class{File: fmt.Sprint(2 - i)}})
	}
	if list := reverse.Classes(); !reflect.DeepEqual([]string{list[0].File, list[1].File, list[2].File}, []string{"0", "1", "2"}) {
		t.Errorf("classes in the order %+v", list)
	}
}
