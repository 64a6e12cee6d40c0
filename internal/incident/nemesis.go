package incident

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/formats"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// nemesis makes faults of what Jepsen's nemesis did (jepsen.nemesis, jepsen.nemesis.combined). The history has each of its calls twice: as it began,
// whose value may be a wish such as :one, and as it ended, whose value names the nodes. Only the second is read; a history that has but
// one of them is read, too.
type nemesis struct {
	timeline *Timeline
	file     string
	began    *formats.NemesisEvent
}

func (n *nemesis) event(e formats.NemesisEvent) error {
	began := n.began
	switch {
	case began == nil:
		n.began = &e
	case began.F == e.F:
		n.began = nil
		return n.did(e)
	default:
		n.began = &e
		return n.did(*began)
	}
	return nil
}

func (n *nemesis) end() error {
	if n.began == nil {
		return nil
	}
	return n.did(*n.began)
}

// did reads one call. Tests name their nemeses, as in :kill-node and :stop-partition-halves, so it looks for words of the name and at the form of the value.
func (n *nemesis) did(e formats.NemesisEvent) error {
	words := strings.FieldsFunc(strings.ToLower(e.F), func(c rune) bool { return c == '-' || c == '_' })
	is := func(any ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(any, w) })
	}
	var nodes map[string]any
	_ = json.Unmarshal(e.Value, &nodes) // another value leaves it empty
	results := strings.ToLower(string(e.Value))
	known := false
	switch cuts := grudge(e.Value); {
	case is("bump"):
		for _, server := range slices.Sorted(maps.Keys(nodes)) {
			if ms, ok := nodes[server].(float64); ok {
				if math.Abs(ms) >= math.MaxInt64/1e6 {
					return &LineError{n.file, e.Line, fmt.Sprintf("%s of %s by %.0f ms, which is more than 292 years", e.F,
						server, ms), "correct or remove it"}
				}
				n.timeline.end(server, e.TimeNs, "clock_skew")
				n.openFault(e, Fault{Kind: "clock_skew", Server: server, AmountNs: int64(math.Abs(ms) * 1e6)})
				known = true
			}
		}
	case is("reset") && !is("packet", "packets"):
		known = n.endAll(e.TimeNs, nodes, "clock_skew")
	case len(cuts) > 0:
		known = true
		for _, f := range cuts {
			n.openFault(e, f)
		}
	case is("heal") || strings.Contains(results, "network-healed") || strings.Contains(results, "fully connected") ||
		is("stop") && is("partition", "partitions"):
		known = n.endAll(e.TimeNs, nil, "partition")
	case is("pause") || is("start") && strings.Contains(results, "paused"):
		known = n.beginAll(e, "pause", nodes)
	case is("kill", "crash") || is("start") && strings.Contains(results, "kill"):
		known = n.beginAll(e, "crash", nodes)
	case is("resume", "start", "restart", "stop") && len(nodes) > 0:
		known = n.endAll(e.TimeNs, nodes, "pause", "crash")
	}
	at := Stamp{Ns: e.TimeNs, File: n.file, Line: e.Line}
	if known {
		n.timeline.part(at)
		return nil
	}
	n.timeline.Ignored["calls "+e.F+" of the nemesis"]++
	n.timeline.saw(at)
	return nil
}

func (n *nemesis) openFault(e formats.NemesisEvent, f Fault) {
	f.TimeNs, f.Why = e.TimeNs, "nemesis "+e.F
	n.timeline.openFault(f)
}

// beginAll begins a fault on each node that has none of its kind.
func (n *nemesis) beginAll(e formats.NemesisEvent, kind world.FaultKind, nodes map[string]any) bool {
	for _, server := range slices.Sorted(maps.Keys(nodes)) {
		if !slices.ContainsFunc(n.timeline.Faults, func(f Fault) bool { return f.Kind == kind && f.Server == server && f.EndNs == 0 }) {
			n.openFault(e, Fault{Kind: kind, Server: server})
		}
	}
	return len(nodes) > 0
}

// endAll ends the faults of these kinds on some nodes, or on all.
func (n *nemesis) endAll(atNs int64, nodes map[string]any, kinds ...world.FaultKind) (any bool) {
	for i := range n.timeline.Faults {
		f := &n.timeline.Faults[i]
		if _, named := nodes[f.Server]; f.EndNs == 0 && slices.Contains(kinds, f.Kind) && (named || len(nodes) == 0) {
			f.EndNs, any = max(atNs, f.TimeNs+1), true
		}
	}
	return any
}

// grudge are the links that [:isolated {NODE #{NODE...}}] cuts: each node loses what the others of its set send.
func grudge(value json.RawMessage) (cuts []Fault) {
	var pair []json.RawMessage
	var word string
	var loses map[string][]string
	if json.Unmarshal(value, &pair) != nil || len(pair) != 2 || json.Unmarshal(pair[0], &word) != nil || word != "isolated" ||
		json.Unmarshal(pair[1], &loses) != nil {
		return nil
	}
	for _, to := range slices.Sorted(maps.Keys(loses)) {
		for _, from := range slices.Sorted(slices.Values(loses[to])) {
			both := slices.Contains(loses[from], to)
			if !both || from < to {
				cuts = append(cuts, Fault{Kind: "partition", Server: from, Peer: to, OneWay: !both})
			}
		}
	}
	return cuts
}
