// Package counts counts the outcomes of a dependency's calls in a program in production, and defines the form in which
// it is stored. The packages of sdk that count, such as sdk/httpcount, write it, and those that make faults, such as
// sdk/httpfault, read it. It imports only the standard library, and not package testing.
package counts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/strictjson"
)

const (
	// maxCodes is how many codes an operation keeps apart; more of them count as Other.
	maxCodes = 1000
	// maxCodeBytes is the length of the longest code, which is part of the name of a fault.
	maxCodeBytes = 40
	// Other is the code of answers whose own code is not a word, or exceeds the number of codes.
	Other = "OTHER"
	// Reply is the code of replies of another type, where these have no code of their own.
	Reply = "reply"
)

// Counter counts calls of operations. Its methods may be called at the same time, but for Add.
type Counter struct {
	By         string // the package that counts, which panics of Add name
	operations map[string]*Operation
}

// Operation counts calls of one operation. Its methods may be called at the same time.
type Operation struct {
	documented       map[string]bool
	calls, lost, cut atomic.Uint64
	mu               sync.Mutex // of the maps
	answers          map[string]uint64
	unparsable       map[string]uint64
}

// Add makes an operation whose contract has these codes. It panics if the name is empty or already in use.
func (c *Counter) Add(name string, documented ...string) *Operation {
	switch {
	case name == "":
		panic(c.By + ": an operation has no name; name each, as in the test that reads the counts")
	case c.operations[name] != nil:
		panic(fmt.Sprintf("%s: two operations are named %s; each needs its own name", c.By, name))
	case c.operations == nil:
		c.operations = map[string]*Operation{}
	}
	o := &Operation{documented: map[string]bool{}, answers: map[string]uint64{}, unparsable: map[string]uint64{}}
	for _, code := range documented {
		if !word(code) {
			panic(fmt.Sprintf("%s: %q of %s is not a code: write at most %d letters, digits, _, - and dots", c.By, code, name, maxCodeBytes))
		}
		o.documented[code] = true
	}
	c.operations[name] = o
	return o
}

func word(code string) bool {
	return code != "" && len(code) <= maxCodeBytes && strings.Trim(code, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") == ""
}

// Call counts a call, before its outcome. Without an outcome it succeeded.
func (o *Operation) Call() { o.calls.Add(1) }

// Lost counts a call without an answer.
func (o *Operation) Lost() { o.lost.Add(1) }

// Cut counts an answer that ended in its middle.
func (o *Operation) Cut() { o.cut.Add(1) }

// Answer counts an answer other than success: a failure if its code is documented, otherwise a breach.
func (o *Operation) Answer(code string) { o.add(o.answers, code) }

// Unparsable counts an answer that lacks the form that the contract prescribes for its code.
func (o *Operation) Unparsable(code string) { o.add(o.unparsable, code) }

// Documents reports whether the contract has answers of a code.
func (o *Operation) Documents(code string) bool { return o.documented[code] }

func (o *Operation) add(to map[string]uint64, code string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := to[code]; !known && (len(to) >= maxCodes || !word(code)) {
		code = Other
	}
	to[code]++
}

// Counts holds the counts of each operation, by its name.
type Counts struct {
	Operations map[string]Count `json:"operations"`
}

// Count counts the calls of an operation since the program started, by outcome. Calls that are not lost, failures or
// breaches succeeded.
type Count struct {
	Calls    uint64            `json:"calls"`
	Lost     uint64            `json:"lost"`     // without an answer, such as at a connection that ends
	Failures map[string]uint64 `json:"failures"` // documented ones, by code
	Breaches Breaches          `json:"breaches"`
}

// Breaches are answers that the contract of the dependency excludes.
type Breaches struct {
	Codes      map[string]uint64 `json:"codes"`                // undocumented ones
	Cut        uint64            `json:"cut,omitempty"`        // answers that ended with an error
	Unparsable map[string]uint64 `json:"unparsable,omitempty"` // answers of another form, by code
}

// Counts returns the counts so far.
func (c *Counter) Counts() Counts {
	all := Counts{map[string]Count{}}
	for name, o := range c.operations {
		all.Operations[name] = o.count()
	}
	return all
}

func (o *Operation) count() Count {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := Count{Lost: o.lost.Load(), Failures: map[string]uint64{},
		Breaches: Breaches{Codes: map[string]uint64{}, Cut: o.cut.Load(), Unparsable: maps.Clone(o.unparsable)}}
	for code, k := range o.answers {
		if o.documented[code] {
			n.Failures[code] = k
		} else {
			n.Breaches.Codes[code] = k
		}
	}
	n.Calls = o.calls.Load() // last: a call is counted before its outcome
	return n
}

// MarshalJSON gives the counts so far (json.Marshaler).
func (c *Counter) MarshalJSON() ([]byte, error) { return json.Marshal(c.Counts()) }

// ServeHTTP answers with the counts so far as JSON (http.Handler).
func (c *Counter) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(append(text, '\n'))
}

// Read reads what a Counter serves. Errors name the place, and the remedy.
func Read(r io.Reader) (Counts, error) {
	var c Counts
	text, err := io.ReadAll(r)
	if err != nil {
		return c, fmt.Errorf("the counts cannot be read: %w", err)
	}
	if version := strictjson.Version(text, "counts_version"); version > 1 {
		return c, fmt.Errorf("the counts have version %d, and these tests only read counts without a version. A "+
			"later version of the module wrote them: also update it here", version)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err = d.Decode(&c)
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		err = fmt.Errorf("at byte %d: %w", e.Offset, err)
	} else if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = fmt.Errorf("they are cut off at byte %d", len(text))
	} else {
		err = strictjson.Plain(err)
	}
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("something follows them")
		}
	}
	if err == nil {
		err = strictjson.Unique(text)
	}
	if err == nil {
		err = strictjson.Spelled(text, c)
	}
	if err == nil && len(c.Operations) == 0 {
		err = errors.New("they have no operation")
	}
	if err != nil {
		return Counts{}, fmt.Errorf("the counts cannot be read: %w; store the JSON that a Counter serves, unchanged", err)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Operations)) {
		if err := c.Operations[name].check(); err != nil {
			return Counts{}, fmt.Errorf("the counts of %s are impossible: %w; store the counts of one Counter, "+
				"unchanged", name, err)
		}
	}
	return c, nil
}

// check reports counts that no Counter makes.
func (n Count) check() error {
	rest := n.Calls
	take := func(k uint64) bool {
		fits := k <= rest
		rest -= min(k, rest)
		return fits
	}
	fits := take(n.Lost) && take(n.Breaches.Cut)
	seen := map[string]bool{}
	for _, class := range []map[string]uint64{n.Failures, n.Breaches.Codes, n.Breaches.Unparsable} {
		for _, code := range slices.Sorted(maps.Keys(class)) {
			switch {
			case !word(code):
				return fmt.Errorf("%q is not a code", code)
			case seen[code]:
				return fmt.Errorf("the code %s is in two classes", code)
			}
			seen[code] = true
			fits = take(class[code]) && fits
		}
	}
	if !fits {
		return fmt.Errorf("more went wrong than %s", plural.Count(n.Calls, "call"))
	}
	return nil
}
