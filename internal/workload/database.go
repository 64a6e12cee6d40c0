package workload

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// Limits of the answer of a database.
const (
	maxRows      = 10_000
	maxRowsBytes = 1 << 20
)

// connector makes connections to the database of postgres://user:password@host:port/name or mysql://. Neither library
// repeats a statement by itself as long as it is sent on a connection that was taken out of the pool. sent, if not nil, counts
// the bytes that are handed to the kernel.
func connector(endpoint string, sent *atomic.Int64) (driver.Connector, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{FallbackDelay: -1, KeepAlive: -1, Resolver: &net.Resolver{PreferGo: true}}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dialer.DialContext(ctx, network, address)
		if err == nil && sent != nil {
			c = countedConn{c, sent}
		}
		return c, err
	}
	switch u.Scheme {
	case "postgres", "postgresql":
		q := u.Query()
		if q.Get("sslmode") == "" { // what has no TLS is asked twice without this
			q.Set("sslmode", "disable")
			u.RawQuery = q.Encode()
		}
		c, err := pgx.ParseConfig(u.String())
		if err != nil {
			return nil, err
		}
		c.DialFunc = dial
		c.LookupFunc = dialer.Resolver.LookupHost
		c.RuntimeParams["client_encoding"] = "UTF8"
		c.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol // one message out, one answer back
		return stdlib.GetConnector(*c), nil
	case "mysql":
		c := mysql.NewConfig()
		c.User = u.User.Username()
		c.Passwd, _ = u.User.Password()
		c.Net, c.Addr, c.DBName = "tcp", u.Host, strings.TrimPrefix(u.Path, "/")
		if u.Port() == "" {
			c.Addr = net.JoinHostPort(u.Hostname(), "3306")
		}
		c.DialFunc = dial
		c.InterpolateParams = true
		c.Logger = &mysql.NopLogger{}
		return mysql.NewConnector(c)
	}
	return nil, fmt.Errorf("endpoint %q; it must be a URL such as postgres://user@n1:5432/name or mysql://user@n1:3306/name", endpoint)
}

// countedConn counts what is sent. What libraries say about sent bytes is no proof: pgx 5.12 calls a statement safe to retry whose answer
// was cut off by the end of the connection.
type countedConn struct {
	net.Conn
	sent *atomic.Int64
}

func (c countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.sent.Add(int64(n))
	return n, err
}

// queryRows sends one statement to a database and gives its rows as a text: columns are separated by |, rows by line ends, and
// what is null reads NULL.
func queryRows(endpoint, statement string, deadline time.Time) (string, error) {
	to, err := connector(endpoint, nil)
	if err != nil {
		return "", err
	}
	ctx, stop := context.WithDeadline(context.Background(), deadline)
	defer stop()
	db := sql.OpenDB(to)
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return "", unansweredError{err}
	}
	defer conn.Close()
	rows, err := conn.QueryContext(ctx, statement)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	values := make([]sql.NullString, len(columns))
	into := make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for n := 0; rows.Next(); n++ {
		if n == maxRows || b.Len() > maxRowsBytes {
			return "", fmt.Errorf("more than %d rows or %d bytes; let the query count or hash them", maxRows, maxRowsBytes)
		}
		if err := rows.Scan(into...); err != nil {
			return "", err
		}
		if n > 0 {
			b.WriteByte('\n')
		}
		for i, v := range values {
			if i > 0 {
				b.WriteByte('|')
			}
			if !v.Valid {
				v.String = "NULL"
			}
			b.WriteString(v.String)
		}
	}
	return b.String(), rows.Err()
}

// unansweredError marks an error that came before the statement was sent.
type unansweredError struct{ error }

func (e unansweredError) Unwrap() error { return e.error }

// saysNo reports whether an error is a database's answer to a statement, and not that it could not work just now: that it
// shuts down, has no connection to spare, or took another transaction first (PostgreSQL appendix A, MySQL's error reference).
func saysNo(err error) bool {
	var before unansweredError
	if errors.As(err, &before) {
		return false
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return !slices.Contains([]string{"08", "40", "53", "57", "58", "XX"}, pg.Code[:min(2, len(pg.Code))])
	}
	var my *mysql.MySQLError
	if errors.As(err, &my) {
		return !slices.Contains([]uint16{1040, 1053, 1077, 1152, 1153, 1158, 1159, 1160, 1161, 1205, 1213, 1317, 3024, 3169}, my.Number)
	}
	return false
}
