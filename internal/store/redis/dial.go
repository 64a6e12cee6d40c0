package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	client "github.com/gomodule/redigo/redis"
)

// Defaults of the options in a URL.
const (
	defaultPort        = "6379"
	defaultReadTimeout = 10 * time.Second // and write_timeout
	defaultDialTimeout = 5 * time.Second
	optionNames        = "db, dial_timeout, read_timeout, write_timeout and skip_verify"
)

// Bounds of the pool of connections, and the attempts at a command whose connection breaks.
const (
	maxIdle     = 8
	idleTimeout = 5 * time.Minute
	attempts    = 2
)

// dialing opens connections to a server.
type dialing struct {
	address     string
	readTimeout time.Duration
	options     []client.DialOption
}

// parseDialing reads a URL without its prefix.
func parseDialing(u *url.URL) (*dialing, error) {
	host, port := u.Hostname(), u.Port()
	if host == "" {
		host = "localhost"
	}
	if port == "" {
		port = defaultPort
	}
	query := u.Query()
	database := strings.Trim(u.Path, "/")
	if text := query.Get("db"); text != "" && database == "" {
		database = text
	}
	number, err := databaseNumber(database)
	if err != nil {
		return nil, err
	}
	connect, read, write := defaultDialTimeout, defaultReadTimeout, defaultReadTimeout
	skipVerify := false
	for name, values := range query {
		text := values[len(values)-1]
		switch name {
		case "db":
		case "dial_timeout":
			connect, err = timeout(text)
		case "read_timeout":
			read, err = timeout(text)
		case "write_timeout":
			write, err = timeout(text)
		case "skip_verify":
			skipVerify, err = strconv.ParseBool(text)
		default:
			return nil, fmt.Errorf("unknown option %.40q", name)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	password, _ := u.User.Password()
	return &dialing{net.JoinHostPort(host, port), read, []client.DialOption{
		client.DialConnectTimeout(connect), client.DialTLSHandshakeTimeout(connect),
		client.DialReadTimeout(read), client.DialWriteTimeout(write),
		client.DialUsername(u.User.Username()), client.DialPassword(password), client.DialDatabase(number),
		client.DialUseTLS(u.Scheme == "rediss"),
		client.DialTLSConfig(&tls.Config{ServerName: host, InsecureSkipVerify: skipVerify, MinVersion: tls.VersionTLS12}),
	}}, nil
}

func databaseNumber(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%.20q is not a database number", text)
	}
	return n, nil
}

// timeout reads a duration such as 500ms, or a number of seconds.
func timeout(text string) (time.Duration, error) {
	if seconds, err := strconv.Atoi(text); err == nil {
		text = fmt.Sprintf("%ds", seconds)
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%.20q is not a duration; write one such as 500ms or 5s", text)
	}
	return d, nil
}

func (d *dialing) connect(ctx context.Context) (client.Conn, error) {
	return client.DialContext(ctx, "tcp", d.address, d.options...)
}

func newPool(d *dialing) *client.Pool {
	return &client.Pool{DialContext: d.connect, MaxIdle: maxIdle, IdleTimeout: idleTimeout}
}

// session asks questions on one connection.
type session struct {
	ctx  context.Context
	conn client.Conn
}

// ask returns the answer to one command. An error that the server answered is a client.Error.
func (s session) ask(command string, args ...any) (any, error) {
	return client.DoContext(s.conn, s.ctx, command, args...)
}

// run executes a script on keys with arguments. A script that returns nothing answers nil.
func (s session) run(script *client.Script, keysAndArgs ...any) (any, error) {
	return script.DoContext(s.ctx, s.conn, keysAndArgs...)
}

// command is one command of a transaction.
type command struct {
	name string
	args []any
}

// transact executes commands as one transaction: all or, if the server refuses one, none.
func (s session) transact(commands ...command) error {
	if err := s.conn.Send("MULTI"); err != nil {
		return err
	}
	for _, c := range commands {
		if err := s.conn.Send(c.name, c.args...); err != nil {
			return err
		}
	}
	answers, err := client.Values(s.ask("EXEC"))
	if err != nil {
		return err
	}
	for _, answer := range answers {
		if err, failed := answer.(client.Error); failed {
			return err
		}
	}
	return nil
}

// withSession calls f with a connection of the pool. If the connection breaks, for example because the server restarted, it calls f
// once more on a new one. So f must be safe to execute twice.
func (r *Redis) withSession(ctx context.Context, f func(session) error) error {
	get := r.pool.GetContext
	for attempt := 1; ; attempt++ {
		err := useConnection(ctx, get, f)
		var answered client.Error
		if err == nil || errors.As(err, &answered) || ctx.Err() != nil || attempt == attempts || errors.Is(err, errUnexpected) {
			return err
		}
		get = r.dialing.connect
	}
}

// errUnexpected marks answers that another connection would not change.
var errUnexpected = errors.New("unexpected answer")

func useConnection(ctx context.Context, get func(context.Context) (client.Conn, error), f func(session) error) error {
	conn, err := get(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() // returns it to the pool
	return f(session{ctx, conn})
}

// ask returns the answer to one command, on any connection.
func (r *Redis) ask(ctx context.Context, command string, args ...any) (answer any, err error) {
	err = r.withSession(ctx, func(s session) error {
		answer, err = s.ask(command, args...)
		return err
	})
	return answer, err
}

// run executes a script, on any connection.
func (r *Redis) run(ctx context.Context, script *client.Script, keysAndArgs ...any) (answer any, err error) {
	err = r.withSession(ctx, func(s session) error {
		answer, err = s.run(script, keysAndArgs...)
		return err
	})
	return answer, err
}

// logged is one entry of a stream, with its place.
type logged struct {
	id, key, value string
}

// parseStream reads the answer to XRANGE or XREVRANGE.
func parseStream(answer any, err error) ([]logged, error) {
	list, err := client.Values(answer, err)
	if err != nil {
		return nil, err
	}
	entries := make([]logged, 0, len(list))
	for _, item := range list {
		parts, err := client.Values(item, nil)
		if err != nil || len(parts) != 2 {
			return nil, fmt.Errorf("%w: an entry of %d parts", errUnexpected, len(parts))
		}
		id, err := client.String(parts[0], nil)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errUnexpected, err)
		}
		fields, err := client.StringMap(parts[1], nil)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errUnexpected, err)
		}
		entries = append(entries, logged{id, fields["k"], fields["v"]})
	}
	return entries, nil
}
