// Package truth records what a test knows about the values of keys: the writes it tried, those that were acknowledged,
// and those whose outcome is unknown because the call failed. It judges reads by these: a value is right if some order
// of the writes explains it (package check).
//
//	known := truth.New()
//	put := known.Put("x", "1")
//	put.End(store.Put("x", "1"))
//	...
//	r.Quiet()
//	get := known.Get("x")
//	if value, found, err := store.Get("x"); err != nil {
//		get.End(err)
//	} else {
//		get.Got(value, found)
//	}
//	known.Judge(r)
package truth

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/check"
	"github.com/bloodhound-dst/bloodhound/history"
)

const (
	put    = "put"
	get    = "get"
	remove = "delete"
)

// Truth records what a test tried, in order. It is safe for concurrent use.
type Truth struct {
	mu    sync.Mutex
	began time.Time
	now   uint64 // number of the last event
	tries []history.Operation
}

// New makes a Truth in which no key has a value.
func New() *Truth { return &Truth{began: time.Now()} }

// Try is a call in progress. If it never ends, its outcome is unknown.
type Try struct {
	t  *Truth
	at int
}

func (t *Truth) try(op, key, value string) Try {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now++
	at := len(t.tries)
	t.tries = append(t.tries, history.Operation{Client: strconv.Itoa(at + 1), Op: op, Key: key, Input: value, Type: history.Info,
		Call: t.now, Return: history.Pending, CallTimeNs: int64(time.Since(t.began))})
	return Try{t, at}
}

// Put records that the test is about to write a value.
func (t *Truth) Put(key, value string) Try { return t.try(put, key, value) }

// Delete records that the test is about to remove a key.
func (t *Truth) Delete(key string) Try { return t.try(remove, key, "") }

// Get records that the test is about to read a key.
func (t *Truth) Get(key string) Try { return t.try(get, key, "") }

// end changes the operation of a try, which has ended now.
func (y Try) end(change func(*history.Operation)) {
	t := y.t
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now++
	o := &t.tries[y.at]
	if o.ReturnTimeNs != 0 {
		panic(fmt.Sprintf("truth: the %s of %q has ended already", o.Op, o.Key))
	}
	o.ReturnTimeNs = max(1, int64(time.Since(t.began)))
	change(o)
	if o.Type != history.Info {
		o.Return = t.now
	}
}

// End records how a Put or a Delete ended. Without an error it took effect. With one its outcome is unknown: it may
// take effect now, later or never. A Get that failed showed nothing.
func (y Try) End(err error) {
	y.end(func(o *history.Operation) {
		switch {
		case err != nil:
			o.Error = err.Error()
		case o.Op == get:
			panic(fmt.Sprintf("truth: a get of %q ended without its value; call Got", o.Key))
		default:
			o.Type = history.Ok
		}
	})
}

// Failed records that a Put or a Delete provably did nothing and never will, for example because the service documents
// so for its answer.
func (y Try) Failed(err error) {
	y.end(func(o *history.Operation) { o.Type, o.Error = history.Fail, err.Error() })
}

// Got records the result of a Get.
func (y Try) Got(value string, found bool) {
	y.end(func(o *history.Operation) {
		if o.Op != get {
			panic(fmt.Sprintf("truth: a %s of %q has no value; call End", o.Op, o.Key))
		}
		o.Type, o.Output, o.Found = history.Ok, value, found
	})
}

// Operations returns all tries, for other checks (package check).
func (t *Truth) Operations() []history.Operation {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]history.Operation(nil), t.tries...)
}

// Fault classifies a wrong read.
type Fault string

const (
	Unwritten Fault = "never written"   // nobody tried to write the value
	Future    Fault = "from the future" // the write of the value began after the read had ended
	Stale     Fault = "stale"           // a later value was acknowledged before the read, and a later read saw it
	Lost      Fault = "lost"            // a later value was acknowledged before the read, and no later read saw it
)

// Wrong is a read that is wrong by itself. Other reads may be wrong only in combination.
type Wrong struct {
	Fault Fault
	Read  history.Operation
	// Instead is the write that the read should have seen, for Stale and Lost.
	Instead history.Operation
}

func (w Wrong) String() string {
	show := func(o history.Operation) string {
		if o.Op == remove {
			return "its removal"
		}
		return strconv.Quote(o.Input)
	}
	saw := strconv.Quote(w.Read.Output)
	if !w.Read.Found {
		saw = "no value"
	}
	switch w.Fault {
	case Stale:
		return fmt.Sprintf("%q was read as %s, which is stale: %s had been acknowledged", w.Read.Key, saw, show(w.Instead))
	case Lost:
		return fmt.Sprintf("%q was read as %s: %s had been acknowledged, and is lost", w.Read.Key, saw, show(w.Instead))
	}
	return fmt.Sprintf("%q was read as %s, which is %s", w.Read.Key, saw, w.Fault)
}

// Wrong returns the reads that are wrong by themselves, in order.
func (t *Truth) Wrong() []Wrong {
	byKey := map[string][]history.Operation{}
	all := t.Operations()
	for _, o := range all {
		if o.Type != history.Fail {
			byKey[o.Key] = append(byKey[o.Key], o)
		}
	}
	var list []Wrong
	for _, o := range all {
		if o.Op == get && o.Type == history.Ok {
			if w, is := wrong(o, byKey[o.Key]); is {
				list = append(list, w)
			}
		}
	}
	return list
}

// wrong judges a read by the other operations on its key that may have taken effect.
func wrong(read history.Operation, others []history.Operation) (Wrong, bool) {
	// A write gave the key the value that was read. If the read found none, the key's first state also explains it.
	gave := func(o history.Operation) bool {
		return read.Found && o.Op == put && o.Input == read.Output || !read.Found && o.Op == remove
	}
	tried, before := false, false
	last := uint64(0) // when what gave it was certainly over
	for _, o := range others {
		if !gave(o) {
			continue
		}
		tried = true
		if o.Call < read.Return {
			before, last = true, max(last, o.Return)
		}
	}
	switch {
	case read.Found && !tried:
		return Wrong{Fault: Unwritten, Read: read}, true
	case read.Found && !before:
		return Wrong{Fault: Future, Read: read}, true
	}
	var instead *history.Operation // the last one
	for i, o := range others {
		if o.Op != get && !gave(o) && o.Type == history.Ok && o.Return < read.Call && o.Call > last {
			instead = &others[i]
		}
	}
	if instead == nil {
		return Wrong{}, false
	}
	for _, o := range others {
		if o.Op == get && o.Type == history.Ok && o.Call > read.Return && o.Found == (instead.Op == put) && o.Output == instead.Input {
			return Wrong{Stale, read, *instead}, true
		}
	}
	return Wrong{Lost, read, *instead}, true
}

// Reporter is satisfied by *sdk.Run and *testing.T.
type Reporter interface {
	Errorf(format string, args ...any)
}

// Judge reports an error if no order of the tries explains the reads, or if the test read so little that nothing could
// be wrong.
func (t *Truth) Judge(r Reporter) {
	v := check.Linearizable(t.Operations(), check.KeyValue)
	switch v.Status {
	case check.Holds:
	case check.Violated:
		var text strings.Builder
		for i, w := range t.Wrong() {
			if i == 10 {
				text.WriteString("and more\n")
				break
			}
			fmt.Fprintf(&text, "%s\n", w)
		}
		r.Errorf("%s%s", &text, v)
	default:
		r.Errorf("the reads were not judged: %s", v.Reason)
	}
}
