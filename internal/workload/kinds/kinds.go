// Package kinds has the facts of the drivers that choose their operations themselves: names, operations, options, targets. The
// configuration is checked with them, also for drivers whose client libraries only the program bloodhound-drivers links.
package kinds

import (
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Ways to spread operations over several targets.
const (
	First      = "first"       // always the first
	RoundRobin = "round-robin" // operation k of client c goes to target (c+k) mod n
	Client     = "client"      // client c stays with target c mod n
	Hash       = "hash"        // by the key
	Failover   = "failover"    // stay with one until an operation there is not ok, then the next one
)

// Spreads lists them.
var Spreads = []string{First, RoundRobin, Client, Hash, Failover}

// Kind holds the facts of a driver.
type Kind struct {
	Name       string
	Schemes    []string // of the URLs of targets; a target without a scheme gets the first
	Target     string   // an example of a target
	Operations []string // as histories write them
	Mix        []string // the default mix, in equal shares
	Options    []string // besides spread
	Spread     string   // the default
	// Field marks a driver of the program bloodhound-drivers.
	Field bool
	// Queues are the operations that receive messages. After each message the client acknowledges it by an operation "ack".
	Queues []string
	// Subscribes says that a client subscribes to a key before it first receives from it, by an operation "subscribe".
	Subscribes []string
	// Apart says that each client receives all messages, and does not share them with the workload's other clients.
	Apart []string
}

// All are the drivers that choose operations themselves.
var All = []Kind{
	{Name: "http", Schemes: []string{"http"}, Target: "http://NODE:PORT", Operations: []string{"put", "get", "delete"}, Mix: []string{"put", "get"},
		Options: []string{"fail_status", "json_field", "put_method", "trim_space"}, Spread: RoundRobin},
	{Name: "redis", Schemes: []string{"redis"}, Target: "redis://NODE:PORT", Operations: []string{"SET", "GET", "INCR", "DEL"}, Mix: []string{"SET", "GET"},
		Options: []string{"master_name", "sentinels"}, Spread: First},
	{Name: "sql", Schemes: []string{"postgres", "postgresql", "mysql"}, Target: "postgres://USER@NODE:PORT/NAME",
		Operations: []string{"put", "get", "delete", "cas", "txn"}, Mix: []string{"put", "get"}, Options: []string{"isolation", "model"}, Spread: First},
	{Name: "etcd", Schemes: []string{"http"}, Target: "http://NODE:2379",
		Operations: []string{"put", "get", "delete", "cas", "range_put", "lease_put", "compact"}, Mix: []string{"put", "get"},
		Options: []string{"back", "serializable"}, Spread: RoundRobin},
	{Name: "nats", Schemes: []string{"nats"}, Target: "nats://NODE:4222", Field: true,
		Operations: []string{"send", "receive", "publish", "consume", "put", "get", "delete", "cas"}, Mix: []string{"send", "receive"},
		Options: []string{"ack_wait", "replicas"}, Spread: Client,
		Queues: []string{"receive"}, Subscribes: []string{"consume"}, Apart: []string{"consume"}},
}

// Named returns the facts of a driver.
func Named(driver string) (*Kind, bool) {
	i := slices.IndexFunc(All, func(k Kind) bool { return k.Name == driver })
	if i < 0 {
		return nil, false
	}
	return &All[i], true
}

// Names are the names of all drivers, with those that run programs of the user.
func Names() []string {
	var names []string
	for i := range All {
		names = append(names, All[i].Name)
	}
	return append(names, "command", "composer")
}

// With lists the drivers that have an option, separated by spaces.
func With(option string) string {
	return having(func(k *Kind) bool { return option == "spread" || slices.Contains(k.Options, option) })
}

// Choosing lists the drivers of All, separated by spaces.
func Choosing() string { return having(func(*Kind) bool { return true }) }

// Targeted lists the drivers with the key target, separated by spaces.
func Targeted() string { return having(func(k *Kind) bool { return k.Name != "redis" }) }

func having(chosen func(*Kind) bool) string {
	var names []string
	for i := range All {
		if chosen(&All[i]) {
			names = append(names, All[i].Name)
		}
	}
	return strings.Join(names, " ")
}

// Operation finds an operation, however its letters are written.
func (k *Kind) Operation(name string) (written string, ok bool) {
	i := slices.IndexFunc(k.Operations, func(o string) bool { return strings.EqualFold(o, name) })
	if i < 0 {
		return "", false
	}
	return k.Operations[i], true
}

// Receives reports whether an operation takes a message out of a queue or a subscription.
func (k *Kind) Receives(operation string) bool {
	return slices.Contains(k.Queues, operation) || slices.Contains(k.Subscribes, operation)
}

// Drains reports whether a workload receives messages, and so receives what is left when the world has settled.
func Drains(w *world.Workload) bool {
	k, ok := Named(w.Driver)
	return ok && len(w.Schedule) == 0 && slices.ContainsFunc(w.Mix, func(o world.Operation) bool { return o.Weight > 0 && k.Receives(o.Kind) })
}

// IsField reports whether the program bloodhound-drivers performs a workload.
func IsField(w *world.Workload) bool {
	k, ok := Named(w.Driver)
	return ok && k.Field
}
