// Package sqlcalls puts something around the calls of a driver of database/sql: faults, or counts. Methods that the driver lacks behave as without it.
package sqlcalls

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"reflect"
	"slices"
)

// Operation is a kind of call.
type Operation int

const (
	Connect Operation = iota
	Ping
	Begin
	Prepare
	Exec
	Query
	Rows // each row that is read, and the end of them
	Commit
	Rollback
	Operations // the number of them
)

// Answering are the operations to which the errors of a server are answers. One of another operation loses the connection, or the rows.
var Answering = []Operation{Begin, Prepare, Exec, Query, Commit}

// ByName returns the operation with a name, or -1.
func ByName(name string) Operation { return Operation(slices.Index(Names[:], name)) }

// Names holds the names of the operations.
var Names = [Operations]string{"connect", "ping", "begin", "prepare", "exec", "query", "rows", "commit", "rollback"}

// Around wraps the connections that a connector makes.
type Around interface {
	// Connect makes a connection by open, and gives what is put around its calls.
	Connect(ctx context.Context, open func(context.Context) (driver.Conn, error)) (driver.Conn, Calls, error)
}

// Calls wraps the calls of one connection.
type Calls interface {
	// Call makes a call, whose effect is do.
	Call(ctx context.Context, c *Conn, o Operation, do func(context.Context) error) error
	// Close closes the connection, by end.
	Close(end func() error) error
}

// Wrap gives a connector for sql.OpenDB.
func Wrap(c driver.Connector, around Around) driver.Connector { return &connector{c, around} }

type connector struct {
	driver.Connector
	around Around
}

func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	under, calls, err := c.around.Connect(ctx, c.Connector.Connect)
	if err != nil {
		return nil, err
	}
	return &Conn{Conn: under, calls: calls}, nil
}

// Close closes the connector, if it can be.
func (c *connector) Close() error {
	if closer, ok := c.Connector.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

// Conn is a connection.
type Conn struct {
	driver.Conn
	Tx    driver.Tx // that is open, or nil
	Gone  bool      // nothing more can be sent on it
	calls Calls
}

// Unwrap returns the driver's connection, for sql.Conn.Raw.
func (c *Conn) Unwrap() driver.Conn { return c.Conn }

func (c *Conn) call(ctx context.Context, o Operation, do func(context.Context) error) error {
	return c.calls.Call(ctx, c, o, do)
}

// Close closes the connection.
func (c *Conn) Close() error { return c.calls.Close(c.Conn.Close) }

// IsValid has database/sql close a connection that is gone.
func (c *Conn) IsValid() bool {
	if c.Gone {
		return false
	}
	if v, ok := c.Conn.(driver.Validator); ok {
		return v.IsValid()
	}
	return true
}

// ResetSession resets what the last user of the connection left (driver.SessionResetter).
func (c *Conn) ResetSession(ctx context.Context) error {
	if c.Gone {
		return driver.ErrBadConn
	}
	if r, ok := c.Conn.(driver.SessionResetter); ok {
		return r.ResetSession(ctx)
	}
	return nil
}

// Ping asks whether the server is there (driver.Pinger).
func (c *Conn) Ping(ctx context.Context) error {
	return c.call(ctx, Ping, func(ctx context.Context) error {
		if p, ok := c.Conn.(driver.Pinger); ok {
			return p.Ping(ctx)
		}
		return nil
	})
}

// CheckNamedValue converts an argument (driver.NamedValueChecker).
func (c *Conn) CheckNamedValue(v *driver.NamedValue) error {
	if n, ok := c.Conn.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

// Begin begins a transaction (driver.Conn).
func (c *Conn) Begin() (driver.Tx, error) { return c.BeginTx(context.Background(), driver.TxOptions{}) }

// BeginTx begins a transaction (driver.ConnBeginTx).
func (c *Conn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	var t driver.Tx
	err := c.call(ctx, Begin, func(ctx context.Context) (err error) {
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
	c.Tx = t
	return &tx{t, c}, nil
}

// Prepare prepares a statement (driver.Conn).
func (c *Conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

// PrepareContext prepares a statement (driver.ConnPrepareContext).
func (c *Conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	var s driver.Stmt
	err := c.call(ctx, Prepare, func(ctx context.Context) (err error) {
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

// ExecContext makes a statement without rows (driver.ExecerContext).
func (c *Conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
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

// QueryContext makes a statement with rows (driver.QueryerContext).
func (c *Conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
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
func exec(ctx context.Context, c *Conn, do func(context.Context) (driver.Result, error)) (driver.Result, error) {
	var result driver.Result
	err := c.call(ctx, Exec, func(ctx context.Context) (err error) {
		result, err = do(ctx)
		return err
	})
	if err != nil {
		return nil, err // a late call still writes to result
	}
	return result, nil
}

// find makes a statement with rows.
func find(ctx context.Context, c *Conn, do func(context.Context) (driver.Rows, error)) (driver.Rows, error) {
	var found driver.Rows
	err := c.call(ctx, Query, func(ctx context.Context) (err error) {
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
	conn *Conn
}

func (t *tx) Commit() error {
	return t.conn.call(context.Background(), Commit, func(context.Context) error {
		t.conn.Tx = nil
		return t.Tx.Commit()
	})
}

func (t *tx) Rollback() error {
	return t.conn.call(context.Background(), Rollback, func(context.Context) error {
		t.conn.Tx = nil
		return t.Tx.Rollback()
	})
}

// stmt is a prepared statement.
type stmt struct {
	driver.Stmt
	conn *Conn
}

func (s *stmt) Close() error {
	if s.conn.Gone {
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
	conn *Conn
}

func (r *rows) Next(dest []driver.Value) error {
	return r.conn.call(context.Background(), Rows, func(context.Context) error { return r.Rows.Next(dest) })
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
