// Package dashboardtest makes databases for tests of what shows them.
package dashboardtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/cause"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/shrink"
	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/enginetest"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Now is the end of the campaigns in Fill.
var Now = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// Tests that Fill makes.
const (
	Store   = "store"   // with failures of each finding
	Queue   = "queue"   // without a failure
	Canary  = "canary"  // which fails, as it must
	Waiting = "waiting" // never run
	Late    = "late"    // not run on the last code
)

// Codes that Fill makes, the oldest first.
var Codes = []records.Code{
	{Commit: "1f3a9c0e5b7d2468aceb13579bdf02468ace1357", Branch: "main", Line: "main", Subject: "Take snapshots of the log", CommitMs: ms(-72 * time.Hour)},
	{Commit: "8d4e6b2a0c9f7e5d3b1a8f6e4c2b0a9d7f5e3c1b", Branch: "main", Line: "main", Subject: "Answer reads from followers", CommitMs: ms(-30 * time.Hour)},
	{Commit: "c0ffee12ab34cd56ef7890a1b2c3d4e5f60718a9", Branch: "main", Line: "main", Subject: "Batch appends", CommitMs: ms(-5 * time.Hour)},
}

// Env is where all of it ran.
var Env = records.Env{Engine: "native", Bloodhound: "v1.0.0", TraceVersion: report.TraceVersion, System: "linux 6.1",
	Machine: "example", Features: []string{"linux 6.1", "avx2"}}

func ms(since time.Duration) int64 { return Now.Add(since).UnixMilli() }

// FailureOf is a failure of the store's test.
func FailureOf(property, reason string) failure.Failure {
	return failure.New(Store, "0b5e55ed0001", property, property+": "+reason, reason)
}

// Failure is the file of a failure that was shrunk.
func Failure(property, reason string) []byte {
	spec := &world.Spec{Name: Store, Nodes: []world.Node{{Name: "n1", Role: world.Server}, {Name: "n2", Role: world.Server},
		{Name: "load", Role: world.Client}},
		Properties: []world.Property{{Name: property, Kind: world.Safety, Check: world.Check{Type: world.Linearizability,
			Subject: world.Subject{Operations: []string{"put", "get"}}}}}}
	v := check.Verdict{Property: property, Kind: string(world.Safety), Status: check.Violated, Reason: reason, Event: 812, TimeNs: 2_400_000_000,
		Evidence: []string{"put k7 = 3 by client 1 was acknowledged (event 640)", "get k7 by client 2 gave nothing (event 812)"}}
	found := tape.Tape{Seed: 77, Edits: []tape.Edit{{Op: tape.Set, Stream: "fault/partition/n1-n2", From: 4, Value: 1}}}
	f := &report.Failure{Version: report.FailureVersion, TraceVersion: report.TraceVersion, Bloodhound: "v1.0.0",
		Failure: FailureOf(property, reason), Test: Store, Verdict: v, Tape: found,
		Hash: "5be0cd19137e2179", Events: 90_123, VirtualNs: 9_000_000_000, Spec: spec}
	f.Smallest = &report.Smallest{Tape: found, Verdict: v, Hash: "1f83d9abfb41bd6b", Events: 1204, VirtualNs: 2_500_000_000,
		Shrunk: shrink.Shrunk{From: shrink.Size{Faults: 6, Operations: 180, Decisions: 212, Events: 90_123, VirtualNs: 9e9},
			To: shrink.Size{Faults: 1, Operations: 3, Decisions: 1, Events: 1204, VirtualNs: 25e8}, Runs: 311, Minimal: true}}
	b, err := f.Content()
	if err != nil {
		panic(err)
	}
	return b
}

