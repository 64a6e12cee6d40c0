//go:build linux && amd64

package native

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/linux"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/sdk"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// behaviour keeps what the world reached, beside what its kernel and its network keep themselves. It is plain data. All its fields
// are sets and counts: the order in which two things happened on two nodes leaves no trace in them.
type behaviour struct {
	Groups    []string         // by node: the name of its group, the same for all replicas of one program
	Templates map[string]int32 // of log lines, by group and text, in the order of their first line
	Texts     []template       // by number of the template
	Pairs     map[pair]bool
	Last      []int32           // by node: the template of its last line, -1 none
	Before    map[writer]line   // by process: its last line
	RoleNames []string          // by number of a set of roles, as Seen.Roles has it; "" is the first
	At        map[int]situation // by injection: the state of the world as it was delivered
	// Of faults per packet or call, which are not listed as injections: when one of a kind was observed last, and the state of the world then.
	Lately   map[world.FaultKind]int64
	Suffered map[suffering]bool
	buf      []byte
}

type writer struct {
	Node kernel.NodeID
	PID  int
}

type line struct {
	Template int32
	TimeNs   int64
}

// pair are the templates of two lines that follow each other in one process.
type pair struct {
	First, Then int32
	Late        bool // after more than burstNs
}

// burstNs is how soon a line follows another one if the same step of a program has written both.
const burstNs = 1e6

// maxOrdered is up to how many templates of one group in a run the late pairs of the group are recorded. Those of a talkative program depend on
// which of its timers and peers comes first, which is new in every run.
const maxOrdered = 24

type template struct {
	Group string
	Text  string
	Count uint32
}

// situation is the state that an injection met.
type situation struct {
	Target string            // groups and roles of the nodes that it concerns
	Nodes  []int             // these, by number
	Said   int32             // the template of the last line of its node, -1 none
	Sent   string            // the last message of its node, empty is none
	Lately []world.FaultKind // faults per packet or call that were observed shortly before, in order of their names
	Phase  string
}

// suffering is a fault per call that a program has observed.
type suffering struct {
	Kind   world.FaultKind
	Target string
	Said   int32 // the template of the last line of its node, -1 none
}

// Limits of what is kept of a run.
const (
	maxTemplates = 2000
	maxPairs     = 4000
	maxSituation = 200
	maxWriters   = 10_000
)

func newBehaviour(spec *world.Spec) *behaviour {
	b := &behaviour{Groups: groups(spec), Templates: map[string]int32{}, Pairs: map[pair]bool{}, At: map[int]situation{},
		Lately: map[world.FaultKind]int64{}, Suffered: map[suffering]bool{}, Before: map[writer]line{}, RoleNames: []string{""}}
	for range spec.Nodes {
		b.Last = append(b.Last, -1)
	}
	return b
}

// groups names each node by those that run the same program, so that a message of n1 to n2 counts as the same as one of n2 to n3.
func groups(spec *world.Spec) []string {
	members := map[string][]string{}
	keys := make([]string, len(spec.Nodes))
	for i := range spec.Nodes {
		n := &spec.Nodes[i]
		if n.Role != world.Server {
			keys[i] = string(n.Role)
		} else {
			keys[i] = "server " + program(n.Command)
		}
		members[keys[i]] = append(members[keys[i]], n.Name)
	}
	names, taken := map[string]string{}, map[string]bool{}
	list := make([]string, len(spec.Nodes))
	for i, key := range keys {
		if names[key] == "" {
			name := key
			if spec.Nodes[i].Role == world.Server {
				name = common(members[key])
			}
			if name == "" || taken[name] {
				name = strings.TrimSpace(name + " " + strings.TrimPrefix(key, "server "))
			}
			for taken[name] {
				name += "'"
			}
			names[key], taken[name] = name, true
		}
		list[i] = names[key]
	}
	return list
}

