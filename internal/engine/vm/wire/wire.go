// Package wire has what passes between the engine vm, on this machine, and its agent, in the virtual machine.
//
// The agent asks and the engine answers. A request lies in a window of the guest's memory, whose pages the agent has pinned. The agent
// rings by writing BellBytes bytes to an I/O port: the device writes them to a socket that holds fewer, so that the virtual CPU stands
// still until the engine has read them, and no virtual time passes. The engine reads HeadBytes, which say where the table of the window
// is, reads the request, writes the answer into the window, and then reads the rest.
package wire

import "encoding/json"

const (
	// Port is the I/O port of the device isa-debugcon. Its usual one, 0x402, is used by the BIOS.
	Port = 0x5e8
	// BellBytes is how many bytes the agent writes to ring, of which the first HeadBytes are the magic and the address of the table.
	BellBytes = 96
	HeadBytes = 16
	// MostHeld is how many bytes of a bell the socket may hold unread: with more, the CPU would not stand still.
	MostHeld = 16

	PageBytes   = 4096
	Pages       = 256
	WindowBytes = Pages * PageBytes

	// Places in the table: the kind of a request, the lengths of request and answer, the number of the request, from 1 on, and the physical
	// addresses of the window's pages.
	TableKind    = 8
	TableRequest = 16
	TableAnswer  = 24
	TableNumber  = 32
	TablePages   = 64
)

// Files of the initrd: the names of modules to load, in this order, and where they lie.
const (
	ModulesFile = "/modules"
	ModulesDir  = "/lib/"
	DiskFile    = "/disk" // pages of an empty disk, each behind its offset
)

// Magic begins every bell.
var Magic = [8]byte{'b', 'l', 'o', 'o', 'd', 'h', 'v', 'm'}

// Kinds of requests.
const (
	Turn   = iota + 1 // a Request, answered by an Answer, as JSON
	Stat              // what a file of a tree is
	List              // the names in a folder
	Read              // bytes of a file
	Packet            // what becomes of a packet
)

// Request is the agent's report at a turn.
type Request struct {
	NowNs   int64    `json:"now_ns"` // virtual time since the agent was ready
	Hello   *Hello   `json:"hello,omitempty"`
	Results []Result `json:"results,omitempty"` // of the Acts of the last Answer that have one, in their order
	Notices []Notice `json:"notices,omitempty"`
}

// Hello is the first thing that the agent reports.
type Hello struct {
	Kernel string `json:"kernel"`
	Failed string `json:"failed,omitempty"` // what the kernel lacks
}

// Result is the result of an Act.
type Result struct {
	Error   string `json:"error,omitempty"`
	Errno   int    `json:"errno,omitempty"`
	Count   int    `json:"count,omitempty"`
	PID     int    `json:"pid,omitempty"`
	Program string `json:"program,omitempty"`
	Bytes   int64  `json:"bytes,omitempty"`
	Ports   []int  `json:"ports,omitempty"`
}

// Kinds of Notices.
const (
	Logged   = "log"
	Reported = "report"
	Told     = "sdk"
	Asked    = "control"
	Answered = "answer"
	Exited   = "exit"
	Killed   = "killed" // by the kernel, since the node has as much memory as it may have
	Met      = "met"    // packets have met a fault
)

// Notice is something that happened in the guest.
type Notice struct {
	Kind    string `json:"kind"`
	NowNs   int64  `json:"now_ns"`
	Node    int    `json:"node"`
	Proc    int64  `json:"proc,omitempty"` // of programs that an Act has started
	Tag     int64  `json:"tag,omitempty"`
	PID     int    `json:"pid,omitempty"`
	Program string `json:"program,omitempty"`
	Status  int    `json:"status,omitempty"` // wait status
	Stream  string `json:"stream,omitempty"`
	Text    []byte `json:"text,omitempty"`
	To      int    `json:"to,omitempty"`    // Met: the other end
	Fault   int    `json:"fault,omitempty"` // Met: its number
}

// Answer tells the agent what to do next.
type Answer struct {
	Acts []Act `json:"acts,omitempty"`
	// DueNs is the virtual time of the next turn, if nothing happens before.
	DueNs int64 `json:"due_ns"`
}

// Kinds of Acts.
const (
	DoSetup   = "setup"   // make the nodes
	DoStart   = "start"   // start a program; has a Result
	DoKill    = "kill"    // end a program
	DoKillTag = "killtag" // end all programs of a job
	DoClear   = "clear"   // end all programs of a node
	DoSignal  = "signal"
	DoPause   = "pause"
	DoResume  = "resume"
	DoLink    = "link"
	DoReset   = "reset" // end the TCP connections of a direction; has a Result
	DoOrder   = "order"
	DoSeed    = "seed"    // mix bytes into the kernel's random numbers
	DoCut     = "cut"     // take a node's power away; On: what is in the journal is written
	DoRestore = "restore" // give a node its power back
	DoFill    = "fill"    // leave a disk no room, or give it back
	DoPorts   = "ports"   // tell on which ports a node listens; has a Result
	DoSpill   = "spill"   // end the largest program of a node; has a Result
)

