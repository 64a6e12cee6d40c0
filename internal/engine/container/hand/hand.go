// Package hand is the part of the container engine that runs inside its containers, as the bloodhound program. A keeper is the first process
// of a container that owns the network of a node: it disturbs that network as it is ordered to, and ends when the engine that ordered it
// does. A launcher runs one program for the engine, and ends it with itself.
//
// Orders are lines of JSON on standard input, and answers lines of JSON on standard output.
package hand

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine/listening"
)

// Verb is the driver's kind that names this package on the command line of bloodhound. It is followed by Keep, Hold or Run.
const Verb = "hand"

// What a hand is: a keeper, a process that does nothing until its standard input ends, or a launcher, which the program and its arguments follow.
const (
	Keep = "keep"
	Hold = "hold"
	Run  = "run"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 2
)

// Order tells a keeper to do one thing: exactly one field after ID is set.
type Order struct {
	ID int `json:"id"`
	// Make makes folders.
	Make []string `json:"make,omitempty"`
	// Able asks which of LacksFilter and so on this kernel lacks.
	Able []string `json:"able,omitempty"`
	// Lose loses what comes from other nodes, until Regain, whose answer counts the packets.
	Lose   *Lose  `json:"lose,omitempty"`
	Regain string `json:"regain,omitempty"` // the key of a Lose
	// Shape has packets to another node suffer, until Unshape, whose answer counts them.
	Shape   *Shape `json:"shape,omitempty"`
	Unshape string `json:"unshape,omitempty"` // the key of a Shape
	// Names has questions about names fail, or get no answer, until it is "right"; the answer then counts the packets.
	Names string `json:"names,omitempty"`
	// Reset ends TCP connections with these addresses. The answer counts them.
	Reset []string `json:"reset,omitempty"`
	// Arrived asks how many packets have arrived.
	Arrived bool `json:"arrived,omitempty"`
	// Listening asks on which TCP ports programs listen that other nodes can reach.
	Listening bool `json:"listening,omitempty"`
	// Counts asks how many packets each Lose and Shape has met.
	Counts bool `json:"counts,omitempty"`
	// Fill fills the file systems of these folders, until Empty.
	Fill  []string `json:"fill,omitempty"`
	Empty []string `json:"empty,omitempty"`
}

// Ways of Order.Names.
const (
	NamesFail   = "fail"
	NamesSilent = "silent"
	NamesRight  = "right"
)

// Lose says whose packets are lost, and how many of a million.
type Lose struct {
	Key  string   `json:"key"`
	From []string `json:"from"` // addresses
	PPM  uint64   `json:"ppm"`
}

// Shape says what packets to addresses suffer, and how many of a million.
type Shape struct {
	Key       string   `json:"key"`
	To        []string `json:"to"`
	PPM       uint64   `json:"ppm"`
	LatencyNs int64    `json:"latency_ns,omitempty"`
	JitterNs  int64    `json:"jitter_ns,omitempty"`
	Bandwidth int64    `json:"bandwidth,omitempty"` // bytes a second; 0 is no bound
	Duplicate bool     `json:"duplicate,omitempty"`
	Corrupt   bool     `json:"corrupt,omitempty"`
}

// Answer is a keeper's answer to an order.
type Answer struct {
	ID     int               `json:"id"`
	Count  int64             `json:"count,omitempty"`
	Counts map[string]int64  `json:"counts,omitempty"`
	Ports  []int             `json:"ports,omitempty"`
	Lacks  map[string]string `json:"lacks,omitempty"` // what this kernel cannot do, with its error
	Error  string            `json:"error,omitempty"`
}

// What a kernel may lack.
const (
	LacksFilter = "nftables"
	LacksNetem  = "netem"
	LacksReset  = "inet_diag_destroy"
)

// Signal is an order to a launcher. A closed standard input is one to end.
type Signal struct {
	Line string `json:"line"` // for the program's standard input
}

// Sign is a report of a launcher: a line of output, a line that the program wrote to its standard input, which is a
// socket, or how the program ended.
type Sign struct {
	Stream string `json:"stream,omitempty"` // stdout, stderr or answer
	Text   string `json:"text,omitempty"`
	Ended  bool   `json:"ended,omitempty"`
	Status int    `json:"status,omitempty"` // wait status
	Failed string `json:"failed,omitempty"` // why it could not be started
}

// Main runs a hand to its end and returns its exit code.
func Main(args []string, in io.Reader, out, errs io.Writer) int {
	var err error
	switch {
	case len(args) == 1 && args[0] == Keep:
		err = keep(in, out)
	case len(args) == 1 && args[0] == Hold:
		_, err = io.Copy(io.Discard, in)
	case len(args) > 1 && args[0] == Run:
		err = run(args[1:], in, out)
	default:
		err = fmt.Errorf("only the container engine starts it, as %s, %s or %s PROGRAM", Keep, Hold, Run)
	}
	if err != nil {
		fmt.Fprintf(errs, "bloodhound %s: %v\n", Verb, err)
		return exitFailed
	}
	return exitDone
}

// firstTime is how soon the first order comes. An engine that was killed before its keeper ran gives none, and the daemon does not end the
// standard input then.
const firstTime = 20 * time.Second

// keep follows orders until there are no more.
func keep(in io.Reader, out io.Writer) error {
	idle := time.AfterFunc(firstTime, func() { os.Exit(exitFailed) })
	n := newNetwork()
	orders, answers := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	for {
		var o Order
		if err := orders.Decode(&o); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("an order cannot be read: %w", err)
		}
		idle.Stop()
		a := Answer{ID: o.ID}
		if err := follow(n, &o, &a); err != nil {
			a.Error = err.Error()
		}
		if err := answers.Encode(&a); err != nil {
			return err
		}
	}
}

func follow(n *network, o *Order, a *Answer) (err error) {
	switch {
	case len(o.Make) > 0:
		for _, dir := range o.Make {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
	case len(o.Able) > 0:
		a.Lacks = n.lacks(o.Able)
	case o.Lose != nil:
		return n.lose(o.Lose)
	case o.Regain != "":
		a.Count, err = n.regain(o.Regain)
	case o.Shape != nil:
		return n.shape(o.Shape)
	case o.Unshape != "":
		a.Count, err = n.unshape(o.Unshape)
	case o.Names != "":
		a.Count, err = n.names(o.Names)
	case len(o.Reset) > 0:
		a.Count, err = n.reset(o.Reset)
	case o.Arrived:
		a.Count, err = n.arrived()
	case o.Listening:
		a.Ports, err = listening.Ports("/proc/self/net")
	case o.Counts:
		a.Counts, err = n.counts()
	case len(o.Fill) > 0:
		return eachFolder(o.Fill, fill)
	case len(o.Empty) > 0:
		return eachFolder(o.Empty, empty)
	}
	return err
}

func eachFolder(list []string, do func(string) error) error {
	for _, dir := range list {
		if err := do(dir); err != nil {
			return err
		}
	}
	return nil
}

// filler is the file that takes what room a file system has.
const filler = "/.bloodhound-full"

// fillStep is how much a file system may still have room for when it counts as full.
const fillStep = 4 << 10

// fill writes until there is no room.
func fill(dir string) error {
	f, err := os.OpenFile(dir+filler, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	reserve(f) // the most of it at once
	for step := 1 << 20; step >= fillStep; {
		if _, err := f.Write(make([]byte, step)); err != nil {
			step /= 2
		}
	}
	return nil
}

func empty(dir string) error {
	if err := os.Remove(dir + filler); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}
