package fake

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// Row is a row of a table: values by column.
type Row map[string]string

// Int returns the number in a column, 0 if there is none.
func (r Row) Int(column string) int {
	n, _ := strconv.Atoi(r[column])
	return n
}

// Entry is a row with its key.
type Entry struct {
	Key string
	Row Row
}

// Isolation is the isolation level of a transaction (Berenson et al., "A Critique of ANSI SQL Isolation Levels", 1995).
type Isolation int

// Isolation levels. A commit that a level does not allow fails with ErrConflict.
const (
	Serializable    Isolation = iota // as if transactions ran one after another; the default
	Snapshot                         // reads see one moment; of two that change a row, only one commits; write skew is possible
	ReadCommitted                    // each read sees the data committed at that moment; lost updates are possible
	ReadUncommitted                  // reads see uncommitted changes; dirty reads are possible
)

// DatabaseOptions are the options of a Database.
type DatabaseOptions struct {
	// Failures are the failures of commits. The ledger calls them db_fails_before and db_fails_after.
	Failures
	// Tables are the initial tables.
	Tables map[string]map[string]Row
}

// maxOpen bounds the open transactions: beyond it, the oldest is rolled back. maxEnded bounds the transactions whose
// end is remembered.
const (
	maxOpen  = 1000
	maxEnded = 10_000
)

// Database adds a node that is a database: tables of rows, with transactions. A commit is durable before it is answered.
func Database(w *inproc.World, name string, o DatabaseOptions) {
	o.check(w, name)
	w.Process(name, func(p *inproc.Process) {
		d := &database{Process: p, o: o, journal: journal{p: p, file: "journal"}, tables: map[string]map[string]*cell{}, ended: map[int]code{}}
		d.recover()
		for {
			if m := p.Receive(); forFake(m.Payload) {
				p.Reply(m, d.answer(m.Payload))
			}
		}
	})
}

// Requests and their answer.
type (
	beginTx  struct{ Isolation Isolation }
	readRows struct {
		Tx       int
		Table    string
		From, To string // a range of keys; To is not part of the range, and empty is the end
	}
	writeRow struct {
		Tx, Number int // counted in the transaction
		Table, Key string
		Row        Row // nil: it is deleted
	}
	endTx struct {
		Tx     int
		Commit bool
	}
	rows struct {
		Code code
		Tx   int
		Rows []Entry
	}
)

// database is the server.
type database struct {
	*inproc.Process
	o       DatabaseOptions
	journal journal
	tables  map[string]map[string]*cell
	commits int          // so far: the present moment
	last    int          // transaction
	open    []*serverTx  // in order of their beginning
	ended   map[int]code // transactions that have ended, and how
	endings []int        // in order
	changes int          // of rows by transactions that are open, counted
}

// cell is a row in time.
type cell struct{ versions []version }

type version struct {
	at  int // the commit
	row Row // nil: there is none
}

// commit is an entry in the journal; one without rows reports how many transactions have begun when the database was started.
type commit struct {
	Rows  []written `json:",omitempty"`
	Began int       `json:",omitempty"`
}

type written struct {
	Table, Key string
	Row        Row
	change     int
}

// serverTx is a transaction that is open.
type serverTx struct {
	id     int
	level  Isolation
	from   int // the moment that it sees
	number int // of its last change
	writes []written
	reads  []readRows
}

// began is how many transactions a start of a database may begin before its numbers run into those of the next one.
const began = 1_000_000

func (d *database) recover() {
	for table, content := range d.o.Tables {
		for key, row := range content {
			d.set(table, key, row)
		}
	}
	starts := 0
	d.journal.open(func(text []byte) {
		var r commit
		if err := json.Unmarshal(text, &r); err != nil {
			panic(err)
		}
		if r.Began > 0 {
			starts++
			return
		}
		d.apply(r.Rows)
	})
	// Numbers of transactions are not used again: what was open before a crash is unknown after it.
	d.last = starts * began
	d.journal.add(commit{Began: 1})
}

func (d *database) set(table, key string, row Row) {
	t := d.tables[table]
	if t == nil {
		t = map[string]*cell{}
		d.tables[table] = t
	}
	c := t[key]
	if c == nil {
		c = &cell{}
		t[key] = c
	}
	c.versions = append(c.versions, version{d.commits, row})
}