// program summarises a command: the program, its first word if it has one, and the first file, such as an interpreter's
// script. Digits are masked, so that redis-1.conf and redis-2.conf are the same.
func program(command []string) string {
	if len(command) == 0 {
		return ""
	}
	if len(command) == 3 && command[1] == "-c" { // sh -c "exec server --port 1"
		command = strings.Fields(command[2])
		for len(command) > 1 && (command[0] == "exec" || strings.Contains(command[0], "=")) {
			command = command[1:]
		}
		if len(command) == 0 {
			return "sh"
		}
	}
	name := path.Base(command[0])
	if len(command) > 1 && strings.Trim(command[1], "abcdefghijklmnopqrstuvwxyz") == "" { // server, not client
		name += " " + command[1]
	}
	for _, a := range command[1:] {
		if !strings.HasPrefix(a, "-") && strings.ContainsAny(a, "./") && !strings.Contains(a, "://") {
			name += " " + path.Base(a)
			break
		}
	}
	return string(coverage.Template(nil, name))
}

// common is the name that nodes have in common: n1, n2 and n3 are n.
func common(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	name := names[0]
	for _, n := range names[1:] {
		for !strings.HasPrefix(n, name) {
			name = name[:len(name)-1]
		}
	}
	return strings.TrimRight(name, "-_.0123456789")
}

// said takes in a line that a program under test wrote.
func (b *behaviour) said(node kernel.NodeID, pid int, now int64, text string) {
	group := b.Groups[node]
	b.buf = append(append(b.buf[:0], group...), 0)
	b.buf = coverage.Template(b.buf, text)
	id, ok := b.Templates[string(b.buf)]
	if !ok {
		if len(b.Texts) >= maxTemplates {
			return
		}
		id = int32(len(b.Texts))
		b.Templates[string(b.buf)] = id
		b.Texts = append(b.Texts, template{Group: group, Text: string(b.buf[len(group)+1:])})
	}
	b.Texts[id].Count++
	who := writer{node, pid}
	last, wrote := b.Before[who]
	if wrote && last.Template != id {
		p := pair{last.Template, id, now > last.TimeNs+burstNs}
		if len(b.Pairs) < maxPairs {
			b.Pairs[p] = true
		}
	}
	if wrote || len(b.Before) < maxWriters {
		b.Before[who] = line{id, now}
	}
	b.Last[node] = id
}

// injected takes in what a fault met.
func (w *World) injected(a fault.Action) {
	b := w.behaviour
	if b == nil || len(b.At) >= maxSituation {
		return
	}
	s := situation{Said: -1, Phase: w.director.Phase}
	s.Target, s.Nodes = inTarget(w.spec, a.Target, func(id int) string { return b.named(net.NodeID(id), w.kernel.Net.Seen.Roles[id]) })
	if len(s.Nodes) > 0 {
		first := s.Nodes[0]
		s.Said = b.Last[first]
		if m := &w.kernel.Net.Seen.Last[first]; m.Head != (coverage.Head{}) {
			s.Sent = service(m) + " " + m.Head.String()
		}
	}
	for kind, at := range b.Lately {
		if w.kernel.Now-at <= followNs {
			s.Lately = append(s.Lately, kind)
		}
	}
	slices.Sort(s.Lately)
	b.At[a.ID] = s
}

// suffered takes in that a fault per packet, or per call of the current thread, was observed.
func (w *World) suffered(kind world.FaultKind, call bool) {
	b := w.behaviour
	if b == nil {
		return
	}
	b.Lately[kind] = w.kernel.Now
	t := w.kernel.Threads[w.kernel.Current]
	if !call || t == nil {
		return
	}
	s := suffering{kind, b.named(net.NodeID(t.Node), w.kernel.Net.Seen.Roles[t.Node]), b.Last[t.Node]}
	if len(b.Suffered) < maxSituation {
		b.Suffered[s] = true
	}
}

