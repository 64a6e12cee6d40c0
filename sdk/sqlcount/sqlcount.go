// Package sqlcount counts what a database answers to database/sql in a program in production, and which errors breach
// its contract. It passes every call through and injects nothing. Package sqlfault reads the counts, so that a test
// injects the same failures. This package imports only the standard library and this module, and does not import
// package testing.
package sqlcount

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"

	"github.com/bloodhound-dst/bloodhound/sdk/internal/counts"
	"github.com/bloodhound-dst/bloodhound/sdk/internal/sqlcalls"
)

// Operation selects the calls that are counted together, and lists the errors that the database documents for them.
type Operation struct {
	// Name is connect, ping, begin, prepare, exec, query, rows, commit or rollback. Reading a row, or the end of the
	// rows, is a call of rows.
	Name string
	// Codes lists the errors that the database documents, such as "40001". Errors with other codes count as breaches.
	// Only begin, prepare, exec, query and commit have codes: an error that ends the rows of a query counts for the
	// query, and a connect, ping or rollback with any error counts as lost.
	Codes []string
}

// Counter counts calls of operations and serves the counts as JSON (http.Handler). It is safe for concurrent use.
type Counter struct {
	all        counts.Counter
	operations [sqlcalls.Operations]*counts.Operation // nil is not counted
	code       func(error) string
}

// New makes a Counter. code returns the code of an error of the database, or "" if the error is not an answer of the
// database, as when a connection ends. If code is nil, the error's method SQLState() string (PostgreSQL's drivers) or
// Code() int (SQLite's) gives the code. New panics if an operation is invalid.
func New(code func(error) string, operations ...Operation) *Counter {
	if code == nil {
		code = codeOf
	}
	c := &Counter{all: counts.Counter{By: "sqlcount"}, code: code}
	for _, o := range operations {
		at := sqlcalls.ByName(o.Name)
		switch {
		case at < 0:
			panic(fmt.Sprintf("sqlcount: %q is not an operation; use one of %v", o.Name, sqlcalls.Names))
		case len(o.Codes) > 0 && !slices.Contains(sqlcalls.Answering, at):
			panic(fmt.Sprintf("sqlcount: %s has no codes; leave them out: any error of it counts as lost, and an "+
				"error of rows counts for the query", o.Name))
		}
		c.operations[at] = c.all.Add(o.Name, o.Codes...)
	}
	return c
}

func codeOf(err error) string {
	if e, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		return e.SQLState()
	}
	if e, ok := errors.AsType[interface {
		error
		Code() int
	}](err); ok {
		return strconv.Itoa(e.Code())
	}
	return ""
}

// Connector returns a connector for sql.OpenDB that makes calls by next and counts them. Calls that the program itself
// cancels do not count, nor do calls that fail with driver.ErrBadConn or driver.ErrSkip, which database/sql repeats.
func (c *Counter) Connector(next driver.Connector) driver.Connector {
	return sqlcalls.Wrap(next, around{c})
}

type around struct{ *Counter }

// Connect makes a connection (sqlcalls.Around).
func (a around) Connect(ctx context.Context, open func(context.Context) (driver.Conn, error)) (driver.Conn, sqlcalls.Calls, error) {
	under, err := open(ctx)
	a.count(ctx, sqlcalls.Connect, err)
	return under, a, err
}

// Call makes a call (sqlcalls.Calls).
func (a around) Call(ctx context.Context, _ *sqlcalls.Conn, o sqlcalls.Operation, do func(context.Context) error) error {
	err := do(ctx)
	a.count(ctx, o, err)
	return err
}

// Close implements sqlcalls.Calls.
func (around) Close(end func() error) error { return end() }

func (c *Counter) count(ctx context.Context, o sqlcalls.Operation, err error) {
	at := c.operations[o]
	if err != nil && (errors.Is(ctx.Err(), context.Canceled) || errors.Is(err, context.Canceled) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, driver.ErrSkip)) {
		return
	}
	if at != nil {
		at.Call()
	}
	if err == nil || o == sqlcalls.Rows && err == io.EOF {
		return
	}
	code := c.code(err)
	if o == sqlcalls.Rows && code != "" {
		o, at = sqlcalls.Query, c.operations[sqlcalls.Query]
	}
	switch {
	case at == nil:
	case code != "" && slices.Contains(sqlcalls.Answering, o):
		at.Answer(code)
	default:
		at.Lost()
	}
}

// ServeHTTP answers with the counts so far, as JSON (http.Handler).
func (c *Counter) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.all.ServeHTTP(w, r) }

// MarshalJSON returns the counts so far (json.Marshaler).
func (c *Counter) MarshalJSON() ([]byte, error) { return c.all.MarshalJSON() }
