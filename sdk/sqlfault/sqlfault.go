// Package sqlfault wraps a driver of database/sql so that connections, statements, transactions and rows fail as package sdk decides: before or after the server has acted, late, or
// twice.
//
// After a lost answer the connection is gone, as it would be: database/sql closes it. The error is never driver.ErrBadConn, at which database/sql itself tries again, except for
// faults of the kind BadConn, which occur before anything was sent.
package sqlfault

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"sync"

	"github.com/bloodhound-dst/bloodhound/sdk"
)

// Faults are the rates of each operation. Late is for Exec and Commit, Twice for Exec.
type Faults struct {
	Connect, Ping, Begin, Prepare, Exec, Query, Rows, Commit, Rollback sdk.Rates
	// BadConn is the probability that a call on a connection fails with driver.ErrBadConn, before anything was sent.
	BadConn float64
	Answers []Answer
}

// Answer is an error of the server in place of success, after which the connection goes on.
type Answer struct {
	// Operation is begin, prepare, exec, query or commit.
	Operation string
	// Name is that of the error in the ledger, such as "40001".
	Name string
	// Err is the error of the driver, such as a *pgconn.PgError.
	Err error
	// Before and After are the probabilities that it is answered before the call is done, which then does not happen, and after.
	Before, After float64
	// Breach says that the server's contract has no such answer.
	Breach bool
	// Aborts says that a transaction cannot go on after it: its statements and its commit have the same error, and it is rolled back. So it is with all errors of PostgreSQL, and with
	// deadlocks of MySQL. A commit that is not done always rolls back.
	Aborts bool
}

// points are the calls that fail.
type points struct {
	connect, ping, begin, prepare, exec, query, rows, commit, rollback *sdk.Point
	badConn                                                            *sdk.Fault
	answers                                                            map[*sdk.Point][]Answer
}

// Wrap gives a connector for sql.OpenDB whose calls fail by f, as source decides. name is that of the database in the ledger. It panics at rates that
// are not between 0 and 1, at those of Late and Twice where they have no meaning, and at answers of other operations or without an error.
func Wrap(c driver.Connector, name string, f Faults, source sdk.Source) driver.Connector {
	for _, a := range f.Answers {
		if !slices.Contains([]string{"begin", "prepare", "exec", "query", "commit"}, a.Operation) || a.Err == nil {
			panic(fmt.Sprintf("sqlfault: the answer %q of %s needs an error, and one of the operations begin, prepare, exec, query and commit", a.Name, name))
		}
	}
	given := map[*sdk.Point][]Answer{}
	at := func(operation string, r sdk.Rates) *sdk.Point {
		if r.Twice != 0 && operation != "exec" || r.Late != 0 && operation != "exec" && operation != "commit" {
			panic("sqlfault: " + operation + " of " + name + " cannot be late or twice: only exec can, and commit can be late")
		}
		var mine []Answer
		var answers []sdk.Answer
		for _, a := range f.Answers {
			if a.Operation == operation {
				mine, answers = append(mine, a), append(answers, sdk.Answer{Name: a.Name, Before: a.Before, After: a.After, Breach: a.Breach})
			}
		}
		p := sdk.NewPoint(source, name, operation, r, answers...)
		given[p] = mine
		return p
	}
	return &connector{c, &points{
		answers: given,
		connect: at("connect", f.Connect), ping: at("ping", f.Ping), begin: at("begin", f.Begin), prepare: at("prepare", f.Prepare), exec: at("exec", f.Exec),
		query: at("query", f.Query), rows: at("rows", f.Rows), commit: at("commit", f.Commit), rollback: at("rollback", f.Rollback),
		badConn: sdk.NewFault(source, name+"_bad_conn", f.BadConn),
	}}
}

// Open gives a connector for a driver and the name of its data source, for drivers that have no connector of their own.
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

type connector struct {
	driver.Connector
	*points
}

func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	call := c.connect.Call()
	if call.Way == sdk.Before {
		return nil, call.Error(nil)
	}
	under, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if call.Way == sdk.After {
		under.Close()
		return nil, call.Error(nil)
	}
	return &conn{Conn: under, points: c.points}, nil
}