func (d *database) apply(list []written) {
	d.commits++
	for _, w := range list {
		d.set(w.Table, w.Key, w.Row)
	}
}

func (d *database) answer(request any) any {
	switch v := request.(type) {
	case beginTx:
		d.last++
		d.open = append(d.open, &serverTx{id: d.last, level: v.Isolation, from: d.commits})
		if len(d.open) > maxOpen {
			d.end(d.open[0], gone)
		}
		return rows{Tx: d.last}
	case readRows:
		tx := d.tx(v.Tx)
		if tx == nil {
			return rows{Code: gone}
		}
		tx.reads = append(tx.reads, v)
		return rows{Rows: d.read(tx, v)}
	case writeRow:
		tx := d.tx(v.Tx)
		if tx == nil {
			return rows{Code: gone}
		}
		if v.Number <= tx.number { // it has come twice
			return rows{}
		}
		tx.number = v.Number
		d.changes++
		tx.writes = append(tx.writes, written{v.Table, v.Key, v.Row, d.changes})
		return rows{}
	case endTx:
		tx := d.tx(v.Tx)
		switch ended, known := d.ended[v.Tx]; {
		case tx == nil && known:
			return rows{Code: ended}
		case tx == nil:
			return rows{Code: lost} // it was open before a crash
		case !v.Commit:
			return rows{Code: d.end(tx, gone)}
		}
		return rows{Code: d.end(tx, d.commit(tx))}
	}
	return databaseIs
}

func (d *database) tx(id int) *serverTx {
	for _, tx := range d.open {
		if tx.id == id {
			return tx
		}
	}
	return nil
}

// end closes a transaction. A rollback succeeds; a later commit is answered that the transaction is gone.
func (d *database) end(tx *serverTx, how code) code {
	d.open = slices.DeleteFunc(d.open, func(o *serverTx) bool { return o == tx })
	d.ended[tx.id] = how
	if d.endings = append(d.endings, tx.id); len(d.endings) > maxEnded {
		delete(d.ended, d.endings[0])
		d.endings = d.endings[1:]
	}
	return how
}

// commit makes a transaction's changes durable and visible, if its level allows it.
func (d *database) commit(tx *serverTx) code {
	if len(tx.writes) == 0 {
		return fine // what it has read was so at one moment
	}
	if d.Mishap("db_fails_before", d.o.Before) {
		return lost
	}
	if tx.level <= Snapshot {
		for _, w := range tx.writes {
			if d.changed(tx, readRows{Table: w.Table, From: w.Key, To: w.Key + "\x00"}) {
				return conflict
			}
		}
	}
	if tx.level == Serializable {
		for _, r := range tx.reads {
			if d.changed(tx, r) {
				return conflict
			}
		}
	}
	d.journal.add(commit{Rows: tx.writes})
	d.apply(tx.writes)
	if d.Mishap("db_fails_after", d.o.After) {
		return lost
	}
	return fine
}

// changed reports whether others have committed a change of a range since the moment that a transaction sees.
func (d *database) changed(tx *serverTx, r readRows) bool {
	for key, c := range d.tables[r.Table] {
		if r.has(key) && c.versions[len(c.versions)-1].at > tx.from {
			return true
		}
	}
	return false
}

func (r *readRows) has(key string) bool { return key >= r.From && (r.To == "" || key < r.To) }

// read gives the rows of a range that a transaction sees, in order of their keys.
func (d *database) read(tx *serverTx, r readRows) []Entry {
	seen := map[string]Row{}
	for key, c := range d.tables[r.Table] {
		if !r.has(key) {
			continue
		}
		for i := len(c.versions) - 1; i >= 0; i-- {
			if v := c.versions[i]; v.at <= tx.from || tx.level > Snapshot {
				seen[key] = v.row
				break
			}
		}
	}
	own := tx.writes
	if tx.level == ReadUncommitted {
		own = nil
		for _, o := range d.open {
			own = append(own, o.writes...)
		}
		slices.SortFunc(own, func(a, b written) int { return a.change - b.change })
	}
	for _, w := range own {
		if w.Table == r.Table && r.has(w.Key) {
			seen[w.Key] = w.Row
		}
	}
	var list []Entry
	for _, key := range slices.Sorted(maps.Keys(seen)) {
		if seen[key] != nil {
			list = append(list, Entry{key, maps.Clone(seen[key])})
		}
	}
	return list
}

