package keys

import (
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/schema"
)

var exitCode = shape{Kind: schema.Whole, Min: 1, Max: 255}

// allowance is a way in which a program may end by itself.
var allowance = of(
	field{Name: "exit", Shape: anyOf(exitCode, listOf(exitCode)),
		Says: "Exit codes. A program that a signal has ended has 128 and the number of the signal.", Default: "any, with `panic`"},
	field{Name: "panic", Shape: aPattern, Verbatim: true,
		Says: "Regular expression, or text, in one of the last lines of the program's log or in its report of a panic. Without " +
			"this key, a panic is never allowed.", Default: "any end that is no panic"},
	field{Name: "while", Shape: anyOf(oneOf(FaultKinds...), listOf(oneOf(FaultKinds...))),
		Says: "Kinds of faults of which one affects the node, or did in the 5 seconds before.", Default: "at any time"},
)

var allowances = anyOf(allowance, listOf(allowance))

var property = of(
	field{Name: "name", Shape: aText, Says: "Unique name of the property in reports."},
	field{Name: "kind", Shape: oneOf("safety", "liveness", "invariant", "progress", "recovery"),
		Says: "safety, invariant: the property always holds. An expression of kind invariant is evaluated at every event. " +
			"liveness: the property holds within `timeout` after the start and after each heal. progress, recovery: the check of the same name."},
	field{Name: "description", Shape: aText, Says: "Description for the report of a violation."},
	field{Name: "allow", Shape: allowances,
		Says: "Only with the name `no unexpected exit`, `no panic` or `no crash by a signal`, which every program promises, and " +
			"without `kind` and `check`: ways in which a program of any node may end by design, as `allow` of a node."},
	field{Name: "timeout", Shape: aPositive, Says: "liveness, recovery: maximum time after the start and after each heal.", Default: "30s"},
	field{Name: "timeout_ms", SpellingOf: "timeout", Shape: shape{Kind: schema.Millis, Min: 1}},
	field{Name: "check", Shape: of(append([]field{
		field{Name: "type", Shape: oneOf(CheckTypes...), Says: "Type of the check."},
		field{Name: "operations", Shape: texts,
			Says: "linearizability, monotonic: operations to judge. linearizability: operations without a model are then assumed " +
				"to change no judged key. progress, recovery: operations to observe.", Default: "all; monotonic: get and read"},
		field{Name: "model", Shape: oneOf(models...),
			Says: "linearizability: model of a key: register, cas-register, key-value (or kv), set, queue, lock, counter, " +
				"append-list. isolation: list-append or rw-register. durability: register, key-value, set, append-list.",
			Default: "kv; isolation: list-append"},
		field{Name: "level", Shape: oneOf(levels...), Says: "isolation: isolation level that transactions must satisfy.", Default: "serializable"},
		field{Name: "endpoint", Shape: aText,
			Says: "http: a URL, or a path on the server of the first http workload. redis: `redis://host:port`. sql: " +
				"`postgres://user:password@host:port/name` or `mysql://...`. agreement: one of these, with `{node}` in place of the node."},
		field{Name: "command", Shape: command, Says: "redis, agreement with redis: command to send.", Default: "redis: PING"},
		field{Name: "query", Shape: aText, Says: "sql, agreement with sql: statement to run."},
		field{Name: "body", Shape: aText, Says: "http, agreement with http: body to send by POST.", Default: "none, by GET"},
		field{Name: "expect", Shape: anyOf(aText, of(
			field{Name: "status", Shape: shape{Kind: schema.Whole, Min: 100, Max: 599}, Says: "http: expected status.", Default: "200"},
			field{Name: "body", Shape: aText, Says: "http: expected body, without white space at both ends."},
		)), Says: "redis: expected reply. sql: expected rows, with `|` between columns. http, agreement with http: a mapping.", Default: "PONG for PING"},
		field{Name: "script", Shape: command,
			Says: "custom: program and arguments, run on a client node. Exit code 0: the property holds. 1: it does not. " +
				"agreement: a program that prints the answer of `{node}`."},
		field{Name: "while", Shape: aText, Says: "liveness, progress, recovery: `majority connected`, `all connected`, or a " +
			"number such as `2 connected`. The property must also hold during faults, as long as that many of `nodes` are up and connected with each other.",
			Default: "no fault lasts"},
		field{Name: "despite", Shape: listOf(oneOf(FaultKinds...)),
			Says: "liveness, progress, recovery, alerts: kinds of faults that are no excuse, wherever they lie."},
		field{Name: "nodes", Shape: texts, Says: "agreement: nodes to ask. `while`: nodes of the group.",
			Default: "all servers that no other node waits for to complete"},
		field{Name: "pattern", Shape: aPattern, Verbatim: true,
			Says: "agreement: regular expression. Its groups, or the whole match, must be equal on all nodes.", Default: "the whole answer"},
		field{Name: "unanswered", Shape: oneOf("violated", "unknown"),
			Says: "agreement: verdict if a node does not answer after all faults have healed.", Default: "violated"},
		field{Name: "condition", Shape: aText, Verbatim: true,
			Says: "expression: expression over the whole history. invariant: expression that must be true at every event (docs/reference/checks.md)."},
		field{Name: "interval", Shape: aPositive,
			Says: "http, redis, sql, custom: interval of the check. alerts: interval of scrapes and evaluations.", Default: "1s; alerts: 15s"},
		field{Name: "failures", Shape: shape{Kind: schema.Whole, Min: 1, Max: 1e6},
			Says: "progress: number of consecutive failures of one kind of operation, key or job that is a violation.", Default: "no limit"},
		field{Name: "hang", Shape: aPositive, Says: "progress: duration of an operation or job that is a violation.", Default: "no limit"},
		field{Name: "grace", Shape: aDuration,
			Says: "progress, alerts: time after the start and after each fault in which failures, durations and alerts do not count.", Default: "0s"},
		field{Name: "during_faults", Shape: aFlag,
			Says: "progress, alerts: `true` also counts failures, durations and alerts during faults.", Default: "false"},
		field{Name: "keys", Shape: anyOf(shape{Kind: schema.Whole, Min: 1, Max: 1000}, texts),
			Says: "recovery: number of keys to try after the last heal, drawn from all used keys. linearizability, monotonic, " +
				"durability: a list of the keys to judge; all of them must be judgeable. `*` and `?` are wildcards. A leading `!` excludes.",
			Default: "recovery: 10; else all that can be judged"},
		field{Name: "jobs", Shape: of(
			field{Name: "start", Shape: aPattern, Verbatim: true,
				Says: "Line or event at which a job starts. The first group of the pattern is the id of the job. Without a group there is one job."},
			field{Name: "done", Shape: aPattern, Verbatim: true, Says: "Line or event at which a job succeeds."},
			field{Name: "failed", Shape: aPattern, Verbatim: true, Says: "Line or event at which a job fails."},
			field{Name: "across_nodes", Shape: aFlag, Says: "`true`: an id is the same job on all nodes.", Default: "false"},
		), Says: "progress, recovery: jobs, recognized in logs of programs or in events of an Antithesis SDK."},
		field{Name: "left_out", Shape: shape{Kind: schema.Number, Max: 1},
			Says: "model: maximum share of events that are ignored or not modelled. Beyond it, the verdict is unknown.", Default: "0.05"},
		field{Name: "rules", Shape: textOrAll, Says: "alerts: files of Prometheus rules, relative to the folder of this file."},
		field{Name: "scrape", Shape: listOf(of(
			field{Name: "job", Shape: aText, Says: "Label `job` of the metrics."},
			field{Name: "endpoint", Shape: aText, Says: "URL of the metrics, such as `http://{node}:8080/metrics`. `{node}` stands for each of the nodes."},
			field{Name: "nodes", Shape: texts, Says: "Nodes to scrape.", Default: "all servers that no other node waits for to complete"},
		)), Says: "alerts: where the metrics come from."},
		field{Name: "alerts", Shape: texts, Says: "alerts: names of the alerts that are violations.", Default: "all"},
		field{Name: "ignore", Shape: texts, Says: "alerts: names of alerts that are no violations."},
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
		field{Name: "spec", Shape: aText, Says: says("file of a TLA+ specification (docs/reference/model.md).")},
		field{Name: "config", Shape: aText, Says: says("configuration file of the specification."), Default: "the `.cfg` file of the same name"},
		field{Name: "library", Shape: texts, Says: says("folders of additional modules.")},
		field{Name: "view", Shape: aText, Says: says("operator of the specification without arguments. A search compares its values instead of whole states."),
			Default: "the whole state"},
		field{Name: "lines", Shape: aPattern, Verbatim: true, Says: says("lines of the servers' logs that are events."), Default: "all"},
		field{Name: "events", Shape: listOf(of(
			field{Name: "log", Shape: aPattern, Verbatim: true, Says: "Matches lines of logs. Arguments refer to its named groups, which are texts."},
			field{Name: "sdk", Shape: aPattern, Verbatim: true,
				Says: "Matches events that servers report by an Antithesis SDK: the name of the event, a blank and its details."},
			field{Name: "probe", Shape: aPattern, Verbatim: true,
				Says: "Matches results of probes: the name of the property, a blank and what the probe returned."},
			field{Name: "crash", Shape: aFlag, Says: "`true`: a fault stops a node, or its program crashes."},
			field{Name: "restart", Shape: aFlag, Says: "`true`: a node starts again after a crash."},
			field{Name: "operation", Shape: aPattern, Verbatim: true, Says: "Matches the names of operations in the history."},
			field{Name: "outcome", Shape: oneOf("invoke", "ok", "fail", "info"), Says: "operation, probe: only events with this outcome.", Default: "all"},
			field{Name: "node", Shape: aPattern, Verbatim: true, Says: "Only events of nodes whose full names match.", Default: "all"},
			field{Name: "action", Shape: aText, Says: "Step of the specification that the event is: the name of an operator."},
			field{Name: "args", Shape: listOf(aText), Verbatim: true,
				Says: "Arguments of the operator: expressions over `node`, `line`, the groups of `log`, `sdk` or `probe`, for " +
					"probes `outcome`, and for operations `client`, `op`, `key`, `input`, `output`, `outcome`, `found`. `int(x)` " +
					"is a number, `name(x)` a model value."},
			field{Name: "ignore", Shape: aText, Says: "Instead of an action: reason why the event is no step."},
			field{Name: "optional", Shape: aFlag,
				Says: "`true`: the rule need not match anything. Otherwise a campaign in which it matches nothing is `unknown`, " +
					"unless it is about crashes or restarts.", Default: "false"},
			field{Name: "shows", Shape: listOf(of(
				field{Name: "operator", Shape: aText, Says: "Operator of the specification."},
				field{Name: "args", Shape: listOf(aText), Verbatim: true, Says: "Arguments of the operator."},
				field{Name: "is", Shape: aText, Verbatim: true, Says: "Expected value of the operator."},
			)), Says: "Values of operators after the step."},
		)), Says: says("rules that map events to steps. The first match decides. An event without a match counts as not modelled.")},
	}
}
