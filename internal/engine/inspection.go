package engine

import (
	"io"
	"io/fs"

	"github.com/bloodhound-dst/bloodhound/internal/record"
)

// Inspection answers questions about a stopped world, between two calls of Advance. A question changes nothing in
// the run. A method that an engine cannot answer returns ErrUnsupported. Threads and processes are named as programs see
// them: by a node and the number that they have there.
type Inspection interface {
	// Position is where the world stopped.
	Position() record.Position
	// Nodes lists the nodes of the world in the order of its Spec.
	Nodes() ([]Node, error)
	// Threads lists the threads of all nodes, in the order of their nodes and numbers.
	Threads() ([]Thread, error)
	// Registers lists those of a thread.
	Registers(node string, tid int) ([]record.Register, error)
	// Memory reads bytes of a process. It returns fewer than asked for where a page cannot be read.
	Memory(node string, pid int, address uint64, bytes int) ([]byte, error)
	// Files lists the open descriptors of a process.
	Files(node string, pid int) ([]OpenFile, error)
	// Sockets lists the sockets of a node.
	Sockets(node string) ([]Socket, error)
	// Tree is a node's file system as it stands: it stays so when the world runs on, until that is closed.
	Tree(node string) (Tree, error)
	// Core writes a core file of a process (core(5)) to a path of this machine. left says what it leaves out, or is empty.
	Core(node string, pid int, path string) (left string, err error)
}

// Tree is the file system of a node. Paths are absolute, and symbolic links in them are followed. What an engine serves by itself, such
// as /proc, is not in it.
type Tree interface {
	// Stat describes a name; of a symbolic link at its end, the link.
	Stat(path string) (File, error)
	// List describes what is in a folder, in the order of names.
	List(path string) ([]File, error)
	// Open reads a regular file.
	Open(path string) (io.Reader, error)
	// Changes lists what programs have made of what was there when the node began: folders before what is in them.
	Changes() ([]FileChange, error)
}

// File is a name of a file system.
type File struct {
	Path    string      `json:"path"`
	Mode    fs.FileMode `json:"-"` // of the name itself
	Rights  string      `json:"mode"`
	UID     int         `json:"uid"`
	GID     int         `json:"gid"`
	Size    int64       `json:"size"`
	MtimeNs int64       `json:"mtime_ns"` // CLOCK_REALTIME of the node, since 1970
	Target  string      `json:"target,omitempty"`
}

// FileChange is a name that is new, changed or removed; of one that is removed, there is only the path.
type FileChange struct {
	Change string `json:"change"`
	File
}

// Node is a node of a stopped world.
type Node struct {
	Name string `json:"name"`
	// Status is waiting (for what it depends on), running, ended (by itself), down (by a fault) or restarting.
	Status string `json:"status"`
	// ExitCode is the exit code of a main process that has ended.
	ExitCode int `json:"exit_code,omitempty"`
	// Addresses lists the addresses of its interfaces.
	Addresses []string `json:"addresses,omitempty"`
}

// Thread is a thread of a program in a stopped world.
type Thread struct {
	Node    string   `json:"node"`
	Program string   `json:"program"` // path in the world
	Args    []string `json:"args,omitempty"`
	PID     int      `json:"pid"`
	PPID    int      `json:"ppid"` // 0 of a process that the world itself has started
	TID     int      `json:"tid"`
	Name    string   `json:"name"`           // as in the events of a trace: fork path, such as n1/0.2
	Call    string   `json:"call,omitempty"` // the system call that it waits in; empty for one that can run
	// SinceNs is the virtual time since which it waits.
	SinceNs int64 `json:"since_ns,omitempty"`
}

// OpenFile is an open descriptor of a process.
type OpenFile struct {
	FD int `json:"fd"`
	// Object is the kind of the open file: file, tcp, udp, unix or pipe; empty where the engine does not name it.
	Object string `json:"object,omitempty"`
	Path   string `json:"path"` // as /proc/PID/fd shows it (proc(5))
}

// Socket is a socket of a node.
type Socket struct {
	Object string `json:"object"` // tcp, udp or unix
	Local  string `json:"local,omitempty"`
	Remote string `json:"remote,omitempty"`
	State  string `json:"state,omitempty"` // of a TCP connection, as ss(8) writes it: LISTEN, ESTAB
	// SentBytes were not acknowledged yet, and ReceivedBytes not read.
	SentBytes     int64 `json:"sent_bytes"`
	ReceivedBytes int64 `json:"received_bytes"`
}
