package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// DiagramFormat names what NewDiagramSink writes.
const DiagramFormat = "diagram"

// Message describes the bytes that one node sent to another in one call.
type Message struct {
	From      string `json:"from"`
	To        string `json:"to"`
	Via       string `json:"via"` // tcp or udp
	Bytes     int64  `json:"bytes"`
	SentNs    int64  `json:"sent_ns"`
	SentEvent uint64 `json:"sent_event"`
	// ReadNs and ReadEvent are of the call that read its last byte; 0 if none did.
	ReadNs    int64  `json:"read_ns,omitempty"`
	ReadEvent uint64 `json:"read_event,omitempty"`
}

// Mark is something that happened to a process of a node, or, without a node, to the world.
type Mark struct {
	Node   string `json:"node,omitempty"`
	TimeNs int64  `json:"time_ns"`
	Event  uint64 `json:"event"`
	Text   string `json:"text"`
}

// FailedCall is a system call that failed, or met a fault.
type FailedCall struct {
	Node   string `json:"node"`
	TimeNs int64  `json:"time_ns"`
	Event  uint64 `json:"event"`
	Text   string `json:"text"` // as strace prints it
}

type diagramLine struct {
	Message *Message    `json:"message,omitempty"`
	Mark    *Mark       `json:"mark,omitempty"`
	Call    *FailedCall `json:"call,omitempty"`
	// Untracked is in the last line: messages of which it is not known whether they were read.
	Untracked *uint64 `json:"untracked,omitempty"`
}

// Bounds of what is remembered of messages that no call has read yet.
const (
	maxUnread = 100_000 // messages
	maxLoose  = 500     // connections from one node to another whose other end is not known
)

// diagramSink follows descriptors from connect and accept on, and so knows between which nodes bytes go. Which two
// ends make a connection is known when a server accepts while one client only waits for it, or else when one write's
// bytes are read as a whole. From then on bytes are counted: a message is read when its last byte is.
type diagramSink struct {
	w      *bufio.Writer
	known  func(diagramLine) // gets what the sink finds out
	sent   func(*Message)    // gets each message as it is sent, if not nil
	nodes  map[string]string // address or name -> node
	tables map[string]*table // by thread
	forks  map[string]int    // children that a thread has had
	loose  map[[2]string][]*end
	grams  map[gram][]Message
	unread int
	lost   uint64
	err    error
}

// table has the sockets of a process by descriptor; threads share theirs.
type table struct{ ends map[int64]*end }

// end is one end of a connection, or a socket that will have one.
type end struct {
	node, peer string
	port       string // of the server, for both ends; of a socket that listens, too
	client     bool
	refs       int // descriptors in all tables
	mate       *end
	sent       []sent // what the other end has not read
}

type sent struct {
	Message
	digest uint64
	left   int64 // bytes of the message that were not read
}

// gram identifies equal datagrams.
type gram struct {
	from, to string
	bytes    int64
	digest   uint64
}

// NewDiagramSink keeps of a trace what a space-time diagram needs: one JSON document a line, in the order in which they
// became known. It is what a replay leaves for ReadDiagram, and no format for people.
func NewDiagramSink(w io.Writer, spec *world.Spec) Sink {
	d := newTracker(spec)
	d.w = bufio.NewWriterSize(w, 1<<16)
	d.known = d.writeLine
	return d
}

// newTracker follows messages and marks for another sink, which sets the function that gets them.
func newTracker(spec *world.Spec) *diagramSink {
	d := &diagramSink{nodes: map[string]string{}, tables: map[string]*table{},
		forks: map[string]int{}, loose: map[[2]string][]*end{}, grams: map[gram][]Message{}}
	for _, n := range spec.Nodes {
		names := []string{n.Name, n.IPv4, n.IPv6}
		for _, a := range n.Attachments {
			names = append(names, a.IPv4, a.IPv6)
		}
		for _, name := range names {
			if name != "" {
				d.nodes[name] = n.Name
			}
		}
	}
	return d
}

func (d *diagramSink) writeLine(l diagramLine) {
	b, err := json.Marshal(l)
	if err != nil {
		d.err = err
		return
	}
	d.w.Write(append(b, '\n'))
}

func (d *diagramSink) mark(e *record.Event, text string) {
	d.known(diagramLine{Mark: &Mark{Node: e.Node, TimeNs: e.TimeNs, Event: e.Number, Text: text}})
}

