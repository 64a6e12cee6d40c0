package record

import "strings"

// DiskChange is a change that programs of a node made to a file on its disk, or tried to make, or a loss that a power loss
// caused. Calls of the same name on one file that follow each other are one change.
type DiskChange struct {
	Event  uint64 `json:"event"` // of the first call
	TimeNs int64  `json:"time_ns"`
	LastNs int64  `json:"last_ns,omitempty"` // of the last call, if there were several
	Node   string `json:"node"`
	// Call is a system call, or Lost.
	Call  string `json:"call"`
	Calls uint64 `json:"calls,omitempty"` // if there were several
	Path  string `json:"path"`
	// Old is the path that a renamed file had before.
	Old string `json:"old,omitempty"`
	// From and To are the bytes that a write changed. After a truncation, To is the size. Of a loss, From is the size that the file
	// has left and To the one that it had, if they differ.
	From int64 `json:"from,omitempty"`
	To   int64 `json:"to,omitempty"`
	// Durable says of a file that was renamed that it was synchronised before; a report derives it.
	Durable bool `json:"-"`
	// Short is the number of bytes that a write was asked for, if it wrote fewer.
	Short int64 `json:"short,omitempty"`
	// Pages counts the pages whose content a power loss took back.
	Pages int `json:"pages,omitempty"`
	// Rows are where these pages lie, in bytes: the first MaxRows rows of them.
	Rows  []Row  `json:"rows,omitempty"`
	Errno string `json:"errno,omitempty"`
	// Fault is the kind of fault that was injected into the call.
	Fault string `json:"fault,omitempty"`
	// Restored marks a loss by another disk: an empty one, or a snapshot.
	Restored bool `json:"restored,omitempty"`
}

// CommandWarning begins the warnings of an Outcome about commands that faults of the kind run execute.
const CommandWarning = "faults: "

// Row is a row of bytes of a file, without the byte To.
type Row struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// MaxRows bounds the rows of a DiskChange, and DiskPageBytes is the size of a page.
const (
	MaxRows       = 4
	DiskPageBytes = 4096
)

// Lost is the Call of a DiskChange that a power loss caused.
const Lost = "power loss"

// Removes reports whether a name is gone with the change. That a file takes the place of another one, as a.tmp that of a, removes
// nothing.
func (c *DiskChange) Removes() bool {
	switch {
	case c.Errno != "":
		return false
	case strings.HasPrefix(c.Call, "rename"):
		return !strings.HasPrefix(c.Old, c.Path)
	}
	return strings.HasPrefix(c.Call, "unlink")
}
