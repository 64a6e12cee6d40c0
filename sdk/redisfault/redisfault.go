// Package redisfault makes commands of go-redis fail, by a hook; package sdk decides when. Commands and answers may be
// lost, and the server may answer with an error from its catalogue, such as LOADING, or with one that breaches its
// contract, which counts separately.
//
// Faults of commands happen above the client's retries, so the client does not retry them. Faults of connections happen
// below: if the answer to an INCR is lost there, the client sends it again (redis.Options.MaxRetries).
package redisfault

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/bloodhound-dst/bloodhound/sdk"
	"github.com/bloodhound-dst/bloodhound/sdk/internal/counts"
	"github.com/bloodhound-dst/bloodhound/sdk/redisfault/internal/redisclient"
)

// Faults sets the rates of each kind of call.
type Faults struct {
	Commands []Command
	// Pipeline applies to pipelines, and Transaction to those between MULTI and EXEC, each as a whole.
	Pipeline, Transaction sdk.Rates
	// Dial applies to new connections: refused before, or ended after they were made. Late and Twice are invalid.
	Dial sdk.Rates
	// Connection applies to each write to a connection, of a command or a pipeline, and to its answer. Late and Twice
	// are invalid.
	Connection sdk.Rates
}

// Command selects commands outside of pipelines that fail alike.
type Command struct {
	// Names lists the names of the commands, such as "set" and "incrby". An empty list stands for all commands that no
	// other entry lists.
	Names []string
	// Operation names these commands in the ledger, such as "write".
	Operation string
	sdk.Rates
	Answers []Answer
}

// Answer is an error that the server may return instead of success.
type Answer struct {
	// Message starts with the code, in capital letters, such as "LOADING Redis is loading the dataset in memory".
	Message string
	// Before is the probability that the server answers so without executing the command, After that it executes the
	// command first.
	Before, After float64
	// Breach marks an answer that the server's contract excludes.
	Breach bool
	// Mistyped says that the server replies with another type than the command's instead of an error. The ledger calls
	// it "reply". Message is then the error of the client, such as "redis: can't parse int reply", which is not a
	// redis.Error.
	Mistyped bool
}

// name returns the name of an answer in the ledger, or "" if its message has no code.
func (a Answer) name() string {
	if a.Mistyped {
		return counts.Reply
	}
	code, _, _ := strings.Cut(a.Message, " ")
	if code != strings.ToUpper(code) {
		return ""
	}
	return strings.ToLower(code)
}

// reply is an error that a server answers (redis.Error).
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

// Hook returns a hook for a client's AddHook, to add before the client has connections. Commands fail at the rates f,
// as source decides. name names the server in the ledger. Hook panics if a fault is invalid. Commands with which the
// client sets up a connection only have the faults of Dial and Connection.
func Hook(name string, source sdk.Source, f Faults) redis.Hook {
	h := &hook{commands: map[string]*command{}}
	for _, c := range f.Commands {
		if c.Operation == "" {
			panic(fmt.Sprintf("redisfault: the commands %v of %s need an Operation, their name in the "+
				"ledger", c.Names, name))
		}
		var answers []sdk.Answer
		for _, a := range c.Answers {
			if a.name() == "" {
				panic(fmt.Sprintf("redisfault: the answer %q of %s %s must begin with a code, such as ERR or "+
					"LOADING", a.Message, name, c.Operation))
			}
			answers = append(answers, sdk.Answer{Name: a.name(), Before: a.Before, After: a.After, Breach: a.Breach})
		}
		p := &command{sdk.NewPoint(source, name, c.Operation, c.Rates, answers...), c.Answers}
		for _, n := range c.Names {
			if n != strings.ToLower(n) || h.commands[n] != nil {
				panic(fmt.Sprintf("redisfault: %q of %s is not a command in lower case, or it is there twice", n, name))
			}
			h.commands[n] = p
		}
		if len(c.Names) == 0 && h.others != nil {
			panic(fmt.Sprintf("redisfault: two Commands of %s stand for all others", name))
		} else if len(c.Names) == 0 {
			h.others = p
		}
	}
	for what, r := range map[string]sdk.Rates{"Dial": f.Dial, "Connection": f.Connection} {
		if r.Late != 0 || r.Twice != 0 {
			panic(fmt.Sprintf("redisfault: %s of %s cannot be late or twice; commands and pipelines can", what, name))
		}
	}
	h.pipeline, h.transaction = sdk.NewPoint(source, name, "pipeline", f.Pipeline), sdk.NewPoint(source, name, "transaction", f.Transaction)
	h.dial, h.connection = sdk.NewPoint(source, name, "dial", f.Dial), sdk.NewPoint(source, name, "connection", f.Connection)
	return h
}