// Event follows a call. Only calls that succeeded change what is known.
func (d *diagramSink) Event(e *record.Event) {
	if d.w != nil && tellsOfFailure(e) {
		d.known(diagramLine{Call: &FailedCall{Node: e.Node, TimeNs: e.TimeNs, Event: e.Number, Text: string(appendCall(nil, e))}})
	}
	switch e.Call {
	case "phase":
		d.mark(e, e.Detail)
	case "start":
		d.tables[e.Thread] = &table{ends: map[int64]*end{}}
		d.forks[e.Thread] = 0
		d.mark(e, "starts "+e.Detail)
	case "exit":
		d.mark(e, "exits with "+strconv.FormatInt(e.Result, 10))
	case "signal":
		if strings.HasPrefix(e.Detail, "ends ") {
			d.mark(e, "signal "+strconv.FormatInt(e.Result, 10)+" "+e.Detail)
		}
	case "fork", "vfork", "clone", "clone3":
		d.fork(e)
	case "bind", "connect", "accept", "accept4", "close":
		d.socket(e)
	default:
		if e.Result <= 0 {
			return
		}
		switch classOf(e) {
		case NetworkSend:
			d.send(e)
		case NetworkRecv:
			d.read(e)
		}
	}
}

// everyday are errors that working programs meet all the time: nothing to read yet, a connection that is being made, a wait that ended, a
// file or a terminal that was looked for.
var everyday = []string{"EAGAIN", "EINPROGRESS", "EINTR", "ETIMEDOUT", "ENOENT", "ENOTTY", "ENOSYS", "ECHILD", "ENODATA"}

// tellsOfFailure reports whether a call failed in a way that a reader wants to see.
func tellsOfFailure(e *record.Event) bool {
	if e.Thread == "" || len(e.Args) == 0 && e.Result >= 0 {
		return false
	}
	if _, injected := splitFault(e.Detail); injected != "" {
		return true
	}
	if e.Call == "epoll_ctl" || e.Call == "socket" { // libraries try what may not work with this file, or this protocol
		return false
	}
	name, known := errnoNames[-e.Result]
	name, _, _ = strings.Cut(name, " ")
	return known && !slices.Contains(everyday, name)
}

// cloneFiles is CLONE_FILES of clone(2).
const cloneFiles = 0x400

// fork names a thread's child as engines do, by its number among its parent's, and gives it its table. clone3 does not
// show its flags; it makes threads.
func (d *diagramSink) fork(e *record.Event) {
	if e.Result <= 0 {
		return
	}
	t := d.table(e.Thread)
	child := e.Thread + "." + strconv.Itoa(d.forks[e.Thread])
	d.forks[e.Thread]++
	d.forks[child] = 0
	if e.Call == "clone3" || e.Call == "clone" && len(e.Args) > 0 && e.Args[0]&cloneFiles != 0 {
		d.tables[child] = t
		return
	}
	own := &table{ends: make(map[int64]*end, len(t.ends))}
	for fd, x := range t.ends {
		x.refs++
		own.ends[fd] = x
	}
	d.tables[child] = own
}

func (d *diagramSink) table(thread string) *table {
	t := d.tables[thread]
	if t == nil {
		t = &table{ends: map[int64]*end{}}
		d.tables[thread] = t
	}
	return t
}

// place splits an address as events show it into a node and a port.
func (d *diagramSink) place(detail string) (node, port string) {
	if a, err := netip.ParseAddrPort(detail); err == nil {
		return d.nodes[a.Addr().Unmap().String()], strconv.Itoa(int(a.Port()))
	}
	if rest, ok := strings.CutPrefix(detail, ":"); ok {
		return "", rest
	}
	return d.nodes[detail], ""
}

func (d *diagramSink) socket(e *record.Event) {
	if len(e.Args) == 0 {
		return
	}
	t, fd := d.table(e.Thread), e.Args[0]
	node, port := d.place(e.Detail)
	const inProgress = -115
	switch {
	case e.Call == "close":
		d.drop(t, fd)
	case e.Call == "bind" && e.Result == 0:
		d.set(t, fd, &end{node: e.Node, port: port})
	case e.Call == "connect" && (e.Result == 0 || e.Result == inProgress):
		d.set(t, fd, &end{node: e.Node, peer: node, port: port, client: true})
	case strings.HasPrefix(e.Call, "accept") && e.Result >= 0:
		server := &end{node: e.Node, peer: node}
		if listener := t.ends[fd]; listener != nil {
			server.port = listener.port
		}
		d.set(t, e.Result, server)
		d.accepted(server)
	}
}

