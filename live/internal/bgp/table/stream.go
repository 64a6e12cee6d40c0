package table

import (
	"container/heap"
	"fmt"
	"iter"
	"math"
	"net/netip"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/mrt"
)

// Local is the router that receives the table.
var Local = mrt.Peer{ASN: 64510, Address: netip.MustParseAddr("198.18.0.2"), ID: netip.MustParseAddr("198.18.0.2")}

// Event is an UPDATE at a time of a stream.
type Event struct {
	TimeUs int64 // since the start of the stream
	Update *bgp.Update
}

// Load is the table as the UPDATEs that a new session begins with, each as full as a message can be, without pauses: full load.
func (t *Table) Load() iter.Seq[*bgp.Update] {
	return func(yield func(*bgp.Update) bool) {
		byPath := map[*bgp.Attributes][]netip.Prefix{}
		var order []*bgp.Attributes
		for _, r := range t.Routes {
			if byPath[r.Attributes] == nil {
				order = append(order, r.Attributes)
			}
			byPath[r.Attributes] = append(byPath[r.Attributes], r.Prefix)
		}
		for _, a := range order {
			for u := range bgp.Pack(a, byPath[a]) {
				if !yield(u) {
					return
				}
			}
		}
	}
}

// What happens to routes. Real streams of 2007 and 2010 have 4 to 10 % withdrawals, and routes of one path move together.
const (
	flaps      = .2  // the share of incidents in which a route goes away, and comes back
	together   = .12 // the share of incidents that concern all prefixes of a path
	largest    = 200 // the most prefixes of an incident
	changes    = 4   // the most other paths that are tried, one after the other
	intervalUs = 30 * second
	second     = 1_000_000
)

// step is the next change to the prefixes of an incident.
type step struct {
	timeUs   int64
	sequence int // so that steps of one time have an order
	routes   []int
	left     int  // announcements until the incident is over
	withdraw bool // first
}

type steps []step

func (s steps) Len() int { return len(s) }
func (s steps) Less(i, j int) bool {
	return s[i].timeUs < s[j].timeUs || s[i].timeUs == s[j].timeUs && s[i].sequence < s[j].sequence
}
func (s steps) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s *steps) Push(x any)   { *s = append(*s, x.(step)) }
func (s *steps) Pop() any {
	last := len(*s) - 1
	x := (*s)[last]
	*s = (*s)[:last]
	return x
}

// Updates is a stream of updates to a table that has been loaded: incidents, in which one prefix or all prefixes of a path are withdrawn and
// announced again, or move to other paths in steps of about 30 s. Rate is the mean number of prefixes a second; 18.8 is that of a collector with all its
// peers in 2010. Only what is announced is withdrawn. At the end some prefixes may be withdrawn, or have other paths.
func (t *Table) Updates(seed uint64, durationUs int64, rate float64) (iter.Seq[Event], error) {
	if !(rate > 0) || math.IsInf(rate, 0) || durationUs <= 0 {
		return nil, fmt.Errorf("a stream needs a duration and a rate above 0, not %d us and %v prefixes a second", durationUs, rate)
	}
	return func(yield func(Event) bool) {
		d := t.draws(int(seed), -2)
		sharing := map[*bgp.Attributes][]int{}
		for i, r := range t.Routes {
			sharing[r.Attributes] = append(sharing[r.Attributes], i)
		}
		busy := map[int]bool{}
		var due steps
		sequence := 0
		nextUs := int64(0)
		for {
			for len(due) == 0 || nextUs <= due[0].timeUs {
				if nextUs >= durationUs {
					break
				}
				s := t.incident(d, sharing, busy)
				s.timeUs, s.sequence = nextUs, sequence
				sequence++
				heap.Push(&due, s)
				n := s.left
				if s.withdraw {
					n++
				}
				// The pause is as long as what the incident sends takes at the mean rate.
				nextUs += 1 + int64(-math.Log(1-d.unit())*float64(max(1, n*len(s.routes)))/rate*second)
			}
			if len(due) == 0 || due[0].timeUs >= durationUs {
				return
			}
			s := heap.Pop(&due).(step)
			if !t.play(d, &s, yield) {
				return
			}
			if s.left == 0 {
				for _, i := range s.routes {
					delete(busy, i)
				}
				continue
			}
			s.timeUs += intervalUs/2 + int64(d.unit()*intervalUs)
			s.sequence = sequence
			sequence++
			heap.Push(&due, s)
		}
	}, nil
}

// incident draws the prefixes of an incident, which are in no other one, and what happens to them.
func (t *Table) incident(d *draws, sharing map[*bgp.Attributes][]int, busy map[int]bool) step {
	first := d.below(len(t.Routes))
	list := []int{first}
	if d.chance(together) {
		list = sharing[t.Routes[first].Attributes]
		list = list[:min(len(list), largest)]
	}
	s := step{withdraw: d.chance(flaps)}
	for _, i := range list {
		if !busy[i] {
			busy[i] = true
			s.routes = append(s.routes, i)
		}
	}
	if s.left = 1; !s.withdraw {
		s.left += d.below(changes)
	}
	return s
}

// play sends a step, and takes it off.
func (t *Table) play(d *draws, s *step, yield func(Event) bool) bool {
	var prefixes []netip.Prefix
	for _, i := range s.routes {
		prefixes = append(prefixes, t.Routes[i].Prefix)
	}
	if len(prefixes) == 0 {
		s.left = 0
		return true
	}
	var a *bgp.Attributes
	if s.withdraw {
		s.withdraw = false
	} else {
		s.left--
		// All prefixes of an incident move to a path of the same origin as those of the first one.
		k := t.keys[t.Routes[s.routes[0]].Attributes]
		if s.left > 0 {
			k.n = d.below(2 * len(shape.alternate))
		}
		a = t.path(k)
	}
	for u := range bgp.Pack(a, prefixes) {
		if !yield(Event{s.timeUs, u}) {
			return false
		}
	}
	return true
}
