package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/store/postgres"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/storetest"
)

var schemas atomic.Int64

// fresh is the URL of an empty database.
func fresh(s *storetest.Server) string {
	return fmt.Sprintf("%s?schema=test_%d", s.URL, schemas.Add(1))
}

func open(t *testing.T, url string) *postgres.Postgres {
	t.Helper()
	p, err := postgres.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPostgres(t *testing.T) {
	server := storetest.Postgres(t)
	storetest.Run(t, func(t *testing.T) func() store.Store {
		url := fresh(server)
		return func() store.Store { return open(t, url) }
	})
	for _, test := range []struct {
		name string
		run  func(*testing.T, *storetest.Server)
	}{
		{"LateCommit", testLateCommit}, {"Existing", testExisting}, {"NumbersAfterCrash", testNumbersAfterCrash},
		{"Restart", testRestart}, {"OtherVersion", testOtherVersion}, {"Secrets", testSecrets},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, server) })
	}
}

// connect is a connection of another program.
func connect(t *testing.T, server *storetest.Server) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// A reader makes no schema.
func testExisting(t *testing.T, server *storetest.Server) {
	url := fresh(server)
	_, schema, _ := strings.Cut(url, "schema=")
	s := open(t, url)
	defer s.Close()
	s.Existing = true
	if _, err := s.Read(t.Context(), "", "", nil); err == nil || !strings.Contains(err.Error(), "there is no database") {
		t.Error(err)
	}
	there := true
	if err := connect(t, server).QueryRow(t.Context(), "SELECT to_regnamespace($1) IS NOT NULL", schema).Scan(&there); err != nil || there {
		t.Error(there, err)
	}
	other := open(t, url)
	defer other.Close()
	storetest.Put(t, other, "v")
	if got := storetest.All(t, s, ""); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// A transaction that began first and ends last is read, and what came between is not read again.
func testLateCommit(t *testing.T, server *storetest.Server) {
	url := fresh(server)
	s := open(t, url)
	defer s.Close()
	storetest.Put(t, s, "before")
	tx, err := connect(t, server).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, schema, _ := strings.Cut(url, "schema=")
	if _, err := tx.Exec(t.Context(), "INSERT INTO "+schema+".entries VALUES ('k', 'sum', 'late')"); err != nil {
		t.Fatal(err)
	}
	storetest.Put(t, s, "between")
	got, from := storetest.Later(t, s, "")
	slices.Sort(got)
	if !slices.Equal(got, []string{"before", "between"}) {
		t.Fatalf("before it ends: %q", got)
	}
	if got, from = storetest.Later(t, s, from); len(got) > 0 {
		t.Fatalf("given again: %q", got)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, _ := storetest.Later(t, s, from); !slices.Equal(got, []string{"late"}) {
		t.Fatalf("after it ended: %q", got)
	}
}

// A server that crashed gives numbers of transactions again that it had given to some without a trace.
func testNumbersAfterCrash(t *testing.T, server *storetest.Server) {
	s := open(t, fresh(server))
	defer s.Close()
	storetest.Put(t, s, "before")
	useNumbers := func() {
		conn := connect(t, server)
		for range 50 {
			if _, err := conn.Exec(t.Context(), "BEGIN; SELECT pg_current_xact_id(); ROLLBACK"); err != nil {
				t.Fatal(err)
			}
		}
	}
	useNumbers()
	_, from := storetest.Later(t, s, "")
	server.Kill()
	server.Start()
	storetest.Put(t, s, "after")
	useNumbers()
	if got, _ := storetest.Later(t, s, from); !slices.Equal(got, []string{"after"}) {
		t.Fatalf("after the crash: %q", got)
	}
}

// A client goes on after the server was restarted, without an error.
func testRestart(t *testing.T, server *storetest.Server) {
	s := open(t, fresh(server))
	defer s.Close()
	storetest.Put(t, s, "before")
	if _, err := s.Lease(t.Context(), "work", "me", time.Hour); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	for i := 0; s.Add(t.Context(), store.Entry{Key: "k", Value: fmt.Append(nil, "x", i)}) == nil; i++ { // its processes may serve for a moment
	}
	server.Start()
	storetest.Put(t, s, "after")
	if got, _ := storetest.Later(t, s, ""); !slices.Contains(got, "before") || !slices.Contains(got, "after") {
		t.Fatalf("%q", got)
	}
	if _, err := s.Lease(t.Context(), "work", "other", time.Hour); err == nil {
		t.Fatal("a lease did not survive")
	}
}

func testOtherVersion(t *testing.T, server *storetest.Server) {
	url := fresh(server)
	s := open(t, url)
	storetest.Put(t, s, "x")
	s.Close()
	_, schema, _ := strings.Cut(url, "schema=")
	if _, err := connect(t, server).Exec(t.Context(), "UPDATE "+schema+".version SET version = 99"); err != nil {
		t.Fatal(err)
	}
	s = open(t, url)
	defer s.Close()
	if err := s.Add(t.Context(), store.Entry{Key: "k", Value: []byte("y")}); err == nil || !strings.Contains(err.Error(), "version 99") {
		t.Fatalf("%v", err)
	}
}

// No password is shown, however the URL is wrong.
func testSecrets(t *testing.T, server *storetest.Server) {
	const word = "pa55w0rd"
	address := strings.TrimPrefix(server.URL[strings.Index(server.URL, "@"):], "@")
	for _, url := range []string{"postgres://tester:" + word + "@" + address, "postgres://tester:" + word + "@127.0.0.1:1/x",
		"postgres://" + address + "?user=tester&password=" + word,
		"postgres://tester:" + word + "/x@" + address, "postgres://tester:" + word + "@" + address + "?sslmode=wrong",
		"postgres://tester:%" + word + "@" + address,
		"postgres://tester:" + word + "@" + address + "?schema=A%20B"} {
		text := ""
		s, err := postgres.Open(url)
		if err == nil {
			text = s.String()
			if err = s.Add(t.Context(), store.Entry{Key: "k"}); err == nil {
				t.Errorf("%s was taken", url)
			}
			s.Close()
		}
		if text += fmt.Sprintf(" %v %+v", err, err); strings.Contains(text, word) || strings.Contains(text, word[:6]) {
			t.Errorf("shown: %s", text)
		}
	}
	wrong := open(t, "postgres://tester:"+word+"@"+address)
	defer wrong.Close()
	if err := wrong.Release(t.Context(), "l", "me"); !errors.Is(err, store.ErrRefused) {
		t.Errorf("a wrong password: %v", err)
	}
	if s := open(t, server.URL); strings.Contains(s.String(), storetest.Password) {
		t.Errorf("shown: %s", s)
	}
}
