// Package fake has simulated services for worlds of package inproc, as nodes of the world: a database with
// transactions, a key-value store, and services that speak HTTP. They fail as real ones do: a call may fail before or
// after it has taken effect, and the caller sees the same error.
//
//	fake.Database(w, "db", fake.DatabaseOptions{Failures: fake.Failures{Before: 0.02, After: 0.02}})
//	w.Process("shop", func(p *inproc.Process) {
//		db := fake.Open(p, "db")
//		err := db.Transact(fake.Serializable, func(tx *fake.Tx) error {
//			return tx.Put("orders", "1", fake.Row{"state": "new"})
//		})
//		...
//
// A fake is a server like any other: the network loses and delays its messages, it crashes, and only synchronised data
// on its disk survives. It handles one request at a time. Its own failures happen only in the chaos phase and are
// recorded in the ledger of faults. docs/reference/inproc.md describes all fakes.
package fake

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// Errors of calls.
var (
	// ErrLost: no answer will come. The request may have taken effect, or not, or may still do so.
	ErrLost = errors.New("the connection is lost")
	// ErrConflict: another transaction or change came first. Nothing was done.
	ErrConflict = fmt.Errorf("conflict with an earlier change: %w", inproc.ErrFailed)
	// ErrGone: the transaction has ended. Nothing in the transaction was done.
	ErrGone = fmt.Errorf("the transaction has ended: %w", inproc.ErrFailed)
	// ErrCompacted: the store no longer has the events that a watch asks for.
	ErrCompacted = errors.New("the store no longer has events that old")
)

// Failures are the probabilities that a call which changes something fails with ErrLost.
type Failures struct {
	Before float64 // without effect
	After  float64 // after it has taken effect
}

// check notes chances that are none.
func (f Failures) check(w *inproc.World, name string) {
	if !isChance(f.Before) || !isChance(f.After) {
		w.Mistake("the Failures of %s are Before %v and After %v; both must be probabilities, from 0 to "+
			"1", name, f.Before, f.After)
	}
}

// within is how long calls wait for an answer, unless they set another time.
const within = time.Second

// code is the outcome of a call, in an answer.
type code int

const (
	fine code = iota
	lost
	conflict
	gone
	compacted
	missing
)

func (c code) err() error {
	return [...]error{nil, ErrLost, ErrConflict, ErrGone, ErrCompacted, inproc.ErrNotFound}[c]
}

// stranger answers a request that is for a fake of another kind.
type stranger struct {
	Is   string // the kind of the fake that was asked
	Call string // what reaches it, as a format for the name of its node
}

var (
	databaseIs = stranger{"fake.Database", "fake.Open(p, %q)"}
	storeIs    = stranger{"fake.Store", "fake.Dial(p, %q)"}
	serviceIs  = stranger{"fake.Service", "fake.Client(p), for URLs such as http://%s/"}
)

// forFake reports whether a message is a request for a fake of some kind. A fake ignores all other messages.
func forFake(payload any) bool {
	switch payload.(type) {
	case beginTx, readRows, writeRow, endTx, read, write, watch, request:
		return true
	}
	return false
}

// misled explains an answer of another kind than the request.
func misled(by, node, want string, answer any) string {
	if s, ok := answer.(stranger); ok {
		return fmt.Sprintf("%s: node %s is a %s, not a %s; call "+s.Call, by, node, s.Is, want, node)
	}
	return fmt.Sprintf("%s: node %s is not a %s; it answers with %T", by, node, want, answer)
}

// isChance reports whether a number is a chance: NaN is none.
func isChance(f float64) bool { return f >= 0 && f <= 1 }

// journal keeps records on a fake's disk, each whole or not at all.
type journal struct {
	p    *inproc.Process
	file string
	size int // of what is good
}

// rereads is how often a journal is read that does not look whole: reads may fail for a while.
const rereads = 4

// open gives what was kept, record by record, and does away with one that was not finished.
func (j *journal) open(take func(record []byte)) {
	var records []string
	size, total := 0, 0
	for range rereads {
		data, err := j.p.Disk().Read(j.file)
		if errors.Is(err, inproc.ErrNotExist) {
			return
		}
		if err != nil {
			j.p.Sleep(time.Millisecond)
			continue
		}
		good, n := whole(string(data))
		if n >= size {
			records, size, total = good, n, len(data)
		}
		if n == len(data) {
			break
		}
	}
	for _, r := range records {
		take([]byte(r))
	}
	if j.size = size; size < total {
		j.again(func() error { return j.p.Disk().Truncate(j.file, size) })
	}
}

// whole are the records at the beginning of a journal that are undamaged, and their length.
func whole(text string) (records []string, size int) {
	for {
		line, _, found := strings.Cut(text[size:], "\n")
		sum, record, _ := strings.Cut(line, " ")
		if !found || sum != checksum(record) {
			return records, size
		}
		records = append(records, record)
		size += len(line) + 1
	}
}

func checksum(record string) string {
	return strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(record))), 16)
}

// add keeps a record. It returns when the record is durable.
func (j *journal) add(record any) {
	text, err := json.Marshal(record)
	if err != nil {
		panic(err)
	}
	line := []byte(checksum(string(text)) + " " + string(text) + "\n")
	j.again(func() error {
		err := j.p.Disk().Append(j.file, line)
		if err == nil {
			err = j.p.Disk().Sync(j.file)
		}
		if err != nil {
			j.p.Disk().Truncate(j.file, j.size)
		}
		return err
	})
	j.size += len(line)
}

// again does something until it succeeds: a disk that fails holds a fake up, and does not make it wrong.
func (j *journal) again(do func() error) {
	for do() != nil {
		j.p.Sleep(time.Millisecond)
	}
}
