package sweep

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/moments"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Strike is one fault at one moment.
type Strike struct {
	Kind world.FaultKind `json:"kind"`
	When world.Moment    `json:"when"` // after a call, during it, or after a reply
	moments.Class
	Moment
	// Part is which of the parts of its wait a call is struck after.
	Part uint64 `json:"part,omitempty"`
}

// waitParts is how many parts of a wait a rule chooses from (fault/moment.go).
const waitParts = 16

func (s *Strike) slot() slot { return slot{s.Kind, s.When, s.Node} }

// value is the value of the strike's draw: the shortest duration, which is the only one, and the part of the wait.
func (s *Strike) value() uint64 { return 1 + fault.DurationSteps*s.Part }

// drawIndex is the draw of its rule that strikes.
func (s *Strike) drawIndex() uint64 {
	if s.When == world.During && s.During != nil {
		return *s.During
	}
	return s.Draw
}

// ClassName names the class of a strike: strikes with equal names differ by their numbers.
func (s *Strike) ClassName() string {
	words := []string{string(s.Kind)}
	switch s.When {
	case world.AfterReply:
		words = append(words, "after reply", s.File)
	default:
		words = append(words, strings.TrimSpace(string(s.When)+" "+s.Call), "of", cmp.Or(s.File, s.Program))
	}
	words = append(words, "by", s.Program, "on", s.Node)
	if s.Phase != moments.Chaos {
		words = append(words, "in", string(s.Phase))
	}
	return strings.Join(words, " ")
}

// Rule is the rule that strikes alone in a run: at the call of a number among those that it speaks of. A scale, whose number is 0, draws at
// each of them and never injects.
func (s *Strike) Rule(nth uint64) world.FaultRule {
	r := world.FaultRule{Kind: s.Kind, RatePPM: tape.Certain, Targets: []string{s.Node},
		Trigger: world.Trigger{Moment: s.When}, MinNs: downNs, MaxNs: downNs}
	if s.When != world.AfterReply {
		r.At = []string{s.Call}
		if s.Act.OnFile() && s.File != "" {
			r.Path = moments.Pattern(s.File)
		}
	}
	if r.NthFrom, r.NthTo = nth, nth; nth == 0 {
		r.When = never
	}
	return r
}

// Candidate is a run to be made: with one strike, or with a second one while the node recovers from the first.
type Candidate struct {
	Strikes []Strike `json:"strikes"`
}

// Last is the strike that the candidate tries.
func (c *Candidate) Last() *Strike { return &c.Strikes[len(c.Strikes)-1] }

// Class names the class of a candidate.
func (c *Candidate) Class() string {
	if len(c.Strikes) == 1 {
		return c.Last().ClassName()
	}
	return c.Last().ClassName() + ", after " + string(c.Strikes[0].Kind)
}

// Key tells candidates of one layout and seed apart.
func (c *Candidate) Key() string {
	var b strings.Builder
	for i := range c.Strikes {
		s := &c.Strikes[i]
		fmt.Fprintf(&b, "%s/%s/%s/%d/%d ", s.Kind, s.When, s.Node, s.drawIndex(), s.Part)
	}
	return strings.TrimSpace(b.String())
}

// strikesAt are the strikes that are possible at moment i of a class.
func strikesAt(class moments.Class, m Moment, kinds []world.FaultKind, i int) (list []Strike) {
	for _, kind := range kinds {
		list = append(list, Strike{Kind: kind, When: whenOf(class.Act), Class: class, Moment: m})
		if kind == fault.PowerLoss && m.During != nil {
			list = append(list, Strike{Kind: kind, When: world.During, Class: class, Moment: m, Part: uint64(5*i+2) % waitParts})
		}
	}
	return list
}

// First are the candidates with one strike, in the order of their times, at up to so many moments of each class.
func First(series []Series, kinds []world.FaultKind, most int) (list []Candidate) {
	for _, s := range series {
		if s.Act == moments.Answer {
			continue
		}
		for i, m := range spread(s.Moments, most) {
			for _, strike := range strikesAt(s.Class, m, kinds, i) {
				list = append(list, Candidate{[]Strike{strike}})
			}
		}
	}
	return sorted(list)
}

// Recovery lists the moments of a node while it recovered from the strike of a candidate.
type Recovery struct {
	Candidate
	Series []Series
}

// Second are the candidates with a second strike of the same kind during the recovery from a first one: up to so many moments of each class,
// spread over the recoveries that were seen.
func Second(recoveries []Recovery, most int) (list []Candidate) {
	type seen struct {
		first  *Recovery
		moment Moment
	}
	classes := map[moments.Class]map[world.FaultKind][]seen{}
	for i := range recoveries {
		r := &recoveries[i]
		for _, s := range r.Series {
			if s.Act == moments.Answer || s.Act == moments.Reply {
				continue
			}
			if classes[s.Class] == nil {
				classes[s.Class] = map[world.FaultKind][]seen{}
			}
			kind := r.Last().Kind
			for _, m := range s.Moments {
				classes[s.Class][kind] = append(classes[s.Class][kind], seen{r, m})
			}
		}
	}
	order := make([]moments.Class, 0, len(classes))
	for class := range classes {
		order = append(order, class)
	}
	slices.SortFunc(order, moments.Compare)
	for _, class := range order {
		for _, kind := range Kinds {
			for i, x := range spread(classes[class][kind], most) {
				for _, strike := range strikesAt(class, x.moment, []world.FaultKind{kind}, i) {
					list = append(list, Candidate{[]Strike{x.first.Strikes[0], strike}})
				}
			}
		}
	}
	return sorted(list)
}

// sorted puts candidates into the order of their times, in which runs share most snapshots.
func sorted(list []Candidate) []Candidate {
	slices.SortStableFunc(list, func(a, b Candidate) int {
		for i := range min(len(a.Strikes), len(b.Strikes)) {
			x, y := &a.Strikes[i], &b.Strikes[i]
			if c := cmp.Or(cmp.Compare(x.TimeNs, y.TimeNs), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.When, y.When)); c != 0 {
				return c
			}
		}
		return cmp.Compare(a.Key(), b.Key())
	})
	return list
}