// inTarget replaces the names of nodes in a target, which is n1, n1-n2, n1->n2 or how a group is parted, and lists the nodes. The
// members of a list are put into order, so that it does not show which is which.
func inTarget(spec *world.Spec, target string, named func(id int) string) (text string, nodes []int) {
	for len(target) > 0 {
		best := -1
		for i := range spec.Nodes {
			name := spec.Nodes[i].Name
			if strings.HasPrefix(target, name) && (best < 0 || len(name) > len(spec.Nodes[best].Name)) &&
				(len(target) == len(name) || strings.IndexByte("-, ", target[len(name)]) >= 0) {
				best = i
			}
		}
		n := 1
		if best >= 0 {
			n = len(spec.Nodes[best].Name)
			text += named(best)
			nodes = append(nodes, best)
		} else {
			for n < len(target) && strings.IndexByte("-, >", target[n-1]) < 0 {
				n++
			}
			text += target[:n]
		}
		target = target[n:]
		for len(target) > 0 && strings.IndexByte("-, >|", target[0]) >= 0 {
			text += target[:1]
			target = target[1:]
		}
	}
	words := strings.Split(text, " ")
	for i, w := range words {
		if list := strings.Split(w, ","); len(list) > 1 {
			slices.Sort(list)
			words[i] = strings.Join(list, ",")
		}
	}
	return strings.Join(words, " "), nodes
}

// named is a node by its group and roles.
func (b *behaviour) named(id net.NodeID, role uint8) string {
	if id < 0 {
		return "resolver"
	}
	if role == 0 {
		return b.Groups[id]
	}
	return b.Groups[id] + "(" + b.RoleNames[role] + ")"
}

// maxRoleSets bounds the sets of roles that are distinguished.
const maxRoleSets = 255

// roleChanged notifies the network which roles a node has now.
func (w *World) roleChanged(name string) {
	b := w.behaviour
	if b == nil {
		return
	}
	roles := slices.Sorted(slices.Values(w.director.Roles[name]))
	text := strings.Join(roles, "+")
	i := slices.Index(b.RoleNames, text)
	if i < 0 && len(b.RoleNames) < maxRoleSets {
		i = len(b.RoleNames)
		b.RoleNames = append(b.RoleNames, text)
	}
	w.kernel.Net.Seen.Roles[w.nodeID(name)] = uint8(max(i, 0))
}

// reached is all that the run has reached.
func (w *World) reached() []coverage.Feature {
	f := &features{b: w.behaviour, spec: w.spec, texts: general(w.behaviour.Texts)}
	f.messages(w.kernel.Net.Seen)
	f.connections(w.kernel.Net.Seen)
	f.errors(w.kernel.Failed)
	f.logs()
	f.faults(&w.outcome.Ledger, w.outcome.History)
	f.assertions(&w.outcome.SDK)
	return coverage.Sort(f.list)
}

// features collects what is reached.
type features struct {
	b     *behaviour
	spec  *world.Spec
	texts []string // of the templates of b
	list  []coverage.Feature
}

func (f *features) add(d coverage.Domain, text string) {
	f.list = append(f.list, coverage.New(d, text))
}

// times adds a feature once more for each doubling of how often it was reached, up to 32 times.
func (f *features) times(d coverage.Domain, text string, n uint32) {
	f.add(d, text)
	for times := uint32(2); times <= min(n, maxTimes); times *= 2 {
		f.add(d, text+" x"+strconv.Itoa(int(times)))
	}
}

const maxTimes = 32

// concerns reports whether the run is about a node. It is not about nodes that only check.
func (f *features) concerns(id net.NodeID) bool {
	return id < 0 || f.spec.Nodes[id].Role != world.Checker
}

// Limits of the kinds of messages of one service and direction in one run. Where more of them begin alike, what follows varies by
// chance, as names of things do; where there are more in all, as with an encrypted protocol, heads mean nothing.
const (
	maxAlike = 12
	maxHeads = 64
)

// service names the service that a message is of, and its direction.
func service(k *net.MessageKind) string {
	text := ":?"
	if k.Port > 0 {
		text = ":" + strconv.Itoa(int(k.Port))
	}
	if k.Datagram {
		text += "/udp"
	}
	if k.Answer {
		text += " answer"
	}
	return text
}

