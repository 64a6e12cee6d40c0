// Package redis is a database of internal/store in a Redis or Valkey server, of version 6.2 or later.
//
// An entry is as durable as the server makes its changes: with `appendonly yes` and `appendfsync always` when Add returns, with
// `appendfsync everysec` about a second later, and else when the server writes a snapshot. All of it lies in memory. A server
// that may remove keys when memory is scarce (maxmemory-policy other than noeviction) loses entries.
package redis

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	client "github.com/gomodule/redigo/redis"

	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// version is the version of the keys.
const version = "1"

// defaultPrefix begins all keys where the URL names no other by prefix=NAME.
const defaultPrefix = "bloodhound"

// Redis is a database in a server. All keys have one hash tag, so that they lie on one node of a cluster.
//
//	{PREFIX}:version      of the keys
//	{PREFIX}:log          stream of entries: key, value
//	{PREFIX}:has          set of the identities of the entries in it
//	{PREFIX}:blobs        hash: size and time of each blob by its digest
//	{PREFIX}:blob:DIGEST  a blob, compressed
//	{PREFIX}:lease:NAME   hash: holder, epoch, and end in milliseconds
type Redis struct {
	name    string
	prefix  string
	dialing *dialing
	pool    *client.Pool
	packer  *store.Packer
	// Existing is that no database is made.
	Existing bool

	mu    sync.Mutex
	known bool // that the version is right
}

var prefixName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// Open reads the URL of a database: redis://USER:PASSWORD@HOST:PORT/NUMBER, or rediss:// for TLS. It connects when it must.
func Open(text string) (*Redis, error) {
	u, err := url.Parse(text)
	if err != nil { // whose text may hold a part of the password
		return nil, errors.New("store: the redis URL cannot be read; write redis://USER:PASSWORD@HOST:PORT/NUMBER, with special " +
			"characters of user and password as %XX")
	}
	query := u.Query()
	prefix := cmp.Or(query.Get("prefix"), defaultPrefix)
	query.Del("prefix")
	if !prefixName.MatchString(prefix) {
		return nil, fmt.Errorf("store: %q is not a valid key prefix; use letters, digits, and the characters _.-", prefix)
	}
	name := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	if prefix != defaultPrefix {
		name.RawQuery = "prefix=" + prefix
	}
	u.RawQuery = query.Encode()
	d, err := parseDialing(u)
	if err != nil {
		return nil, fmt.Errorf("store: the URL of %s: %w; write redis://HOST/NUMBER?OPTION=VALUE, with these options: prefix, %s", u.Host, err, optionNames)
	}
	return &Redis{name: name.String(), prefix: "{" + prefix + "}:", dialing: d, pool: newPool(d), packer: store.NewPacker()}, nil
}

func (r *Redis) String() string { return r.name }

func (r *Redis) key(parts ...string) string { return r.prefix + strings.Join(parts, ":") }

// failed names the database in an error.
func (r *Redis) failed(err error) error {
	if err == nil {
		return nil
	}
	var late interface{ Timeout() bool }
	if strings.HasPrefix(r.name, "rediss:") && errors.As(err, &late) && late.Timeout() {
		return fmt.Errorf("store: %s: %w; perhaps the port does not speak TLS; redis:// connects without it", r.name, err)
	}
	if refusal.MatchString(err.Error()) {
		return fmt.Errorf("store: %s: %w: %w", r.name, store.ErrRefused, err)
	}
	return fmt.Errorf("store: %s: %w", r.name, err)
}

// refusal is how errors of a server begin that does not take the user or the password, or wants one.
var refusal = regexp.MustCompile(`^(WRONGPASS|NOAUTH|NOPERM|ERR (invalid password|AUTH |Client sent AUTH))`)

