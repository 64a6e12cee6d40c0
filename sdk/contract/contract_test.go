package contract

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/gomodule/redigo/redis"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/inprocess"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/storetest"
	"github.com/bloodhound-dst/bloodhound/sim/fake"
	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// world runs a program in a world inside this process, beside a fake.
func world(t testing.TB, add func(*inproc.World), program func(*inproc.Process)) {
	e, err := inprocess.New("contract", func(w *inproc.World) {
		add(w)
		w.Process("program", program)
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := engine.Run(e, e.Spec(), tape.Tape{Seed: 1}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range out.Crashes {
		t.Fatalf("%s:\n%s", c.Node, strings.Join(c.Lines, "\n"))
	}
}

var levels = map[sql.IsolationLevel]fake.Isolation{
	sql.LevelReadCommitted: fake.ReadCommitted, sql.LevelSnapshot: fake.Snapshot, sql.LevelSerializable: fake.Serializable,
}

// database is the fake of package sim/fake. Where it lies, it gives another level than it is asked for.
type database struct {
	db  *fake.DB
	lie map[sql.IsolationLevel]fake.Isolation
}

func (d database) Begin(level sql.IsolationLevel) (Tx, error) {
	tx, err := d.db.Begin(cmp.Or(d.lie[level], levels[level]))
	return transaction{tx}, err
}

type transaction struct{ tx *fake.Tx }

func (t transaction) Get(key string) (string, bool, error) {
	row, err := t.tx.Get("t", key)
	if errors.Is(err, inproc.ErrNotFound) {
		return "", false, nil
	}
	return row["v"], err == nil, err
}

func (t transaction) Keys(prefix string) (list []string, err error) {
	entries, err := t.tx.Prefix("t", prefix)
	for _, e := range entries {
		list = append(list, e.Key)
	}
	return list, err
}

func (t transaction) Put(key, value string) error { return t.tx.Put("t", key, fake.Row{"v": value}) }
func (t transaction) Delete(key string) error     { return t.tx.Delete("t", key) }
func (t transaction) Commit() error               { return t.tx.Commit() }
func (t transaction) Rollback() error {
	t.tx.Rollback()
	return nil
}

func fakeDatabase(name string, lie map[sql.IsolationLevel]fake.Isolation) Place[Database] {
	return Place[Database]{Name: name, With: func(t testing.TB, play func(Database)) {
		world(t, func(w *inproc.World) { fake.Database(w, "db", fake.DatabaseOptions{}) },
			func(p *inproc.Process) { play(database{fake.Open(p, "db"), lie}) })
	}}
}

// server is a place that is a database of SQL, whose table is made anew for each clause.
func server(name string, d *SQL, create string) Place[Database] {
	return Place[Database]{Name: name, Real: true, With: func(t testing.TB, play func(Database)) {
		for _, statement := range []string{"DROP TABLE IF EXISTS contract", create} {
			if _, err := d.DB.Exec(statement); err != nil {
				t.Fatal(err)
			}
		}
		play(d)
	}}
}

func postgres(t *testing.T) Place[Database] {
	config, err := pgx.ParseConfig(storetest.Postgres(t).URL)
	if err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*config)
	t.Cleanup(func() { db.Close() })
	return server("postgres", &SQL{DB: db, Table: "contract", Dollar: true,
		Levels: map[sql.IsolationLevel]sql.IsolationLevel{sql.LevelSnapshot: sql.LevelRepeatableRead}},
		"CREATE TABLE contract (k bytea PRIMARY KEY, v bytea NOT NULL)")
}

func mariadb(t *testing.T) Place[Database] {
	db, err := sql.Open("mysql", storetest.MariaDB(t).URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return server("mariadb", &SQL{DB: db, Table: "contract"}, "CREATE TABLE contract (k VARBINARY(200) PRIMARY KEY, v VARBINARY(200) NOT NULL) ENGINE=InnoDB")
}

func TestTransactions(t *testing.T) {
	places := []Place[Database]{fakeDatabase("fake", nil), postgres(t)}
	Test(t, Transactions(sql.LevelReadCommitted, sql.LevelSnapshot, sql.LevelSerializable), places...)
	t.Run("mariadb", func(t *testing.T) {
		Test(t, Transactions(sql.LevelReadCommitted, sql.LevelSerializable), append(places, mariadb(t))...)
	})
	for name, c := range map[string]struct {
		lie  map[sql.IsolationLevel]fake.Isolation
		want string
	}{
		"too weak": {map[sql.IsolationLevel]fake.Isolation{sql.LevelSerializable: fake.Snapshot},
			`lying breaks "serializable: write skew does not happen": it happens`},
		"too strict": {map[sql.IsolationLevel]fake.Isolation{sql.LevelReadCommitted: fake.Snapshot},
			`lying breaks "read committed: a lost update happens, as the level allows": it does not happen`},
	} {
		t.Run(name, func(t *testing.T) {
			lies(t, Transactions(sql.LevelReadCommitted, sql.LevelSerializable), c.want, fakeDatabase("lying", c.lie), places[1])
		})
	}
}

// keyValues is the fake store of package sim/fake. Where it lies, a key that is put again expires.
type keyValues struct {
	*fake.KV
	p     *inproc.Process
	lying bool
}

func (s keyValues) Get(key string) (string, bool, error) {
	item, err := s.KV.Get(key)
	if errors.Is(err, inproc.ErrNotFound) {
		return "", false, nil
	}
	return item.Value, err == nil, err
}

func (s keyValues) Keys(prefix string) (list []string, err error) {
	items, _, err := s.KV.List(prefix)
	for _, i := range items {
		list = append(list, i.Key)
	}
	return list, err
}

func (s keyValues) Put(key, value string) error {
	if _, had, _ := s.Get(key); s.lying && had {
		return s.PutFor(key, value, shortly)
	}
	_, err := s.KV.Put(key, value)
	return err
}

func (s keyValues) PutFor(key, value string, ttl time.Duration) error {
	_, err := s.KV.PutFor(key, value, ttl)
	return err
}

func (s keyValues) Delete(key string) (bool, error) {
	err := s.KV.Delete(key)
	if errors.Is(err, inproc.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (s keyValues) Swap(key string, old *string, value string) (bool, error) {
	item, err := s.KV.Get(key)
	switch {
	case errors.Is(err, inproc.ErrNotFound) && old == nil:
	case errors.Is(err, inproc.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case old == nil || item.Value != *old:
		return false, nil
	}
	_, err = s.CompareAndSet(key, item.Version, value)
	if errors.Is(err, fake.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}

func (s keyValues) Sleep(d time.Duration) { s.p.Sleep(d) }

func fakeKeys(name string, lying bool) Place[KeyValues] {
	return Place[KeyValues]{Name: name, With: func(t testing.TB, play func(KeyValues)) {
		world(t, func(w *inproc.World) { fake.Store(w, "kv", fake.StoreOptions{}) },
			func(p *inproc.Process) { play(keyValues{fake.Dial(p, "kv"), p, lying}) })
	}}
}

// redisKeys is a Redis.
type redisKeys struct{ redis.Conn }

func (s redisKeys) Get(key string) (string, bool, error) {
	value, err := redis.String(s.Do("GET", key))
	if errors.Is(err, redis.ErrNil) {
		return "", false, nil
	}
	return value, err == nil, err
}

func (s redisKeys) Keys(prefix string) ([]string, error) {
	pattern := strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, `\`, `\\`).Replace(prefix) + "*"
	return redis.Strings(s.Do("KEYS", pattern))
}

func (s redisKeys) Put(key, value string) error {
	_, err := s.Do("SET", key, value)
	return err
}

func (s redisKeys) PutFor(key, value string, ttl time.Duration) error {
	_, err := s.Do("SET", key, value, "PX", ttl.Milliseconds())
	return err
}

func (s redisKeys) Delete(key string) (bool, error) { return redis.Bool(s.Do("DEL", key)) }

var swap = redis.NewScript(1, `local is = redis.call("GET", KEYS[1])
if ARGV[1] == "none" and is or ARGV[1] == "some" and is ~= ARGV[2] then return 0 end
redis.call("SET", KEYS[1], ARGV[3], "KEEPTTL")
return 1`)

func (s redisKeys) Swap(key string, old *string, value string) (bool, error) {
	some, is := "none", ""
	if old != nil {
		some, is = "some", *old
	}
	return redis.Bool(swap.Do(s.Conn, key, some, is, value))
}

func (s redisKeys) Sleep(d time.Duration) { time.Sleep(d) } // Redis expires keys in real time

// dialRedis starts a Redis server and connects to it.
func dialRedis(t *testing.T) redis.Conn {
	conn, err := redis.DialURL(storetest.Redis(t).URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestKeys(t *testing.T) {
	conn := dialRedis(t)
	real := Place[KeyValues]{Name: "redis", Real: true, With: func(t testing.TB, play func(KeyValues)) {
		if _, err := conn.Do("FLUSHDB"); err != nil {
			t.Fatal(err)
		}
		play(redisKeys{conn})
	}}
	Test(t, Keys(), fakeKeys("fake", false), real)
	lies(t, Keys(), `lying breaks "a value put without a time stays": key "a" is "-", not "2"`, fakeKeys("lying", true), real)
}

// What is asked for, and what is there.
func TestPlaces(t *testing.T) {
	sound := Clause[int]{"it is 1", func(n int) error {
		if n == 2 {
			panic("two")
		}
		if n != 1 {
			return fmt.Errorf("it is %d", n)
		}
		return nil
	}}
	of := func(name string, real bool, n int) Place[int] {
		return Place[int]{Name: name, Real: real, With: func(_ testing.TB, play func(int)) { play(n) }}
	}
	gone := of("gone", true, 1)
	gone.Missing = func() string { return "not installed" }
	silent := Place[int]{Name: "silent", With: func(testing.TB, func(int)) {}}
	for name, c := range map[string]struct {
		deps   string
		places []Place[int]
		broken string
		err    string
		real   bool
	}{
		"all":             {"all", []Place[int]{of("a", false, 1), of("b", true, 1)}, "", "", true},
		"a fake alone":    {"fake", []Place[int]{of("a", false, 1), of("b", true, 3)}, "", "", false},
		"real ones alone": {"real", []Place[int]{of("a", false, 3), of("b", true, 1)}, "", "", true},
		"a name": {"b,a", []Place[int]{of("a", false, 3), of("b", true, 1)},
			`a breaks "it is 1": it is 3` + "\n  b, which is real, keeps it: the fake lies", "", true},
		"the suite":       {"all", []Place[int]{of("a", false, 1), of("b", true, 3)}, "it is real: the clause asks for more than it promises", "", true},
		"both":            {"all", []Place[int]{of("a", false, 3), of("b", true, 3)}, `a breaks "it is 1": it is 3` + "\nb breaks", "", true},
		"a panic":         {"all", []Place[int]{of("a", false, 2)}, "panic: two", "", false},
		"no call":         {"all", []Place[int]{silent}, "but called it 0 times", "", false},
		"one is missing":  {"all", []Place[int]{of("a", false, 1), gone}, "", "", false},
		"all are missing": {"real", []Place[int]{of("a", false, 1), gone}, "", "gone is not there: not installed", false},
		"no such place":   {"mysql", []Place[int]{of("a", false, 1)}, "", `"mysql" is not a place of this test; use all, fake, real, a`, false},
		"nothing":         {"all", nil, "", "is not a place", false},
		"a group's name":  {"all", []Place[int]{of("fake", true, 1)}, "", "needs another name", false},
		"same name":       {"all", []Place[int]{of("a", false, 1), of("a", true, 1)}, "", "needs a unique name", false},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Compare(t, c.deps, []Clause[int]{sound}, c.places...)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatal(err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if text := strings.Join(r.Broken, "\n"); !strings.Contains(text, c.broken) || c.broken == "" && text != "" || r.real != c.real {
				t.Errorf("%q, real %v", text, r.real)
			}
		})
	}
	if _, err := Compare(t, "all", nil, of("a", false, 1)); err == nil {
		t.Error("no clause is no error")
	}
}
