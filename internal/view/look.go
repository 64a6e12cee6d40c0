package view

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
)

// NodePath is a path of a node: n1:/var/lib. The path may be missing where a whole node is meant.
type NodePath struct {
	Node string `json:"node"`
	Path string `json:"path,omitempty"`
}

// ParseNodePath reads NODE:PATH, and NODE alone if the path may be missing.
func ParseNodePath(text string, whole bool) (NodePath, error) {
	node, path, cut := strings.Cut(text, ":")
	switch {
	case node == "", !cut && !whole:
		return NodePath{}, fmt.Errorf("%q: give a node and a path, such as n1:/var/lib", text)
	case cut && !strings.HasPrefix(path, "/"):
		return NodePath{}, fmt.Errorf("%q: give an absolute path behind the node, one that begins with /, such as %s:/var/lib", text, node)
	}
	return NodePath{node, path}, nil
}

// NodeProcess is a process of a node: n1/12.
type NodeProcess struct {
	Node string `json:"node"`
	PID  int    `json:"pid"`
}

// ParseNodeProcess reads NODE/PID.
func ParseNodeProcess(text string) (NodeProcess, error) {
	at := strings.LastIndexByte(text, '/')
	pid, err := strconv.Atoi(text[at+1:])
	if at < 1 || err != nil || pid < 1 {
		return NodeProcess{}, fmt.Errorf("%q: give a node and the number that a process has there, such as n1/12; --ps lists them", text)
	}
	return NodeProcess{text[:at], pid}, nil
}

// Request lists the parts of a run to show at a place, whose Until is known. At most one of Cat, Tar and Core is set:
// its bytes go to the file Out.
type Request struct {
	Place     Place        `json:"place"`
	Until     engine.Until `json:"until"`
	Nodes     bool         `json:"nodes,omitempty"`
	Processes bool         `json:"processes,omitempty"`
	Sockets   bool         `json:"sockets,omitempty"`
	Changes   bool         `json:"changes,omitempty"`
	OpenFiles *NodeProcess `json:"open_files,omitempty"`
	List      *NodePath    `json:"list,omitempty"`
	Cat       *NodePath    `json:"cat,omitempty"`
	Tar       *NodePath    `json:"tar,omitempty"`
	Core      *NodeProcess `json:"core,omitempty"`
	Out       string       `json:"out,omitempty"`
}

// Answer holds the state of a run at a place, as far as its Request asks for it.
type Answer struct {
	Event     uint64            `json:"event"`
	TimeNs    int64             `json:"time_ns"`
	Nodes     []engine.Node     `json:"nodes,omitempty"`
	Processes []Process         `json:"processes,omitempty"`
	Sockets   []NodeSocket      `json:"sockets,omitempty"`
	Changes   []NodeChange      `json:"files,omitempty"`
	OpenFiles []engine.OpenFile `json:"open_files,omitempty"`
	List      []engine.File     `json:"list,omitempty"`
	// Left says what Out leaves out, or is empty.
	Left string `json:"left,omitempty"`
	// Refused is why there is no answer: the request does not fit the run, or the engine has none.
	Refused string `json:"refused,omitempty"`
}

// Look runs a world to a place and answers what is asked. The error is of the engine or the machine. The world can run on
// afterwards, as if nothing had been asked.
func Look(w engine.World, r *Request, endNs int64) (*Answer, error) {
	a := new(Answer)
	if err := r.Place.Reach(w, r.Until, endNs); err != nil {
		if errors.Is(err, ErrBeyond) {
			a.Refused = err.Error()
			return a, nil
		}
		return nil, err
	}
	a.Event, a.TimeNs = w.Moment()
	x, err := w.Inspect()
	if err == nil {
		err = a.gather(x, r)
	}
	switch {
	case errors.Is(err, engine.ErrUnsupported):
		a.Refused = "the engine of this world cannot show a stopped world: " + err.Error()
	case err != nil:
		a.Refused = err.Error()
	}
	return a, nil
}

func (a *Answer) gather(x engine.Inspection, r *Request) (err error) {
	do := func(asked bool, f func() error) {
		if asked && err == nil {
			err = f()
		}
	}
	do(r.Nodes, func() (err error) { a.Nodes, err = x.Nodes(); return err })
	do(r.Processes, func() (err error) { a.Processes, err = Processes(x); return err })
	do(r.Sockets, func() (err error) { a.Sockets, err = Sockets(x); return err })
	do(r.Changes, func() (err error) { a.Changes, err = Changes(x); return err })
	do(r.OpenFiles != nil, func() (err error) { a.OpenFiles, err = x.Files(r.OpenFiles.Node, r.OpenFiles.PID); return err })
	do(r.List != nil, func() (err error) { a.List, err = List(x, *r.List); return err })
	do(r.Cat != nil, func() error {
		return toFile(r.Out, func(f *os.File) error { return Cat(f, x, *r.Cat) })
	})
	do(r.Tar != nil, func() error {
		return toFile(r.Out, func(f *os.File) error {
			left, err := Tar(f, x, *r.Tar)
			if left > 0 {
				a.Left = fmt.Sprintf("%d names: those of sockets and devices, and of what was removed", left)
			}
			return err
		})
	})
	do(r.Core != nil, func() (err error) { a.Left, err = x.Core(r.Core.Node, r.Core.PID, r.Out); return err })
	return err
}

func toFile(name string, write func(*os.File) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	err = write(f)
	return cmp.Or(err, f.Close())
}