// prepare checks the version of what is there, once.
func (r *Redis) prepare(ctx context.Context) error {
	r.mu.Lock()
	known := r.known
	r.mu.Unlock()
	if err := ctx.Err(); err != nil || known {
		return err
	}
	if r.Existing {
		if n, err := client.Int(r.ask(ctx, "EXISTS", r.key("version"))); err != nil || n == 0 {
			return r.failed(cmp.Or(err, errors.New("there is no database with this prefix")))
		}
	}
	is, err := client.String(r.ask(ctx, "SET", r.key("version"), version, "NX", "GET"))
	if errors.Is(err, client.ErrNil) {
		is, err = version, nil
	}
	if err != nil {
		return r.failed(err)
	}
	if is != version {
		return r.failed(fmt.Errorf("the keys have version %.20q, but this program supports %s; "+
			"use the version of Bloodhound that created them, or another prefix", is, version))
	}
	r.mu.Lock()
	r.known = true
	r.mu.Unlock()
	return nil
}

// add appends what is not there. An error between the two commands, if there can be one, makes an entry come twice and loses none.
var add = client.NewScript(2, `
for i = 1, #ARGV, 3 do
	if redis.call('SISMEMBER', KEYS[1], ARGV[i]) == 0 then
		redis.call('XADD', KEYS[2], '*', 'k', ARGV[i + 1], 'v', ARGV[i + 2])
		redis.call('SADD', KEYS[1], ARGV[i])
	end
end`)

// Add implements Store.
func (r *Redis) Add(ctx context.Context, entries ...store.Entry) error {
	if err := cmp.Or(ctx.Err(), store.CheckEntries(entries)); err != nil || len(entries) == 0 {
		return err
	}
	if err := r.prepare(ctx); err != nil {
		return err
	}
	for part := range store.Bundles(entries) {
		args := []any{r.key("has"), r.key("log")}
		for i := range part {
			id := part[i].Identity()
			args = append(args, id[:], part[i].Key, part[i].Value)
		}
		if _, err := r.run(ctx, add, args...); err != nil {
			return r.failed(err)
		}
	}
	return nil
}

// place is a Cursor: the last entry that was read of the log, and the run of the server. Another run, of a replica that took over perhaps, may
// have lost entries, and may have another clock: its numbers may begin below those that were read.
type place struct{ run, last string }

var placeForm = regexp.MustCompile(`^([0-9a-f]{40}) ([0-9]{1,20}-[0-9]{1,20})$`)

// start is in front of all entries.
const start = "0-0"

func (r *Redis) positionIn(from store.Cursor, run string) string {
	if m := placeForm.FindStringSubmatch(string(from)); m != nil && m[1] == run {
		return m[2]
	}
	return start
}

func (p place) cursor() store.Cursor { return store.Cursor(p.run + " " + p.last) }

// now is the place behind all entries.
func (r *Redis) now(ctx context.Context) (p place, err error) {
	if err := r.prepare(ctx); err != nil {
		return p, err
	}
	// Both are asked on one connection: another might reach a replica that took over.
	var info string
	var last []logged
	err = r.withSession(ctx, func(s session) (err error) {
		if info, err = client.String(s.ask("INFO", "server")); err != nil {
			return err
		}
		last, err = parseStream(s.ask("XREVRANGE", r.key("log"), "+", "-", "COUNT", 1))
		return err
	})
	if err != nil {
		return p, r.failed(err)
	}
	p.last = start
	if len(last) > 0 {
		p.last = last[0].id
	}
	for lines := bufio.NewScanner(strings.NewReader(info)); lines.Scan(); {
		if run, ok := strings.CutPrefix(lines.Text(), "run_id:"); ok {
			p.run = run
		}
	}
	return p, nil
}

// pageEntries is how many entries are read at once.
const pageEntries = 128

// scan gives the entries of the log behind a place, up to another.
func (r *Redis) scan(ctx context.Context, at, end string, each func(id string, e store.Entry) error) error {
	for at != end {
		page, err := parseStream(r.ask(ctx, "XRANGE", r.key("log"), "("+at, end, "COUNT", pageEntries))
		if err != nil {
			return r.failed(err)
		}
		for _, e := range page {
			if err := each(e.id, store.Entry{Key: e.key, Value: []byte(e.value)}); err != nil {
				return err
			}
			at = e.id
		}
		if len(page) < pageEntries {
			return nil
		}
	}
	return nil
}

