package config

import (
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/config/keys"
	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
)

// Live is a live.yaml: which processes are explored, and within which bounds.
type Live struct {
	File            string
	Store           string
	CheckpointEvery time.Duration
	Budget          LiveBudget
	Nodes           []LiveNode
}

// LiveBudget bounds what exploring costs the machine.
type LiveBudget struct {
	Explore, PathTime time.Duration
	Paths             int
	CPUs              float64
	CPUList           []int // numbers of CPUs; nil is as they are
	MemoryBytes       uint64
	Cgroup            string // folder of a control group; empty is none
}

// LiveNode is a process.
type LiveNode struct {
	Name     string
	Socket   string   // absolute
	Handlers []string // nil is all
	// Restore is the command of a process that takes a snapshot of the one at Socket, in the folder Dir; nil is none.
	Restore []string
	Dir     string
}

// LoadLive reads a live.yaml. Mistakes in the file are an Errors.
func LoadLive(name string) (*Live, []Note, error) {
	r := &Live{File: name}
	notes, err := loadAlone(name, "docs/how-to/explore-a-running-service.md", &keys.Live, r.read)
	if err != nil {
		return nil, nil, err
	}
	return r, notes, nil
}

func (r *Live) read(l *load.State, n *source.Node) {
	duration := func(n *source.Node, otherwise time.Duration) time.Duration {
		return time.Duration(source.ValueOr(n, int64(otherwise)))
	}
	r.Store = source.ValueOr(n.Get("store"), "")
	r.CheckpointEvery = duration(n.Get("checkpoint_every"), time.Minute)
	b := n.Get("budget")
	r.Budget = LiveBudget{
		Explore: duration(b.Get("explore"), 20*time.Second), PathTime: duration(b.Get("path_time"), 2*time.Second),
		Paths: int(source.ValueOr(b.Get("paths"), int64(10_000))), CPUs: source.ValueOr(b.Get("cpus"), 0.25),
		MemoryBytes: uint64(source.ValueOr(b.Get("memory_bytes"), int64(512<<20))), Cgroup: source.ValueOr(b.Get("cgroup"), ""),
	}
	for _, c := range b.Get("cpu_list").Scalars() {
		r.Budget.CPUList = append(r.Budget.CPUList, int(source.ValueOr(c, int64(0))))
	}
	nodes := n.Get("nodes")
	if nodes == nil || len(nodes.Entries) == 0 {
		l.Fail(n.Position, "add `nodes: {NAME: {socket: PATH}}`", "there is no node to explore")
		return
	}
	for _, e := range nodes.Entries {
		socket := e.Value.Get("socket")
		path := source.ValueOr(socket, "")
		if path == "" {
			if !e.Value.Bad && (socket == nil || !socket.Bad) {
				l.Fail(e.Key.Position, "add `socket: PATH`, the path that the process has in BLOODHOUND_LIVE_SOCKET", "node %s has no socket", e.Name)
			}
			continue
		}
		node := LiveNode{Name: e.Name, Socket: socket.File.Beside(path)}
		if command := e.Value.Get("restore"); command != nil {
			node.Restore, node.Dir = l.Argv(command, "nodes."+e.Name+".restore"), command.File.Dir
		}
		for _, h := range e.Value.Get("handlers").Scalars() {
			node.Handlers = append(node.Handlers, h.Text)
		}
		r.Nodes = append(r.Nodes, node)
	}
}
