// Package rediscount counts what a Redis server answers to go-redis in a program in production, and which answers
// breach its contract. It passes every command through and injects nothing. Package redisfault reads the counts, so
// that a test injects the same failures. This package imports only the standard library, go-redis and this project, and
// does not import package testing.
package rediscount

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/bloodhound-dst/bloodhound/sdk/internal/counts"
	"github.com/bloodhound-dst/bloodhound/sdk/redisfault/internal/redisclient"
)

// Operation selects the commands that are counted together, and lists the errors that the server documents for them.
type Operation struct {
	// Name identifies the operation in the counts, such as "write". It matches the Operation of a redisfault.Command.
	// "pipeline" and "transaction" are reserved.
	Name string
	// Commands lists the names of the commands in lower case, such as "set". An empty list stands for all commands that
	// no other operation lists.
	Commands []string
	// Codes lists the errors that the server documents, such as "LOADING". Errors with other codes count as breaches,
	// and errors without a code as the code OTHER.
	Codes []string
}

// Counter counts commands and serves the counts as JSON (http.Handler). It is safe for concurrent use.
type Counter struct {
	all                   counts.Counter
	commands              map[string]*counts.Operation
	others                *counts.Operation // or nil
	pipeline, transaction *counts.Operation
}

// New makes a Counter. It panics if an operation is invalid.
func New(operations ...Operation) *Counter {
	c := &Counter{all: counts.Counter{By: "rediscount"}, commands: map[string]*counts.Operation{}}
	c.pipeline, c.transaction = c.all.Add("pipeline"), c.all.Add("transaction")
	for _, o := range operations {
		at := c.all.Add(o.Name, o.Codes...)
		for _, n := range o.Commands {
			if n != strings.ToLower(n) || c.commands[n] != nil {
				panic(fmt.Sprintf("rediscount: %q of %s is not a command in lower case, or it is there twice", n, o.Name))
			}
			c.commands[n] = at
		}
		if len(o.Commands) == 0 && c.others != nil {
			panic(fmt.Sprintf("rediscount: %s is the second operation for all other commands; list "+
				"the commands of one", o.Name))
		} else if len(o.Commands) == 0 {
			c.others = at
		}
	}
	return c
}

// Hook returns a hook for a client's AddHook. It counts a call once, however often the client retries it. A command of
// a pipeline counts for its operation if the server has answered it. The pipeline or transaction as a whole counts as a
// call of the operation "pipeline" or "transaction", lost if its connection ended. Calls that the program itself
// cancels do not count, nor do the commands with which the client sets up a connection.
func (c *Counter) Hook() redis.Hook { return hook{c} }

type hook struct{ *Counter }

// DialHook implements redis.Hook.
func (hook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook makes a command (redis.Hook).
func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if redisclient.SetsUpConnection(cmd) {
			return err
		}
		if at := h.operationOf(cmd); at != nil && !own(ctx, err) {
			at.Call()
			count(at, err)
		}
		return err
	}
}

// ProcessPipelineHook makes a pipeline (redis.Hook).
func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, list []redis.Cmder) error {
		whole, commands := h.pipeline, list
		if len(list) > 1 && list[0].Name() == "multi" {
			whole, commands = h.transaction, list[1:len(list)-1]
		}
		err := next(ctx, list)
		if own(ctx, err) || redisclient.SetsUpConnection(list...) {
			return err
		}
		whole.Call()
		for _, cmd := range commands {
			err := cmd.Err()
			if lost(err) {
				whole.Lost()
				break
			}
			if at := h.operationOf(cmd); at != nil {
				at.Call()
				count(at, err)
			}
			if mistyped(err) {
				break // the client closes the connection, and gives the other commands the same error
			}
		}
		return err
	}
}

func (c *Counter) operationOf(cmd redis.Cmder) *counts.Operation {
	if at := c.commands[cmd.Name()]; at != nil {
		return at
	}
	return c.others
}

// own reports whether a call failed by what the program itself did.
func own(ctx context.Context, err error) bool {
	return err != nil && (errors.Is(ctx.Err(), context.Canceled) || errors.Is(err, redis.ErrClosed))
}

// count counts the outcome of a command that has itself been counted.
func count(at *counts.Operation, err error) {
	switch {
	case err == nil || errors.Is(err, redis.Nil) || errors.Is(err, redis.TxFailedErr): // no error of the server
	case lost(err):
		at.Lost()
	case mistyped(err):
		at.Unparsable(counts.Reply)
	default:
		e, _ := errors.AsType[redis.Error](err) // which is neither lost nor mistyped
		code, _, _ := strings.Cut(e.Error(), " ")
		if code != strings.ToUpper(code) {
			code = counts.Other
		}
		at.Answer(code)
	}
}

// mistyped reports whether the client could not parse a reply.
func mistyped(err error) bool {
	_, number := errors.AsType[*strconv.NumError](err)
	return number || err != nil && strings.HasPrefix(err.Error(), "redis: can't parse ")
}

// lost reports whether a command has no reply.
func lost(err error) bool {
	_, replied := errors.AsType[redis.Error](err)
	return err != nil && !replied && !mistyped(err)
}

// ServeHTTP answers with the counts so far, as JSON (http.Handler).
func (c *Counter) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.all.ServeHTTP(w, r) }

// MarshalJSON returns the counts so far (json.Marshaler).
func (c *Counter) MarshalJSON() ([]byte, error) { return c.all.MarshalJSON() }