// Read implements Store.
func (r *Redis) Read(ctx context.Context, prefix string, from store.Cursor, each func(store.Entry) error) (store.Cursor, error) {
	end, err := r.now(ctx)
	if err != nil {
		return from, err
	}
	under := store.Under(prefix)
	err = r.scan(ctx, r.positionIn(from, end.run), end.last, func(_ string, e store.Entry) error {
		if !under(e.Key) {
			return nil
		}
		return each(e)
	})
	if err != nil {
		return from, err
	}
	return end.cursor(), nil
}

// A wait blocks in the server for blockMost at once, and lasts waitMost in all.
const (
	blockMost = time.Second
	waitMost  = 10 * time.Second
)

// Wait implements Store.
func (r *Redis) Wait(ctx context.Context, _ string, from store.Cursor) error {
	here, err := r.now(ctx)
	if err != nil {
		return err
	}
	at := r.positionIn(from, here.run)
	block := min(blockMost, r.dialing.readTimeout/2)
	for until := time.Now().Add(waitMost); time.Now().Before(until); {
		answer, err := r.ask(ctx, "XREAD", "COUNT", 1, "BLOCK", max(1, block.Milliseconds()), "STREAMS", r.key("log"), at)
		if err := cmp.Or(ctx.Err(), r.failed(err)); err != nil || answer != nil {
			return err
		}
	}
	return nil
}

// remove removes an entry of the log and its identity.
var remove = client.NewScript(2, `
local n = 0
for i = 1, #ARGV, 2 do
	n = n + redis.call('XDEL', KEYS[2], ARGV[i + 1])
	redis.call('SREM', KEYS[1], ARGV[i])
end
return n`)

// Drop implements Store.
func (r *Redis) Drop(ctx context.Context, prefix string, drop func(store.Entry) bool) (int, error) {
	end, err := r.now(ctx)
	if err != nil {
		return 0, err
	}
	under, dropped := store.Under(prefix), 0
	var args []any
	flush := func() error {
		if len(args) == 0 {
			return nil
		}
		n, err := client.Int(r.run(ctx, remove, append([]any{r.key("has"), r.key("log")}, args...)...))
		dropped += n
		args = nil
		return r.failed(err)
	}
	err = r.scan(ctx, start, end.last, func(id string, e store.Entry) error {
		if !under(e.Key) || !drop(e) {
			return nil
		}
		sum := e.Identity()
		if args = append(args, sum[:], id); len(args) < 2*pageEntries {
			return nil
		}
		return flush()
	})
	err = cmp.Or(err, flush())
	return dropped, err
}

// Compact implements Store. Nothing is stored more than once.
func (r *Redis) Compact(ctx context.Context) (int, error) { return 0, ctx.Err() }

// PutBlob implements Store.
func (r *Redis) PutBlob(ctx context.Context, b []byte) (store.Digest, error) {
	if err := store.CheckBlob(b); err != nil {
		return "", err
	}
	if err := r.prepare(ctx); err != nil {
		return "", err
	}
	d := store.DigestOf(b)
	packed := r.packer.Pack(b)
	err := r.withSession(ctx, func(s session) error {
		return s.transact(
			command{"SET", []any{r.key("blob", string(d)), packed}},
			command{"HSET", []any{r.key("blobs"), string(d), fmt.Sprintf("%d %d", len(packed), time.Now().UnixMilli())}},
		)
	})
	return d, r.failed(err)
}

