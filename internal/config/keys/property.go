package keys

import (
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/schema"
)

var exitCode = shape{Kind: schema.Whole, Min: 1, Max: 255}

// allowance is a way in which a program may end by itself.
var allowance = sectionOf(
	field{Name: "exit", Shape: anyOf(exitCode, listOf(exitCode)),
		Says: "Exit codes. A signal's is 128 plus its number.", Default: "any, with `panic`"},
	field{Name: "panic", Shape: aPattern, Verbatim: true,
		Says: "Regular expression for one of the last lines of the log, or of a panic's report. Without it, panics " +
			"are never allowed.", Default: "any end other than a panic"},
	field{Name: "while", Shape: anyOf(oneOf(FaultKinds...), listOf(oneOf(FaultKinds...))),
		Says: "Kinds of faults, one of which affects the node or did up to 5 seconds before.", Default: "at any time"},
)

var allowances = anyOf(allowance, listOf(allowance))

var property = sectionOf(
	field{Name: "name", Shape: aText, Says: "Unique name in reports."},
	field{Name: "kind", Shape: oneOf("safety", "liveness", "invariant", "progress", "recovery"),
		Says: "`safety`, `invariant`: always holds. `liveness`: holds within `timeout` after the start and each " +
			"heal. `progress`, `recovery`: the check of that name."},
	field{Name: "description", Shape: aText, Says: "Description for the report of a violation."},
	field{Name: "allow", Shape: allowances,
		Says: "Ways in which a program of any node may end by design, under the name `no unexpected exit`, `no " +
			"panic` or `no crash by a signal`, without `kind` and `check`."},
	field{Name: "timeout", Shape: aPositive, Says: "liveness, recovery: maximum time after the start and each heal.", Default: "30s"},
	field{Name: "timeout_ms", SpellingOf: "timeout", Shape: shape{Kind: schema.Millis, Min: 1}},
	field{Name: "check", Shape: sectionOf(append([]field{
		field{Name: "type", Shape: oneOf(CheckTypes...), Says: "Type of the check."},
		field{Name: "operations", Shape: texts,
			Says: "Operations to judge or observe. linearizability assumes that operations without a model change no " +
				"judged key.", Default: "all; monotonic: get and read"},
		field{Name: "model", Shape: oneOf(models...),
			Says: "linearizability: register, cas-register, key-value (kv), set, queue, lock, counter, append-list. " +
				"isolation: list-append, rw-register. durability: register, key-value, set, append-list.",
			Default: "kv; isolation: list-append"},
		field{Name: "level", Shape: oneOf(append(slices.Clone(levels), deliveryLevels...)...),
			Says:    "isolation: level that transactions must satisfy. delivery: at-least-once, at-most-once or exactly-once.",
			Default: "serializable; delivery: at-least-once"},
		field{Name: "order", Shape: oneOf("none", "publisher", "total", "increasing"),
			Says: "delivery: order in which each group receives messages for the first time. unique: `increasing`. prefix: `total` judges the " +
				"order of values.", Default: "none"},
		field{Name: "endpoint", Shape: aText,
			Says: "http: a URL, or a path on the server of the first http workload. redis: `redis://host:port`. sql: " +
				"`postgres://user:password@host:port/name` or `mysql://...`. agreement: one of these with `{node}`."},
		field{Name: "command", Shape: command, Says: "redis, agreement: command to send.", Default: "redis: PING"},
		field{Name: "query", Shape: aText, Says: "sql, agreement: statement to run."},
		field{Name: "body", Shape: aText, Says: "http, agreement: body to POST.", Default: "none, by GET"},
		field{Name: "expect", Shape: anyOf(aText, sectionOf(
			field{Name: "status", Shape: shape{Kind: schema.Whole, Min: 100, Max: 599}, Says: "http: expected status.", Default: "200"},
			field{Name: "body", Shape: aText, Says: "http: expected body, without surrounding white space."},
		)), Says: "redis: expected reply. sql: expected rows, with `|` between columns. http, agreement: a mapping.", Default: "PONG for PING"},
		field{Name: "script", Shape: command,
			Says: "custom: program that runs on a client node; exit code 0 holds, 1 is a violation. agreement: program " +
				"that prints the answer of `{node}`."},
		field{Name: "while", Shape: aText, Says: "liveness, progress, recovery: `majority connected`, `all connected` or `2 connected`. Faults are no " +
			"excuse while so many of `nodes` are connected.",
			Default: "no fault lasts"},
		field{Name: "despite", Shape: listOf(oneOf(FaultKinds...)),
			Says: "liveness, progress, recovery, alerts: kinds of faults that excuse nothing."},
		field{Name: "nodes", Shape: texts, Says: "agreement: nodes to ask. `while`: nodes of the group.",
			Default: "all servers that no other node waits for to complete"},
		field{Name: "pattern", Shape: aPattern, Verbatim: true,
			Says: "agreement: regular expression whose groups, or whole match, must be equal on all nodes.", Default: "the whole answer"},
		field{Name: "unanswered", Shape: oneOf("violated", "unknown"),
			Says: "agreement: verdict if a node does not answer after all faults healed.", Default: "violated"},
		field{Name: "condition", Shape: aText, Verbatim: true,
			Says: "expression: over the whole history. invariant: true at every event " +
				"(docs/reference/checks.md#expression-invariant)."},
		field{Name: "interval", Shape: aPositive,
			Says: "How often the check runs. alerts: interval of scrapes and evaluations.", Default: "1s; alerts: 15s"},
		field{Name: "failures", Shape: shape{Kind: schema.Whole, Min: 1, Max: 1e6},
			Says: "progress: consecutive failures of one kind of operation, key or job that are a violation.", Default: "no limit"},
		field{Name: "hang", Shape: aPositive, Says: "progress: duration of an operation or job that is a violation.", Default: "no limit"},
		field{Name: "grace", Shape: aDuration,
			Says: "progress, alerts: time after the start and each fault in which nothing counts.", Default: "0s"},
		field{Name: "during_faults", Shape: aFlag,
			Says: "progress, alerts: `true` also counts during faults.", Default: "false"},
		field{Name: "keys", Shape: anyOf(shape{Kind: schema.Whole, Min: 1, Max: 1000}, texts),
			Says: "recovery: number of used keys to try. linearizability, monotonic, durability: keys to judge, which " +
				"must be judgeable. `*`, `?` and a leading `!` work.",
			Default: "recovery: 10; else all that can be judged"},
		field{Name: "jobs", Shape: sectionOf(
			field{Name: "start", Shape: aPattern, Verbatim: true,
				Says: "Line or event that starts a job. The first group is the job's id; without a group there is one job."},
			field{Name: "done", Shape: aPattern, Verbatim: true, Says: "Line or event of a job's success."},
			field{Name: "failed", Shape: aPattern, Verbatim: true, Says: "Line or event of a job's failure."},
			field{Name: "across_nodes", Shape: aFlag, Says: "`true`: an id is the same job on all nodes.", Default: "false"},
		), Says: "progress, recovery: jobs, recognized in logs or events of an Antithesis SDK."},
		field{Name: "left_out", Shape: shape{Kind: schema.Number, Max: 1},
			Says: "model: maximum share of events that are ignored or not modelled. Beyond it, the verdict is unknown.", Default: "0.05"},
		field{Name: "rules", Shape: textOrAll, Says: "alerts: files of Prometheus rules, relative to this file's folder."},
		field{Name: "scrape", Shape: listOf(sectionOf(
			field{Name: "job", Shape: aText, Says: "Label `job` of the metrics."},
			field{Name: "endpoint", Shape: aText, Says: "URL of the metrics, such as `http://{node}:8080/metrics`, for each node."},
			field{Name: "nodes", Shape: texts, Says: "Nodes to scrape.", Default: "all servers that no other node waits for to complete"},
		)), Says: "alerts: sources of the metrics."},
		field{Name: "alerts", Shape: texts, Says: "alerts: names of alerts that are violations.", Default: "all"},
		field{Name: "ignore", Shape: texts, Says: "alerts: names of alerts that are not violations."},
		field{Name: "labels", Shape: namedWith(aText), Says: "alerts: labels that an alert must have to be a violation, such as `{severity: critical}`."},
	}, mappingKeys("model: ")...)...), Says: "Check that judges the property."},
)