func (d *diagramSink) set(t *table, fd int64, x *end) {
	d.drop(t, fd)
	x.refs = 1
	t.ends[fd] = x
	if x.peer == "" || x.peer == x.node {
		return
	}
	pair := [2]string{x.node, x.peer}
	if len(d.loose[pair]) >= maxLoose {
		d.forget(d.loose[pair][0])
	}
	d.loose[pair] = append(d.loose[pair], x)
}

// drop ends a descriptor. What was sent to an end that is gone is never read.
func (d *diagramSink) drop(t *table, fd int64) {
	x := t.ends[fd]
	if x == nil {
		return
	}
	delete(t.ends, fd)
	if x.refs--; x.refs > 0 {
		return
	}
	switch {
	case x.mate != nil:
		for _, s := range x.mate.sent {
			d.known(diagramLine{Message: &s.Message})
		}
		d.unread -= len(x.mate.sent)
		x.mate.sent = nil
	case len(x.sent) == 0:
		d.tie(x, nil)
	}
}

// forget gives up on an end whose other end is not known.
func (d *diagramSink) forget(x *end) {
	d.lost += uint64(len(x.sent))
	d.unread -= len(x.sent)
	x.sent = nil
	d.tie(x, nil)
}

// tie takes an end, and its mate, out of those whose other end is not known.
func (d *diagramSink) tie(x, mate *end) {
	pair := [2]string{x.node, x.peer}
	d.loose[pair] = slices.DeleteFunc(d.loose[pair], func(y *end) bool { return y == x })
	if mate != nil {
		x.mate, mate.mate = mate, x
		pair = [2]string{mate.node, mate.peer}
		d.loose[pair] = slices.DeleteFunc(d.loose[pair], func(y *end) bool { return y == mate })
	}
}

// accepted ties a server's end if one client only can be at the other.
func (d *diagramSink) accepted(server *end) {
	var only *end
	for _, x := range d.loose[[2]string{server.peer, server.node}] {
		if x.client && x.port == server.port && x.refs > 0 {
			if only != nil {
				return
			}
			only = x
		}
	}
	if only != nil && server.port != "" {
		d.tie(server, only)
	}
}

func (d *diagramSink) send(e *record.Event) {
	m := Message{From: e.Node, Via: e.Object, Bytes: e.Result, SentNs: e.TimeNs, SentEvent: e.Number}
	x := d.endOf(e)
	if m.To = d.peer(e, x); m.To == "" || m.To == m.From {
		return
	}
	if d.unread >= maxUnread {
		d.lost++
		return
	}
	d.unread++
	if d.sent != nil {
		d.sent(&m)
	}
	if x == nil || e.Object != "tcp" {
		m.Via = "udp"
		g := gram{m.From, m.To, m.Bytes, e.Bytes}
		d.grams[g] = append(d.grams[g], m)
		return
	}
	x.sent = append(x.sent, sent{m, e.Bytes, m.Bytes})
}

func (d *diagramSink) endOf(e *record.Event) *end {
	if len(e.Args) == 0 {
		return nil
	}
	return d.table(e.Thread).ends[e.Args[0]]
}

func (d *diagramSink) peer(e *record.Event, x *end) string {
	if e.Detail != "" {
		node, _ := d.place(e.Detail)
		return node
	}
	if x != nil {
		return x.peer
	}
	return ""
}

func (d *diagramSink) read(e *record.Event) {
	x := d.endOf(e)
	from := d.peer(e, x)
	if from == "" || from == e.Node {
		return
	}
	if x == nil || e.Object != "tcp" {
		g := gram{from, e.Node, e.Result, e.Bytes}
		if list := d.grams[g]; len(list) > 0 {
			d.arrive(list[0], e)
			if d.grams[g] = list[1:]; len(list) == 1 {
				delete(d.grams, g)
			}
		}
		return
	}
	if x.mate == nil && !d.recognise(x, e) {
		return
	}
	n := e.Result
	list := x.mate.sent
	for n > 0 && len(list) > 0 {
		took := min(n, list[0].left)
		n -= took
		if list[0].left -= took; list[0].left == 0 {
			d.arrive(list[0].Message, e)
			list = list[1:]
		}
	}
	x.mate.sent = list
}

