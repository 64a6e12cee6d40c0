package workload

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// sqlDialect keeps registers and lists in tables of PostgreSQL or MySQL. Each client has a connection of its own for each
// target, taken out of the pool of database/sql for good: there nothing is repeated, and nothing pings.
type sqlDialect struct {
	addrs     []string
	urls      []string
	my        bool // MySQL's dialect of SQL
	isolation sql.IsolationLevel
	lists     bool // transactions append to lists; else they write registers
	made      []atomic.Bool
}

// sqlSession is a connection of one client.
type sqlSession struct {
	db   *sql.DB
	conn *sql.Conn
	sent *atomic.Int64 // bytes
}

func (s *sqlSession) Close() error {
	return errors.Join(s.conn.Close(), s.db.Close())
}

var isolations = map[string]sql.IsolationLevel{"": sql.LevelSerializable, "serializable": sql.LevelSerializable, "repeatable-read": sql.LevelRepeatableRead,
	"read-committed": sql.LevelReadCommitted, "read-uncommitted": sql.LevelReadUncommitted, "default": sql.LevelDefault}

func newSQL(w *world.Workload) (dialect, error) {
	level, known := isolations[w.Options["isolation"]]
	model := cmp.Or(w.Options["model"], listAppend)
	switch {
	case len(w.Targets) == 0:
		return nil, fmt.Errorf("workload %q has no target; give one such as postgres://postgres@db:5432/postgres", w.Name)
	case !known:
		return nil, fmt.Errorf("isolation %q: use serializable, repeatable-read, read-committed, "+
			"read-uncommitted or default", w.Options["isolation"])
	case model != listAppend && model != rwRegister:
		return nil, fmt.Errorf("model %q; it is %s or %s", model, listAppend, rwRegister)
	}
	s := &sqlDialect{isolation: level, lists: model == listAppend, made: make([]atomic.Bool, len(w.Targets))}
	for i, t := range w.Targets {
		if _, err := connector(t, nil); err != nil {
			return nil, err
		}
		u, err := url.Parse(t)
		if err != nil {
			return nil, err
		}
		if my := u.Scheme == "mysql"; i > 0 && my != s.my {
			return nil, fmt.Errorf("the targets mix PostgreSQL and MySQL; give each its own workload")
		} else {
			s.my = my
		}
		s.urls, s.addrs = append(s.urls, t), append(s.addrs, u.Host)
	}
	return s, nil
}

func (s *sqlDialect) targets() int           { return len(s.urls) }
func (s *sqlDialect) node(target int) string { return s.addrs[target] }

func (s *sqlDialect) perform(cs *connections, target int, o *operation, deadline time.Time) result {
	ctx, stop := context.WithDeadline(context.Background(), deadline)
	defer stop()
	session, _ := cs.sessions[target].(*sqlSession)
	if session == nil {
		var err error
		if session, err = s.connect(ctx, target); err != nil {
			return fail("not connected: %v", err)
		}
		cs.sessions[target] = session
	}
	var r result
	if o.entry.Kind == "txn" {
		r = s.transaction(ctx, session, o)
	} else {
		r = s.statement(ctx, session, o)
	}
	if r.typ != history.Ok {
		cs.drop(target) // after any trouble the next operation connects anew
	}
	return r
}

// connect makes a connection and, with the first one to a target, the tables.
func (s *sqlDialect) connect(ctx context.Context, target int) (*sqlSession, error) {
	sent := new(atomic.Int64)
	to, err := connector(s.urls[target], sent)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(to)
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(ctx)
	if err != nil {
		db.Close()
		return nil, err
	}
	session := &sqlSession{db, conn, sent}
	if !s.made[target].Load() {
		text := "text"
		key := "text PRIMARY KEY"
		if s.my {
			text, key = "longblob", "varbinary(700) PRIMARY KEY" // compared byte by byte
		}
		for _, table := range []string{"bloodhound_kv", "bloodhound_txn"} {
			_, err := conn.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+table+" (k "+key+", v "+text+" NOT NULL)")
			if err != nil && !raced(err) {
				session.Close()
				return nil, fmt.Errorf("the table %s: %w", table, err)
			}
		}
		s.made[target].Store(true)
	}
	return session, nil
}

// raced recognizes the error of a table that another client has just made (PostgreSQL: unique_violation of its catalog,
// duplicate_table, duplicate_object).
func raced(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "23505" || pg.Code == "42P07" || pg.Code == "42710")
}

// placeholders are written for PostgreSQL; MySQL counts them.
func (s *sqlDialect) text(pg, my string) string {
	if s.my {
		return my
	}
	return pg
}

