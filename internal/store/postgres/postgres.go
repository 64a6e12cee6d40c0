// Package postgres is a database of internal/store in a schema of a PostgreSQL server, of version 13 or later.
//
// An entry is durable when its transaction is, by the server's settings (fsync, synchronous_commit). What a failover to a replica loses is lost
// until a database that has it is merged again.
package postgres

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// version is the version of the tables.
const version = 1

// defaultSchema holds the tables where the URL names no other by schema=NAME. Queries name it; Postgres.sql puts in the real one.
const defaultSchema = "bloodhound"

// silence is how long the server may take for an answer, or for the next part of a long one.
const silence = 15 * time.Second

// scanTime is how long it may look for the first of some entries among many others.
const scanTime = time.Minute

// idleTime is how long a connection is kept that is not used: many workers share the connections that a server has.
const idleTime = 30 * time.Second

// The row of an entry has the transaction that added it. Transactions do not end in the order of their numbers, so a cursor is the set of
// transactions whose rows were there (see horizon).
const tables = `
CREATE TABLE bloodhound.version (version int NOT NULL, era text NOT NULL);
CREATE TABLE bloodhound.entries (
	key text COLLATE "C" NOT NULL,
	sum bytea NOT NULL,
	value bytea NOT NULL,
	xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
	PRIMARY KEY (key, sum)
);
CREATE INDEX entries_by_xid ON bloodhound.entries (xid);
CREATE TABLE bloodhound.blobs (digest text COLLATE "C" PRIMARY KEY, packed bytea NOT NULL, at timestamptz NOT NULL);
ALTER TABLE bloodhound.blobs ALTER COLUMN packed SET STORAGE EXTERNAL;
CREATE TABLE bloodhound.leases (name text PRIMARY KEY, holder text NOT NULL, epoch bigint NOT NULL, expires timestamptz NOT NULL);`

// Postgres is a database in a schema of a server.
type Postgres struct {
	name   string
	schema string
	pool   *pgxpool.Pool
	packer *store.Packer
	// Existing is that no tables are made: where there are none there is no database.
	Existing bool

	mu      sync.Mutex
	era     string        // of the tables; "" until they were looked at
	listens bool          // a goroutine waits for notifications
	changed chan struct{} // closed at the next notification
	life    context.Context
	end     context.CancelFunc
	stopped sync.WaitGroup
}

var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// Open reads the URL of a database, as libpq does. It connects when it must: the tables are made on first use.
func Open(text string) (*Postgres, error) {
	u, err := url.Parse(text)
	if err != nil { // whose text may hold a part of the password
		return nil, errors.New("store: the postgres URL cannot be read; write postgres://USER:PASSWORD@HOST:PORT/DATABASE, with " +
			"special characters of user and password as %XX")
	}
	config, err := pgxpool.ParseConfig(text)
	if err != nil {
		return nil, fmt.Errorf("store: the URL of %s cannot be read: a parameter after the ? is wrong, or refers to a file that does not exist", u.Host)
	}
	params := config.ConnConfig.RuntimeParams
	schema := cmp.Or(params["schema"], defaultSchema)
	delete(params, "schema")
	if !schemaName.MatchString(schema) {
		return nil, fmt.Errorf("store: %q is not a valid schema name; use lower-case letters, digits and _", schema)
	}
	params["application_name"] = cmp.Or(params["application_name"], "bloodhound")
	if config.ConnConfig.ConnectTimeout == 0 || config.ConnConfig.ConnectTimeout > silence {
		config.ConnConfig.ConnectTimeout = silence
	}
	config.MaxConnIdleTime = idleTime
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	p := &Postgres{name: nameOf(u, config.ConnConfig, schema), schema: schema, pool: pool, packer: store.NewPacker(), changed: make(chan struct{})}
	p.life, p.end = context.WithCancel(context.Background())
	return p, nil
}

// nameOf is a URL without what may be secret.
func nameOf(u *url.URL, c *pgx.ConnConfig, schema string) string {
	name := url.URL{Scheme: "postgres", Host: cmp.Or(u.Host, c.Host), Path: "/" + c.Database}
	if schema != defaultSchema {
		name.RawQuery = "schema=" + schema
	}
	return name.String()
}

func (p *Postgres) String() string { return p.name }

// sql is a query that names the schema.
func (p *Postgres) sql(query string) string {
	return strings.ReplaceAll(query, defaultSchema+".", p.schema+".")
}

