package fault

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Op classifies the effect of a call on a node's disk.
type Op uint8

const (
	Read  Op = iota + 1 // bytes come from a file
	Write               // bytes go to a file
	Sync                // what was written must be durable
	Open                // a file or a folder is opened, or a file is made
)

// sectorBytes is the unit that a disk writes whole: a torn write ends between two of them.
const sectorBytes = 512

// Call is a call on a file of a node's disk that is about to do its work.
type Call struct {
	Node   string
	Name   string // of the system call
	Makes  bool   // it asks for a file to be made if it is not there: rules and the ledger also know it as CreateCall
	Op     Op
	Path   string // of the file
	Offset int64
	Bytes  int // that it would move; 0 for Sync and Open
}

// nameFor is the name by which a rule speaks of a call; false if it does not speak of it.
func (c *Call) nameFor(r *Rule) (string, bool) {
	if r.about(c.Name, c.Path) {
		return c.Name, true
	}
	return CreateCall, c.Makes && r.about(CreateCall, c.Path)
}

// Harm is the fault that a call meets. An empty Kind is none.
type Harm struct {
	Kind world.FaultKind
	Rule int // the number of its Rule
	// Bytes is how many bytes partial_write and torn_write let through: at least one, and not all.
	Bytes int
	// Bit is the bit of what is read that read_corrupt flips.
	Bit int
	// ID identifies a torn_write among Active: it lasts, and the engine begins it. Other kinds have ID 0.
	ID int
}

// CallSteps is the number of lengths that partial_write chooses from, from all but one byte down to one.
const CallSteps = 16

// cuts counts the ends of sectors inside a call's range.
func (c *Call) cuts() int64 {
	return max((c.Offset+int64(c.Bytes)-1)/sectorBytes-c.Offset/sectorBytes, 0)
}

// Call draws the fault that a call meets. Every rule that could harm it draws, so that taking one rule away shifts no other;
// the first that does counts. Outside the chaos phase nothing is drawn. The ledger learns by ObservedPacket that the call met
// the fault, but for one with an ID, which is delivered as others are.
func (p *Plan) Call(src Chooser, m *Moment, c *Call) Harm {
	var harm Harm
	if !p.On {
		return harm
	}
	for i := range p.Rules {
		r := &p.Rules[i]
		row := &Table[r.Row]
		if row.Place != OnCall || r.Masked || !row.Call.Meets(c) {
			continue
		}
		name, ok := c.nameFor(r)
		if !ok {
			continue
		}
		ways := uint64(1)
		if row.Call.Ways != nil {
			ways = row.Call.Ways(c)
		}
		for j := range r.Targets {
			t := &r.Targets[j]
			if t.A != c.Node {
				continue
			}
			v := r.drawWay(src, j, ways)
			if v == 0 || harm.Kind != "" || r.Max > 0 && r.Injected >= r.Max || r.spares(t, m) || !p.holds(r, t, m, name, c.Path) {
				continue
			}
			harm = Harm{Kind: r.Kind, Rule: r.Number}
			r.Injected++
			if c.Makes {
				name = CreateCall
			}
			p.Ledger.countHit(r, name, c.Path)
			if row.Call.Harm != nil {
				row.Call.Harm(&harm, c, v-1)
			}
			if row.Inject != nil {
				harm.ID = p.beginAction(Action{Kind: r.Kind, Target: t.Name, Node: t.A, DurationNs: duration(r.MinNs, r.MaxNs, (v-1)%DurationSteps)}, r, m).ID
			} else {
				p.Ledger.plan(r.Kind, r.Number)
			}
		}
	}
	return harm
}

// drawWay draws which of so many ways a rule harms a call, counted from 1; 0 leaves the call alone. A rule that asks
// for a number draws the number at the first call, and the way at the call of that number.
func (r *Rule) drawWay(src Chooser, t int, ways uint64) uint64 {
	stream := r.Targets[t].Stream
	if r.NthTo == 0 {
		return src.Rare(stream, 1+ways, r.RatePPM)
	}
	c := &r.Counts[t]
	if c.Met == 0 {
		c.Drawn = src.Rare(stream, 1+r.numbers(), r.RatePPM)
	}
	if c.Met++; c.Drawn == 0 || c.Met != r.NthFrom+c.Drawn-1 {
		return 0
	}
	return 1 + src.Rare(stream+"/way", ways, 0)
}

// ByID gives an active fault.
func (p *Plan) ByID(id int) (Action, bool) {
	for _, a := range p.Active {
		if a.ID == id {
			return a, true
		}
	}
	return Action{}, false
}

// Calls reports whether calls on the disk of a node may meet faults.
func (p *Plan) Calls(node string, kinds ...world.FaultKind) bool {
	if !p.On {
		return false
	}
	for i := range p.Rules {
		r := &p.Rules[i]
		row := &Table[r.Row]
		asked := len(kinds) == 0 || slices.Contains(kinds, row.Kind)
		if asked && row.Place == OnCall && !r.Masked && r.touches(node, node) {
			return true
		}
	}
	return false
}