func (f *features) messages(seen *net.Seen) {
	heads := map[string]map[coverage.Head]bool{} // by service and direction
	alike := map[string]map[coverage.Head]bool{} // and by how they begin
	put := func(in map[string]map[coverage.Head]bool, at string, h coverage.Head) {
		if in[at] == nil {
			in[at] = map[coverage.Head]bool{}
		}
		in[at][h] = true
	}
	for k := range seen.Messages {
		put(heads, service(&k), k.Head)
		put(alike, service(&k)+" "+beginning(k.Head.String()), k.Head)
	}
	for k := range seen.Messages {
		if !f.concerns(k.From) || !f.concerns(k.To) {
			continue
		}
		head := k.Head.String()
		if b := beginning(head); b != "" && len(alike[service(&k)+" "+b]) > maxAlike {
			head = b + "*"
		} else if len(heads[service(&k)]) > maxHeads {
			head = "varied"
		}
		f.add(coverage.Message, f.b.named(k.From, k.FromRole)+" -> "+f.b.named(k.To, k.ToRole)+" "+service(&k)+" "+head+" <"+strconv.Itoa(1<<(2*k.SizeLog)))
	}
}

// beginning is all of a head but its last word.
func beginning(head string) string { return head[:strings.LastIndexAny(head, " /")+1] }

func (f *features) connections(seen *net.Seen) {
	for k, n := range seen.Connections {
		if !f.concerns(k.Node) || !f.concerns(k.Peer) {
			continue
		}
		text := f.b.named(k.Node, k.NodeRole) + " to " + f.b.named(k.Peer, k.PeerRole)
		if k.Served {
			text = f.b.named(k.Node, k.NodeRole) + " from " + f.b.named(k.Peer, k.PeerRole)
		}
		text += " :" + strconv.Itoa(int(k.Port)) + " " + k.What.String()
		if k.What == net.Connected || k.What == net.Accepted {
			f.add(coverage.Connection, text)
		} else {
			f.times(coverage.Connection, text, n)
		}
	}
}

func (f *features) errors(failed map[kernel.FailedCall]uint32) {
	for k := range failed {
		f.add(coverage.Errno, path.Base(k.Program)+" "+linux.CallName(uint64(k.Nr))+" "+unix.ErrnoName(unix.Errno(k.Errno)))
	}
}

func (f *features) logs() {
	kinds, counts := map[string]map[string]bool{}, map[string]uint32{}
	for i := range f.b.Texts {
		t := &f.b.Texts[i]
		if kinds[t.Group] == nil {
			kinds[t.Group] = map[string]bool{}
		}
		kinds[t.Group][f.texts[i]] = true
		counts[t.Group+": "+f.texts[i]] += t.Count
	}
	for text, n := range counts {
		f.times(coverage.Log, text, n)
	}
	for p := range f.b.Pairs {
		group := f.b.Texts[p.First].Group
		if a, b := f.texts[p.First], f.texts[p.Then]; a != b && (!p.Late || len(kinds[group]) <= maxOrdered) {
			f.add(coverage.Log, group+": "+a+" | "+b)
		}
	}
}

// maxWords is how many words may occur in one place of otherwise equal lines of one run, beyond which they are taken for names
// that were made by chance.
const maxWords = 16

// general gives the texts of templates, with names masked that no template shows alone: where many lines of a group differ in one
// word.
func general(list []template) []string {
	texts := make([]string, len(list))
	words := make([][]string, len(list))
	without := func(i, k int) string {
		w := slices.Clone(words[i])
		w[k] = "*"
		return strings.Join(w, " ")
	}
	same := map[string]int{}
	for i := range list {
		words[i] = strings.Split(list[i].Text, " ")
		for k := range words[i] {
			same[list[i].Group+"\x00"+without(i, k)]++
		}
	}
	for i := range list {
		texts[i] = list[i].Text
		for k := range words[i] {
			if text := without(i, k); same[list[i].Group+"\x00"+text] > maxWords {
				texts[i] = text
				break
			}
		}
	}
	return texts
}

func (f *features) assertions(r *sdk.Record) {
	for i := range r.Assertions {
		a := &r.Assertions[i]
		if a.Pass != nil {
			f.add(coverage.Assertion, fmt.Sprintf("%s %q true", a.Wants(), a.Message))
		}
		if a.Fail != nil {
			f.add(coverage.Assertion, fmt.Sprintf("%s %q false", a.Wants(), a.Message))
		}
	}
}

// isOutput reports whether a line is of a program's own output, and not of a check or the engine.
func isOutput(l *record.LogLine) bool { return l.Stream == "stdout" || l.Stream == "stderr" }
