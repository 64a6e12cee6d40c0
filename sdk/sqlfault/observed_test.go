package sqlfault_test

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/storetest"
	"github.com/bloodhound-dst/bloodhound/sdk"
	"github.com/bloodhound-dst/bloodhound/sdk/sqlcount"
	"github.com/bloodhound-dst/bloodhound/sdk/sqlfault"
)

// pay is a program whose database documents that an insert conflicts (40001), and that an order has been paid before (23505).
// Where naive, it takes every other error for the latter.
func pay(db *sql.DB, order string, naive bool) (paid bool) {
	_, err := db.Exec("INSERT INTO payments VALUES ($1)", order)
	e, answered := errors.AsType[*pgconn.PgError](err)
	switch {
	case err == nil:
		return true
	case !answered || e.Code == "40001":
		return false
	}
	return e.Code == "23505" || naive
}

func execute(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.Exec(statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// postgres is a server whose trigger answers what the contract has not, for the order "odd".
func postgres(t *testing.T) (driver.Connector, *sql.DB) {
	config, err := pgx.ParseConfig(storetest.Postgres(t).URL)
	if err != nil {
		t.Fatal(err)
	}
	c := stdlib.GetConnector(*config)
	plain := sql.OpenDB(c)
	t.Cleanup(func() { plain.Close() })
	execute(t, plain, `CREATE TABLE payments (id text PRIMARY KEY)`)
	execute(t, plain, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'odd' USING ERRCODE = '58030'; END $$`)
	execute(t, plain, `CREATE TRIGGER odd BEFORE INSERT ON payments FOR EACH ROW WHEN (NEW.id = 'odd') EXECUTE FUNCTION refuse()`)
	return c, plain
}

// pgError is the answer of PostgreSQL with a code.
func pgError(code string) sqlfault.Answer {
	return sqlfault.Answer{Err: &pgconn.PgError{Severity: "ERROR", Code: code, Message: "as in production"}, Aborts: true}
}

// What a real database breached in production, rarely, happens in a test, and finds the program that fails on it. One that does not fail on it holds.
func TestProductionsBreachesArePlayed(t *testing.T) {
	connector, plain := postgres(t)
	counter := sqlcount.New(nil, sqlcount.Operation{Name: "exec", Codes: []string{"40001", "23505"}},
		sqlcount.Operation{Name: "commit", Codes: []string{"40001"}})
	production := sql.OpenDB(counter.Connector(connector))
	defer production.Close()
	for i := range 200 {
		pay(production, fmt.Sprint("order ", i), true)
	}
	pay(production, "order 1", true)
	pay(production, "odd", true)
	text, err := json.Marshal(counter)
	if want := `{"operations":{"commit":{"calls":0,"lost":0,"failures":{},"breaches":{"codes":{}}},"exec":{"calls":202,"lost":0,"failures":{"23505":1},"breaches":{"codes":{"58030":1}}}}}`; err != nil || string(text) != want {
		t.Fatalf("%s, %v\nnot %s", text, err, want)
	}
	faults, err := sqlfault.Observed(strings.NewReader(string(text)),
		sqlfault.Faults{Answers: []sqlfault.Answer{{Operation: "exec", Name: "23505", Err: pgError("23505").Err}}}, pgError)
	if err != nil {
		t.Fatal(err)
	}
	faults.Answers[0].Before = 0 // an order that was not paid before is not taken for one

	for _, naive := range []bool{true, false} {
		t.Run(fmt.Sprintf("naive=%v", naive), func(t *testing.T) {
			t.Chdir(t.TempDir()) // where the failure is stored
			text, ok := sdk.Campaign{Runs: 100}.Search(t, func(r *sdk.Run) {
				execute(t, plain, "TRUNCATE payments")
				db := sql.OpenDB(sqlfault.Wrap(connector, "db", faults, r))
				defer db.Close()
				for _, order := range []string{"ann", "bob"} {
					paid := pay(db, order, naive)
					var n int
					if err := plain.QueryRow("SELECT count(*) FROM payments WHERE id = $1", order).Scan(&n); err != nil || paid && n == 0 {
						r.Errorf("%s is taken for paid, and is not: %v", order, err)
					}
				}
				r.Quiet()
			})
			if naive && (ok || !strings.Contains(text, "fault db_exec_breach_58030_before at call ") || !strings.Contains(text, " to 1\n")) {
				t.Errorf("the failure reads:\n%s", text)
			}
			if !naive && (!ok || !strings.Contains(text, "\ndb_exec_23505_after") || !strings.Contains(text, "\ndb_exec_breach_58030_after")) {
				t.Errorf("the program that is right: %s", text)
			}
		})
	}
}

// Rates give each kind its share of the calls, with a lower bound. Operations that were not counted stay.
func TestObserved(t *testing.T) {
	odd := errors.New("odd")
	f, err := sqlfault.Observed(strings.NewReader(`{"operations": {"exec": {"calls": 1000, "lost": 400, "failures": {"40001": 1}, "breaches": {"codes": {"58030": 200}}}, "rows": {"calls": 10, "lost": 4}, "ping": {}}}`),
		sqlfault.Faults{Exec: sdk.Rates{Late: 0.1}, Begin: sdk.Rates{Before: 0.7}, BadConn: 0.3,
			Answers: []sqlfault.Answer{{Operation: "exec", Name: "40001", Err: odd}, {Operation: "exec", Name: "1", Err: odd},
				{Operation: "commit", Name: "40001", Err: odd, After: 1}}}, pgError)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range f.Answers {
		got = append(got, fmt.Sprintf("%s %s %.3f %.3f %v %v %v", a.Operation, a.Name, a.Before, a.After, a.Breach, a.Aborts, a.Err == odd))
	}
	want := []string{"commit 40001 0.000 1.000 false false true", "exec 40001 0.083 0.091 false false true",
		"exec 1 0.000 0.000 false false true", "exec 58030 0.200 0.250 true true false"}
	if !slices.Equal(got, want) {
		t.Errorf("the answers are\n%s", strings.Join(got, "\n"))
	}
	f.Answers = nil
	if text := fmt.Sprintf("%+v", f); text != fmt.Sprintf("%+v",
		sqlfault.Faults{Exec: sdk.Rates{Before: 0.2, After: 0.25, Late: 0.1}, Rows: sdk.Rates{Before: 0.2, After: 0.25},
			Begin: sdk.Rates{Before: 0.7}, BadConn: 0.3}) {
		t.Errorf("the faults are %s", text)
	}
}

// Counts that do not fit databases or the faults are errors with a remedy.
func TestObservedRefuses(t *testing.T) {
	breach := `{"operations": {"exec": {"calls": 9, "breaches": {"codes": {"58030": 1}}}}}`
	for _, c := range []struct {
		counts, want string
		answer       sqlfault.Answer
	}{
		{`{"operations": {"charge": {"calls": 9}}}`, `counted the operation "charge", but those of databases are [connect ping begin`, sqlfault.Answer{}},
		{`{"operations": {"exec": {}}}`, "made no call, so there are no rates: count for longer", sqlfault.Answer{}},
		{`{"operations": {"ping": {"calls": 9, "failures": {"58030": 1}}}}`,
			"ping: production counted the error 58030, which no test can play", sqlfault.Answer{}},
		{breach, "exec: the answer 58030 is documented in the test and a breach in production: give both", sqlfault.Answer{Operation: "exec", Name: "58030"}},
		{breach, "sqlfault: exec: the test sets Before of the answer 58030 to 1.5, but the counts decide it",
			sqlfault.Answer{Operation: "exec", Name: "58030", Breach: true, Before: 1.5}},
		{`{"operations": {"commit": {}, "exec": {"calls": 9}}}`, "nothing go wrong with exec, so there is nothing to play", sqlfault.Answer{}},
		{breach[:30], "cut off at byte 30; store the JSON that a Counter serves", sqlfault.Answer{}},
	} {
		if f, err := sqlfault.Observed(strings.NewReader(c.counts), sqlfault.Faults{Answers: []sqlfault.Answer{c.answer}},
			pgError); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v", c.counts, f, err)
		}
	}
	if _, err := sqlfault.Observed(strings.NewReader(breach), sqlfault.Faults{},
		func(string) sqlfault.Answer { return sqlfault.Answer{} }); err == nil || !strings.Contains(err.Error(), "let answer return its Err") {
		t.Errorf("an answer without an error: %v", err)
	}
}
