// Package attach has another process explore a live one: over a Unix socket it asks for a checkpoint, and gets the pipes by which
// the checkpoint takes inputs. So what is explored costs the live process nothing but the fork.
//
// A connection is for one checkpoint, which ends with it: both sides write a line of JSON, and the pipes follow the answer (SCM_RIGHTS of unix(7)).
package attach

import (
	"time"

	"github.com/bloodhound-dst/bloodhound/live/internal/checkpoint"
)

// SocketVariable is the environment variable that names the socket of a live process.
const SocketVariable = "BLOODHOUND_LIVE_SOCKET"

// RestoreVariable is the environment variable that names a file with the state of another process of the program: the process
// takes that state, and does nothing but give checkpoints.
const RestoreVariable = "BLOODHOUND_LIVE_RESTORE"

// Request asks for a checkpoint, or for a snapshot of the state.
type Request struct {
	Snapshot    bool   `json:"snapshot,omitempty"`
	Router      bool   `json:"router,omitempty"` // explorers answer questions to a router, and no handler runs
	Handler     string `json:"handler"`          // what the explorers run; none if only the names of handlers are asked for
	Change      []byte `json:"change,omitempty"` // a new configuration, which each explorer takes before
	MemoryBytes uint64 `json:"memory_bytes"`     // how much memory a copy may have more than the live process
}

// Answer describes a live process and its checkpoint, as the process reports it.
type Answer struct {
	Handlers []string      `json:"handlers"`
	Changes  bool          `json:"changes"` // it takes a new configuration
	Program  string        `json:"program"` // its file
	PID      int           `json:"pid"`
	Paused   time.Duration `json:"paused_ns"` // for how long the live process stood still
	Error    string        `json:"error,omitempty"`
	// SnapshotBytes is the size of the snapshot that follows.
	SnapshotBytes int `json:"snapshot_bytes,omitempty"`
}

// Offer holds the functions by which a process lets others explore it.
type Offer struct {
	About    Answer // what all answers say of the process
	Take     func(Request) (*checkpoint.Checkpoint, error)
	Snapshot func() (state []byte, paused time.Duration, err error)
}
