// Package sqlfault wraps a driver of database/sql so that connections, statements, transactions and rows fail: before
// or after the server has acted, late, or twice. Package sdk decides when.
//
// After a lost answer the connection is gone, as in production: database/sql closes it. The error is never
// driver.ErrBadConn, at which database/sql itself retries, except for the fault BadConn, which happens before anything
// is sent.
package sqlfault

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"sync"

	"github.com/bloodhound-dst/bloodhound/sdk"
	"github.com/bloodhound-dst/bloodhound/sdk/internal/sqlcalls"
)

// Faults sets the rates of each operation. Late is valid for Exec and Commit, Twice for Exec.
type Faults struct {
	Connect, Ping, Begin, Prepare, Exec, Query, Rows, Commit, Rollback sdk.Rates
	// BadConn is the probability that a call on a connection fails with driver.ErrBadConn before anything is sent.
	BadConn float64
	Answers []Answer
}

// Answer is an error that the server returns instead of success. The connection survives it.
type Answer struct {
	// Operation is begin, prepare, exec, query or commit.
	Operation string
	// Name identifies the error in the ledger, such as "40001".
	Name string
	// Err is the driver's error, such as a *pgconn.PgError.
	Err error
	// Before is the probability that the server answers so without doing the call, After that it does the call first.
	Before, After float64
	// Breach marks an answer that the server's contract excludes.
	Breach bool
	// Aborts says that the error aborts a transaction: its later statements and its commit fail with the same error,
	// and it is rolled back. Set it for all errors of PostgreSQL, and for deadlocks of MySQL. A commit that is not done
	// always rolls back.
	Aborts bool
}

// points are the calls that fail.
type points struct {
	at      [sqlcalls.Operations]*sdk.Point
	badConn *sdk.Fault
	answers [sqlcalls.Operations][]Answer
}

// Wrap returns a connector for sql.OpenDB whose calls fail at the rates f, as source decides. name names the database
// in the ledger. Wrap panics if a rate is not between 0 and 1, if Late or Twice is set where it has no meaning, and if
// an answer has no error or an operation that cannot have one.
func Wrap(c driver.Connector, name string, f Faults, source sdk.Source) driver.Connector {
	for _, a := range f.Answers {
		if !slices.Contains(sqlcalls.Answering, sqlcalls.ByName(a.Operation)) || a.Err == nil {
			panic(fmt.Sprintf("sqlfault: the answer %q of %s needs an error, and one of the operations begin, prepare, exec, query and commit", a.Name, name))
		}
	}
	ps := &points{badConn: sdk.NewFault(source, name+"_bad_conn", f.BadConn)}
	for o, r := range f.rates() {
		operation := sqlcalls.Names[o]
		if r.Twice != 0 && operation != "exec" || r.Late != 0 && operation != "exec" && operation != "commit" {
			panic("sqlfault: " + operation + " of " + name + " cannot be late or twice: only exec can, and commit can be late")
		}
		var answers []sdk.Answer
		for _, a := range f.Answers {
			if a.Operation == operation {
				ps.answers[o], answers = append(ps.answers[o], a), append(answers, sdk.Answer{Name: a.Name, Before: a.Before, After: a.After, Breach: a.Breach})
			}
		}
		ps.at[o] = sdk.NewPoint(source, name, operation, *r, answers...)
	}
	return sqlcalls.Wrap(c, ps)
}

// rates returns the rates of each operation.
func (f *Faults) rates() [sqlcalls.Operations]*sdk.Rates {
	return [sqlcalls.Operations]*sdk.Rates{&f.Connect, &f.Ping, &f.Begin, &f.Prepare, &f.Exec, &f.Query, &f.Rows, &f.Commit, &f.Rollback}
}

// Open returns a connector for a data source name, for drivers that have no connector of their own.
func Open(d driver.Driver, dsn string) (driver.Connector, error) {
	if c, ok := d.(driver.DriverContext); ok {
		return c.OpenConnector(dsn)
	}
	return dsnConnector{d, dsn}, nil
}

type dsnConnector struct {
	driver driver.Driver
	dsn    string
}

func (c dsnConnector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }
func (c dsnConnector) Driver() driver.Driver                        { return c.driver }

// Connect makes a connection (sqlcalls.Around).
func (ps *points) Connect(ctx context.Context, open func(context.Context) (driver.Conn, error)) (driver.Conn, sqlcalls.Calls, error) {
	call := ps.at[sqlcalls.Connect].Call()
	if call.Way == sdk.Before {
		return nil, nil, call.Error(nil)
	}
	under, err := open(ctx)
	if err != nil {
		return nil, nil, err
	}
	if call.Way == sdk.After {
		under.Close()
		return nil, nil, call.Error(nil)
	}
	return under, &calls{points: ps}, nil
}

// calls makes the calls of a connection.
type calls struct {
	*points
	mu   sync.Mutex // of the driver's connection, which a late call may use beside Close
	over error      // with which the transaction was aborted, or nil
}

// Call makes a call at a point. After a lost answer the connection is gone (sqlcalls.Calls).
func (k *calls) Call(ctx context.Context, c *sqlcalls.Conn, o sqlcalls.Operation, do func(context.Context) error) error {
	switch {
	case c.Gone:
		return driver.ErrBadConn // the server rolls back what a lost connection has begun
	case o == sqlcalls.Rollback:
		k.over = nil
	case k.over != nil:
		err := k.over
		if o == sqlcalls.Commit {
			k.rollBack(c)
		}
		return err
	}
	p := k.at[o]
	call := p.Call()
	if k.badConn.Happens(call.Way != sdk.Fine) {
		c.Gone = true
		return driver.ErrBadConn
	}
	if call.Answer >= 0 {
		return k.answer(ctx, c, o, call, do)
	}
	switch call.Way {
	case sdk.Before:
	case sdk.Late:
		k.mu.Lock()
		p.Later(func() {
			defer k.mu.Unlock()
			do(context.WithoutCancel(ctx)) // it was sent: the caller's patience matters no more, nor does the result
		})
	case sdk.Twice:
		if err := do(ctx); err != nil {
			return err
		}
		return do(ctx)
	default:
		if err := do(ctx); err != nil || call.Way != sdk.After {
			return err
		}
	}
	c.Gone = true
	return call.Error(nil)
}

// answer gives the answer of a call in place of its own.
func (k *calls) answer(ctx context.Context, c *sqlcalls.Conn, o sqlcalls.Operation, call sdk.Call, do func(context.Context) error) error {
	a := k.answers[o][call.Answer]
	if call.Way == sdk.After {
		if err := do(ctx); err != nil {
			return err
		}
	}
	err := call.Error(a.Err)
	switch {
	case o == sqlcalls.Commit && call.Way == sdk.Before:
		k.rollBack(c)
	case a.Aborts && c.Tx != nil && o != sqlcalls.Commit:
		k.over = err
	}
	return err
}

// rollBack ends the server's transaction, which has ended for the program with another error.
func (k *calls) rollBack(c *sqlcalls.Conn) {
	if c.Tx.Rollback() != nil {
		c.Gone = true
	}
	c.Tx, k.over = nil, nil
}

// Close closes the connection, once late calls on it are over (sqlcalls.Calls).
func (k *calls) Close(end func() error) error {
	if k.mu.TryLock() {
		defer k.mu.Unlock()
		return end()
	}
	go func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		end()
	}()
	return nil
}
