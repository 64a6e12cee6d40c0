package nodes

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/bloodhound-dst/bloodhound/internal/config/keys"
	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
)

// deployed writes what `deploy` says as the keys that say the same.
func deployed(l *load.State) {
	for _, d := range l.Nodes {
		deploy := d.Value.Get("deploy")
		if deploy == nil {
			continue
		}
		limits, policy := deploy.Get("resources").Get("limits"), deploy.Get("restart_policy")
		for _, same := range []struct {
			key  string
			from *source.Entry
			path string
		}{
			{"scale", deploy.Entry("replicas"), "replicas"},
			{"cpus", limits.Entry("cpus"), "resources.limits.cpus"},
			{"mem_limit", limits.Entry("memory"), "resources.limits.memory"},
			{"pids_limit", limits.Entry("pids"), "resources.limits.pids"},
			{"restart", restartOf(policy), "restart_policy.condition"},
		} {
			if same.from == nil || same.from.Value.Bad || same.key == "scale" && source.ValueOr(deploy.Get("mode"), "") == "global" {
				continue
			}
			if e := d.Value.Entry(same.key); e == nil {
				d.Value = source.Merge(d.Value, &source.Node{Position: d.Value.Position, Kind: source.Mapping,
					Entries: []*source.Entry{{Key: same.from.Key, Name: same.key, Value: same.from.Value}}})
			} else if same.key != "restart" && e.Value.Text != same.from.Value.Text {
				l.Fail(e.Key.Position, "remove one of them", "%s: %s and deploy.%s differ", d.Key, same.key, same.path)
			}
		}
	}
}

// restartOf writes a restart_policy as `restart` does.
func restartOf(policy *source.Node) *source.Entry {
	if policy == nil {
		return nil
	}
	n := &source.Node{Position: policy.Position, Text: "always"}
	switch source.ValueOr(policy.Get("condition"), "any") {
	case "none":
		n.Text = "no"
	case "on-failure":
		n.Text = "on-failure"
		if most := source.ValueOr(policy.Get("max_attempts"), int64(0)); most > 0 {
			n.Text += ":" + strconv.FormatInt(most, 10)
		}
	}
	return &source.Entry{Key: n, Name: "restart", Value: n}
}

// replicate makes NAME-1, NAME-2 and so on of a node that there are several of, and nothing of one that there are none of.
func replicate(l *load.State) {
	var all []*load.Node
	for _, d := range l.Nodes {
		count := int(source.ValueOr(d.Value.Get("scale"), int64(1)))
		if d.Of != "" && d.Value.Has("scale") {
			l.Fail(l.PlaceOf(d, "scale"), "remove one of them", "%s: `scale:` and the `count:` of nodes.%s both set the number of nodes", d.Key, d.Of)
			count = 1
		}
		if count == 1 {
			d.Index = 1
			all = append(all, d)
			continue
		}
		if count == 0 {
			l.LeftOut = append(l.LeftOut, d)
			l.Note(l.PlaceOf(d, "scale"), d.Key+".scale", "the node does not exist, since its scale is 0")
		}
		for i := 1; i <= count && len(all) < keys.MaxNodes; i++ {
			name := fmt.Sprintf("%s-%d", d.Name, i)
			if same := slices.IndexFunc(l.Nodes, func(o *load.Node) bool { return o.Name == name }); same >= 0 {
				l.Fail(l.Nodes[same].At, "rename the node", "%s is also the name of a replica of %s", name, d.Name)
			}
			all = append(all, &load.Node{Name: name, Of: d.Name, Index: i, Key: d.Key, At: d.At, Value: d.Value})
		}
	}
	l.Nodes = all
}