// statement does an operation on a register: one statement, which is a transaction of its own.
func (s *sqlDialect) statement(ctx context.Context, session *sqlSession, o *operation) result {
	conn, before := session.conn, session.sent.Load()
	exec := func(text string, args ...any) (int64, error) {
		done, err := conn.ExecContext(ctx, text, args...)
		if err != nil {
			return 0, err
		}
		return done.RowsAffected()
	}
	var r result
	var err error
	var n int64
	switch o.entry.Kind {
	case "put":
		_, err = exec(s.text("INSERT INTO bloodhound_kv VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v",
			"INSERT INTO bloodhound_kv VALUES (?, ?) ON DUPLICATE KEY UPDATE v = VALUES(v)"), o.key, o.value)
		r = ok("", false)
	case "get":
		var v string
		err = conn.QueryRowContext(ctx, s.text("SELECT v FROM bloodhound_kv WHERE k = $1", "SELECT v FROM bloodhound_kv WHERE k = ?"), o.key).Scan(&v)
		r = ok(v, true)
		if errors.Is(err, sql.ErrNoRows) {
			r, err = ok("", false), nil
		}
	case "delete":
		n, err = exec(s.text("DELETE FROM bloodhound_kv WHERE k = $1", "DELETE FROM bloodhound_kv WHERE k = ?"), o.key)
		r = ok(strconv.FormatInt(n, 10), false)
	case "cas":
		n, err = exec(s.text("UPDATE bloodhound_kv SET v = $2 WHERE k = $1 AND v = $3", "UPDATE bloodhound_kv SET v = ? WHERE k = ? AND v = ?"),
			s.order(o.key, o.value, o.expect)...)
		r = ok(strconv.FormatBool(n == 1), false)
	}
	if err != nil {
		return failedSQL("", err, session.sent.Load() > before)
	}
	return r
}

// order puts the arguments of cas as the dialect counts them.
func (s *sqlDialect) order(key, value, expect string) []any {
	if s.my {
		return []any{value, key, expect}
	}
	return []any{key, value, expect}
}

// transaction does the accesses of a transaction and commits.
func (s *sqlDialect) transaction(ctx context.Context, session *sqlSession, o *operation) result {
	accesses, err := parseAccesses(o.value)
	if err != nil {
		return fail("%v", err)
	}
	tx, err := session.conn.BeginTx(ctx, &sql.TxOptions{Isolation: s.isolation})
	if err != nil {
		return fail("begin: %v", err)
	}
	// Nothing is committed before COMMIT is sent, so until then all that goes wrong undoes the whole; the connection is given
	// up, in case the server does not know yet.
	for i := range accesses {
		if err := s.access(ctx, tx, &accesses[i]); err != nil {
			tx.Rollback()
			return fail("%v", err)
		}
	}
	before := session.sent.Load()
	if err := tx.Commit(); err != nil {
		return failedSQL("commit: ", err, session.sent.Load() > before)
	}
	return ok(formatAccesses(accesses), false)
}

func (s *sqlDialect) access(ctx context.Context, tx *sql.Tx, a *access) error {
	if a.write {
		joined := s.text("bloodhound_txn.v || ',' || excluded.v", "CONCAT(v, ',', VALUES(v))")
		if !s.lists {
			joined = s.text("excluded.v", "VALUES(v)")
		}
		_, err := tx.ExecContext(ctx, s.text("INSERT INTO bloodhound_txn VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = "+joined,
			"INSERT INTO bloodhound_txn VALUES (?, ?) ON DUPLICATE KEY UPDATE v = "+joined), a.key, strconv.Itoa(a.value))
		return err
	}
	var v string
	err := tx.QueryRowContext(ctx, s.text("SELECT v FROM bloodhound_txn WHERE k = $1", "SELECT v FROM bloodhound_txn WHERE k = ?"), a.key).Scan(&v)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		a.read = json.RawMessage("null")
	case err != nil:
		return err
	case s.lists:
		a.read = json.RawMessage("[" + v + "]")
	default:
		a.read = json.RawMessage(v)
	}
	if !json.Valid(a.read) {
		return fmt.Errorf("key %q holds %q", a.key, v)
	}
	return nil
}

// failedSQL says what an error of a statement that commits proves; sent reports whether a byte was sent. A server's error message
// says that the statement and its transaction were undone, but for those with which it ends the connection or does not know
// itself.
func failedSQL(what string, err error, sent bool) result {
	var pg *pgconn.PgError
	var my *mysql.MySQLError
	undone := !sent || errors.Is(err, pgx.ErrTxCommitRollback)
	switch {
	case errors.As(err, &pg):
		undone = undonePG(pg)
	case errors.As(err, &my):
		undone = undoneMySQL(my.Number)
	}
	if undone {
		return fail("%s%v", what, err)
	}
	return info("%s%v", what, err)
}

// undonePG: PostgreSQL, appendix A. FATAL and PANIC end the connection, at any point. Classes 08 (connection), 58 (system
// error) and XX (internal), 40003 (statement completion unknown) and the shutdowns of class 57 leave it open.
func undonePG(e *pgconn.PgError) bool {
	class := e.Code[:min(2, len(e.Code))]
	switch {
	case e.Severity != "ERROR" && e.SeverityUnlocalized != "ERROR":
		return false
	case e.Code == "57014": // cancelled while it ran
		return true
	}
	return !strings.Contains("08 57 58 XX", class) && e.Code != "40003" && len(e.Code) == 5
}

// undoneMySQL: MySQL's error reference. The numbers are those of shutdowns, of communication, of interrupts, and of an error
// during COMMIT.
func undoneMySQL(number uint16) bool {
	switch number {
	case 1053, 1077, 1078, 1079, 1080, 1152, 1158, 1159, 1160, 1161, 1180, 1184, 1317, 2006, 2013, 3024, 3100, 3101, 3169:
		return false
	}
	return true
}