// mappingKeys map events of runs to steps of a specification. about begins what is said of each.
func mappingKeys(about string) []field {
	says := func(text string) string {
		if about == "" {
			return strings.ToUpper(text[:1]) + text[1:]
		}
		return about + text
	}
	return []field{
		field{Name: "spec", Shape: aText, Says: says("TLA+ specification (docs/reference/model.md).")},
		field{Name: "config", Shape: aText, Says: says("configuration file of the specification."), Default: "the `.cfg` file of the same name"},
		field{Name: "library", Shape: texts, Says: says("folders of additional modules.")},
		field{Name: "view", Shape: aText, Says: says("operator without arguments. A search compares its values instead of whole states."),
			Default: "the whole state"},
		field{Name: "lines", Shape: aPattern, Verbatim: true, Says: says("log lines of the servers that are events."), Default: "all"},
		field{Name: "events", Shape: listOf(sectionOf(
			field{Name: "log", Shape: aPattern, Verbatim: true, Says: "Matches log lines. Arguments refer to its named groups, which are text."},
			field{Name: "sdk", Shape: aPattern, Verbatim: true,
				Says: "Matches Antithesis SDK events: name, a blank, details."},
			field{Name: "probe", Shape: aPattern, Verbatim: true,
				Says: "Matches probe results: name of the property, a blank, result."},
			field{Name: "crash", Shape: aFlag, Says: "`true`: a fault stops a node, or its program crashes."},
			field{Name: "restart", Shape: aFlag, Says: "`true`: a node starts again after a crash."},
			field{Name: "operation", Shape: aPattern, Verbatim: true, Says: "Matches names of operations."},
			field{Name: "outcome", Shape: oneOf("invoke", "ok", "fail", "info"), Says: "operation, probe: only this outcome.", Default: "all"},
			field{Name: "node", Shape: aPattern, Verbatim: true, Says: "Only nodes whose full names match.", Default: "all"},
			field{Name: "action", Shape: aText, Says: "Step of the specification: the name of an operator."},
			field{Name: "args", Shape: listOf(aText), Verbatim: true,
				Says: "Arguments: expressions over `node`, `line`, groups, `outcome` of probes, and `client`, `op`, `key`, " +
					"`input`, `output`, `outcome`, `found` of operations. `int(x)` is a number, `name(x)` a model value."},
			field{Name: "ignore", Shape: aText, Says: "Reason why the event is not a step, instead of an action."},
			field{Name: "optional", Shape: aFlag,
				Says: "`true`: the rule need not match. Otherwise a campaign without a match is `unknown`, except for " +
					"crashes and restarts.", Default: "false"},
			field{Name: "shows", Shape: listOf(sectionOf(
				field{Name: "operator", Shape: aText, Says: "Operator of the specification."},
				field{Name: "args", Shape: listOf(aText), Verbatim: true, Says: "Arguments of the operator."},
				field{Name: "is", Shape: aText, Verbatim: true, Says: "Expected value of the operator."},
			)), Says: "Values of operators after the step."},
		)), Says: says("rules that map events to steps. The first match decides; an event without one counts as not " +
			"modelled.")},
	}
}