// call is one use of the server.
type call struct {
	context.Context
	era   string      // of the tables
	limit *time.Timer // ends the call
	end   func()      // ends it at once, with its connection
}

// do calls f, for no longer than limit, when the tables are there. All that f does may be done twice: it is called again if the connection
// was lost, as by a restart of the server.
func (p *Postgres) do(ctx context.Context, limit time.Duration, f func(c call) error) error {
	once := func() error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		timer := time.AfterFunc(limit, func() { cancel(fmt.Errorf("no answer within %s", limit)) })
		defer timer.Stop()
		era, err := p.prepare(ctx)
		if err == nil {
			err = f(call{ctx, era, timer, func() { cancel(nil) }})
		}
		if err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if lost(err) {
			p.pool.Reset() // the other connections are as old
			return &lostError{err}
		}
		return err
	}
	err := once()
	if broken := (*lostError)(nil); errors.As(err, &broken) {
		err = once()
	}
	var answer *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &answer) && strings.HasPrefix(answer.Code, "28"): // invalid authorization
		return fmt.Errorf("store: %s: %w: %w", p.name, store.ErrRefused, err)
	}
	return fmt.Errorf("store: %s: %w", p.name, err)
}

// lostError reports a connection that ended; another one may succeed.
type lostError struct{ error }

func (e *lostError) Unwrap() error { return e.error }

func lost(err error) bool {
	var refused *pgconn.ConnectError
	var answer *pgconn.PgError
	switch {
	case err == nil, errors.As(err, &refused), errors.Is(err, errForm):
		return false
	case errors.As(err, &answer):
		return strings.HasPrefix(answer.Code, "57P") || strings.HasPrefix(answer.Code, "08") // the server ends, or ended the connection
	}
	return true
}

// errForm is the answer where the tables are not those of this program.
var errForm = errors.New("the tables have an unexpected format")

// prepare makes the tables if they are missing, and returns their era.
func (p *Postgres) prepare(ctx context.Context) (string, error) {
	p.mu.Lock()
	era := p.era
	p.mu.Unlock()
	if era != "" {
		return era, nil
	}
	era, err := p.look(ctx, p.pool)
	var answer *pgconn.PgError
	if errors.As(err, &answer) && (answer.Code == "42P01" || answer.Code == "3F000") { // no such table, no such schema
		if p.Existing {
			return "", errors.New("there is no database in the schema " + p.schema)
		}
		err = pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtext($1))", "bloodhound "+p.schema); err != nil {
				return err
			}
			var schema, there bool
			if err := tx.QueryRow(ctx, "SELECT to_regnamespace($1) IS NOT NULL, to_regclass($2) IS NOT NULL", p.schema,
				p.schema+".version").Scan(&schema, &there); err != nil || there {
				return err
			}
			if !schema { // one that is there may be of a user who may make no others
				if _, err := tx.Exec(ctx, "CREATE SCHEMA "+p.schema); err != nil {
					return err
				}
			}
			if _, err := tx.Exec(ctx, p.sql(tables)); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, p.sql("INSERT INTO bloodhound.version VALUES ($1, $2)"), version, rand.Text())
			return err
		})
		if err == nil {
			era, err = p.look(ctx, p.pool)
		}
	}
	if err != nil {
		return "", err
	}
	p.mu.Lock()
	p.era = era
	p.mu.Unlock()
	return era, nil
}

func (p *Postgres) look(ctx context.Context, q interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}) (era string, err error) {
	var is int
	if err := q.QueryRow(ctx, p.sql("SELECT version, era FROM bloodhound.version")).Scan(&is, &era); err != nil {
		return "", err
	}
	if is != version {
		return "", fmt.Errorf("%w: they have version %d, but this program supports version %d; "+
			"use the version of Bloodhound that created the tables, or another schema", errForm, is, version)
	}
	return era, nil
}

// Add implements Store. Entries are sorted, so that two transactions that add the same ones do not wait for each other.
func (p *Postgres) Add(ctx context.Context, entries ...store.Entry) error {
	if err := cmp.Or(ctx.Err(), store.CheckEntries(entries)); err != nil || len(entries) == 0 {
		return err
	}
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b store.Entry) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), compareSums(a.Value, b.Value))
	})
	return p.do(ctx, silence+transfer(entries), func(c call) error {
		var b pgx.Batch // of one transaction
		// What is confirmed is durable, also where the server was told that it need not be.
		b.Queue("SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'")
		for part := range store.Bundles(entries) {
			keys, sums, values := make([]string, len(part)), make([][]byte, len(part)), make([][]byte, len(part))
			for i, e := range part {
				keys[i], sums[i], values[i] = e.Key, sum(e.Value), e.Value
				if e.Value == nil {
					values[i] = []byte{}
				}
			}
			b.Queue(p.sql(`WITH added AS (
				INSERT INTO bloodhound.entries (key, sum, value) SELECT * FROM unnest($1::text[], $2::bytea[], $3::bytea[]) ON CONFLICT DO NOTHING RETURNING 1)
				SELECT pg_notify($4, '') WHERE EXISTS (SELECT FROM added)`), keys, sums, values, p.schema)
		}
		return p.pool.SendBatch(c, &b).Close()
	})
}