// DB is a connection of one process to a Database.
type DB struct {
	p    *inproc.Process
	node string
	// Within is how long calls wait for an answer: a second.
	Within time.Duration
}

// Open connects a process to the Database on a node. Calls panic if the node is not a Database.
func Open(p *inproc.Process, node string) *DB { return &DB{p: p, node: node, Within: within} }

func (db *DB) call(request any) (rows, error) {
	answer, err := db.p.Call(db.node, request, db.Within)
	if err != nil {
		return rows{}, ErrLost
	}
	r, ok := answer.(rows)
	if !ok {
		panic(misled("fake.Open", db.node, databaseIs.Is, answer))
	}
	return r, r.Code.err()
}

// Begin begins a transaction.
func (db *DB) Begin(level Isolation) (*Tx, error) {
	if level < Serializable || level > ReadUncommitted {
		panic(fmt.Sprintf("fake: unknown Isolation(%d); use Serializable, Snapshot, ReadCommitted or "+
			"ReadUncommitted", level))
	}
	r, err := db.call(beginTx{level})
	return &Tx{db: db, id: r.Tx}, err
}

// Transact calls a function in a transaction and commits it, or rolls it back if the function returns an error. It retries nothing.
func (db *DB) Transact(level Isolation, do func(tx *Tx) error) error {
	tx, err := db.Begin(level)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		tx.Rollback()
		return err
	}
	return tx.Commit()
}

// Tx is a transaction. Others see its changes after the commit. After a call was lost, the transaction can no longer
// commit.
type Tx struct {
	db     *DB
	id     int
	number int
	broken bool
}

func (tx *Tx) call(request any) ([]Entry, error) {
	if tx.broken {
		return nil, ErrGone
	}
	r, err := tx.db.call(request)
	tx.broken = err != nil
	return r.Rows, err
}

// Get returns a row. The error is inproc.ErrNotFound if it does not exist.
func (tx *Tx) Get(table, key string) (Row, error) {
	list, err := tx.Scan(table, key, key+"\x00")
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, inproc.ErrNotFound
	}
	return list[0].Row, nil
}

// Scan returns the rows with keys in [from, to), sorted. An empty to means no upper bound.
func (tx *Tx) Scan(table, from, to string) ([]Entry, error) {
	return tx.call(readRows{tx.id, table, from, to})
}

// Prefix returns the rows whose keys begin with a prefix, sorted.
func (tx *Tx) Prefix(table, prefix string) ([]Entry, error) {
	return tx.Scan(table, prefix, after(prefix))
}

// after is the least text above all that begin with a prefix; empty if there is none.
func after(prefix string) string {
	b := []byte(prefix)
	for len(b) > 0 && b[len(b)-1] == 0xff {
		b = b[:len(b)-1]
	}
	if len(b) == 0 {
		return ""
	}
	b[len(b)-1]++
	return string(b)
}

// Put inserts or replaces a row.
func (tx *Tx) Put(table, key string, row Row) error {
	row = maps.Clone(row)
	if row == nil {
		row = Row{}
	}
	return tx.write(table, key, row)
}

func (tx *Tx) write(table, key string, row Row) error {
	tx.number++
	_, err := tx.call(writeRow{tx.id, tx.number, table, key, row})
	return err
}

// Delete removes a row, if it exists.
func (tx *Tx) Delete(table, key string) error {
	return tx.write(table, key, nil)
}

// Commit ends the transaction. After ErrLost it is unknown whether the transaction took effect.
func (tx *Tx) Commit() error {
	_, err := tx.call(endTx{tx.id, true})
	return err
}

// Rollback ends the transaction without any effect.
func (tx *Tx) Rollback() error {
	_, err := tx.db.call(endTx{tx.id, false})
	if err == ErrGone {
		return nil
	}
	return err
}