// Act is one thing that the agent does.
type Act struct {
	Kind   string `json:"kind"`
	Setup  *Setup `json:"setup,omitempty"`
	Start  *Start `json:"start,omitempty"`
	Link   *Link  `json:"link,omitempty"`
	Node   int    `json:"node,omitempty"`
	Proc   int64  `json:"proc,omitempty"`
	Tag    int64  `json:"tag,omitempty"`
	Signal int    `json:"signal,omitempty"`
	On     bool   `json:"on,omitempty"`
	Ns     int64  `json:"ns,omitempty"`
	Bytes  []byte `json:"bytes,omitempty"`
	To     int    `json:"to,omitempty"`
	Ends   []int  `json:"ends,omitempty"`
}

// Setup tells the agent what to prepare before anything runs.
type Setup struct {
	StartUnixNs int64  `json:"start_unix_ns"`
	Nodes       []Node `json:"nodes"`
	Links       []Link `json:"links"`
	Ask         bool   `json:"ask,omitempty"`        // every packet is a request of its own
	DiskBytes   int64  `json:"disk_bytes,omitempty"` // of each node, whose disk may lose its power; 0: what nodes write lies in memory
}

// Node is a machine of the world.
type Node struct {
	Name     string   `json:"name"`
	Hostname string   `json:"hostname"`
	Domain   string   `json:"domain,omitempty"`
	Tree     int      `json:"tree"`
	ReadOnly bool     `json:"read_only,omitempty"`
	Dir      string   `json:"dir,omitempty"` // is made if it is not there
	Volumes  []Volume `json:"volumes,omitempty"`
	NICs     []NIC    `json:"nics,omitempty"`
	Files    []File   `json:"files,omitempty"`
	NetOf    int      `json:"net_of"`           // the node whose network it has: itself, or another
	Memory   int64    `json:"memory,omitempty"` // bytes; 0 is no bound
	Tasks    int      `json:"tasks,omitempty"`
	CPUPPM   int64    `json:"cpu_ppm,omitempty"`
	ShmBytes int64    `json:"shm_bytes,omitempty"`
	Sysctls  []File   `json:"sysctls,omitempty"` // paths below /proc/sys
}

// NIC is an interface.
type NIC struct {
	Name string `json:"name"`
	IPv4 string `json:"ipv4,omitempty"` // with the length of its prefix
	IPv6 string `json:"ipv6,omitempty"`
	Net  int    `json:"net"` // the network: nodes on one reach each other
}

// File is a file that the engine itself puts into a node.
type File struct {
	Path string `json:"path"`
	Text []byte `json:"text"`
	Mode uint32 `json:"mode,omitempty"`
	UID  int    `json:"uid,omitempty"`
	GID  int    `json:"gid,omitempty"`
}

// Volume is something mounted into a node's tree.
type Volume struct {
	Target    string `json:"target"`
	Tree      int    `json:"tree"`             // what it begins with; -1 is nothing
	Single    bool   `json:"single,omitempty"` // the tree is one file
	Tmpfs     bool   `json:"tmpfs,omitempty"`
	ReadOnly  bool   `json:"read_only,omitempty"`
	Shared    string `json:"shared,omitempty"`     // nodes with one name share it
	FromImage bool   `json:"from_image,omitempty"` // it begins with what the node's tree has there
	File      *File  `json:"file,omitempty"`
	Mode      uint32 `json:"mode,omitempty"`
	UID       int    `json:"uid,omitempty"`
	GID       int    `json:"gid,omitempty"`
	SizeBytes int64  `json:"size_bytes,omitempty"`
}

// Start is a program to start.
type Start struct {
	Proc    int64    `json:"proc"`
	Tag     int64    `json:"tag"`
	Node    int      `json:"node"`
	Argv    []string `json:"argv"`
	Env     []string `json:"env"`
	Dir     string   `json:"dir"`
	User    string   `json:"user,omitempty"`
	Groups  []string `json:"groups,omitempty"`
	Stdout  string   `json:"stdout"`
	Stderr  string   `json:"stderr"`
	Ordered bool     `json:"ordered,omitempty"` // its standard input takes orders, and answers are written there
	Main    bool     `json:"main,omitempty"`
	OOMAdj  int      `json:"oom_adj,omitempty"`
	Rlimits []Rlimit `json:"rlimits,omitempty"`
}

// Rlimit is a limit of setrlimit(2) by its number.
type Rlimit struct {
	Resource int    `json:"resource"`
	Soft     uint64 `json:"soft"`
	Hard     uint64 `json:"hard"`
}

// Link is the present state of one direction between two nodes.
type Link struct {
	From      int   `json:"from"`
	To        int   `json:"to"`
	LatencyNs int64 `json:"latency_ns,omitempty"`
	JitterNs  int64 `json:"jitter_ns,omitempty"` // at most; the last DoSeed decides
	Bandwidth int64 `json:"bandwidth,omitempty"` // bytes a second; 0 is no bound
	Blocked   int   `json:"blocked,omitempty"`   // the number of the fault that loses what is sent
	Clogged   int   `json:"clogged,omitempty"`   // that holds it back
	Slow      int   `json:"slow,omitempty"`      // that slows it down
	Ask       bool  `json:"ask,omitempty"`       // each packet is a request
}

// Encode writes JSON of a value that has no part that cannot be encoded.
func Encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("wire: " + err.Error())
	}
	return b
}
