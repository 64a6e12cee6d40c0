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
	// Receives are the operations that take a message out of a queue or a subscription.
	Receives []string
	// Acks are those of Receives after which the client acknowledges the message, by an operation "ack" whose answer says that the server knows.
	Acks []string
	// Subscribes are those of Receives before which a client subscribes to the key, once, by an operation "subscribe".
	Subscribes []string
	// Apart are those of Receives by which each client gets all messages, and does not share them with the workload's other clients.
	Apart []string
	// Either are operations of which a workload has one at most, with the reason.
	Either []string
	Why    string
}

// All are the drivers that choose operations themselves.
var All = []Kind{
	{Name: "http", Schemes: []string{"http"}, Target: "http://NODE:PORT", Operations: []string{"put", "get", "delete"},
		Mix:     []string{"put", "get"},
		Options: []string{"fail_status", "json_field", "put_method", "trim_space"}, Spread: RoundRobin},
	{Name: "redis", Schemes: []string{"redis"}, Target: "redis://NODE:PORT", Operations: []string{"SET", "GET", "INCR", "DEL"},
		Mix: []string{"SET", "GET"}, Options: []string{"master_name", "sentinels"}, Spread: First},
	{Name: "sql", Schemes: []string{"postgres", "postgresql", "mysql"}, Target: "postgres://USER@NODE:PORT/NAME",
		Operations: []string{"put", "get", "delete", "cas", "txn"}, Mix: []string{"put", "get"}, Options: []string{"isolation", "model"}, Spread: First},
	{Name: "etcd", Schemes: []string{"http"}, Target: "http://NODE:2379",
		Operations: []string{"put", "get", "delete", "cas", "range_put", "lease_put", "compact"}, Mix: []string{"put", "get"},
		Options: []string{"back", "serializable"}, Spread: RoundRobin},
	{Name: "nats", Schemes: []string{"nats"}, Target: "nats://NODE:4222", Field: true,
		Operations: []string{"send", "receive", "publish", "consume", "put", "get", "delete", "cas"}, Mix: []string{"send", "receive"},
		Options: []string{"ack_wait", "replicas"}, Spread: Client,
		Receives: []string{"receive", "consume"}, Acks: []string{"receive"}, Subscribes: []string{"consume"}, Apart: []string{"consume"}},
	{Name: "mqtt", Schemes: []string{"mqtt"}, Target: "mqtt://NODE:1883", Field: true, Operations: []string{"publish", "receive"},
		Mix: []string{"publish", "receive"}, Options: []string{"qos", "version"}, Spread: Client,
		Receives: []string{"receive"}, Subscribes: []string{"receive"}, Apart: []string{"receive"}},
	{Name: "amqp", Schemes: []string{"amqp"}, Target: "amqp://guest:guest@NODE:5672", Field: true, Operations: []string{"send", "receive"},
		Mix: []string{"send", "receive"}, Options: []string{"queue_type"}, Spread: Client, Receives: []string{"receive"}},
	{Name: "zookeeper", Schemes: []string{"zookeeper"}, Target: "zookeeper://NODE:2181", Field: true,
		Operations: []string{"put", "get", "delete", "cas"}, Mix: []string{"put", "get"}, Options: []string{"local_reads"}, Spread: Client,
		Either: []string{"cas", "delete"},
		Why:    "ZooKeeper compares versions, and a node that was deleted and created again starts with version 0"},
	{Name: "s3", Schemes: []string{"s3"}, Target: "s3://KEY:SECRET@NODE:9000/BUCKET", Field: true,
		Operations: []string{"put", "get", "delete", "list"}, Mix: []string{"put", "get"}, Spread: RoundRobin},
	{Name: "memcached", Schemes: []string{"memcached"}, Target: "memcached://NODE:11211", Field: true,
		Operations: []string{"put", "get", "delete", "cas"}, Mix: []string{"put", "get"}, Spread: Hash},
	{Name: "kafka", Schemes: []string{"kafka"}, Target: "kafka://NODE:9092", Field: true, Operations: []string{"produce", "poll"},
		Mix: []string{"produce", "poll"}, Options: []string{"acks", "replicas"}, Spread: First, Receives: []string{"poll"}},
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

// Drains reports whether a workload receives messages, and so receives what is left when the world has settled.
func Drains(w *world.Workload) bool {
	k, ok := Named(w.Driver)
	return ok && len(w.Schedule) == 0 && slices.ContainsFunc(w.Mix, func(o world.Operation) bool { return o.Weight > 0 && slices.Contains(k.Receives, o.Kind) })
}

// IsField reports whether the program bloodhound-drivers performs a workload.
func IsField(w *world.Workload) bool {
	k, ok := Named(w.Driver)
	return ok && k.Field
}