// Page is the report page of a run that loses a write.
func Page(property, reason string) []byte {
	spec := &world.Spec{Name: Store, Nodes: []world.Node{{Name: "n1", Role: world.Server,
		Env: []string{"FAKE=" + enginetest.LostWrite}}, {Name: "n2", Role: world.Server}, {Name: "load", Role: world.Client}},
		Workloads: []world.Workload{{Node: "load", Clients: 2, Operations: 12}},
		Properties: []world.Property{{Name: property, Kind: world.Safety, Check: world.Check{Type: world.Linearizability,
			Subject: world.Subject{Operations: []string{"put", "get"}}}}},
		Faults: world.Faults{Enabled: true,
			Rules: []world.FaultRule{{Kind: "partition", RatePPM: 1, MinNs: 25e6, MaxNs: 25e6, Targets: []string{"n1-n2"}}}}}
	for seed := uint64(1); ; seed++ {
		var lines bytes.Buffer
		sink := report.NewDiagramSink(&lines, spec)
		o, err := engine.Run(enginetest.New(), spec,
			tape.Tape{Seed: seed, Edits: []tape.Edit{{Op: tape.Set, Stream: "fault/partition/n1-n2", From: 1, Value: 1}}},
			engine.Options{Observe: sink.Event, Log: sink.Log})
		if err != nil {
			panic(err)
		}
		j := &check.Judged{Outcome: *o}
		if j.Judge(spec, false); j.Verdicts[0].Status != check.Violated {
			continue
		}
		if err := sink.Finish(j); err != nil {
			panic(err)
		}
		v := j.Verdicts[0]
		v.Reason = reason
		id := FailureOf(property, reason)
		p := report.PageOf{StoryOf: report.StoryOf{Spec: spec, Outcome: j, Verdict: v, Failure: id,
			Replay: "bloodhound replay " + id.Name() + ".json"}, Bloodhound: "v1.0.0"}
		if p.Diagram, err = report.ReadDiagram(&lines, report.Nearness(j, v)); err != nil {
			panic(err)
		}
		var b bytes.Buffer
		if err := report.Page(&b, p); err != nil {
			panic(err)
		}
		return b.Bytes()
	}
}

// explanation is of the run of the file of Failure.
func explanation() json.RawMessage {
	e := report.Explanation{Hash: "1f83d9abfb41bd6b"}
	for i, failed := range []int{1, 0, 2, 1, 3, 2, 39, 40, 40, 40} {
		share := float64(failed) / 40
		e.Points = append(e.Points, cause.Point{AtNs: int64(i+1) * 240_000_000, Failed: failed, Runs: 40, Low: max(share-0.06, 0), High: min(share+0.1, 1)})
	}
	e.Runs, e.Jump = 400, &cause.Jump{Before: e.Points[5], After: e.Points[6], Clear: true}
	e.Decided = []report.Decided{{Decision: tape.Decision{Stream: "fault/partition/n1-n2", Index: 4, Value: 1, N: 2}, AtNs: 1_500_000_000}}
	b, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	return b
}

