package view

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/record"
)

// Process is a process of a node with its threads.
type Process struct {
	Node    string          `json:"node"`
	PID     int             `json:"pid"`
	PPID    int             `json:"ppid"`
	Program string          `json:"program"`
	Args    []string        `json:"args,omitempty"`
	Threads []ProcessThread `json:"threads"`
}

// ProcessThread is a thread of a Process.
type ProcessThread struct {
	TID     int    `json:"tid"`
	Name    string `json:"name"`
	Call    string `json:"call,omitempty"`
	SinceNs int64  `json:"since_ns,omitempty"`
}

// Processes lists those of all nodes, in the order of their nodes and numbers.
func Processes(x engine.Inspection) (list []Process, err error) {
	threads, err := x.Threads()
	if err != nil {
		return nil, err
	}
	place := map[string]int{}
	for _, t := range threads {
		key := t.Node + " " + strconv.Itoa(t.PID)
		i, known := place[key]
		if !known {
			i = len(list)
			place[key] = i
			list = append(list, Process{Node: t.Node, PID: t.PID, PPID: t.PPID, Program: t.Program, Args: t.Args})
		}
		list[i].Threads = append(list[i].Threads, ProcessThread{t.TID, t.Name, t.Call, t.SinceNs})
	}
	return list, nil
}

// WriteProcesses prints a line for each thread, with what it waits in and for how long at the virtual time nowNs.
func WriteProcesses(w io.Writer, list []Process, nowNs int64) error {
	if len(list) == 0 {
		return none(w, "no process runs")
	}
	t := table(w, "NODE", "PID", "PPID", "TID", "THREAD", "WAITS IN", "FOR", "COMMAND")
	for _, p := range list {
		command := p.Program
		if len(p.Args) > 0 {
			command = strings.Join(p.Args, " ")
		}
		for _, h := range p.Threads {
			call, since := "-", "-"
			if h.Call != "" {
				call, since = h.Call, seconds(nowNs-h.SinceNs)
			}
			t.row(p.Node, p.PID, p.PPID, h.TID, h.Name, call, since, clip(command))
		}
	}
	return t.Flush()
}

// WriteNodes prints a line for each node.
func WriteNodes(w io.Writer, list []engine.Node) error {
	t := table(w, "NODE", "STATUS", "ADDRESSES")
	for _, n := range list {
		status := n.Status
		if status == "ended" {
			status = fmt.Sprintf("ended, exit code %d", n.ExitCode)
		}
		t.row(n.Name, status, strings.Join(n.Addresses, " "))
	}
	return t.Flush()
}

// NodeSocket is a socket with the node that it belongs to.
type NodeSocket struct {
	Node string `json:"node"`
	engine.Socket
}

// Sockets lists those of all nodes.
func Sockets(x engine.Inspection) (list []NodeSocket, err error) {
	nodes, err := x.Nodes()
	if err != nil {
		return nil, err
	}
	for _, n := range nodes {
		sockets, err := x.Sockets(n.Name)
		if err != nil {
			return nil, err
		}
		for _, s := range sockets {
			list = append(list, NodeSocket{n.Name, s})
		}
	}
	return list, nil
}

// WriteSockets prints a line for each socket, as ss(8) does.
func WriteSockets(w io.Writer, list []NodeSocket) error {
	if len(list) == 0 {
		return none(w, "there is no socket")
	}
	t := table(w, "NODE", "KIND", "STATE", "NOT READ", "NOT ACKED", "LOCAL", "REMOTE")
	for _, s := range list {
		t.row(s.Node, s.Object, cmp.Or(s.State, "-"), s.ReceivedBytes, s.SentBytes, cmp.Or(s.Local, "-"), cmp.Or(s.Remote, "-"))
	}
	return t.Flush()
}

// WriteOpenFiles prints a line for each descriptor of a process.
func WriteOpenFiles(w io.Writer, list []engine.OpenFile) error {
	if len(list) == 0 {
		return none(w, "no descriptor is open")
	}
	t := table(w, "FD", "KIND", "PATH")
	for _, f := range list {
		t.row(f.FD, cmp.Or(f.Object, "-"), f.Path)
	}
	return t.Flush()
}

// LogUntil gives the lines that programs had written when an event had happened.
func LogUntil(log []record.LogLine, event uint64) []record.LogLine {
	for i := range log {
		if log[i].Event > event {
			return log[:i:i]
		}
	}
	return log
}

func none(w io.Writer, text string) error {
	_, err := fmt.Fprintln(w, text)
	return err
}

// columns prints a table.
type columns struct{ *tabwriter.Writer }

func table(w io.Writer, head ...any) columns {
	t := columns{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	t.row(head...)
	return t
}

func (t columns) row(cells ...any) {
	for i, c := range cells {
		if i > 0 {
			io.WriteString(t, "\t")
		}
		io.WriteString(t, printable(fmt.Sprint(c)))
	}
	io.WriteString(t, "\n")
}

const maxCommandRunes = 120

func clip(text string) string {
	if r := []rune(text); len(r) > maxCommandRunes {
		return string(r[:maxCommandRunes]) + "..."
	}
	return text
}

// printable makes one line of a text that a program under test may have chosen.
func printable(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return text
	}
	q := strconv.Quote(text)
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}

func seconds(ns int64) string { return strconv.FormatFloat(float64(ns)/1e9, 'f', 6, 64) + "s" }
