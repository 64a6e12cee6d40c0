package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Row is what the database knows of a stored content. Nonce distinguishes rows of the same hash: a row whose list of
// references is empty is dead, and the next job that backs up this content makes a new one.
type Row struct {
	Hash  string `json:"hash"`
	Nonce string `json:"nonce"`
	Node  string `json:"node"` // the server that has the file
}

// File is the name of the content's file.
func (r Row) File() string { return r.Hash + "-" + r.Nonce }

const table = `CREATE TABLE IF NOT EXISTS content (
	hash  text,
	nonce text,
	node  text NOT NULL,
	refs  text[] NOT NULL,
	PRIMARY KEY (hash, nonce))`

// Database is a client of PostgreSQL with a few sessions. Each statement is a transaction of its own. One that errs may have
// taken effect, or not, or may take effect later: it can still be on its way.
type Database struct {
	// Unfenced: Fence does nothing.
	Unfenced bool

	url     string
	node    string
	timeout time.Duration

	mu       sync.Mutex
	idle     []*session
	sessions int // ever opened
}

// session is one connection. Its name is its application_name, by which others can find it in pg_stat_activity.
type session struct {
	name string
	conn *pgx.Conn
}

// NewDatabase gives a client; it connects when it is first used.
func NewDatabase(url, node string, timeout time.Duration) *Database {
	return &Database{url: url, node: node, timeout: timeout}
}

// do runs statements in a session, and gives that session's name. After an error the session is not used again.
func (d *Database) do(ctx context.Context, statements func(ctx context.Context, conn *pgx.Conn) error) (name string, err error) {
	ctx, stop := context.WithTimeout(ctx, d.timeout)
	defer stop()
	s, err := d.take(ctx)
	if err != nil {
		return "", err
	}
	if err := statements(ctx, s.conn); err != nil {
		// The rest of the pool closes in the background.
		closed, stop := context.WithTimeout(context.Background(), d.timeout)
		go func() { defer stop(); s.conn.Close(closed) }()
		return s.name, err
	}
	d.mu.Lock()
	d.idle = append(d.idle, s)
	d.mu.Unlock()
	return s.name, nil
}

func (d *Database) take(ctx context.Context) (*session, error) {
	d.mu.Lock()
	if n := len(d.idle); n > 0 {
		s := d.idle[n-1]
		d.idle = d.idle[:n-1]
		d.mu.Unlock()
		if !s.conn.IsClosed() {
			return s, nil
		}
		return d.take(ctx)
	}
	d.sessions++
	// A server that starts again must not take over a name.
	name := fmt.Sprintf("%s-%s-%d", d.node, nonce(), d.sessions)
	d.mu.Unlock()
	config, err := pgx.ParseConfig(d.url)
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["application_name"] = name
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return &session{name: name, conn: conn}, nil
}

// exec runs one statement that gives no rows. It says how many it changed, and in which session it ran.
func (d *Database) exec(ctx context.Context, statement string, arguments ...any) (changed int64, session string, err error) {
	session, err = d.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		tag, err := conn.Exec(ctx, statement, arguments...)
		changed = tag.RowsAffected()
		return err
	})
	return changed, session, err
}

// CreateTable makes the table, unless it exists.
func (d *Database) CreateTable(ctx context.Context) error {
	_, _, err := d.exec(ctx, table)
	return err
}

// AddReference looks a hash up and, on a hit, adds a reference to the row, all in one transaction. A row whose list is empty is
// no hit: no reference may be added to an empty list.
func (d *Database) AddReference(ctx context.Context, hash, reference string) (row Row, hit bool, session string, err error) {
	row.Hash = hash
	session, err = d.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		err := conn.QueryRow(ctx, `UPDATE content SET refs = array_append(refs, $2)
			WHERE hash = $1 AND nonce = (SELECT min(nonce) FROM content WHERE hash = $1 AND refs <> '{}') AND refs <> '{}'
			RETURNING nonce, node`, hash, reference).Scan(&row.Nonce, &row.Node)
		hit = err == nil
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return row, hit, session, err
}

// RemoveReferences removes a reference from all rows of a hash.
func (d *Database) RemoveReferences(ctx context.Context, hash, reference string) (session string, err error) {
	_, session, err = d.exec(ctx, `UPDATE content SET refs = array_remove(refs, $2) WHERE hash = $1 AND $2 = ANY (refs)`, hash, reference)
	return session, err
}

// RemoveReference removes a reference from a row, and says whether there is such a row.
func (d *Database) RemoveReference(ctx context.Context, row Row, reference string) (exists bool, err error) {
	changed, _, err := d.exec(ctx,
		`UPDATE content SET refs = array_remove(refs, $3) WHERE hash = $1 AND nonce = $2`,
		row.Hash, row.Nonce, reference)
	return changed == 1, err
}

// Insert makes a row with one reference.
func (d *Database) Insert(ctx context.Context, row Row, reference string) (session string, err error) {
	_, session, err = d.exec(ctx, `INSERT INTO content (hash, nonce, node, refs) VALUES ($1, $2, $3, ARRAY[$4])`,
		row.Hash, row.Nonce, row.Node, reference)
	return session, err
}

// Delete removes a row, whatever it has.
func (d *Database) Delete(ctx context.Context, row Row) error {
	_, _, err := d.exec(ctx, `DELETE FROM content WHERE hash = $1 AND nonce = $2`, row.Hash, row.Nonce)
	return err
}

// Holds reports whether a row has a reference.
func (d *Database) Holds(ctx context.Context, row Row, reference string) (holds bool, err error) {
	_, err = d.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM content WHERE hash = $1 AND nonce = $2 AND $3 = ANY (refs))`,
			row.Hash, row.Nonce, reference).Scan(&holds)
	})
	return holds, err
}

// Dead lists the rows of this server without references.
func (d *Database) Dead(ctx context.Context) (rows []Row, err error) {
	_, err = d.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		found, err := conn.Query(ctx, `SELECT hash, nonce, node FROM content WHERE node = $1 AND refs = '{}'`, d.node)
		if err != nil {
			return err
		}
		rows, err = pgx.CollectRows(found, pgx.RowToStructByPos[Row])
		return err
	})
	return rows, err
}

// Fence ends a session in the database, and returns when it has ended. What was sent in it has taken effect then, or never
// will: nothing of it is on its way any more. PostgreSQL lists a session until its last transaction is over.
func (d *Database) Fence(ctx context.Context, name string) {
	if name == "" || d.Unfenced { // without a connection nothing was sent
		return
	}
	forever(func() error {
		var listed int
		_, err := d.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			return conn.QueryRow(ctx, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = $1`, name).Scan(&listed)
		})
		if err == nil && listed > 0 {
			err = fmt.Errorf("session %s has not ended yet", name)
		}
		return err
	})
}