// Entries are records of three workers that have run four tests on three codes for a few days. Files are the blobs that they name.
func Entries() (list []store.Entry, files [][]byte) {
	r := rand.New(rand.NewPCG(1, 2))
	add := func(e ...store.Entry) { list = append(list, e...) }
	add(Env.Entry())
	parents := []string(nil)
	for i := range Codes {
		c := Codes[i]
		c.AtMs = c.CommitMs
		add(c.Entry(), (&records.Commit{ID: c.Commit, Parents: parents}).Entry())
		parents = []string{c.Commit}
	}
	workers := []records.ID{"aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb", "cccccccccccccccc"}
	for i, id := range workers {
		w := records.Worker{Host: fmt.Sprintf("runner-%d", i+1), PID: 4000 + i, Bloodhound: "v1.0.0", CPUs: 8,
			StartedMs: ms(-72 * time.Hour), Labels: map[string]string{"pod": fmt.Sprintf("hound-%d", i)}}
		if i == 2 {
			w.EndedMs, w.Reason = ms(-2*time.Hour), "drained"
		}
		add(w.Entry(id))
	}
	for i, name := range []string{Store, Queue, Canary, Waiting, Late} {
		t := records.Test{Name: name, Definition: string(store.DigestOf([]byte(name))), Config: name + "/bloodhound.yaml",
			Strategy: search.Guided, AtMs: ms(-72 * time.Hour), Canary: name == Canary,
			Properties: []records.Property{{Name: "linearizable", Kind: "safety"}, {Name: "recovers", Kind: "liveness"}}}
		add(t.Entry())
		if name != Waiting {
			list = effort(r, list, name, workers, i)
			for k, w := range workers[:2] {
				c := records.Counted{AtMs: ms(0), Runs: 4000}
				*c.Fault("partition") = records.FaultCount{Kind: "partition", Planned: 9000, Delivered: 8900, Observed: uint64(8000 + k)}
				*c.Fault("disk-full") = records.FaultCount{Kind: "disk-full", Planned: 40, Delivered: 40}
				*c.Property("linearizable") = records.PropertyCount{Name: "linearizable", Kind: "safety", Holds: 3990, Violated: 4, Unknown: uint64(6 * k)}
				*c.Property("a leader is replaced") = records.PropertyCount{Name: "a leader is replaced", Kind: "liveness", NotYet: 4000}
				early := records.Counted{AtMs: ms(-time.Hour), Runs: 10}
				test, code := records.TestID(name), codesOf(name)[len(codesOf(name))-1].ID()
				add(c.Entry(test, code, Env.ID(), w), early.Entry(test, code, Env.ID(), w))
			}
		}
	}
	found := func(test, property, reason string, code int, level string, worker int, at time.Duration) {
		file := Failure(property, reason)
		files = append(files, file)
		f := records.Failure{Failure: failure.New(test, "0b5e55ed0001", property, property+": "+reason, reason), Reason: reason, Level: level,
			Decisions: map[string]int{records.Raw: 212, records.Shrunk: 1}[level], Tape: "t" + property,
			Run: 1234, Origin: "guided: crossover", File: store.DigestOf(file), Worker: workers[worker], Code: Codes[code].ID(), Env: Env.ID(), AtMs: ms(at)}
		add(f.Entry(records.TestID(test)))
	}
	replay := func(test, property, reason string, code int, result string, at time.Duration) {
		p := records.Replay{Code: Codes[code].ID(), Env: Env.ID(), Worker: workers[0], Result: result, Hash: "1f83d9abfb41bd6b", AtMs: ms(at)}
		add(p.Entry(records.TestID(test), records.FailureID(records.TestID(test), property+": "+reason)))
	}
	found(Store, "linearizable", "a write that was acknowledged is lost", 1, records.Raw, 0, -20*time.Hour)
	found(Store, "linearizable", "a write that was acknowledged is lost", 1, records.Shrunk, 1, -19*time.Hour)
	found(Store, "linearizable", "a write that was acknowledged is lost", 2, records.Raw, 1, -4*time.Hour)
	found(Store, "linearizable", "a write that was acknowledged is lost", 2, records.Raw, 0, -4*time.Hour)
	found(Store, "linearizable", "a read goes back in time", 2, records.Raw, 1, -3*time.Hour)
	found(Store, "linearizable", "a read goes back in time", 2, records.Raw, 0, -2*time.Hour)
	found(Store, "recovers", "no leader 10 s after the last fault", 0, records.Raw, 2, -60*time.Hour)
	replay(Store, "recovers", "no leader 10 s after the last fault", 2, records.Clean, -4*time.Hour)
	found(Store, "no crash", "n2 ended with SIGSEGV", 2, records.Raw, 0, -time.Hour)
	found(Store, "no crash", "n1 ended with exit code 2", 1, records.Raw, 2, -25*time.Hour)
	replay(Store, "no crash", "n1 ended with exit code 2", 2, records.Diverged, -4*time.Hour)
	found(Canary, "linearizable", "a planted bug", 2, records.Raw, 1, -5*time.Hour)
	found(Late, "recovers", "stuck", 1, records.Raw, 0, -20*time.Hour)
	page := Page("linearizable", "a write that was acknowledged is lost")
	files = append(files, page)
	test := records.TestID(Store)
	lost := records.FailureID(test, "linearizable: a write that was acknowledged is lost")
	n := records.Note{By: "ana", Text: "Under review.", State: records.Acknowledged, URL: "https://example.org/issues/7", AtMs: ms(-3 * time.Hour)}
	q := records.Request{Kind: records.ReplayRequest, Test: test, Failure: lost, By: "ana", AtMs: ms(-2 * time.Hour)}
	d := records.Done{Worker: workers[0], Text: "reproduced: a write that was acknowledged is lost", AtMs: ms(-2*time.Hour + time.Minute)}
	open := records.Request{Kind: records.ShrinkRequest, Test: test, Failure: lost, By: "ben", AtMs: ms(-time.Minute)}
	shown := records.Page{Of: store.DigestOf(Failure("linearizable", "a write that was acknowledged is lost")),
		File: store.DigestOf(page), Worker: workers[1], Code: Codes[2].ID(), Env: Env.ID(), AtMs: ms(-3 * time.Hour)}
	explained := records.Explained{Hash: "1f83d9abfb41bd6b", Worker: workers[0], Code: Codes[2].ID(), Env: Env.ID(),
		AtMs: ms(-2 * time.Hour), Explanation: explanation()}
	named := func(i int) records.Named {
		return records.Named{ID: Codes[i].Commit, Subject: Codes[i].Subject}
	}
	bisected := records.Bisected{What: records.Introduced, Commits: []records.Named{named(1)}, Good: Codes[0].Commit,
		Bad: Codes[2].Commit, Worker: workers[0], Env: Env.ID(), AtMs: ms(-time.Hour),
		Tried: []records.AtCommit{{Named: named(0), Result: records.Clean},
			{Named: named(2), Result: records.Reproduced, Reason: "the same run"}, {Named: named(1), Result: records.Reproduced, Reason: "the same run"}}}
	add(bisected.Entry(test, lost), shown.Entry(test, lost), explained.Entry(test, lost), n.Entry(test, lost), q.Entry(), d.Entry(q.ID()), open.Entry())
	distilled := records.Distilled{Worker: workers[0], Code: Codes[2].ID(), Env: Env.ID(), AtMs: ms(-time.Hour), Features: 431}
	corpus(r, workers, func(k *records.Kept) {
		add(k.Entry(test))
		distilled.Of = append(distilled.Of, k.Name)
	})
	slices.Sort(distilled.Of)
	distilled.Kept = distilled.Of[:40]
	add(distilled.Entry(test))
	return list, files
}

