package table

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/mrt"
)

func TestALoadIsTheTable(t *testing.T) {
	made := generate(t, 20_000, 1)
	got := map[netip.Prefix]*bgp.Attributes{}
	messages := 0
	for u := range made.Load() {
		b, err := bgp.AppendMessage(nil, u, bgp.AS4)
		if err != nil {
			t.Fatal(err)
		}
		read, err := bgp.ParseMessage(b, bgp.AS4)
		if err != nil || !reflect.DeepEqual(read, u) {
			t.Fatal(err)
		}
		messages++
		for _, p := range u.Announced {
			if got[p] != nil {
				t.Fatalf("%v is announced twice", p)
			}
			got[p] = u.Attributes
		}
	}
	for _, r := range made.Routes {
		if got[r.Prefix] != r.Attributes {
			t.Fatalf("%v is not announced with its path", r.Prefix)
		}
	}
	if paths := Measure(made.Routes).Paths; messages > paths+20 {
		t.Errorf("%d messages for %d paths", messages, paths)
	}
}

// A quarter of an hour in real time, as a router would see it.
func TestUpdatesAreThoseOfAQuarterOfAnHour(t *testing.T) {
	const minutes, rate = 15, 18.8
	made := generate(t, 50_000, 1)
	stream, err := made.Updates(1, minutes*60*second, rate)
	if err != nil {
		t.Fatal(err)
	}
	held := map[netip.Prefix]*bgp.Attributes{}
	for _, r := range made.Routes {
		held[r.Prefix] = r.Attributes
	}
	perSecond := make([]float64, minutes*60)
	announced, withdrawn, lastUs, moved := 0, 0, int64(0), 0
	for e := range stream {
		if e.TimeUs < lastUs {
			t.Fatalf("an event at %d us comes behind one at %d", e.TimeUs, lastUs)
		}
		lastUs = e.TimeUs
		perSecond[e.TimeUs/second] += float64(len(e.Update.Announced) + len(e.Update.Withdrawn))
		for _, p := range e.Update.Withdrawn {
			if held[p] == nil {
				t.Fatalf("%v is withdrawn and was not announced", p)
			}
			delete(held, p)
			withdrawn++
		}
		for _, p := range e.Update.Announced {
			if held[p] != nil && held[p] != e.Update.Attributes {
				moved++
			}
			held[p] = e.Update.Attributes
			announced++
		}
		if _, err := bgp.AppendMessage(nil, e.Update, bgp.AS4); err != nil {
			t.Fatal(err)
		}
	}
	total := announced + withdrawn
	near(t, "prefixes a second", float64(total)/minutes/60, rate, rate/4)
	near(t, "the share of withdrawals", float64(withdrawn)/float64(total), .07, .035)
	// Of a Poisson process the variance would be the mean. Files of 2007 and 2010 have 300 and 84 times that.
	mean, variance := float64(total)/float64(len(perSecond)), 0.0
	for _, n := range perSecond {
		variance += (n - mean) * (n - mean) / float64(len(perSecond))
	}
	if variance/mean < 10 {
		t.Errorf("the variance of prefixes a second is %.1f times their mean: there are no bursts", variance/mean)
	}
	if moved < announced/4 {
		t.Errorf("%d of %d announcements have another path", moved, announced)
	}
	t.Logf("%d announced, %d withdrawn, %d moved, variance/mean %.0f", announced, withdrawn, moved, variance/mean)
}

func TestStreamsNeedARate(t *testing.T) {
	made := generate(t, 10, 1)
	for _, rate := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := made.Updates(1, second, rate); err == nil {
			t.Errorf("a rate of %v", rate)
		}
	}
	if _, err := made.Updates(1, 0, 1); err == nil {
		t.Error("a stream of no time")
	}
}

func TestStreamsAreThoseOfTheirSeed(t *testing.T) {
	made := generate(t, 1000, 1)
	text := func(seed uint64) (s string) {
		stream, err := made.Updates(seed, 60*second, 20)
		if err != nil {
			t.Fatal(err)
		}
		for e := range stream {
			s += fmt.Sprintf("%d %v %v %+v\n", e.TimeUs, e.Update.Withdrawn, e.Update.Announced, e.Update.Attributes)
		}
		return s
	}
	if text(1) != text(1) || text(1) == text(2) || text(1) == "" {
		t.Error("a stream is not a function of its seed")
	}
}

func TestFilesHaveTheTable(t *testing.T) {
	made := generate(t, 2000, 1)
	var b bytes.Buffer
	for rec := range made.Records(1_280_000_000) {
		if err := mrt.Write(&b, rec); err != nil {
			t.Fatal(err)
		}
	}
	stream, _ := made.Updates(1, 60*second, 10)
	var events []Event
	for e := range stream {
		events = append(events, e)
		if err := mrt.Write(&b, e.Record(1_280_000_000)); err != nil {
			t.Fatal(err)
		}
	}
	r := mrt.NewReader(&b)
	routes, updates := 0, 0
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := rec.Body.(type) {
		case *mrt.RIB:
			if want := made.Routes[routes]; x.Prefix != want.Prefix || !reflect.DeepEqual(x.Entries[0].Attributes, want.Attributes) {
				t.Fatalf("%v: %+v", x.Prefix, x.Entries[0].Attributes)
			}
			routes++
		case *mrt.Message:
			if want := events[updates]; !reflect.DeepEqual(x.Update, want.Update) || rec.TimeUs != 1_280_000_000*second+want.TimeUs {
				t.Fatalf("%d: %+v", rec.TimeUs, x.Update)
			}
			updates++
		}
	}
	if routes != len(made.Routes) || updates != len(events) || updates == 0 {
		t.Errorf("%d routes and %d updates", routes, updates)
	}
}

// BIRD itself reads its configuration.
func TestBIRDReadsItsConfiguration(t *testing.T) {
	bird := needs.Program(t, "bird")
	var b bytes.Buffer
	b.WriteString("router id 198.18.0.2;\nprotocol device {}\n")
	if err := generate(t, 2000, 1).BIRD(&b, "everything"); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "bird.conf")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(bird, "-p", "-c", name).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
