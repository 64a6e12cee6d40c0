package records

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/failure"
)

// LiveEngine is the engine of environments in which copies of live processes are explored.
const LiveEngine = "live"

// LiveFailure is the file of a failure that exploring a handler of a live process has found: it is tried again in copies of the process as it is then.
type LiveFailure struct {
	Node    string      `json:"live_node"`
	Handler string      `json:"handler"`
	What    string      `json:"what"`
	Where   string      `json:"where,omitempty"` // of a panic
	Inputs  []LiveInput `json:"inputs"`
}

// LiveInput is a symbolic input of the handler with its value.
type LiveInput struct {
	Name  string `json:"name"`
	Width uint8  `json:"width_bits"`
	Value uint64 `json:"value"`
}

// LiveTest names the test that is a handler of a live process.
func LiveTest(node, handler string) string { return "live/" + node + "/" + handler }

// Signature returns the common identity of failures that are the same.
func (f *LiveFailure) Signature() string { return strings.TrimSpace(f.What + " " + f.Where) }

// Identity is the failure, but for the test.
func (f *LiveFailure) Identity() failure.Failure {
	return failure.Failure{Property: f.What, Signature: f.Signature()}
}

// ParseLiveFailure reads the file of a failure. It is an error if the failure is another one than of a live process.
func ParseLiveFailure(file []byte) (*LiveFailure, error) {
	if !bytes.HasPrefix(file, []byte(`{"live_node":`)) { // those of other failures may be large
		return nil, errors.New("this is not the file of a failure in a live process")
	}
	var f LiveFailure
	if err := json.Unmarshal(file, &f); err != nil {
		return nil, err
	}
	return &f, nil
}
