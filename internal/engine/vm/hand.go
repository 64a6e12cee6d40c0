package vm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"
)

// A world that runs in real time takes orders at a Unix socket: one request and one answer, each a JSON document, a connection.

// Orders of Request.Do.
const (
	AskStatus = "status"
	Pause     = "pause"
	Resume    = "resume"
	Inject    = "fault"
)

// Request is an order to a world that runs in real time.
type Request struct {
	Do    string `json:"do"`
	Fault string `json:"fault,omitempty"` // Inject: a rule, such as: crash on n1 for 2s
}

// Status describes the state of a world.
type Status struct {
	World     string       `json:"world"`
	Paused    bool         `json:"paused"`
	Phase     string       `json:"phase"`
	VirtualNs int64        `json:"virtual_ns"`
	Events    uint64       `json:"events"`
	Nodes     []NodeStatus `json:"nodes"`
	Faults    []FaultUnder `json:"faults"`
}

// NodeStatus describes the state of a node, in words.
type NodeStatus struct {
	Name    string `json:"name"`
	State   string `json:"state"`
	Healthy bool   `json:"healthy"`
}

// FaultUnder is a fault that is under way.
type FaultUnder struct {
	Kind   string `json:"kind"`
	Target string `json:"target"`
	EndNs  int64  `json:"end_ns"` // in virtual time
}

type answer struct {
	Error  string  `json:"error,omitempty"`
	Status *Status `json:"status,omitempty"`
}

// SocketName is the socket's, in the folder .bloodhound of a project.
const SocketName = "vm.sock"

// maxSocketPath is how long the path of a socket may be (unix(7)).
const maxSocketPath = 107

// answerWait bounds how long a world may take to answer: it does so between two turns of its guest.
const answerWait = 30 * time.Second

// Ask gives an order to the world whose socket is at path.
func Ask(path string, r Request) (*Status, error) {
	c, err := net.Dial("unix", path)
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("the world here belongs to another user: %w; run this command as that user", err)
	}
	if err != nil {
		return nil, fmt.Errorf("no world runs in real time here: %w; start one with `bloodhound run --engine vm --async-vm`", err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(answerWait))
	if err := json.NewEncoder(c).Encode(r); err != nil {
		return nil, err
	}
	var a answer
	if err := json.NewDecoder(c).Decode(&a); err != nil {
		return nil, fmt.Errorf("the world does not answer; it may have ended: %w", err)
	}
	if a.Error != "" {
		return nil, errors.New(a.Error)
	}
	return a.Status, nil
}

// order is a request whose answer is due.
type order struct {
	Request
	reply chan answer
}

// hand takes orders.
type hand struct {
	listener net.Listener
	orders   chan *order
	paused   bool
}

// listenAt makes the socket. One that a killed run has left is replaced.
func listenAt(path string) (*hand, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("the path of the socket %s is longer than the %d bytes that Linux allows; move the project to a shorter path",
			path, maxSocketPath)
	}
	if c, err := net.Dial("unix", path); err == nil {
		c.Close()
		return nil, fmt.Errorf("another world runs in real time at %s; end it first", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	os.Remove(path)
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	h := &hand{listener: l, orders: make(chan *order)}
	go h.accept()
	return h, nil
}

func (h *hand) accept() {
	for {
		c, err := h.listener.Accept()
		if err != nil {
			return
		}
		go h.attend(c)
	}
}

func (h *hand) attend(c net.Conn) {
	defer c.Close()
	c.SetDeadline(time.Now().Add(answerWait))
	o := &order{reply: make(chan answer, 1)}
	if err := json.NewDecoder(c).Decode(&o.Request); err != nil {
		json.NewEncoder(c).Encode(answer{Error: "cannot read the request: " + err.Error()})
		return
	}
	late := time.After(answerWait)
	select {
	case h.orders <- o:
	case <-late:
		return
	}
	select {
	case a := <-o.reply:
		json.NewEncoder(c).Encode(a)
	case <-late:
	}
}

func (h *hand) close() {
	if h != nil {
		h.listener.Close() // which removes the socket
	}
}