// codesOf are the codes that a test was run on.
func codesOf(test string) []records.Code {
	if test == Late {
		return Codes[:len(Codes)-1]
	}
	return Codes
}

// effort adds spans and what was found, code after code: fewer and fewer features.
func effort(r *rand.Rand, list []store.Entry, name string, workers []records.ID, turn int) []store.Entry {
	test := records.TestID(name)
	for k := range codesOf(name) {
		code := Codes[k].ID()
		begin, end := Codes[k].CommitMs, ms(0)
		if k+1 < len(Codes) {
			end = Codes[k+1].CommitMs
		}
		known, state := map[uint64]bool{}, records.State{}
		seq := map[records.ID]uint64{}
		finds := map[records.ID]uint64{}
		runs := uint64(0)
		for at := begin + int64(turn+1)*600_000; at <= end; at += 1_800_000 {
			for i, w := range workers {
				if i == 2 && at > ms(-2*time.Hour) {
					continue
				}
				s := records.Span{Seq: seq[w], AtMs: at, Ms: 590_000, Phase: records.Search, From: state,
					Runs: 600 + r.Uint64N(90), Events: 4e6, Size: uint64(len(known))}
				if i == 1 && seq[w]%3 == 2 {
					s.Phase, s.Events = records.Holdout, 2e6
				}
				var fresh []uint64
				for range 400 / (1 + seq[w]*uint64(i+1)) {
					id := r.Uint64N(1+40*(1+runs/4)) * 0x9e3779b97f4a7c15 >> 1
					if !known[id] {
						known[id] = true
						fresh = append(fresh, id)
						state = state.With(id)
					}
				}
				runs += s.Runs
				s.To, s.Size = state, uint64(len(known))
				if s.Phase == records.Holdout {
					s.Varying = uint64(turn % 2) // of Queue
					news := min(uint64(len(fresh)), 3)
					s.Classes = []records.Class{{Name: records.AnyFeature, News: news, After: s.Runs - 5*news},
						{Name: "net", News: 0, After: s.Runs}, {Name: records.PropertyClass("linearizable"), After: s.Runs}}
				}
				list = append(list, s.Entry(test, code, Env.ID(), w))
				seq[w]++
				if len(fresh) > 0 {
					f := records.Found{Worker: w, Seq: finds[w], AtMs: at, Run: runs, Features: records.FeatureText(fresh)}
					finds[w]++
					list = append(list, f.Entry(test, code, Env.ID()))
				}
			}
		}
	}
	return list
}