type hook struct {
	commands                                map[string]*command
	others                                  *command // or nil
	pipeline, transaction, dial, connection *sdk.Point
}

type command struct {
	*sdk.Point
	answers []Answer
}

// ProcessHook makes a command (redis.Hook).
func (h *hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		p := h.commands[cmd.Name()]
		if p == nil {
			p = h.others
		}
		if p == nil || redisclient.SetsUpConnection(cmd) {
			return next(ctx, cmd)
		}
		return do(ctx, p.Point, p.answers, []redis.Cmder{cmd}, func(ctx context.Context, list []redis.Cmder) error { return next(ctx, list[0]) })
	}
}

// ProcessPipelineHook makes a pipeline (redis.Hook).
func (h *hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, list []redis.Cmder) error {
		if redisclient.SetsUpConnection(list...) {
			return next(ctx, list)
		}
		p := h.pipeline
		if len(list) > 0 && list[0].Name() == "multi" {
			p = h.transaction
		}
		return do(ctx, p, nil, list, next)
	}
}

// do makes commands at a point. What must not reach the caller is made with copies of them.
func do(ctx context.Context, p *sdk.Point, answers []Answer, list []redis.Cmder, next func(context.Context, []redis.Cmder) error) error {
	call := p.Call()
	switch call.Way {
	case sdk.Before:
	case sdk.After:
		twins := copyOf(list)
		if err := next(ctx, twins); err != nil && err != redis.Nil {
			for i, twin := range twins {
				list[i].SetErr(twin.Err())
			}
			return err
		}
	case sdk.Late:
		twins := copyOf(list)
		p.Later(func() { next(context.WithoutCancel(ctx), twins) }) // nobody waits for its result
	case sdk.Twice:
		next(ctx, copyOf(list)) // the caller gets the second answer
		return next(ctx, list)
	default:
		return next(ctx, list)
	}
	var cause error
	if call.Answer >= 0 {
		if a := answers[call.Answer]; a.Mistyped {
			cause = errors.New(a.Message)
		} else {
			cause = reply(a.Message)
		}
	}
	err := call.Error(cause)
	for _, cmd := range list {
		cmd.SetErr(err)
	}
	return err
}

// copyOf is commands that their owner does not change.
func copyOf(list []redis.Cmder) []redis.Cmder {
	twins := make([]redis.Cmder, len(list))
	for i, cmd := range list {
		twins[i] = cmd.Clone()
		for k, arg := range twins[i].Args() {
			if b, ok := arg.([]byte); ok {
				twins[i].Args()[k] = bytes.Clone(b)
			}
		}
	}
	return twins
}

// DialHook makes a connection (redis.Hook).
func (h *hook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		call := h.dial.Call()
		if call.Way == sdk.Before {
			return nil, call.Error(nil)
		}
		under, err := next(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if call.Way == sdk.After {
			under.Close()
			return nil, call.Error(nil)
		}
		return &conn{Conn: under, point: h.connection}, nil
	}
}

// conn is a connection that ends before something was written to it, or when the answer arrives.
type conn struct {
	net.Conn
	point *sdk.Point
	mu    sync.Mutex
	lost  error // in place of the next answer
	gone  bool  // it has ended
}

// Write sends a command (net.Conn).
func (c *conn) Write(b []byte) (int, error) {
	if err := c.ended(); err != nil {
		return 0, err
	}
	call := c.point.Call()
	if call.Way == sdk.Before || call.Way == sdk.After {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.lost = call.Error(nil)
		if call.Way == sdk.Before {
			return 0, c.end()
		}
	}
	return c.Conn.Write(b)
}

// Read receives an answer (net.Conn).
func (c *conn) Read(b []byte) (int, error) {
	if err := c.ended(); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && c.lost != nil {
		return 0, c.end()
	}
	return n, err
}

// end ends the connection. The caller has the lock.
func (c *conn) end() error {
	c.gone = true
	c.Conn.Close()
	return c.lost
}

// ended is the error of a connection that has ended, or nil.
func (c *conn) ended() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return c.lost
	}
	return nil
}
