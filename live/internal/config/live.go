package config

import (
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/config/keys"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/prefixset"
)

// Live is a live.yaml: which processes are explored, and within which bounds.
type Live struct {
	File            string
	Store           string
	CheckpointEvery time.Duration
	Budget          Budget
	Nodes           []Node
}

// Budget bounds what exploring costs the machine.
type Budget struct {
	Explore, PathTime time.Duration
	Paths             int
	CPUs              float64
	CPUList           []int // numbers of CPUs; nil is as they are
	MemoryBytes       uint64
	Cgroup            string // folder of a control group; empty is none
}

// Node is a process.
type Node struct {
	Name     string
	Socket   string   // absolute; empty for a BIRD
	Handlers []string // nil is all
	// Restore is the command of a process that takes a snapshot of the one at Socket, in the folder Dir; nil is none.
	Restore []string
	Dir     string
	BIRD    *BIRD // nil is a process at Socket
}

// BIRD is a running BIRD 2. Paths are absolute.
type BIRD struct {
	Control string
	PIDFile string            // empty: PID
	PID     int               // 0: the process that listens at Control
	Config  string            // empty: the file that BIRD was started with
	Anycast []prefixset.Range // prefixes that may have several origins
}

// LoadLive reads a live.yaml. Mistakes in the file are a source.Errors.
func LoadLive(name string) (*Live, []source.Note, error) {
	r := &Live{File: name}
	notes, err := load(name, "docs/how-to/explore-a-running-service.md", &keys.Live, r.read)
	if err != nil {
		return nil, nil, err
	}
	return r, notes, nil
}

func (r *Live) read(l *source.Reader, n *source.Node) {
	duration := func(n *source.Node, otherwise time.Duration) time.Duration {
		return time.Duration(source.ValueOr(n, int64(otherwise)))
	}
	r.Store = source.ValueOr(n.Get("store"), "")
	r.CheckpointEvery = duration(n.Get("checkpoint_every"), time.Minute)
	b := n.Get("budget")
	r.Budget = Budget{
		Explore: duration(b.Get("explore"), 20*time.Second), PathTime: duration(b.Get("path_time"), 2*time.Second),
		Paths: int(source.ValueOr(b.Get("paths"), int64(10_000))), CPUs: source.ValueOr(b.Get("cpus"), 0.25),
		MemoryBytes: uint64(source.ValueOr(b.Get("memory_bytes"), int64(512<<20))), Cgroup: source.ValueOr(b.Get("cgroup"), ""),
	}
	for _, c := range b.Get("cpu_list").Scalars() {
		r.Budget.CPUList = append(r.Budget.CPUList, int(source.ValueOr(c, int64(0))))
	}
	nodes := n.Get("nodes")
	if nodes == nil || len(nodes.Entries) == 0 {
		l.Fail(n.Position, "add `nodes: {NAME: {socket: PATH}}`, or `nodes: {NAME: {bird: {control: PATH}}}`", "there is no node to explore")
		return
	}
	for _, e := range nodes.Entries {
		var handlers []string
		for _, h := range e.Value.Get("handlers").Scalars() {
			handlers = append(handlers, h.Text)
		}
		socket := e.Value.Get("socket")
		if bird := e.Value.Get("bird"); bird != nil {
			for _, other := range []string{"socket", "restore"} {
				if n := e.Value.Get(other); n != nil {
					l.Fail(n.Position, "remove `"+other+"`", "node %s is a BIRD, which has no %s", e.Name, other)
				}
			}
			r.Nodes = append(r.Nodes, Node{Name: e.Name, Handlers: handlers, BIRD: readBIRD(l, bird)})
			continue
		}
		path := source.ValueOr(socket, "")
		if path == "" {
			if !e.Value.Bad && (socket == nil || !socket.Bad) {
				l.Fail(e.Key.Position, "add `socket: PATH`, the path that the process has in BLOODHOUND_LIVE_SOCKET, or `bird: {control: PATH}`",
					"node %s has no socket", e.Name)
			}
			continue
		}
		node := Node{Name: e.Name, Socket: socket.File.Beside(path)}
		if command := e.Value.Get("restore"); command != nil {
			node.Restore, node.Dir = l.Argv(command, "nodes."+e.Name+".restore"), command.File.Dir
		}
		node.Handlers = handlers
		r.Nodes = append(r.Nodes, node)
	}
}

func readBIRD(l *source.Reader, n *source.Node) *BIRD {
	file := func(key string) string {
		if s := source.ValueOr(n.Get(key), ""); s != "" {
			return n.Get(key).File.Beside(s)
		}
		return ""
	}
	b := &BIRD{Control: file("control"), PIDFile: file("pid_file"), PID: int(source.ValueOr(n.Get("pid"), int64(0))),
		Config: file("config"), Anycast: readRanges(l, n.Get("anycast"))}
	switch {
	case n.Bad:
	case b.Control == "":
		l.Fail(n.Position, "add `control: PATH`, the control socket of BIRD", "there is no control")
	case b.PIDFile != "" && b.PID != 0:
		l.Fail(n.Get("pid").Position, "remove one of them", "there are pid and pid_file")
	}
	return b
}

// readRanges reads a list of ranges of prefixes.
func readRanges(l *source.Reader, n *source.Node) (list []prefixset.Range) {
	for _, x := range n.Scalars() {
		prefixes, err := prefixset.ParseRange(x.Text)
		if err != nil {
			l.Fail(x.Position, "write an IPv4 prefix, followed by `ge LENGTH` or `le LENGTH` to include longer "+
				"ones", "%v", err)
		}
		list = append(list, prefixes)
	}
	return list
}
