package keys

import (
	"github.com/bloodhound-dst/bloodhound/internal/config/schema"
)

var property = of(
	field{Name: "name", Shape: aText, Says: "Its name in reports; each has its own."},
	field{Name: "kind", Shape: oneOf("safety", "liveness", "invariant", "progress", "recovery"), Says: "safety and invariant: it is never broken; an expression of kind invariant is true at every event. liveness: it holds within `timeout` after the start and after each heal. progress, recovery: those of the checks of these names."},
	field{Name: "description", Shape: aText, Says: "For the story of a violation."},
	field{Name: "timeout", Shape: aPositive, Says: "liveness, recovery: how long it may take after the start and after each heal.", Default: "30s"},
	field{Name: "timeout_ms", SpellingOf: "timeout", Shape: shape{Kind: schema.Millis, Min: 1}},
	field{Name: "check", Shape: of(
		field{Name: "type", Shape: oneOf(CheckTypes...), Says: "How it is judged."},
		field{Name: "operations", Shape: texts, Says: "linearizability, monotonic: the operations whose results are judged. progress, recovery: those that are looked at.", Default: "all; monotonic: get and read"},
		field{Name: "model", Shape: oneOf(models...), Says: "linearizability: what a key is like: register, cas-register, key-value (or kv), set, queue, lock, counter, append-list. isolation: list-append or rw-register. durability: register, key-value, set, append-list.", Default: "kv; isolation: list-append"},
		field{Name: "level", Shape: oneOf(levels...), Says: "isolation: what transactions must not see of each other.", Default: "serializable"},
		field{Name: "endpoint", Shape: aText, Says: "http: a URL, or a path on the first http workload's server. redis: `redis://host:port`. sql: `postgres://user:password@host:port/name` or `mysql://...`. agreement: one of these, with `{node}` for the node."},
		field{Name: "command", Shape: command, Says: "redis, agreement of redis: the command.", Default: "redis: PING"},
		field{Name: "query", Shape: aText, Says: "sql, agreement of sql: the statement."},
		field{Name: "body", Shape: aText, Says: "http, agreement of http: what is sent, by POST.", Default: "nothing, by GET"},
		field{Name: "expect", Shape: anyOf(aText, of(
			field{Name: "status", Shape: shape{Kind: schema.Whole, Min: 100, Max: 599}, Says: "http: the status.", Default: "200"},
			field{Name: "body", Shape: aText, Says: "http: the whole body, without white space around it."},
		)), Says: "redis: the reply. sql: the rows, with `|` between columns. http, agreement of http: a mapping.", Default: "PONG for PING"},
		field{Name: "script", Shape: command, Says: "custom: a program and its arguments, run on a client node; exit code 0 says that it holds, 1 that it does not. agreement: a program that prints the answer of `{node}`."},
		field{Name: "nodes", Shape: texts, Says: "agreement: the nodes that are asked.", Default: "all servers that stay"},
		field{Name: "pattern", Shape: aPattern, Verbatim: true, Says: "agreement: a regular expression; its groups, or what it matches, must be the same.", Default: "the whole answer"},
		field{Name: "unanswered", Shape: oneOf("violated", "unknown"), Says: "agreement: what it is when a node does not answer after all faults are over.", Default: "violated"},
		field{Name: "condition", Shape: aText, Verbatim: true, Says: "expression: an expression over the whole history. invariant: one that is true at every event (docs/reference/checks.md)."},
		field{Name: "interval", Shape: aPositive, Says: "http, redis, sql, custom: how often it runs.", Default: "1s"},
		field{Name: "failures", Shape: shape{Kind: schema.Whole, Min: 1, Max: 1e6}, Says: "progress: so many failures in a row of one kind of operation, key or job are a violation.", Default: "no bound"},
		field{Name: "hang", Shape: aPositive, Says: "progress: an operation or job that is under way for so long is a violation.", Default: "no bound"},
		field{Name: "grace", Shape: aDuration, Says: "progress: so long after each fault, and after the start, failures and time do not count.", Default: "0s"},
		field{Name: "during_faults", Shape: aFlag, Says: "progress: true counts what happens while a fault lasts, too.", Default: "false"},
		field{Name: "keys", Shape: shape{Kind: schema.Whole, Min: 1, Max: 1000}, Says: "recovery: how many keys, drawn from all that were used, are tried after the last heal.", Default: "10"},
		field{Name: "jobs", Shape: of(
			field{Name: "start", Shape: aPattern, Verbatim: true, Says: "A job begins. The first group of the pattern is the job's id; without a group there is one job."},
			field{Name: "done", Shape: aPattern, Verbatim: true, Says: "It has ended well."},
			field{Name: "failed", Shape: aPattern, Verbatim: true, Says: "It has failed."},
			field{Name: "across_nodes", Shape: aFlag, Says: "true: one id is one job, whichever node writes it.", Default: "false: each node has jobs of its own"},
		), Says: "progress, recovery: jobs, by what programs write about them in their logs or as events of an Antithesis SDK."},
		field{Name: "spec", Shape: aText, Says: "model: the file of a specification in TLA+ (docs/reference/model.md)."},
		field{Name: "config", Shape: aText, Says: "model: its configuration file.", Default: "that of the same name"},
		field{Name: "library", Shape: texts, Says: "model: folders of further modules."},
		field{Name: "view", Shape: aText, Says: "model: an operator of the specification without arguments: what of its states a search tells apart.", Default: "all of a state"},
		field{Name: "lines", Shape: aPattern, Verbatim: true, Says: "model: the lines of the servers' logs that are events.", Default: "all"},
		field{Name: "left_out", Shape: shape{Kind: schema.Number, Max: 1}, Says: "model: the share of the events that may be ignored or not modelled before the verdict is unknown.", Default: "0.05"},
		field{Name: "events", Shape: listOf(of(
			field{Name: "log", Shape: aPattern, Verbatim: true, Says: "Lines of logs that match it. Its named groups stand in arguments by their names, as texts."},
			field{Name: "crash", Shape: aFlag, Says: "true: a fault takes a node down, or its program breaks."},
			field{Name: "restart", Shape: aFlag, Says: "true: a node starts again after such a fault."},
			field{Name: "operation", Shape: aPattern, Verbatim: true, Says: "Events of the history whose operation's name matches it."},
			field{Name: "outcome", Shape: oneOf("invoke", "ok", "fail", "info"), Says: "operation: only those.", Default: "all"},
			field{Name: "node", Shape: aPattern, Verbatim: true, Says: "Only of nodes whose whole names match it.", Default: "all"},
			field{Name: "action", Shape: aText, Says: "The step that the event is: an operator of the specification."},
			field{Name: "args", Shape: listOf(aText), Verbatim: true, Says: "Its arguments, as expressions over `node`, `line`, the groups of `log`, and of operations `client`, `op`, `key`, `input`, `output`, `outcome`, `found`. `int(x)` is a number, `name(x)` a model value."},
			field{Name: "ignore", Shape: aText, Says: "Instead of an action: why the event is no step."},
			field{Name: "shows", Shape: listOf(of(
				field{Name: "operator", Shape: aText, Says: "An operator of the specification."},
				field{Name: "args", Shape: listOf(aText), Verbatim: true, Says: "Its arguments."},
				field{Name: "is", Shape: aText, Verbatim: true, Says: "What it must be."},
			)), Says: "What the specification must show after the step."},
		)), Says: "model: which events are which steps. The first that matches decides; what none matches is counted as not modelled."},
	), Says: "The check."},
)