// Blob implements Store.
func (r *Redis) Blob(ctx context.Context, d store.Digest) ([]byte, error) {
	if !d.Valid() {
		return nil, fmt.Errorf("%w: %q is not a digest", store.ErrNoBlob, d)
	}
	packed, err := client.Bytes(r.ask(ctx, "GET", r.key("blob", string(d))))
	if errors.Is(err, client.ErrNil) {
		return nil, fmt.Errorf("%w: %s", store.ErrNoBlob, d)
	}
	if err != nil {
		return nil, r.failed(err)
	}
	return r.packer.Unpack(d, packed)
}

// Blobs implements Store. Their times are by the clocks of those who put them.
func (r *Redis) Blobs(ctx context.Context, each func(store.BlobInfo) error) error {
	if err := r.prepare(ctx); err != nil {
		return err
	}
	list, err := client.StringMap(r.ask(ctx, "HGETALL", r.key("blobs")))
	if err != nil {
		return r.failed(err)
	}
	for d, text := range list {
		var at int64
		info := store.BlobInfo{Digest: store.Digest(d)}
		if _, err := fmt.Sscan(text, &info.SizeBytes, &at); err != nil || !info.Digest.Valid() {
			continue
		}
		info.At = time.UnixMilli(at)
		if err := each(info); err != nil {
			return err
		}
	}
	return nil
}

// DropBlob implements Store.
func (r *Redis) DropBlob(ctx context.Context, d store.Digest) error {
	if err := r.prepare(ctx); err != nil {
		return err
	}
	err := r.withSession(ctx, func(s session) error {
		return s.transact(command{"DEL", []any{r.key("blob", string(d))}}, command{"HDEL", []any{r.key("blobs"), string(d)}})
	})
	return r.failed(err)
}

// lease decides about a lease by the clock of the server: name of the holder, milliseconds. It returns whether it is taken, the holder, the epoch
// and the end.
var lease = client.NewScript(1, `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local l = redis.call('HMGET', KEYS[1], 'holder', 'epoch', 'expires')
local holder, epoch, expires = l[1] or '', tonumber(l[2] or '0'), tonumber(l[3] or '0')
if holder ~= '' and holder ~= ARGV[1] and now < expires then
	return {0, holder, epoch, expires}
end
if holder ~= ARGV[1] or now >= expires then
	epoch = epoch + 1
end
expires = now + tonumber(ARGV[2])
redis.call('HSET', KEYS[1], 'holder', ARGV[1], 'epoch', epoch, 'expires', string.format('%.0f', expires))
return {1, ARGV[1], epoch, expires}`)

// release ends a lease of a holder.
var release = client.NewScript(1, `
if redis.call('HGET', KEYS[1], 'holder') == ARGV[1] then
	redis.call('HSET', KEYS[1], 'holder', '', 'expires', 0)
end`)

// Lease implements Store.
func (r *Redis) Lease(ctx context.Context, name, holder string, ttl time.Duration) (store.Lease, error) {
	if err := r.prepare(ctx); err != nil {
		return store.Lease{}, err
	}
	l := store.Lease{Name: name}
	answer, err := client.Values(r.run(ctx, lease, r.key("lease", name), holder, ttl.Milliseconds()))
	if err != nil {
		return l, r.failed(err)
	}
	if len(answer) != 4 {
		return l, r.failed(fmt.Errorf("a lease of %d parts", len(answer)))
	}
	taken, _ := answer[0].(int64)
	epoch, _ := answer[2].(int64)
	expires, _ := answer[3].(int64)
	present, _ := answer[1].([]byte)
	l.Holder = string(present)
	l.Epoch, l.Expires = uint64(epoch), time.UnixMilli(expires)
	if taken == 0 {
		return l, l.Held()
	}
	return l, nil
}

// Release implements Store.
func (r *Redis) Release(ctx context.Context, name, holder string) error {
	if err := r.prepare(ctx); err != nil {
		return err
	}
	_, err := r.run(ctx, release, r.key("lease", name), holder)
	return r.failed(err)
}

// Close implements Store.
func (r *Redis) Close() error { return r.failed(r.pool.Close()) }
