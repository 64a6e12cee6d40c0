package debug

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"github.com/bloodhound-dst/bloodhound/internal/debug/rsp"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/view"
)

// Session is a timeline that a debugger and a prompt share. Its fields are set before it is used.
type Session struct {
	Timeline *Timeline
	// Nodes are the names of all nodes, in the order by which their processes are numbered for debuggers.
	Nodes []string
	// Shown reports whether a debugger is shown a thread.
	Shown func(engine.Thread) bool
	// Note prints a line for the user of the prompt.
	Note func(format string, args ...any)
	// Ended returns the text to print at the end of the run: whether it is the original one.
	Ended func(World) string
	// Until is where to stop for a place of the run.
	Until func(view.Place) (engine.Until, error)
	// Views print what a stopped world shows, by name.
	Views []View
	// Recording says that debuggers take the run for a recording, which they cannot write to.
	Recording bool

	recorded *Timeline // the run of the tape, while a branch is looked at
	branches []branch  // in the order in which they were made
	branch   int       // the number of that which is looked at; 0 is the run of the tape
	made     int       // how many there were

	lock sync.Mutex // of all above: one request at a time
}

// Close ends all worlds.
func (s *Session) Close() error {
	err := s.Timeline.Close()
	if s.branch != 0 {
		err = errors.Join(err, s.recorded.Close())
	}
	for i := range s.branches {
		if s.branches[i].number != s.branch {
			err = errors.Join(err, s.branches[i].timeline.Close())
		}
	}
	return err
}

// View prints what a stopped world shows.
type View struct {
	Name, Arguments, Does string
	Least, Most           int // arguments
	Print                 func(w World, args []string) (string, error)
}

// perNode is how many numbers of processes and threads a node has for debuggers, which know no nodes: n1's process 12 is 1000012.
const perNode = 1_000_000

// number returns the debugger's number of a process or a thread of a node, or 0 if it cannot be numbered.
func (s *Session) number(node string, id int) int {
	i := slices.Index(s.Nodes, node)
	if i < 0 || id >= perNode {
		return 0
	}
	return (i+1)*perNode + id
}

// unnumber is the opposite of number.
func (s *Session) unnumber(n int) (node string, id int, ok bool) {
	i := n/perNode - 1
	if i < 0 || i >= len(s.Nodes) {
		return "", 0, false
	}
	return s.Nodes[i], n % perNode, true
}

func (s *Session) id(t engine.Thread) rsp.Thread {
	return rsp.Thread{PID: s.number(t.Node, t.PID), TID: s.number(t.Node, t.TID)}
}

// threads returns the threads to show to a debugger, or all if none would be shown.
func (s *Session) threads() ([]engine.Thread, error) {
	all, err := s.Timeline.World().Threads()
	if err != nil {
		return nil, err
	}
	shown := slices.DeleteFunc(slices.Clone(all), func(t engine.Thread) bool { return !s.Shown(t) })
	if len(shown) == 0 {
		shown = all
	}
	return slices.DeleteFunc(shown, func(t engine.Thread) bool { return s.number(t.Node, t.PID) == 0 || s.number(t.Node, t.TID) == 0 }), nil
}

// Program is a file of this machine that has the program of the first process that debuggers are shown: its own, if the machine has it by the
// same name with the same bytes, or else a copy in a folder.
func (s *Session) Program(folder string) (string, error) {
	list, err := s.threads()
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "", errors.New("no process runs here; go to a point of the run at which one does (--at)")
	}
	b, err := contents(s.Timeline.World(), list[0].Node, list[0].Program)
	if err != nil {
		return "", err
	}
	if own, err := os.ReadFile(list[0].Program); err == nil && bytes.Equal(own, b) {
		return list[0].Program, nil
	}
	file := filepath.Join(folder, path.Base(list[0].Program))
	return file, os.WriteFile(file, b, 0o700)
}

// where says where the timeline stands.
func (s *Session) where() string {
	w := s.Timeline.World()
	_, ns := w.Moment()
	text := fmt.Sprintf("%s, at %.9f s", s.Timeline.Position(), float64(ns)/1e9)
	if s.branch != 0 {
		text = fmt.Sprintf("branch %d: %s", s.branch, text)
	}
	if t, held := w.Held(); held {
		text += fmt.Sprintf(", in thread %d of %s on node %s", t.TID, t.Program, t.Node)
	}
	return text
}
