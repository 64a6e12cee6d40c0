package sqlfault_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/sdk"
	"github.com/bloodhound-dst/bloodhound/sdk/sqlfault"
)

// server is a database that counts how often each statement took effect.
type server struct {
	mu      sync.Mutex
	effects map[string]int
	open    int // connections
	last    *session
}

func (s *server) effect(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.effects[text]++
}

func (s *server) Connect(context.Context) (driver.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
	s.last = &session{server: s}
	return s.last, nil
}
func (s *server) Driver() driver.Driver { return nil }

// session is a connection of a driver that has nothing but what drivers must have, and statements without preparation.
type session struct {
	server *server
	tx     []string
	in     bool
}

func (c *session) Close() error {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.server.open--
	return nil
}
func (c *session) Begin() (driver.Tx, error) { c.in = true; return c, nil }
func (c *session) Commit() error {
	for _, text := range c.tx {
		c.server.effect(text)
	}
	return c.Rollback()
}
func (c *session) Rollback() error                       { c.in, c.tx = false, nil; return nil }
func (c *session) Prepare(q string) (driver.Stmt, error) { return &statement{c, q}, nil }
func (c *session) ExecContext(_ context.Context, q string, _ []driver.NamedValue) (driver.Result, error) {
	if c.in {
		c.tx = append(c.tx, q)
	} else {
		c.server.effect(q)
	}
	return driver.RowsAffected(1), nil
}

type statement struct {
	c *session
	q string
}

func (s *statement) Close() error  { return nil }
func (s *statement) NumInput() int { return -1 }
func (s *statement) Exec([]driver.Value) (driver.Result, error) {
	return s.c.ExecContext(context.Background(), s.q, nil)
}
func (s *statement) Query(args []driver.Value) (driver.Rows, error) {
	return &result{left: 2, args: args}, nil
}

type result struct {
	left int
	args []driver.Value
}

func (r *result) Columns() []string { return []string{"n", "arg"} }
func (r *result) Close() error      { return nil }
func (r *result) Next(dest []driver.Value) error {
	if r.left == 0 {
		return io.EOF
	}
	r.left--
	dest[0], dest[1] = int64(r.left), r.args[0]
	return nil
}

// Each call that fails has had the effect that its fault says, and no other one: a million calls in the long form.
func TestEffectsAreThoseOfTheFaults(t *testing.T) {
	calls := 20_000
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		calls = 1_000_000
	}
	const delay = time.Millisecond
	s := &server{effects: map[string]int{}}
	sdk.Campaign{Runs: 2}.Test(t, func(r *sdk.Run) {
		rates := sdk.Rates{Before: 0.05, After: 0.05, Late: 0.02, Twice: 0.05, Slow: 0.01, Delay: delay}
		commit := rates
		commit.Twice = 0
		db := sql.OpenDB(sqlfault.Wrap(s, "db", sqlfault.Faults{Exec: rates, Commit: commit, BadConn: 0.02}, r))
		type effect struct{ least, most int }
		want := map[string]effect{}
		id := []byte("statement 00000000")
		for i := range calls {
			for at, n := len(id)-1, i; n > 0; at, n = at-1, n/10 {
				id[at] = byte('0' + n%10)
			}
			text := string(id)
			var err error
			transaction := i%2 == 1
			if transaction {
				var tx *sql.Tx
				if tx, err = db.Begin(); err == nil {
					if _, err = tx.Exec(text); err == nil {
						err = tx.Commit()
					} else {
						tx.Rollback()
					}
				}
			} else {
				_, err = db.Exec(text)
			}
			kind := sdk.Kind(err)
			e := effect{1, 2} // a statement that was made twice, and succeeded, has no error
			switch {
			case strings.HasSuffix(kind, "_before"), errors.Is(err, driver.ErrBadConn), transaction && strings.HasPrefix(kind, "db_exec"):
				e = effect{} // or its transaction was never committed
			case err != nil && kind == "":
				r.Fatalf("an error that no fault made: %v", err)
			case err != nil && !transaction:
				e.most = 1
			}
			want[text] = e
		}
		r.Quiet()
		db.Close()
		wrong := func() (list []string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			for text, e := range want {
				if n := s.effects[text]; n < e.least || n > e.most {
					list = append(list, fmt.Sprintf("%s took effect %d times, not %d to %d", text, n, e.least, e.most))
				}
			}
			if s.open != 0 {
				list = append(list, fmt.Sprintf("%d connections are open", s.open))
			}
			return list
		}
		for left := 1000; left > 0 && len(wrong()) > 0; left-- {
			// Late calls end when nobody waits for them any more.
			time.Sleep(10 * delay)
		}
		if list := wrong(); len(list) > 0 {
			r.Errorf("%s", list[0])
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		clear(s.effects)
	})
}

