// Package keys has the tables of the keys of all configuration files. They are the only list of keys: reading, the pages below
// docs/reference/config, docs/reference/compose.md and docs/schema/config-v1.json follow from them.
package keys

import (
	"regexp"

	"github.com/bloodhound-dst/bloodhound/internal/config/schema"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/workload/kinds"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// NodeName matches the names of nodes: Compose's rule, and a first character that is safe in every place.
var NodeName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}$`)

type (
	shape = schema.Shape
	field = schema.Field
)

func oneOf(words ...string) shape { return shape{Kind: schema.Word, Words: words} }

func sectionOf(fields ...field) shape {
	return shape{Kind: schema.Section, Fields: fields}
}

func listOf(item shape) shape { return shape{Kind: schema.Sequence, Item: &item} }

func anyOf(alts ...shape) shape { return shape{Kind: schema.Either, Alts: alts} }

func wholeFrom(least float64) shape { return shape{Kind: schema.Whole, Min: least} }

func namedWith(item shape) shape {
	return shape{Kind: schema.Dictionary, Item: &item, Names: NodeName}
}

var (
	aText     = shape{Kind: schema.Text}
	aFlag     = shape{Kind: schema.Boolean}
	aRate     = shape{Kind: schema.Rate}
	aNumber   = shape{Kind: schema.Number}
	aWhole    = shape{Kind: schema.Whole}
	aDuration = shape{Kind: schema.Duration}
	aPositive = shape{Kind: schema.Duration, Min: 1}
	aMillis   = shape{Kind: schema.Millis}
	aSpan     = shape{Kind: schema.Span}
	aPattern  = shape{Kind: schema.Pattern}
	anyShape  = shape{Kind: schema.Anything}
	texts     = listOf(aText)
	command   = anyOf(aText, texts) // text is split into words as a shell does it
	textOrAll = anyOf(aText, texts)
)

const (
	forPeople    = "documentation only"
	noCgroup     = "a node has no control group; `mem_limit`, `cpus` and `pids_limit` limit it"
	noSwap       = "nodes have no swap space"
	noPrivileges = "a world confines its programs, whatever their privileges"
	oneCPU       = "every node has one CPU, and computation costs no virtual time"
	oneResolver  = "the world resolves all names"
	NoVersion    = "Compose files need no version"
	noModels     = "a world has no connection to the outside: make the server a node"
	NoDockerfile = "a Dockerfile needs a Compose file. In bloodhound.yaml, `build:` is a command that builds the program on the " +
		"host, such as `build: go build -o bin/app ./cmd/app`, and `command:` runs the result"
)

// maxValueBytes bounds the values that drivers write.
const maxValueBytes = 128 << 10

// The words of checks.
var (
	CheckTypes = world.CheckTypes(func(*world.CheckKind) bool { return true })
	models     = []string{"register", "kv", "key-value", "cas-register", "set", "queue", "lock", "counter", "append-list", "list-append", "rw-register"}
	// deliveryLevels are those of histories.
	deliveryLevels = []string{"at-least-once", "at-most-once", "exactly-once"}
	levels         = []string{"read-committed", "read-atomic", "causal", "snapshot-isolation", "strong-session-snapshot-isolation",
		"serializable", "strong-session-serializable", "strict-serializable"}
	// RegistersOnly are the levels that are not judged over lists.
	RegistersOnly = []string{"read-atomic", "causal", "strong-session-snapshot-isolation", "strong-session-serializable"}
)

// Lengths are the values of exploration.length: runs of several lengths, and FullLength alone.
var Lengths = []string{"vary", FullLength}

// FullLength gives all runs their full length.
const FullLength = "full"

// FaultKinds are the words for kinds of faults.
var FaultKinds = func() (words []string) {
	for _, k := range fault.Kinds() {
		words = append(words, string(k))
	}
	return words
}()

// MaxNodes bounds the nodes of a world, those that drivers and checks add included; addresses end at 10.77.0.249.
const MaxNodes = 240

// Drivers are all drivers.
var Drivers = kinds.Names()