// Close closes the connector, if it can be.
func (c *connector) Close() error {
	if closer, ok := c.Connector.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

// conn is a connection.
type conn struct {
	driver.Conn
	*points
	mu   sync.Mutex // of the driver's connection, which a late call may use beside Close
	gone bool       // after a lost answer
	tx   driver.Tx  // that is open, or nil
	over error      // with which the transaction was aborted, or nil
}

// Unwrap returns the driver's connection, for sql.Conn.Raw.
func (c *conn) Unwrap() driver.Conn { return c.Conn }

// call makes a call at a point. do acts. After a lost answer the connection is gone.
func (c *conn) call(ctx context.Context, p *sdk.Point, do func(context.Context) error) error {
	if c.gone {
		return driver.ErrBadConn
	}
	if c.over != nil && p != c.rollback {
		err := c.over
		if p == c.commit {
			c.rollBack()
		}
		return err
	}
	call := p.Call()
	if c.badConn.Happens(call.Way != sdk.Fine) {
		c.gone = true
		return driver.ErrBadConn
	}
	if call.Answer >= 0 {
		return c.answer(ctx, p, call, do)
	}
	switch call.Way {
	case sdk.Before:
	case sdk.Late:
		c.mu.Lock()
		p.Later(func() {
			defer c.mu.Unlock()
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
	c.gone = true
	return call.Error(nil)
}

// answer gives the answer of a call in place of its own.
func (c *conn) answer(ctx context.Context, p *sdk.Point, call sdk.Call, do func(context.Context) error) error {
	a := c.answers[p][call.Answer]
	if call.Way == sdk.After {
		if err := do(ctx); err != nil {
			return err
		}
	}
	err := call.Error(a.Err)
	switch {
	case p == c.commit && call.Way == sdk.Before:
		c.rollBack()
	case a.Aborts && c.tx != nil && p != c.commit:
		c.over = err
	}
	return err
}

// rollBack ends the server's transaction, which has ended for the program with another error.
func (c *conn) rollBack() {
	if c.tx.Rollback() != nil {
		c.gone = true
	}
	c.tx, c.over = nil, nil
}

// Close closes the connection, once late calls on it are over.
func (c *conn) Close() error {
	if c.mu.TryLock() {
		defer c.mu.Unlock()
		return c.Conn.Close()
	}
	go func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.Conn.Close()
	}()
	return nil
}

// IsValid has database/sql close a connection that is gone.
func (c *conn) IsValid() bool {
	if c.gone {
		return false
	}
	if v, ok := c.Conn.(driver.Validator); ok {
		return v.IsValid()
	}
	return true
}

func (c *conn) ResetSession(ctx context.Context) error {
	if c.gone {
		return driver.ErrBadConn
	}
	if r, ok := c.Conn.(driver.SessionResetter); ok {
		return r.ResetSession(ctx)
	}
	return nil
}

func (c *conn) Ping(ctx context.Context) error {
	return c.call(ctx, c.ping, func(ctx context.Context) error {
		if p, ok := c.Conn.(driver.Pinger); ok {
			return p.Ping(ctx)
		}
		return nil
	})
}

func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	if n, ok := c.Conn.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

func (c *conn) Begin() (driver.Tx, error) { return c.BeginTx(context.Background(), driver.TxOptions{}) }

func (c *conn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	var t driver.Tx
	err := c.call(ctx, c.begin, func(ctx context.Context) (err error) {
		if b, ok := c.Conn.(driver.ConnBeginTx); ok {
			t, err = b.BeginTx(ctx, o)
			return err
		}
		// What database/sql does with drivers that have none (ctxDriverBegin).
		if o.Isolation != 0 {
			return errors.New("sql: driver does not support non-default isolation level")
		}
		if o.ReadOnly {
			return errors.New("sql: driver does not support read-only transactions")
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		t, err = c.Conn.Begin() // the driver has nothing else
		return err
	})
	if err != nil {
		return nil, err
	}
	c.tx = t
	return &tx{t, c}, nil
}

func (c *conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	var s driver.Stmt
	err := c.call(ctx, c.prepare, func(ctx context.Context) (err error) {
		if p, ok := c.Conn.(driver.ConnPrepareContext); ok {
			s, err = p.PrepareContext(ctx, query)
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		s, err = c.Conn.Prepare(query)
		return err
	})
	if err != nil {
		return nil, err
	}
	if _, ok := s.(driver.ColumnConverter); ok { // drivers that have it
		return &converting{stmt{s, c}}, nil
	}
	return &stmt{s, c}, nil
}

func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	direct, ok := c.Conn.(driver.ExecerContext)
	plain, old := c.Conn.(driver.Execer) // drivers that have no other
	if !ok && !old {
		return nil, driver.ErrSkip
	}
	return exec(ctx, c, func(ctx context.Context) (driver.Result, error) {
		if ok {
			return direct.ExecContext(ctx, query, args)
		}
		values, err := positional(ctx, args)
		if err != nil {
			return nil, err
		}
		return plain.Exec(query, values)
	})
}

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	direct, ok := c.Conn.(driver.QueryerContext)
	plain, old := c.Conn.(driver.Queryer) // drivers that have no other
	if !ok && !old {
		return nil, driver.ErrSkip
	}
	return find(ctx, c, func(ctx context.Context) (driver.Rows, error) {
		if ok {
			return direct.QueryContext(ctx, query, args)
		}
		values, err := positional(ctx, args)
		if err != nil {
			return nil, err
		}
		return plain.Query(query, values)
	})
}

// exec makes a statement without rows.
func exec(ctx context.Context, c *conn, do func(context.Context) (driver.Result, error)) (driver.Result, error) {
	var result driver.Result
	err := c.call(ctx, c.exec, func(ctx context.Context) (err error) {
		result, err = do(ctx)
		return err
	})
	if err != nil {
		return nil, err // a late call still writes to result
	}
	return result, nil
}

// find makes a statement with rows.
func find(ctx context.Context, c *conn, do func(context.Context) (driver.Rows, error)) (driver.Rows, error) {
	var found driver.Rows
	err := c.call(ctx, c.query, func(ctx context.Context) (err error) {
		found, err = do(ctx)
		return err
	})
	if err != nil {
		if found != nil {
			found.Close()
		}
		return nil, err
	}
	return &rows{found, c}, nil
}

// positional is the arguments of drivers that know no names.
func positional(ctx context.Context, args []driver.NamedValue) ([]driver.Value, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	values := make([]driver.Value, len(args))
	for i, a := range args {
		if a.Name != "" {
			return nil, errors.New("sql: driver does not support the use of Named Parameters")
		}
		values[i] = a.Value
	}
	return values, nil
}

// tx is a transaction.
type tx struct {
	driver.Tx
	conn *conn
}

func (t *tx) Commit() error {
	return t.conn.call(context.Background(), t.conn.commit, func(context.Context) error {
		t.conn.tx = nil
		return t.Tx.Commit()
	})
}

func (t *tx) Rollback() error {
	if t.conn.gone { // the server rolls back what a lost connection has begun
		return driver.ErrBadConn
	}
	return t.conn.call(context.Background(), t.conn.rollback, func(context.Context) error {
		t.conn.tx, t.conn.over = nil, nil
		return t.Tx.Rollback()
	})
}

// stmt is a prepared statement.
type stmt struct {
	driver.Stmt
	conn *conn
}

func (s *stmt) Close() error {
	if s.conn.gone {
		return nil
	}
	return s.Stmt.Close()
}

func (s *stmt) Exec(args []driver.Value) (driver.Result, error) {
	return exec(context.Background(), s.conn, func(context.Context) (driver.Result, error) { return s.Stmt.Exec(args) }) // part of the interface
}

func (s *stmt) Query(args []driver.Value) (driver.Rows, error) {
	return find(context.Background(), s.conn, func(context.Context) (driver.Rows, error) { return s.Stmt.Query(args) }) // part of the interface
}

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if e, ok := s.Stmt.(driver.StmtExecContext); ok {
		return exec(ctx, s.conn, func(ctx context.Context) (driver.Result, error) { return e.ExecContext(ctx, args) })
	}
	values, err := positional(ctx, args)
	if err != nil {
		return nil, err
	}
	return s.Exec(values)
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if q, ok := s.Stmt.(driver.StmtQueryContext); ok {
		return find(ctx, s.conn, func(ctx context.Context) (driver.Rows, error) { return q.QueryContext(ctx, args) })
	}
	values, err := positional(ctx, args)
	if err != nil {
		return nil, err
	}
	return s.Query(values)
}

func (s *stmt) CheckNamedValue(v *driver.NamedValue) error {
	if n, ok := s.Stmt.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	return s.conn.CheckNamedValue(v)
}

// converting is a prepared statement that converts arguments by itself. Others must not have its method: database/sql would not convert theirs.
type converting struct{ stmt }

func (s *converting) ColumnConverter(i int) driver.ValueConverter {
	return s.Stmt.(driver.ColumnConverter).ColumnConverter(i) // drivers that have it
}

// rows are the rows of an answer.
type rows struct {
	driver.Rows
	conn *conn
}

func (r *rows) Next(dest []driver.Value) error {
	return r.conn.call(context.Background(), r.conn.rows, func(context.Context) error { return r.Rows.Next(dest) })
}

func (r *rows) HasNextResultSet() bool {
	n, ok := r.Rows.(driver.RowsNextResultSet)
	return ok && n.HasNextResultSet()
}

func (r *rows) NextResultSet() error {
	if n, ok := r.Rows.(driver.RowsNextResultSet); ok {
		return n.NextResultSet()
	}
	return io.EOF
}

func (r *rows) ColumnTypeScanType(i int) reflect.Type {
	if t, ok := r.Rows.(driver.RowsColumnTypeScanType); ok {
		return t.ColumnTypeScanType(i)
	}
	return reflect.TypeFor[any]()
}

func (r *rows) ColumnTypeDatabaseTypeName(i int) string {
	if t, ok := r.Rows.(driver.RowsColumnTypeDatabaseTypeName); ok {
		return t.ColumnTypeDatabaseTypeName(i)
	}
	return ""
}

func (r *rows) ColumnTypeLength(i int) (length int64, ok bool) {
	if t, has := r.Rows.(driver.RowsColumnTypeLength); has {
		return t.ColumnTypeLength(i)
	}
	return 0, false
}

func (r *rows) ColumnTypeNullable(i int) (nullable, ok bool) {
	if t, has := r.Rows.(driver.RowsColumnTypeNullable); has {
		return t.ColumnTypeNullable(i)
	}
	return false, false
}

func (r *rows) ColumnTypePrecisionScale(i int) (precision, scale int64, ok bool) {
	if t, has := r.Rows.(driver.RowsColumnTypePrecisionScale); has {
		return t.ColumnTypePrecisionScale(i)
	}
	return 0, 0, false
}
