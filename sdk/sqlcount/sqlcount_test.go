package sqlcount_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/bloodhound-dst/bloodhound/sdk/sqlcount"
)

// coded is an error of a server; state is one of PostgreSQL's drivers.
type coded int

func (c coded) Error() string { return "error " + strconv.Itoa(int(c)) }
func (c coded) Code() int     { return int(c) }

type state string

func (s state) Error() string    { return string(s) }
func (s state) SQLState() string { return string(s) }

// database is a driver whose calls all end with the error, and its only connection. Rows end with another one.
type database struct{ err, rows error }

func (d *database) Connect(context.Context) (driver.Conn, error) { return d, nil }
func (d *database) Driver() driver.Driver                        { return nil }
func (d *database) Close() error                                 { return nil }
func (d *database) Begin() (driver.Tx, error)                    { return d, nil }
func (d *database) Commit() error                                { return d.err }
func (d *database) Rollback() error                              { return d.err }
func (d *database) Prepare(string) (driver.Stmt, error)          { return nil, d.err }
func (d *database) Ping(context.Context) error                   { return d.err }
func (d *database) Columns() []string                            { return []string{"a"} }
func (d *database) Next([]driver.Value) error                    { return d.rows }
func (d *database) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return driver.RowsAffected(1), d.err
}
func (d *database) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return d, d.err
}

// Each answer is counted as what it is, and passes as it came.
func TestCounts(t *testing.T) {
	exec := func(db *sql.DB) error { _, err := db.Exec("x"); return err }
	query := func(db *sql.DB) error {
		rows, err := db.Query("x")
		if err != nil {
			return err
		}
		for rows.Next() {
		}
		return rows.Err()
	}
	commit := func(db *sql.DB) error {
		tx, err := db.Begin()
		if err != nil {
			return err
		}
		return tx.Commit()
	}
	ping := func(db *sql.DB) error { return db.Ping() }
	for _, c := range []struct {
		what, operation string
		d               database
		do              func(*sql.DB) error
		want            string // of the counts of the operation, in one line
	}{
		{"success", "exec", database{}, exec, `{"calls":1,"lost":0,"failures":{},"breaches":{"codes":{}}}`},
		{"documented", "exec", database{err: coded(7)}, exec, `{"calls":1,"lost":0,"failures":{"7":1},"breaches":{"codes":{}}}`},
		{"undocumented", "exec", database{err: coded(8)}, exec, `{"calls":1,"lost":0,"failures":{},"breaches":{"codes":{"8":1}}}`},
		{"of PostgreSQL", "exec", database{err: state("58030")}, exec, `{"calls":1,"lost":0,"failures":{},"breaches":{"codes":{"58030":1}}}`},
		{"no answer", "exec", database{err: io.ErrUnexpectedEOF}, exec, `{"calls":1,"lost":1,"failures":{},"breaches":{"codes":{}}}`},
		{"deadline", "exec", database{err: context.DeadlineExceeded}, exec, `{"calls":1,"lost":1,"failures":{},"breaches":{"codes":{}}}`},
		{"cancelled", "exec", database{err: context.Canceled}, exec, `{"calls":0,"lost":0,"failures":{},"breaches":{"codes":{}}}`},
		{"before it was sent", "exec", database{err: driver.ErrBadConn}, exec, `{"calls":0,"lost":0,"failures":{},"breaches":{"codes":{}}}`},
		{"commit", "commit", database{err: coded(7)}, commit, `{"calls":1,"lost":0,"failures":{"7":1},"breaches":{"codes":{}}}`},
		{"end of rows", "query", database{rows: io.EOF}, query, `{"calls":1,"lost":0,"failures":{},"breaches":{"codes":{}}}`},
		{"rows end with an answer", "query", database{rows: coded(8)}, query, `{"calls":1,"lost":0,"failures":{},"breaches":{"codes":{"8":1}}}`},
		{"rows are lost", "query", database{rows: io.ErrUnexpectedEOF}, query, `{"calls":1,"lost":0,"failures":{},"breaches":{"codes":{}}}`},
		{"rows are lost", "rows", database{rows: io.ErrUnexpectedEOF}, query, `{"calls":1,"lost":1,"failures":{},"breaches":{"codes":{}}}`},
		{"ping", "ping", database{err: coded(8)}, ping, `{"calls":1,"lost":1,"failures":{},"breaches":{"codes":{}}}`},
	} {
		var operations []sqlcount.Operation
		for _, name := range []string{"exec", "commit", "query"} {
			operations = append(operations, sqlcount.Operation{Name: name, Codes: []string{"7"}})
		}
		counter := sqlcount.New(nil, append(operations, sqlcount.Operation{Name: "rows"}, sqlcount.Operation{Name: "ping"})...)
		plain, counted := c.do(sql.OpenDB(&c.d)), c.do(sql.OpenDB(counter.Connector(&c.d)))
		if !errors.Is(counted, plain) {
			t.Errorf("%s: the program sees %v, not %v", c.what, counted, plain)
		}
		text, err := json.Marshal(counter)
		var all struct{ Operations map[string]json.RawMessage }
		if err == nil {
			err = json.Unmarshal(text, &all)
		}
		if got := string(all.Operations[c.operation]); err != nil || got != c.want {
			t.Errorf("%s: %s is counted as %s, %v\nnot as %s", c.what, c.operation, got, err, c.want)
		}
	}
}

// Calls at the same time all count.
func TestManyAtOnce(t *testing.T) {
	counter := sqlcount.New(func(err error) string { return err.Error() }, sqlcount.Operation{Name: "exec"})
	db := sql.OpenDB(counter.Connector(&database{err: errors.New("1205")}))
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() {
			for range 1000 {
				db.Exec("x")
			}
		})
	}
	calls.Wait()
	if text, err := json.Marshal(counter); err != nil || !strings.Contains(string(text), `"calls":4000`) || !strings.Contains(string(text), `"1205":4000`) {
		t.Errorf("%s, %v", text, err)
	}
}

// Operations that cannot be are refused.
func TestRefused(t *testing.T) {
	for what, list := range map[string][]sqlcount.Operation{
		"is not an operation": {{Name: "charge"}},
		"has no codes":        {{Name: "rows", Codes: []string{"7"}}},
		"two operations":      {{Name: "exec"}, {Name: "exec"}},
		"is not a code":       {{Name: "exec", Codes: []string{"two words"}}},
	} {
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.Contains(p.(string), what) {
					t.Errorf("not %q, but %v", what, p)
				}
			}()
			sqlcount.New(nil, list...)
		}()
	}
}

func BenchmarkOff(b *testing.B) {
	plain := &database{}
	for name, c := range map[string]driver.Connector{"plain": plain, "wrapped": sqlcount.New(nil, sqlcount.Operation{Name: "exec"}).Connector(plain)} {
		b.Run(name, func(b *testing.B) {
			db := sql.OpenDB(c)
			defer db.Close()
			for b.Loop() {
				if _, err := db.Exec("x"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
