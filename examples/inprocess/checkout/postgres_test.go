package checkout

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/storetest"
	"github.com/bloodhound-dst/bloodhound/sdk"
	"github.com/bloodhound-dst/bloodhound/sdk/httpfault"
	"github.com/bloodhound-dst/bloodhound/sdk/sqlfault"
)

// table is the orders of a database of PostgreSQL.
type table struct{ db *sql.DB }

func (t table) note(o order, state string) error {
	tx, err := t.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	const upsert = "INSERT INTO orders (id, amount, state) VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET state = $3"
	if _, err := tx.Exec(upsert, o.ID, o.Amount, state); err != nil {
		return err
	}
	return tx.Commit()
}

// bank is the payment service: the charges of each order, and the keys that it has seen.
type bank struct {
	mu      sync.Mutex
	charges map[string]int
	seen    map[string]bool
}

func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var c charge
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil || c.Amount <= 0 {
		http.Error(w, `{"error": "no charge"}`, http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if key := r.Header.Get("Idempotency-Key"); key == "" || !b.seen[key] {
		b.charges[c.Order]++
		b.seen[key] = true
	}
	w.WriteHeader(http.StatusCreated)
	io.WriteString(w, `{"paid": true}`)
}

// sells is the test of a shop: whatever fails, no order is charged twice, and one that was sold is noted as paid.
func sells(c driver.Connector, plain *sql.DB, keys bool) func(*sdk.Run) {
	return func(r *sdk.Run) {
		if _, err := plain.Exec("TRUNCATE orders"); err != nil {
			r.Fatalf("TRUNCATE: %v", err)
		}
		b := &bank{charges: map[string]int{}, seen: map[string]bool{}}
		server := httptest.NewServer(b)
		defer server.Close()
		lost := sdk.Rates{Before: 0.05, After: 0.05}
		db := sql.OpenDB(sqlfault.Wrap(c, "db", sqlfault.Faults{Begin: sdk.Rates{Before: 0.05}, Exec: lost, Commit: lost, BadConn: 0.02}, r))
		defer db.Close()
		client := &http.Client{Transport: httpfault.Transport(to{server.Listener.Addr().String()}, "pay", r, httpfault.Route{Pattern: "POST /charges", Operation: "charge", Rates: lost,
			Answers: []httpfault.Answer{{Status: http.StatusInternalServerError, Body: `{"error": "something went wrong"}`, Before: 0.05, After: 0.05}}})}
		s := &shop{orders: table{db}, web: client, keys: keys, sleep: func(time.Duration) {}, log: r.Logf}
		sold := map[string]bool{}
		for i := range each {
			o := order{"ann" + strconv.Itoa(i), 10 + i}
			sold[o.ID] = s.sell(o) == nil
		}
		r.Quiet()
		for id, n := range b.charges {
			if n > 1 {
				r.Errorf("%s is charged %d times", id, n)
			}
		}
		for id, done := range sold {
			var state string
			if err := plain.QueryRow("SELECT state FROM orders WHERE id = $1", id).Scan(&state); done && (err != nil || state != "paid") {
				r.Errorf("%s was sold, and is %q in the database (%v)", id, state, err)
			}
		}
	}
}

// to sends all requests to one address.
type to struct{ address string }

func (a to) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Host = a.address
	return http.DefaultTransport.RoundTrip(r)
}

// shopDatabase is a database of PostgreSQL with the table of a shop. plain is the same without faults.
func shopDatabase(t *testing.T, url string) (c driver.Connector, plain *sql.DB) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	c = stdlib.GetConnector(*config)
	plain = sql.OpenDB(c)
	t.Cleanup(func() { plain.Close() })
	if _, err := plain.Exec("CREATE TABLE IF NOT EXISTS orders (id text PRIMARY KEY, amount integer NOT NULL, state text NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	return c, plain
}

// The same test in a world, where bloodhound.yaml runs it.
func TestShopInWorld(t *testing.T) {
	url := os.Getenv("CHECKOUT_DATABASE")
	if url == "" {
		t.Skip("CHECKOUT_DATABASE is not set")
	}
	c, plain := shopDatabase(t, url)
	sdk.Test(t, sells(c, plain, os.Getenv("CHECKOUT_KEYS") != ""))
}

// A shop that names its payments charges once, whatever fails. One that does not charges twice after a lost answer.
func TestShopOnPostgreSQL(t *testing.T) {
	c, plain := shopDatabase(t, storetest.Postgres(t).URL)
	few := sdk.Campaign{Runs: 15}
	few.Test(t, sells(c, plain, true))
	t.Chdir(t.TempDir()) // where the failure is stored
	text, ok := sdk.Campaign{}.Search(t, sells(c, plain, false))
	if ok || !strings.Contains(text, "is charged 2 times") || strings.Count("\n"+text, "\nfault pay_charge") != 1 {
		t.Errorf("the shop without keys: %s", text)
	}
	t.Log(text)
}
