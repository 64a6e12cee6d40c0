package keys

import (
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/schema"
	"github.com/bloodhound-dst/bloodhound/internal/workload/kinds"
)

// linkFields are shared by network, for all links, and links, for one.
var linkFields = []field{
	{Name: "latency", Shape: aDuration, Says: "Time that a packet takes.", Default: "500us"},
	{Name: "latency_ms", SpellingOf: "latency", Equal: true, Shape: aMillis},
	{Name: "jitter", Shape: aDuration, Says: "Maximum random addition per packet.", Default: "100us"},
	{Name: "jitter_ms", SpellingOf: "jitter", Equal: true, Shape: aMillis},
	{Name: "bandwidth_bytes", Shape: aWhole, Says: "Bytes per second; 0 is unlimited.", Default: "0"},
}

var network = sectionOf(linkFields...)

var link = sectionOf(append([]field{
	{Name: "between", Shape: texts, Says: "The two nodes."},
	{Name: "one_way", Shape: aFlag, Says: "Only from the first node to the second.", Default: "false"},
}, linkFields...)...)

var WorkloadKeys = sectionOf(
	field{Name: "name", Shape: aText, Says: "Name in reports.", Default: "the name of the driver"},
	field{Name: "driver", Shape: oneOf(Drivers...),
		Says: "`command`: a program that reports its operations. `composer`: an Antithesis test template. All others choose operations " +
			"themselves (docs/reference/workloads.md)."},
	field{Name: "node", Shape: aText, Says: "Client node that runs the driver.", Default: "a new node `load`"},
	field{Name: "command", Shape: command, Says: "command: program and its arguments, here or under `config`."},
	field{Name: "config", Shape: sectionOf(
		field{Name: "target", Shape: textOrAll,
			Says: "URL of the server, or a list: " + targetForms() + ". redis has `master` instead."},
		field{Name: "master", Shape: aText, Says: "redis: URL of the server, `redis://host:port`."},
		field{Name: "replicas", Shape: texts, Says: "redis: URLs of additional servers."},
		field{Name: "command", Shape: command, Says: "command: program and its arguments."},
		field{Name: "announces", Shape: aFlag,
			Says: "command: the driver reports its phases by `ready`, `done` and `check` " +
				"(docs/reference/workloads.md#phases).", Default: "false"},
		field{Name: "ready_timeout", Shape: aPositive,
			Says:    "With `announces`: how long to wait for `ready`. After that, the run is `unknown`.",
			Default: "30s, at most a quarter of `max_time`"},
		field{Name: "template", Shape: aText,
			Says: "composer: a test template, or a folder of templates of which each tape chooses one. A folder of the " +
				"project is mounted at /opt/antithesis/test/v1.", Default: "/opt/antithesis/test/v1"},
		field{Name: "qps", Shape: aNumber, Says: "Operations per virtual second of all clients together. 0: each client sends the next operation after " +
			"a reply.", Default: "0"},
		field{Name: "operations_per_second", SpellingOf: "qps", Equal: true, Shape: aNumber},
		field{Name: "duration", Shape: aPositive, Says: "Duration; with `schedule`, the minimum duration.",
			Default: "half of `max_time`, less if `faults.settle` needs it; with `schedule`, up to a second after the last operation"},
		field{Name: "duration_seconds", SpellingOf: "duration", Equal: true, Shape: shape{Kind: schema.Seconds, Min: 1}},
		field{Name: "clients", Shape: shape{Kind: schema.Whole, Min: 1, Max: 10_000},
			Says:    "Number of clients, each with one operation in flight. composer: maximum number of parallel drivers.",
			Default: "4"},
		field{Name: "max_operations", Shape: wholeFrom(1), Says: "Maximum number of operations.", Default: "no limit"},
		field{Name: "timeout", Shape: aPositive, Says: "Timeout of an operation.", Default: "1s"},
		field{Name: "timeout_ms", SpellingOf: "timeout", Shape: shape{Kind: schema.Millis, Min: 1}},
		field{Name: "operations", Shape: listOf(sectionOf(
			field{Name: "type", Shape: shape{Kind: schema.Word, Open: true,
				Words: operationWords()}, Says: operationsByDriver()},
			field{Name: "weight", Shape: shape{Kind: schema.Whole, Max: 1e6}, Says: "Relative share.", Default: "1"},
			field{Name: "key_pattern", Shape: aText,
				Says:    "Key, with `{random}`, `{random:a-b}`, `{seq}`, `{seq:a-b}`, `{zipf:a-b}`, `{client}` or `{uuid}`.",
				Default: "key-{random:0-9}; txn: txn-{random:0-4}"},
			field{Name: "value_size", Shape: anyOf(shape{Kind: schema.Whole, Max: maxValueBytes},
				listOf(shape{Kind: schema.Whole, Max: maxValueBytes})),
				Says: "Bytes of a written value, at least its unique part. `[a, b]`: a random length, half of them at " +
					"boundaries (docs/reference/workloads.md#settings).",
				Default: "the length of the unique part"},
			field{Name: "path", Shape: aText, Says: "http: path on the target, with `{key}`.", Default: "/kv/{key}"},
		)), Says: "Mix of operations.", Default: "reads and writes in equal shares"},
		field{Name: "schedule", Shape: aText,
			Says: "File of operations with times and clients, instead of `qps`, `clients` and " +
				"`operations` (docs/reference/import.md)."},
		field{Name: "dictionary", Shape: sectionOf(
			field{Name: "probability", Shape: aRate,
				Says: "Probability that a key, or the end of a value, comes from the dictionary.", Default: "0.05"},
			field{Name: "file", Shape: aText,
				Says: "More entries, one per line: text, or a JSON string such as `\"a\\u0000\"`; `\"ab\"*100` repeats it. Lines " +
					"that start with `#` are ignored."},
			field{Name: "only_file", Shape: aFlag, Says: "Uses only the file's entries.", Default: "false"},
		), Says: "Unusual keys and values: `~tmp`, near path limits, look-alike Unicode, very long. Each tape chooses " +
			"a few."},
		field{Name: "environment", Shape: shape{Kind: schema.Variables}, Says: "command, composer: environment variables."},
		field{Name: "options", Shape: sectionOf(
			field{Name: "spread", Shape: oneOf("first", "round-robin", "client", "hash", "failover"),
				Says: "How an operation chooses one of several servers.", Default: spreadsByDriver()},
			field{Name: "fail_status", Shape: aText, Says: "http: statuses that prove that the operation had no effect, such as `409, 503`."},
			field{Name: "json_field", Shape: aText,
				Says: "http: writes send `{\"FIELD\": VALUE}`, and reads take the value from this field."},
			field{Name: "put_method", Shape: oneOf("PUT", "POST"), Says: "http: method for writes.", Default: "PUT"},
			field{Name: "trim_space", Shape: aFlag, Says: "http: trims white space from read values.", Default: "false"},
			field{Name: "sentinels", Shape: aText, Says: "redis: sentinels that resolve the master, as `host:port, ...`."},
			field{Name: "isolation", Shape: oneOf("serializable", "repeatable-read", "read-committed", "read-uncommitted",
				"default"), Says: "sql: isolation level of txn.", Default: "serializable"},
			field{Name: "model", Shape: oneOf("list-append", "rw-register"),
				Says: "sql: txn appends to lists or writes registers.", Default: "list-append"},
			field{Name: "serializable", Shape: aFlag, Says: "etcd: serializable reads, which any member answers from its own data.", Default: "false"},
			field{Name: "back", Shape: wholeFrom(0), Says: "etcd: how many revisions before the latest range_put reads.", Default: "10"},
			field{Name: "master_name", Shape: aText, Says: "redis: name of the master at the sentinels."},
			field{Name: "ack_wait", Shape: aDuration, Says: "nats: how long the server waits for the acknowledgement of a message before it delivers it again.",
				Default: "2s"},
			field{Name: "replicas", Shape: wholeFrom(1), Says: "nats, kafka: replicas of what the driver creates.", Default: "1"},
			field{Name: "qos", Shape: shape{Kind: schema.Whole, Max: 2}, Says: "mqtt: quality of service of messages and subscriptions.", Default: "1"},
			field{Name: "version", Shape: oneOf("3.1.1", "5"), Says: "mqtt: version of the protocol.", Default: "5"},
			field{Name: "queue_type", Shape: oneOf("classic", "quorum"), Says: "amqp: type of the queues that the driver declares.", Default: "classic"},
			field{Name: "local_reads", Shape: aFlag, Says: "zookeeper: reads without `sync` before them.", Default: "false"},
			field{Name: "acks", Shape: oneOf("all", "leader"), Says: "kafka: which replicas must have a record before the broker answers.", Default: "all"},
		), Says: "Options of the drivers (docs/reference/workloads.md)."},
	), Says: "Parameters of the driver."},
)

// targetForms has an example of a target for each form.
func targetForms() string {
	var forms []string
	for _, k := range kinds.All {
		if k.Name != "redis" {
			forms = append(forms, k.Name+": `"+k.Target+"`")
		}
	}
	return strings.Join(forms, ", ")
}

// operationWords are the names of all operations.
func operationWords() (words []string) {
	for _, k := range kinds.All {
		for _, o := range k.Operations {
			if !slices.Contains(words, o) {
				words = append(words, o)
			}
		}
	}
	return words
}

// operationsByDriver lists the operations of each driver.
func operationsByDriver() string {
	var parts []string
	for _, k := range kinds.All {
		parts = append(parts, k.Name+": "+strings.Join(k.Operations, ", "))
	}
	return strings.Join(parts, ". ") + "."
}

// spreadsByDriver lists the default spread of each driver.
func spreadsByDriver() string {
	var parts []string
	for _, spread := range kinds.Spreads {
		var names []string
		for _, k := range kinds.All {
			if k.Spread == spread {
				names = append(names, k.Name)
			}
		}
		if len(names) > 0 {
			parts = append(parts, strings.Join(names, ", ")+": "+spread)
		}
	}
	return strings.Join(parts, "; ")
}