// transfer is how long sending entries may take on a slow line.
func transfer(entries []store.Entry) time.Duration {
	size := 0
	for i := range entries {
		size += len(entries[i].Value)
	}
	return time.Duration(size) * time.Second / (1 << 20)
}

func sum(value []byte) []byte {
	s := sha256.Sum256(value)
	return s[:]
}

func compareSums(a, b []byte) int { return bytes.Compare(sum(a), sum(b)) }

// horizon is a Cursor: all transactions below next were there, but those in open, which were under way.
//
// next is behind the last row that was visible. The server has made that row's transaction durable, so it gives no number below
// next to another one. It could do that with numbers that it has only begun to use, when it restarts after a crash.
type horizon struct {
	era  string
	next uint64
	open []string
}

func (h horizon) cursor() store.Cursor {
	return store.Cursor(fmt.Sprintf("%s/%d/%s", h.era, h.next, strings.Join(h.open, ",")))
}

// horizonOf reads a cursor that the tables of an era gave; others are the beginning.
func horizonOf(c store.Cursor, era string) horizon {
	parts := strings.Split(string(c), "/")
	start := horizon{era: era}
	if len(parts) != 3 || parts[0] != era {
		return start
	}
	next, err := strconv.ParseUint(parts[1], 10, 64)
	if err != nil {
		return start
	}
	h := horizon{era: era, next: next}
	if parts[2] != "" {
		h.open = strings.Split(parts[2], ",")
	}
	for _, x := range h.open {
		if _, err := strconv.ParseUint(x, 10, 64); err != nil {
			return start
		}
	}
	return h
}

// now is the horizon of a transaction's snapshot.
func (p *Postgres) now(c call, tx pgx.Tx) (h horizon, upTo uint64, err error) {
	h.era = c.era
	var snapshot string
	var last uint64
	err = tx.QueryRow(c, p.sql(`SELECT pg_current_snapshot()::text,
		coalesce((SELECT xid::text::bigint FROM bloodhound.entries ORDER BY xid DESC LIMIT 1), 0)`)).Scan(&snapshot, &last)
	if err != nil {
		return h, 0, err
	}
	// xmin:xmax:those between that are under way
	parts := strings.Split(snapshot, ":")
	if len(parts) == 3 {
		upTo, err = strconv.ParseUint(parts[1], 10, 64)
	}
	if len(parts) != 3 || err != nil {
		return h, 0, fmt.Errorf("%w: the snapshot %q of the server", errForm, snapshot)
	}
	h.next = last + 1
	for x := range strings.SplitSeq(parts[2], ",") {
		if n, err := strconv.ParseUint(x, 10, 64); err == nil && n < h.next {
			h.open = append(h.open, x)
		}
	}
	return h, upTo, nil
}

// behind is a condition, with its parameters, for the rows behind a horizon whose keys may begin with a prefix.
func (h *horizon) behind(prefix string) (condition string, args []any) {
	args = []any{strconv.FormatUint(h.next, 10), append([]string{}, h.open...)}
	var ranges []string
	for _, p := range store.Prefixes(prefix) {
		low := textual(p)
		args = append(args, low)
		keys := fmt.Sprintf("key >= $%d", len(args))
		if high := after(low); high != "" {
			args = append(args, high)
			keys += fmt.Sprintf(" AND key < $%d", len(args))
		}
		ranges = append(ranges, keys)
	}
	return "(xid >= $1::text::xid8 OR xid = ANY($2::text[]::xid8[])) AND (" + strings.Join(ranges, " OR ") + ")", args
}

// textual is a prefix up to what the server takes for no text, and no key has.
func textual(prefix string) string {
	for i, r := range prefix {
		if r == utf8.RuneError || unicode.IsControl(r) {
			return prefix[:i]
		}
	}
	return prefix
}

