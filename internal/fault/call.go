package fault

import "slices"

// Op is what a call does to a node's disk.
type Op uint8

const (
	Read  Op = iota + 1 // bytes come from a file
	Write               // bytes go to a file
	Sync                // what was written must be durable
)

// sectorBytes is what a disk writes as one.
const sectorBytes = 512

// Call is a call on a regular file of a node's disk that is about to do its work.
type Call struct {
	Node   string
	Name   string // of the system call
	Op     Op
	Path   string // of the file
	Offset int64
	Bytes  int // that it would move; 0 for Sync
}

// Harm is what strikes a call. An empty Kind is nothing.
type Harm struct {
	Kind Kind
	Rule int // that of the Rule which strikes
	// Bytes is how many bytes partial_write and torn_write let through: at least one, and not all.
	Bytes int
	// Bit is the bit of what is read that read_corrupt flips.
	Bit int
	// Strike is the number of the strike of a torn_write, which lasts: it is among Active, and the engine begins it.
	Strike int
}

// CallSteps is the number of lengths that partial_write chooses from, from all but one byte down to one.
const CallSteps = 16

// What the calls of programs are that move bytes and make them durable.
var (
	writing = []string{"write", "pwrite64", "writev", "pwritev", "pwritev2"}
	moving  = []string{"sendfile", "splice", "copy_file_range"}
	reading = []string{"read", "pread64", "readv", "preadv", "preadv2"}
	syncing = []string{"fsync", "fdatasync", "syncfs"}
)

// CallsOf lists the system calls that a kind drawn by call can strike.
func CallsOf(k Kind) []string {
	switch k {
	case WriteFail, PartialWrite, TornWrite:
		return slices.Concat(writing, moving)
	case ReadFail, ReadCorrupt:
		return slices.Concat(reading, moving)
	case FsyncFail: // writes to files that were opened with O_SYNC synchronise, too
		return slices.Concat(syncing, writing)
	}
	return nil
}

// struckBy tells whether a kind can do something to a call.
func (c *Call) struckBy(k Kind) bool {
	switch k {
	case WriteFail:
		return c.Op == Write
	case PartialWrite:
		return c.Op == Write && c.Bytes > 1
	case TornWrite:
		return c.Op == Write && c.cuts() > 0
	case ReadFail, ReadCorrupt:
		return c.Op == Read
	case FsyncFail:
		return c.Op == Sync
	}
	return false
}

// shapes counts the ways in which a kind can strike a call.
func (c *Call) shapes(k Kind) uint64 {
	switch k {
	case PartialWrite:
		return CallSteps
	case TornWrite:
		return uint64(c.cuts()) * DurationSteps
	case ReadCorrupt:
		return uint64(c.Bytes) * 8
	}
	return 1
}

// cuts counts the ends of sectors inside a call's range.
func (c *Call) cuts() int64 {
	return max((c.Offset+int64(c.Bytes)-1)/sectorBytes-c.Offset/sectorBytes, 0)
}

// Call draws what strikes a call. Every rule that could strike it draws, so that taking one rule away shifts no other;
// the first that strikes counts. Outside the chaos phase nothing is drawn.
func (p *Plan) Call(src Chooser, m *Moment, c *Call) Harm {
	var harm Harm
	if !p.On {
		return harm
	}
	for i := range p.Rules {
		r := &p.Rules[i]
		if !PerCall(r.Kind) || r.Masked || !c.struckBy(r.Kind) || !r.about(c.Name, c.Path) {
			continue
		}
		for j := range r.Targets {
			t := &r.Targets[j]
			if t.A != c.Node {
				continue
			}
			v := src.Rare(t.Stream, 1+c.shapes(r.Kind), r.RatePPM)
			if v == 0 || harm.Kind != "" || r.Max > 0 && r.Struck >= r.Max || !p.holds(r, t, m, c.Name, c.Path) {
				continue
			}
			harm = c.harm(r.Kind, v-1)
			harm.Rule = r.Number
			if r.Kind == TornWrite {
				harm.Strike = p.begin(Action{Kind: r.Kind, Target: t.Name, Node: t.A, DurationNs: duration(r.MinNs, r.MaxNs, (v-1)%DurationSteps)}, r, m).ID
			} else {
				r.Struck++
				p.Ledger.DeliveredPacket(r.Kind, r.Number)
			}
		}
	}
	return harm
}

func (c *Call) harm(k Kind, shape uint64) Harm {
	h := Harm{Kind: k}
	switch k {
	case PartialWrite:
		h.Bytes = 1 + (c.Bytes-2)*int(CallSteps-1-shape)/(CallSteps-1)
	case TornWrite: // from the last end of a sector on back
		last := (c.Offset + int64(c.Bytes) - 1) / sectorBytes * sectorBytes
		h.Bytes = int(last - int64(shape/DurationSteps)*sectorBytes - c.Offset)
	case ReadCorrupt:
		h.Bit = int(shape)
	}
	return h
}

// ByID gives an active strike.
func (p *Plan) ByID(id int) (Action, bool) {
	for _, a := range p.Active {
		if a.ID == id {
			return a, true
		}
	}
	return Action{}, false
}

// Calls tells whether a rule strikes calls on the disk of a node.
func (p *Plan) Calls(node string) bool {
	if !p.On {
		return false
	}
	for i := range p.Rules {
		r := &p.Rules[i]
		if PerCall(r.Kind) && !r.Masked && r.touches(node, node) {
			return true
		}
	}
	return false
}
