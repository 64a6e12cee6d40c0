package keys

import (
	"github.com/bloodhound-dst/bloodhound/internal/config/schema"
)

// linkFields are shared by network, for all links, and links, for one.
var linkFields = []field{
	{Name: "latency", Shape: aDuration, Says: "Time that a packet takes.", Default: "500us"},
	{Name: "latency_ms", SpellingOf: "latency", Equal: true, Shape: aMillis},
	{Name: "jitter", Shape: aDuration, Says: "Up to this much more, drawn for each packet.", Default: "100us"},
	{Name: "jitter_ms", SpellingOf: "jitter", Equal: true, Shape: aMillis},
	{Name: "bandwidth_bytes", Shape: aWhole, Says: "Bytes a second; 0 is unlimited.", Default: "0"},
}

var network = of(linkFields...)

var link = of(append([]field{
	{Name: "between", Shape: texts, Says: "Two nodes."},
	{Name: "one_way", Shape: aFlag, Says: "Only from the first to the second.", Default: "false"},
}, linkFields...)...)

var WorkloadKeys = of(
	field{Name: "name", Shape: aText, Says: "Its name in reports.", Default: "the driver's name"},
	field{Name: "driver", Shape: oneOf(Drivers...), Says: "`http`, `redis`, `sql` and `etcd` are built in; `command` is any program that reports operations; `composer` runs an Antithesis test template."},
	field{Name: "node", Shape: aText, Says: "The client node that it runs on.", Default: "a node `load` of its own"},
	field{Name: "command", Shape: command, Says: "driver `command`: the program and its arguments; also under `config`."},
	field{Name: "config", Shape: of(
		field{Name: "target", Shape: textOrAll, Says: "http, etcd: the server's URL, or several. sql: `postgres://user:password@host:port/name` or `mysql://`."},
		field{Name: "master", Shape: aText, Says: "redis: the server's URL, `redis://host:port`."},
		field{Name: "replicas", Shape: texts, Says: "redis: URLs of further servers."},
		field{Name: "command", Shape: command, Says: "command: the program and its arguments."},
		field{Name: "template", Shape: aText, Says: "composer: a test template, or a folder of them of which each tape takes one: a folder of the project, which the node sees at /opt/antithesis/test/v1, or an absolute path in the node.", Default: "/opt/antithesis/test/v1"},
		field{Name: "qps", Shape: aNumber, Says: "Operations a second of virtual time, all clients together; 0: each client goes on as soon as it has its answer.", Default: "0"},
		field{Name: "operations_per_second", SpellingOf: "qps", Equal: true, Shape: aNumber},
		field{Name: "duration", Shape: aPositive, Says: "How long it runs.", Default: "half of max_time, less if faults.settle needs it"},
		field{Name: "duration_seconds", SpellingOf: "duration", Equal: true, Shape: shape{Kind: schema.Seconds, Min: 1}},
		field{Name: "clients", Shape: shape{Kind: schema.Whole, Min: 1, Max: 10_000}, Says: "Clients, each with one operation in flight. composer: how many parallel drivers may run at once; each tape takes a number up to this.", Default: "4"},
		field{Name: "max_operations", Shape: wholeFrom(1), Says: "Ends it after this many operations.", Default: "no bound"},
		field{Name: "timeout", Shape: aPositive, Says: "Time that an operation may take.", Default: "1s"},
		field{Name: "timeout_ms", SpellingOf: "timeout", Shape: shape{Kind: schema.Millis, Min: 1}},
		field{Name: "operations", Shape: listOf(of(
			field{Name: "type", Shape: oneOf("put", "get", "delete", "SET", "GET", "INCR", "DEL", "cas", "txn", "range_put", "lease_put", "compact"), Says: "http: put, get, delete; redis: SET, GET, INCR, DEL; sql: put, get, delete, cas, txn; etcd: put, get, delete, cas, range_put, lease_put, compact."},
			field{Name: "weight", Shape: shape{Kind: schema.Whole, Max: 1e6}, Says: "Its share of all operations.", Default: "1"},
			field{Name: "key_pattern", Shape: aText, Says: "Text with `{random}`, `{random:a-b}`, `{seq}`, `{seq:a-b}`, `{zipf:a-b}`, `{client}`, `{uuid}`.", Default: "key-{random:0-9}; txn: txn-{random:0-4}"},
			field{Name: "value_size", Shape: anyOf(shape{Kind: schema.Whole, Max: maxValueBytes}, listOf(shape{Kind: schema.Whole, Max: maxValueBytes})), Says: "Bytes of the values written; no value is shorter than what makes it unique. `[a, b]`: from a to b, every second one at a boundary (a, b, powers of two, one less and one more), and then short values may repeat.", Default: "that length"},
			field{Name: "path", Shape: aText, Says: "http: the path below the target's own, with `{key}`.", Default: "/kv/{key}"},
		)), Says: "The mix.", Default: "one read for each write"},
		field{Name: "dictionary", Shape: of(
			field{Name: "probability", Shape: aRate, Says: "How often a key, or what is behind a value, is a special one.", Default: "0.05"},
			field{Name: "file", Shape: aText, Says: "More of them, one a line: a text, or a JSON string such as `\"a\\u0000\"`, and `\"ab\"*100` for a hundred of them. Empty lines and those that begin with `#` are left out."},
			field{Name: "only_file", Shape: aFlag, Says: "Take none but those of the file.", Default: "false"},
		), Says: "Special keys and values: `~tmp`, texts around path limits, Unicode that is not what it looks like, very long ones. Each tape takes a few of them. Without this key there are none."},
		field{Name: "environment", Shape: shape{Kind: schema.Variables}, Says: "command, composer: variables for the program or the commands."},
		field{Name: "options", Shape: of(
			field{Name: "spread", Shape: oneOf("first", "round-robin", "client", "hash", "failover"), Says: "Which of several servers an operation goes to.", Default: "http, etcd: round-robin, redis, sql: first"},
			field{Name: "fail_status", Shape: aText, Says: "http: statuses that prove that nothing was done, such as `409, 503`."},
			field{Name: "put_method", Shape: oneOf("PUT", "POST"), Says: "http: how values are written.", Default: "PUT"},
			field{Name: "trim_space", Shape: aFlag, Says: "http: take blanks at the ends off values that were read.", Default: "false"},
			field{Name: "sentinels", Shape: aText, Says: "redis: `host:port, ...` of sentinels that are asked for the master."},
			field{Name: "isolation", Shape: oneOf("serializable", "repeatable-read", "read-committed", "read-uncommitted", "default"), Says: "sql: the isolation level of txn.", Default: "serializable"},
			field{Name: "model", Shape: oneOf("list-append", "rw-register"), Says: "sql: what txn does: append to lists, or write registers.", Default: "list-append"},
			field{Name: "serializable", Shape: aFlag, Says: "etcd: reads that any member answers from what it has.", Default: "false"},
			field{Name: "back", Shape: wholeFrom(0), Says: "etcd: how many revisions before the latest range_put reads.", Default: "10"},
			field{Name: "master_name", Shape: aText, Says: "redis: the master's name there."},
		), Says: "Further options of the drivers; docs/reference/workloads.md explains them."},
	), Says: "Its parameters."},
)