// corpus makes entries that descend from each other.
func corpus(r *rand.Rand, workers []records.ID, add func(*records.Kept)) {
	var names []string
	for i := range 130 {
		e := search.Entry{Version: search.EntryVersion, Origin: search.Origin{Strategy: search.Guided}, Run: uint64(i * 11), Why: "reached 3 new behaviours",
			Tape: tape.Tape{Seed: r.Uint64(), Edits: []tape.Edit{{Op: tape.Set, Stream: "fault/kill/n1", From: uint64(i), Value: 1}}}}
		e.Name = search.NameOf(e.Tape)
		if len(names) > 0 && i%5 > 0 {
			e.Origin.Parent, e.Origin.Mutation = names[r.IntN(len(names))], "move a fault"
		}
		names = append(names, e.Name)
		b, err := json.Marshal(&e)
		if err != nil {
			panic(err)
		}
		add(&records.Kept{Worker: workers[i%3], Code: Codes[i%3].ID(), Env: Env.ID(), AtMs: ms(-time.Duration(i) * 20 * time.Minute), Name: e.Name, Search: b})
	}
}

// Fill adds all Entries to a store.
func Fill(t testing.TB, s store.Store) {
	t.Helper()
	list, files := Entries()
	for _, f := range files {
		if _, err := s.PutBlob(context.Background(), f); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Add(context.Background(), list...); err != nil {
		t.Fatal(err)
	}
}

// Spans fills a folder with a million spans of 64 workers.
func Spans(t testing.TB, folder string) {
	t.Helper()
	const workers, each = 64, 1_000_000 / 64
	for w := range workers {
		d, err := store.OpenDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		list := []store.Entry{(&records.Test{Name: Store, Definition: "d"}).Entry()}
		for i := range each {
			s := records.Span{Seq: uint64(i), AtMs: ms(-6*time.Hour) + int64(i)*1000, Ms: 1000, Phase: records.Search, Runs: 12,
				Events: 123456, Size: uint64(i)}
			if i%10 == 0 {
				s.Phase, s.Classes = records.Holdout, []records.Class{{Name: records.AnyFeature, After: 12}, {Name: "code", After: 12}}
			}
			list = append(list, s.Entry(records.TestID(Store), Codes[0].ID(), Env.ID(), records.ID(fmt.Sprintf("%016x", w))))
		}
		list = append(list, Codes[0].Entry())
		if err := d.Add(context.Background(), list...); err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