// after is the first text behind all those that begin with a prefix, by the bytes of UTF-8; "" if there is none.
func after(prefix string) string {
	for prefix != "" {
		r, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		switch {
		case r == unicode.MaxRune:
		case r+1 == 0xd800: // UTF-8 has no surrogates
			return prefix + "\ue000"
		default:
			return prefix + string(r+1)
		}
	}
	return ""
}

// Read implements Store.
func (p *Postgres) Read(ctx context.Context, prefix string, from store.Cursor, each func(store.Entry) error) (store.Cursor, error) {
	var next store.Cursor
	under := store.Under(prefix)
	var own error // of each, which the server has not caused
	err := p.do(ctx, scanTime, func(c call) error {
		return pgx.BeginTxFunc(c, p.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
			here, upTo, err := p.now(c, tx)
			if err != nil {
				return err
			}
			at := horizonOf(from, c.era)
			if at.next > upTo { // the tables are older than the cursor, as from a backup
				at = horizon{era: c.era}
			}
			behind, args := at.behind(prefix)
			rows, err := tx.Query(c, p.sql("SELECT key, value FROM bloodhound.entries WHERE ")+behind, args...)
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
				c.limit.Stop()
				var e store.Entry
				if err := rows.Scan(&e.Key, &e.Value); err != nil {
					return err
				}
				if under(e.Key) {
					if own = each(e); own != nil {
						c.end() // the rest is not worth its way
						return own
					}
				}
				c.limit.Reset(scanTime)
			}
			next = here.cursor()
			return rows.Err()
		})
	})
	if err := cmp.Or(own, err); err != nil {
		return from, err
	}
	return next, nil
}

// pollEvery is how often the tables are looked at although there is no notification, and waitMost how long Wait waits for one.
const (
	pollEvery = 2 * time.Second
	waitMost  = 10 * time.Second
)

// Wait implements Store.
func (p *Postgres) Wait(ctx context.Context, prefix string, from store.Cursor) error {
	p.mu.Lock()
	if !p.listens {
		p.listens = true
		p.stopped.Go(p.listen)
	}
	p.mu.Unlock()
	until := time.Now().Add(waitMost)
	for time.Now().Before(until) {
		p.mu.Lock()
		changed := p.changed
		p.mu.Unlock()
		var some bool
		err := p.do(ctx, scanTime, func(c call) error {
			at := horizonOf(from, c.era)
			behind, args := at.behind(prefix)
			return p.pool.QueryRow(c, p.sql("SELECT EXISTS (SELECT FROM bloodhound.entries WHERE ")+behind+")", args...).Scan(&some)
		})
		if err != nil || some {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		case <-time.After(pollEvery):
		}
	}
	return nil
}

// listen waits for notifications, on a connection of its own.
func (p *Postgres) listen() {
	for p.life.Err() == nil {
		conn, err := pgx.ConnectConfig(p.life, p.pool.Config().ConnConfig)
		if err == nil {
			_, err = conn.Exec(p.life, "LISTEN "+p.schema)
			for err == nil {
				_, err = conn.WaitForNotification(p.life)
				p.mu.Lock()
				close(p.changed)
				p.changed = make(chan struct{})
				p.mu.Unlock()
			}
			conn.Close(context.WithoutCancel(p.life))
		}
		select {
		case <-p.life.Done():
		case <-time.After(pollEvery):
		}
	}
}

// Drop implements Store.
func (p *Postgres) Drop(ctx context.Context, prefix string, drop func(store.Entry) bool) (int, error) {
	var keys []string
	var sums [][]byte
	if _, err := p.Read(ctx, prefix, "", func(e store.Entry) error {
		if drop(e) {
			keys, sums = append(keys, e.Key), append(sums, sum(e.Value))
		}
		return nil
	}); err != nil {
		return 0, err
	}
	n := 0
	const most = 10_000 // in a transaction
	for len(keys) > 0 {
		k := min(most, len(keys))
		err := p.do(ctx, silence, func(c call) error {
			tag, err := p.pool.Exec(c, p.sql(`DELETE FROM bloodhound.entries AS e USING unnest($1::text[], $2::bytea[]) AS d(key, sum) WHERE e.key = d.key AND e.sum = d.sum`),
				keys[:k], sums[:k])
			n += int(tag.RowsAffected())
			return err
		})
		if err != nil {
			return n, err
		}
		keys, sums = keys[k:], sums[k:]
	}
	return n, nil
}

