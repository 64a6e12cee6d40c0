package world

import (
	"fmt"
	"strconv"
	"strings"
)

// PropertyKind says when a property must hold.
type PropertyKind string

const (
	Safety    PropertyKind = "safety"
	Liveness  PropertyKind = "liveness"
	Invariant PropertyKind = "invariant"
	Progress  PropertyKind = "progress" // the kind of ProgressCheck
	Recovery  PropertyKind = "recovery" // the kind of RecoveryCheck
)

// NodePlace stands for the node's name in what an agreement asks.
const NodePlace = "{node}"

// UnknownIfSilent as Check.Unanswered: a node that does not answer leaves an agreement unknown, and does not violate it.
const UnknownIfSilent = "unknown"

// Property is a promise about the world.
type Property struct {
	Name        string       `json:"name"`
	Kind        PropertyKind `json:"kind"`
	Description string       `json:"description,omitempty"`
	// TimeoutNs: a liveness property must hold within this time after the start and after each heal.
	TimeoutNs int64 `json:"timeout_ns,omitempty"`
	Check     Check `json:"check"`
}

// Check is a type of checks with its parameters. CheckKinds says which of them the type has; the others are not set.
//
// Fields keep the order of stored JSON, on which digests depend.
type Check struct {
	Type CheckType `json:"type"`
	Subject
	Question
	Tolerance
	Comparison
	Patience
	// Keys is how many keys a recovery check tries after the last heal.
	Keys int  `json:"keys,omitempty"`
	Jobs Jobs `json:"jobs,omitzero"` // progress, recovery
	// Mapping reports which steps of a specification the events of a run are: model.
	Mapping *Mapping `json:"mapping,omitempty"`
	Alerts  *Alerts  `json:"alerts,omitempty"` // alerts
	// IntervalNs is how often a probing check runs.
	IntervalNs int64 `json:"interval_ns,omitempty"`
}

// Subject chooses what checks judge of the history of operations, and what they promise of it.
type Subject struct {
	Operations []string `json:"operations,omitempty"` // linearizability, monotonic: whose results are judged; progress, recovery
	Model      string   `json:"model,omitempty"`      // linearizability, isolation, durability
	Level      string   `json:"level,omitempty"`      // isolation, delivery
	Order      string   `json:"order,omitempty"`      // delivery
	Condition  string   `json:"condition,omitempty"`  // expression, invariant
	// KeyPatterns choose the keys that are judged: linearizability, monotonic, durability, delivery. Without any, these are all that can be.
	KeyPatterns []string `json:"key_patterns,omitempty"`
}

// Question has a probe's request and the answer that it expects.
type Question struct {
	Endpoint     string   `json:"endpoint,omitempty"` // http: URL; redis: redis://host:port; sql: postgres:// or mysql://
	Body         string   `json:"body,omitempty"`     // http: what is sent, by POST
	Query        string   `json:"query,omitempty"`    // sql
	ExpectStatus int      `json:"expect_status,omitempty"`
	ExpectBody   string   `json:"expect_body,omitempty"`
	Command      []string `json:"command,omitempty"` // redis: words of the command
	Expect       string   `json:"expect,omitempty"`  // redis: the reply
	Script       []string `json:"script,omitempty"`  // custom: argv, run on the checker's node
}

// Tolerance says which faults do not excuse a violation of liveness, progress or recovery.
type Tolerance struct {
	// While is a condition (Connected) on Nodes: as long as it is true the property must hold, whatever faults lie elsewhere. Faults
	// of the kinds in Despite excuse nothing anywhere.
	While   string   `json:"while,omitempty"`
	Despite []string `json:"despite,omitempty"`
	// Nodes are those that While is about, or those that an agreement asks.
	Nodes []string `json:"nodes,omitempty"`
}

// Comparison says how an agreement compares the answers of nodes.
type Comparison struct {
	// Pattern is a regular expression. Its groups, or else its whole match, must agree.
	Pattern    string `json:"pattern,omitempty"`
	Unanswered string `json:"unanswered,omitempty"` // violated (also empty) or UnknownIfSilent
}

// Patience bounds what checks of progress and alerts let pass.
type Patience struct {
	// Failures is the number of failures in a row, and HangNs the time under way, that a progress check tolerates; 0 means unlimited.
	Failures int   `json:"failures,omitempty"`
	HangNs   int64 `json:"hang_ns,omitempty"`
	// Times of faults, and GraceNs after them, do not count unless DuringFaults.
	GraceNs      int64 `json:"grace_ns,omitempty"`
	DuringFaults bool  `json:"during_faults,omitempty"`
}

// Tolerant reports whether a property must hold while some faults last, and not only without any.
func (p *Property) Tolerant() bool { return p.Check.While != "" || len(p.Check.Despite) > 0 }

// Connected reads a condition on a group of n nodes: "majority connected", "all connected", or a number and "connected". It is
// how many of the nodes must be up, and connected with each other.
func Connected(condition string, n int) (least int, err error) {
	amount, rest, _ := strings.Cut(strings.TrimSpace(condition), " ")
	if strings.TrimSpace(rest) != "connected" {
		return 0, fmt.Errorf("%q is not a condition; write majority connected, all connected, or a number such as 2 connected", condition)
	}
	switch amount {
	case "majority":
		return n/2 + 1, nil
	case "all":
		return n, nil
	}
	if least, err = strconv.Atoi(amount); err != nil || least < 1 {
		return 0, fmt.Errorf("%q is not a condition; write majority connected, all connected, or a number such as 2 connected", condition)
	}
	if least > n {
		return 0, fmt.Errorf("%d of %d nodes are never connected", least, n)
	}
	return least, nil
}