// recognise ties the end of a read to the one that has written just these bytes. What that one wrote before has been
// read by now.
func (d *diagramSink) recognise(x *end, e *record.Event) bool {
	for _, y := range d.loose[[2]string{x.peer, x.node}] {
		i := slices.IndexFunc(y.sent, func(s sent) bool { return s.digest == e.Bytes && s.Bytes == e.Result })
		if i < 0 || y.client == x.client {
			continue
		}
		for _, s := range y.sent[:i] {
			d.arrive(s.Message, e)
		}
		y.sent = y.sent[i:]
		d.tie(x, y)
		return true
	}
	return false
}

func (d *diagramSink) arrive(m Message, e *record.Event) {
	d.unread--
	m.ReadNs, m.ReadEvent = e.TimeNs, e.Number
	d.known(diagramLine{Message: &m})
}

// Log is nothing here: the lines stand in the Outcome.
func (d *diagramSink) Log(record.LogLine) {}

func (d *diagramSink) Finish(*check.Judged) error {
	var rest []Message
	for _, list := range d.grams {
		rest = append(rest, list...)
	}
	seen := map[*end]bool{}
	add := func(x *end) {
		if seen[x] {
			return
		}
		seen[x] = true
		if x.mate == nil { // it is unknown whether these were read
			d.lost += uint64(len(x.sent))
			return
		}
		for _, s := range x.sent {
			rest = append(rest, s.Message)
		}
	}
	for _, t := range d.tables {
		for _, x := range t.ends {
			add(x)
		}
	}
	for _, list := range d.loose {
		for _, x := range list {
			add(x)
		}
	}
	slices.SortFunc(rest, func(x, y Message) int { return int(int64(x.SentEvent) - int64(y.SentEvent)) })
	for i := range rest {
		d.known(diagramLine{Message: &rest[i]})
	}
	d.known(diagramLine{Untracked: &d.lost})
	if d.w == nil {
		return nil
	}
	if err := d.w.Flush(); err != nil {
		return err
	}
	return d.err
}

// Bounds of a Diagram that is read.
const (
	DiagramMessages = 4000
	DiagramMarks    = 400
	DiagramCalls    = 30
)

// Diagram is the part of a run's messages and marks that lies nearest to what matters in it.
type Diagram struct {
	Messages []Message // in the order in which they were sent
	Marks    []Mark    // in order
	Calls    []FailedCall
	// MessagesLeft, MarksLeft and CallsLeft were left out, being further away.
	MessagesLeft, MarksLeft, CallsLeft int
	// Untracked messages were sent, but the call that received them is unknown.
	Untracked uint64
}

// ReadDiagram reads what a sink of DiagramFormat wrote. Of more messages and marks than a Diagram holds, those are
// kept that are nearest by distance, a function of time.
func ReadDiagram(r io.Reader, distance func(ns int64) int64) (*Diagram, error) {
	messages := nearest[Message]{limit: DiagramMessages}
	marks := nearest[Mark]{limit: DiagramMarks}
	calls := nearest[FailedCall]{limit: DiagramCalls}
	d := &Diagram{}
	whole := false
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for line := 1; s.Scan(); line++ {
		var l diagramLine
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("line %d of a diagram: %w", line, err)
		}
		switch {
		case l.Message != nil:
			m := *l.Message
			at := distance(m.SentNs)
			if m.ReadEvent > 0 {
				at = min(at, distance(m.ReadNs))
			}
			messages.add(m, m.SentEvent, at)
		case l.Mark != nil:
			marks.add(*l.Mark, l.Mark.Event, distance(l.Mark.TimeNs))
		case l.Call != nil:
			calls.add(*l.Call, l.Call.Event, distance(l.Call.TimeNs))
		case l.Untracked != nil:
			d.Untracked, whole = *l.Untracked, true
		}
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	if !whole {
		return nil, fmt.Errorf("the diagram is cut: it has no last line")
	}
	d.Messages, d.MessagesLeft = messages.list()
	d.Marks, d.MarksLeft = marks.list()
	d.Calls, d.CallsLeft = calls.list()
	return d, nil
}