// Compact implements Store. Nothing is stored more than once.
func (p *Postgres) Compact(ctx context.Context) (int, error) { return 0, ctx.Err() }

// blobTime is how long a blob may take.
const blobTime = 5 * time.Minute

// PutBlob implements Store.
func (p *Postgres) PutBlob(ctx context.Context, b []byte) (store.Digest, error) {
	if err := store.CheckBlob(b); err != nil {
		return "", err
	}
	d := store.DigestOf(b)
	return d, p.do(ctx, blobTime, func(c call) error {
		tag, err := p.pool.Exec(c, p.sql("UPDATE bloodhound.blobs SET at = clock_timestamp() WHERE digest = $1"), string(d))
		if err != nil || tag.RowsAffected() > 0 {
			return err
		}
		_, err = p.pool.Exec(c, p.sql(`INSERT INTO bloodhound.blobs VALUES ($1, $2, clock_timestamp())
			ON CONFLICT (digest) DO UPDATE SET at = excluded.at`), string(d), p.packer.Pack(b))
		return err
	})
}

// Blob implements Store.
func (p *Postgres) Blob(ctx context.Context, d store.Digest) ([]byte, error) {
	if !d.Valid() {
		return nil, fmt.Errorf("%w: %q is not a digest", store.ErrNoBlob, d)
	}
	var packed []byte
	there := false
	if err := p.do(ctx, blobTime, func(c call) error {
		err := p.pool.QueryRow(c, p.sql("SELECT packed FROM bloodhound.blobs WHERE digest = $1"), string(d)).Scan(&packed)
		if there = err == nil; errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	}); err != nil {
		return nil, err
	}
	if !there {
		return nil, fmt.Errorf("%w: %s", store.ErrNoBlob, d)
	}
	return p.packer.Unpack(d, packed)
}

// Blobs implements Store.
func (p *Postgres) Blobs(ctx context.Context, each func(store.BlobInfo) error) error {
	var list []store.BlobInfo
	if err := p.do(ctx, blobTime, func(c call) error {
		rows, err := p.pool.Query(c, p.sql("SELECT digest, octet_length(packed), at FROM bloodhound.blobs"))
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByPos[store.BlobInfo])
		return err
	}); err != nil {
		return err
	}
	for _, info := range list {
		if err := each(info); err != nil {
			return err
		}
	}
	return nil
}

// DropBlob implements Store.
func (p *Postgres) DropBlob(ctx context.Context, d store.Digest) error {
	if !d.Valid() {
		return nil
	}
	return p.do(ctx, silence, func(c call) error {
		_, err := p.pool.Exec(c, p.sql("DELETE FROM bloodhound.blobs WHERE digest = $1"), string(d))
		return err
	})
}

// Lease implements Store. The server decides, by its clock, in one statement.
func (p *Postgres) Lease(ctx context.Context, name, holder string, ttl time.Duration) (store.Lease, error) {
	l := store.Lease{Name: name}
	held := false
	err := p.do(ctx, silence, func(c call) error {
		err := p.pool.QueryRow(c, p.sql(`INSERT INTO bloodhound.leases AS l VALUES ($1, $2, 1, clock_timestamp() + $3::interval)
			ON CONFLICT (name) DO UPDATE SET holder = $2, expires = clock_timestamp() + $3::interval,
				epoch = l.epoch + CASE WHEN l.holder = $2 AND l.expires > clock_timestamp() THEN 0 ELSE 1 END
			WHERE l.holder IN ('', $2) OR l.expires <= clock_timestamp()
			RETURNING holder, epoch, expires`), name, holder, ttl).Scan(&l.Holder, &l.Epoch, &l.Expires)
		if held = errors.Is(err, pgx.ErrNoRows); held {
			err = p.pool.QueryRow(c, p.sql("SELECT holder, epoch, expires FROM bloodhound.leases WHERE name = $1"), name).Scan(&l.Holder, &l.Epoch, &l.Expires)
		}
		return err
	})
	if err == nil && held {
		err = l.Held()
	}
	return l, err
}

// Release implements Store.
func (p *Postgres) Release(ctx context.Context, name, holder string) error {
	return p.do(ctx, silence, func(c call) error {
		_, err := p.pool.Exec(c, p.sql("UPDATE bloodhound.leases SET holder = '', expires = 'epoch' WHERE name = $1 AND holder = $2"), name, holder)
		return err
	})
}

// Close implements Store.
func (p *Postgres) Close() error {
	p.end()
	p.stopped.Wait()
	p.pool.Close()
	return nil
}
