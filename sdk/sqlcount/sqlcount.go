// Package sqlcount counts, in a program in production, what a database answers to database/sql, and which errors breach its
// contract. It passes every call through and injects nothing. Package sqlfault reads the counts and has a test play what they
// have. This package imports nothing outside the standard library and this module, and not package testing.
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

// Operation is calls that are counted together, and the errors that the database documents for them.
type Operation struct {
	// Name is connect, ping, begin, prepare, exec, query, rows, commit or rollback. Each row that is read is a call of rows, as is the end of them.
	Name string
	// Codes are the errors that the database documents, such as "40001". Errors with other codes count as breaches. Only begin,
	// prepare, exec, query and commit have them: one that ends the rows of a query counts for the query, and a connect, ping or
	// rollback with any error is lost.
	Codes []string
}

// Counter counts calls of operations. Its methods may be called at the same time. It serves the counts so far as JSON (http.Handler).
type Counter struct {
	all        counts.Counter
	operations [sqlcalls.Operations]*counts.Operation // nil is not counted
	code       func(error) string
}

// New makes a Counter. code gives the code of an error of the database, and "" for one that is no answer of it, such as that of a
// connection that ends. If it is nil, a code is what the methods SQLState() string (PostgreSQL's drivers) or Code() int
// (SQLite's) of the error give. New panics at operations that cannot be.
func New(code func(error) string, operations ...Operation) *Counter {
	if code == nil {
		code = codeOf
	}
	c := &Counter{all: counts.Counter{By: "sqlcount"}, code: code}
	for _, o := range operations {
		at := sqlcalls.Of(o.Name)
		switch {
		case at < 0:
			panic(fmt.Sprintf("sqlcount: %q is no operation; name one of %v", o.Name, sqlcalls.Names))
		case len(o.Codes) > 0 && !slices.Contains(sqlcalls.Answering, at):
			panic(fmt.Sprintf("sqlcount: %s has no codes; leave them out: any error of it counts as lost, and one of rows for the query", o.Name))
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

// Connector gives a connector for sql.OpenDB, whose calls are made by next and counted. A call that the program itself cancels
// does not count, nor one that fails with driver.ErrBadConn or driver.ErrSkip, which database/sql makes again.
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

// Close closes the connection (sqlcalls.Calls).
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

// ServeHTTP answers with the counts so far as JSON (http.Handler).
func (c *Counter) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.all.ServeHTTP(w, r) }

// MarshalJSON gives the counts so far (json.Marshaler).
func (c *Counter) MarshalJSON() ([]byte, error) { return c.all.MarshalJSON() }
