package fake

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/inprocess"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// play makes a run, in which nothing must break down.
func play(t *testing.T, tp tape.Tape, define func(*inproc.World)) *record.Outcome {
	t.Helper()
	e, err := inprocess.New("test", define)
	if err != nil {
		t.Fatal(err)
	}
	out, err := engine.Run(e, e.Spec(), tp, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range out.Crashes {
		t.Fatalf("%s, %s:\n%s", tp.Name(), c.Node, strings.Join(c.Lines, "\n"))
	}
	recordHash(t, tp, out)
	return out
}

// counted gives how often a kind was delivered and observed.
func counted(out *record.Outcome, kind string) (delivered, observed uint64) {
	for _, e := range out.Ledger.Entries {
		if string(e.Kind) == kind {
			return e.Delivered, e.Observed
		}
	}
	return 0, 0
}

// Each fake fails before and after the effect, with the same error, as often as the ledger says; not at all in a run without faults.
func TestBothOutcomes(t *testing.T) {
	failures := Failures{Before: 0.2, After: 0.2}
	for _, c := range []struct {
		kinds  [2]string
		add    func(w *inproc.World)
		change func(p *inproc.Process, key string) error
		is     func(p *inproc.Process, key string) bool
		same   error
	}{
		{
			[2]string{"db_fails_before", "db_fails_after"},
			func(w *inproc.World) { Database(w, "fake", DatabaseOptions{Failures: failures}) },
			func(p *inproc.Process, key string) error {
				return Open(p, "fake").Transact(Serializable, func(tx *Tx) error { return tx.Put("t", key, Row{"is": "there"}) })
			},
			func(p *inproc.Process, key string) bool {
				var err error
				must(t, Open(p, "fake").Transact(Serializable, func(tx *Tx) error {
					_, err = tx.Get("t", key)
					return nil
				}))
				return err == nil
			},
			ErrLost,
		},
		{
			[2]string{"kv_fails_before", "kv_fails_after"},
			func(w *inproc.World) { Store(w, "fake", StoreOptions{failures}) },
			func(p *inproc.Process, key string) error {
				_, err := Dial(p, "fake").Put(key, "there")
				return err
			},
			func(p *inproc.Process, key string) bool {
				_, err := Dial(p, "fake").Get(key)
				return err == nil
			},
			ErrLost,
		},
		{
			[2]string{"http_503_before", "http_503_after"},
			func(w *inproc.World) { Service(w, "fake", shelf(failures, 0)) },
			func(p *inproc.Process, key string) error {
				if status, body := request1(t, p, "PUT", "/things/"+key); status != 201 {
					if body != "busy" {
						t.Errorf("%d %q", status, body)
					}
					return errBusy
				}
				return nil
			},
			func(p *inproc.Process, key string) bool {
				status, _ := request1(t, p, "GET", "/things/"+key)
				return status == 200
			},
			errBusy,
		},
	} {
		t.Run(c.kinds[0], func(t *testing.T) {
			var before, after, done int
			define := func(w *inproc.World) {
				before, after, done = 0, 0, 0
				c.add(w)
				w.Client("client", func(p *inproc.Process) {
					p.Sleep(10 * time.Millisecond) // the chaos has begun
					for i := range 50 {
						key := strconv.Itoa(i)
						err := c.change(p, key)
						switch there := c.is(p, key); {
						case err == nil && there:
							done++
						case err == nil:
							t.Errorf("%s was done, and is not there", key)
						case !errors.Is(err, c.same):
							t.Errorf("%v", err)
						case there:
							after++
						default:
							before++
						}
					}
				})
			}
			for seed := range uint64(5) {
				out := play(t, tape.Tape{Seed: seed}, define)
				b, bSeen := counted(out, c.kinds[0])
				a, aSeen := counted(out, c.kinds[1])
				if b != uint64(before) || a != uint64(after) || bSeen != b || aSeen != a || b == 0 || a == 0 || done == 0 {
					t.Errorf("seed %d: %d before and %d after, %d done; the ledger has %+v", seed, before, after, done, out.Ledger.Entries)
				}
			}
			play(t, fault.Calm(tape.Tape{Seed: 1}), func(w *inproc.World) {
				define(w)
				w.Faults("drop on client->fake rate 0.000001") // so that there is something to be without
			})
			if before+after > 0 || done != 50 {
				t.Errorf("%d before and %d after, %d done in a run without faults", before, after, done)
			}
		})
	}
}

var errBusy = errors.New("busy")

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// shelf is a service that keeps things.
func shelf(f Failures, violations float64) Catalogue {
	return Catalogue{Violations: violations, Operations: []Operation{
		{Method: "PUT", Path: "/things/{name}", Latency: time.Millisecond, Jitter: time.Millisecond,
			Problems: []Problem{{Status: 503, Body: "busy", Rate: f.Before}, {Status: 503, Body: "busy", Rate: f.After, After: true}},
			Do: func(c *Call) Response {
				c.Put(c.Vars["name"], c.Body)
				return Response{201, "made it"}
			}},
		{Method: "GET", Path: "/things/{name}", Do: func(c *Call) Response {
			value, ok := c.Get(c.Vars["name"])
			if !ok {
				return Response{404, ""}
			}
			return Response{200, value}
		}},
	}}
}

func request1(t *testing.T, p *inproc.Process, method, path string) (int, string) {
	r, err := http.NewRequest(method, "http://fake"+path, strings.NewReader("body"))
	must(t, err)
	answer, err := Client(p).Do(r)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	body, err := io.ReadAll(answer.Body)
	must(t, err)
	return answer.StatusCode, string(body)
}

// Runs of one tape are the same, with all fakes under all faults.
func TestTapesRepeat(t *testing.T) {
	define := func(w *inproc.World) {
		f := Failures{0.1, 0.1}
		Database(w, "db", DatabaseOptions{Failures: f})
		Store(w, "kv", StoreOptions{f})
		Service(w, "fake", shelf(f, 0.1))
		for _, name := range []string{"a", "b"} {
			w.Client(name, func(p *inproc.Process) {
				p.Spawn(func(p *inproc.Process) { Dial(p, "kv").Watch("", 0, 100*time.Millisecond) })
				for i := range 10 {
					Open(p, "db").Transact(Snapshot, func(tx *Tx) error {
						tx.Scan("t", "", "")
						return tx.Put("t", strconv.Itoa(p.Choose(3)), Row{"a": name, "b": strconv.Itoa(i)})
					})
					Dial(p, "kv").PutFor(strconv.Itoa(p.Choose(3)), name, 50*time.Millisecond)
					if r, err := Client(p).Get("http://fake/things/1"); err == nil {
						r.Body.Close()
					}
				}
			})
		}
		w.Faults("crash on db, kv, fake rate 3%", "drop rate 3%", "write_fail rate 2%", "fsync_fail rate 2%", "power_loss rate 2%", "clock_skew rate 2%")
	}
	for seed := range uint64(30) {
		a, b := play(t, tape.Tape{Seed: seed}, define), play(t, tape.Tape{Seed: seed}, define)
		if a.Hash != b.Hash {
			t.Fatalf("seed %d: %s and %s", seed, a.Hash, b.Hash)
		}
	}
	e, err := inprocess.New("test", define)
	must(t, err)
	for seed := range uint64(3) {
		if d, err := e.Diverge(e.Spec(), tape.Tape{Seed: seed}, 2, engine.Options{}); err != nil || d != nil {
			t.Fatalf("%v %v", d, err)
		}
	}
}

// alone makes a run in which one client does something, without faults.
func alone(t *testing.T, add func(w *inproc.World), do func(p *inproc.Process)) {
	t.Helper()
	ended := false
	play(t, tape.Tape{Seed: 1}, func(w *inproc.World) {
		add(w)
		w.Client("client", func(p *inproc.Process) {
			do(p)
			ended = true
		})
	})
	if !ended {
		t.Error("the client has not ended")
	}
}

// Each level has the anomalies that its name allows, and no other.
func TestIsolation(t *testing.T) {
	number := func(tx *Tx, key string) int {
		row, err := tx.Get("t", key)
		if err != nil && !errors.Is(err, inproc.ErrNotFound) {
			t.Error(err)
		}
		return row.Int("n")
	}
	put := func(tx *Tx, key string, n int) { must(t, tx.Put("t", key, Row{"n": strconv.Itoa(n)})) }
	anomalies := []struct {
		name  string
		at    []Isolation // that have it
		shows func(a, b *Tx) bool
	}{
		{"dirty read", []Isolation{ReadUncommitted}, func(a, b *Tx) bool {
			put(a, "x", 7)
			seen := number(b, "x")
			must(t, a.Rollback())
			return seen == 7
		}},
		{"unrepeatable read", []Isolation{ReadUncommitted, ReadCommitted}, func(a, b *Tx) bool {
			first := number(a, "x")
			put(b, "x", 7)
			must(t, b.Commit())
			return number(a, "x") != first
		}},
		{"phantom", []Isolation{ReadUncommitted, ReadCommitted}, func(a, b *Tx) bool {
			first, err := a.Prefix("t", "")
			must(t, err)
			put(b, "y", 7)
			must(t, b.Commit())
			second, err := a.Prefix("t", "")
			must(t, err)
			return len(first) != len(second)
		}},
		{"lost update", []Isolation{ReadUncommitted, ReadCommitted}, func(a, b *Tx) bool {
			m, n := number(a, "x"), number(b, "x")
			put(a, "x", m+1)
			must(t, a.Commit())
			if put(b, "x", n+1); n > m {
				return false // it has read what was not committed
			}
			return b.Commit() == nil
		}},
		{"write skew", []Isolation{ReadUncommitted, ReadCommitted, Snapshot}, func(a, b *Tx) bool {
			number(a, "x")
			number(b, "z")
			put(a, "z", 1)
			put(b, "x", 1)
			must(t, a.Commit())
			return b.Commit() == nil
		}},
		{"phantom that is written upon", []Isolation{ReadUncommitted, ReadCommitted, Snapshot}, func(a, b *Tx) bool {
			for i, tx := range []*Tx{a, b} {
				_, err := tx.Prefix("t", "job")
				must(t, err)
				put(tx, "job"+strconv.Itoa(i), 1)
			}
			must(t, a.Commit())
			return b.Commit() == nil
		}},
	}
	for _, level := range []Isolation{Serializable, Snapshot, ReadCommitted, ReadUncommitted} {
		for _, c := range anomalies {
			alone(t, func(w *inproc.World) {
				Database(w, "db", DatabaseOptions{Tables: map[string]map[string]Row{"t": {"x": {"n": "1"}, "z": {"n": "0"}}}})
			}, func(p *inproc.Process) {
				a, err := Open(p, "db").Begin(level)
				must(t, err)
				b, err := Open(p, "db").Begin(level)
				must(t, err)
				if shows := c.shows(a, b); shows != slices.Contains(c.at, level) {
					t.Errorf("level %d, %s: %v", level, c.name, shows)
				}
			})
		}
	}
}

func TestTransactions(t *testing.T) {
	alone(t, func(w *inproc.World) { Database(w, "db", DatabaseOptions{}) }, func(p *inproc.Process) {
		db := Open(p, "db")
		row := Row{"a": "1"}
		tx, err := db.Begin(Serializable)
		must(t, err)
		for _, key := range []string{"b", "a", "c", "d"} {
			must(t, tx.Put("t", key, row))
		}
		row["a"] = "2" // is the caller's
		must(t, tx.Delete("t", "d"))
		list, err := tx.Scan("t", "", "c")
		if must(t, err); fmt.Sprint(list) != "[{a map[a:1]} {b map[a:1]}]" {
			t.Error(list)
		}
		must(t, tx.Commit())
		if err := tx.Put("t", "e", row); err != ErrGone || !errors.Is(err, inproc.ErrFailed) {
			t.Error(err)
		}
		a, err := db.Begin(Serializable)
		must(t, err)
		b, err := db.Begin(Serializable)
		must(t, err)
		for _, tx := range []*Tx{a, b} {
			r, err := tx.Get("t", "a")
			must(t, err)
			r["a"] += "!"
			must(t, tx.Put("t", "a", r))
		}
		must(t, b.Commit())
		if err := a.Commit(); err != ErrConflict || !errors.Is(err, inproc.ErrFailed) {
			t.Error(err)
		}
		err = db.Transact(Serializable, func(tx *Tx) error {
			must(t, tx.Delete("t", "a"))
			return errBusy
		})
		if err != errBusy {
			t.Error(err)
		}
		must(t, db.Transact(Serializable, func(tx *Tx) error {
			if r, err := tx.Get("t", "a"); err != nil || r["a"] != "1!" {
				t.Errorf("%v %v", r, err)
			}
			if _, err := tx.Get("t", "d"); !errors.Is(err, inproc.ErrNotFound) {
				t.Error(err)
			}
			return nil
		}))
	})
}

// What was answered survives crashes, losses of power and failing disks; what was not committed does not; and what was committed twice shows once.
func TestWhatSurvives(t *testing.T) {
	lostCommits, goneTx := 0, 0
	for seed := range uint64(150) {
		play(t, tape.Tape{Seed: seed}, func(w *inproc.World) {
			Database(w, "db", DatabaseOptions{})
			Store(w, "kv", StoreOptions{})
			Service(w, "fake", shelf(Failures{}, 0))
			w.Client("client", func(p *inproc.Process) {
				db, kv := Open(p, "db"), Dial(p, "kv")
				sure, maybe, versions := map[string]bool{}, map[string]bool{}, map[string]int{}
				for i := range 15 {
					key := strconv.Itoa(i)
					tx, err := db.Begin(Serializable)
					if err == nil {
						if err = tx.Put("t", key, Row{"n": key}); err == nil {
							p.Sleep(20 * time.Millisecond)
							err = tx.Commit()
						}
						switch err {
						case nil:
							sure[key] = true
						case ErrLost:
							lostCommits++
							maybe[key] = true
						case ErrGone:
							goneTx++
						default:
							t.Error(err)
						}
					}
					if v, err := kv.Put(key, key); err == nil {
						versions[key] = v
					}
				}
				for p.Turn() { // until faults end
				}
				p.Sleep(200 * time.Millisecond)
				must(t, db.Transact(Serializable, func(tx *Tx) error {
					list, err := tx.Prefix("t", "")
					must(t, err)
					there := map[string]bool{}
					for _, e := range list {
						if there[e.Key] = true; !sure[e.Key] && !maybe[e.Key] {
							t.Errorf("seed %d: %s is there, and was never committed", seed, e.Key)
						}
					}
					for key := range sure {
						if !there[key] {
							t.Errorf("seed %d: %s was committed, and is gone", seed, key)
						}
					}
					return nil
				}))
				for _, key := range slices.Sorted(maps.Keys(versions)) { // each Get is an event: their order is part of the run
					if i, err := kv.Get(key); err != nil || i.Value != key || i.Version < versions[key] {
						t.Errorf("seed %d: %s: %+v %v", seed, key, i, err)
					}
				}
			})
			w.Faults("crash on db, kv rate 5% for 10ms..100ms", "power_loss on db, kv at fsync rate 3% for 10ms..100ms",
				"torn_write on db, kv rate 2% for 10ms..100ms",
				"write_fail rate 5%", "fsync_fail rate 5%", "partial_write rate 5%", "read_fail rate 5%")
			w.Set(inproc.Settings{Chaos: 3 * time.Second})
		})
	}
	if lostCommits == 0 || goneTx+lostCommits < 20 {
		t.Errorf("only %d commits were lost, and %d transactions gone", lostCommits, goneTx)
	}
}

func TestStore(t *testing.T) {
	alone(t, func(w *inproc.World) { Store(w, "kv", StoreOptions{}) }, func(p *inproc.Process) {
		kv := Dial(p, "kv")
		v, err := kv.CompareAndSet("a/1", 0, "x")
		if must(t, err); v != 1 {
			t.Error(v)
		}
		if _, err := kv.CompareAndSet("a/1", 0, "y"); err != ErrConflict {
			t.Error(err)
		}
		v, err = kv.CompareAndSet("a/1", v, "y")
		if must(t, err); v != 2 {
			t.Error(v)
		}
		_, err = kv.PutFor("a/2", "z", 100*time.Millisecond)
		must(t, err)
		_, err = kv.Put("b", "z")
		must(t, err)
		list, revision, err := kv.List("a/")
		if must(t, err); fmt.Sprint(list, revision) != "[{a/1 y 2} {a/2 z 3}] 4" {
			t.Error(list, revision)
		}
		begun := p.Now()
		events, next, err := kv.Watch("a/", revision, time.Second)
		if must(t, err); fmt.Sprint(events, next) != "[{{a/2  5} true}] 5" {
			t.Error(events, next)
		}
		if took := p.Now().Sub(begun); took < 80*time.Millisecond || took > 120*time.Millisecond {
			t.Errorf("its time was over after %s", took)
		}
		must(t, kv.Delete("b"))
		if err := kv.Delete("b"); !errors.Is(err, inproc.ErrNotFound) {
			t.Error(err)
		}
		events, next, err = kv.Watch("a/", next, 50*time.Millisecond)
		if must(t, err); len(events) != 0 || next != 6 {
			t.Error(events, next)
		}
		events, _, err = kv.Watch("", 0, time.Second)
		if must(t, err); len(events) != 6 {
			t.Error(events)
		}
		if _, err := kv.Get("b"); !errors.Is(err, inproc.ErrNotFound) {
			t.Error(err)
		}
	})
}

// A watch sees each change once and in order, though the store crashes and messages are lost.
func TestNothingIsMissedByAWatch(t *testing.T) {
	for seed := range uint64(50) {
		play(t, tape.Tape{Seed: seed}, func(w *inproc.World) {
			Store(w, "kv", StoreOptions{Failures{0.1, 0.1}})
			written := 0
			w.Client("writer", func(p *inproc.Process) {
				for i := range 20 {
					Dial(p, "kv").Put("k", strconv.Itoa(i))
					p.Sleep(20 * time.Millisecond)
				}
				p.Sleep(time.Second)
				i, err := Dial(p, "kv").Get("k")
				if err == nil {
					written = i.Version
				}
			})
			w.Client("watcher", func(p *inproc.Process) {
				seen, next := 0, 0
				for written == 0 || seen < written {
					events, n, err := Dial(p, "kv").Watch("k", next, 50*time.Millisecond)
					for _, e := range events {
						if seen++; err != nil || e.Version != seen {
							t.Errorf("seed %d: %+v after %d, %v", seed, e, seen, err)
						}
					}
					next = n
				}
			})
			w.Faults("crash on kv rate 5% for 10ms..100ms", "drop rate 5%")
		})
	}
}

func TestService(t *testing.T) {
	alone(t, func(w *inproc.World) { Service(w, "fake", shelf(Failures{}, 0)) }, func(p *inproc.Process) {
		for _, c := range []struct {
			method, path string
			status       int
			body         string
		}{
			{"GET", "/things/1", 404, ""},
			{"PUT", "/things/1", 201, "made it"},
			{"GET", "/things/1", 200, "body"},
			{"GET", "/other", 404, ""},
			{"POST", "/things/1", 405, ""},
		} {
			if status, body := request1(t, p, c.method, c.path); status != c.status || body != c.body {
				t.Errorf("%s %s: %d %q", c.method, c.path, status, body)
			}
		}
		impatient := Client(p)
		impatient.Timeout = time.Second
		if _, err := impatient.Get("http://fake/things/1"); err == nil || !strings.Contains(err.Error(), "set Transport.Within instead") {
			t.Error(err)
		}
		hurried := &http.Client{Transport: &Transport{Process: p, Within: time.Microsecond}}
		if _, err := hurried.Get("http://fake/things/1"); !errors.Is(err, ErrLost) {
			t.Error(err)
		}
	})
}

// A service leaves its catalogue on demand, and only then.
func TestViolations(t *testing.T) {
	for _, rate := range []float64{0, 0.5} {
		teapots, cuts := 0, 0
		out := play(t, tape.Tape{Seed: 3}, func(w *inproc.World) {
			teapots, cuts = 0, 0
			Service(w, "fake", shelf(Failures{}, rate))
			w.Client("client", func(p *inproc.Process) {
				p.Sleep(10 * time.Millisecond)
				for range 40 {
					switch status, body := request1(t, p, "PUT", "/things/1"); {
					case status == undocumented:
						teapots++
					case status != 201:
						t.Error(status)
					case body != "made it":
						cuts++
					}
				}
			})
		})
		n, _ := counted(out, "http_violates")
		if n != uint64(teapots+cuts) || (rate > 0) != (teapots > 0 && cuts > 0) {
			t.Errorf("rate %v: %d undocumented, %d cut, %d in the ledger", rate, teapots, cuts, n)
		}
	}
}

// What a description has wrong is reported with its line, before anything runs.
func TestFailuresThatAreNoChances(t *testing.T) {
	for name, add := range map[string]func(w *inproc.World){
		"db": func(w *inproc.World) { Database(w, "s", DatabaseOptions{Failures: Failures{Before: 7, After: -1}}) },
		"kv": func(w *inproc.World) { Store(w, "s", StoreOptions{Failures{After: 1.5}}) },
	} {
		_, err := inprocess.New("test", add)
		if err == nil || !strings.Contains(err.Error(), "both must be probabilities, from 0 to 1") || !strings.Contains(err.Error(), "fake_test.go:") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Catalogues that no service can keep are reported the same way.
func TestWrongCatalogues(t *testing.T) {
	do := func(*Call) Response { return Response{Status: http.StatusOK} }
	with := func(o Operation) Catalogue {
		o.Method, o.Path = cmp.Or(o.Method, "GET"), "/a"
		if o.Problems != nil {
			o.Do = do
		}
		return Catalogue{Operations: []Operation{o}}
	}
	for want, c := range map[string]Catalogue{
		"the Violations of pay are 2; it must be a probability":                       {Violations: 2},
		"the Violations of pay are NaN; it must be a probability":                     {Violations: math.NaN()},
		"the problem 500 of GET /a of pay has the Rate 7; it must be a probability":   with(Operation{Problems: []Problem{{Status: 500, Rate: 7}}}),
		"the problem 500 of GET /a of pay has the Rate NaN; it must be a probability": with(Operation{Problems: []Problem{{Status: 500, Rate: math.NaN()}}}),
		"a problem of GET /a of pay has the Status 0; give an HTTP status":            with(Operation{Problems: []Problem{{Rate: 0.5}}}),
		"a problem of GET /a of pay has the Status 418, which is reserved":            with(Operation{Problems: []Problem{{Status: 418, Rate: 0.5}}}),
		"the operation GET /a of pay has no Do":                                       with(Operation{}),
		`the operation get /a of pay has the Method "get"; give one such as "G`:       with(Operation{Method: "get", Do: do}),
		"the Latency -1s and the Jitter 0s; neither must be negative":                 with(Operation{Latency: -time.Second, Do: do}),
		"the operation GET /a of pay is defined twice": {Operations: []Operation{{Method: "GET",
			Path: "/a", Do: do}, {Method: "GET", Path: "/a", Do: do}}},
	} {
		_, err := inprocess.New("test", func(w *inproc.World) { Service(w, "pay", c) })
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "fake_test.go:") {
			t.Errorf("%v, and not %s", err, want)
		}
	}
}

// Calls that cannot be right end with what is wrong.
func TestWrongCalls(t *testing.T) {
	wrong := func(want string, do func()) {
		defer func() {
			if s := fmt.Sprint(recover()); !strings.Contains(s, want) {
				t.Errorf("%s, and not %s", s, want)
			}
		}()
		do()
	}
	alone(t, func(w *inproc.World) {
		Database(w, "db", DatabaseOptions{})
		Store(w, "kv", StoreOptions{})
		Service(w, "pay", Catalogue{})
		w.Process("echo", func(p *inproc.Process) {
			for {
				m := p.Receive()
				p.Reply(m, m.Payload)
			}
		})
	}, func(p *inproc.Process) {
		wrong("echo is not a fake.Database", func() { Open(p, "echo").Begin(Serializable) })
		wrong(`fake.Open: node kv is a fake.Store, not a fake.Database; call fake.Dial(p, "kv")`, func() { Open(p, "kv").Begin(Serializable) })
		wrong("fake.Open: node pay is a fake.Service, not a fake.Database; call fake.Client(p), for URLs such as http://pay/",
			func() { Open(p, "pay").Begin(Serializable) })
		wrong(`fake.Dial: node db is a fake.Database, not a fake.Store; call fake.Open(p, "db")`, func() { Dial(p, "db").Get("a") })
		wrong("node pay is a fake.Service, not a fake.Store", func() { Dial(p, "pay").Watch("a", 0, time.Second) })
		wrong("echo is not a fake.Store", func() { Dial(p, "echo").Put("a", "b") })
		for _, c := range []struct{ node, want string }{{"kv", `fake.Dial(p, "kv")`}, {"db", `fake.Open(p, "db")`}, {"echo", "node echo is not a fake.Service"}} {
			if _, err := Client(p).Get("http://" + c.node + "/"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, and not %s", err, c.want)
			}
		}
		wrong("unknown Isolation(9)", func() { Open(p, "db").Begin(Isolation(9)) })
	})
}