// A driver without optional interfaces behaves behind the wrapper as without it.
func TestPlainDriver(t *testing.T) {
	s := &server{effects: map[string]int{}}
	for _, c := range []driver.Connector{s, sqlfault.Wrap(s, "db", sqlfault.Faults{}, nil)} {
		db := sql.OpenDB(c)
		if _, err := db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true}); err == nil || !strings.Contains(err.Error(), "read-only") {
			t.Errorf("a read-only transaction of a driver without them: %v", err)
		}
		if _, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelSerializable}); err == nil || !strings.Contains(err.Error(), "isolation") {
			t.Errorf("an isolation level of a driver without them: %v", err)
		}
		if _, err := db.Query("q", sql.Named("a", 1)); err == nil || !strings.Contains(err.Error(), "Named Parameters") {
			t.Errorf("a named argument of a driver without them: %v", err)
		}
		rows, err := db.Query("q", int32(7)) // which database/sql converts to int64
		if err != nil {
			t.Fatal(err)
		}
		types, err := rows.ColumnTypes()
		if err != nil || types[0].ScanType() == nil {
			t.Errorf("types of columns: %v, %v", types, err)
		}
		got := 0
		for rows.Next() {
			var n, arg int
			if err := rows.Scan(&n, &arg); err != nil || arg != 7 {
				t.Errorf("Scan: %v, argument %d", err, arg)
			}
			got++
		}
		if rows.Err() != nil || rows.NextResultSet() || got != 2 {
			t.Errorf("%d rows, %v", got, rows.Err())
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	if s.open != 0 {
		t.Errorf("%d connections are open", s.open)
	}
}

// always has all faults happen that have a rate.
type always struct{}

func (always) Mishap(_ string, rate float64) bool { return rate > 0 }
func (always) Sleep(time.Duration)                {}

// A server that answers an error has done what the answer says, and its connection goes on.
func TestAnswers(t *testing.T) {
	conflict := errors.New("could not serialize access")
	for _, c := range []struct {
		name               string
		a                  sqlfault.Answer
		exec, next, commit error
		effects            string
	}{
		{"commit", sqlfault.Answer{Operation: "commit", Before: 1}, nil, nil, conflict, ""},
		{"commit, which is done", sqlfault.Answer{Operation: "commit", After: 1, Breach: true}, nil, nil, conflict, "a b"},
		{"exec", sqlfault.Answer{Operation: "exec", Before: 1}, conflict, conflict, nil, ""},
		{"exec, which is done", sqlfault.Answer{Operation: "exec", After: 1, Breach: true}, conflict, conflict, nil, "a b"},
		{"exec, which aborts", sqlfault.Answer{Operation: "exec", After: 1, Aborts: true}, conflict, conflict, conflict, ""},
	} {
		s := &server{effects: map[string]int{}}
		c.a.Name, c.a.Err = "40001", conflict
		db := sql.OpenDB(sqlfault.Wrap(s, "db", sqlfault.Faults{Answers: []sqlfault.Answer{c.a}}, always{}))
		db.SetMaxOpenConns(1)
		for range 2 { // on the same connection
			clear(s.effects)
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			_, exec := tx.Exec("a")
			_, next := tx.Exec("b")
			commit := tx.Commit()
			if !errors.Is(exec, c.exec) || !errors.Is(next, c.next) || !errors.Is(commit, c.commit) {
				t.Errorf("%s: %v, %v, %v", c.name, exec, next, commit)
			}
			if commit != nil && sdk.Kind(commit) == "" {
				t.Errorf("%s: %v names no fault", c.name, commit)
			}
			done := strings.Join(slices.Sorted(maps.Keys(s.effects)), " ")
			if done != c.effects || s.open != 1 || s.last.in {
				t.Errorf("%s: done is %q, %d connections are open, and a transaction is: %v", c.name, done, s.open, s.last.in)
			}
		}
		db.Close()
	}
}

// Rates that have no meaning are refused.
// database/sql looks at each error for itself. That is not the program's look.
func TestDroppedErrors(t *testing.T) {
	for _, c := range []struct {
		what   string
		faults sqlfault.Faults
		call   func(*sql.DB)
	}{
		{"db_exec_before", sqlfault.Faults{Exec: sdk.Rates{Before: 0.3}}, func(db *sql.DB) { _, _ = db.Exec("a") }},
		{"db_begin_before", sqlfault.Faults{Begin: sdk.Rates{Before: 0.3}}, func(db *sql.DB) { _, _ = db.Begin() }},
		{"db_commit_after", sqlfault.Faults{Commit: sdk.Rates{After: 0.3}}, func(db *sql.DB) {
			tx, err := db.Begin()
			if err == nil {
				_ = tx.Commit()
			}
		}},
	} {
		text, ok := sdk.Campaign{Runs: 50}.Search(t, func(r *sdk.Run) {
			db := sql.OpenDB(sqlfault.Wrap(&server{effects: map[string]int{}}, "db", c.faults, r))
			defer db.Close()
			c.call(db)
			r.Quiet()
		})
		if ok || !strings.Contains(text, c.what+" happened") || !strings.Contains(text, "neither looked at its error") {
			t.Errorf("%s: %s", c.what, text)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, f := range []sqlfault.Faults{{Query: sdk.Rates{Twice: 0.1}}, {Ping: sdk.Rates{Late: 0.1}}, {Exec: sdk.Rates{Before: 1.5}}, {BadConn: -1},
		{Answers: []sqlfault.Answer{{Operation: "rows", Err: io.EOF}}}, {Answers: []sqlfault.Answer{{Operation: "exec"}}}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v is taken", f)
				}
			}()
			sqlfault.Wrap(&server{}, "db", f, nil)
		}()
	}
}

func BenchmarkOff(b *testing.B) {
	plain := &server{effects: map[string]int{}}
	for name, c := range map[string]driver.Connector{"plain": plain, "wrapped": sqlfault.Wrap(plain, "db", sqlfault.Faults{}, nil)} {
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
